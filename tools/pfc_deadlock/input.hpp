// SPDX-License-Identifier: BSD-3-Clause
//
// What every subcommand reads: its options through CLI11, files, times. Mistakes are one line on
// standard error.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "program/output_file.hpp"
#include "tools/pfc_deadlock/command.hpp"

namespace portcullis::tools::pfc_deadlock {

/// Parses; a status when the command is over: help was printed, or an error.
[[nodiscard]] std::optional<int> parse(CLI::App& app, Arguments arguments, Console& console);

/// Prints "COMMAND: text", COMMAND as CLI::App names it, and gives kExitBad.
int refuse(Console& console, std::string_view command, const Error& error);

/// Whole file; "-" is standard input. System, naming the file.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

/// As program::check_outputs(), and that each can be written as things are now: what cannot is
/// refused before the work.
[[nodiscard]] Result<void> check_outputs(const std::vector<program::WrittenFile>& files,
                                         const std::vector<std::string>& inputs);

/// "1,2.5,10" as ascending times; InvalidArgument names the option and what is accepted.
[[nodiscard]] Result<std::vector<double>> parse_times(std::string_view option,
                                                      const std::string& text);

}  // namespace portcullis::tools::pfc_deadlock
