// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of a program that runs on DPDK's EAL: the EAL's arguments, "--", its own. One
// way to tell them apart, to answer --help and --version on either side, and to put an error into
// one line.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace portcullis::program {

/// A command line in two: both parts begin with the program's name.
struct CommandLine {
  std::vector<std::string> eal;  // what stood before "--"
  std::vector<std::string> own;  // what stood after it
};

/// Splits at the first "--"; without one everything is the EAL's. InvalidArgument when one of ours
/// (--device, --benchmark_*, ..: what `own_prefixes` begin) stands before it.
[[nodiscard]] Result<CommandLine> split_command_line(int argc, const char* const* argv,
                                                     const std::vector<std::string>& own_prefixes);

struct EalOptions {
  std::vector<std::string> eal;      // what stood before "--", the program's name first
  std::optional<std::string> text;   // of --help or --version, when that was asked for
  std::vector<std::string> foreign;  // what stood after it and is another parser's
};

/// Parses what stands after "--" into what `app` was given, but for words that begin with
/// `foreign_prefix`, unless that is empty. InvalidArgument names the argument.
[[nodiscard]] Result<EalOptions> parse_behind_eal(CLI::App& app, int argc, const char* const* argv,
                                                  std::string_view foreign_prefix = {});

}  // namespace portcullis::program
