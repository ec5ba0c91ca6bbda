// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace portcullis::pfc {
namespace {

constexpr int kMostSweeps = 2'000;
constexpr int kUndampedSweeps = 80;  // rates that swing about a solution are averaged after these
// Many states need no more sweeps than these, and to extrapolate takes as long as another.
constexpr int kPlainSweeps = 3;
constexpr int kCompared = 8;
constexpr double kConverged = 2e-15;
// Rates of a circle that passes on just what it gets may be any multiple: such moves do not shrink.
constexpr double kCreeping = 1e-12;
constexpr double kEmpty = 1e-13;  // of a queue: rounding, no data
// A queue this short takes on the composition of what arrives in less time than it is long.
constexpr double kThin = 1e-10;
// Of the lag: by queues that are longer the lag is below rounding.
constexpr double kThick = 1000;

}  // namespace

State::State(const Network& network)
    : arrived(network.slots.size()),
      served(network.slots.size()),
      waiting(network.slots.size()),
      in(network.slots.size()),
      out(network.slots.size()),
      share(network.slots.size()),
      queued(network.ports.size()),
      level(network.ports.size()),
      total(network.ports.size()),
      regime(network.ports.size(), Regime::Pass),
      is_closed(network.ports.size()),
      is_paused(network.ports.size()) {}

double inflow(const State& state, const Port& port) {
  double sum = 0;
  for (const std::uint32_t slot : port.slots) sum += state.in[slot];
  return sum;
}

double sustainable(const State& state, const Network& network, const Port& port) {
  double leaving = 0;
  for (const std::uint32_t slot : port.stored) leaving += state.out[slot];
  double counted = 0;
  for (const std::uint32_t slot : port.slots)
    if (network.slots[slot].next != kNone) counted += state.share[slot];
  return counted > 0 ? leaving / counted : std::numeric_limits<double>::infinity();
}

double open_rate(const State& state, const Port& port, std::uint32_t index) {
  return state.queued[index] > 0 ? port.capacity : std::min(inflow(state, port), port.capacity);
}

void RateSolver::measure(State& state) const {
  for (std::size_t slot = 0; slot < network_.slots.size(); ++slot) {
    const double waiting = state.arrived[slot] - state.served[slot];
    state.waiting[slot] = waiting > kEmpty ? waiting : 0;
  }
  for (std::size_t index = 0; index < network_.ports.size(); ++index) {
    const Port& port = network_.ports[index];
    double queued = 0;
    for (const std::uint32_t slot : port.slots) queued += state.waiting[slot];
    state.queued[index] = queued;
    double level = 0;
    for (const std::uint32_t slot : port.stored) level += state.waiting[slot];
    state.level[index] = level;
  }
}

void RateSolver::divide(State& state, const Port& port, std::uint32_t index) const {
  if (port.slots.size() == 1) {
    state.share[port.slots.front()] = 1;
    return;
  }
  if (port.is_host) {  // take() divides; everything that a host sends is stored
    for (const std::uint32_t slot : port.slots)
      state.share[slot] = 1 / static_cast<double>(port.slots.size());
    return;
  }
  const double queued = state.queued[index];
  if (discipline_ == Discipline::Fifo && queued > 0) return;
  if (queued > kThin) {
    mix(state, port, index);
    return;
  }
  // 0/0 of (2), (9) and (12): of all bounded solutions the share is that of what arrives (D4).
  const double arriving = inflow(state, port);
  for (const std::uint32_t slot : port.slots)
    state.share[slot] = arriving > 0 ? state.in[slot] / arriving : 0;
}

/// The shares s of what is stored tend to those of what arrives, a, by s' = (a - s) in / q. Where
/// the queue q is thin that is so fast that explicit steps could be no longer than q, although s is
/// all but a. There s' = (a - s) in / p with p^4 = q^4 + lag^4, which is s up to lag a' / in: a
/// flow's part of the queue, and so its curve, is off by q lag a' / in at most, and the total by
/// nothing.
void RateSolver::mix(State& state, const Port& port, std::uint32_t index) const {
  const double queued = state.queued[index];
  for (const std::uint32_t slot : port.slots) state.share[slot] = state.waiting[slot] / queued;
  const double lag = state.lag * port.capacity;
  if (state.regime[index] != Regime::Full || queued >= kThick * lag) return;
  const double arriving = inflow(state, port);
  if (arriving <= 0) return;
  const double ratio = lag / queued;
  const double slowed = std::sqrt(std::sqrt(1 + ratio * ratio * ratio * ratio));  // p / q
  const double weight = std::min(1.0, arriving / port.capacity * (1 - 1 / slowed));
  for (const std::uint32_t slot : port.slots)
    state.share[slot] += weight * (state.in[slot] / arriving - state.share[slot]);
}

/// A host serves the flows that have something in turn: what one does not need the others share.
void RateSolver::split_evenly(State& state, const Port& port, double total) const {
  double left = total;
  std::size_t sharing = port.slots.size();
  for (const std::uint32_t slot : port.slots) state.out[slot] = -1;
  for (bool is_settled = false; !is_settled && sharing > 0;) {
    is_settled = true;
    const double even = left / static_cast<double>(sharing);
    for (const std::uint32_t slot : port.slots) {
      if (state.out[slot] >= 0 || state.waiting[slot] > 0 || state.in[slot] > even) continue;
      state.out[slot] = state.in[slot];
      left -= state.in[slot];
      --sharing;
      is_settled = false;
    }
  }
  for (const std::uint32_t slot : port.slots)
    if (state.out[slot] < 0) state.out[slot] = left / static_cast<double>(sharing);
}

