// SPDX-License-Identifier: BSD-3-Clause
//
// The packet simulator in packet-hops per second: one packet that leaves one queue, its host's
// included. Wall time of this process; what is simulated has a clock of its own.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "pfc/cbd/generators.hpp"
#include "pfc/packet/simulator.hpp"

namespace {

namespace cbd = portcullis::pfc::cbd;
namespace packet = portcullis::pfc::packet;
using portcullis::pfc::Flow;
using portcullis::pfc::Link;
using portcullis::pfc::NodeId;
using portcullis::pfc::Topology;

/// Figure 1 of the PFC document: two flows over three links of a ring of four each, which live for
/// ever.
Topology paper_ring(double delay) {
  Link like;
  like.delay = delay;
  Topology topology = *cbd::ring(4, 3, like);
  topology.flows = {topology.flows[0], topology.flows[2]};
  return topology;
}

void simulate(benchmark::State& state, const Topology& topology, double until,
              packet::RunOptions options) {
  options.until = packet::to_picoseconds(topology, until);
  std::uint64_t hops = 0;
  std::uint64_t deadlocks = 0;
  for ([[maybe_unused]] auto _ : state) {
    const auto report = packet::simulate(topology, options);
    hops += report->hops;
    deadlocks += report->deadlock ? 1 : 0;
  }
  state.counters["hops_per_second"] =
      benchmark::Counter(static_cast<double>(hops), benchmark::Counter::kIsRate);
  state.counters["hops"] = static_cast<double>(hops) / static_cast<double>(state.iterations());
  state.counters["deadlocks"] = static_cast<double>(deadlocks);
}

/// PAUSE out of band, an eighth of delay: the case that docs/pfc-packet.md compares.
void packet_ring(benchmark::State& state) {
  packet::RunOptions options;
  options.pause_in_band = false;
  simulate(state, paper_ring(0.125), 20'000, options);
}
BENCHMARK(packet_ring)->Unit(benchmark::kMillisecond);

void packet_ring_in_band(benchmark::State& state) {
  simulate(state, paper_ring(0.125), 20'000, {});
}
BENCHMARK(packet_ring_in_band)->Unit(benchmark::kMillisecond);

/// PAUSE frames of so many quanta, as csg-htsim writes into its own: 12.8 us; repeated after half.
packet::RunOptions with_quanta() {
  packet::RunOptions options;
  options.pause_timer.quanta = 1000;
  return options;
}

void packet_ring_quanta(benchmark::State& state) {
  simulate(state, paper_ring(0.125), 20'000, with_quanta());
}
BENCHMARK(packet_ring_quanta)->Unit(benchmark::kMillisecond);

/// Marks and rates on top, as their authors' fluid model has them.
void packet_ring_dcqcn(benchmark::State& state) {
  packet::RunOptions options = with_quanta();
  options.ecn.is_on = true;
  options.dcqcn.is_on = true;
  simulate(state, paper_ring(0.125), 20'000, options);
}
BENCHMARK(packet_ring_dcqcn)->Unit(benchmark::kMillisecond);

/// Every host of a fat tree sends to the one half a fabric away, through the first switches that
/// lead there.
void packet_fat_tree(benchmark::State& state) {
  Link like;
  like.delay = 0.125;
  const auto ports = static_cast<std::uint32_t>(state.range(0));
  Topology topology = *cbd::fat_tree(ports, true, like);
  const auto hosts = static_cast<NodeId>(ports * ports * ports / 4);
  const auto first = static_cast<NodeId>(topology.nodes.size()) - hosts;
  std::vector<std::vector<portcullis::pfc::LinkId>> next(
      topology.nodes.size(), std::vector<portcullis::pfc::LinkId>(topology.nodes.size()));
  for (const auto& route : topology.routes) next[route.node][route.destination] = route.via;
  for (NodeId i = 0; i < hosts; ++i) {
    Flow flow;
    flow.name = "f" + std::to_string(i);
    flow.from = first + i;
    flow.to = first + (i + hosts / 2) % hosts;
    for (NodeId at = flow.from; at != flow.to; at = topology.links[flow.path.back()].to)
      flow.path.push_back(next[at][flow.to]);
    topology.flows.push_back(flow);
  }
  simulate(state, topology, 100, {});
}
BENCHMARK(packet_fat_tree)->Arg(4)->Arg(8)->Unit(benchmark::kMillisecond);

}  // namespace
