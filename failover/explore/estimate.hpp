// SPDX-License-Identifier: BSD-3-Clause
//
// What an exploration will need, said before it starts: a guess from what each client can be in
// beside each state of the memory (pairs.hpp), or from the same model with one and two clients.
#pragma once

#include "failover/explore/explorer.hpp"

namespace portcullis::failover {

struct Estimate {
  enum class Basis : std::uint8_t {
    Counted,             // the sample was the whole model
    IndependentClients,  // states of one client to the n: wrong where they or others meet
    TwoClients,          // the second client's factor, for each further one
    Pairs,               // what each client can be in beside each state of the memory
    AtLeast,             // of samples that were cut off
  };
  double states = 0;
  double bytes = 0;
  Basis basis = Basis::Counted;
};

/// States of n clients as those of one times what the second multiplied them by, n - 1 times; of
/// two clients as those of one squared. Of clients whose words name them as Pairs says. Divided by
/// the orders of the clients under symmetry. A sample ends at `sample_limit` states.
[[nodiscard]] Result<Estimate> estimate(const Scenario& scenario, const ExploreOptions& options,
                                        std::uint64_t sample_limit = 100'000);

/// MemAvailable of /proc/meminfo in bytes, or what RLIMIT_AS leaves where that is less; 0 when it
/// cannot be read.
[[nodiscard]] std::uint64_t available_memory_bytes();

}  // namespace portcullis::failover
