// SPDX-License-Identifier: BSD-3-Clause
//
// Which link depends on which: by flows, by routes, and where data stops.
#include "pfc/cbd/dependencies.hpp"

#include <gmock/gmock.h>

#include "pfc/cbd/failures.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/generators.hpp"
#include "pfc/cbd/routing.hpp"

namespace portcullis::pfc::cbd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr User flow(std::uint32_t index) { return {User::Kind::Flow, index}; }
constexpr User data_for(NodeId node) { return {User::Kind::Destination, node}; }

/// h0 (0) - a (1) - b (2) - h3 (3), links 0-1 1-2 2-3 and back 3-2 2-1 1-0.
Topology line() {
  Topology topology;
  topology.add_node("h0", NodeKind::Host);
  topology.add_node("a", NodeKind::Switch);
  topology.add_node("b", NodeKind::Switch);
  topology.add_node("h3", NodeKind::Host);
  for (NodeId node = 0; node < 3; ++node) topology.add_link(node, node + 1);
  for (NodeId node = 3; node > 0; --node) topology.add_link(node, node - 1);
  return topology;
}

Topology line_with_flow(std::uint32_t priority) {
  Topology topology = line();
  EXPECT_TRUE(topology.add_flow("f", {0, 1, 2, 3}).has_value());
  topology.flows[0].priority = priority;
  return topology;
}

TEST(Dependencies, OfAFlow_AreItsConsecutiveLinks) {
  const Topology topology = line_with_flow(0);
  const Dependencies dependencies(topology, 0, Traffic::All);
  EXPECT_EQ(dependencies.graph().edges(), 2u);
  EXPECT_THAT(dependencies.graph().out(0), ElementsAre(1u));
  EXPECT_THAT(dependencies.users(0, 1), ElementsAre(flow(0)));
}

TEST(Dependencies, FlowOfAnotherPriority_MakesNone) {
  const Topology topology = line_with_flow(3);
  EXPECT_EQ(Dependencies(topology, 0, Traffic::All).graph().edges(), 0u);
  EXPECT_THAT(priorities_of(topology), ElementsAre(3u));
}

TEST(Dependencies, NoFlows_MeansPriorityZero) {
  EXPECT_THAT(priorities_of(line()), ElementsAre(0u));
}

TEST(Dependencies, LinkThatNeverPauses_IsNotWaitedFor) {
  Topology topology = line_with_flow(0);
  topology.links[1].xoff = kUnlimited;
  const Dependencies dependencies(topology, 0, Traffic::All);
  EXPECT_THAT(dependencies.graph().out(0), IsEmpty());
  EXPECT_THAT(dependencies.graph().out(1), ElementsAre(2u));
}

TEST(Dependencies, RoutesFromAHostWithout_StartBehindIt) {
  Topology topology = line();
  topology.routes = {{1, 3, 1}, {2, 3, 2}};
  const Dependencies dependencies(topology, 0, Traffic::All);
  EXPECT_THAT(dependencies.users(0, 1), ElementsAre(data_for(3)));
  EXPECT_THAT(dependencies.users(1, 2), ElementsAre(data_for(3)));
  EXPECT_EQ(dependencies.graph().edges(), 2u);
}

TEST(Dependencies, RouteThatNoDataReaches_MakesNone) {
  Topology topology = line();
  // b would send data for h0 on to h3, but nothing for h0 comes to b other than from h3 itself.
  topology.routes = {{1, 0, 5}, {3, 0, 3}, {2, 0, 4}, {1, 3, 1}, {2, 3, 2}};
  topology.routes.push_back({0, 3, 0});
  const Dependencies dependencies(topology, 0, Traffic::All);
  EXPECT_THAT(dependencies.users(3, 4), ElementsAre(data_for(0)));
  EXPECT_THAT(dependencies.graph().out(5), IsEmpty());
  EXPECT_THAT(dependencies.users(1, 4), IsEmpty());
}

TEST(Dependencies, OneDestinationsLoop_IsMadeByIt) {
  Topology topology = line();
  topology.routes = {{1, 3, 1}, {2, 3, 4}};
  const Dependencies dependencies(topology, 0, Traffic::All);
  EXPECT_THAT(dependencies.users(1, 4), ElementsAre(data_for(3)));
  EXPECT_THAT(dependencies.users(4, 1), ElementsAre(data_for(3)));
}

TEST(Dependencies, WithoutHosts_EveryNodeSends) {
  Topology topology;
  for (const char* name : {"a", "b", "c"}) topology.add_node(name, NodeKind::Switch);
  topology.add_link(0, 1);
  topology.add_link(1, 2);
  topology.routes = {{0, 2, 0}, {1, 2, 1}};
  const Dependencies dependencies(topology, 0, Traffic::All);
  EXPECT_THAT(dependencies.users(0, 1), ElementsAre(data_for(2)));
}

