// SPDX-License-Identifier: BSD-3-Clause
//
// Generated fabrics: their sizes, that they pass the checks, and that Clos is free of cycles.
#include "pfc/cbd/generators.hpp"

#include <gmock/gmock.h>

#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/routing.hpp"

namespace portcullis::pfc::cbd {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Generators, LeafSpine_HasItsNodesAndLinks) {
  const Topology topology = *leaf_spine({.leaves = 4, .spines = 2, .hosts = 3});
  EXPECT_THAT(topology.nodes, SizeIs(4 + 2 + 12));
  EXPECT_THAT(topology.links, SizeIs(2 * (12 + 8)));
  EXPECT_TRUE(check(topology).has_value());
}

TEST(Generators, Tiers_AreDrawnOneUnderTheOther) {
  const Topology topology = *leaf_spine({.leaves = 2, .spines = 1, .hosts = 2});
  // Two leaves, a spine, four hosts: host0 and host1 hang on either side under leaf0.
  EXPECT_DOUBLE_EQ(topology.nodes[0].x.value(),
                   (topology.nodes[3].x.value() + topology.nodes[4].x.value()) / 2);
  EXPECT_LT(topology.nodes[2].y.value(), topology.nodes[0].y.value());
  EXPECT_LT(topology.nodes[0].y.value(), topology.nodes[3].y.value());
}

TEST(Generators, FatTreeOfFourPorts_IsThatOfThePaper) {
  const Topology topology = *fat_tree(4, true);
  EXPECT_THAT(topology.nodes, SizeIs(16 + 20));
  EXPECT_THAT(topology.links, SizeIs(2 * 48));
  EXPECT_TRUE(check(topology).has_value());
}

TEST(Generators, ClosWithShortestRoutes_IsFreeOfCycles) {
  EXPECT_TRUE(
      analyse(*leaf_spine({.leaves = 6, .spines = 3, .hosts = 2}), 0, {}).is_free_of_cycles());
  EXPECT_TRUE(analyse(*fat_tree(6, true), 0, {}).is_free_of_cycles());
}

TEST(Generators, RingOfShortFlows_IsACycleFromTwoLinksOn) {
  EXPECT_TRUE(analyse(*ring(5, 1), 0, {}).is_free_of_cycles());
  EXPECT_FALSE(analyse(*ring(5, 2), 0, {}).is_free_of_cycles());
  EXPECT_TRUE(check(*ring(5, 2)).has_value());
}

TEST(Generators, ShapesThatAreNone_AreRefusedWithWhatIsAccepted) {
  EXPECT_THAT(leaf_spine({.leaves = 0}).error().text, HasSubstr("1 or more"));
  EXPECT_THAT(fat_tree(5, true).error().text, HasSubstr("5 ports; an even number"));
  EXPECT_THAT(fat_tree(130, false).error().text, HasSubstr("2 to 128"));
  EXPECT_THAT(ring(2, 1).error().text, HasSubstr("3 switches or more"));
  EXPECT_THAT(ring(4, 4).error().text, HasSubstr("span 4"));
}

TEST(Generators, FabricsThatNoMemoryHolds_AreRefusedAtOnce) {
  constexpr std::uint32_t kHuge = 4'000'000'000;
  EXPECT_THAT(leaf_spine({.leaves = 20000, .hosts = 1}).error().text, HasSubstr("8e+08 links"));
  EXPECT_THAT(leaf_spine({.leaves = 1, .spines = kHuge}).error().text, HasSubstr("at most"));
  EXPECT_THAT(fat_tree(64, true).error().text, HasSubstr("64 ports: 2.7e+08"));
  EXPECT_THAT(ring(kHuge, kHuge - 1).error().text, HasSubstr("at most 2.5e+08"));
}

/// By switch: how many other switches it has a cable to.
std::vector<std::size_t> switches_beside(const Topology& topology) {
  std::vector<std::set<NodeId>> beside(topology.nodes.size());
  for (const Link& link : topology.links)
    if (topology.nodes[link.from].kind == NodeKind::Switch &&
        topology.nodes[link.to].kind == NodeKind::Switch)
      beside[link.from].insert(link.to);
  std::vector<std::size_t> counts;
  for (NodeId node = 0; node < topology.nodes.size(); ++node)
    if (topology.nodes[node].kind == NodeKind::Switch) counts.push_back(beside[node].size());
  return counts;
}

TEST(Generators, Jellyfish_GivesEachSwitchItsPorts) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed)
    for (const std::uint32_t ports : {2U, 3U, 4U, 7U, 9U})
      EXPECT_THAT(switches_beside(*jellyfish(10, ports, seed)), Each(ports)) << seed;
  EXPECT_THAT(switches_beside(*jellyfish(500, 32, 1)), Each(32u));
}

TEST(Generators, JellyfishOfTwoPorts_IsOneRing) {
  // Rings of their own came out for most seeds; every host has a route to every switch but its own.
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const Topology fabric = *jellyfish(12, 2, seed);
    EXPECT_THAT(switches_beside(fabric), Each(2u)) << seed;
    std::set<std::pair<NodeId, NodeId>> reached;
    for (const Route& route : fabric.routes) reached.emplace(route.node, route.destination);
    for (NodeId one = 0; one < 12; ++one)
      for (NodeId other = 0; other < 12; ++other)
        EXPECT_EQ(reached.contains({one, other}), one != other) << seed;
  }
}

TEST(Generators, JellyfishOfOddPortsInAll_LeavesOneUnused) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const auto beside = switches_beside(*jellyfish(9, 3, seed));
    EXPECT_EQ(std::accumulate(beside.begin(), beside.end(), std::size_t{0}), 26u) << seed;
  }
}

TEST(Generators, Dragonfly_JoinsEachTwoGroupsOnce) {
  const Topology fabric = *dragonfly(9, 4, 2);  // of 4 routers, so 8 global links of a group
  std::multiset<std::pair<NodeId, NodeId>> between;
  for (const Link& link : fabric.links)
    if (link.from < 36 && link.to < 36) between.emplace(link.from / 4, link.to / 4);
  for (NodeId one = 0; one < 9; ++one)
    for (NodeId other = 0; other < 9; ++other)
      EXPECT_EQ(between.count({one, other}), one == other ? 12u : 1u);
  EXPECT_THAT(switches_beside(fabric), Each(3u + 2u));
}

TEST(Routing, OnlyNextHopsThatComeNearer_AreTaken) {
  const Topology topology = *leaf_spine({.leaves = 2, .spines = 2, .hosts = 1});
  // host0 (4) to host1 (5): host0-leaf0, leaf0 to either spine, each spine to leaf1, leaf1-host1.
  const NodeId destination = 5;
  EXPECT_THAT(Routing(topology).distances(destination, std::vector<bool>(12)),
              ElementsAre(3u, 1u, 2u, 2u, 4u, 0u));
  EXPECT_THAT(Routing(topology).shortest_routes(std::span(&destination, 1), std::vector<bool>(12)),
              SizeIs(1 + 2 + 2 + 1));
}

TEST(Routing, Cables_AreLinksWithTheirWayBack) {
  Topology topology;
  for (const char* name : {"a", "b", "c"}) topology.add_node(name, NodeKind::Switch);
  topology.add_link(0, 1);
  topology.add_link(0, 1);
  topology.add_link(1, 2);
  topology.add_link(1, 0);
  EXPECT_THAT(cables_of(topology),
              ElementsAre(ElementsAre(0u, 3u), ElementsAre(1u), ElementsAre(2u)));
}

}  // namespace
}  // namespace portcullis::pfc::cbd
