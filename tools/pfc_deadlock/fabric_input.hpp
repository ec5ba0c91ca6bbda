// SPDX-License-Identifier: BSD-3-Clause
//
// Scenarios: built in, from JSON, or generated fabrics.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "pfc/cbd/split_flows.hpp"
#include "pfc/topology.hpp"

namespace portcullis::tools::pfc_deadlock {

/// A built-in name, a file that ends in .json, "-" for standard input, or
/// leaf-spine:LEAVES,SPINES,HOSTS fat-tree:PORTS ring:SWITCHES,SPAN jellyfish:SWITCHES,PORTS,SEED
/// dragonfly:GROUPS,ROUTERS,GLOBAL; then the settings.
[[nodiscard]] Result<pfc::Topology> load_fabric(const std::string& name,
                                                const std::vector<std::string>& settings);

/// --ecmp: a flow that is offered several next hops is split over all of them, or takes the first.
inline constexpr const char* kEcmpHelp =
    "flows that are offered several next hops: split over all ways evenly, or the first of each";

/// `ecmp` is split or first. The note says which ways were used.
[[nodiscard]] Result<pfc::cbd::SplitFlows> spread_flows(const pfc::Topology& topology,
                                                        const std::string& ecmp);

/// For --help.
inline constexpr const char* kFabricHelp =
    "a scenario of pfc-deadlock --help, a .json file, - for stdin, or a generated fabric: "
    "leaf-spine:LEAVES,SPINES,HOSTS fat-tree:PORTS ring:SWITCHES,SPAN "
    "jellyfish:SWITCHES,PORTS,SEED dragonfly:GROUPS,ROUTERS,GLOBAL";

}  // namespace portcullis::tools::pfc_deadlock
