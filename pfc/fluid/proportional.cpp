// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/proportional.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace portcullis::pfc {
namespace {

constexpr double kLeastStep = 1e-13;
constexpr double kMostDelayedStep = 0.03;  // what a cubic between two steps can stand
constexpr double kJump = 1e-9;             // of a rate: smaller ones arrive unannounced
constexpr double kEventSlack = 1e-12;
constexpr double kHair = 1e-12;        // beside a jump
constexpr double kHairOfTime = 4e-15;  // what subtracting a delay from a late time may be off by
constexpr double kRounding = 1e-13;    // of a queue that is empty
constexpr double kMostGrowth = 20;     // of a step from one to the next
constexpr double kNoProgress = 1e-6;
constexpr double kProgress = 1e-2;
constexpr double kMostPatience = 1 << 14;
constexpr int kMostRounds = 64;
constexpr int kMostTrials = 80;

}  // namespace

ProportionalSolver::ProportionalSolver(const Topology& of, const Network& on,
                                       const FluidOptions& with)
    : Machine(of, on, with),
      method_(2 * on.slots.size()),
      start_(2 * on.slots.size()),
      start_rates_(2 * on.slots.size()),
      end_(2 * on.slots.size()),
      scratch_(2 * on.slots.size()) {
  for (const Port& port : on.ports) {
    if (port.delay == 0) continue;
    least_delay_ = std::min(least_delay_, port.delay);
    most_delay_ = std::max(most_delay_, port.delay);
  }
}

/// Rates that left a delay ago, inside the step that is tried: a jump at either end is no part of
/// it, so times keep a hair away from the ends.
void ProportionalSolver::arrive(double time) {
  if (most_delay_ == 0) return;
  const double hair =
      std::min(std::max(kHair, kHairOfTime * window_to_), (window_to_ - window_from_) / 4);
  const double inside =
      std::clamp(time, window_from_ + hair, std::max(window_from_ + hair, window_to_ - hair));
  for (const Port& port : network.ports) {
    if (port.delay == 0) continue;
    for (const std::uint32_t slot : port.slots)
      if (const std::uint32_t next = network.slots[slot].next; next != kNone)
        state.in[next] = history_.rate(slot, inside - port.delay);
  }
}

void ProportionalSolver::settle() {
  window_from_ = state.time;
  window_to_ = state.time + 1e-9;
  arrive(state.time);
  rates.measure(state);
  for (int round = 0; round < kMostRounds; ++round) {
    rates.decide(state);
    if (!swing_gates()) return;
  }
}

void ProportionalSolver::load(const Vector& curves, double time) {
  const auto slots = static_cast<std::ptrdiff_t>(network.slots.size());
  std::copy_n(curves.begin(), slots, state.arrived.begin());
  std::copy_n(curves.begin() + slots, slots, state.served.begin());
  arrive(time);
  rates.measure(state);
}

void ProportionalSolver::derive(const Vector& curves, Vector& to, double time) {
  load(curves, time);
  rates.follow(state);
  const auto slots = static_cast<std::ptrdiff_t>(network.slots.size());
  std::copy_n(state.in.begin(), slots, to.begin());
  std::copy_n(state.out.begin(), slots, to.begin() + slots);
}

/// Steps from start_ to end_, leaves the state there, and returns the error in units of what is
/// tolerated.
double ProportionalSolver::try_step(double step) {
  window_from_ = state.time;
  window_to_ = state.time + step;
  const auto system = [this](const Vector& x, Vector& dxdt, double t) { derive(x, dxdt, t); };
  const double error =
      method_.step(system, start_, start_rates_, state.time, step, options.tolerance, end_);
  derive(end_, scratch_, window_to_);
  return error;
}

double ProportionalSolver::next_stop() const {
  double stop = std::min({next_delivery(), next_sample(), options.until});
  if (!kinks_.empty()) stop = std::min(stop, kinks_.front());
  return stop;
}

