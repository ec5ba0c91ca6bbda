// SPDX-License-Identifier: BSD-3-Clause
//
// Whole analyses of fabrics whose answer is known: the ring of the paper's Figure 1, thickets of
// cycles, priorities.
#include "pfc/cbd/analysis.hpp"

#include <gmock/gmock.h>

#include "pfc/cbd/generators.hpp"

namespace portcullis::pfc::cbd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Four switches in a ring; flows of two and a half rounds, as f and g of Figure 1: over three
/// links of the ring each, from opposite corners.
Topology seed_ring() {
  Topology topology = *ring(4, 3);
  topology.flows = {topology.flows[0], topology.flows[2]};
  return topology;
}

TEST(Analysis, RingOfFigureOne_IsOneCycleOfFourLinks) {
  const Topology topology = seed_ring();
  const Analysis analysis = analyse(topology, 0, {});
  ASSERT_THAT(analysis.components, SizeIs(1));
  const Component& component = analysis.components[0];
  EXPECT_THAT(component.shortest, ElementsAre(2u, 6u, 10u, 14u));
  EXPECT_EQ(component.cycles, 1u);
  EXPECT_EQ(component.loop, std::nullopt);
  EXPECT_THAT(component.users[0], ElementsAre(User{User::Kind::Flow, 0}));
  EXPECT_THAT(component.users[2], ElementsAre(User{User::Kind::Flow, 1}));
}

TEST(Analysis, RingOfFigureOne_IsBrokenByAnyOneChange) {
  const Topology topology = seed_ring();
  const Analysis analysis = analyse(topology, 0, {});
  const Breaks& breaks = *analysis.components.at(0).breaks;
  EXPECT_THAT(breaks.turns.changes, SizeIs(1));
  EXPECT_THAT(breaks.links.changes, SizeIs(1));
  EXPECT_THAT(breaks.users.changes, SizeIs(1));
  EXPECT_TRUE(breaks.turns.is_smallest && breaks.links.is_smallest && breaks.users.is_smallest);
}

TEST(Analysis, FlowsOfTwoPriorities_CloseNoCycle) {
  Topology topology = seed_ring();
  topology.flows[1].priority = 1;
  EXPECT_TRUE(analyse(topology, 0, {}).is_free_of_cycles());
  EXPECT_TRUE(analyse(topology, 1, {}).is_free_of_cycles());
}

TEST(Analysis, WithoutBreaks_HasNone) {
  const Topology topology = seed_ring();
  EXPECT_EQ(analyse(topology, 0, {.with_breaks = false}).components.at(0).breaks, std::nullopt);
}

/// All pairs of `n` switches that are all linked, by routes that may take any neighbour.
Topology thicket(NodeId n) {
  Topology topology;
  for (NodeId i = 0; i < n; ++i) topology.add_node("s" + std::to_string(i), NodeKind::Switch);
  for (NodeId from = 0; from < n; ++from)
    for (NodeId step = 1; step < n; ++step) topology.add_link(from, (from + step) % n);
  for (LinkId link = 0; link < topology.links.size(); ++link)
    for (NodeId destination = 0; destination < n; ++destination)
      topology.routes.push_back({topology.links[link].from, destination, link});
  return topology;
}

TEST(Analysis, Thicket_IsBrokenByASetThatIsNotCalledSmallest) {
  const Topology topology = thicket(4);
  const Analysis analysis = analyse(topology, 0, {});
  ASSERT_THAT(analysis.components, SizeIs(1));
  const Component& component = analysis.components[0];
  EXPECT_EQ(component.cycles, kExactCycles + 1);
  EXPECT_FALSE(component.breaks->turns.is_smallest);
  EXPECT_FALSE(component.breaks->links.is_smallest);
  EXPECT_FALSE(component.breaks->users.is_smallest);
  EXPECT_TRUE(component.loop.has_value());
}

TEST(Analysis, LinksNamedAsBreaking_BreakWhenTheyAreLossy) {
  Topology topology = thicket(4);
  const Analysis before = analyse(topology, 0, {});
  for (const LinkId link : before.components.at(0).breaks->links.changes)
    topology.links[link].xoff = kUnlimited;
  EXPECT_THAT(analyse(topology, 0, {}).components, IsEmpty());
}

}  // namespace
}  // namespace portcullis::pfc::cbd
