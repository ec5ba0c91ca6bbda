// SPDX-License-Identifier: BSD-3-Clause
//
// Which priorities the other end of a link has stopped, and until when. Every pause ends by its
// quanta; whoever stops us for longer says so again.
#pragma once

#include <array>
#include <cstdint>

#include "model/ethernet/pause_frame.hpp"
#include "model/scheduler.hpp"

namespace portcullis::model {

/// What was heard of one priority.
struct PauseCount {
  std::uint64_t paused_ns = 0;  // as far as it is over
  std::uint64_t resumed = 0;    // how often one ended
};
using PauseCounts = std::array<PauseCount, kPriorities>;

class PauseClock {
 public:
  /// `resumed` runs when a priority may be sent again. `counts` outlives this.
  PauseClock(Scheduler& scheduler, std::uint64_t gbps, PauseCounts& counts, Task resumed) noexcept
      : scheduler_(&scheduler), gbps_(gbps), counts_(&counts), resumed_(resumed) {}
  PauseClock(const PauseClock&) = delete;
  PauseClock& operator=(const PauseClock&) = delete;
  ~PauseClock() { scheduler_->cancel(timer_); }

  /// Of the priorities in `obeyed` that `frame` speaks of.
  void hear(const PauseFrame& frame, std::uint8_t obeyed);
  [[nodiscard]] bool is_paused(std::uint8_t priority) const noexcept {
    return (paused_ >> priority & 1) != 0;
  }
  /// Nothing is stopped any more, and nobody told: what waits is gone, too.
  void clear() noexcept;

 private:
  void stop(std::size_t priority, std::uint64_t ns);
  void go(std::size_t priority);
  void arm();
  static void due(void* self, std::uint64_t argument);

  Scheduler* scheduler_;
  std::uint64_t gbps_;
  PauseCounts* counts_;
  Task resumed_;
  std::uint8_t paused_ = 0;  // a bit each
  std::array<std::uint64_t, kPriorities> since_ns_{}, until_ns_{};
  TimerId timer_;
};

}  // namespace portcullis::model