void ProportionalSolver::list_events() {
  using Kind = Event::Kind;
  events_.clear();
  for (std::uint32_t index = 0; index < network.ports.size(); ++index) {
    const Port& port = network.ports[index];
    const Regime regime = state.regime[index];
    if (!port.stored.empty() && std::isfinite(port.xoff)) {
      const bool is_closed = !port.is_sliding && state.is_closed[index] != 0;
      if (is_closed)
        events_.push_back({Kind::Reopening, index, kEventSlack * port.xon});
      else if (regime != Regime::Slide)
        events_.push_back({Kind::Threshold, index, kEventSlack * port.xoff});
    }
    const double slack = kEventSlack * port.capacity;
    if (regime == Regime::Pass) events_.push_back({Kind::Overload, index, 3 * slack});
    if (regime == Regime::Slide) events_.push_back({Kind::Release, index, slack});
    if (port.is_host && port.slots.size() > 1) {
      for (const std::uint32_t slot : port.slots)
        events_.push_back({Kind::Drained, slot, kRounding});
    } else if (regime != Regime::Pass) {
      events_.push_back({Kind::Empty, index, kRounding});
    }
  }
  for (std::uint32_t flow = 0; flow < topology.flows.size(); ++flow)
    if (run.overflow_time[flow] == kNever && std::isfinite(topology.flows[flow].source.buffer))
      events_.push_back({Kind::Full, network.first_slot[flow], kEventSlack});
}

double ProportionalSolver::value_of(const Event& event) const {
  using Kind = Event::Kind;
  const double held = event.kind == Kind::Drained || event.kind == Kind::Full
                          ? state.arrived[event.index] - state.served[event.index]
                          : 0;
  if (event.kind == Kind::Drained) return -held;
  if (event.kind == Kind::Full)
    return held - topology.flows[network.slots[event.index].flow].source.buffer;
  const Port& port = network.ports[event.index];
  switch (event.kind) {
    case Kind::Threshold:
      return state.level[event.index] - port.xoff;
    case Kind::Reopening:
      return port.xon - state.level[event.index];
    case Kind::Overload:
      return inflow(state, port) - port.capacity;
    case Kind::Release:
      return sustainable(state, network, port) - open_rate(state, port, event.index);
    default:
      break;
  }
  double queued = 0;
  for (const std::uint32_t slot : port.slots) queued += state.arrived[slot] - state.served[slot];
  return -queued;
}

/// How far the first event to come has passed its mark, at the state; above 0: it has.
double ProportionalSolver::worst_event() {
  double worst = -kNever;
  for (const Event& event : events_) {
    const double value = value_of(event);
    if (std::isfinite(value)) worst = std::max(worst, value - event.slack * patience_);
  }
  return worst;
}

/// Shortens a step that passed an event until it ends there (regula falsi, Illinois variant).
double ProportionalSolver::locate(double step, double at_end) {
  double low = 0;
  double high = step;
  derive(start_, scratch_, state.time);
  double at_low = std::min(worst_event(), -1e-18);
  double at_high = at_end;
  int kept = 0;  // the end that stayed: -1 low, 1 high
  for (int trial = 0; trial < kMostTrials; ++trial) {
    if (high - low <= 4e-16 * std::max(1.0, state.time) || at_high < 2e-13) break;
    double middle = low + (high - low) * at_low / (at_low - at_high);
    if (!(middle > low && middle < high) || trial % 8 == 7) middle = low + (high - low) / 2;
    try_step(middle);
    const double value = worst_event();
    if (value > 0) {
      high = middle;
      at_high = value;
      if (kept == -1) at_low /= 2;
      kept = -1;
    } else {
      low = middle;
      at_low = std::min(value, -1e-18);
      if (kept == 1) at_high /= 2;
      kept = 1;
    }
  }
  try_step(high);
  return high;
}

void ProportionalSolver::keep(double step) {
  if (most_delay_ == 0) return;
  const auto slots = static_cast<std::ptrdiff_t>(network.slots.size());
  const Vector served(start_.begin() + slots, start_.end());
  const Vector rate(start_rates_.begin() + slots, start_rates_.end());
  history_.add(state.time, state.time + step, served, rate, state.served, state.out);
  history_.forget(state.time - most_delay_ - 2 * kMostDelayedStep);
}

