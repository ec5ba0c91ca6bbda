// SPDX-License-Identifier: BSD-3-Clause
//
// Routes to a leaf for all its hosts: the same fabrics with a route to each host depend alike.
#include "pfc/prefixes.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "pfc/bound/residence_bound.hpp"
#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/failures.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/generators.hpp"
#include "pfc/cbd/report.hpp"
#include "pfc/cbd/routing.hpp"

namespace portcullis::pfc::cbd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr LeafSpine kSmall{.leaves = 4, .spines = 3, .hosts = 2};

Topology with_host_routes(Topology topology) {
  topology.routes = Routing(topology).shortest_routes(destinations_of(topology),
                                                      std::vector<bool>(topology.links.size()));
  return topology;
}

/// The dependencies of a fabric, sorted.
std::vector<Edge> edges_of(const Topology& topology) {
  const Dependencies dependencies(topology, 0, Traffic::Routes);
  std::vector<Edge> edges;
  for (LinkId from = 0; from < dependencies.graph().size(); ++from)
    for (const LinkId to : dependencies.graph().out(from)) edges.emplace_back(from, to);
  std::ranges::sort(edges);
  return edges;
}

TEST(Prefixes, DependenciesAreThoseOfARouteToEachHost) {
  for (const Topology& fabric : {*leaf_spine(kSmall), *fat_tree(6, true)}) {
    const Topology by_host = with_host_routes(fabric);
    EXPECT_LT(fabric.routes.size(), by_host.routes.size());
    EXPECT_EQ(edges_of(fabric), edges_of(by_host)) << fabric.name;
    EXPECT_EQ(Dependencies(fabric, 0, Traffic::Routes).destinations(),
              Dependencies(by_host, 0, Traffic::Routes).destinations());
  }
}

TEST(Prefixes, FailuresFindTheCyclesOfARouteToEachHost) {
  const Topology fabric = *leaf_spine(kSmall);
  const Topology by_host = with_host_routes(fabric);
  for (const Reaction reaction :
       {Reaction::Converged, Reaction::ValleyFree, Reaction::AsGiven, Reaction::Local}) {
    const FailureOptions options{.failures = 2, .reaction = reaction};
    const FailureSweep ours = *sweep_failures(fabric, options);
    const FailureSweep theirs = *sweep_failures(by_host, options);
    ASSERT_EQ(ours.outcomes.size(), theirs.outcomes.size());
    for (std::size_t i = 0; i < ours.outcomes.size(); ++i)
      EXPECT_EQ(ours.outcomes[i].components, theirs.outcomes[i].components) << i;
    EXPECT_EQ(ours.is_other_policy, theirs.is_other_policy);
  }
}

TEST(Prefixes, ResidenceIsThatOfARouteToEachHost) {
  const Topology fabric = *leaf_spine(kSmall);
  EXPECT_EQ(*bound::bound_residence(fabric, {})->routes,
            *bound::bound_residence(with_host_routes(fabric), {})->routes);
}

TEST(Prefixes, RoutedFlows_TakeThemToTheirHost) {
  Topology fabric = *leaf_spine({.leaves = 2, .spines = 2, .hosts = 2});
  Flow far;
  far.from = 4;  // host0 at leaf0
  far.to = 7;    // host3 at leaf1
  far.is_routed = true;
  Flow near = far;
  near.to = 5;  // host1 at leaf0
  FlowPaths paths(fabric);
  EXPECT_THAT(paths.of(far).links, SizeIs(1 + 2 + 2 + 1));
  EXPECT_TRUE(paths.of(far).is_whole);
  EXPECT_THAT(paths.of(near).links, SizeIs(2));
}

TEST(Prefixes, HostWithRoutesOfItsOwn_IsServedByThemAlone) {
  Topology fabric = *leaf_spine({.leaves = 2, .spines = 2, .hosts = 1});
  const TopologyIndex index(fabric);
  const LinkId over_spine1 = *index.link("leaf0-spine1");
  fabric.routes.push_back({*index.node("leaf0"), *index.node("host1"), over_spine1});
  expand_prefixes(fabric);
  EXPECT_FALSE(Prefixes(fabric).switch_of(*index.node("host1")).has_value());
  Flow flow;
  flow.from = *index.node("host0");
  flow.to = *index.node("host1");
  flow.is_routed = true;
  EXPECT_THAT(FlowPaths(fabric).of(flow).links,
              ElementsAre(*index.link("host0-leaf0"), over_spine1, *index.link("spine1-leaf1"),
                          *index.link("leaf1-host1")));
}

TEST(Prefixes, HostWithTwoSwitches_NeedsRoutesOfItsOwn) {
  Topology fabric = *leaf_spine({.leaves = 2, .spines = 1, .hosts = 1});
  const TopologyIndex index(fabric);
  fabric.add_link(*index.node("host0"), *index.node("leaf1"));
  EXPECT_FALSE(Prefixes(fabric).switch_of(*index.node("host0")).has_value());
  EXPECT_EQ(Prefixes(fabric).switch_of(*index.node("host1")), index.node("leaf1"));
}

