// SPDX-License-Identifier: BSD-3-Clause
#include "model/vfio_user/connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace portcullis::model::vfio_user {
namespace {

constexpr std::string_view kWhat = "socket path";

tl::unexpected<Error> system_error(const std::string& what) {
  return fail(Errc::System, what + ": " + std::strerror(errno));
}

/// Waits until the socket is as `events` say, or the deadline has passed.
Result<void> wait_for(int fd, short events, const Deadline& deadline) {
  pollfd entry{.fd = fd, .events = events, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&entry, 1, deadline.left_ms());
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return system_error("poll");
  return {};
}

/// What stands behind the first `sent` bytes. sendmsg only reads it.
iovec unsent(std::span<const std::byte> bytes, std::size_t sent) {
  const auto rest = bytes.subspan(std::min(sent, bytes.size()));
  return {.iov_base = const_cast<std::byte*>(rest.data()), .iov_len = rest.size()};
}

void take_fds(const msghdr& message, std::vector<UniqueFd>& fds) {
  for (const cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(part))) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
}

}  // namespace

Result<Listener> Listener::create(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return system_error("socket");
  PORTCULLIS_TRY_ASSIGN(SocketPath bound, SocketPath::bind(fd.get(), SOCK_STREAM, path, kWhat));
  if (listen(fd.get(), 1) != 0) return system_error("listen " + path);
  return Listener(std::move(fd), std::move(bound));
}

Result<UniqueFd> Listener::accept() {
  UniqueFd client(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!client.is_open()) return system_error("accept on " + path_.text());
  return client;
}

int Deadline::left_ms() const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()).count();
  return static_cast<int>(std::max<decltype(left)>(left, 0));
}

Result<std::optional<Message>> Connection::receive(const Deadline& deadline) {
  Message message;
  std::array<std::byte, sizeof(Header)> raw{};
  PORTCULLIS_TRY_ASSIGN(const bool got_header, read_exactly(raw, message.fds, deadline));
  if (!got_header) return std::nullopt;
  message.header = *decode<Header>(raw);
  const std::uint32_t bytes = message.header.message_bytes;
  if (bytes < sizeof(Header) || bytes > kMaxMessageBytes)
    return fail(Errc::Malformed, "vfio-user message of " + std::to_string(bytes) + " bytes; " +
                                     std::to_string(sizeof(Header)) + " to " +
                                     std::to_string(kMaxMessageBytes) + " are accepted");
  message.payload.resize(bytes - sizeof(Header));
  PORTCULLIS_TRY_ASSIGN(const bool got_payload,
                        read_exactly(message.payload, message.fds, deadline));
  if (!got_payload) return fail(Errc::Malformed, "vfio-user message that ends in the middle");
  return message;
}

/// Nothing when there is nothing now; no bytes when the peer hung up.
Result<std::optional<std::size_t>> Connection::read_some(std::span<std::byte> to,
                                                         std::vector<UniqueFd>& fds) {
  iovec part{.iov_base = to.data(), .iov_len = to.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxMessageFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return std::nullopt;
  if (got < 0 && errno == ECONNRESET) return std::size_t{0};
  if (got < 0) return system_error("recvmsg");
  take_fds(message, fds);
  // The kernel cuts the list where ours is full, too (scm_detach_fds of net/core/scm.c).
  if ((message.msg_flags & MSG_CTRUNC) != 0 || fds.size() > kMaxMessageFds)
    return fail(Errc::Malformed, "vfio-user message with more than " +
                                     std::to_string(kMaxMessageFds) +
                                     " file descriptors, or than ulimit -n leaves");
  return static_cast<std::size_t>(got);
}

// False when the peer hung up before the first byte. What has come by the deadline counts, however
// late this thread runs to see it; and the deadline holds for one who never lets us wait, too.
Result<bool> Connection::read_exactly(std::span<std::byte> to, std::vector<UniqueFd>& fds,
                                      const Deadline& deadline) {
  std::size_t have = 0;
  while (have < to.size()) {
    const bool is_over = deadline.has_passed();
    PORTCULLIS_TRY_ASSIGN(const auto got, read_some(to.subspan(have), fds));
    if (got && *got == 0 && have == 0) return false;
    if (got && *got == 0) return fail(Errc::Malformed, "vfio-user message that ends in the middle");
    have += got.value_or(0);
    if (is_over && have < to.size())
      return fail(Errc::Timeout, "no whole message of the vfio-user client in " +
                                     std::to_string(deadline.patience_ms()) + " ms");
    if (!got) PORTCULLIS_TRY(wait_for(fd_.get(), POLLIN, deadline));
  }
  return true;
}

Result<void> Connection::send(Header header, std::span<const std::byte> payload,
                              const Deadline& deadline, std::span<const int> fds) {
  header.message_bytes = static_cast<std::uint32_t>(sizeof(Header) + payload.size());
  const std::span<const std::byte> head = std::as_bytes(std::span(&header, 1));

  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxMessageFds * sizeof(int))> control{};
  std::size_t sent = 0;
  while (sent < header.message_bytes) {
    if (deadline.has_passed())
      return fail(Errc::Timeout, "vfio-user client did not take a message in " +
                                     std::to_string(deadline.patience_ms()) + " ms");
    std::array parts{unsent(head, sent), unsent(payload, sent - std::min(sent, head.size()))};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    if (sent == 0 && !fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(fds.size_bytes());
      cmsghdr* rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(fds.size_bytes());
      std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
    }
    const ssize_t wrote = sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (wrote >= 0) {
      sent += static_cast<std::size_t>(wrote);
    } else if (errno == EAGAIN) {
      PORTCULLIS_TRY(wait_for(fd_.get(), POLLOUT, deadline));
    } else if (errno != EINTR) {
      return system_error("sendmsg to the vfio-user client");
    }
  }
  return {};
}

}  // namespace portcullis::model::vfio_user
