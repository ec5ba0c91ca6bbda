// SPDX-License-Identifier: BSD-3-Clause
//
// Cycles of a strongly connected graph: a shortest one to show, and all of them where they are few,
// to be broken.
#pragma once

#include <cstddef>
#include <vector>

#include "pfc/cbd/graph.hpp"

namespace portcullis::pfc::cbd {

/// The vertices of a cycle in its order; the last has an edge to the first.
using Cycle = std::vector<Vertex>;

/// A cycle of fewest edges, the first found from the lowest vertex; empty when there is none.
[[nodiscard]] Cycle shortest_cycle(const Graph& graph);

/// Cycles that visit no vertex twice: all of them when they are at most `most`, else `most` + 1.
[[nodiscard]] std::vector<Cycle> simple_cycles(const Graph& graph, std::size_t most);

}  // namespace portcullis::pfc::cbd
