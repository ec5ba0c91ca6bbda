// SPDX-License-Identifier: BSD-3-Clause
#include "model/ethernet/pause_clock.hpp"

#include <algorithm>
#include <limits>

namespace portcullis::model {

void PauseClock::hear(const PauseFrame& frame, std::uint8_t obeyed) {
  const std::uint8_t before = paused_;
  for (std::size_t i = 0; i < kPriorities; ++i) {
    if ((frame.priorities & obeyed & 1U << i) == 0) continue;
    if (frame.quanta[i] != 0)
      stop(i, pause_ns(frame.quanta[i], gbps_));
    else if ((paused_ & 1U << i) != 0)
      go(i);
  }
  arm();
  if ((before & ~paused_) != 0) scheduler_->post(resumed_);
}

void PauseClock::stop(std::size_t priority, std::uint64_t ns) {
  const std::uint64_t now = scheduler_->now_ns();
  if ((paused_ & 1U << priority) != 0) (*counts_)[priority].paused_ns += now - since_ns_[priority];
  paused_ = static_cast<std::uint8_t>(paused_ | 1U << priority);
  since_ns_[priority] = now;
  until_ns_[priority] = now + ns;
}

void PauseClock::go(std::size_t priority) {
  PauseCount& count = (*counts_)[priority];
  count.paused_ns += scheduler_->now_ns() - since_ns_[priority];
  ++count.resumed;
  paused_ = static_cast<std::uint8_t>(paused_ & ~(1U << priority));
}

/// One timer, for the pause that ends first.
void PauseClock::arm() {
  scheduler_->cancel(timer_);
  if (paused_ == 0) return;
  std::uint64_t next = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 0; i < kPriorities; ++i)
    if ((paused_ & 1U << i) != 0) next = std::min(next, until_ns_[i]);
  timer_ = scheduler_->schedule(next, Task{&PauseClock::due, this, 0});
}

void PauseClock::due(void* self, std::uint64_t /*argument*/) {
  auto& clock = *static_cast<PauseClock*>(self);
  for (std::size_t i = 0; i < kPriorities; ++i)
    if ((clock.paused_ & 1U << i) != 0 && clock.until_ns_[i] <= clock.scheduler_->now_ns())
      clock.go(i);
  clock.arm();
  clock.scheduler_->post(clock.resumed_);
}

void PauseClock::clear() noexcept {
  scheduler_->cancel(timer_);
  paused_ = 0;
}

}  // namespace portcullis::model
