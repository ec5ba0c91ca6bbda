// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/unix_port.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace portcullis::service::daemon {
namespace {

constexpr ConnectionId kListening = 0;
constexpr int kBacklog = 128;
constexpr int kFramesAtOnce = 16;  // of one connection, before the others have their turn

constexpr std::string_view kWhat = "socket";  // names the path in an error

tl::unexpected<Error> system_failure(const std::filesystem::path& path, const char* call) {
  return fail(Errc::System,
              fmt::format("socket {}: {}: {}", path.string(), call, std::strerror(errno)));
}

/// Two servers that start at once would both find a name that nobody listens on. The file stays:
/// whoever removed it could remove one that another has locked since.
Result<UniqueFd> lock_name(const std::filesystem::path& path) {
  const std::string name = path.string() + ".lock";
  UniqueFd file(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return system_failure(name, "open");
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return system_failure(name, "flock");
  return fail(Errc::Busy,
              fmt::format("{} '{}': another server listens there", kWhat, path.string()));
}

bool would_block(int error) noexcept {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

Result<std::unique_ptr<UnixPort>> UnixPort::listen(const Options& options, Listener listener) {
  std::unique_ptr<UnixPort> port(new UnixPort(options, std::move(listener)));
  PORTCULLIS_TRY(port->start());
  return port;
}

UnixPort::~UnixPort() { UnixPort::stop_listening(); }

Result<void> UnixPort::check(const std::filesystem::path& path) {
  PORTCULLIS_TRY(unix_address(path.string(), kWhat));
  return {};
}

Result<void> UnixPort::start() {
  epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.is_open()) return system_failure(options_.path, "epoll_create1");
  spare_ = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  PORTCULLIS_TRY(check(options_.path));
  PORTCULLIS_TRY_ASSIGN(lock_, lock_name(options_.path));
  PORTCULLIS_TRY(bind_socket());
  return watch(socket_.get(), kListening, EPOLLIN, true);
}

Result<void> UnixPort::bind_socket() {
  socket_ = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_.is_open()) return system_failure(options_.path, "socket");
  // Nobody may connect before the mode is as it was asked for.
  const mode_t before = ::umask(0177);
  auto bound = SocketPath::bind(socket_.get(), SOCK_SEQPACKET, options_.path.string(), kWhat);
  ::umask(before);
  if (!bound) return forward_error(std::move(bound));
  name_ = *std::move(bound);
  if (::chmod(options_.path.c_str(), options_.mode) != 0)
    return system_failure(options_.path, "chmod");
  if (::listen(socket_.get(), kBacklog) != 0) return system_failure(options_.path, "listen");
  return {};
}

Result<void> UnixPort::watch(int fd, ConnectionId id, std::uint32_t events, bool is_new) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) == 0) return {};
  return system_failure(options_.path, "epoll_ctl");
}

void UnixPort::serve() {
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const ConnectionId id = event.data.u64;
    if (id == kListening) {
      accept_all();
      continue;
    }
    if ((event.events & EPOLLOUT) != 0) write_some(id);
    const bool is_gone = (event.events & (EPOLLHUP | EPOLLERR)) != 0;
    if (is_gone || (event.events & EPOLLIN) != 0) read_some(id, is_gone);
  }
}

void UnixPort::accept_all() {
  for (int i = 0; i < kFramesAtOnce; ++i) {
    UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.is_open() && (errno == EMFILE || errno == ENFILE))
      return turn_away_without_descriptors();
    if (!socket.is_open()) return;
    admit(std::move(socket));
  }
}

/// The listener would stay readable for ever, and nobody would be told.
void UnixPort::turn_away_without_descriptors() {
  spare_.reset();
  {
    const UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.is_open()) turn_away(socket, wire::Code::Busy, "the server has no descriptor left");
  }
  spare_ = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

std::string UnixPort::overload(std::uint32_t uid) const {
  if (connections_.size() >= options_.limits.connections)
    return fmt::format("{} connections, the most that are accepted", connections_.size());
  const auto own = by_uid_.find(uid);
  if (own != by_uid_.end() && own->second >= options_.limits.uid_connections)
    return fmt::format("{} connections of user {}, the most that are accepted", own->second, uid);
  return {};
}

