// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of a program that runs on DPDK's EAL: the EAL's arguments, "--", its own. One
// way to tell them apart, to answer --help and --version on either side, and to put an error into
// one line.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "pmd/gid.hpp"

namespace portcullis::tools {

struct EalOptions {
  std::vector<std::string> eal;     // what stood before "--", the program's name first
  std::optional<std::string> text;  // of --help or --version, when that was asked for
};

/// Parses what stands after "--" into what `app` was given. InvalidArgument names the argument.
[[nodiscard]] Result<EalOptions> parse_behind_eal(CLI::App& app, int argc, const char* const* argv);

/// --device and --address of a program that owns one port.
void add_port_options(CLI::App& app, std::string& device, std::optional<pmd::Gid>& address);
/// --address alone.
CLI::Option* add_address_option(CLI::App& app, std::optional<pmd::Gid>& address);

}  // namespace portcullis::tools
