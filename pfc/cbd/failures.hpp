// SPDX-License-Identifier: BSD-3-Clause
//
// What failures do to a fabric: every set of k cables is taken out in turn, routing reacts, and the
// same question is asked of what is left: the same flows, paths and priorities. A Clos fabric is
// free of cycles only as long as nothing goes up again after going down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "pfc/cbd/dependencies.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::cbd {

/// What becomes of routes. A path that a flow was given is never routed anew: data gets as far as
/// the failed link.
enum class Reaction : std::uint8_t {
  /// Every node has the shortest routes of what is left.
  Converged,
  /// Routing::up_down_routes(): what has lost its way down is dropped, never sent up again.
  ValleyFree,
  /// Nobody reacts: routes over failed links are gone, and so is what depended on them.
  AsGiven,
  /// A node drops the routes over its own failed links; one that has none left for a destination
  /// takes the neighbours nearest to it, with nothing to prevent loops. Nobody has heard of the
  /// failure of another's link. A fast reroute does this, and OSPF before its first flooding; BGP
  /// in
  /// a Clos does not.
  Local,
  /// Some nodes have the old routes that are left, some the converged ones, and some the shortest
  /// ones of who has heard of a part of the failures, in any mixture: link-state routing on its
  /// way.
  /// BGP whose every node has an AS number of its own may explore still longer paths.
  Transient,
};

/// Cables that may fail at a time under Transient: each choice of them has routes of its own.
inline constexpr std::uint32_t kMostTransient = 10;

struct FailureOptions {
  std::uint32_t failures = 1;             // cables at a time
  std::optional<Reaction> reaction = {};  // usual_reaction() unless given
  Traffic traffic = Traffic::All;
  std::vector<std::uint32_t> priorities = {};  // those that flows use unless given
  std::size_t most_sets = 100'000;             // of more, so many are drawn by `seed`
  std::uint64_t seed = 1;
  unsigned threads = 1;
  /// Asked now and then, by one thread at a time, with sets done and sets in all; false ends the
  /// sweep. May be empty.
  std::function<bool(std::size_t, std::size_t)> progress = {};
};

struct FailureOutcome {
  std::vector<std::uint32_t> cables;  // of cables_of(), ascending
  std::size_t components = 0;         // cyclic ones, of all priorities
  std::uint32_t priority = 0;         // of `shortest`
  std::vector<LinkId> shortest;       // a cycle of fewest links, if there is one
  bool is_loop = false;               // one destination makes that cycle alone
  /// Pairs of node and destination that have lost all routes, and hosts that their switch has lost.
  std::size_t cut_off = 0;
  std::size_t broken_flows = 0;      // whose data, or a part of it, does not arrive any more
  Dependencies::DeadEnds dead_ends;  // of the first priority that has some
};

struct FailureSweep {
  std::size_t all_sets = 0;  // how many sets there are; SIZE_MAX stands for more
  bool is_sampled = false;
  Reaction reaction = Reaction::Converged;
  bool is_assumed = false;       // there were neither flows nor routes: shortest ones to all hosts
  bool is_other_policy = false;  // with nothing failed `reaction` has other routes than the given
  std::size_t explicit_flows = 0;        // which are not routed anew
  FailureOutcome intact;                 // with all cables
  std::vector<FailureOutcome> outcomes;  // of sets in ascending order, whatever the threads
  std::size_t cyclic = 0;                // of `outcomes`

  [[nodiscard]] bool is_free_of_cycles() const noexcept {
    return cyclic == 0 && intact.components == 0;
  }
};

/// AsGiven when nothing is routed; ValleyFree when the fabric has tiers and its routes go up and
/// then down, as those of a Clos do; else Converged.
[[nodiscard]] Reaction usual_reaction(const Topology& topology);

/// InvalidArgument when there are fewer cables than `failures`, or when that is 0, when a priority
/// has nothing to look at (check_question, check_looked_at), for ValleyFree without tiers, and for
/// Transient with more failures than kMostTransient;
/// Timeout when `progress` ended it.
[[nodiscard]] Result<FailureSweep> sweep_failures(const Topology& topology,
                                                  const FailureOptions& options);

/// The routes after `cables` failed, up to kMostTransient of them under Transient. ValleyFree needs
/// tiers; without it is AsGiven.
[[nodiscard]] std::vector<Route> routes_after(const Topology& topology,
                                              const std::vector<std::uint32_t>& cables,
                                              Reaction reaction);

}  // namespace portcullis::pfc::cbd