void UnixPort::turn_away(const UniqueFd& socket, wire::Code code, const std::string& why) {
  complaints_.add("turned away: " + why);
  const auto frame = wire::make_frame(wire::kRefused, 0, wire::refusal(code, 0, why));
  (void)::send(socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
  // Closed with something unread it would reset the connection, and the client might hear of that
  // in place of the reason. What it sends from here on does not come.
  (void)::shutdown(socket.get(), SHUT_RDWR);
  std::array<std::byte, 1> unread;
  while (::recv(socket.get(), unread.data(), unread.size(), MSG_DONTWAIT) > 0) {
  }
}

void UnixPort::admit(UniqueFd socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return;
  auto identity = options_.users.of(peer.uid, peer.pid);
  if (!identity)
    return turn_away(socket, wire::Code::NotAllowed,
                     fmt::format("user {} is nobody that the configuration names", peer.uid));
  if (const auto why = overload(peer.uid); !why.empty())
    return turn_away(socket, wire::Code::Busy, why);
  const ConnectionId id = next_++;
  if (!watch(socket.get(), id, EPOLLIN, true)) return;
  ++by_uid_[peer.uid];
  connections_.emplace(
      id, Connection{
              .socket = std::move(socket), .uid = peer.uid, .unread = {}, .waited_for = EPOLLIN});
  listener_.opened(id, *std::move(identity));
}

void UnixPort::read_some(ConnectionId id, bool is_gone) {
  // One byte more than a frame may have: what is longer is seen to be.
  std::array<std::byte, wire::kMostFrameBytes + 1> buffer;
  for (int i = 0; i < kFramesAtOnce; ++i) {
    const auto at = connections_.find(id);
    if (at == connections_.end() || !at->second.is_heard()) return;
    const ssize_t got = ::recv(at->second.socket.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && would_block(errno)) return;
    if (got < 0 || (got == 0 && is_gone)) return close(id);
    if (got == 0) return finish(id, at->second);
    if (at->second.ends) continue;  // it is being hung up on: nothing more is heard
    listener_.received(id, std::span(buffer).first(static_cast<std::size_t>(got)));
  }
}

/// shutdown(2) of its sending side. What it asked before is answered, and then it is hung up on;
/// that it has gone altogether is seen without looking for what it says.
void UnixPort::finish(ConnectionId id, Connection& connection) {
  if (std::exchange(connection.has_finished, true)) return;
  watch_again(id, connection);
  if (connection.ends) return;
  if (!listener_.finished) return hang_up(id);
  listener_.finished(id);
}

void UnixPort::send(ConnectionId id, wire::FrameBytes frame) {
  const auto at = connections_.find(id);
  if (at == connections_.end() || at->second.ends) return;
  Connection& connection = at->second;
  const std::size_t bytes = frame.size();
  connection.unread_bytes += bytes;
  if (!is_notice(frame)) connection.answer_bytes += bytes;
  connection.unread.push_back(std::move(frame));
  if (connection.unread.size() == 1) write_some(id);
  if (connection.unread_bytes > kMostUnreadBytes) turn_out_slow(id, connection);
  watch_again(id, connection);
  unread_of_all_.bound(
      bytes, options_.limits.unread_bytes, connections_,
      [](const auto& each) { return each.second.unread_bytes; },
      [this](auto& each) { turn_out_slow(each.first, each.second); });
}

void UnixPort::turn_out_slow(ConnectionId id, Connection& connection) {
  complaints_.add(
      fmt::format("a client of user {} does not read; it is hung up on", connection.uid));
  connection.forget_unread();
  connection.ends = true;
  (void)::shutdown(connection.socket.get(), SHUT_RDWR);  // serve() sees its end
  watch_again(id, connection);
}

void UnixPort::Connection::forget_unread() noexcept {
  unread.clear();
  unread_bytes = 0;
  answer_bytes = 0;
  is_blocked = false;
}

void UnixPort::watch_again(ConnectionId id, Connection& connection) {
  const bool is_heard = connection.is_heard() && !connection.has_finished;
  std::uint32_t events = is_heard ? static_cast<std::uint32_t>(EPOLLIN) : 0U;
  if (connection.is_blocked) events |= EPOLLOUT;
  if (std::exchange(connection.waited_for, events) != events)
    (void)watch(connection.socket.get(), id, events, false);
}

void UnixPort::write_some(ConnectionId id) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return;
  Connection& connection = at->second;
  connection.is_blocked = false;
  while (!connection.unread.empty()) {
    const wire::FrameBytes& next = connection.unread.front();
    const ssize_t sent =
        ::send(connection.socket.get(), next.data(), next.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    connection.is_blocked = sent < 0 && would_block(errno);
    if (connection.is_blocked) break;
    // Whatever else failed, serve() reads its end: nothing is closed under whoever sends.
    connection.unread_bytes -= next.size();
    if (!is_notice(next)) connection.answer_bytes -= next.size();
    connection.unread.pop_front();
  }
  watch_again(id, connection);
  if (connection.unread.empty() && connection.ends)
    (void)::shutdown(connection.socket.get(), SHUT_RDWR);
}

void UnixPort::hang_up(ConnectionId id) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return;
  at->second.ends = true;
  if (at->second.unread.empty()) (void)::shutdown(at->second.socket.get(), SHUT_RDWR);
  watch_again(id, at->second);
}

void UnixPort::close(ConnectionId id) {
  const auto at = connections_.find(id);
  const auto user = by_uid_.find(at->second.uid);
  if (--user->second == 0) by_uid_.erase(user);
  connections_.erase(at);
  listener_.closed(id);
}

void UnixPort::hang_up_on_all() {
  for (auto& [id, connection] : connections_) {
    connection.forget_unread();
    connection.ends = true;
    (void)::shutdown(connection.socket.get(), SHUT_RDWR);
    watch_again(id, connection);
  }
}

void UnixPort::stop_listening() {
  name_ = SocketPath();  // before anybody could bind it anew
  if (socket_.is_open()) (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket_.get(), nullptr);
  socket_.reset();
  lock_.reset();
}

bool UnixPort::is_drained() const noexcept {
  for (const auto& [id, connection] : connections_)
    if (!connection.unread.empty()) return false;
  return true;
}

}  // namespace portcullis::service::daemon
