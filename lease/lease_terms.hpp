// SPDX-License-Identifier: BSD-3-Clause
//
// When leases end by themselves: a lease with a time to live is revoked on the idle path once that
// has passed without a renewal. The end is a level: whoever looks late finds it all the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace portcullis::lease {

/// A binary heap of slots that knows where each stands, for a renewal moves one: 16 bytes a slot.
class LeaseTerms {
 public:
  explicit LeaseTerms(std::uint32_t slots) : ends_(slots, kNever), places_(slots) {
    heap_.reserve(slots);
  }

  /// The slot's lease ends at `end_ns`, in place of what was said before; at the clock's own end,
  /// never.
  void set(std::uint32_t slot, std::uint64_t end_ns) {
    if (end_ns == kNever) return clear(slot);
    if (ends_[slot] == kNever) {
      places_[slot] = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back(slot);
    }
    ends_[slot] = end_ns;
    settle(places_[slot]);
  }
  /// It does not end by itself.
  void clear(std::uint32_t slot) {
    if (ends_[slot] == kNever) return;
    const std::size_t place = places_[slot];
    ends_[slot] = kNever;
    swap(place, heap_.size() - 1);
    heap_.pop_back();
    if (place < heap_.size()) settle(place);
  }
  /// The slots whose end has come, the earliest first; each is told once.
  [[nodiscard]] std::vector<std::uint32_t> take_ended(std::uint64_t now_ns) {
    std::vector<std::uint32_t> ended;
    while (!heap_.empty() && ends_[heap_.front()] <= now_ns) {
      ended.push_back(heap_.front());
      clear(ended.back());
    }
    return ended;
  }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  /// What ends at `a` does so before what ends at `b`; of one time, the lower slot.
  [[nodiscard]] bool is_before(std::size_t a, std::size_t b) const noexcept {
    return std::pair(ends_[heap_[a]], heap_[a]) < std::pair(ends_[heap_[b]], heap_[b]);
  }
  void swap(std::size_t a, std::size_t b) noexcept {
    std::swap(heap_[a], heap_[b]);
    places_[heap_[a]] = static_cast<std::uint32_t>(a);
    places_[heap_[b]] = static_cast<std::uint32_t>(b);
  }
  /// Up or down, until what stands at `place` is between what is above and what is below.
  void settle(std::size_t place) noexcept {
    for (; place > 0 && is_before(place, (place - 1) / 2); place = (place - 1) / 2)
      swap(place, (place - 1) / 2);
    for (std::size_t next = 2 * place + 1; next < heap_.size(); next = 2 * place + 1) {
      if (next + 1 < heap_.size() && is_before(next + 1, next)) ++next;
      if (!is_before(next, place)) return;
      swap(place, next);
      place = next;
    }
  }

  std::vector<std::uint64_t> ends_;  // by slot
  std::vector<std::uint32_t> heap_;
  std::vector<std::uint32_t> places_;  // in the heap, by slot
};

}  // namespace portcullis::lease
