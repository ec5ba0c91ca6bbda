// SPDX-License-Identifier: BSD-3-Clause
#include "bench/service/fleet.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>

#include "base/clock.hpp"
#include "base/udp_socket.hpp"
#include "base/unix_socket.hpp"
#include "bench/service/leased_process.hpp"
#include "quic/connection.hpp"

namespace portcullis::bench {
namespace {

std::uint64_t now_ns() noexcept { return Clock::wall().now_ns(); }

bool would_block(int error) noexcept { return error == EAGAIN || error == EINTR; }

class UnixLine final : public Line {
 public:
  explicit UnixLine(UniqueFd socket) : socket_(std::move(socket)) {}

  static Result<std::unique_ptr<Line>> open(const std::string& path, std::uint64_t until_ns) {
    PORTCULLIS_TRY_ASSIGN(const sockaddr_un address, unix_address(path, "socket"));
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const timeval most{.tv_sec = 10, .tv_usec = 0};  // of connect(), where the backlog is full
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    while (::connect(socket.get(), portcullis::generic(address), sizeof address) != 0)
      if (!would_block(errno) || now_ns() >= until_ns)
        return fail(Errc::System, fmt::format("socket {}: {}", path, std::strerror(errno)));
    return std::unique_ptr<Line>(new UnixLine(std::move(socket)));
  }

  [[nodiscard]] int fd() const noexcept override { return socket_.get(); }
  void send(wire::FrameBytes frame) override {
    unsent_.push_back(std::move(frame));
    flush();
  }
  void serve(const Heard& heard) override {
    std::array<std::byte, wire::kMostFrameBytes + 1> buffer;
    while (!end_) {
      const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got < 0 && would_block(errno)) break;
      if (got <= 0)
        end_ = "the server has hung up";
      else
        heard(std::span(buffer).first(static_cast<std::size_t>(got)));
    }
    flush();
  }
  [[nodiscard]] std::uint64_t expires_ns() const override {
    constexpr std::uint64_t kTryAgainNs = kNsPerMs;
    return unsent_.empty() ? UINT64_MAX : now_ns() + kTryAgainNs;
  }
  [[nodiscard]] bool is_ready() const override { return !end_; }
  [[nodiscard]] std::optional<std::string> end() const override { return end_; }

 private:
  void flush() {
    while (!unsent_.empty()) {
      const auto& next = unsent_.front();
      const ssize_t sent =
          ::send(socket_.get(), next.data(), next.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && would_block(errno)) return;
      unsent_.pop_front();  // a server that is gone is seen by who reads
    }
  }

  UniqueFd socket_;
  std::deque<wire::FrameBytes> unsent_;
  std::optional<std::string> end_;
};

class QuicLine final : public Line {
 public:
  static Result<std::unique_ptr<Line>> open(const std::string& server,
                                            const quic::CredentialFiles& files) {
    PORTCULLIS_TRY_ASSIGN(const auto address, UdpAddress::parse(server, "server"));
    std::unique_ptr<QuicLine> line(new QuicLine);
    PORTCULLIS_TRY_ASSIGN(line->socket_, UdpSocket::connect(address));
    PORTCULLIS_TRY_ASSIGN(auto credentials, quic::Credentials::load(files));
    QuicLine* own = line.get();
    PORTCULLIS_TRY_ASSIGN(
        line->connection_,
        quic::Connection::connect(
            line->socket_.local(), address, address.host(), std::move(credentials),
            {.idle_ms = 60'000, .handshake_ms = 60'000},
            {.frame = [own](quic::StreamId,
                            std::span<const std::byte> frame) { (*own->heard_)(frame); }},
            now_ns()));
    line->write();
    return std::unique_ptr<Line>(std::move(line));
  }

  [[nodiscard]] int fd() const noexcept override { return socket_.fd(); }
  void send(wire::FrameBytes frame) override {
    unasked_.push_back(std::move(frame));
    write();
  }
  void serve(const Heard& heard) override {
    heard_ = &heard;
    std::array<std::byte, 2048> buffer;
    for (;;) {
      const auto datagram = socket_.receive(buffer);
      if (!datagram || !*datagram) break;
      connection_->read(**datagram, now_ns());
    }
    if (connection_->expires_ns() <= now_ns()) connection_->expire(now_ns());
    write();
    heard_ = nullptr;
  }
  [[nodiscard]] std::uint64_t expires_ns() const override { return connection_->expires_ns(); }
  [[nodiscard]] bool is_ready() const override { return connection_->is_ready(); }
  [[nodiscard]] std::optional<std::string> end() const override { return connection_->end(); }

 private:
  QuicLine() = default;
  /// Each request on a stream of its own, as many as the server lets be.
  void write() {
    while (connection_->is_ready() && !unasked_.empty()) {
      const auto stream = connection_->open_stream();
      if (!stream) break;
      connection_->ask(*stream, std::move(unasked_.front()));
      unasked_.pop_front();
    }
    connection_->write(socket_, now_ns());
  }

  UdpSocket socket_;
  const Heard* heard_ = nullptr;  // within serve()
  std::deque<wire::FrameBytes> unasked_;
  std::unique_ptr<quic::Connection> connection_;
};

}  // namespace

const char* name(Transport transport) noexcept {
  return transport == Transport::Unix ? "AF_UNIX" : "QUIC";
}

