// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/proportional.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace portcullis::pfc {
namespace {

constexpr double kLeastStep = 1e-13;
constexpr double kLeastPart = 1e-15;  // of the time: shorter steps would not move it
constexpr double kJump = 1e-9;        // of a rate: smaller ones arrive unannounced
constexpr double kEventSlack = 1e-12;
constexpr double kStepsAnEvent = 10;     // of max_events, before the first step
constexpr double kWholeDelay = 0.06;     // longest step that may be as long as the least delay
constexpr double kPassed = 2e-13;        // of an event's mark: it has been met
constexpr double kHair = 1e-12;          // beside a jump
constexpr double kHairOfTime = 4e-15;    // what subtracting a delay from a late time may be off by
constexpr double kRounding = 1e-13;      // of a queue that is empty
constexpr double kMostGrowth = 20;       // of a step from one to the next
constexpr double kMostLagAtOnce = 1e-5;  // of what a thin queue is made of, without delays
constexpr double kMostLag = 1e-4;        // of what a thin queue is made of
constexpr double kLagGrowth = 0.1;  // from 0 at an event, so that jumps are followed as they come
constexpr double kNoProgress = 1e-6;
constexpr double kProgress = 1e-2;
constexpr double kMostPatience = 1 << 14;
constexpr int kMostRounds = 64;
constexpr int kMostTrials = 200;

}  // namespace

ProportionalSolver::ProportionalSolver(const Topology& of, const Network& on,
                                       const FluidOptions& with)
    : Machine(of, on, with),
      method_(2 * on.slots.size()),
      start_(2 * on.slots.size()),
      start_rates_(2 * on.slots.size()),
      end_(2 * on.slots.size()),
      scratch_(2 * on.slots.size()),
      left_at_(on.ports.size()) {
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
  CurveHistory::Moment left;
  double ago = 0;
  for (std::size_t index = 0; index < network.ports.size(); ++index) {
    const Port& port = network.ports[index];
    if (port.delay == 0) continue;
    if (port.delay != ago) {  // most links are alike
      ago = port.delay;
      left = history_.at(inside - ago, left_at_[index]);
    }
    for (const std::uint32_t slot : port.slots)
      if (const std::uint32_t next = network.slots[slot].next; next != kNone)
        state.in[next] = left.rate(slot);
  }
}

void ProportionalSolver::settle() {
  window_from_ = state.time;
  window_to_ = state.time + 1e-9;
  settled_ = state.time;
  state.lag = 0;
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
  state.lag = std::min(most_delay_ > 0 ? kMostLag : kMostLagAtOnce, kLagGrowth * (time - settled_));
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
  ++run.steps;
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

/// How fast value_of() rises at the state; 0 where only another step would tell.
double ProportionalSolver::pace_of(const Event& event) const {
  using Kind = Event::Kind;
  if (event.kind == Kind::Overload || event.kind == Kind::Release) return 0;
  const auto growth = [this](std::uint32_t slot) { return state.in[slot] - state.out[slot]; };
  if (event.kind == Kind::Drained) return -growth(event.index);
  if (event.kind == Kind::Full) return growth(event.index);
  const Port& port = network.ports[event.index];
  double sum = 0;
  for (const std::uint32_t slot : event.kind == Kind::Empty ? port.slots : port.stored)
    sum += growth(slot);
  return event.kind == Kind::Threshold ? sum : -sum;
}

/// When the first event is past its mark if data goes on to move as it does now. A step that goes
/// on beyond it is tried for nothing, and shorter ones until the event is found.
double ProportionalSolver::until_event() const {
  double soonest = kNever;
  for (const Event& event : events_) {
    const double pace = pace_of(event);
    if (!(pace > 0)) continue;
    const double left = event.slack * patience_ + kPassed / 2 - value_of(event);
    if (left > 0) soonest = std::min(soonest, left / pace);
  }
  return std::max({soonest, kLeastStep, kLeastPart * state.time});
}

/// How far each event has passed its mark, at the state; above 0: it has. The worst of them.
double ProportionalSolver::measure_events(Vector& values) const {
  double worst = -kNever;
  values.resize(events_.size());
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const double value = value_of(events_[i]);
    values[i] = std::isfinite(value) ? value - events_[i].slack * patience_ : -kNever;
    worst = std::max(worst, values[i]);
  }
  return worst;
}

/// Where the first of the events that have passed at `high` is past its mark by half of what may be
/// left, were each of them a line: a step that ends there need not be tried again.
double ProportionalSolver::first_passing(double low, double high) const {
  double first = high;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (passed_[i] <= 0 || !std::isfinite(before_[i])) continue;
    const double ahead = std::min(before_[i], -1e-18);
    const double aim = std::min(kPassed / 2, passed_[i]);
    first = std::min(first, low + (high - low) * (aim - ahead) / (passed_[i] - ahead));
  }
  return first;
}

