// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/fifo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace portcullis::pfc {
namespace {

constexpr double kTimeSlack = 1e-12;
constexpr double kSameShare = 1e-12;
constexpr double kOverfull = 1e-11;
constexpr int kMostRounds = 64;  // of gates without delay that answer each other at one moment

}  // namespace

FifoSolver::FifoSolver(const Topology& of, const Network& on, const FluidOptions& with)
    : Machine(of, on, with) {
  for (const Port& port : network.ports) {
    segments_.emplace_back(port.slots.size() + 1);
    flights_.emplace_back(port.slots.size() + 1);
    launched_.emplace_back(port.slots.size() + 1);
    std::ranges::fill(launched_.back().push(), 0.0);
  }
}

/// Rates that changed a delay ago reach the far end.
void FifoSolver::land() {
  for (std::uint32_t index = 0; index < network.ports.size(); ++index) {
    Strip& flight = flights_[index];
    while (!flight.is_empty() &&
           flight.front()[0] <= state.time + kTimeSlack * std::max(1.0, state.time)) {
      const auto row = flight.front();
      const auto& slots = network.ports[index].slots;
      for (std::size_t i = 0; i < slots.size(); ++i)
        if (const std::uint32_t next = network.slots[slots[i]].next; next != kNone)
          state.in[next] = row[i + 1];
      flight.pop();
    }
  }
}

void FifoSolver::settle() {
  rates.measure(state);
  for (std::uint32_t index = 0; index < network.ports.size(); ++index) {
    const Port& port = network.ports[index];
    if (port.slots.size() < 2 || port.is_host || state.queued[index] == 0) continue;
    if (segments_[index].is_empty()) {
      for (const std::uint32_t slot : port.slots)
        state.share[slot] = state.waiting[slot] / state.queued[index];
      continue;
    }
    const auto head = segments_[index].front();
    for (std::size_t i = 0; i < port.slots.size(); ++i) state.share[port.slots[i]] = head[i + 1];
  }
  for (int round = 0; round < kMostRounds; ++round) {
    rates.decide(state);
    if (!swing_gates()) return;
  }
}

void FifoSolver::launch() {
  for (std::uint32_t index = 0; index < network.ports.size(); ++index) {
    const Port& port = network.ports[index];
    if (port.delay == 0 || port.stored.empty()) continue;
    const auto last = launched_[index].back();
    bool has_changed = false;
    for (std::size_t i = 0; i < port.slots.size(); ++i)
      has_changed |= last[i + 1] != state.out[port.slots[i]];
    if (!has_changed) continue;
    last[0] = state.time + port.delay;
    for (std::size_t i = 0; i < port.slots.size(); ++i) last[i + 1] = state.out[port.slots[i]];
    std::ranges::copy(last, flights_[index].push().begin());
  }
}

/// What arrives from now on has a composition of its own.
void FifoSolver::compose() {
  for (std::uint32_t index = 0; index < network.ports.size(); ++index) {
    const Port& port = network.ports[index];
    if (port.slots.size() < 2 || port.is_host) continue;
    Strip& strip = segments_[index];
    if (state.queued[index] == 0) strip.clear();
    const double arriving = inflow(state, port);
    const bool waits = state.queued[index] > 0 || state.regime[index] != Regime::Pass;
    if (arriving <= 0 || !waits) continue;
    bool is_same = !strip.is_empty();
    for (std::size_t i = 0; is_same && i < port.slots.size(); ++i)
      is_same = std::abs(strip.back()[i + 1] - state.in[port.slots[i]] / arriving) <= kSameShare;
    if (is_same) continue;
    const auto row = !strip.is_empty() && strip.back()[0] == 0 ? strip.back() : strip.push();
    row[0] = 0;
    for (std::size_t i = 0; i < port.slots.size(); ++i)
      row[i + 1] = state.in[port.slots[i]] / arriving;
  }
}