TEST(Dependencies, TrafficByChoice_LeavesTheOtherOut) {
  Topology topology = line_with_flow(0);
  topology.routes = {{2, 0, 4}, {1, 0, 5}};
  EXPECT_EQ(Dependencies(topology, 0, Traffic::Flows).graph().edges(), 2u);
  EXPECT_EQ(Dependencies(topology, 0, Traffic::Routes).graph().edges(), 2u);
  EXPECT_EQ(Dependencies(topology, 0, Traffic::All).graph().edges(), 4u);
}

TEST(Dependencies, RoutedFlowsBetweenAllHosts_DependAsTheRoutesDo) {
  // Two cables down, so that data bounces: the second next hops close the circle, the first do not.
  Topology topology = *leaf_spine({.leaves = 4, .spines = 2, .hosts = 1});
  topology.routes = routes_after(topology, {4, 7}, Reaction::Converged);
  for (const NodeId from : destinations_of(topology))
    for (const NodeId to : destinations_of(topology)) {
      Flow flow;
      flow.from = from;
      flow.to = to;
      flow.is_routed = from != to;
      topology.flows.push_back(flow);
    }
  std::erase_if(topology.flows, [](const Flow& flow) { return !flow.is_routed; });
  const Graph flows = Dependencies(topology, 0, Traffic::Flows).graph();
  const Graph routes = Dependencies(topology, 0, Traffic::Routes).graph();
  EXPECT_EQ(flows.edges(), routes.edges());
  EXPECT_EQ(cyclic_components(flows), cyclic_components(routes));
  EXPECT_FALSE(cyclic_components(flows).empty());
}

TEST(FlowPaths, RoutedFlow_IsOfferedEveryNextHop) {
  Topology topology = *leaf_spine({.leaves = 2, .spines = 2, .hosts = 1});
  const std::vector<NodeId> hosts = destinations_of(topology);
  Flow flow;
  flow.name = "f";
  flow.from = hosts[0];
  flow.to = hosts[1];
  flow.is_routed = true;
  topology.flows = {flow};
  FlowPaths paths(topology);
  const FlowWays ways = paths.of(flow);
  EXPECT_EQ(ways.links.size(), 6u);  // host0-leaf0, two up, two down, leaf1-host1
  EXPECT_EQ(ways.turns.size(), 6u);
  EXPECT_TRUE(ways.is_whole);
  EXPECT_TRUE(paths.has_choice(flow));
  EXPECT_EQ(first_hops_note(topology),
            "flow f: several next hops are offered (ECMP); this run takes the first of each, cbd "
            "looks at all\n");
  flow.path = paths.first_way(flow);
  EXPECT_EQ(flow.path.size(), 4u);
  flow.is_routed = false;
  EXPECT_EQ(paths.of(flow).links.size(), 4u);
}

/// As Dependencies has it of all that routes permit.
TEST(FlowPaths, SwitchWithoutAnEntry_DropsRatherThanSendsBack) {
  Topology topology = line();
  topology.routes = {{1, 3, 1}};
  Flow flow;
  flow.from = 0;
  flow.to = 3;
  flow.is_routed = true;
  const FlowWays ways = FlowPaths(topology).of(flow);
  EXPECT_THAT(ways.links, ElementsAre(0u, 1u));
  EXPECT_FALSE(ways.is_whole);
}

TEST(Dependencies, WithUnpaused_HoldWhateverDataTakes) {
  Topology topology = line_with_flow(0);
  topology.links[1].xoff = kUnlimited;
  const Dependencies dependencies(topology, 0, {.traffic = Traffic::All, .with_unpaused = true});
  EXPECT_THAT(dependencies.graph().out(0), ElementsAre(1u));
}

TEST(Dependencies, FlowInARoutingLoop_DependsOnItself) {
  Topology topology = line();
  topology.routes = {{0, 3, 0}, {1, 3, 1}, {2, 3, 4}};
  Flow loop;
  loop.name = "f";
  loop.from = 0;
  loop.to = 3;
  loop.ttl = 16;
  topology.flows.push_back(loop);
  const Dependencies dependencies(topology, 0, Traffic::Flows);
  EXPECT_THAT(FlowPaths(topology).first_way(topology.flows[0]), ElementsAre(0u, 1u, 4u, 1u));
  EXPECT_THAT(dependencies.users(4, 1), ElementsAre(flow(0)));
}

}  // namespace
}  // namespace portcullis::pfc::cbd
