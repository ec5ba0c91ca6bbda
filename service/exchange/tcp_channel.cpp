// SPDX-License-Identifier: BSD-3-Clause
//
// The exchange over TCP.
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"
#include "service/exchange/exchange.hpp"
#include "service/exchange/line_channel.hpp"

namespace portcullis::service::exchange {
namespace {

std::string message(int error) { return std::generic_category().message(error); }

/// Where a server listens that was told no address: nobody is authenticated.
constexpr const char* kThisHost = "127.0.0.1";

struct HostPort {
  std::string host;  // empty: kThisHost
  std::string port;
};

Result<HostPort> split_address(const std::string& text, bool host_needed) {
  const auto refused = [&] {
    return fail(Errc::InvalidArgument,
                fmt::format("address \"{}\"; {} is accepted", shown(text),
                            host_needed ? "HOST:PORT, as 192.0.2.1:7471 or [fe80::1%eth0]:7471,"
                                        : "PORT of 127.0.0.1 or HOST:PORT, as 7471 or "
                                          "192.0.2.1:7471,"));
  };
  const std::size_t colon = text.rfind(':');
  HostPort split;
  split.port = colon == std::string::npos ? text : text.substr(colon + 1);
  if (colon != std::string::npos) split.host = text.substr(0, colon);
  // Without brackets the end of an IPv6 address would be taken for a port.
  const bool is_bracketed =
      split.host.size() > 2 && split.host.front() == '[' && split.host.back() == ']';
  if (is_bracketed) split.host = split.host.substr(1, split.host.size() - 2);
  constexpr std::string_view kInNoHost = "[]/ \t\n";
  if (split.host.find_first_of(kInNoHost) != std::string::npos ||
      (!is_bracketed && split.host.find(':') != std::string::npos))
    return refused();
  std::uint16_t number = 0;
  const char* const end = split.port.data() + split.port.size();
  const auto [at, error] = std::from_chars(split.port.data(), end, number);
  if (error != std::errc() || at != end || number == 0) return refused();
  if (colon == 0 || (host_needed && split.host.empty())) return refused();
  return split;
}

/// A thread's time for a name that no server is asked for, however short the wait.
constexpr std::uint64_t kResolvedAtOnceNs = 2 * kNsPerSecond;

struct AddressListDeleter {
  void operator()(addrinfo* list) const noexcept { freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressListDeleter>;

Result<AddressList> resolve(const HostPort& address, bool passive) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = passive ? AI_PASSIVE : 0;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(address.host.empty() ? kThisHost : address.host.c_str(),
                                address.port.c_str(), &hints, &list);
  if (error != 0)
    return fail(Errc::NotFound, fmt::format("host \"{}\": {}", address.host, gai_strerror(error)));
  return AddressList(list);
}

/// The same, but for a wait that `idle` may end: a name server that does not answer is asked for
/// longer than that. The thread is left behind then, with what it needs.
Result<AddressList> resolve_by(const HostPort& address, std::uint64_t until_ns, const Idle& idle) {
  struct Answer {
    std::atomic<bool> is_there{false};
    Result<AddressList> list;
  };
  const auto answer = std::make_shared<Answer>();
  std::thread([answer, address] {
    answer->list = resolve(address, false);
    answer->is_there = true;
  }).detach();
  const Clock clock = Clock::wall();
  while (!answer->is_there) {
    if (!idle(kNsPerMs)) return fail(Errc::Busy, "interrupted");
    if (clock.now_ns() >= until_ns + kResolvedAtOnceNs)
      return fail(Errc::Timeout, fmt::format("host \"{}\": no name server answers", address.host));
  }
  return std::move(answer->list);
}

std::string name_of(const sockaddr_storage& address, socklen_t bytes) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const auto* const at = static_cast<const sockaddr*>(static_cast<const void*>(&address));
  if (getnameinfo(at, bytes, host.data(), host.size(), port.data(), port.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "a peer";
  const bool is_v6 = std::strchr(host.data(), ':') != nullptr;
  return is_v6 ? fmt::format("[{}]:{}", host.data(), port.data())
               : fmt::format("{}:{}", host.data(), port.data());
}

/// A peer that says nothing is asked whether it is there, and one that answers nothing for ten
/// seconds is given up: nobody hangs up for a host that lost its power. Best effort, tcp(7).
void watch_for_death(int fd) {
  constexpr int kOn = 1;
  constexpr int kIdleS = 4;
  constexpr int kEveryS = 2;
  constexpr int kProbes = 3;
  constexpr unsigned kGiveUpMs = 10'000;  // of what was sent and not acknowledged
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleS, sizeof kIdleS);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kEveryS, sizeof kEveryS);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof kProbes);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kGiveUpMs, sizeof kGiveUpMs);
}

