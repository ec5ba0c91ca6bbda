// SPDX-License-Identifier: BSD-3-Clause
#include "model/vfio_user/connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace portcullis::model::vfio_user {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

tl::unexpected<Error> system_error(const std::string& what) {
  return fail(Errc::System, what + ": " + std::strerror(errno));
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(Errc::InvalidArgument, "socket path '" + path + "': 1 to " +
                                           std::to_string(sizeof address.sun_path - 1) +
                                           " characters are accepted");
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

/// The POSIX interface takes every address family through one type.
const sockaddr* generic(const sockaddr_un& address) {
  return static_cast<const sockaddr*>(static_cast<const void*>(&address));
}

/// Waits until the socket is as `events` say; false after `timeout_ms`.
Result<bool> wait_for(int fd, short events, int timeout_ms) {
  pollfd entry{.fd = fd, .events = events, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&entry, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return system_error("poll");
  return ready > 0;
}

/// Removes a socket file whose server is gone; refuses anything else.
Result<void> clear_stale(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode))
    return fail(Errc::InvalidArgument, "socket path '" + path + "' exists and is not a socket");
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe.is_open()) return system_error("socket");
  if (connect(probe.get(), generic(address), sizeof address) == 0)
    return fail(Errc::Busy, "socket path '" + path + "': another server listens there");
  if (unlink(path.c_str()) != 0) return system_error("unlink " + path);
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
  PORTCULLIS_TRY_ASSIGN(const sockaddr_un address, address_of(path));
  PORTCULLIS_TRY(clear_stale(path, address));
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return system_error("socket");
  if (bind(fd.get(), generic(address), sizeof address) != 0) return system_error("bind " + path);
  if (listen(fd.get(), 1) != 0) return system_error("listen " + path);
  return Listener(std::move(fd), path);
}

Listener::~Listener() {
  if (fd_.is_open()) unlink(path_.c_str());
}

Result<UniqueFd> Listener::accept() {
  UniqueFd client(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!client.is_open()) return system_error("accept on " + path_);
  return client;
}

Result<std::optional<Message>> Connection::receive() {
  Message message;
  std::array<std::byte, sizeof(Header)> raw{};
  PORTCULLIS_TRY_ASSIGN(const bool got_header, read_exactly(raw, message.fds));
  if (!got_header) return std::nullopt;
  message.header = *decode<Header>(raw);
  const std::uint32_t bytes = message.header.message_bytes;
  if (bytes < sizeof(Header) || bytes > kMaxMessageBytes)
    return fail(Errc::Malformed, "vfio-user message of " + std::to_string(bytes) + " bytes; " +
                                     std::to_string(sizeof(Header)) + " to " +
                                     std::to_string(kMaxMessageBytes) + " are accepted");
  message.payload.resize(bytes - sizeof(Header));
  PORTCULLIS_TRY_ASSIGN(const bool got_payload, read_exactly(message.payload, message.fds));
  if (!got_payload)
    return fail(Errc::Malformed, "vfio-user client hung up in the middle of a message");
  return message;
}

Result<std::size_t> Connection::read_some(std::span<std::byte> to, std::vector<UniqueFd>& fds) {
  iovec part{.iov_base = to.data(), .iov_len = to.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxMessageFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == ECONNRESET) return 0;
  if (got < 0) return system_error("recvmsg");
  take_fds(message, fds);
  if ((message.msg_flags & MSG_CTRUNC) != 0 || fds.size() > kMaxMessageFds)
    return fail(Errc::Malformed, "vfio-user message with more than " +
                                     std::to_string(kMaxMessageFds) + " file descriptors");
  return static_cast<std::size_t>(got);
}

// False when the peer hung up before the first byte.
Result<bool> Connection::read_exactly(std::span<std::byte> to, std::vector<UniqueFd>& fds) {
  std::size_t have = 0;
  while (have < to.size()) {
    if (have > 0) {
      PORTCULLIS_TRY_ASSIGN(const bool ready, wait_for(fd_.get(), POLLIN, kStallMs));
      if (!ready)
        return fail(Errc::Timeout, "vfio-user client stalled in the middle of a message for " +
                                       std::to_string(kStallMs) + " ms");
    }
    PORTCULLIS_TRY_ASSIGN(const std::size_t got, read_some(to.subspan(have), fds));
    if (got == 0 && have == 0) return false;
    if (got == 0)
      return fail(Errc::Malformed, "vfio-user client hung up in the middle of a message");
    have += got;
  }
  return true;
}

Result<void> Connection::send(Header header, std::span<const std::byte> payload,
                              std::span<const int> fds) {
  header.message_bytes = static_cast<std::uint32_t>(sizeof(Header) + payload.size());
  const std::span<const std::byte> head = std::as_bytes(std::span(&header, 1));

  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxMessageFds * sizeof(int))> control{};
  std::size_t sent = 0;
  while (sent < header.message_bytes) {
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
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return system_error("sendmsg to the vfio-user client");
    PORTCULLIS_TRY_ASSIGN(const bool ready, wait_for(fd_.get(), POLLOUT, kStallMs));
    if (!ready)
      return fail(Errc::Timeout, "vfio-user client took nothing of a message for " +
                                     std::to_string(kStallMs) + " ms");
  }
  return {};
}

Result<Message> Connection::request(Command command, std::span<const std::byte> payload,
                                    int deadline_ms,
                                    const std::function<Result<void>(Message&)>& serve) {
  const std::uint16_t id = next_id_++;
  PORTCULLIS_TRY(send({.message_id = id, .command = command}, payload));
  const auto deadline = steady_clock::now() + milliseconds(deadline_ms);
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0)
      return fail(Errc::Timeout, std::string(name(command)) + ": no reply in " +
                                     std::to_string(deadline_ms) + " ms");
    PORTCULLIS_TRY_ASSIGN(const bool ready,
                          wait_for(fd_.get(), POLLIN, static_cast<int>(left.count())));
    if (!ready) continue;
    PORTCULLIS_TRY_ASSIGN(std::optional<Message> message, receive());
    if (!message) return fail(Errc::System, "vfio-user client hung up");
    const std::uint32_t type = message->header.flags & Header::kTypeMask;
    if (type == Header::kTypeCommand) {
      PORTCULLIS_TRY(serve(*message));
      continue;
    }
    if (type != Header::kTypeReply || message->header.message_id != id)
      return fail(Errc::Malformed, std::string(name(command)) +
                                       ": another reply than its own, id " +
                                       std::to_string(message->header.message_id));
    return *std::move(message);
  }
}

}  // namespace portcullis::model::vfio_user
