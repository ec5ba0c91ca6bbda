// SPDX-License-Identifier: BSD-3-Clause
//
// Scenarios: built in, from JSON, or generated fabrics.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "pfc/cbd/split_flows.hpp"
#include "pfc/topology.hpp"
#include "tools/pfc_deadlock/choice.hpp"

namespace portcullis::tools::pfc_deadlock {

/// A built-in name, a file that ends in .json, "-" for standard input, or
/// leaf-spine:LEAVES,SPINES,HOSTS fat-tree:PORTS ring:SWITCHES,SPAN jellyfish:SWITCHES,PORTS,SEED
/// dragonfly:GROUPS,ROUTERS,GLOBAL; then the settings.
[[nodiscard]] Result<pfc::Topology> load_fabric(const std::string& name,
                                                const std::vector<std::string>& settings);

/// The file that load_fabric() would read; empty: none.
[[nodiscard]] std::string fabric_file(const std::string& name);

/// --ecmp: a flow that is offered several next hops is split over all of them, or takes the first.
enum class Ecmp { Split, First };
inline const Words<Ecmp> ecmp_words = {{"split", Ecmp::Split}, {"first", Ecmp::First}};
inline constexpr const char* kEcmpHelp =
    "flows that are offered several next hops: split over all ways evenly, or the first of each";

/// The note says which ways were used.
[[nodiscard]] Result<pfc::cbd::SplitFlows> spread_flows(const pfc::Topology& topology, Ecmp ecmp);

/// For --help.
inline constexpr const char* kFabricHelp =
    "a scenario of pfc-deadlock --help, a .json file, - for stdin, or a generated fabric: "
    "leaf-spine:LEAVES,SPINES,HOSTS fat-tree:PORTS ring:SWITCHES,SPAN "
    "jellyfish:SWITCHES,PORTS,SEED dragonfly:GROUPS,ROUTERS,GLOBAL";

}  // namespace portcullis::tools::pfc_deadlock
