// SPDX-License-Identifier: BSD-3-Clause
//
// Advice without exploring, for one request that meets no other and of which nothing was found at
// the receiver: what the explorer answers for it, as a table of what is enough. A test holds every
// row, and every contract that no row covers, against the explorer (tests/failover/rules_test.cpp).
#pragma once

#include <optional>
#include <vector>

#include "failover/classify/classify.hpp"

namespace portcullis::failover {

struct Ruling {
  Advice advice = Advice::NoAdvice;
  std::vector<std::vector<Proviso>> one_of;  // OnlyIf
};

/// Of a request of unknown outcome that is no READ or WRITE of nothing; empty: no rule covers it.
[[nodiscard]] std::optional<Ruling> rule_for(const OutstandingRequest& request);

}  // namespace portcullis::failover
