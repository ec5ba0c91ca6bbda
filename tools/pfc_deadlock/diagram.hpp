// SPDX-License-Identifier: BSD-3-Clause
//
// A topology as a drawing: switches, hosts, links, and every flow along its path.
#pragma once

#include <string>
#include <vector>

#include "pfc/topology.hpp"

namespace portcullis::tools::pfc_deadlock {

/// Nodes stand where they say, the others on a circle. The links of `cycle` are red.
[[nodiscard]] std::string diagram_svg(const pfc::Topology& topology,
                                      const std::vector<pfc::LinkId>& cycle = {});

}  // namespace portcullis::tools::pfc_deadlock