TEST(DeadEnds, DataWithoutNextHop_IsCountedAndNamed) {
  Topology fabric = *leaf_spine({.leaves = 2, .spines = 2, .hosts = 1});
  const TopologyIndex index(fabric);
  const NodeId spine = *index.node("spine0");
  std::erase_if(fabric.routes, [&](const Route& route) { return route.node == spine; });
  const Dependencies dependencies(fabric, 0, Traffic::Routes);
  EXPECT_EQ(dependencies.dead_ends().count, 2u);  // to either leaf
  EXPECT_EQ(dependencies.dead_ends().node, spine);
  EXPECT_EQ(Dependencies(*fat_tree(4, true), 0, Traffic::Routes).dead_ends().count, 0u);
}

TEST(DeadEnds, HostWhoseTableLacksADestination_IsCounted) {
  Topology fabric = *leaf_spine({.leaves = 2, .spines = 1, .hosts = 1});
  const TopologyIndex index(fabric);
  const NodeId host = *index.node("host0");
  fabric.routes.push_back({host, *index.node("leaf0"), *index.link("host0-leaf0")});
  const Dependencies dependencies(fabric, 0, Traffic::Routes);
  EXPECT_EQ(dependencies.dead_ends().count, 1u);  // nothing for what is behind leaf1
  EXPECT_EQ(dependencies.dead_ends().node, host);
}

TEST(DeadEnds, OfTheIntactFabric_AreInTheSweepsReport) {
  Topology fabric = *leaf_spine({.leaves = 2, .spines = 2, .hosts = 1});
  const NodeId spine = *TopologyIndex(fabric).node("spine0");
  std::erase_if(fabric.routes, [&](const Route& route) { return route.node == spine; });
  const FailureOptions options{.failures = 1, .reaction = Reaction::AsGiven};
  const FailureSweep sweep = *sweep_failures(fabric, options);
  EXPECT_EQ(sweep.intact.dead_ends.count, 2u);
  EXPECT_THAT(failures_text(fabric, sweep, options),
              ::testing::HasSubstr("not looked at: data for leaf0 has no next hop at spine0"));
}

TEST(DeadEnds, OfAResidenceBound_AreToldWithIt) {
  Topology fabric = *leaf_spine({.leaves = 2, .spines = 2, .hosts = 1});
  EXPECT_EQ(bound::bound_residence(fabric, {})->dead_ends.count, 0u);
  const NodeId spine = *TopologyIndex(fabric).node("spine0");
  std::erase_if(fabric.routes, [&](const Route& route) { return route.node == spine; });
  EXPECT_EQ(bound::bound_residence(fabric, {})->dead_ends.count, 2u);
}

/// Routes among switches, and the only host is where they lead to: nobody sends.
TEST(DeadEnds, RoutesThatNoDataTakes_AreNoDestination) {
  Topology fabric = *leaf_spine({.leaves = 2, .spines = 1, .hosts = 1});
  const TopologyIndex index(fabric);
  const NodeId host = *index.node("host1");
  std::erase_if(fabric.links,
                [&](const Link& link) { return link.name.find("host0") != std::string::npos; });
  fabric.routes.clear();
  const TopologyIndex left(fabric);
  fabric.routes.push_back({*index.node("leaf0"), host, *left.link("leaf0-spine0")});
  fabric.routes.push_back({*index.node("spine0"), host, *left.link("spine0-leaf0")});
  const std::vector<Analysis> analyses{analyse(fabric, 0, {})};
  EXPECT_EQ(analyses[0].destinations, 0u);
  EXPECT_FALSE(check_looked_at(analyses).has_value());
  EXPECT_FALSE(sweep_failures(fabric, {.failures = 1}).has_value());
}

TEST(DeadEnds, FlowOfWhichAPartEnds_IsNamed) {
  Topology fabric = *leaf_spine({.leaves = 2, .spines = 2, .hosts = 1});
  const TopologyIndex index(fabric);
  Flow flow;
  flow.name = "f";
  flow.from = *index.node("host0");
  flow.to = *index.node("host1");
  flow.is_routed = true;
  flow.path = FlowPaths(fabric).first_way(flow);
  fabric.flows.push_back(flow);
  EXPECT_THAT(Dependencies(fabric, 0, Traffic::Flows).cut_flows(), IsEmpty());
  const NodeId spine = *index.node("spine1");
  std::erase_if(fabric.routes, [&](const Route& route) { return route.node == spine; });
  EXPECT_THAT(Dependencies(fabric, 0, Traffic::Flows).cut_flows(), ElementsAre(0u));
}

}  // namespace
}  // namespace portcullis::pfc::cbd
