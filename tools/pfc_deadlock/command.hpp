// SPDX-License-Identifier: BSD-3-Clause
//
// What a subcommand of pfc-deadlock is: arguments in, text out, an exit status; and which there
// are, each in a file of its own. commands.cpp holds the table of them; a new one is a line here
// and one there.
#pragma once

#include <atomic>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace portcullis::tools::pfc_deadlock {

/// Where a command writes, and whether it should end.
struct Console {
  std::ostream& out;                    // results only
  std::ostream& err;                    // errors, findings for people, progress
  const std::atomic<bool>& is_stopped;  // Ctrl-C: finish with what there is
  bool shows_progress = false;          // err is a terminal
};

inline constexpr int kExitDone = 0;
inline constexpr int kExitBad = 2;            // usage, or a file that is none
inline constexpr int kExitInterrupted = 130;  // as a shell reports SIGINT

using Arguments = std::span<const std::string>;

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(Arguments arguments, Console& console);
};

/// The subcommands, as --help lists them.
[[nodiscard]] std::span<const Command> commands();

/// Of cbd: a cycle was found, what a fabric's own checks want to fail on.
inline constexpr int kExitCycle = 1;
/// Of residence: there is no bound.
inline constexpr int kExitNoBound = 1;
/// Of headroom: some ingress has less than it needs.
inline constexpr int kExitShort = 1;
/// Of fluid and packet: the run locked.
inline constexpr int kExitLocked = 1;

int run_cbd(Arguments arguments, Console& console);
int run_fluid(Arguments arguments, Console& console);
int run_headroom(Arguments arguments, Console& console);
int run_import(Arguments arguments, Console& console);
int run_packet(Arguments arguments, Console& console);
int run_residence(Arguments arguments, Console& console);
int run_sweep(Arguments arguments, Console& console);
int run_topology(Arguments arguments, Console& console);

/// `arguments` without the program's name.
int run_program(Arguments arguments, Console& console);

}  // namespace portcullis::tools::pfc_deadlock
