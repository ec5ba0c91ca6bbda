// SPDX-License-Identifier: BSD-3-Clause
#include "base/udp_socket.hpp"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

namespace portcullis {
namespace {

constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(in6_pktinfo));

tl::unexpected<Error> system_failure(const std::string& what, const char* call) {
  return fail(Errc::System, what + ": " + call + ": " + std::strerror(errno));
}

template <class T>
T& as(sockaddr_storage& storage) noexcept {
  return *static_cast<T*>(static_cast<void*>(&storage));
}
template <class T>
const T& as(const sockaddr_storage& storage) noexcept {
  return *static_cast<const T*>(static_cast<const void*>(&storage));
}

Result<UdpAddress> look_up(const std::string& text, std::string_view what, int flags) {
  const std::string named = std::string(what) + " '" + text + "'";
  const auto parts = split_host_and_port(text);
  if (!parts)
    return fail(Errc::InvalidArgument,
                named + ": HOST:PORT is accepted, an IPv6 address in brackets");
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(parts->host.c_str(), std::to_string(parts->port).c_str(), &hints, &found);
  if (error != 0) {
    const bool is_number = (flags & AI_NUMERICHOST) != 0;
    return fail(is_number ? Errc::InvalidArgument : Errc::NotFound,
                named + (is_number ? ": an address and a port are accepted, such as 192.0.2.1:7810"
                                   : std::string(": ") + ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  return UdpAddress(found->ai_addr, found->ai_addrlen);
}

/// The address that a datagram was sent to, without the port, which is the socket's own.
UdpAddress addressed_to(msghdr& message, const UdpAddress& bound) {
  UdpAddress to = bound;
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
       each = CMSG_NXTHDR(&message, each)) {
    sockaddr_storage storage{};
    socklen_t bytes = 0;
    if (each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_PKTINFO) {
      in_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(each), sizeof info);
      auto& address = as<sockaddr_in>(storage);
      address.sin_family = AF_INET;
      address.sin_addr = info.ipi_addr;
      bytes = sizeof address;
    } else if (each->cmsg_level == IPPROTO_IPV6 && each->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(each), sizeof info);
      auto& address = as<sockaddr_in6>(storage);
      address.sin6_family = AF_INET6;
      address.sin6_addr = info.ipi6_addr;
      // A link-local address says nothing without its link.
      if (IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr)) address.sin6_scope_id = info.ipi6_ifindex;
      bytes = sizeof address;
    }
    if (bytes == 0) continue;
    to = UdpAddress(static_cast<const sockaddr*>(static_cast<const void*>(&storage)), bytes);
    to.set_port(bound.port());
  }
  return to;
}

/// Says in `message` which address it is to leave from; the number of bytes of that.
std::size_t leave_from(const UdpAddress& from, cmsghdr& header) {
  sockaddr_storage storage{};
  std::memcpy(&storage, from.generic(), from.bytes());
  if (from.family() == AF_INET) {
    in_pktinfo info{};
    info.ipi_spec_dst = as<sockaddr_in>(storage).sin_addr;
    header.cmsg_level = IPPROTO_IP;
    header.cmsg_type = IP_PKTINFO;
    header.cmsg_len = CMSG_LEN(sizeof info);
    std::memcpy(CMSG_DATA(&header), &info, sizeof info);
    return CMSG_SPACE(sizeof info);
  }
  in6_pktinfo info{};
  info.ipi6_addr = as<sockaddr_in6>(storage).sin6_addr;
  info.ipi6_ifindex = as<sockaddr_in6>(storage).sin6_scope_id;
  header.cmsg_level = IPPROTO_IPV6;
  header.cmsg_type = IPV6_PKTINFO;
  header.cmsg_len = CMSG_LEN(sizeof info);
  std::memcpy(CMSG_DATA(&header), &info, sizeof info);
  return CMSG_SPACE(sizeof info);
}

}  // namespace

UdpAddress::UdpAddress(const sockaddr* address, socklen_t bytes)
    : bytes_(std::min<socklen_t>(bytes, sizeof storage_)) {
  std::memcpy(&storage_, address, bytes_);
}

std::optional<HostAndPort> split_host_and_port(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  std::string host = text.substr(0, colon);
  const bool has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (has_brackets) host = host.substr(1, host.size() - 2);
  if (!has_brackets && host.find(':') != std::string::npos) return std::nullopt;
  std::uint16_t port = 0;
  const char* begin = text.data() + colon + 1;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(begin, end, port);
  if (error != std::errc{} || at != end || begin == end) return std::nullopt;
  return HostAndPort{.host = std::move(host), .port = port};
}

Result<UdpAddress> UdpAddress::parse(const std::string& text, std::string_view what) {
  return look_up(text, what, AI_NUMERICHOST);
}

Result<UdpAddress> UdpAddress::resolve(const std::string& text, std::string_view what) {
  return look_up(text, what, AI_ADDRCONFIG);
}

