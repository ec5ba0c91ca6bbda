// SPDX-License-Identifier: BSD-3-Clause
//
// How late a packet may arrive at worst, whatever is sent and when: from topology, routes, buffers,
// thresholds and delays alone, by the longest chain of pauses. docs/pfc.md has the proof. Where
// buffers wait for each other in a circle there is no such bound, unless a watchdog breaks it.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "pfc/bound/pause_times.hpp"
#include "pfc/cbd/dependencies.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::bound {

struct BoundOptions {
  PauseModel pause;
  /// A switch's queue that has been paused for so long is emptied, and what comes is dropped until
  /// it is released. Queues of ports where flows begin are not watched.
  std::optional<double> watchdog_ps;
  const std::atomic<bool>* is_stopped = nullptr;
};

/// From the first bit that leaves the source to the last that arrives; kUnlimited: no bound.
struct ResidenceBound {
  std::vector<double> flows;  // time units
  /// Of whatever the routes permit between hosts; nothing when there are none.
  std::optional<double> routes;
  double most = 0;             // of both
  std::vector<LinkId> circle;  // why there is none: each waits for the next, the last for the first
  /// Of `circle`, where priorities are rewritten on the way; else empty.
  std::vector<std::uint32_t> circle_priorities;
  std::string reason;  // why there is none, where it is no circle
  /// Data that begins in these it is for: those of flows, and with routes any of `carried`, but
  /// that where some are rewritten only those in which cbd::check_question() has data begin, and
  /// Topology::priorities.
  std::vector<std::uint32_t> begins;
  std::vector<std::uint32_t> carried;  // carried_priorities(): each takes its turns of the links
  /// Where data ends for want of a next hop: the bound holds for what the routes do lead on. Of the
  /// first priority that has some.
  cbd::Dependencies::DeadEnds dead_ends;
};

/// "a waits for b, b waits for a"; with @PRIORITY behind each where priorities are rewritten.
[[nodiscard]] std::string circle_text(const Topology& topology, const ResidenceBound& bound);

/// Puts what an option says, in any order, in place of Topology::priorities; nothing leaves them.
/// InvalidArgument for priorities that there are not, and where a flow has another.
[[nodiscard]] Result<void> take_priorities(Topology& topology,
                                           std::vector<std::uint32_t> priorities);

/// For which data the bound is: "in any priority", "in priorities 0, 3 alone".
[[nodiscard]] std::string priorities_text(const ResidenceBound& bound);

/// What a bound leaves out where links have no delay; nothing where all have some.
[[nodiscard]] std::string delays_note(const Topology& topology);

/// For the flows and for whatever the routes permit, all at once. `topology` was checked.
/// InvalidArgument when there is nothing to look at (cbd::check_question), and for packets of 0
/// bytes; Timeout when it was stopped.
[[nodiscard]] Result<ResidenceBound> bound_residence(const Topology& topology,
                                                     const BoundOptions& options);

}  // namespace portcullis::pfc::bound
