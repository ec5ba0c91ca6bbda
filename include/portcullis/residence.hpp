// SPDX-License-Identifier: BSD-3-Clause
//
// How late a packet may arrive, whatever is sent and when: by the longest chain of pauses, from
// topology, routes, buffers, thresholds and delays alone. Where buffers wait for each other in a
// circle there is no such bound, unless a watchdog breaks it. docs/pfc.md has the proof.
//
// Example, fabrics.cpp:
//   PORTCULLIS_TRY_ASSIGN(const auto bound, bound_residence(fabric));
//   if (bound.most_us) std::cout << "at most " << *bound.most_us << " us\n";
//   if (!bound.most_us) std::cout << "no bound: " << bound.reason << '\n';
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

/// What the bound is computed for.
struct ResidenceOptions {
  std::uint32_t packet_bytes = 1000;  // of every packet, 1 to 2^20
  double response_us = 0;  // from the end of a PAUSE until its sender heeds it; up to a second
  bool is_pause_in_band = true;  // a PAUSE waits for what its link is sending
  /// A switch's queue that has been paused for so long is emptied; 0: there is no watchdog. Up to
  /// 1e9.
  double watchdog_ms = 0;
  const std::atomic<bool>* stop = nullptr;  // asked now and then; true ends it with Timeout
};

/// Of one flow, or of whatever routes permit. No value: no bound, which is no small one.
struct FlowBound {
  std::string flow;          // its name, or what the routes are called
  std::optional<double> us;  // the bound; none: there is no bound
};

/// From the first bit that leaves the source to the last that arrives, if hosts take what arrives
/// and buffers serve in the order of arrival; for data in those priorities that "priorities" of the
/// fabric names, else in any where it has routes, and in those of its flows where it has none.
struct ResidenceBound {
  std::optional<double> most_us;    // of all; what a lease's queue pair number has to outlive
  std::vector<FlowBound> flows;     // in the order of the fabric
  std::optional<FlowBound> routes;  // nothing: there are no routes, so nothing was looked at
  std::vector<std::string> circle;  // why there is none: each waits for the next, the last for the
                                    // first
  std::string reason;               // why there is none, one line; empty when there is one
};

/// InvalidArgument when there is nothing to look at, and for options out of their range.
[[nodiscard]] PORTCULLIS_API Result<ResidenceBound> bound_residence(
    const Fabric& fabric, const ResidenceOptions& options = {});

}  // namespace portcullis
