// SPDX-License-Identifier: BSD-3-Clause
//
// Buffer dependencies of large fabrics: from links and next hops in memory to components, shortest
// cycles and who makes them. Every line says to how many of the fabric's destinations it has
// routes: a figure of a few is none of the fabric. Wall time of this process; no device.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/failures.hpp"
#include "pfc/cbd/generators.hpp"
#include "pfc/cbd/routing.hpp"

namespace {

namespace cbd = portcullis::pfc::cbd;
using portcullis::pfc::NodeId;
using portcullis::pfc::NodeKind;
using portcullis::pfc::Topology;

/// Routes to so many destinations, far from each other, that there are about `entries` of them.
void add_routes(Topology& topology, std::size_t entries) {
  const std::vector<NodeId> all = cbd::destinations_of(topology);
  const cbd::Routing routing(topology);
  const std::vector<bool> is_down(topology.links.size());
  constexpr std::size_t kStep = 97;  // visits every destination before one comes again
  for (std::size_t i = 0; i < all.size() && topology.routes.size() < entries; ++i) {
    const NodeId one = all[i * kStep % all.size()];
    const auto more = routing.shortest_routes(std::span(&one, 1), is_down);
    topology.routes.insert(topology.routes.end(), more.begin(), more.end());
  }
}

/// 100,000 links between switches at random, which shortest paths make one thicket of cycles.
Topology jellyfish(std::size_t entries) {
  constexpr NodeId kSwitches = 2500;
  constexpr std::size_t kCables = 50'000;
  Topology topology;
  for (NodeId i = 0; i < kSwitches; ++i)
    topology.add_node("s" + std::to_string(i), NodeKind::Switch);
  std::mt19937 random(1);
  while (topology.links.size() < 2 * kCables) {
    const auto a = static_cast<NodeId>(random() % kSwitches);
    const auto b = static_cast<NodeId>(random() % kSwitches);
    if (a == b) continue;
    topology.add_link(a, b);
    topology.add_link(b, a);
  }
  add_routes(topology, entries);
  return topology;
}

void analyse(benchmark::State& state, const Topology& topology) {
  cbd::Analysis analysis;
  for ([[maybe_unused]] auto _ : state)
    analysis = cbd::analyse(topology, 0, {.with_breaks = false});
  const std::size_t all = cbd::destinations_of(topology).size();
  state.SetLabel("routes to " + std::to_string(analysis.destinations) + " of " +
                 std::to_string(all) + " destinations");
  state.counters["covered"] = static_cast<double>(analysis.destinations) / static_cast<double>(all);
  state.counters["links"] = static_cast<double>(analysis.links);
  state.counters["next_hops"] = static_cast<double>(topology.routes.size());
  state.counters["dependencies"] = static_cast<double>(analysis.edges);
  state.counters["cyclic_components"] = static_cast<double>(analysis.components.size());
}

/// Whole fat trees, with routes to the prefix of every leaf and so to every host. The making of the
/// fabric and its routes is a line of its own.
void cbd_whole_clos(benchmark::State& state) {
  analyse(state, *cbd::fat_tree(static_cast<std::uint32_t>(state.range(0)), true));
}
BENCHMARK(cbd_whole_clos)->RangeMultiplier(2)->Range(4, 32)->Unit(benchmark::kMillisecond);

void cbd_make_clos(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(cbd::fat_tree(static_cast<std::uint32_t>(state.range(0)), true));
}
BENCHMARK(cbd_make_clos)->Arg(16)->Arg(32)->Unit(benchmark::kMillisecond);

void cbd_sampled_jellyfish(benchmark::State& state) { analyse(state, jellyfish(1'000'000)); }
BENCHMARK(cbd_sampled_jellyfish)->Unit(benchmark::kMillisecond);

/// Failures of every cable and of every two in a leaf-spine fabric of 16 by 4, routes to every
/// host.
void cbd_failures(benchmark::State& state) {
  const Topology topology = *cbd::leaf_spine({.leaves = 16, .spines = 4, .hosts = 1});
  const auto failures = static_cast<std::uint32_t>(state.range(0));
  std::size_t sets = 0;
  for ([[maybe_unused]] auto _ : state)
    sets += cbd::sweep_failures(topology, {.failures = failures, .reaction = cbd::Reaction::Local})
                ->outcomes.size();
  state.counters["sets_per_second"] =
      benchmark::Counter(static_cast<double>(sets), benchmark::Counter::kIsRate);
}
BENCHMARK(cbd_failures)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);

}  // namespace
