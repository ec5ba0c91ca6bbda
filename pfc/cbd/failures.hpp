// SPDX-License-Identifier: BSD-3-Clause
//
// What failures do to a fabric without cycles: every set of k cables is taken out in turn, routing
// reacts, and the dependencies are analysed anew. A Clos fabric is free of cycles only as long as
// nothing goes up again after going down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.hpp"
#include "pfc/cbd/dependencies.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::cbd {

enum class Reaction : std::uint8_t {
  /// Every node has the shortest routes of what is left.
  Converged,
  /// A node drops the routes over its own failed links; one that has none left for a destination
  /// takes the neighbours nearest to it. The others have not heard of the failure.
  Local,
  /// Some nodes have the old routes that are left and some the converged ones, in any mixture.
  Transient,
};

struct FailureOptions {
  std::uint32_t failures = 1;  // cables at a time
  Reaction reaction = Reaction::Local;
  std::size_t most_sets = 100'000;  // of more, so many are drawn by `seed`
  std::uint64_t seed = 1;
  unsigned threads = 1;
  /// Asked now and then, by one thread at a time, with sets done and sets in all; false ends the
  /// sweep. May be empty.
  std::function<bool(std::size_t, std::size_t)> progress = {};
};

struct FailureOutcome {
  std::vector<std::uint32_t> cables;  // of cables_of(), ascending
  std::size_t components = 0;         // cyclic ones
  std::vector<LinkId> shortest;       // a cycle of fewest links, if there is one
  bool is_loop = false;               // one destination makes that cycle alone
  std::size_t cut_off = 0;            // pairs of node and destination that have lost all routes
};

struct FailureSweep {
  std::size_t all_sets = 0;  // how many sets there are; SIZE_MAX stands for more
  bool is_sampled = false;
  std::vector<FailureOutcome> outcomes;  // of sets in ascending order, whatever the threads
  std::size_t cyclic = 0;
};

/// Starts from the topology's routes, or from shortest routes to all hosts when it has none; flows
/// do not count. InvalidArgument when there are fewer cables than `failures`, or when that is 0;
/// Timeout when `progress` ended it.
[[nodiscard]] Result<FailureSweep> sweep_failures(const Topology& topology,
                                                  const FailureOptions& options);

/// The routes after `cables` failed.
[[nodiscard]] std::vector<Route> routes_after(const Topology& topology,
                                              const std::vector<std::uint32_t>& cables,
                                              Reaction reaction);

}  // namespace portcullis::pfc::cbd
