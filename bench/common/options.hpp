// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of a bench program: EAL arguments before `--`, ours and --benchmark_* after it.
// Pure, so that every refusal can be tested; bench/common/suite.hpp acts on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "proof/drop_row.hpp"

namespace portcullis::bench {

/// What a program is and which of the options below it takes; the others are refused.
struct ProgramInfo {
  std::string name;
  std::string summary;      // one sentence, for --help
  bool has_plans = false;   // --plan, --drop
  bool has_leases = false;  // --leases
  bool has_retry = false;   // --timeout, --retry, --sweep, --deadline-ms
  std::uint64_t default_samples = 1000;
  std::uint64_t quick_samples = 20;
};

struct Options {
  std::string device = "model";
  std::string peer = "loopback";
  std::vector<std::string> plans;  // each accepted by lease::parse_plan
  std::vector<std::string> drops;  // each accepted by parse_drop_row
  std::vector<std::uint32_t> leases;
  std::uint64_t samples = 0;  // of a wall-clock series
  std::uint32_t timeout = 14;
  std::uint32_t retry = 7;
  std::uint64_t deadline_ms = 10'000;
  bool is_sweep = false;  // timeouts 8 to 18 and retry counts 1 to 7 instead of one of each
  std::string out_dir;    // empty: no files
  bool is_quick = false;
};

/// The plans that were asked for, in that order.
[[nodiscard]] std::vector<lease::Plan> plans_of(const Options& options);
/// The DROP entries that were asked for, each before traffic and under it.
[[nodiscard]] std::vector<proof::DropTrial> drops_of(const Options& options);

struct CommandLine {
  Options options;
  std::vector<std::string> eal;        // the program's name and what stood before `--`
  std::vector<std::string> benchmark;  // --benchmark_*
  std::optional<std::string> text;     // --help or --version: print and leave
};

/// InvalidArgument with one line that names the argument and what is accepted.
[[nodiscard]] Result<CommandLine> parse_command_line(const ProgramInfo& info, int argc,
                                                     const char* const* argv);

}  // namespace portcullis::bench
