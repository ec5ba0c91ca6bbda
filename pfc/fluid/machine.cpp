// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/machine.hpp"

#include <algorithm>
#include <cmath>

namespace portcullis::pfc {
namespace {

constexpr double kTimeSlack = 1e-12;  // of the time: events that close are one

bool is_due(double due, double time) { return due <= time + kTimeSlack * std::max(1.0, time); }

}  // namespace

Machine::Machine(const Topology& from, const Network& of, const FluidOptions& with)
    : topology(from),
      network(of),
      options(with),
      state(of),
      rates(of, with.discipline, with.tie),
      pauses_(of.ports.size()),
      source_due_(from.flows.size()),
      drawn_(of.ports.size(), 1) {
  for (const Slot& slot : of.slots)
    run.hops.push_back({slot.flow, slot.hop, of.ports[slot.port].link});
  run.peak.assign(from.links.size(), 0);
  run.overflow_time.assign(from.flows.size(), kNever);
  for (std::size_t flow = 0; flow < from.flows.size(); ++flow)
    source_due_[flow] = from.flows[flow].source.start;
}

void Machine::deliver() {
  for (std::uint32_t flow = 0; flow < source_due_.size(); ++flow)
    if (is_due(source_due_[flow], state.time)) begin(flow);
  for (std::size_t index = 0; index < pauses_.size(); ++index) {
    auto& pending = pauses_[index];
    while (!pending.empty() && is_due(pending.front().due, state.time)) {
      state.is_paused[index] = pending.front().is_paused ? 1 : 0;
      pending.pop_front();
      gates_moved_ = true;
    }
  }
}

/// What a source offers from now on. A greedy host has no end of data; stopped, it has none.
void Machine::begin(std::uint32_t flow) {
  const Source& source = topology.flows[flow].source;
  const std::uint32_t slot = network.first_slot[flow];
  const double time = source_due_[flow];
  const bool is_over = is_due(source.stop, time);
  state.in[slot] = 0;
  if (source.kind == SourceKind::Greedy) {
    state.arrived[slot] = kNever;
    if (is_over) state.arrived[slot] = state.served[slot];
  } else if (source.kind == SourceKind::Rate) {
    state.in[slot] = is_over ? 0 : source.rate;
  } else if (!is_over) {
    const double since = time - source.start;
    if (is_due(source.points.front().time, since) && state.arrived[slot] == 0)
      state.arrived[slot] = source.points.front().data;
    for (std::size_t i = 0; i + 1 < source.points.size(); ++i) {
      const SourcePoint& from = source.points[i];
      const SourcePoint& to = source.points[i + 1];
      if (is_due(from.time, since) && !is_due(to.time, since))
        state.in[slot] = (to.data - from.data) / (to.time - from.time);
    }
  }
  source_due_[flow] = is_over ? kNever : next_change(source);
}

double Machine::next_change(const Source& source) const {
  if (source.kind == SourceKind::Points)
    for (const SourcePoint& point : source.points)
      if (const double due = source.start + point.time; !is_due(due, state.time))
        return std::min(due, source.stop);
  return source.stop;
}

double Machine::slope(const Port& port) const {
  double sum = 0;
  for (const std::uint32_t slot : port.stored) sum += state.in[slot] - state.out[slot];
  return sum;
}

bool Machine::swing_gates() {
  bool is_heard = false;
  for (std::uint32_t index = 0; index < network.ports.size(); ++index) {
    const Port& port = network.ports[index];
    if (port.is_sliding) {
      const bool slides = state.regime[index] == Regime::Slide;
      if ((state.is_closed[index] != 0) != slides) gates_moved_ = true;
      state.is_closed[index] = slides ? 1 : 0;
      note_gate(index, slides ? std::min(1.0, state.total[index] / port.capacity) : 1);
      continue;
    }
    const double level = state.level[index];
    const bool was_closed = state.is_closed[index] != 0;
    const double margin = kLevelSlack * std::max(1.0, port.xon);
    // At the threshold itself the slope says which side comes next; ">= closes" takes the rest.
    const bool closes = !was_closed && level >= port.xoff - margin &&
                        (level > port.xoff + margin || slope(port) > -kRateSlack);
    const bool opens = was_closed && level <= port.xon + margin &&
                       (level < port.xon - margin || slope(port) < -kRateSlack);
    if (closes || opens) {
      set_gate(index, closes);
      is_heard |= port.delay == 0;
    }
  }
  return is_heard;
}

void Machine::set_gate(std::uint32_t index, bool is_closed) {
  state.is_closed[index] = is_closed ? 1 : 0;
  gates_moved_ = true;
  note_gate(index, is_closed ? 0 : 1);
  if (network.ports[index].delay == 0)
    state.is_paused[index] = is_closed ? 1 : 0;
  else
    pauses_[index].push_back({state.time + network.ports[index].delay, is_closed});
}

void Machine::note_gate(std::uint32_t index, double open) {
  if (!options.keeps_history || std::abs(open - drawn_[index]) < 1e-3) return;
  drawn_[index] = open;
  run.gates.push_back({state.time, network.ports[index].link, open});
}

double Machine::next_delivery() const {
  double due = kNever;
  for (const double source : source_due_) due = std::min(due, source);
  for (const auto& pending : pauses_)
    if (!pending.empty()) due = std::min(due, pending.front().due);
  return due;
}

FluidSample Machine::curves_at(double time) const {
  const double ahead = time - state.time;
  FluidSample sample;
  sample.time = time;
  for (std::size_t slot = 0; slot < network.slots.size(); ++slot) {
    sample.served.push_back(state.served[slot] + ahead * state.out[slot]);
    sample.arrived.push_back(state.arrived[slot] + ahead * state.in[slot]);
  }
  for (std::size_t flow = 0; flow < topology.flows.size(); ++flow) {
    const std::uint32_t slot = network.first_slot[flow];
    const bool is_greedy = topology.flows[flow].source.kind == SourceKind::Greedy;
    sample.offered.push_back(is_greedy ? sample.served[slot] : sample.arrived[slot]);
  }
  return sample;
}

void Machine::sample(double to) {
  const auto& times = options.sample_times;
  for (; sampled_ < times.size() && times[sampled_] <= to; ++sampled_)
    run.samples.push_back(curves_at(times[sampled_]));
}

double Machine::next_sample() const {
  if (sampled_ == options.sample_times.size()) return kNever;
  return options.sample_times[sampled_];
}

void Machine::record() {
  for (std::size_t index = 0; index < network.ports.size(); ++index) {
    double& peak = run.peak[network.ports[index].link];
    peak = std::max(peak, state.level[index]);
  }
  for (std::size_t flow = 0; flow < topology.flows.size(); ++flow) {
    const Source& source = topology.flows[flow].source;
    if (source.kind == SourceKind::Greedy || run.overflow_time[flow] != kNever) continue;
    if (state.waiting[network.first_slot[flow]] > source.buffer * (1 + kLevelSlack))
      run.overflow_time[flow] = state.time;
  }
  if (options.keeps_history) run.history.push_back(curves_at(state.time));
}

/// The gate is closed, its sender knows, and nothing on the wire says otherwise.
bool Machine::is_held(std::uint32_t index) const {
  const Port& port = network.ports[index];
  if (port.is_sliding)
    return state.regime[index] == Regime::Slide && state.total[index] <= kRateSlack * port.capacity;
  return state.is_closed[index] != 0 && state.is_paused[index] != 0 && pauses_[index].empty();
}

/// Of the held gates those that hold each other for ever: what an ingress keeps in queues that
/// never move again is enough to keep it closed. `held` is left with them; the answer is a cycle.
std::vector<LinkId> Machine::waiting_cycle(std::vector<std::uint8_t>& held) const {
  const auto ports = static_cast<std::uint32_t>(network.ports.size());
  for (bool is_settled = false; !is_settled;) {
    is_settled = true;
    for (std::uint32_t index = 0; index < ports; ++index) {
      if (held[index] == 0) continue;
      const Port& port = network.ports[index];
      double kept = 0;
      for (const std::uint32_t slot : port.stored)
        if (held[network.slots[slot].port] != 0) kept += state.waiting[slot];
      if (kept >= port.xon * (1 - 1e-9)) continue;
      held[index] = 0;
      is_settled = false;
    }
  }
  const auto first = std::ranges::find(held, 1);
  if (first == held.end()) return {};
  std::vector<std::uint32_t> walk;
  auto at = static_cast<std::uint32_t>(first - held.begin());
  while (std::ranges::find(walk, at) == walk.end()) {
    walk.push_back(at);
    for (const std::uint32_t slot : network.ports[at].stored)
      if (held[network.slots[slot].port] != 0 && state.waiting[slot] > 0) {
        at = network.slots[slot].port;
        break;
      }
  }
  std::vector<LinkId> cycle;
  for (auto it = std::ranges::find(walk, at); it != walk.end(); ++it)
    cycle.push_back(network.ports[*it].link);
  return cycle;
}

bool Machine::is_dead() {
  if (!gates_moved_ || run.deadlock || options.definition == Definition::Seed) return false;
  gates_moved_ = false;
  std::vector<std::uint8_t> held(network.ports.size());
  bool has_any = false;
  for (std::uint32_t index = 0; index < network.ports.size(); ++index) {
    held[index] = is_held(index) ? 1 : 0;
    has_any |= held[index] != 0;
  }
  if (!has_any) return false;
  std::vector<LinkId> cycle = waiting_cycle(held);
  if (cycle.empty()) return false;
  run.deadlock = Deadlock{state.time, std::move(cycle)};
  return options.stops_at_deadlock;
}

bool Machine::is_at_rest() const {
  const auto is_zero = [this](const Port& port) {
    const auto index = static_cast<std::size_t>(&port - network.ports.data());
    const double arrives = port.is_host ? 0 : inflow(state, port);  // a host offers on
    return state.total[index] + arrives <= 2 * kRateSlack * port.capacity;
  };
  return std::ranges::any_of(state.level, [](double level) { return level > 0; }) &&
         std::ranges::all_of(network.ports, is_zero);
}

void Machine::watch_rest() {
  if (!is_at_rest())
    resting_since_.reset();
  else if (!resting_since_)
    resting_since_ = state.time;
}

/// What may still come changes nothing where nothing moves, but for what hosts begin to offer.
bool Machine::may_begin() const {
  for (std::size_t flow = 0; flow < source_due_.size(); ++flow)
    if (source_due_[flow] < topology.flows[flow].source.stop) return true;
  return std::ranges::any_of(pauses_, [](const auto& pending) { return !pending.empty(); });
}

FluidRun Machine::finish() {
  if (options.definition == Definition::Seed && resting_since_ && !may_begin())
    run.deadlock = Deadlock{*resting_since_, {}};
  run.rates = state.out;
  run.end = state.time;
  return std::move(run);
}

}  // namespace portcullis::pfc
