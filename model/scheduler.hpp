// SPDX-License-Identifier: BSD-3-Clause
//
// One model's share of an EventLoop. What it posted or scheduled can be dropped in one call: a
// function reset leaves no event behind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "model/event_loop.hpp"

namespace portcullis::model {

class Scheduler {
 public:
  explicit Scheduler(std::shared_ptr<EventLoop> loop)
      : loop_(std::move(loop)), lane_(loop_->open_lane()) {}
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler() { loop_->close_lane(lane_); }

  [[nodiscard]] std::uint64_t now_ns() const noexcept { return loop_->now_ns(); }
  [[nodiscard]] EventLoop& loop() const noexcept { return *loop_; }

  /// Work for this instant, first in first out; runs in this step or the next.
  void post(Task task) { loop_->post(lane_, task); }
  /// Runs at `at_ns` of the loop's clock, not before; the past means now.
  TimerId schedule(std::uint64_t at_ns, Task task) { return loop_->schedule(lane_, at_ns, task); }
  void cancel(TimerId id) noexcept { loop_->cancel(id); }
  /// Drops everything posted and scheduled here.
  void clear() noexcept { loop_->clear_lane(lane_); }

  /// A seeded number below `bound` (> 0).
  [[nodiscard]] std::uint32_t below(std::uint32_t bound) noexcept { return loop_->below(bound); }
  /// Seeded order for objects that one kick woke together.
  template <class T>
  void shuffle(std::span<T> objects) noexcept {
    for (std::size_t i = objects.size(); i > 1; --i)
      std::swap(objects[i - 1], objects[below(static_cast<std::uint32_t>(i))]);
  }

 private:
  std::shared_ptr<EventLoop> loop_;
  std::uint32_t lane_;
};

}  // namespace portcullis::model
