// SPDX-License-Identifier: BSD-3-Clause
//
// Of the states that Pairs allows, how many can be reached: some are drawn, each as likely as any
// other, and searched backward from, among what is allowed, until the search meets the initial
// state or ends without it. What neither of both says within a bound is told, too.
#pragma once

#include <optional>

#include "failover/explore/pairs.hpp"

namespace portcullis::failover {

struct Sampled {
  unsigned reached = 0, unreached = 0, undecided = 0;

  /// Shares of all that are allowed, with what chance may have made of them; nothing where too few
  /// were decided for a factor of 3 either way.
  [[nodiscard]] std::optional<double> share() const noexcept;
};

/// Of `pairs` that were counted, whose steps it takes. The same for the same pairs. Less where
/// `stop` becomes true.
[[nodiscard]] Sampled sample_reached(Pairs& pairs, const std::atomic<bool>* stop);

}  // namespace portcullis::failover
