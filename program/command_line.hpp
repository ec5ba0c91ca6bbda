// SPDX-License-Identifier: BSD-3-Clause
//
// A command line as CLI11 parses it, for every program alike: its exceptions end here, and a
// mistake is one line.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace portcullis::program {

/// Parses `arguments`, which the program's name is not among. The text that --help or --version
/// asked for, to be printed instead of doing anything; nothing otherwise. InvalidArgument names the
/// argument.
[[nodiscard]] Result<std::optional<std::string>> parse_arguments(
    CLI::App& app, std::vector<std::string> arguments);

}  // namespace portcullis::program
