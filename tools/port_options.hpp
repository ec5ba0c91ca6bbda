// SPDX-License-Identifier: BSD-3-Clause
//
// --device and --address as every program spells them that owns one port.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "pmd/gid.hpp"

namespace portcullis::tools {

/// --device and --address.
void add_port_options(CLI::App& app, std::string& device, std::optional<pmd::Gid>& address);
/// --address alone.
CLI::Option* add_address_option(CLI::App& app, std::optional<pmd::Gid>& address);

}  // namespace portcullis::tools
