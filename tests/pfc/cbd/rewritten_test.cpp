// SPDX-License-Identifier: BSD-3-Clause
//
// Priorities that change on the way, and what is advised: held against the analysis of each
// priority alone.
#include "pfc/cbd/rewritten.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <vector>

#include "pfc/cbd/advice.hpp"
#include "pfc/cbd/failures.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/generators.hpp"
#include "pfc/cbd/report.hpp"
#include "pfc/cbd/routing.hpp"
#include "pfc/scenarios.hpp"
#include "pfc/topology_json.hpp"

namespace portcullis::pfc::cbd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Edges within one priority, as links, sorted.
std::vector<Edge> edges_at(const Graph& graph, std::uint32_t priority) {
  std::vector<Edge> edges;
  for (Vertex from = 0; from < graph.size(); ++from)
    for (const Vertex to : graph.out(from))
      if (priority_of(from) == priority && priority_of(to) == priority)
        edges.emplace_back(link_of(from), link_of(to));
  std::ranges::sort(edges);
  return edges;
}
std::vector<Edge> edges_of(const Topology& topology, std::uint32_t priority) {
  const Graph graph = Dependencies(topology, priority, Traffic::All).graph();
  std::vector<Edge> edges;
  for (LinkId from = 0; from < graph.size(); ++from)
    for (const LinkId to : graph.out(from)) edges.emplace_back(from, to);
  std::ranges::sort(edges);
  return edges;
}

/// A Clos with two cables gone and shortest paths of what is left, and flows of two priorities.
Topology bent_clos(std::uint32_t seed) {
  Topology fabric = *leaf_spine({.leaves = 4, .spines = 2, .hosts = 2});
  std::mt19937 random(seed);
  const auto below = [&](std::size_t limit) {
    return static_cast<std::uint32_t>(random() % limit);
  };
  const auto cables = static_cast<std::uint32_t>(cables_of(fabric).size());
  std::uint32_t one = below(cables);
  std::uint32_t other = below(cables);
  if (one == other) other = (one + 1) % cables;
  fabric.routes = routes_after(fabric, {std::min(one, other), std::max(one, other)},
                               seed % 2 == 0 ? Reaction::Converged : Reaction::Local);
  const std::vector<NodeId> hosts = destinations_of(fabric);
  for (std::uint32_t i = 0; i < 4; ++i) {
    Flow flow;
    flow.name = "f" + std::to_string(i);
    flow.from = hosts[below(hosts.size())];
    flow.to = hosts[below(hosts.size())];
    if (flow.to == flow.from) flow.to = hosts[flow.from == hosts[0] ? 1 : 0];
    flow.is_routed = true;
    flow.priority = i % 2 == 0 ? 3 : 5;
    flow.ttl = 32;
    fabric.flows.push_back(flow);
  }
  return fabric;
}

TEST(Rewritten, WithoutRewrites_DependenciesAreThoseOfEachPriority) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Topology fabric = bent_clos(seed);
    const Graph graph = rewritten_dependencies(fabric, {3, 5}, {.traffic = Traffic::All});
    EXPECT_EQ(edges_at(graph, 3), edges_of(fabric, 3)) << seed;
    EXPECT_EQ(edges_at(graph, 5), edges_of(fabric, 5)) << seed;
  }
  const Topology tree = *fat_tree(4, true);
  EXPECT_EQ(edges_at(rewritten_dependencies(tree, {0}, {.traffic = Traffic::Routes}), 0),
            edges_of(tree, 0));
  const Topology paths = *ring(4, 2);
  EXPECT_EQ(edges_at(rewritten_dependencies(paths, {0}, {.traffic = Traffic::All}), 0),
            edges_of(paths, 0));
}

TEST(Rewritten, DataOfARewrittenPriority_WaitsInItAlone) {
  Topology fabric = *ring(4, 2);  // f0 .. f3, two links each, round a circle of four
  ASSERT_FALSE(analyse(fabric, 0, {}).is_free_of_cycles());
  const auto& path = fabric.flows[0].path;
  fabric.rewrites.push_back({path[1], path[2], 0, 1});
  ASSERT_TRUE(check(fabric).has_value());
  const Analysis analysis = analyse_rewritten(fabric, {0}, {});
  EXPECT_TRUE(analysis.is_free_of_cycles());
  EXPECT_THAT(analysis.rewritten, ElementsAre(0u, 1u));
  EXPECT_EQ(analysis.flows, 4u);
}

/// What goes up comes down: the circle leads through both priorities.
TEST(Rewritten, CycleThroughSeveralPriorities_IsFound) {
  Topology fabric = *ring(4, 3);
  fabric.rewrites.push_back({fabric.flows[0].path[1], fabric.flows[0].path[2], 0, 1});
  fabric.rewrites.push_back({fabric.flows[1].path[1], fabric.flows[1].path[2], 1, 0});
  const Analysis analysis = analyse_rewritten(fabric, {0}, {});
  ASSERT_THAT(analysis.components, SizeIs(1));
  EXPECT_THAT(analysis.components[0].priorities, ::testing::Contains(1u));
}

std::vector<LinkId> links_of(std::vector<Vertex> buffers) {
  for (Vertex& buffer : buffers) buffer = link_of(buffer);
  return buffers;
}

