// SPDX-License-Identifier: BSD-3-Clause
//
// What a solver knows at one moment, and how rates follow from it: shares, pass-through where a
// queue is empty, and the pause duty of gates that slide on their threshold.
#pragma once

#include <cstdint>
#include <vector>

#include "pfc/fluid/extrapolation.hpp"
#include "pfc/fluid/fluid.hpp"
#include "pfc/fluid/network.hpp"

namespace portcullis::pfc {

inline constexpr double kRateSlack = 1e-12;   // of a capacity: rates that differ less are equal
inline constexpr double kLevelSlack = 1e-12;  // of a threshold

/// What decides the rate of a link. Fixed between events, so that rates are smooth there.
enum class Regime : std::uint8_t {
  Full,   // something waits and the gate is open: capacity
  Pass,   // nothing waits: what comes in goes out
  Slide,  // the far ingress stays at its threshold: what leaves there
  Shut,   // paused
};

struct State {
  explicit State(const Network& network);

  double time = 0;
  double lag = 0;  // of what a thin queue is made of: see RateSolver::mix
  // By slot.
  std::vector<double> arrived, served;      // S of the hop before, after its delay; S of this hop
  std::vector<double> waiting;              // arrived - served; infinite at a greedy host
  std::vector<double> in, out;              // rates
  std::vector<double> share;                // of its link, adding up to 1 by port
  std::vector<std::uint8_t> is_backlogged;  // something waited when rates were last decided
  // By port.
  std::vector<double> queued;  // waiting for the link
  std::vector<double> level;   // stored in the ingress at its far end
  std::vector<double> total;   // rate
  std::vector<Regime> regime;
  std::vector<std::uint8_t> is_closed;  // the far ingress says so
  std::vector<std::uint8_t> is_paused;  // the sender knows
};

/// Rates at one state. Under FIFO `share` of queues that hold something must be filled in.
class RateSolver {
 public:
  RateSolver(const Network& network, Discipline discipline, Tie tie)
      : network_(network), discipline_(discipline), tie_(tie), is_stale_(network.ports.size()) {}

  /// `waiting`, `queued` and `level` from what has arrived and been served.
  void measure(State& state) const;
  /// Rates and regimes, whichever bound holds: at events.
  void decide(State& state);
  /// Rates under the regimes decided before: between events.
  void follow(State& state);

 private:
  void begin_sweeps();
  template <class Rate>
  double sweep(State& state, const Rate& rate, double weight);
  template <class Rate>
  void relax(State& state, const Rate& rate);
  void divide(State& state, const Port& port, std::uint32_t index) const;
  void mix(State& state, const Port& port, std::uint32_t index) const;
  double take(State& state, std::uint32_t index, double total);
  bool put(State& state, std::uint32_t slot, double rate);
  void split_evenly(State& state, const Port& port, double total);

  const Network& network_;
  Discipline discipline_;
  Tie tie_;
  Extrapolation extrapolation_;
  std::vector<double> before_, next_;  // rates by slot: as a sweep found them, for the next one
  std::vector<double> split_;          // of the host at hand
  // By port: something that its rate follows from has changed since it was decided. Few links stand
  // in a circle, and a sweep after the first need look at no others.
  std::vector<std::uint8_t> is_stale_;
};

/// What comes in for the link of `port`.
[[nodiscard]] double inflow(const State& state, const Port& port);
/// The rate at which the far ingress of `port` stays as full as it is; infinite when nothing that
/// would count comes over the link.
[[nodiscard]] double sustainable(const State& state, const Network& network, const Port& port);
/// The rate of the link were its gate open.
[[nodiscard]] double open_rate(const State& state, const Port& port, std::uint32_t index);

}  // namespace portcullis::pfc
