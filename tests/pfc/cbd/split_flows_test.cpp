// SPDX-License-Identifier: BSD-3-Clause
//
// Flows over all the ways that ECMP gives them.
#include "pfc/cbd/split_flows.hpp"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/generators.hpp"

namespace portcullis::pfc::cbd {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Topology with_flow(Topology topology, const std::string& from, const std::string& to) {
  const TopologyIndex index(topology);
  Flow flow;
  flow.name = from + to;
  flow.from = *index.node(from);
  flow.to = *index.node(to);
  flow.is_routed = true;
  flow.path = FlowPaths(topology).first_way(flow);
  topology.flows.push_back(flow);
  return topology;
}

TEST(SplitFlows, FatTree_GivesEveryWayItsShare) {
  // Two aggregation switches, two cores each: four ways from pod to pod.
  Topology tree = with_flow(*fat_tree(4, true), "host0", "host15");
  tree.flows[0].source.kind = SourceKind::Rate;
  tree.flows[0].source.rate = 2;
  const SplitFlows split = *split_flows(tree);
  ASSERT_THAT(split.topology.flows, SizeIs(4));
  EXPECT_TRUE(check(split.topology).has_value());
  EXPECT_THAT(split.share, Each(0.25));
  EXPECT_EQ(split.topology.flows[3].source.rate, 0.5);
  std::map<LinkId, int> used;
  for (const Flow& flow : split.topology.flows)
    for (const LinkId link : flow.path) ++used[link];
  EXPECT_THAT(used, SizeIs(FlowPaths(tree).of(tree.flows[0]).links.size()));
  EXPECT_THAT(split.note, HasSubstr("host0host15: split over 4 ways (ECMP): host0>edge0>agg0>"));
}

TEST(SplitFlows, FlowBesideASplitOne_KeepsItsShareOfTheHost) {
  // host0 has a flow with four ways and one with a single one.
  const Topology tree =
      with_flow(with_flow(*fat_tree(4, true), "host0", "host15"), "host0", "host1");
  const SplitFlows split = *split_flows(tree);
  EXPECT_THAT(split.origin, ElementsAre(0u, 0u, 0u, 0u, 1u, 1u, 1u, 1u));
}

/// At each of `switches` in a row, one way on and one straight to the end: the parts of the last
/// are 2 to that power, which no number here holds.
Topology comb(std::size_t switches) {
  Topology fabric;
  const auto add = [&](const std::string& name, NodeKind kind) {
    Node node;
    node.name = name;
    node.kind = kind;
    fabric.nodes.push_back(node);
    return static_cast<NodeId>(fabric.nodes.size() - 1);
  };
  const auto connect = [&](NodeId from, NodeId to) {
    Link link;
    link.from = from;
    link.to = to;
    fabric.links.push_back(link);
    return static_cast<LinkId>(fabric.links.size() - 1);
  };
  const NodeId host = add("h", NodeKind::Host);
  const NodeId end = add("d", NodeKind::Host);
  NodeId last = host;
  for (std::size_t i = 0; i <= switches; ++i) {
    const NodeId next = add("s" + std::to_string(i), NodeKind::Switch);
    const LinkId on = connect(last, next);
    if (i > 0) fabric.routes.push_back({last, end, on});
    fabric.routes.push_back({next, end, connect(next, end)});
    last = next;
  }
  return with_flow(fabric, "h", "d");
}

TEST(SplitFlows, PartsBeyondEveryNumber_AreRefused) {
  for (const std::size_t switches : {20u, 63u, 64u, 65u}) {
    const auto split = split_flows(comb(switches));
    ASSERT_FALSE(split.has_value()) << switches;
    EXPECT_EQ(split.error().code, Errc::Unsupported) << switches;
  }
}

TEST(SplitFlows, FlowWithOneWay_IsAsItWas) {
  const Topology ring4 = *ring(4, 2);
  const SplitFlows split = *split_flows(ring4);
  EXPECT_THAT(split.topology.flows, SizeIs(4));
  EXPECT_EQ(split.topology.flows[0].name, "f0");
  EXPECT_EQ(split.note, "");
}

TEST(SplitFlows, LoopOfRoutes_IsLeftToTheSimulator) {
  Topology looped = *ring(4, 1);
  looped.flows[0].path.clear();
  looped.flows[0].ttl = 16;
  const SplitFlows split = *split_flows(looped);
  EXPECT_THAT(split.topology.flows, SizeIs(4));
  EXPECT_TRUE(split.topology.flows[0].path.empty());
}

TEST(SplitFlows, FlowWithATtlThatArrives_IsSplitToo) {
  Topology tree = with_flow(*fat_tree(4, true), "host0", "host15");
  tree.flows[0].ttl = 64;
  const SplitFlows split = *split_flows(tree);
  EXPECT_THAT(split.topology.flows, SizeIs(4));
  EXPECT_EQ(split.topology.flows[3].ttl, 64u);
  EXPECT_THAT(split.note, HasSubstr("split over 4 ways"));
}

/// leaf0 has a second way, to a spine that sends it back.
TEST(SplitFlows, RoutesThatGoRound_AreLeftWholeAndTold) {
  Topology fabric =
      with_flow(*leaf_spine({.leaves = 2, .spines = 2, .hosts = 1}), "host0", "host1");
  const TopologyIndex index(fabric);
  const NodeId spine = *index.node("spine1");
  for (Route& route : fabric.routes)
    if (route.node == spine) route.via = *index.link("spine1-leaf0");
  EXPECT_THAT(split_flows(fabric).error().text, HasSubstr("its routes go round; a ttl"));
  fabric.flows[0].ttl = 64;
  const SplitFlows split = *split_flows(fabric);
  EXPECT_THAT(split.topology.flows, SizeIs(1));
  EXPECT_THAT(split.note, HasSubstr("the routes go round: not split"));
}

TEST(SplitFlows, MoreWaysThanAllowed_AreRefused) {
  const Topology wide =
      with_flow(*leaf_spine({.leaves = 2, .spines = 300, .hosts = 1}), "host0", "host1");
  EXPECT_THAT(split_flows(wide).error().text, HasSubstr("more than 256 parts"));
}

TEST(SplitFlows, WayThatEndsNowhere_IsRefused) {
  Topology fabric =
      with_flow(*leaf_spine({.leaves = 2, .spines = 2, .hosts = 1}), "host0", "host1");
  const NodeId spine = *TopologyIndex(fabric).node("spine1");
  std::erase_if(fabric.routes, [&](const Route& route) { return route.node == spine; });
  EXPECT_THAT(split_flows(fabric).error().text, HasSubstr("no next hop at spine1"));
}

}  // namespace
}  // namespace portcullis::pfc::cbd
