// SPDX-License-Identifier: BSD-3-Clause
//
// The port's receive buffer: frames wait in it, in order, behind one whose receive queue has
// nothing posted and lets frames wait (behaviour dropless-rq). Above its XOFF threshold a buffer of
// priorities without loss has the other end of the link stop them, and go on below XON. What finds
// no room is lost. A frame waits as long as its queue says and no longer, so nothing stands for
// ever.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "model/ethernet/pause_frame.hpp"
#include "model/ethernet/port_counters.hpp"
#include "model/port_settings.hpp"
#include "model/scheduler.hpp"

namespace portcullis::model {

/// How a frame is offered to whoever takes it.
enum class Offer : std::uint8_t {
  Final,  // now or never
  First,  // it may wait
  Again,  // it has waited, and was counted
  Last,   // and waits no longer
};

class ReceiveBuffer {
 public:
  struct Deps {
    Scheduler* scheduler = nullptr;
    const PortSettings* port = nullptr;
    PortCounters* counters = nullptr;
    std::uint64_t* lost = nullptr;
    /// False: it cannot go now.
    bool (*say)(void* context, const PauseFrame& frame) = nullptr;
    /// 0: it is gone. Otherwise it waits, at most so many ns.
    std::uint64_t (*take)(void* context, std::span<const std::byte> frame, Offer offer) = nullptr;
    void* context = nullptr;
  };
  explicit ReceiveBuffer(const Deps& deps) noexcept : deps_(deps) {}
  ReceiveBuffer(const ReceiveBuffer&) = delete;
  ReceiveBuffer& operator=(const ReceiveBuffer&) = delete;
  ~ReceiveBuffer() { deps_.scheduler->cancel(timer_); }

  [[nodiscard]] bool is_empty() const noexcept { return frames_ == 0; }
  /// A frame of that priority stands behind another.
  [[nodiscard]] bool has_queue(std::uint8_t priority) const noexcept {
    return !queues_[buffer_of(priority)].frames.empty();
  }
  /// The frame waits; `longest_ns` 0: nobody has looked at it yet.
  void keep(std::span<const std::byte> frame, std::uint8_t priority, std::uint64_t longest_ns);
  /// Offers what waits again. True: something went.
  bool look();
  /// What waits is lost, and whom we stopped may go on.
  void forget();
  void clear() noexcept;

 private:
  struct Kept {
    std::vector<std::byte> bytes;
    bool was_offered = false;
    std::uint64_t until_ns = 0;  // of one that was
  };
  struct Queue {
    std::deque<Kept> frames;
    std::uint32_t cells = 0;
    std::uint8_t stopped = 0;  // priorities that we have stopped, a bit each
    std::uint64_t since_ns = 0;
  };

  [[nodiscard]] std::size_t buffer_of(std::uint8_t priority) const noexcept {
    return deps_.port->priority_buffer[priority];
  }
  [[nodiscard]] std::uint8_t lossless(std::size_t buffer) const noexcept;
  [[nodiscard]] bool offer(std::size_t buffer, std::uint64_t now_ns);
  void settle(std::size_t buffer);
  void tell(std::uint8_t priorities, std::uint16_t quanta);
  void arm();
  static void due(void* self, std::uint64_t argument);

  Deps deps_;
  std::array<Queue, PortSettings::kBuffers> queues_;
  std::size_t frames_ = 0;
  std::uint64_t say_at_ns_ = 0;  // what is stopped is told again; 0: nothing is
  TimerId timer_;
};

}  // namespace portcullis::model