/// Shortens a step that passed an event until it ends there: secants, and a half whenever two of
/// them have not halved what is left. `passed_` is what the step passed by.
double ProportionalSolver::locate(double step) {
  double low = 0;
  double high = step;
  double left = step;  // before the last two trials
  double at_high = std::ranges::max(passed_);
  double tried = step;
  derive(start_, scratch_, state.time);
  measure_events(before_);
  for (int trial = 1; trial < kMostTrials; ++trial) {
    if (high - low <= 4e-16 * std::max(1.0, state.time) || at_high < kPassed) break;
    double middle = first_passing(low, high);
    const bool is_slow = trial % 3 == 0 && high - low > left / 2;
    if (trial % 3 == 0) left = high - low;
    if (is_slow || !(middle > low && middle < high)) middle = low + (high - low) / 2;
    try_step(middle);
    tried = middle;
    const double worst = measure_events(values_);
    if (worst > 0) {
      high = middle;
      at_high = worst;
      passed_.swap(values_);
    } else {
      low = middle;
      before_.swap(values_);
    }
  }
  if (tried != high)
    try_step(high);
  else if (tried == step)
    derive(end_, scratch_, window_to_);
  return high;
}

void ProportionalSolver::keep(double step) {
  if (most_delay_ == 0) return;
  const auto slots = static_cast<std::ptrdiff_t>(network.slots.size());
  const Vector served(start_.begin() + slots, start_.end());
  const Vector rate(start_rates_.begin() + slots, start_rates_.end());
  history_.add(state.time, state.time + step, served, rate, state.served, state.out);
  history_.forget(state.time - most_delay_ - 2 * options.longest_step);
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

/// Where data is delayed.
double ProportionalSolver::longest_step() const {
  return std::min(options.longest_step, least_delay_ * options.longest_step / kWholeDelay);
}

/// So many steps it takes at least, and a delay of 1e-50 takes them for ever without one event.
Result<void> ProportionalSolver::check_work() const {
  if (most_delay_ == 0) return {};
  const double most = kStepsAnEvent * static_cast<double>(options.max_events);
  const double steps = options.until / longest_step();
  if (steps <= most) return {};
  return fail(
      Errc::OutOfResources,
      fmt::format("a delay of {:.6g} takes {:.3g} steps up to t = {:.6g}; a delay of 0 or "
                  "of {:.3g} and more, a smaller time or a larger max_events is accepted",
                  least_delay_ * options.time_unit, steps, options.until * options.time_unit,
                  least_delay_ * options.time_unit * steps / most));
}

/// One step, as long as the error allows, ending at the first event; true when it ended at one.
bool ProportionalSolver::step_once() {
  const double stop = next_stop();
  double step = std::min(step_, stop - state.time);
  if (most_delay_ > 0) step = std::min(step, longest_step());
  const double event = until_event();
  step = std::min(step, event);
  double error = try_step(step);
  while (error > 1 && step > kLeastStep) {
    step = std::max(kLeastStep, step * std::max(0.1, 0.9 * std::pow(error, -1.0 / 8)));
    error = try_step(step);
  }
  const bool reaches_stop = step >= (stop - state.time) * (1 - 1e-14);
  const bool is_whole = reaches_stop || step == event;  // short for no error's sake
  if (!is_whole || step >= step_)
    step_ = step * std::min(kMostGrowth, 0.9 * std::pow(std::max(error, 1e-20), -1.0 / 8));
  const bool is_event = measure_events(passed_) > 0;
  if (is_event) step = locate(step);
  // On a knife edge rounding alone calls one event after the other: look less closely, for a while.
  since_event_ += step;
  if (is_event && since_event_ < kNoProgress) patience_ = std::min(kMostPatience, 4 * patience_);
  if (since_event_ > kProgress) patience_ = std::max(1.0, patience_ / 4);
  if (is_event) since_event_ = 0;
  keep(step);
  if (is_event) drain();
  const bool is_sample_only = !is_event && reaches_stop && stop == next_sample() &&
                              stop != next_delivery() && (kinks_.empty() || stop != kinks_.front());
  state.time = reaches_stop && !is_event ? stop : state.time + step;
  return is_event || (reaches_stop && !is_sample_only);
}

Result<FluidRun> ProportionalSolver::run_to_end() {
  PORTCULLIS_TRY(check_work());
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
      watch_rest();
    }
    sample(state.time);
    record();
    if (state.time >= options.until || is_interrupted()) break;
    if (run.events >= options.max_events)
      return fail(Errc::OutOfResources,
                  fmt::format("{} events by t = {:.6g}; a larger max_events or a smaller time is "
                              "accepted",
                              run.events, state.time * options.time_unit));
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
