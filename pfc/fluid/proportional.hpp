// SPDX-License-Identifier: BSD-3-Clause
//
// Proportional share, the seed's own: a link serves each flow in proportion to what it has stored.
// Rates vary between events, so those stretches are integrated by a Runge-Kutta method of order 8,
// and each event is located to rounding by stepping to it again.
#pragma once

#include <vector>

#include "pfc/fluid/history.hpp"
#include "pfc/fluid/machine.hpp"
#include "pfc/fluid/runge_kutta.hpp"

namespace portcullis::pfc {

class ProportionalSolver : private Machine {
 public:
  ProportionalSolver(const Topology& topology, const Network& network, const FluidOptions& options);

  [[nodiscard]] Result<FluidRun> run_to_end();

 private:
  using Vector = std::vector<double>;

  void settle();
  void load(const Vector& curves, double time);
  void derive(const Vector& curves, Vector& rates, double time);
  void arrive(double time);
  double try_step(double step);
  [[nodiscard]] double next_stop() const;
  void list_events();
  double measure_events(std::vector<double>& values) const;
  [[nodiscard]] double first_passing(double low, double high) const;
  double locate(double step);
  void keep(double step);
  void drain();
  void announce(const Vector& before);
  bool step_once();
  [[nodiscard]] double longest_step() const;
  [[nodiscard]] Result<void> check_work() const;

  /// A quantity that must not rise above 0 unnoticed.
  struct Event {
    enum class Kind : std::uint8_t {
      Threshold,
      Reopening,
      Overload,
      Release,
      Empty,
      Drained,
      Full
    };
    Kind kind = Kind::Threshold;
    std::uint32_t index = 0;  // of a port, or of a slot for Drained and Full
    double slack = 0;
  };
  [[nodiscard]] double value_of(const Event& event) const;
  [[nodiscard]] double pace_of(const Event& event) const;
  [[nodiscard]] double until_event() const;

  RungeKutta method_;
  Vector start_, start_rates_, end_, scratch_;  // curves: arrived, then served, by slot
  Vector kinks_;                                // times at which a jump arrives, a heap
  std::vector<Event> events_;
  Vector before_, passed_, values_;  // of the events: at the ends of a bracket, and inside it
  CurveHistory history_;
  std::vector<CurveHistory::Place> left_at_;  // by port: where what arrives had left
  double least_delay_ = kNever;
  double most_delay_ = 0;
  double step_ = 0.1;
  double patience_ = 1;  // how many times its slack an event may pass unnoticed
  double since_event_ = 0;
  double settled_ = 0;                      // when rates were last decided
  double window_from_ = 0, window_to_ = 0;  // of the step that is tried
};

}  // namespace portcullis::pfc
