// SPDX-License-Identifier: BSD-3-Clause
//
// The fluid equations of the PFC document for any topology, solved from event to event: exact where
// rates are constant (FIFO), by a Runge-Kutta method of order 8 where they are not (proportional
// share). docs/pfc.md says which equation became which function, and what each ambiguity became.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc {

/// How an egress divides its link. The equations (2), (9) and (12) share in proportion to what is
/// stored; a real queue serves in the order of arrival. They agree at rest and not in transients.
enum class Discipline : std::uint8_t { Proportional, Fifo };

/// Of several pause duties that keep every queue at its threshold the greatest, so that a system
/// lives while it can, or the least, so that it dies when it can. Matters at zero delay only.
enum class Tie : std::uint8_t { Open, Closed };

/// What a deadlock is: a cycle of closed gates in which every head waits for the next one, or the
/// seed's "no rate but 0 from t0 on" with something stored.
enum class Definition : std::uint8_t { Structural, Seed };

struct FluidOptions {
  Discipline discipline = Discipline::Proportional;
  Tie tie = Tie::Open;
  Definition definition = Definition::Structural;
  double until = 10;         // time units
  double time_unit = 1;      // the caller's, of what errors say (scale.hpp)
  double tolerance = 1e-12;  // of one Runge-Kutta step, relative and absolute
  /// Where arrivals are delayed: what a cubic between two steps can stand, in the time that a link
  /// needs for a threshold (scale.hpp). Twice as much at most, for what arrives in a step must have
  /// left before it.
  double longest_step = 0.03;
  std::uint64_t max_events = 1'000'000;
  bool stops_at_deadlock = false;    // else it runs on: flows outside the cycle may still move
  bool keeps_history = false;        // fill FluidRun::history and ::gates
  std::vector<double> sample_times;  // ascending, none beyond `until`
  const std::atomic<bool>* is_stopped = nullptr;  // asked between events
};

/// Service curves at one time.
struct FluidSample {
  double time = 0;
  std::vector<double> offered;  // by flow: S^0, what the host has offered, or sent when greedy
  std::vector<double> arrived;  // by hop (FluidRun::hops): at the queue in front of a link
  std::vector<double> served;   // by hop: has left that queue
};

/// One flow at one link of its path. Served of hop k is S^(k+1); S^1 is what arrived at hop 1.
struct FluidHop {
  std::uint32_t flow = 0;
  std::uint32_t hop = 0;
  LinkId link = 0;
};

struct GateChange {
  double time = 0;
  LinkId link = 0;
  double open = 1;  // 1 open, 0 closed; in between the share of time that a sliding gate is open
};

struct Deadlock {
  double time = 0;
  std::vector<LinkId> cycle;  // each waits for the next, the last for the first; empty: Seed
};

struct FluidRun {
  std::vector<FluidHop> hops;
  std::vector<FluidSample> samples;  // at FluidOptions::sample_times
  std::vector<FluidSample> history;  // at every event, and at every step where rates vary
  std::vector<GateChange> gates;
  std::optional<Deadlock> deadlock;
  std::vector<double> peak;           // by link: the most its ingress has stored
  std::vector<double> overflow_time;  // by flow: when its host held more than its buffer, or inf
  std::vector<double> rates;          // by hop, at the end
  double end = 0;
  std::uint64_t events = 0;
  std::uint64_t steps = 0;  // of Runge-Kutta that were tried; 0 where rates are constant
  bool is_interrupted = false;
};

/// InvalidArgument or Unsupported for topologies the equations do not cover: flows without a path,
/// two priorities on one link, a path that begins at a switch; OutOfResources after max_events.
[[nodiscard]] Result<FluidRun> solve(const Topology& topology, const FluidOptions& options);

/// How often the curves of `flow` are named: S_f0 exists for hosts that offer at a rate, and where
/// the first link has a delay.
[[nodiscard]] bool has_offered_curve(const Topology& topology, std::size_t flow);

}  // namespace portcullis::pfc
