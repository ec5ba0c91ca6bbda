// SPDX-License-Identifier: BSD-3-Clause
//
// What an exploration will need, said before it starts: a guess from the same model with one and
// two clients, which are quick to count.
#pragma once

#include "failover/explore/explorer.hpp"

namespace portcullis::failover {

struct Estimate {
  double states = 0;
  double bytes = 0;
  bool is_counted = false;  // the sample was the whole model
};

/// States of n clients as those of one to the n; where that comes near the memory limit, those of
/// one times what the second multiplied them by, n - 1 times; divided by the orders of the clients
/// under symmetry. Clients meet in few words only, so the product is close; where a sample exceeds
/// `sample_limit` states it is a lower bound.
[[nodiscard]] Result<Estimate> estimate(const Scenario& scenario, const ExploreOptions& options,
                                        std::uint64_t sample_limit = 300'000);

/// MemAvailable of /proc/meminfo in bytes; 0 when it cannot be read.
[[nodiscard]] std::uint64_t available_memory_bytes();

}  // namespace portcullis::failover
