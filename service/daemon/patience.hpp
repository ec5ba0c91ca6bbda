// SPDX-License-Identifier: BSD-3-Clause
//
// How long an end of many things is waited for: as long as they go on ending, and at most so long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/clock.hpp"

namespace portcullis::service::daemon {

class Patience {
 public:
  struct Limits {
    std::uint64_t still_ns = 0;  // without one of them ending
    std::uint64_t most_ns = 0;   // in all
  };
  Patience(Limits limits, Clock clock)
      : clock_(clock),
        limits_(limits),
        most_until_ns_(clock.now_ns() + limits.most_ns),
        until_ns_(clock.now_ns() + limits.still_ns) {}

  /// Where so many are left now.
  [[nodiscard]] bool is_over(std::size_t left) noexcept {
    const std::uint64_t now_ns = clock_.now_ns();
    if (left < least_) until_ns_ = now_ns + limits_.still_ns;
    if (left < least_) least_ = left;
    return now_ns >= until_ns_ || now_ns >= most_until_ns_;
  }

 private:
  Clock clock_;
  Limits limits_;
  std::uint64_t most_until_ns_;
  std::uint64_t until_ns_;
  std::size_t least_ = std::numeric_limits<std::size_t>::max();
};

}  // namespace portcullis::service::daemon
