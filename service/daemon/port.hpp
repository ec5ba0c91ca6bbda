// SPDX-License-Identifier: BSD-3-Clause
//
// Where clients connect, whatever carries the frames: what the server asks of AF_UNIX and of QUIC
// alike. Nothing here waits, and no client can make it wait.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <fmt/format.h>

#include "base/log_sink.hpp"
#include "service/daemon/lease_book.hpp"
#include "service/daemon/policy.hpp"
#include "wire/frame.hpp"

namespace portcullis::service::daemon {

/// Of a frame that the server sends.
[[nodiscard]] inline bool is_notice(const wire::FrameBytes& frame) {
  const auto header = std::span<const std::byte>(frame).first<wire::kBytes<wire::Header>>();
  const std::uint16_t op = wire::decode<wire::Header>(header)->op;
  return op == number(wire::Notice::Revoked) || op == number(wire::Notice::Expired) ||
         op == number(wire::Notice::ServerRestarted);
}

class Port {
 public:
  /// What a client has not read, at most: a notice for each lease that a device can have.
  static constexpr std::size_t kMostUnreadBytes = std::size_t{4} << 20;
  /// Of answers alone: whoever has more to read is not heard until it has read.
  static constexpr std::size_t kMostAnswerBytes = std::size_t{64} << 10;

  /// Who hears of what; called from within serve().
  struct Listener {
    std::function<void(ConnectionId, Identity)> opened;
    std::function<void(ConnectionId, std::span<const std::byte>)> received;
    std::function<void(ConnectionId)> closed;
    /// It sends nothing more, and reads still; is to be hung up on when it has been told all. Not
    /// asked of QUIC, where that is a stream's matter.
    std::function<void(ConnectionId)> finished = {};
  };

  Port() = default;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  virtual ~Port() = default;

  /// Readable when serve() has something to do.
  [[nodiscard]] virtual int fd() const noexcept = 0;
  /// What has come, and what was sent since the last call.
  virtual void serve() = 0;
  /// In its place while fd() is not readable: nothing is asked of the system that has no answer.
  virtual void flush() = 0;
  virtual void send(ConnectionId connection, wire::FrameBytes frame) = 0;
  /// Once what was sent has been read; at once where nothing is left.
  virtual void hang_up(ConnectionId connection) = 0;
  /// No new connections; those that are there stay. The address is free for the next server where
  /// it can be.
  virtual void stop_listening() = 0;
  /// Whoever has not read by now reads no more.
  virtual void hang_up_on_all() = 0;
  /// Nobody has anything left to read.
  [[nodiscard]] virtual bool is_drained() const noexcept = 0;
  virtual void set_limits(const Limits& limits) = 0;
  [[nodiscard]] virtual std::size_t connections() const noexcept = 0;
};

/// What all clients of a port have not read. It is counted once in so many bytes that were sent,
/// for to count takes as long as there are clients.
class UnreadOfAll {
 public:
  /// After `sent_bytes` more: where `clients` have more than `most_bytes` to read, `turn_out` is
  /// called of those that have most, until what is left may be left. `unread` is what one has to
  /// read: nothing once it is being hung up on.
  template <class Clients, class Unread, class TurnOut>
  void bound(std::size_t sent_bytes, std::uint64_t most_bytes, Clients& clients, Unread unread,
             TurnOut turn_out) {
    since_bytes_ += sent_bytes;
    if (since_bytes_ < kEachBytes) return;
    since_bytes_ = 0;
    std::size_t all = 0;
    for (const auto& each : clients) all += unread(each);
    while (all > most_bytes) {
      auto& slowest = *std::ranges::max_element(clients, {}, unread);
      all -= unread(slowest);
      turn_out(slowest);
    }
  }

 private:
  static constexpr std::size_t kEachBytes = std::size_t{1} << 20;
  std::size_t since_bytes_ = 0;
};

/// What clients do wrong, for the log: the first time and then every thousandth, for whoever is
/// turned away can come again at once.
class Complaints {
 public:
  explicit Complaints(LogSink log) : log_(std::move(log)) {}
  void add(const std::string& what) {
    if (count_++ % 1000 == 0 && log_)
      log_(fmt::format("{} (complaint {} about clients)", what, count_));
  }

 private:
  LogSink log_;
  std::uint64_t count_ = 0;
};

}  // namespace portcullis::service::daemon