Result<std::unique_ptr<Line>> open_line(const LeasedProcess& leased, Transport transport,
                                        std::uint64_t nth) {
  constexpr std::uint64_t kMostNs = 60 * kNsPerSecond;
  if (transport == Transport::Unix)
    return UnixLine::open(leased.socket().string(), now_ns() + kMostNs);
  return QuicLine::open(leased.quic_address(),
                        leased.certificate(1 + nth % LeasedProcess::kTenants));
}

Result<Fleet> Fleet::create() {
  Fleet fleet;
  fleet.epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!fleet.epoll_.is_open())
    return fail(Errc::System, fmt::format("epoll_create1: {}", std::strerror(errno)));
  return fleet;
}

Result<void> Fleet::add(std::unique_ptr<Line> line) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = lines_.size();
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, line->fd(), &event) != 0)
    return fail(Errc::System, fmt::format("epoll_ctl: {}", std::strerror(errno)));
  lines_.push_back(std::move(line));
  timer_of_.push_back(UINT64_MAX);
  note_timer(lines_.size() - 1);
  return {};
}

/// A stranger more a second than the server takes of one host would be kept waiting by it, and
/// that is a time that nobody wants to know.
Result<void> Fleet::open(const LeasedProcess& leased, Transport transport, std::size_t count,
                         std::uint64_t most_ns) {
  constexpr std::size_t kStrangersAtOnce = 32;
  constexpr std::uint64_t kBetweenNs = kNsPerSecond / 50;
  const std::uint64_t until_ns = now_ns() + most_ns;
  const std::size_t wanted = lines_.size() + count;
  std::set<std::size_t> strangers;
  std::size_t greeted = lines_.size();
  std::uint64_t next_ns = 0;
  const Heard heard = [&](std::size_t, const wire::Frame& frame) {
    greeted += frame.header.op == wire::answer_to(wire::Op::Hello) ? 1 : 0;
  };
  while (greeted < wanted) {
    const std::uint64_t now = now_ns();
    if (now >= until_ns)
      return fail(Errc::Timeout,
                  fmt::format("{} of {} connections were there in time", greeted, wanted));
    const bool may_come =
        transport == Transport::Unix || (now >= next_ns && strangers.size() < kStrangersAtOnce);
    if (lines_.size() < wanted && may_come) {
      PORTCULLIS_TRY_ASSIGN(auto line, open_line(leased, transport, lines_.size()));
      PORTCULLIS_TRY(add(std::move(line)));
      strangers.insert(lines_.size() - 1);
      next_ns = now + kBetweenNs;
    }
    PORTCULLIS_TRY(serve(now + (transport == Transport::Unix ? 0 : kNsPerMs), heard));
    for (auto each = strangers.begin(); each != strangers.end();) {
      if (!lines_[*each]->is_ready()) {
        ++each;
        continue;
      }
      ask(*each, wire::Op::Hello, 1, wire::HelloRequest{});
      each = strangers.erase(each);
    }
  }
  return {};
}

void Fleet::send(std::size_t line, wire::FrameBytes frame) {
  lines_[line]->send(std::move(frame));
  note_timer(line);
}

void Fleet::note_timer(std::size_t index) {
  const std::uint64_t next = lines_[index]->end() ? UINT64_MAX : lines_[index]->expires_ns();
  if (next == timer_of_[index]) return;
  timers_.erase({timer_of_[index], index});
  timer_of_[index] = next;
  if (next != UINT64_MAX) timers_.emplace(next, index);
}

Result<void> Fleet::serve_one(std::size_t index, const Heard& heard) {
  Result<void> fault;
  lines_[index]->serve([&](std::span<const std::byte> bytes) {
    const auto frame = wire::read_frame(bytes);
    if (frame)
      heard(index, *frame);
    else if (fault)
      fault = fail(Errc::Malformed, wire::text_of(frame.error().text));
  });
  note_timer(index);
  PORTCULLIS_TRY(std::move(fault));
  const auto end = lines_[index]->end();
  if (!end) return {};
  if (!may_end_) return fail(Errc::DeviceGone, fmt::format("connection {}: {}", index, *end));
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, lines_[index]->fd(), nullptr);
  return {};
}

Result<void> Fleet::serve(std::uint64_t until_ns, const Heard& heard) {
  const std::uint64_t now = now_ns();
  if (!timers_.empty()) until_ns = std::min(until_ns, timers_.begin()->first);
  const std::uint64_t left_ns = until_ns > now ? until_ns - now : 0;
  const timespec left{.tv_sec = static_cast<time_t>(left_ns / kNsPerSecond),
                      .tv_nsec = static_cast<long>(left_ns % kNsPerSecond)};
  std::array<epoll_event, 64> events{};
  const int count =
      ::epoll_pwait2(epoll_.get(), events.data(), static_cast<int>(events.size()), &left, nullptr);
  for (int i = 0; i < count; ++i)
    PORTCULLIS_TRY(serve_one(events[static_cast<std::size_t>(i)].data.u64, heard));
  while (!timers_.empty() && timers_.begin()->first <= now_ns()) {
    const std::size_t due = timers_.begin()->second;
    const std::uint64_t was = timers_.begin()->first;
    PORTCULLIS_TRY(serve_one(due, heard));
    if (timer_of_[due] == was) break;  // it has nothing that can be done yet
  }
  return {};
}

bool Fleet::have_all_ended() const {
  return std::all_of(lines_.begin(), lines_.end(),
                     [](const auto& line) { return line->end().has_value(); });
}

}  // namespace portcullis::bench