/// Sets what leaves; true when that changed.
bool RateSolver::take(State& state, std::uint32_t index, double total) const {
  const Port& port = network_.ports[index];
  double moved = std::abs(total - state.total[index]);
  state.total[index] = total;
  if (port.is_host && port.slots.size() > 1) {
    split_evenly(state, port, total);
  } else {
    for (const std::uint32_t slot : port.slots) {
      const double rate = total * state.share[slot];
      moved = std::max(moved, std::abs(rate - state.out[slot]));
      state.out[slot] = rate;
    }
  }
  if (port.delay == 0)
    for (const std::uint32_t slot : port.slots)
      if (const std::uint32_t next = network_.slots[slot].next; next != kNone)
        state.in[next] = state.out[slot];
  return moved > kConverged * port.capacity;
}

/// Each link once; `weight` is that of its new rate beside the one that it had. True when one
/// moved.
template <class Rate>
bool RateSolver::sweep(State& state, const Rate& rate, double weight) const {
  bool has_moved = false;
  for (const std::uint32_t index : network_.order) {
    const Port& port = network_.ports[index];
    divide(state, port, index);
    double total = rate(port, index);
    total += (1 - weight) * (state.total[index] - total);
    // A lock does not creep: rounding, served for long enough, would set it free.
    if (state.regime[index] == Regime::Slide && total <= kRateSlack * port.capacity) total = 0;
    has_moved |= take(state, index, total);
  }
  return has_moved;
}

template <class Rate>
void RateSolver::relax(State& state, const Rate& rate) const {
  for (int sweeps = 0; sweeps < kMostSweeps; ++sweeps)
    if (!sweep(state, rate, sweeps < kUndampedSweeps ? 1 : 0.5) || !network_.is_coupled) return;
}

/// Sets what leaves, and what that brings to the next hops.
void RateSolver::put(State& state, const std::vector<double>& out) const {
  state.out = out;
  for (std::size_t slot = 0; slot < network_.slots.size(); ++slot) {
    const std::uint32_t next = network_.slots[slot].next;
    if (next != kNone && network_.ports[network_.slots[slot].port].delay == 0)
      state.in[next] = out[slot];
  }
}

/// By how much the rates differ from what they were, at most, in capacities.
double RateSolver::farthest_move(const State& state, const std::vector<double>& from) const {
  double farthest = 0;
  for (std::size_t slot = 0; slot < network_.slots.size(); ++slot) {
    const double capacity = network_.ports[network_.slots[slot].port].capacity;
    farthest = std::max(farthest, std::abs(state.out[slot] - from[slot]) / capacity);
  }
  return farthest;
}

void RateSolver::decide(State& state) const {
  // From above one reaches the greatest duties, from below the least.
  for (std::size_t slot = 0; slot < network_.slots.size(); ++slot) {
    const Port& port = network_.ports[network_.slots[slot].port];
    if (network_.is_coupled) state.out[slot] = tie_ == Tie::Open ? port.capacity : 0;
  }
  relax(state, [&](const Port& port, std::uint32_t index) {
    if (state.is_paused[index] != 0) {
      state.regime[index] = Regime::Shut;
      return 0.0;
    }
    const double open = open_rate(state, port, index);
    const bool is_at_threshold = port.is_sliding && !port.stored.empty() &&
                                 state.level[index] >= port.xoff * (1 - kLevelSlack);
    if (is_at_threshold) {
      const double kept = sustainable(state, network_, port);
      const double slack = state.level[index] > port.xoff ? 0 : kRateSlack * port.capacity;
      if (kept < open - slack) {
        state.regime[index] = Regime::Slide;
        return kept;
      }
    }
    const bool passes =
        state.queued[index] == 0 && inflow(state, port) <= port.capacity * (1 + kRateSlack);
    state.regime[index] = passes ? Regime::Pass : Regime::Full;
    return open;
  });
}

void RateSolver::follow(State& state) {
  const auto rate = [&](const Port& port, std::uint32_t index) {
    switch (state.regime[index]) {
      case Regime::Full:
        return port.capacity;
      case Regime::Pass:
        return inflow(state, port);
      case Regime::Slide:
        return std::min(sustainable(state, network_, port), 2 * port.capacity);
      case Regime::Shut:
        break;
    }
    return 0.0;
  };
  // Regimes are fixed, so that one sweep is nearly linear in the rates before it. Where links
  // depend on each other in a circle plain sweeps take 30 to 60, each a constant factor nearer.
  extrapolation_.restart();
  double compared = std::numeric_limits<double>::infinity();  // the move some sweeps ago
  for (int sweeps = 0; sweeps < kMostSweeps; ++sweeps) {
    const bool is_damped = sweeps >= kUndampedSweeps;
    before_ = state.out;
    sweep(state, rate, is_damped ? 0.5 : 1);
    const double moved = farthest_move(state, before_);
    if (!network_.is_coupled || moved <= kConverged) return;
    if (sweeps % kCompared == 0) {
      if (moved <= kCreeping && moved > compared / 2) return;
      compared = moved;
    }
    if (sweeps < kPlainSweeps || is_damped) continue;
    extrapolation_.advance(before_, state.out, next_);
    put(state, next_);
  }
}

}  // namespace portcullis::pfc
