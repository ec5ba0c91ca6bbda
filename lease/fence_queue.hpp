// SPDX-License-Identifier: BSD-3-Clause
//
// Leases whose fence has to wait for its turn, in their order, and how many may go at once. A step
// that would not be sent in time is better not begun: so many leases go together as the device has
// shown to fence within a part of the deadline, and the others follow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "lease/fence_plan.hpp"
#include "lease/lease_table.hpp"

namespace portcullis::lease {

/// How many leases fit into a time, by what others took.
class FencePace {
 public:
  constexpr FencePace(std::size_t first, std::size_t most) noexcept : size_(first), most_(most) {}

  [[nodiscard]] std::size_t size_for(std::uint64_t ns) const noexcept {
    const std::uint64_t fit = cost_ns_ == 0 ? size_ : ns / cost_ns_;
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(fit, 1, size_));
  }
  /// So many leases took so long. A few alone tell little of many, which share the device's time.
  void note(std::size_t leases, std::uint64_t ns) noexcept {
    if (leases == 0) return;
    const std::uint64_t cost_ns = ns / leases;
    if (leases * 2 >= size_)
      cost_ns_ = cost_ns;
    else if (cost_ns_ != 0)
      cost_ns_ = (3 * cost_ns_ + cost_ns) / 4;
    if (leases >= size_) size_ = std::min(most_, size_ * 4);
  }
  [[nodiscard]] std::uint64_t cost_ns() const noexcept { return cost_ns_; }

 private:
  std::size_t size_;  // at most; grows as the device shows that it manages so many
  std::size_t most_;
  std::uint64_t cost_ns_ = 0;  // of one lease; 0: not known, or no time at all
};

class FenceQueue {
 public:
  /// Behind all that wait.
  void add(const Plan& plan, std::vector<Lease> leases) {
    left_ += leases.size();
    if (!leases.empty()) batches_.push_back({plan, std::move(leases), 0});
  }
  /// Nobody waits; where it is not, all may have left.
  [[nodiscard]] bool empty() const noexcept { return batches_.empty(); }
  /// So many wait.
  [[nodiscard]] std::size_t size() const noexcept { return left_ - gone_; }
  /// One of those that wait does so no more; its place stays until it is met.
  void leave() noexcept { gone_ += gone_ < left_ ? 1 : 0; }
  /// Who asks again and again leaves a place each time: they go before they are more than wait.
  template <class StillWaits>
  void drop_gone(StillWaits&& still_waits) {
    if (gone_ <= left_ / 2) return;
    left_ = gone_ = 0;
    for (Batch& batch : batches_) {
      batch.leases.erase(batch.leases.begin(),
                         batch.leases.begin() + static_cast<std::ptrdiff_t>(batch.next));
      batch.next = 0;
      std::erase_if(batch.leases, [&](const Lease& lease) { return !still_waits(lease); });
      left_ += batch.leases.size();
    }
    std::erase_if(batches_, [](const Batch& batch) { return batch.leases.empty(); });
  }
  [[nodiscard]] const Plan& plan() const noexcept { return batches_.front().plan; }

  /// The first `most` of one plan for which `still_waits` holds, or more where `goes_with` ties one
  /// to the next.
  template <class StillWaits, class GoesWith>
  [[nodiscard]] std::vector<std::uint32_t> take(std::size_t most, StillWaits&& still_waits,
                                                GoesWith&& goes_with) {
    std::vector<std::uint32_t> slots;
    while (!batches_.empty()) {
      Batch& first = batches_.front();
      for (; first.next < first.leases.size(); ++first.next, --left_) {
        const Lease& lease = first.leases[first.next];
        if (!still_waits(lease)) {
          gone_ -= gone_ != 0 ? 1 : 0;
          continue;
        }
        if (!slots.empty() && slots.size() >= most && !goes_with(slots.back(), lease.slot))
          return slots;
        slots.push_back(lease.slot);
      }
      batches_.pop_front();
      if (!slots.empty()) return slots;
    }
    return slots;
  }

 private:
  struct Batch {
    Plan plan;
    std::vector<Lease> leases;
    std::size_t next;
  };

  std::deque<Batch> batches_;
  std::size_t left_ = 0;  // places that were not met yet
  std::size_t gone_ = 0;  // of them, where nobody waits
};

}  // namespace portcullis::lease
