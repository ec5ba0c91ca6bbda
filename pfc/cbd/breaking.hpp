// SPDX-License-Identifier: BSD-3-Clause
//
// What to change so that the buffers of a component depend on each other in no circle any more. Up
// to 20 cycles the answer is the smallest there is; with more it is one from which nothing can be
// left out, and says so.
#pragma once

#include <span>
#include <vector>

#include "pfc/cbd/cycles.hpp"
#include "pfc/cbd/dependencies.hpp"
#include "pfc/cbd/graph.hpp"

namespace portcullis::pfc::cbd {

inline constexpr std::size_t kExactCycles = 20;

template <class Change>
struct BreakingSet {
  std::vector<Change> changes;
  bool is_smallest = false;  // else only inclusion-minimal: no part of it breaks every cycle
};

struct Breaks {
  BreakingSet<Edge> turns;  // data that goes from one link to the other changes its priority there
  BreakingSet<LinkId> links;  // the link leaves the lossless class, or the fabric
  BreakingSet<User> users;    // the flow or destination takes other paths, or a lossy priority
};

/// `graph` is strongly connected, `users[i]` makes its edge i in the order of rows. Vertices of the
/// result are those of `graph`.
[[nodiscard]] Breaks break_cycles(const Graph& graph, const std::vector<Cycle>& cycles,
                                  const std::vector<std::vector<User>>& users);

}  // namespace portcullis::pfc::cbd
