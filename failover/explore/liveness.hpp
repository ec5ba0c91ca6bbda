// SPDX-License-Identifier: BSD-3-Clause
//
// Whether all clients of a protocol come to their end, and whether one gives up on the way: what a
// protocol that breaks nothing may still fail to do. Progress is under fairness: a step that is
// possible again and again is taken some time. In a finite graph of states that is the same as:
// from every state that can be reached an end can be reached.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/result.hpp"
#include "failover/explore/explorer.hpp"

namespace portcullis::failover {

struct Liveness {
  /// False: `state_limit` or `stop` ended the search, and the rest says nothing.
  bool is_whole = false;
  std::uint64_t states = 0;
  /// States from which no run comes to its end, nor to where the bound on timeouts cuts it.
  std::uint64_t hanging = 0;
  /// States that end a run because a client has timed out as often as Limits::timeouts allows: it
  /// would go on, and what it would do is not looked at.
  std::uint64_t cut = 0;
  bool gives_up = false;  // some run reports Claim::Unknown
  Trace hang;             // hanging > 0: a shortest run to where it hangs
  Trace giving_up;        // gives_up: a shortest run that ends in such a report
};

/// Memory for each state, about: the graph and the way back.
inline constexpr std::uint64_t kLivenessStateBytes = 260;

/// Of a machine in which nothing is violated; steps that violate something are not followed.
/// OutOfResources when the kernel refuses memory.
[[nodiscard]] Result<Liveness> judge_progress(const Machine& machine, std::uint64_t state_limit,
                                              const std::atomic<bool>* stop = nullptr);

}  // namespace portcullis::failover
