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
      is_backlogged(network.slots.size()),
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
/// One that had something keeps its turn until the event that says it has run out: were that asked
/// of every state, rates would jump inside the step that ends there.
void RateSolver::split_evenly(State& state, const Port& port, double total) {
  double left = total;
  std::size_t sharing = port.slots.size();
  split_.assign(sharing, -1);
  for (bool is_settled = false; !is_settled && sharing > 0;) {
    is_settled = true;
    const double even = left / static_cast<double>(sharing);
    for (std::size_t i = 0; i < split_.size(); ++i) {
      const std::uint32_t slot = port.slots[i];
      const bool has_data = state.waiting[slot] > 0 || state.is_backlogged[slot] != 0;
      if (split_[i] >= 0 || has_data || state.in[slot] > even) continue;
      split_[i] = state.in[slot];
      left -= state.in[slot];
      --sharing;
      is_settled = false;
    }
  }
  for (double& rate : split_)
    if (rate < 0) rate = left / static_cast<double>(sharing);
}

/// Sets what leaves, and what that brings to the next hop; true when the rate is another. The ports
/// that look at either are stale then.
bool RateSolver::put(State& state, std::uint32_t slot, double rate) {
  const Slot& at = network_.slots[slot];
  const bool is_other = rate != state.out[slot];
  if (is_other) {
    state.out[slot] = rate;
    if (at.ingress != kNone) is_stale_[at.ingress] = 1;
  }
  if (at.fed != kNone && state.in[at.fed] != rate) {
    state.in[at.fed] = rate;
    is_stale_[at.fed_port] = 1;
  }
  return is_other;
}

/// Sets what leaves; by how much that changed a flow's rate at most, in capacities.
double RateSolver::take(State& state, std::uint32_t index, double total) {
  const Port& port = network_.ports[index];
  state.total[index] = total;
  const bool is_split = port.is_host && port.slots.size() > 1;
  if (is_split) split_evenly(state, port, total);
  double moved = 0;
  for (std::size_t i = 0; i < port.slots.size(); ++i) {
    const std::uint32_t slot = port.slots[i];
    const double before = state.out[slot];
    const double rate = is_split ? split_[i] : total * state.share[slot];
    if (put(state, slot, rate)) moved = std::max(moved, std::abs(rate - before));
  }
  return moved / port.capacity;
}

void RateSolver::begin_sweeps() { std::ranges::fill(is_stale_, 1); }

/// Each link once whose rate may be another than it was; `weight` is that of its new rate beside
/// the one that it had. By how much a rate moved at most, in capacities.
template <class Rate>
double RateSolver::sweep(State& state, const Rate& rate, double weight) {
  double farthest = 0;
  for (const std::uint32_t index : network_.order) {
    if (is_stale_[index] == 0) continue;
    is_stale_[index] = weight < 1 ? 1 : 0;
    const Port& port = network_.ports[index];
    divide(state, port, index);
    double total = rate(port, index);
    total += (1 - weight) * (state.total[index] - total);
    // A lock does not creep: rounding, served for long enough, would set it free.
    if (state.regime[index] == Regime::Slide && total <= kRateSlack * port.capacity) total = 0;
    farthest = std::max(farthest, take(state, index, total));
  }
  return farthest;
}

template <class Rate>
void RateSolver::relax(State& state, const Rate& rate) {
  begin_sweeps();
  for (int sweeps = 0; sweeps < kMostSweeps; ++sweeps) {
    const double moved = sweep(state, rate, sweeps < kUndampedSweeps ? 1 : 0.5);
    if (moved <= kConverged || !network_.is_coupled) return;
  }
}

void RateSolver::decide(State& state) {
  // From above one reaches the greatest duties, from below the least.
  for (std::size_t slot = 0; slot < network_.slots.size(); ++slot) {
    state.is_backlogged[slot] = state.waiting[slot] > 0 ? 1 : 0;
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
  begin_sweeps();
  double compared = std::numeric_limits<double>::infinity();  // the move some sweeps ago
  for (int sweeps = 0; sweeps < kMostSweeps; ++sweeps) {
    const bool is_damped = sweeps >= kUndampedSweeps;
    before_ = state.out;
    const double moved = sweep(state, rate, is_damped ? 0.5 : 1);
    if (!network_.is_coupled || moved <= kConverged) return;
    if (sweeps % kCompared == 0) {
      if (moved <= kCreeping && moved > compared / 2) return;
      compared = moved;
    }
    if (sweeps < kPlainSweeps || is_damped) continue;
    extrapolation_.advance(before_, state.out, next_);
    for (std::uint32_t slot = 0; slot < next_.size(); ++slot) put(state, slot, next_[slot]);
  }
}

}  // namespace portcullis::pfc
