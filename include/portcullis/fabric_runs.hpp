// SPDX-License-Identifier: BSD-3-Clause
//
// One run of a fabric, by exact fluid equations or packet by packet. A run is what happens with
// these flows from this start; that it does not lock is no promise (buffer_cycles.hpp gives one),
// and its residence is no bound (residence.hpp gives one). docs/pfc.md and docs/pfc-packet.md.
//
// Example, fabrics.cpp:
//   PORTCULLIS_TRY_ASSIGN(const auto run, run_packets(fabric, {.until_us = 1'000}));
//   if (run.deadlock) std::cout << "locks at " << run.deadlock->at_us << " us\n";
#pragma once

#include <portcullis/export.hpp>
#include <portcullis/fabric.hpp>
#include <portcullis/result.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace portcullis {

/// Queues serve in the order of arrival; exact up to rounding.
struct FluidOptions {
  double until_us = 1000;                   // above 0, up to a day
  std::uint64_t max_events = 1'000'000;     // more end the run in OutOfResources
  const std::atomic<bool>* stop = nullptr;  // asked before each event
};

/// How a run goes packet by packet.
struct PacketOptions {
  double until_us = 1000;             // above 0, up to a day
  std::uint32_t packet_bytes = 1000;  // of every packet
  double response_us = 0;             // from the end of a PAUSE until its sender has stopped
  bool is_pause_in_band = true;       // a PAUSE waits for what its link is sending
  /// Asked before the first event, and then once in 2^20 of them, a tenth of a second or so.
  const std::atomic<bool>* stop = nullptr;
};

/// Buffers that can never empty again.
struct RunDeadlock {
  double at_us = 0;                // when the last of them stopped
  std::vector<std::string> cycle;  // each waits for the next, the last for the first
};

/// What became of one flow.
struct FlowRun {
  std::string flow;             // its name in the fabric
  double delivered_bytes = 0;   // that arrived until the end
  double inside_bytes = 0;      // left its host and not arrived at the end
  double longest_us = 0;        // residence, of what was delivered
  double oldest_inside_us = 0;  // how long the oldest of inside_bytes has been under way
  /// Of packets: lost for want of room, of TTL or of buffer at the source. The fluid loses nothing
  /// inside, and does not say what a host's buffer lost.
  std::optional<std::uint64_t> packets_lost;
};

/// What happened in one run.
struct FabricRun {
  double end_us = 0;                    // of what was looked at; nothing is said of later
  bool is_stopped = false;              // before until_us, by `stop`
  std::optional<RunDeadlock> deadlock;  // the first; none: none until end_us
  std::vector<FlowRun> flows;           // in the order of the fabric
  std::uint64_t events = 0;             // that the run took
  /// One line where a flow is offered several next hops and this run took the first; else empty.
  std::string note;
};

/// InvalidArgument or Unsupported for what the equations do not cover: flows without a path, two
/// priorities on one link, a path that begins at a switch; OutOfResources after max_events.
[[nodiscard]] PORTCULLIS_API Result<FabricRun> run_fluid(const Fabric& fabric,
                                                         const FluidOptions& options = {});
/// Ends at its first deadlock. InvalidArgument where options and fabric do not fit.
[[nodiscard]] PORTCULLIS_API Result<FabricRun> run_packets(const Fabric& fabric,
                                                           const PacketOptions& options = {});

}  // namespace portcullis
