// SPDX-License-Identifier: BSD-3-Clause
//
// A way between a client and a server over UDP, as bad as a test wants it: late, cut, or with
// somebody on it who plays old packets again.
#pragma once

#include <poll.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/udp_socket.hpp"

namespace portcullis::client {

class Relay {
 public:
  explicit Relay(const UdpAddress& server)
      : front_(UdpSocket::bind(UdpAddress::parse("127.0.0.1:0", "relay").value()).value()),
        back_(UdpSocket::connect(server).value()),
        server_(server),
        thread_([this] { run(); }) {}
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay() {
    stop_ = true;
    thread_.join();
  }

  /// Where a client finds the server.
  [[nodiscard]] UdpAddress address() const { return front_.local(); }

  std::atomic<std::uint64_t> delay_ms{0};  // each way
  std::atomic<bool> is_cut{false};         // nothing passes
  std::atomic<bool> repeats{false};        // all that the server ever said is said again and again

 private:
  struct Late {
    std::uint64_t due_ns = 0;
    bool is_to_server = false;
    std::vector<std::byte> bytes;
  };
  static std::uint64_t now_ns() { return Clock::wall().now_ns(); }

  void run() {
    constexpr int kStepMs = 5;
    while (!stop_) {
      std::array<pollfd, 2> waited{{{.fd = front_.fd(), .events = POLLIN, .revents = 0},
                                    {.fd = back_.fd(), .events = POLLIN, .revents = 0}}};
      (void)::poll(waited.data(), waited.size(), kStepMs);
      take(front_, true);
      take(back_, false);
      deliver();
      if (repeats) repeat();
    }
  }
  void take(UdpSocket& from, bool is_to_server) {
    std::array<std::byte, 2048> buffer;
    for (auto got = from.receive(buffer); got && *got; got = from.receive(buffer)) {
      const auto& datagram = **got;
      if (is_to_server) client_ = datagram.from;
      if (!is_to_server) said_.emplace_back(datagram.bytes.begin(), datagram.bytes.end());
      if (is_cut) continue;
      late_.push_back({.due_ns = now_ns() + delay_ms * kNsPerMs,
                       .is_to_server = is_to_server,
                       .bytes = {datagram.bytes.begin(), datagram.bytes.end()}});
    }
  }
  void deliver() {
    while (!late_.empty() && late_.front().due_ns <= now_ns()) {
      const Late next = std::move(late_.front());
      late_.pop_front();
      if (next.is_to_server) back_.send({}, server_, next.bytes);
      if (!next.is_to_server) front_.send(front_.local(), client_, next.bytes);
    }
  }
  void repeat() {
    for (const auto& bytes : said_) front_.send(front_.local(), client_, bytes);
  }

  UdpSocket front_;
  UdpSocket back_;
  UdpAddress server_;
  UdpAddress client_;
  std::deque<Late> late_;
  std::vector<std::vector<std::byte>> said_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace portcullis::client
