// SPDX-License-Identifier: BSD-3-Clause
//
// Few vertices, or edges, of which each circle of a graph holds one, where there are too many
// circles to list.
#pragma once

#include <cstdint>
#include <vector>

#include "pfc/cbd/graph.hpp"

namespace portcullis::pfc::cbd {

/// P. Galinier, E. Lemamou, M. W. Bouzidi, "Applying local search to the feedback vertex set
/// problem", Journal of Heuristics 2013: an order of the vertices that are kept, in which no edge
/// goes backwards, is changed one vertex at a time by simulated annealing. The same for the same
/// graph and seed, ascending; not always the fewest. Breaks off after so much work that it takes
/// about a second, for what is larger than thousands of edges at once.
[[nodiscard]] std::vector<Vertex> few_feedback_vertices(const Graph& graph, std::uint32_t seed);

/// An order of the vertices in which few edges go backwards: `order` annealed, a vertex at a time
/// moved next to one that it has an edge with, or anywhere. The same for the same arguments, and
/// never worse than `order`.
[[nodiscard]] std::vector<Vertex> annealed_order(const Graph& graph, std::vector<Vertex> order,
                                                 std::uint32_t seed);

}  // namespace portcullis::pfc::cbd
