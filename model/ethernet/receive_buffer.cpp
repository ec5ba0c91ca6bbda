// SPDX-License-Identifier: BSD-3-Clause
#include "model/ethernet/receive_buffer.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace portcullis::model {
namespace {

/// When there was no frame for it on the wire.
constexpr std::uint64_t kSayAgainNs = 1000;

std::uint32_t cells_of(std::span<const std::byte> frame) noexcept {
  constexpr std::size_t kCell = PortSettings::kCellBytes;
  return static_cast<std::uint32_t>((frame.size() + kCell - 1) / kCell);
}

}  // namespace

void ReceiveBuffer::keep(std::span<const std::byte> frame, std::uint8_t priority,
                         std::uint64_t longest_ns) {
  const std::size_t buffer = buffer_of(priority);
  Queue& queue = queues_[buffer];
  if (queue.cells + cells_of(frame) > deps_.port->buffers[buffer].size) {
    ++deps_.counters->port.priorities[priority].discards;
    ++deps_.counters->port.receive_discards;
    ++*deps_.lost;
    return;
  }
  Kept kept{{frame.begin(), frame.end()}};
  kept.was_offered = longest_ns != 0;
  kept.until_ns = deps_.scheduler->now_ns() + longest_ns;
  queue.cells += cells_of(frame);
  queue.frames.push_back(std::move(kept));
  ++frames_;
  settle(buffer);
  arm();
}

bool ReceiveBuffer::look() {
  if (frames_ == 0) return false;
  const std::uint64_t now = deps_.scheduler->now_ns();
  bool went = false;
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (!offer(i, now)) continue;
    went = true;
    settle(i);
  }
  if (went) arm();
  return went;
}

/// What stands first, and what stands behind it, as far as they are taken. True: something went.
bool ReceiveBuffer::offer(std::size_t buffer, std::uint64_t now_ns) {
  Queue& queue = queues_[buffer];
  bool went = false;
  while (!queue.frames.empty()) {
    Kept kept = std::move(queue.frames.front());
    queue.frames.pop_front();
    Offer how = Offer::First;
    if (kept.was_offered) how = now_ns >= kept.until_ns ? Offer::Last : Offer::Again;
    const std::uint64_t longest_ns = deps_.take(deps_.context, kept.bytes, how);
    if (longest_ns != 0) {
      if (!std::exchange(kept.was_offered, true)) kept.until_ns = now_ns + longest_ns;
      queue.frames.push_front(std::move(kept));
      break;
    }
    queue.cells -= cells_of(kept.bytes);
    --frames_;
    went = true;
  }
  return went;
}

/// Of the buffer's priorities those that must not lose anything.
std::uint8_t ReceiveBuffer::lossless(std::size_t buffer) const noexcept {
  unsigned mask = 0;
  for (std::uint8_t i = 0; i < kPriorities; ++i)
    if (buffer_of(i) == buffer) mask |= 1U << i;
  return static_cast<std::uint8_t>(mask & deps_.port->stops());
}

/// Stops the other end, or lets it go on, as the fill has it.
void ReceiveBuffer::settle(std::size_t buffer) {
  Queue& queue = queues_[buffer];
  const PortSettings::Thresholds at = deps_.port->thresholds(buffer);
  const std::uint8_t wanted = lossless(buffer);
  const std::uint64_t now = deps_.scheduler->now_ns();
  if (queue.stopped == 0 && wanted != 0 && queue.cells > at.xoff) {
    queue.stopped = wanted;
    queue.since_ns = now;
    tell(wanted, deps_.port->pause_quanta);
  } else if (queue.stopped != 0 && (queue.cells <= at.xon || (queue.stopped & ~wanted) != 0)) {
    for (std::size_t i = 0; i < kPriorities; ++i)
      if ((queue.stopped & 1U << i) != 0)
        deps_.counters->port.priorities[i].stopped_ns += now - queue.since_ns;
    tell(std::exchange(queue.stopped, std::uint8_t{0}), 0);
  }
}

/// A frame of 0 quanta that is lost costs the other end what is left of its pause.
void ReceiveBuffer::tell(std::uint8_t priorities, std::uint16_t quanta) {
  const PortSettings& port = *deps_.port;
  PauseFrame frame;
  frame.is_per_priority = port.pfc_tx != 0 || !port.pause_tx;
  frame.priorities = frame.is_per_priority ? priorities : std::uint8_t{0xff};
  for (std::size_t i = 0; i < kPriorities; ++i)
    if ((frame.priorities & 1U << i) != 0) frame.quanta[i] = quanta;
  const std::uint64_t now = deps_.scheduler->now_ns();
  const bool went = deps_.say(deps_.context, frame);
  if (went) deps_.counters->count_pause_sent(frame);
  if (quanta == 0) return;
  const int refresh = port.pause_refresh != 0 ? port.pause_refresh : port.pause_quanta / 2;
  const std::uint64_t again =
      pause_ns(static_cast<std::uint64_t>(std::max(refresh, 1)), PortSettings::kGbps);
  say_at_ns_ = now + (went ? again : kSayAgainNs);
}

/// One timer, for what comes first: a frame that waits no longer, or what is to be told again.
void ReceiveBuffer::arm() {
  deps_.scheduler->cancel(timer_);
  std::uint64_t next = std::numeric_limits<std::uint64_t>::max();
  bool stops = false;
  for (const Queue& queue : queues_) {
    stops = stops || queue.stopped != 0;
    if (!queue.frames.empty() && queue.frames.front().was_offered)
      next = std::min(next, queue.frames.front().until_ns);
  }
  if (!stops) say_at_ns_ = 0;
  if (stops) next = std::min(next, say_at_ns_);
  if (next != std::numeric_limits<std::uint64_t>::max())
    timer_ = deps_.scheduler->schedule(next, Task{&ReceiveBuffer::due, this, 0});
}

void ReceiveBuffer::due(void* self, std::uint64_t /*argument*/) {
  auto& buffer = *static_cast<ReceiveBuffer*>(self);
  static_cast<void>(buffer.look());
  // Settings may have changed since.
  for (std::size_t i = 0; i < buffer.queues_.size(); ++i) buffer.settle(i);
  if (buffer.say_at_ns_ != 0 && buffer.say_at_ns_ <= buffer.deps_.scheduler->now_ns()) {
    unsigned stopped = 0;
    for (const Queue& queue : buffer.queues_) stopped |= queue.stopped;
    if (stopped != 0)
      buffer.tell(static_cast<std::uint8_t>(stopped), buffer.deps_.port->pause_quanta);
  }
  buffer.arm();
}

void ReceiveBuffer::forget() {
  *deps_.lost += frames_;
  frames_ = 0;
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    queues_[i].frames.clear();
    queues_[i].cells = 0;
    settle(i);
  }
  arm();
}

void ReceiveBuffer::clear() noexcept {
  deps_.scheduler->cancel(timer_);
  queues_ = {};
  frames_ = 0;
  say_at_ns_ = 0;
}

}  // namespace portcullis::model
