// SPDX-License-Identifier: BSD-3-Clause
//
// Buffer dependencies where priorities are rewritten on the way (Topology::rewrites): a vertex is a
// link and the priority that data has on it, so that a cycle may lead through several priorities.
#pragma once

#include <cstdint>
#include <vector>

#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/dependencies.hpp"
#include "pfc/cbd/graph.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::cbd {

/// A link and a priority as a vertex.
[[nodiscard]] inline Vertex buffer_of(LinkId link, std::uint32_t priority) {
  return link * kPriorities + priority;
}
[[nodiscard]] inline LinkId link_of(Vertex buffer) { return buffer / kPriorities; }
[[nodiscard]] inline std::uint32_t priority_of(Vertex buffer) { return buffer % kPriorities; }

/// Vertices are those of buffer_of(). Data begins in each of `priorities`, flows in their own, and
/// takes what Dependencies says of it; without rewrites the dependencies of each priority are the
/// same as there.
[[nodiscard]] Graph rewritten_dependencies(const Topology& topology,
                                           const std::vector<std::uint32_t>& priorities,
                                           const DependencyOptions& options);

struct RewrittenOptions {
  Traffic traffic = Traffic::All;
  /// Cycles through a buffer of one of these alone; empty: all.
  std::vector<std::uint32_t> only = {};
  const std::vector<bool>* is_down = nullptr;
  bool with_breaks = true;  // as in AnalysisOptions
};

/// As analyse() of each of `begins`, all at once: a shortest cycle has its priorities beside it,
/// and what breaks it is told of buffers.
[[nodiscard]] Analysis analyse_rewritten(const Topology& topology,
                                         const std::vector<std::uint32_t>& begins,
                                         const RewrittenOptions& options);

}  // namespace portcullis::pfc::cbd
