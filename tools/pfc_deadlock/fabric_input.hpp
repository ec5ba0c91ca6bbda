// SPDX-License-Identifier: BSD-3-Clause
//
// Scenarios of the cbd and packet commands: those of load_scenario(), and generated fabrics.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "pfc/topology.hpp"

namespace portcullis::tools::pfc_deadlock {

/// What load_scenario() takes, or leaf-spine:LEAVES,SPINES,HOSTS fat-tree:PORTS ring:SWITCHES,SPAN.
[[nodiscard]] Result<pfc::Topology> load_fabric(const std::string& name,
                                                const std::vector<std::string>& settings);

/// For --help.
inline constexpr const char* kFabricHelp =
    "a scenario of pfc-deadlock --help, a .json file, - for stdin, or a generated fabric: "
    "leaf-spine:LEAVES,SPINES,HOSTS fat-tree:PORTS ring:SWITCHES,SPAN";

}  // namespace portcullis::tools::pfc_deadlock
