// SPDX-License-Identifier: BSD-3-Clause
//
// Time and work. One EventLoop drives one model, or all stepped models that share a wire, so that
// they live on one clock. Its order is a function of the seed: tasks due at one instant run in the
// order they were posted, and whoever takes several kicked objects at once shuffles them.
//
// Stepped: the clock is virtual and only step() moves it. Polled: the clock is CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "model/model.hpp"
#include "model/random.hpp"

namespace portcullis::model {

/// A plain function with its two arguments: no allocation per event.
struct Task {
  using Fn = void (*)(void* context, std::uint64_t argument);
  Fn fn = nullptr;
  void* context = nullptr;
  std::uint64_t argument = 0;
};

/// A timer that may be cancelled until its task runs, in the instant that it is due too; a value
/// that was never given, or whose task has begun, cancels nothing.
struct TimerId {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
};

class EventLoop {
 public:
  EventLoop(Execution execution, std::uint64_t seed);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  [[nodiscard]] std::uint64_t now_ns() const noexcept { return now_ns_; }
  [[nodiscard]] Clock clock() const noexcept;
  [[nodiscard]] bool is_virtual() const noexcept { return virtual_; }

  /// A seeded number below `bound` (> 0).
  [[nodiscard]] std::uint32_t below(std::uint32_t bound) noexcept { return random_.below(bound); }

  /// What a model adds to every step: `look` takes its kicks and says whether there were any,
  /// `clock_moved` refreshes registers that show time. `context` names the source.
  struct Source {
    bool (*look)(void* context) = nullptr;
    void (*clock_moved)(void* context) = nullptr;
    void* context = nullptr;
  };
  void add_source(Source source) { sources_.push_back(source); }
  void remove_source(void* context) noexcept;

  /// Kicks, then all that is due now; if there was nothing and the clock is virtual, the next event
  /// not later than `until_ns`, or the clock moves to `until_ns`. True when anything ran. Work that
  /// makes work goes on in the next step after so many tasks.
  bool step(std::uint64_t until_ns, std::size_t most_tasks = kTasksPerStep);

  static constexpr std::size_t kTasksPerStep = 4096;

 private:
  friend class Scheduler;

  struct Ready {
    Task task;
    std::uint32_t lane;
    std::uint32_t epoch;
    TimerId timer;  // whose task it is; generation 0: none's
  };
  struct Timer {
    Task task;
    std::uint64_t at_ns = 0;
    std::uint64_t sequence = 0;
    std::uint32_t lane = 0;
    std::uint32_t epoch = 0;
    std::uint32_t generation = 1;
    std::uint32_t heap_index = kNotQueued;
  };
  static constexpr std::uint32_t kNotQueued = ~std::uint32_t{0};

  std::uint32_t open_lane();
  void close_lane(std::uint32_t lane) noexcept;
  void clear_lane(std::uint32_t lane) noexcept { ++epochs_[lane]; }
  void post(std::uint32_t lane, Task task, TimerId timer = {});
  TimerId schedule(std::uint32_t lane, std::uint64_t at_ns, Task task);
  void cancel(TimerId id) noexcept;

  void set_clock(std::uint64_t now_ns);
  std::size_t run_ready(std::size_t budget);
  void move_due_timers();
  void drop_stale_timers() noexcept;
  void pop(std::uint32_t index) noexcept;
  bool release(TimerId timer) noexcept;
  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const noexcept;
  void sift_up(std::uint32_t index) noexcept;
  void sift_down(std::uint32_t index) noexcept;
  void grow_ready();

  bool virtual_;
  std::uint64_t now_ns_ = 0;
  Random random_;
  std::uint64_t sequence_ = 0;
  std::vector<Source> sources_;
  std::vector<Ready> ready_;  // ring, a power of two
  std::size_t ready_head_ = 0;
  std::size_t ready_tail_ = 0;
  std::vector<Timer> timers_;
  std::vector<std::uint32_t> free_timers_;
  std::vector<std::uint32_t> heap_;    // slots of timers_, earliest first
  std::vector<std::uint32_t> epochs_;  // one a lane; a task of an older epoch is dropped
  std::vector<std::uint32_t> free_lanes_;
};

}  // namespace portcullis::model