bool is_loopback(const sockaddr_storage& address) {
  const void* const at = &address;
  if (address.ss_family == AF_INET)
    return (ntohl(static_cast<const sockaddr_in*>(at)->sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
  return address.ss_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&static_cast<const sockaddr_in6*>(at)->sin6_addr) != 0;
}

/// One connection. Holds no more of what the peer sends than a line may have.
class Connection {
 public:
  Connection() = default;
  Connection(UniqueFd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

  [[nodiscard]] bool is_open() const noexcept { return fd_.is_open(); }
  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }

  Result<std::optional<std::string>> poll_line() {
    if (auto line = take_line()) return line;
    std::array<char, kMaxLineBytes + 1> buffer;
    const ssize_t got =
        recv(fd_.get(), buffer.data(), buffer.size() - received_.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (got < 0) return fail(Errc::System, fmt::format("{}: {}", peer_, message(errno)));
    if (got == 0 && received_.empty())
      return fail(Errc::System, fmt::format("{}: it hung up without a line", peer_));
    if (got == 0)
      return fail(Errc::Malformed, fmt::format("{}: it hung up after \"{}\", which has no newline",
                                               peer_, shown(received_)));
    received_.append(buffer.data(), static_cast<std::size_t>(got));
    if (auto line = take_line()) return line;
    if (received_.size() > kMaxLineBytes)
      return fail(Errc::Malformed, fmt::format("{}: \"{}\" has no newline within {} bytes", peer_,
                                               shown(received_), kMaxLineBytes));
    return std::nullopt;
  }

  Result<void> send_line(std::string_view line) {
    std::string text(line);
    text += '\n';
    // A line fits the empty buffer of any socket, so one that is not taken whole is an error.
    const ssize_t sent = send(fd_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(text.size())) return {};
    return fail(Errc::System, fmt::format("{}: the line was not taken: {}", peer_,
                                          sent < 0 ? message(errno) : "cut"));
  }

  /// Nothing is awaited any more: what still comes is thrown away, for the end stands behind it.
  [[nodiscard]] bool is_gone() const {
    if (!fd_.is_open()) return true;
    std::array<char, 4096> ignored;
    const ssize_t got = recv(fd_.get(), ignored.data(), ignored.size(), MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  }

 private:
  std::optional<std::string> take_line() {
    const std::size_t end = received_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
  }

  UniqueFd fd_;
  std::string peer_;
  std::string received_;
};

class ClientChannel final : public LineChannel {
 public:
  explicit ClientChannel(Connection connection) : connection_(std::move(connection)) {}
  Result<std::optional<std::string>> poll_line() override { return connection_.poll_line(); }
  Result<void> send_line(std::string_view line) override { return connection_.send_line(line); }
  void drop() override { connection_ = {}; }
  bool is_peer_gone() override { return connection_.is_gone(); }
  std::string peer() const override { return connection_.peer(); }

 private:
  Connection connection_;
};

/// Takes whoever comes; the first whose line is whole, or can be none any more, becomes the peer.
class ServerChannel final : public LineChannel {
 public:
  ServerChannel(UniqueFd listener, std::uint64_t silence_ms)
      : listener_(std::move(listener)), silence_ms_(silence_ms) {
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    if (getsockname(listener_.get(), static_cast<sockaddr*>(static_cast<void*>(&address)),
                    &bytes) == 0)
      name_ = name_of(address, bytes);
    is_local_ = is_loopback(address);
  }

  Result<std::optional<std::string>> poll_line() override {
    accept_all();
    const std::uint64_t now = clock_.now_ns();
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      auto line = at->connection.poll_line();
      if (line && !*line) {
        if (now - at->came_ns < silence_ms_ * kNsPerMs) continue;
        line = fail(Errc::Timeout,
                    fmt::format("{}: no line within {} ms", at->connection.peer(), silence_ms_));
      }
      peer_ = std::move(at->connection);
      waiting_.erase(at);
      return line;
    }
    return std::nullopt;
  }
  Result<std::optional<std::string>> poll_further() override { return peer_.poll_line(); }
  Result<void> send_line(std::string_view line) override { return peer_.send_line(line); }
  void drop() override { peer_ = {}; }
  bool is_peer_gone() override { return peer_.is_gone(); }
  std::string peer() const override { return peer_.is_open() ? peer_.peer() : name_; }
  std::string who_may_ask() const override {
    if (is_local_)
      return fmt::format(
          "whoever on this host reaches {} is granted a lease for the GID, MAC and QPN that it "
          "claims: nobody is authenticated",
          name_);
    return fmt::format(
        "WARNING: whoever on any host reaches {} is granted a lease for the GID, MAC and QPN that "
        "it claims, and told its rkey in the clear: nobody is authenticated",
        name_);
  }

 private:
  struct Waiting {
    Connection connection;
    std::uint64_t came_ns;
  };
  // A peer of ours sends its line at once: so many that have not, after so long, are in the way.
  static constexpr std::size_t kMostWaiting = 64;
  static constexpr std::uint64_t kAtOnceNs = 100 * kNsPerMs;

  void accept_all() {
    while (has_caller() && (waiting_.size() < kMostWaiting || make_room())) {
      sockaddr_storage address{};
      socklen_t bytes = sizeof address;
      UniqueFd fd(accept4(listener_.get(), static_cast<sockaddr*>(static_cast<void*>(&address)),
                          &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK));
      const bool has_no_descriptor = !fd.is_open() && (errno == EMFILE || errno == ENFILE);
      if (has_no_descriptor && make_room()) continue;
      if (!fd.is_open()) return;
      watch_for_death(fd.get());
      waiting_.push_back({Connection(std::move(fd), name_of(address, bytes)), clock_.now_ns()});
    }
  }
  [[nodiscard]] bool has_caller() const noexcept {
    pollfd listener{.fd = listener_.get(), .events = POLLIN, .revents = 0};
    return poll(&listener, 1, 0) == 1;
  }
  /// False: nobody has had his time yet, and who comes waits in the backlog.
  bool make_room() {
    if (waiting_.empty() || clock_.now_ns() - waiting_.front().came_ns < kAtOnceNs) return false;
    (void)waiting_.front().connection.send_line(
        refusal(fmt::format("{} wait, and this one sent no line", waiting_.size())));
    waiting_.erase(waiting_.begin());
    return true;
  }

  Clock clock_ = Clock::wall();
  UniqueFd listener_;
  std::string name_ = "a port";
  bool is_local_ = false;
  std::uint64_t silence_ms_;
  std::vector<Waiting> waiting_;  // in the order in which they came
  Connection peer_;
};

/// One try, which waits no longer than the system takes to refuse, or `until_ns`.
Result<UniqueFd> try_connect(const addrinfo& to, std::uint64_t until_ns, const Idle& idle) {
  UniqueFd fd(socket(to.ai_family, to.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to.ai_protocol));
  if (!fd.is_open()) return fail(Errc::System, message(errno));
  if (connect(fd.get(), to.ai_addr, to.ai_addrlen) != 0 && errno != EINPROGRESS)
    return fail(Errc::System, message(errno));
  const Clock clock = Clock::wall();
  pollfd waited{.fd = fd.get(), .events = POLLOUT, .revents = 0};
  while (poll(&waited, 1, 0) == 0) {
    if (clock.now_ns() >= until_ns) return fail(Errc::Timeout, "no answer");
    if (!idle(kNsPerMs)) return fail(Errc::Busy, "interrupted");
  }
  int error = 0;
  socklen_t bytes = sizeof error;
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
  if (error != 0) return fail(Errc::System, message(error));
  return fd;
}

}  // namespace

Result<void> check_server(const std::string& address) {
  PORTCULLIS_TRY(split_address(address, true));
  return {};
}

Result<std::unique_ptr<LineChannel>> connect_tcp(const std::string& address,
                                                 std::uint64_t timeout_ms, const Idle& idle,
                                                 std::string_view who) {
  PORTCULLIS_TRY_ASSIGN(const HostPort split, split_address(address, true));
  const Clock clock = Clock::wall();
  const std::uint64_t until_ns = clock.now_ns() + timeout_ms * kNsPerMs;
  PORTCULLIS_TRY_ASSIGN(const AddressList list, resolve_by(split, until_ns, idle));
  while (true) {
    std::string why;
    for (const addrinfo* to = list.get(); to != nullptr; to = to->ai_next) {
      auto fd = try_connect(*to, until_ns, idle);
      if (fd) return std::make_unique<ClientChannel>(Connection(*std::move(fd), address));
      if (fd.error().code == Errc::Busy) return forward_error(std::move(fd));
      why = fd.error().text;
    }
    if (clock.now_ns() >= until_ns)
      return fail(Errc::Timeout, fmt::format("{}: {}; is {} listening there?", address, why, who));
    constexpr std::uint64_t kTryAgainNs = 100 * kNsPerMs;
    if (!idle(kTryAgainNs)) return fail(Errc::Busy, "interrupted");
  }
}

Result<std::unique_ptr<LineChannel>> listen_tcp(const std::string& address,
                                                std::uint64_t silence_ms) {
  PORTCULLIS_TRY_ASSIGN(const HostPort split, split_address(address, false));
  PORTCULLIS_TRY_ASSIGN(const AddressList list, resolve(split, true));
  std::string why;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    UniqueFd fd(
        socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol));
    const int yes = 1;
    if (fd.is_open()) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    constexpr int kBacklog = 64;
    if (fd.is_open() && bind(fd.get(), at->ai_addr, at->ai_addrlen) == 0 &&
        listen(fd.get(), kBacklog) == 0)
      return std::make_unique<ServerChannel>(std::move(fd), silence_ms);
    why = message(errno);
  }
  return fail(Errc::System, fmt::format("cannot listen on {}: {}", address, why));
}

}  // namespace portcullis::service::exchange
