// SPDX-License-Identifier: BSD-3-Clause
//
// The memory that a search may have, asked before it is taken: a set that doubles would pass a
// limit by all that it has, between one look at it and the next.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace portcullis::failover {

/// Shared by all threads of a search.
class Budget {
 public:
  explicit Budget(std::uint64_t bytes) : limit_(bytes) {}

  /// False, and nothing taken, where that would be more than the limit.
  [[nodiscard]] bool take(std::uint64_t bytes) noexcept {
    const std::uint64_t before = taken_.fetch_add(bytes, std::memory_order_relaxed);
    const std::uint64_t aside = aside_.load(std::memory_order_relaxed);
    if (before + bytes + aside <= limit_) return true;
    give_back(bytes);
    return false;
  }
  [[nodiscard]] std::uint64_t taken() const noexcept {
    return taken_.load(std::memory_order_relaxed);
  }
  void give_back(std::uint64_t bytes) noexcept {
    taken_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  /// What others have that do not ask, with room for what they may take until they are asked again.
  void set_aside(std::uint64_t bytes) noexcept {
    aside_.store(std::min(bytes, limit_), std::memory_order_relaxed);
  }

 private:
  std::uint64_t limit_;
  std::atomic<std::uint64_t> taken_ = 0, aside_ = 0;
};

}  // namespace portcullis::failover
