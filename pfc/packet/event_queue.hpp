// SPDX-License-Identifier: BSD-3-Clause
//
// Events in the order of time, and of scheduling where times are equal. Most delays of a fabric are
// one of a few, and events of one delay come out in the order in which they went in: each such
// delay has a lane, a plain ring, and only odd times need a heap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <queue>
#include <vector>

namespace portcullis::pfc::packet {

using Picoseconds = std::int64_t;

enum class EventKind : std::uint32_t {
  Sent,        // the last bit of packet `item` left over link `target`
  Arrived,     // packet `item` came in over link `target`
  Paused,      // slot `target` hears that its gate closed; `item`: by a frame that only repeats
  Resumed,     // or opened
  Refreshing,  // the gate of slot `target` has to say again that it is closed
  RanOut,      // what slot `target` heard last may hold no longer
  FrameSent,   // link `target` has sent a PAUSE frame
  Notified,    // a CNP came to the source of flow `target`
  Offered,     // a source of link `target` may have data
  Suspected,   // the watchdog looks at slot `target`, unless `item` is out of date
  Restored,    // the watchdog lets slot `target` go, likewise
  Polled,      // the watchdog looks at all
  Stormed,     // storm `target` begins or, `item` 1, ends
  Sampled,     // a row of the timeline
  Inspected,   // deadlock?
};

struct Event {
  Picoseconds time = 0;
  std::uint64_t order = 0;  // in which it was scheduled
  EventKind kind = EventKind::Sent;
  std::uint32_t target = 0;
  std::uint32_t item = 0;
};

class EventQueue {
 public:
  using Lane = std::uint32_t;
  static constexpr Lane kMostLanes = 12;
  static constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max();

  /// The lane of this delay, a new one while there are any, else the heap.
  [[nodiscard]] Lane lane(Picoseconds delay) {
    for (Lane i = 0; i < lanes_.size(); ++i)
      if (lanes_[i].delay == delay) return i;
    if (lanes_.size() == kMostLanes) return kMostLanes;
    lanes_.push_back({delay, std::vector<Event>(16), 0, 0});
    return static_cast<Lane>(lanes_.size() - 1);
  }

  [[nodiscard]] Picoseconds now() const noexcept { return now_; }

  /// `delay` is that of the lane.
  void after(Lane lane, Picoseconds delay, EventKind kind, std::uint32_t target,
             std::uint32_t item) {
    if (lane == kMostLanes) return at(now_ + delay, kind, target, item);
    Ring& ring = lanes_[lane];
    const std::uint64_t order = scheduled_++;
    if (ring.first == ring.last) heads_[lane] = {now_ + delay, order};
    ring.at(ring.last++) = {now_ + delay, order, kind, target, item};
    if (ring.last - ring.first == ring.events.size()) ring.grow();
  }

  void at(Picoseconds time, EventKind kind, std::uint32_t target, std::uint32_t item) {
    heap_.push({std::max(time, now_), scheduled_++, kind, target, item});
    heads_[kMostLanes] = {heap_.top().time, heap_.top().order};
  }

  /// When the next event is; kNever when there is none.
  [[nodiscard]] Picoseconds next_time() const noexcept {
    return std::min_element(std::begin(heads_), std::end(heads_))->time;
  }
  /// `time` becomes now, unless it is over. No event may be pending before it.
  void advance(Picoseconds time) noexcept { now_ = std::max(now_, time); }

  /// The next event up to `until`, which becomes now; nullptr when there is none. Good until the
  /// next call of a member.
  [[nodiscard]] const Event* next(Picoseconds until) {
    Lane best = kMostLanes;
    for (Lane i = 0; i < lanes_.size(); ++i)
      if (heads_[i] < heads_[best]) best = i;
    const Head head = heads_[best];
    if (head.time > until || head.time == kNever) return nullptr;
    now_ = head.time;
    if (best == kMostLanes) {
      event_ = heap_.top();
      heap_.pop();
      heads_[best] = heap_.empty() ? Head{} : Head{heap_.top().time, heap_.top().order};
      return &event_;
    }
    Ring& ring = lanes_[best];
    event_ = ring.at(ring.first++);
    heads_[best] = ring.first == ring.last
                       ? Head{}
                       : Head{ring.at(ring.first).time, ring.at(ring.first).order};
    return &event_;
  }

 private:
  struct Head {
    Picoseconds time = kNever;
    std::uint64_t order = 0;
    [[nodiscard]] bool operator<(const Head& other) const noexcept {
      return time < other.time || (time == other.time && order < other.order);
    }
  };
  /// events.size() is a power of two; `first` and `last` count on for ever.
  struct Ring {
    Picoseconds delay;
    std::vector<Event> events;
    std::uint64_t first;
    std::uint64_t last;

    [[nodiscard]] Event& at(std::uint64_t i) noexcept { return events[i & (events.size() - 1)]; }
    void grow() {
      std::vector<Event> more(2 * events.size());
      for (std::uint64_t i = first; i < last; ++i) more[i & (more.size() - 1)] = at(i);
      events = std::move(more);
    }
  };
  struct Later {
    [[nodiscard]] bool operator()(const Event& a, const Event& b) const noexcept {
      return a.time > b.time || (a.time == b.time && a.order > b.order);
    }
  };

  Picoseconds now_ = 0;
  std::uint64_t scheduled_ = 0;
  std::vector<Ring> lanes_;
  Head heads_[kMostLanes + 1];  // of the lanes and, last, of the heap
  std::priority_queue<Event, std::vector<Event>, Later> heap_;
  Event event_;
};

}  // namespace portcullis::pfc::packet