UdpAddress UdpAddress::any(int family) {
  sockaddr_storage storage{};
  storage.ss_family = static_cast<sa_family_t>(family);
  return {static_cast<const sockaddr*>(static_cast<const void*>(&storage)),
          family == AF_INET ? static_cast<socklen_t>(sizeof(sockaddr_in))
                            : static_cast<socklen_t>(sizeof(sockaddr_in6))};
}

std::uint16_t UdpAddress::port() const noexcept {
  return ntohs(family() == AF_INET ? as<sockaddr_in>(storage_).sin_port
                                   : as<sockaddr_in6>(storage_).sin6_port);
}

void UdpAddress::set_port(std::uint16_t port) noexcept {
  if (family() == AF_INET)
    as<sockaddr_in>(storage_).sin_port = htons(port);
  else
    as<sockaddr_in6>(storage_).sin6_port = htons(port);
}

std::string UdpAddress::host() const {
  std::array<char, NI_MAXHOST> name{};
  if (::getnameinfo(generic(), bytes_, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return "?";
  return name.data();
}

std::optional<std::string> address_text(const std::string& host) {
  const bool is_short = host.find(':') == std::string::npos;
  const auto address = UdpAddress::parse(is_short ? host + ":0" : "[" + host + "]:0", "address");
  if (!address) return std::nullopt;
  const std::string text = address->host();
  return text.substr(0, text.find('%'));
}

std::string UdpAddress::text() const {
  const std::string of = host();
  return (family() == AF_INET ? of : "[" + of + "]") + ":" + std::to_string(port());
}

Result<void> UdpSocket::open(int family) {
  fd_ = UniqueFd(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd_.is_open()) return system_failure("UDP", "socket");
  const int on = 1;
  if (family == AF_INET) {
    if (::setsockopt(fd_.get(), IPPROTO_IP, IP_PKTINFO, &on, sizeof on) != 0)
      return system_failure("UDP", "IP_PKTINFO");
    return {};
  }
  // An address of IPv4 is asked for by itself: who listens on [::] gets IPv6 alone everywhere.
  if (::setsockopt(fd_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0 ||
      ::setsockopt(fd_.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on) != 0)
    return system_failure("UDP", "IPV6_RECVPKTINFO");
  return {};
}

Result<void> UdpSocket::learn_local() {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  auto* address = static_cast<sockaddr*>(static_cast<void*>(&storage));
  if (::getsockname(fd_.get(), address, &bytes) != 0) return system_failure("UDP", "getsockname");
  local_ = UdpAddress(address, bytes);
  return {};
}

Result<UdpSocket> UdpSocket::bind(const UdpAddress& address) {
  UdpSocket socket;
  PORTCULLIS_TRY(socket.open(address.family()));
  if (::bind(socket.fd(), address.generic(), address.bytes()) != 0) {
    if (errno == EADDRINUSE)
      return fail(Errc::Busy, "UDP " + address.text() + ": somebody else has that port");
    return system_failure("UDP " + address.text(), "bind");
  }
  PORTCULLIS_TRY(socket.learn_local());
  return socket;
}

Result<UdpSocket> UdpSocket::connect(const UdpAddress& peer) {
  UdpSocket socket;
  PORTCULLIS_TRY(socket.open(peer.family()));
  if (::connect(socket.fd(), peer.generic(), peer.bytes()) != 0)
    return system_failure("UDP " + peer.text(), "connect");
  socket.is_connected_ = true;
  PORTCULLIS_TRY(socket.learn_local());
  return socket;
}

Result<std::optional<UdpSocket::Datagram>> UdpSocket::receive(std::span<std::byte> buffer) {
  sockaddr_storage peer{};
  alignas(cmsghdr) std::array<std::byte, kControlBytes> control{};
  iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
  msghdr message{};
  message.msg_name = &peer;
  message.msg_namelen = sizeof peer;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(fd_.get(), &message, 0);
  if (got < 0 && is_connected_ && errno == ECONNREFUSED)
    return fail(Errc::DeviceGone, "nobody has that port");
  if (got < 0) return std::optional<Datagram>();
  return std::optional<Datagram>(
      Datagram{.to = is_connected_ ? local_ : addressed_to(message, local_),
               .from = UdpAddress(static_cast<const sockaddr*>(static_cast<const void*>(&peer)),
                                  message.msg_namelen),
               .bytes = std::span<const std::byte>(buffer).first(static_cast<std::size_t>(got))});
}

void UdpSocket::send(const UdpAddress& from, const UdpAddress& to,
                     std::span<const std::byte> bytes) {
  iovec part{};
  part.iov_base = const_cast<std::byte*>(bytes.data());  // sendmsg(2) reads it alone
  part.iov_len = bytes.size();
  alignas(cmsghdr) std::array<std::byte, kControlBytes> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  sockaddr_storage peer{};
  if (!is_connected_) {
    std::memcpy(&peer, to.generic(), to.bytes());
    message.msg_name = &peer;
    message.msg_namelen = to.bytes();
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    message.msg_controllen = header == nullptr ? 0 : leave_from(from, *header);
  }
  (void)::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
}

}  // namespace portcullis