/// Who makes a cycle and what breaks it, told of buffers, is what it is of links.
TEST(Rewritten, WithoutRewrites_MakersAndBreaksAreThoseOfThePriority) {
  std::size_t compared = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Topology fabric = bent_clos(seed);
    const Analysis plain = analyse(fabric, 3, {});
    const Analysis rewritten = analyse_rewritten(fabric, {3}, {});
    ASSERT_EQ(rewritten.components.size(), plain.components.size()) << seed;
    for (std::size_t i = 0; i < plain.components.size(); ++i) {
      const Component& one = plain.components[i];
      const Component& other = rewritten.components[i];
      ++compared;
      EXPECT_EQ(other.users, one.users) << seed;
      EXPECT_EQ(other.loop, one.loop) << seed;
      EXPECT_EQ(links_of(other.breaks->links.changes), one.breaks->links.changes) << seed;
      EXPECT_EQ(other.breaks->users.changes, one.breaks->users.changes) << seed;
      EXPECT_EQ(other.breaks->turns.changes.size(), one.breaks->turns.changes.size()) << seed;
    }
  }
  EXPECT_GT(compared, 10u);
}

/// Flows of three switches round a ring of three, each with another priority from its first switch
/// on.
TEST(Rewritten, CycleInAPriorityThatDataGets_HasMakersAndWhatBreaksIt) {
  Topology fabric = *ring(3, 2);
  for (const Flow& flow : fabric.flows)
    fabric.rewrites.push_back({flow.path[0], flow.path[1], 0, 4});
  const std::vector<Analysis> found{analyse_rewritten(fabric, {0}, {})};
  ASSERT_THAT(found[0].components, SizeIs(1));
  const Component& component = found[0].components[0];
  EXPECT_THAT(component.priorities, ElementsAre(4u, 4u, 4u));
  EXPECT_THAT(component.users, ElementsAre(SizeIs(1), SizeIs(1), SizeIs(1)));
  ASSERT_TRUE(component.breaks.has_value());
  EXPECT_THAT(component.breaks->users.changes, SizeIs(1));
  const std::string text = analysis_text(fabric, found);
  EXPECT_THAT(text, HasSubstr("@4   (flow "));
  EXPECT_THAT(text, HasSubstr("take from the lossless class the links (1, the fewest): sw0-sw1@4"));
  EXPECT_THAT(text,
              HasSubstr("change the priority at the turns (1, the fewest): sw0-sw1@4 > sw1-"));
  EXPECT_FALSE(analyse_rewritten(fabric, {0}, {.with_breaks = false}).components[0].breaks);
}

TEST(Advice, IsFreeOfCyclesWhenItIsReadBack) {
  std::size_t cyclic = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Topology fabric = bent_clos(2 * seed);  // converged: no routing loops
    for (const Remedy remedy : {Remedy::Rewrites, Remedy::Lossy}) {
      const auto advice = advise(fabric, {3, 5}, Traffic::All, remedy);
      ASSERT_TRUE(advice.has_value()) << seed << advice.error().text;
      const auto read = parse_topology(to_json(advice->topology), "advice");
      ASSERT_TRUE(read.has_value()) << seed << read.error().text;
      EXPECT_TRUE(analyse_rewritten(*read, {3, 5}, {}).is_free_of_cycles()) << seed;
      cyclic += advice->changes > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(cyclic, 0u);
}

TEST(Advice, BounceInAClos_NeedsOnePriorityMore) {
  Topology fabric = *leaf_spine({.leaves = 4, .spines = 2, .hosts = 1});
  fabric.routes = routes_after(fabric, {4, 7}, Reaction::Converged);
  ASSERT_FALSE(analyse(fabric, 0, {}).is_free_of_cycles());
  const Advice advice = *advise(fabric, {0}, Traffic::All, Remedy::Rewrites);
  EXPECT_THAT(advice.priorities, ElementsAre(0u, 1u));
  EXPECT_TRUE(analyse_rewritten(advice.topology, {0}, {}).is_free_of_cycles());
  const Advice none = *advise(*fat_tree(4, true), {0}, Traffic::All, Remedy::Rewrites);
  EXPECT_THAT(none.topology.rewrites, IsEmpty());
  EXPECT_EQ(none.changes, 0u);
}

TEST(Advice, RoutingLoop_HasTooFewPriorities) {
  Topology fabric = *leaf_spine({.leaves = 2, .spines = 1, .hosts = 1});
  const TopologyIndex index(fabric);
  for (Route& route : fabric.routes)
    if (route.node == *index.node("spine0")) route.via = *index.link("spine0-leaf0");
  EXPECT_THAT(advise(fabric, {0}, Traffic::All, Remedy::Rewrites).error().text,
              HasSubstr("8 priorities do not suffice"));
  EXPECT_TRUE(advise(fabric, {0}, Traffic::All, Remedy::Lossy).has_value());
}

TEST(Advice, PrioritiesOfOtherFlows_AreLeftToThem) {
  Topology fabric = *ring(4, 2);
  Flow other = fabric.flows[0];
  other.name = "other";
  other.priority = 1;
  fabric.flows.push_back(other);
  EXPECT_THAT(advise(fabric, {0}, Traffic::All, Remedy::Rewrites)->priorities,
              ElementsAre(0u, 1u, 2u));
}

TEST(Rewritten, FailuresSeeThem) {
  Topology fabric = *ring(4, 2);
  const Advice advice = *advise(fabric, {0}, Traffic::All, Remedy::Rewrites);
  const FailureOptions options{.failures = 1, .reaction = Reaction::AsGiven};
  EXPECT_FALSE(sweep_failures(fabric, options)->is_free_of_cycles());
  EXPECT_TRUE(sweep_failures(advice.topology, options)->is_free_of_cycles());
}

}  // namespace
}  // namespace portcullis::pfc::cbd
