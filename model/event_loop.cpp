// SPDX-License-Identifier: BSD-3-Clause
#include "model/event_loop.hpp"

#include <algorithm>

namespace portcullis::model {
namespace {

constexpr std::size_t kFirstReady = 256;

std::uint64_t virtual_now(const void* context) noexcept {
  return static_cast<const EventLoop*>(context)->now_ns();
}

}  // namespace

EventLoop::EventLoop(Execution execution, std::uint64_t seed)
    : virtual_(execution == Execution::Stepped), random_(seed), ready_(kFirstReady) {
  if (!virtual_) now_ns_ = Clock::wall().now_ns();
}

Clock EventLoop::clock() const noexcept {
  return virtual_ ? Clock::simulated(&virtual_now, this) : Clock::wall();
}

void EventLoop::remove_source(void* context) noexcept {
  std::erase_if(sources_, [context](const Source& s) { return s.context == context; });
}

std::uint32_t EventLoop::open_lane() {
  if (!free_lanes_.empty()) {
    const std::uint32_t lane = free_lanes_.back();
    free_lanes_.pop_back();
    return lane;
  }
  epochs_.push_back(0);
  free_lanes_.reserve(epochs_.size());  // so that closing never allocates
  return static_cast<std::uint32_t>(epochs_.size() - 1);
}

void EventLoop::close_lane(std::uint32_t lane) noexcept {
  clear_lane(lane);
  free_lanes_.push_back(lane);
}

void EventLoop::post(std::uint32_t lane, Task task, TimerId timer) {
  if (ready_tail_ - ready_head_ == ready_.size()) grow_ready();
  ready_[ready_tail_++ & (ready_.size() - 1)] = Ready{task, lane, epochs_[lane], timer};
}

void EventLoop::grow_ready() {
  std::vector<Ready> larger(ready_.size() * 2);
  const std::size_t count = ready_tail_ - ready_head_;
  for (std::size_t i = 0; i < count; ++i)
    larger[i] = ready_[(ready_head_ + i) & (ready_.size() - 1)];
  ready_ = std::move(larger);
  ready_head_ = 0;
  ready_tail_ = count;
}

bool EventLoop::before(std::uint32_t a, std::uint32_t b) const noexcept {
  const Timer& x = timers_[a];
  const Timer& y = timers_[b];
  return x.at_ns != y.at_ns ? x.at_ns < y.at_ns : x.sequence < y.sequence;
}

void EventLoop::sift_up(std::uint32_t index) noexcept {
  const std::uint32_t slot = heap_[index];
  while (index > 0) {
    const std::uint32_t parent = (index - 1) / 2;
    if (!before(slot, heap_[parent])) break;
    heap_[index] = heap_[parent];
    timers_[heap_[index]].heap_index = index;
    index = parent;
  }
  heap_[index] = slot;
  timers_[slot].heap_index = index;
}

void EventLoop::sift_down(std::uint32_t index) noexcept {
  const std::uint32_t slot = heap_[index];
  const auto size = static_cast<std::uint32_t>(heap_.size());
  for (std::uint32_t child = 2 * index + 1; child < size; child = 2 * index + 1) {
    if (child + 1 < size && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], slot)) break;
    heap_[index] = heap_[child];
    timers_[heap_[index]].heap_index = index;
    index = child;
  }
  heap_[index] = slot;
  timers_[slot].heap_index = index;
}

TimerId EventLoop::schedule(std::uint32_t lane, std::uint64_t at_ns, Task task) {
  if (free_timers_.empty()) {
    timers_.emplace_back();
    free_timers_.reserve(timers_.size());
    heap_.reserve(timers_.size());
    free_timers_.push_back(static_cast<std::uint32_t>(timers_.size() - 1));
  }
  const std::uint32_t slot = free_timers_.back();
  free_timers_.pop_back();
  Timer& timer = timers_[slot];
  timer.task = task;
  timer.at_ns = at_ns;
  timer.sequence = sequence_++;
  timer.lane = lane;
  timer.epoch = epochs_[lane];
  heap_.push_back(slot);
  sift_up(static_cast<std::uint32_t>(heap_.size() - 1));
  return TimerId{slot, timer.generation};
}

/// Takes the timer at `index` out of the heap.
void EventLoop::pop(std::uint32_t index) noexcept {
  const std::uint32_t slot = heap_[index];
  const std::uint32_t last = heap_.back();
  heap_.pop_back();
  if (last != slot) {
    heap_[index] = last;
    timers_[last].heap_index = index;
    sift_down(index);
    sift_up(timers_[last].heap_index);
  }
  timers_[slot].heap_index = kNotQueued;
}

/// Frees its slot; false: it was free already.
bool EventLoop::release(TimerId timer) noexcept {
  if (timer.slot >= timers_.size() || timers_[timer.slot].generation != timer.generation)
    return false;
  ++timers_[timer.slot].generation;
  free_timers_.push_back(timer.slot);
  return true;
}

void EventLoop::cancel(TimerId id) noexcept {
  if (!release(id)) return;
  if (timers_[id.slot].heap_index != kNotQueued) pop(timers_[id.slot].heap_index);
}

void EventLoop::set_clock(std::uint64_t now_ns) {
  if (now_ns <= now_ns_) return;
  now_ns_ = now_ns;
  for (const Source& source : sources_) source.clock_moved(source.context);
}

void EventLoop::drop_stale_timers() noexcept {
  while (!heap_.empty() && timers_[heap_[0]].epoch != epochs_[timers_[heap_[0]].lane]) {
    release({heap_[0], timers_[heap_[0]].generation});
    pop(0);
  }
}

void EventLoop::move_due_timers() {
  while (!heap_.empty() && timers_[heap_[0]].at_ns <= now_ns_) {
    const Timer timer = timers_[heap_[0]];
    const TimerId id{heap_[0], timer.generation};
    pop(0);
    if (timer.epoch == epochs_[timer.lane])
      post(timer.lane, timer.task, id);
    else
      release(id);
  }
}

std::size_t EventLoop::run_ready(std::size_t budget) {
  std::size_t run = 0;
  while (ready_head_ != ready_tail_ && run < budget) {
    const Ready next = ready_[ready_head_++ & (ready_.size() - 1)];
    const bool is_timer = next.timer.generation != 0;
    if (is_timer && !release(next.timer)) continue;  // cancelled meanwhile
    if (next.epoch != epochs_[next.lane]) continue;
    next.task.fn(next.task.context, next.task.argument);
    ++run;
  }
  return run;
}

bool EventLoop::step(std::uint64_t until_ns, std::size_t most_tasks) {
  if (!virtual_) set_clock(Clock::wall().now_ns());
  bool worked = false;
  for (const Source& source : sources_) worked = source.look(source.context) || worked;
  move_due_timers();
  worked = run_ready(most_tasks) != 0 || worked;
  if (worked || !virtual_) return worked;

  drop_stale_timers();
  if (heap_.empty() || timers_[heap_[0]].at_ns > until_ns) {
    set_clock(until_ns);
    return false;
  }
  set_clock(timers_[heap_[0]].at_ns);
  move_due_timers();
  run_ready(most_tasks);
  return true;
}

}  // namespace portcullis::model
