// SPDX-License-Identifier: BSD-3-Clause
//
// Small Euler steps of any fabric under proportional share, written from the equations alone: well
// mixed buffers, data and PAUSE on the wire for a number of steps. Their limit is what the solver
// gives. Greedy sources and rates only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <vector>

#include "pfc/topology.hpp"

namespace portcullis::pfc::testing {

class MixedBuffers {
 public:
  MixedBuffers(const Topology& topology, double step) : topology_(topology), step_(step) {
    std::size_t hops = 0;
    for (const Flow& flow : topology.flows) {
      first_.push_back(hops);
      hops += flow.path.size();
    }
    waiting_.resize(hops);
    served_.resize(hops);
    wires_.resize(topology.links.size());
    for (std::size_t flow = 0; flow < first_.size(); ++flow)
      for (std::size_t hop = 0; hop < topology.flows[flow].path.size(); ++hop)
        wires_[topology.flows[flow].path[hop]].hops.push_back({flow, hop});
    for (std::size_t link = 0; link < wires_.size(); ++link) {
      const auto steps = static_cast<std::size_t>(std::llround(topology.links[link].delay / step));
      wires_[link].data.assign(steps, std::vector<double>(wires_[link].hops.size(), 0));
      wires_[link].pauses.assign(steps + 1, false);
    }
  }

  void run(double until) {
    for (int i = 0; i * step_ < until - step_ / 2; ++i) {
      for (std::size_t flow = 0; flow < first_.size(); ++flow) offer(flow, i * step_);
      for (std::size_t link = 0; link < wires_.size(); ++link) send(link);
      for (std::size_t link = 0; link < wires_.size(); ++link) signal(link);
    }
  }

  /// By flow and hop, as FluidSample has them.
  [[nodiscard]] const std::vector<double>& served() const { return served_; }

 private:
  struct Hop {
    std::size_t flow = 0;
    std::size_t hop = 0;
  };

  struct Wire {
    std::vector<Hop> hops;                 // that wait for it
    std::deque<std::vector<double>> data;  // one entry a step, by hop
    std::deque<bool> pauses;               // on their way back, one a step
    bool is_closed = false;
  };

  double& waiting(const Hop& of) { return waiting_[first_[of.flow] + of.hop]; }

  void offer(std::size_t flow, double time) {
    const Source& source = topology_.flows[flow].source;
    if (time < source.start) return;
    const bool is_greedy = source.kind == SourceKind::Greedy;
    waiting_[first_[flow]] = is_greedy ? 1e9 : waiting_[first_[flow]] + source.rate * step_;
  }

  void send(std::size_t link) {
    Wire& wire = wires_[link];
    std::vector<double> sent(wire.hops.size(), 0);
    if (!wire.pauses.front() && !wire.hops.empty()) {
      const double most = topology_.links[link].capacity * step_;
      sent = wire.hops.front().hop == 0 ? in_turn(wire, most) : in_proportion(wire, most);
    }
    for (std::size_t i = 0; i < sent.size(); ++i) {
      waiting(wire.hops[i]) -= sent[i];
      served_[first_[wire.hops[i].flow] + wire.hops[i].hop] += sent[i];
    }
    wire.data.push_back(std::move(sent));
    for (std::size_t i = 0; i < wire.hops.size(); ++i)
      if (wire.hops[i].hop + 1 < topology_.flows[wire.hops[i].flow].path.size())
        waiting({wire.hops[i].flow, wire.hops[i].hop + 1}) += wire.data.front()[i];
    wire.data.pop_front();
  }

  std::vector<double> in_proportion(const Wire& wire, double most) {
    double all = 0;
    for (const Hop& hop : wire.hops) all += waiting(hop);
    std::vector<double> sent;
    for (const Hop& hop : wire.hops)
      sent.push_back(all <= most ? waiting(hop) : most * waiting(hop) / all);
    return sent;
  }

  /// What one flow of a host does not need the others share: from the least on.
  std::vector<double> in_turn(const Wire& wire, double most) {
    std::vector<std::size_t> order(wire.hops.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return waiting(wire.hops[i]); });
    std::vector<double> sent(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const double even = most / static_cast<double>(order.size() - i);
      sent[order[i]] = std::min(even, waiting(wire.hops[order[i]]));
      most -= sent[order[i]];
    }
    return sent;
  }

  void signal(std::size_t link) {
    Wire& wire = wires_[link];
    double stored = 0;
    for (const Hop& hop : wire.hops)
      if (hop.hop + 1 < topology_.flows[hop.flow].path.size())
        stored += waiting({hop.flow, hop.hop + 1});
    const Link& of = topology_.links[link];
    wire.is_closed = stored >= (wire.is_closed ? of.xon : of.xoff);
    wire.pauses.pop_front();
    wire.pauses.push_back(wire.is_closed);
  }

  const Topology& topology_;
  double step_;
  std::vector<std::size_t> first_;  // by flow, of its hops
  std::vector<double> waiting_, served_;
  std::vector<Wire> wires_;
};

}  // namespace portcullis::pfc::testing