/// A queue that has just become empty is empty to the last bit.
void ProportionalSolver::drain() {
  for (const Event& event : events_) {
    if (event.kind == Event::Kind::Empty && value_of(event) > -1e-12)
      for (const std::uint32_t slot : network.ports[event.index].slots)
        state.served[slot] = state.arrived[slot];
    if (event.kind == Event::Kind::Drained && value_of(event) > -1e-12)
      state.served[event.index] = state.arrived[event.index];
  }
}

/// Jumps of rates are met again, by name, when they arrive.
void ProportionalSolver::announce(const Vector& before) {
  while (!kinks_.empty() && kinks_.front() <= state.time * (1 + 1e-14) + 1e-12) {
    std::ranges::pop_heap(kinks_, std::greater());
    kinks_.pop_back();
  }
  for (const Port& port : network.ports) {
    if (port.delay == 0 || port.stored.empty()) continue;
    const bool jumps = std::ranges::any_of(port.slots, [&](std::uint32_t slot) {
      return std::abs(state.out[slot] - before[slot]) > kJump * port.capacity;
    });
    if (!jumps) continue;
    kinks_.push_back(state.time + port.delay);
    std::ranges::push_heap(kinks_, std::greater());
  }
}

/// One step, as long as the error allows, ending at the first event; true when it ended at one.
bool ProportionalSolver::step_once() {
  const double stop = next_stop();
  double step = std::min(step_, stop - state.time);
  if (most_delay_ > 0) step = std::min({step, kMostDelayedStep, least_delay_ / 4});
  double error = try_step(step);
  while (error > 1 && step > kLeastStep) {
    step = std::max(kLeastStep, step * std::max(0.1, 0.9 * std::pow(error, -1.0 / 8)));
    error = try_step(step);
  }
  const bool reaches_stop = step >= (stop - state.time) * (1 - 1e-14);
  if (!reaches_stop || step >= step_)
    step_ = step * std::min(kMostGrowth, 0.9 * std::pow(std::max(error, 1e-20), -1.0 / 8));
  const double at_end = worst_event();
  const bool is_event = at_end > 0;
  if (is_event) step = locate(step, at_end);
  // On a knife edge rounding alone calls one event after the other: look less closely, for a while.
  since_event_ += step;
  if (is_event && since_event_ < kNoProgress) patience_ = std::min(kMostPatience, 4 * patience_);
  if (since_event_ > kProgress) patience_ = std::max(1.0, patience_ / 4);
  if (is_event) since_event_ = 0;
  ++run.steps;
  keep(step);
  if (is_event) drain();
  const bool is_sample_only = !is_event && reaches_stop && stop == next_sample() &&
                              stop != next_delivery() && (kinks_.empty() || stop != kinks_.front());
  state.time = reaches_stop && !is_event ? stop : state.time + step;
  return is_event || (reaches_stop && !is_sample_only);
}

Result<FluidRun> ProportionalSolver::run_to_end() {
  const auto slots = static_cast<std::ptrdiff_t>(network.slots.size());
  Vector before;
  for (bool is_event = true;;) {
    if (is_event) {
      before = state.out;
      deliver();
      settle();
      ++run.events;
      if (is_dead()) break;
      announce(before);
      list_events();
      if (next_delivery() == kNever && kinks_.empty()) rest();
    }
    sample(state.time);
    record();
    if (state.time >= options.until || is_interrupted()) break;
    if (run.events >= options.max_events)
      return fail(Errc::OutOfResources,
                  fmt::format("{} events by t = {:.6g}; a larger max_events or a smaller time is "
                              "accepted",
                              run.events, state.time));
    std::ranges::copy(state.arrived, start_.begin());
    std::ranges::copy(state.served, start_.begin() + slots);
    std::ranges::copy(state.in, start_rates_.begin());
    std::ranges::copy(state.out, start_rates_.begin() + slots);
    is_event = step_once();
  }
  run.is_interrupted = is_interrupted();
  return finish();
}

}  // namespace portcullis::pfc
