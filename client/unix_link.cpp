// SPDX-License-Identifier: BSD-3-Clause
#include "client/unix_link.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/unix_socket.hpp"

namespace portcullis::client {
namespace {

std::uint64_t now_ns() noexcept { return Clock::wall().now_ns(); }

/// For poll(2): until then, but for a second at most.
int left_ms(std::uint64_t until_ns) noexcept {
  const std::uint64_t now = now_ns();
  if (now >= until_ns) return 0;
  return static_cast<int>(std::min<std::uint64_t>((until_ns - now) / kNsPerMs + 1, 1'000));
}

}  // namespace

UnixLink::UnixLink(UniqueFd socket) : socket_(std::move(socket)), there_ns_(now_ns()) {}

Result<std::unique_ptr<Link>> UnixLink::open(const std::filesystem::path& path,
                                             std::uint64_t until_ns, const Stop& stop) {
  const std::string text = path.string();
  PORTCULLIS_TRY_ASSIGN(const sockaddr_un address, unix_address(text, "socket"));
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return fail(Errc::System, fmt::format("socket: {}", std::strerror(errno)));
  const auto connect = [&] {
    return ::connect(socket.get(), generic(address), sizeof address) == 0;
  };
  constexpr int kTryAgainMs = 10;
  bool is_connected = connect();
  while (!is_connected && errno == EAGAIN && now_ns() < until_ns && !(stop && stop())) {
    (void)::poll(nullptr, 0, kTryAgainMs);
    is_connected = connect();
  }
  if (is_connected) return std::unique_ptr<Link>(new UnixLink(std::move(socket)));
  if (errno == EAGAIN)
    return fail(Errc::Timeout, fmt::format("the server at {} accepts nobody", text));
  const bool is_nobody = errno == ENOENT || errno == ECONNREFUSED;
  return fail(is_nobody ? Errc::NotFound : Errc::System,
              is_nobody ? fmt::format("no leased listens on {}", text)
                        : fmt::format("socket {}: {}", text, std::strerror(errno)));
}

Result<void> UnixLink::send(const wire::FrameBytes& frame, std::uint64_t until_ns) {
  ssize_t sent = ::send(socket_.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
  while (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
    if (now_ns() >= until_ns)
      return fail(Errc::Timeout, "the server has not read what was sent before");
    pollfd room{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    (void)::poll(&room, 1, left_ms(until_ns));
    sent = ::send(socket_.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
  }
  if (sent == static_cast<ssize_t>(frame.size())) return {};
  // What a server that hung up had to say first is there to be read.
  if (errno == EPIPE || errno == ECONNRESET) return {};
  return fail(Errc::DeviceGone,
              fmt::format("the server cannot be written to: {}", std::strerror(errno)));
}

Result<std::optional<wire::FrameBytes>> UnixLink::receive(std::uint64_t until_ns) {
  for (;;) {
    const std::uint64_t looked_ns = now_ns();
    pollfd waited{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waited, 1, left_ms(until_ns));
    if (ready < 0 && errno != EINTR)
      return fail(Errc::DeviceGone,
                  fmt::format("the server cannot be waited for: {}", std::strerror(errno)));
    if (ready > 0) break;
    there_ns_ = looked_ns;
    if (now_ns() >= until_ns) return std::nullopt;
  }
  wire::FrameBytes bytes(wire::kMostFrameBytes + 1);
  ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
  // The reset is told once, and before what the server had to say until then.
  if (got < 0 && errno == ECONNRESET)
    got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  // A server that closes with something unread resets the connection, and has hung up no less.
  if (got == 0 || (got < 0 && errno == ECONNRESET))
    return fail(Errc::DeviceGone, "the server has hung up");
  if (got < 0)
    return fail(Errc::DeviceGone,
                fmt::format("the server cannot be read: {}", std::strerror(errno)));
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

}  // namespace portcullis::client
