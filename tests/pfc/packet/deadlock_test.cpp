// SPDX-License-Identifier: BSD-3-Clause
//
// Deadlock: found where nothing can move again, with the cycle as witness, and nowhere else.
#include <gmock/gmock.h>

#include "tests/pfc/packet/fabrics.hpp"

namespace portcullis::pfc::packet {
namespace {

using ::testing::Each;
using ::testing::Eq;
using ::testing::UnorderedElementsAre;

TEST(Deadlock, ThirdFlowAtAnEighthOfDelay_LocksTheRing) {
  const RunReport report = run(paper_ring(true, 0.125), until(1000));
  ASSERT_TRUE(report.deadlock.has_value());
  EXPECT_THAT(report.deadlock->cycle, UnorderedElementsAre(2u, 6u, 10u, 14u));
  EXPECT_GT(report.deadlock->time, 2 * kTheta);
  EXPECT_LT(report.deadlock->time, 200 * kTheta);
  EXPECT_GE(report.end, report.deadlock->time);
  EXPECT_LT(report.end, report.deadlock->time + 10 * kTheta);
}

TEST(Deadlock, Gates_AreNotClosedForLongerThanTheRun) {
  const RunReport report = run(paper_ring(true, 0.125), until(1000));
  for (const IngressReport& ingress : report.ingresses) EXPECT_LE(ingress.closed, report.end);
}

TEST(Deadlock, Witness_WaitsInTheOrderOfTheRing) {
  const RunReport report = run(paper_ring(true, 0.125), until(1000));
  ASSERT_TRUE(report.deadlock.has_value());
  const std::vector<LinkId>& cycle = report.deadlock->cycle;
  std::vector<LinkId> steps;
  for (std::size_t i = 0; i < cycle.size(); ++i)
    steps.push_back((cycle[(i + 1) % cycle.size()] + 16 - cycle[i]) % 16);
  EXPECT_THAT(steps, Each(Eq(4u)));
}

TEST(Deadlock, FullRing_LocksAndNothingMovesAgain) {
  // Every flow takes two links of the ring, so every ring link is asked for twice its capacity.
  const Topology topology = *cbd::ring(4, 2, delayed(0.25));
  RunOptions options = until(1000);
  options.stop_at_deadlock = false;
  const RunReport thousand = run(topology, options);
  ASSERT_TRUE(thousand.deadlock.has_value());
  options.until *= 4;
  const RunReport more = run(topology, options);
  EXPECT_EQ(more.deadlock->time, thousand.deadlock->time);
  EXPECT_EQ(more.hops, thousand.hops);
  EXPECT_EQ(unaccounted(more), 0);
  EXPECT_EQ(overflowed(more), 0u);
}

TEST(Deadlock, GatesThatCloseAndOpen_AreNone) {
  EXPECT_FALSE(run(bottleneck(), until(2000)).deadlock.has_value());
  EXPECT_FALSE(run(paper_ring(false, 0), until(500)).deadlock.has_value());
}

TEST(Deadlock, FabricWithoutCycle_HasNoneHoweverLoaded) {
  Topology topology = *cbd::leaf_spine({.leaves = 3, .spines = 1, .hosts = 2}, delayed(0.5));
  topology.routes.clear();
  // Nodes: leaves 0 to 2, spine 3, hosts 4 to 9. Everybody sends to host 4.
  for (NodeId host = 5; host < 10; ++host) {
    std::vector<NodeId> path{host, (host - 4) / 2, 3, 0, 4};
    if (host == 5) path = {5, 0, 4};
    ASSERT_TRUE(topology.add_flow("f" + std::to_string(host), path).has_value());
  }
  const RunReport report = run(topology, until(500));
  EXPECT_FALSE(report.deadlock.has_value());
  EXPECT_EQ(unaccounted(report), 0);
  EXPECT_EQ(overflowed(report), 0u);
}

TEST(Deadlock, FlowsOfTwoPriorities_DoNotLock) {
  Topology topology = *cbd::ring(4, 2, delayed(0.25));
  topology.flows[3].priority = 1;
  EXPECT_FALSE(run(topology, until(1000)).deadlock.has_value());
}

TEST(Deadlock, OldestPacketHeld_WaitsUntilTheEnd) {
  RunOptions options = until(1000);
  options.stop_at_deadlock = false;
  const RunReport report = run(*cbd::ring(4, 2, delayed(0.25)), options);
  EXPECT_GT(report.flows[0].oldest_held, 900 * kTheta);
}

}  // namespace
}  // namespace portcullis::pfc::packet
