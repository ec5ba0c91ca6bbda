// SPDX-License-Identifier: BSD-3-Clause
#include "client/quic_link.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.hpp"

namespace portcullis::client {
namespace {

constexpr std::uint64_t kMostWaitMs = 1'000;

std::uint64_t now_ns() noexcept { return Clock::wall().now_ns(); }

void raise(const UniqueFd& event) noexcept {
  const std::uint64_t one = 1;
  (void)!::write(event.get(), &one, sizeof one);
}
void lower(const UniqueFd& event) noexcept {
  std::uint64_t count = 0;
  (void)!::read(event.get(), &count, sizeof count);
}

UniqueFd new_event() noexcept { return UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)); }

int wait_ms(std::uint64_t until_ns) noexcept {
  const std::uint64_t now = now_ns();
  if (now >= until_ns) return 0;
  return static_cast<int>(std::min<std::uint64_t>((until_ns - now) / kNsPerMs + 1, kMostWaitMs));
}

}  // namespace

QuicLink::QuicLink(UdpSocket socket, UdpAddress server)
    : socket_(std::move(socket)), server_(server), wake_(new_event()), news_(new_event()) {}

Result<std::unique_ptr<Link>> QuicLink::open(const QuicServer& server, std::uint64_t until_ns,
                                             const Stop& stop) {
  auto resolved = server.resolved ? Result<UdpAddress>(*server.resolved)
                                  : UdpAddress::resolve(server.address, "server");
  PORTCULLIS_TRY_ASSIGN(const auto address, std::move(resolved));
  PORTCULLIS_TRY_ASSIGN(auto socket, UdpSocket::connect(address));
  std::unique_ptr<QuicLink> link(new QuicLink(std::move(socket), address));
  if (!link->wake_.is_open() || !link->news_.is_open())
    return fail(Errc::System, "eventfd: no descriptor is left");
  PORTCULLIS_TRY(link->start(server));
  PORTCULLIS_TRY(link->wait_until_ready(server.address, until_ns, stop));
  return std::unique_ptr<Link>(std::move(link));
}

Result<void> QuicLink::start(const QuicServer& server) {
  PORTCULLIS_TRY_ASSIGN(auto credentials, quic::Credentials::load(server.files));
  const std::string name =
      server.name.empty() ? split_host_and_port(server.address)->host : server.name;
  PORTCULLIS_TRY_ASSIGN(
      connection_,
      quic::Connection::connect(socket_.local(), server_, name, std::move(credentials), {},
                                {.frame =
                                     [this](quic::StreamId, std::span<const std::byte> frame) {
                                       heard_.emplace_back(frame.begin(), frame.end());
                                     }},
                                now_ns()));
  thread_ = std::thread([this] { run(); });
  return {};
}

Result<void> QuicLink::wait_until_ready(const std::string& server, std::uint64_t until_ns,
                                        const Stop& stop) {
  constexpr int kSliceMs = 100;
  for (;;) {
    {
      const std::lock_guard<std::mutex> one(lock_);
      if (end_ && is_refused_) return fail(Errc::NotFound, "no leased listens on " + server);
      if (end_) return tl::unexpected<Error>(*end_);
      if (is_ready_) break;
    }
    const int left = wait_ms(until_ns);
    if (left == 0 || (stop && stop())) return fail(Errc::Timeout, "no leased answers at " + server);
    pollfd waited{.fd = news_.get(), .events = POLLIN, .revents = 0};
    (void)::poll(&waited, 1, std::min(left, kSliceMs));
    if (waited.revents != 0) lower(news_);
  }
  return {};
}

QuicLink::~QuicLink() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> one(lock_);
    stop_ = true;
  }
  raise(wake_);
  thread_.join();
}

Result<void> QuicLink::send(const wire::FrameBytes& frame, std::uint64_t /*until_ns*/) {
  {
    const std::lock_guard<std::mutex> one(lock_);
    if (end_) return {};  // what was said before the end is there to be read
    outgoing_.push_back(frame);
  }
  raise(wake_);
  return {};
}

Result<std::optional<wire::FrameBytes>> QuicLink::receive(std::uint64_t until_ns) {
  for (;;) {
    {
      const std::lock_guard<std::mutex> one(lock_);
      if (!incoming_.empty()) {
        std::optional<wire::FrameBytes> oldest(std::move(incoming_.front()));
        incoming_.pop_front();
        return oldest;
      }
      if (end_) return tl::unexpected<Error>(*end_);
      lower(news_);  // nothing is left
    }
    if (now_ns() >= until_ns) return std::nullopt;
    pollfd waited{.fd = news_.get(), .events = POLLIN, .revents = 0};
    (void)::poll(&waited, 1, wait_ms(until_ns));
  }
}

// ---- The thread ------------------------------------------------------------------------------

int QuicLink::left_ms() const {
  return wait_ms(std::min(connection_->expires_ns(), now_ns() + kMostWaitMs * kNsPerMs));
}

void QuicLink::run() {
  for (;;) {
    bool is_to_stop = false;
    {
      const std::lock_guard<std::mutex> one(lock_);
      is_to_stop = stop_;
    }
    ask_what_waits();
    if (is_to_stop) connection_->close(quic::CloseCode::Done, "the client has left");
    connection_->write(socket_, now_ns());
    publish();
    if (is_to_stop || is_refused_ || connection_->is_gone()) return;
    std::array<pollfd, 2> waited{{{.fd = socket_.fd(), .events = POLLIN, .revents = 0},
                                  {.fd = wake_.get(), .events = POLLIN, .revents = 0}}};
    (void)::poll(waited.data(), waited.size(), left_ms());
    lower(wake_);
    read_datagrams();
    if (connection_->expires_ns() <= now_ns()) connection_->expire(now_ns());
  }
}

void QuicLink::read_datagrams() {
  constexpr int kAtOnce = 64;
  std::array<std::byte, 2048> buffer;
  for (int i = 0; i < kAtOnce; ++i) {
    const auto datagram = socket_.receive(buffer);
    // A port that nobody has says so by ICMP, which anybody on the path may forge: it ends what has
    // not begun, and nothing else.
    if (!datagram && !connection_->is_ready()) is_refused_ = true;
    if (!datagram || !*datagram) return;
    connection_->read(**datagram, now_ns());
  }
}

/// Each request on a stream of its own, as many as the server lets be.
void QuicLink::ask_what_waits() {
  const std::lock_guard<std::mutex> one(lock_);
  while (connection_->is_ready() && !outgoing_.empty()) {
    const auto stream = connection_->open_stream();
    if (!stream) return;
    connection_->ask(*stream, std::move(outgoing_.front()));
    outgoing_.pop_front();
  }
}

void QuicLink::publish() {
  const std::lock_guard<std::mutex> one(lock_);
  const bool has_news = !heard_.empty() || connection_->is_ready() != is_ready_;
  for (auto& frame : heard_) incoming_.push_back(std::move(frame));
  heard_.clear();
  is_ready_ = connection_->is_ready();
  const bool has_ended = is_refused_ || connection_->end().has_value();
  if (has_ended && !end_)
    end_ =
        Error{Errc::DeviceGone, connection_->end().value_or("nobody has that port"), std::nullopt};
  if (has_news || has_ended) raise(news_);
}

}  // namespace portcullis::client
