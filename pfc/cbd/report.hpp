// SPDX-License-Identifier: BSD-3-Clause
//
// An analysis as text for people, as JSON and as CSV for what comes after. Names, not numbers.
#pragma once

#include <span>
#include <string>

#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/failures.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::cbd {

/// A line on where data ends for want of a next hop, if it does: beyond, nothing was looked at.
[[nodiscard]] std::string dead_ends_text(const Topology& topology,
                                         const Dependencies::DeadEnds& ends);

/// A few lines a component: the shortest cycle, who makes each edge, what breaks it.
[[nodiscard]] std::string analysis_text(const Topology& topology,
                                        std::span<const Analysis> analyses);
/// {"topology": .., "priorities": [{"priority", "links", "edges", "components": [..]}, ..]}
[[nodiscard]] std::string analysis_json(const Topology& topology,
                                        std::span<const Analysis> analyses);
/// One row for an edge of a shortest cycle: priority,component,position,from,to,users.
[[nodiscard]] std::string analysis_csv(const Topology& topology,
                                       std::span<const Analysis> analyses);

[[nodiscard]] std::string failures_text(const Topology& topology, const FailureSweep& sweep,
                                        const FailureOptions& options);
[[nodiscard]] std::string failures_json(const Topology& topology, const FailureSweep& sweep,
                                        const FailureOptions& options);
/// One row for a set of cables: cables,components,priority,shortest_cycle,routing_loop,cut_off,
/// broken_flows. The first row, without cables, is the intact fabric.
[[nodiscard]] std::string failures_csv(const Topology& topology, const FailureSweep& sweep);

}  // namespace portcullis::pfc::cbd
