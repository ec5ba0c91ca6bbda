// SPDX-License-Identifier: BSD-3-Clause
//
// When leases end by themselves: a lease with a time to live is revoked on the idle path once that
// has passed without a renewal. The end is a level: whoever looks late finds it all the same.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace portcullis::lease {

class LeaseTerms {
 public:
  explicit LeaseTerms(std::uint32_t slots) : ends_(slots, kNever) {}

  /// The slot's lease ends at `end_ns`, in place of what was said before.
  void set(std::uint32_t slot, std::uint64_t end_ns) {
    clear(slot);
    ends_[slot] = end_ns;
    order_.emplace(end_ns, slot);
  }
  /// It does not end by itself.
  void clear(std::uint32_t slot) {
    if (ends_[slot] != kNever) order_.erase({ends_[slot], slot});
    ends_[slot] = kNever;
  }
  /// The slots whose end has come, the earliest first; each is told once.
  [[nodiscard]] std::vector<std::uint32_t> take_ended(std::uint64_t now_ns) {
    std::vector<std::uint32_t> ended;
    while (!order_.empty() && order_.begin()->first <= now_ns) {
      ended.push_back(order_.begin()->second);
      clear(ended.back());
    }
    return ended;
  }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  std::vector<std::uint64_t> ends_;  // by slot
  std::set<std::pair<std::uint64_t, std::uint32_t>> order_;
};

}  // namespace portcullis::lease
