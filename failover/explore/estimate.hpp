// SPDX-License-Identifier: BSD-3-Clause
//
// What an exploration will need, said before it starts: counted where that is quick, else the share
// that is reached of what each client can be in beside each state of the memory (pairs.hpp,
// sampled.hpp), and where neither says enough only what it is no less and no more than.
#pragma once

#include "failover/explore/explorer.hpp"

namespace portcullis::failover {

struct Estimate {
  enum class Basis : std::uint8_t {
    Counted,  // the run itself, which is short
    Sampled,  // of what Pairs allows, the share of those drawn that are reached
    AtLeast,  // it is not known how many
  };
  double states = 0;
  double bytes = 0;
  Basis basis = Basis::Counted;
  double most = 0;  // no more states than these; 0: not known, or counted
  /// Bits that the parts' numbers need at most, for ExploreOptions; empty where it is not known.
  std::vector<unsigned> part_bits = {};
};

/// What a run of up to 30,000 states will count; of one client or with a history up to
/// `sample_limit`. Of longer ones, for the case that nothing ends them: within a factor of 3 with
/// all but 1 in 100 chances, or at least what was counted; divided by the orders of the clients
/// under symmetry.
[[nodiscard]] Result<Estimate> estimate(const Scenario& scenario, const ExploreOptions& options,
                                        std::uint64_t sample_limit = 100'000);

/// MemAvailable of /proc/meminfo in bytes, or what RLIMIT_AS leaves where that is less; 0 when it
/// cannot be read.
[[nodiscard]] std::uint64_t available_memory_bytes();

}  // namespace portcullis::failover
