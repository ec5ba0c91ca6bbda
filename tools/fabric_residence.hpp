// SPDX-License-Identifier: BSD-3-Clause
//
// How late a fabric may deliver a packet, for programs that wait it out: --fabric, what is said of
// its priorities, watchdogs and PAUSE, and --residence-ms.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace portcullis::tools {

struct FabricOptions {
  std::string file;        // as pfc-deadlock reads it; "": none
  double watchdog_ms = 0;  // of switches, which drop what has been paused so long; 0: none
  double poll_ms = 0;  // they look so often, and watchdog_ms is what detection takes; 0: at once
  double response_us = 0;  // from the end of a PAUSE until its sender heeds it
  /// In which data comes, this program's too; empty: as the fabric says, and any where it does not.
  std::vector<std::uint32_t> priorities = {};
  std::optional<std::uint32_t> own_priority = {};  // of the data in question
  std::uint64_t told_ms = 0;  // what stands in for a bound, or is longer than it
};

struct FabricResidence {
  std::uint64_t ms = 0;
  std::string text;  // where it comes from, and for what it holds
};

/// --fabric-priorities, --fabric-watchdog-ms, --fabric-poll-ms and --response-us, which `fabric`
/// has to be given for.
void add_bound_options(CLI::App& app, CLI::Option* fabric, FabricOptions& options);

/// Those, --fabric and --residence-ms.
void add_fabric_options(CLI::App& app, FabricOptions& options);

/// The bound of the fabric (pfc/bound/residence_bound.hpp) for frames of the largest MTU, rounded
/// up, or what was told where that is longer. InvalidArgument for a fabric without routes, for
/// nothing bounds data that is none of its flows; for one in whose priorities own_priority is not;
/// and for one without a bound, or with one of more than an hour, unless a value was told.
[[nodiscard]] Result<FabricResidence> residence_of(const FabricOptions& options);

/// What a client that gives up knows of its packets.
struct GivingUp {
  double after_us = 0;                        // from its last packet, a repeated one too, on
  std::optional<std::uint64_t> packets = {};  // that it may have out by then, repeated ones counted
};

struct LatePackets {
  std::optional<std::uint64_t> most;  // none: nothing bounds their number
  std::string text;                   // why, one line
};

/// How many packets of one client may arrive after it gave up: those that it sent no longer ago
/// than the fabric's bound, of 84 byte times each over all links of one host, and no more than it
/// has out. InvalidArgument as residence_of() has it.
[[nodiscard]] Result<LatePackets> late_packets(const FabricOptions& options,
                                               const GivingUp& client);

}  // namespace portcullis::tools
