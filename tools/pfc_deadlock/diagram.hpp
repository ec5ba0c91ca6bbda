// SPDX-License-Identifier: BSD-3-Clause
//
// A topology as a drawing: switches, hosts, links, and every flow along its path.
#pragma once

#include <string>

#include "pfc/topology.hpp"

namespace portcullis::tools::pfc_deadlock {

/// Nodes stand where they say, the others on a circle.
[[nodiscard]] std::string diagram_svg(const pfc::Topology& topology);

}  // namespace portcullis::tools::pfc_deadlock
