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

/// What parse_topology() reads back as the same topology, one node, link and flow a line.
[[nodiscard]] std::string to_json(const Topology& topology);

}  // namespace portcullis::pfc
