// SPDX-License-Identifier: BSD-3-Clause
//
// What an exploration will need, said before it starts: counted where that is quick, else a guess
// from what each client can be in beside each state of the memory (pairs.hpp), or from the same
// model with one and two clients.
#pragma once

#include "failover/explore/explorer.hpp"

namespace portcullis::failover {

struct Estimate {
  enum class Basis : std::uint8_t {
    Counted,             // the run itself, which is short
    WithoutMonitors,     // counted, but nothing was judged: what breaks may end the run early
    IndependentClients,  // states of one client to the n: wrong where they or others meet
    TwoClients,          // the second client's factor, for each further one
    Pairs,               // what each client can be in beside each state of the memory
    AtLeast,             // of samples that were cut off
  };
  double states = 0;
  double bytes = 0;
  Basis basis = Basis::Counted;
  /// Bits that the parts' numbers need at most, for ExploreOptions; empty where it is not known.
  std::vector<unsigned> part_bits = {};
};

/// What a run of up to 30,000 states will count; of one client or with a history up to
/// `sample_limit`. Of longer ones, for the case that nothing ends them: states of n clients as
/// those of one times what the second multiplied them by, n - 1 times; of two clients as those of
/// one squared; of clients whose words name them as Pairs says; divided by the orders of the
/// clients under symmetry.
[[nodiscard]] Result<Estimate> estimate(const Scenario& scenario, const ExploreOptions& options,
                                        std::uint64_t sample_limit = 100'000);

/// MemAvailable of /proc/meminfo in bytes, or what RLIMIT_AS leaves where that is less; 0 when it
/// cannot be read.
[[nodiscard]] std::uint64_t available_memory_bytes();

}  // namespace portcullis::failover
