// SPDX-License-Identifier: BSD-3-Clause
//
// Topologies as JSON, the way in for one's own fabric: docs/pfc.md describes the fields. What is
// wrong is one line with file, line and field.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc {

/// Reads and checks. Flows with "from" and "to" are routed; their path is that of the first next
/// hops. Malformed, as "FILE:LINE: links[3].xon: what is accepted".
[[nodiscard]] Result<Topology> parse_topology(std::string_view text, std::string_view file);

/// As "xoff": no limit, for JSON has no infinity.
inline constexpr std::string_view kUnlimitedText = "unlimited";
/// As a destination: all that some table names and this one does not.
inline constexpr std::string_view kAnyDestination = "*";

/// What parse_topology() reads back as the same topology, one node, cable, flow and table a line.
/// What most links have in common stands in "defaults", what most destinations of a table have
/// behind "*".
[[nodiscard]] std::string to_json(const Topology& topology);

}  // namespace portcullis::pfc
