// SPDX-License-Identifier: BSD-3-Clause
//
// Where a port's packets leave, as far as the other end of the link lets them. Whoever sends
// requests or data asks before it builds a packet, and waits; an answer cannot wait with whom it
// answers, so it stays here until its priority may go.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "model/ethernet/pause_clock.hpp"
#include "model/transport/wire.hpp"

namespace portcullis::model {

class WayOut {
 public:
  /// Answers of one priority that a pause may hold back. More are lost, and asked for again.
  static constexpr std::size_t kMostHeld = 4096;

  WayOut(Wire& wire, Wire::PortId port, const PauseClock& pauses, std::uint64_t& lost) noexcept
      : wire_(&wire), port_(port), pauses_(&pauses), lost_(&lost) {}

  [[nodiscard]] bool is_shut(std::uint8_t priority) const noexcept {
    return pauses_->is_paused(priority);
  }
  /// The first `length` bytes of the wire's next_buffer(), at once.
  void send(std::size_t length, Way way) { wire_->send(port_, length, way); }
  /// Neither is it shut, nor does anything wait here.
  [[nodiscard]] bool is_free(std::uint8_t priority) const noexcept {
    return !is_shut(priority) && held_[priority].empty();
  }
  /// The same, when the priority is free.
  void send_later(std::size_t length, Way way, std::uint8_t priority) {
    auto& queue = held_[priority];
    if (queue.size() == kMostHeld) {
      ++*lost_;
      return;
    }
    const auto bytes = wire_->next_buffer().first(length);
    queue.push_back({{bytes.begin(), bytes.end()}, way});
  }
  /// What may go goes. False: the wire has no room for more.
  [[nodiscard]] bool open() {
    for (std::size_t i = 0; i < kPriorities; ++i)
      for (auto& queue = held_[i]; !queue.empty() && !is_shut(static_cast<std::uint8_t>(i));
           queue.pop_front()) {
        if (!wire_->has_room()) return false;
        const Held& next = queue.front();
        std::memcpy(wire_->next_buffer().data(), next.bytes.data(), next.bytes.size());
        send(next.bytes.size(), next.way);
      }
    return true;
  }
  void clear() noexcept {
    for (auto& queue : held_) queue.clear();
  }

 private:
  struct Held {
    std::vector<std::byte> bytes;
    Way way = Way::Anywhere;
  };

  Wire* wire_;
  Wire::PortId port_;
  const PauseClock* pauses_;
  std::uint64_t* lost_;
  std::array<std::deque<Held>, kPriorities> held_;
};

}  // namespace portcullis::model
