// SPDX-License-Identifier: BSD-3-Clause
//
// Scenarios: built in, from JSON, or generated fabrics.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "pfc/topology.hpp"

namespace portcullis::tools::pfc_deadlock {

/// A built-in name, a file that ends in .json, "-" for standard input, or
/// leaf-spine:LEAVES,SPINES,HOSTS fat-tree:PORTS ring:SWITCHES,SPAN; then the settings.
[[nodiscard]] Result<pfc::Topology> load_fabric(const std::string& name,
                                                const std::vector<std::string>& settings);

/// For --help.
inline constexpr const char* kFabricHelp =
    "a scenario of pfc-deadlock --help, a .json file, - for stdin, or a generated fabric: "
    "leaf-spine:LEAVES,SPINES,HOSTS fat-tree:PORTS ring:SWITCHES,SPAN";

}  // namespace portcullis::tools::pfc_deadlock