double FifoSolver::until_empty(std::uint32_t index) const {
  const Port& port = network.ports[index];
  double step = kNever;
  if (port.is_host) {
    for (const std::uint32_t slot : port.slots)
      if (const double falling = state.out[slot] - state.in[slot];
          falling > 0 && state.waiting[slot] > 0)
        step = std::min(step, state.waiting[slot] / falling);
    return step;
  }
  const double falling = state.total[index] - inflow(state, port);
  return state.queued[index] > 0 && falling > 0 ? state.queued[index] / falling : kNever;
}

double FifoSolver::until_threshold(std::uint32_t index) const {
  const Port& port = network.ports[index];
  if (port.stored.empty()) return kNever;
  double rising = 0;
  for (const std::uint32_t slot : port.stored) rising += state.in[slot] - state.out[slot];
  const double level = state.level[index];
  const double margin = kLevelSlack * std::max(1.0, port.xon);
  const bool is_closed = !port.is_sliding && state.is_closed[index] != 0;
  if (is_closed)
    return rising < 0 && level > port.xon + margin ? (level - port.xon) / -rising : kNever;
  return rising > 0 && level < port.xoff - margin ? (port.xoff - level) / rising : kNever;
}

double FifoSolver::until_next_head(std::uint32_t index) {
  Strip& strip = segments_[index];
  if (strip.size() < 2 || state.total[index] <= 0) return kNever;
  return strip.front()[0] / state.total[index];
}

double FifoSolver::until_overflow() const {
  double step = kNever;
  for (std::size_t flow = 0; flow < topology.flows.size(); ++flow) {
    const Source& source = topology.flows[flow].source;
    const std::uint32_t slot = network.first_slot[flow];
    const double rising = state.in[slot] - state.out[slot];
    if (source.kind == SourceKind::Greedy || run.overflow_time[flow] != kNever) continue;
    // To where Machine::record() sees it: what is just full has not run over.
    const double left = source.buffer * (1 + kOverfull) - state.waiting[slot];
    if (rising > 0 && left > 0) step = std::min(step, left / rising);
  }
  return step;
}

double FifoSolver::next_event() {
  double step = next_delivery() - state.time;
  for (std::uint32_t index = 0; index < network.ports.size(); ++index) {
    step = std::min({step, until_empty(index), until_threshold(index), until_next_head(index)});
    if (!flights_[index].is_empty()) step = std::min(step, flights_[index].front()[0] - state.time);
  }
  return std::max(0.0, std::min(step, until_overflow()));
}

void FifoSolver::advance(double step) {
  const double slack = step * 1e-12 + 1e-15;
  for (std::uint32_t index = 0; index < network.ports.size(); ++index) {
    const Port& port = network.ports[index];
    const bool empties = until_empty(index) <= step + slack;
    const bool has_new_head = until_next_head(index) <= step + slack;
    Strip& strip = segments_[index];
    if (!strip.is_empty()) {
      strip.back()[0] += inflow(state, port) * step;
      strip.front()[0] -= state.total[index] * step;
      if (has_new_head) strip.pop();
    }
    for (const std::uint32_t slot : port.slots) {
      const double served = state.served[slot] + state.out[slot] * step;
      const bool is_gone =
          empties && (!port.is_host ||
                      state.waiting[slot] <= (state.out[slot] - state.in[slot]) * (step + slack));
      state.arrived[slot] += state.in[slot] * step;
      // An empty queue is empty to the last bit, or it would be served for ever.
      state.served[slot] = is_gone ? state.arrived[slot] : served;
    }
  }
  state.time += step;
}

Result<FluidRun> FifoSolver::run_to_end() {
  while (true) {
    deliver();
    land();
    settle();
    launch();
    compose();
    record();
    watch_rest();
    ++run.events;
    if (is_dead() || is_interrupted() || state.time >= options.until) break;
    if (run.events >= options.max_events)
      return fail(Errc::OutOfResources,
                  fmt::format("{} events by t = {:.6g}; a larger max_events or a smaller time is "
                              "accepted",
                              run.events, state.time * options.time_unit));
    double step = next_event();
    step = std::min(step, options.until - state.time);
    sample(std::nextafter(state.time + step, 0));  // what jumps there jumps first
    advance(step);
  }
  sample(state.time);
  run.is_interrupted = is_interrupted();
  return finish();
}

}  // namespace portcullis::pfc
