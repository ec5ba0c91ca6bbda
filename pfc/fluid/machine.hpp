// SPDX-License-Identifier: BSD-3-Clause
//
// What both solvers do at an event, whatever their queues are like: sources begin and change, gates
// open and close, PAUSE frames arrive, curves are sampled, deadlocks are found.
#pragma once

#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "pfc/fluid/state.hpp"

namespace portcullis::pfc {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

class Machine {
 public:
  Machine(const Topology& topology, const Network& network, const FluidOptions& options);

 protected:
  /// Sources and PAUSE frames that are due at state.time.
  void deliver();
  /// Closes and opens gates by level and slope; true when a sender without delay heard of it, so
  /// that rates must be decided again.
  bool swing_gates();
  /// When the next source changes or PAUSE frame arrives; kNever.
  [[nodiscard]] double next_delivery() const;
  /// Every requested sample from state.time up to `to`, rates being what they are.
  void sample(double to);
  [[nodiscard]] double next_sample() const;
  /// Peaks, overflows and history at state.time.
  void record();
  /// Since when nothing moves, at every event: for the seed's deadlock.
  void watch_rest();
  /// Looks for a cycle, when gates moved since the last time; true: stop here.
  bool is_dead();
  [[nodiscard]] FluidRun finish();
  [[nodiscard]] bool is_interrupted() const {
    return options.is_stopped != nullptr && options.is_stopped->load(std::memory_order_relaxed);
  }

  const Topology& topology;
  const Network& network;
  const FluidOptions& options;
  State state;
  RateSolver rates;
  FluidRun run;

 private:
  struct Pause {
    double due = 0;
    bool is_paused = false;
  };

  [[nodiscard]] bool is_at_rest() const;
  [[nodiscard]] bool may_begin() const;
  void begin(std::uint32_t flow);
  [[nodiscard]] double next_change(const Source& source) const;
  [[nodiscard]] double slope(const Port& port) const;
  void set_gate(std::uint32_t index, bool is_closed);
  void note_gate(std::uint32_t index, double open);
  [[nodiscard]] bool is_held(std::uint32_t index) const;
  [[nodiscard]] std::vector<LinkId> waiting_cycle(std::vector<std::uint8_t>& held) const;
  [[nodiscard]] FluidSample curves_at(double time) const;

  std::vector<std::deque<Pause>> pauses_;  // by port, on their way to the sender
  std::vector<double> source_due_;         // by flow
  std::vector<double> drawn_;              // by port, the last opening noted
  std::size_t sampled_ = 0;
  bool gates_moved_ = false;
  std::optional<double> resting_since_;
};

}  // namespace portcullis::pfc
