// SPDX-License-Identifier: BSD-3-Clause
//
// PAUSE that expires: 512 bit times a quantum, said again while the gate is closed.
#include <gmock/gmock.h>

#include "tests/pfc/packet/fabrics.hpp"

namespace portcullis::pfc::packet {
namespace {

/// A link of capacity 1 sends 40 Gb/s, so 512 bits take 12.8 ns.
constexpr Picoseconds kQuantum = 12'800;

/// h0 -> a -> h1, where h1 holds the link to it from 10 to 20 theta.
Topology storming() {
  Topology topology = bottleneck();
  topology.links[0].capacity = 1;
  return topology;
}

RunOptions stormed(std::uint32_t quanta) {
  RunOptions options = until(100);
  options.pause_timer.quanta = quanta;
  options.storms = {{2, 0, 10 * kTheta, 20 * kTheta}};
  return options;
}

TEST(Quanta, StormThatEnds_HoldsTheLinkUntilTheLastPauseRunsOut) {
  // It is said again every 1000 quanta, 12.8 us; the last time before 160 us at 156.8 us, which
  // holds for 2000 quanta: until 182.4 us, 22.8 theta.
  const RunReport report = run(storming(), stormed(2000));
  const double idle = 100 * 40 - static_cast<double>(report.flows[0].delivered);
  EXPECT_NEAR(idle, 12.8 * 40, 2);
  EXPECT_EQ(report.run_out, 1u);
}

TEST(Quanta, WithoutQuanta_TheStormEndsWithAResume) {
  const RunReport report = run(storming(), stormed(0));
  const double idle = 100 * 40 - static_cast<double>(report.flows[0].delivered);
  EXPECT_NEAR(idle, 10 * 40, 2);
  EXPECT_EQ(report.run_out, 0u);
}

TEST(Quanta, GreatestValue_HoldsFor838Microseconds) {
  RunOptions options = stormed(65'535);
  options.storms[0].to = options.storms[0].from + 1;
  options.until = 200 * kTheta;
  const RunReport report = run(storming(), options);
  const double idle = 200 * 40 - static_cast<double>(report.flows[0].delivered);
  EXPECT_NEAR(idle, 65'535.0 * kQuantum / kPacket, 3);
}

TEST(Quanta, SaidAgainInTime_ChangeNothing) {
  RunOptions options = until(500);
  const RunReport held = run(paper_ring(false, 0.1), options);
  options.pause_timer.quanta = 40;
  const RunReport quanta = run(paper_ring(false, 0.1), options);
  EXPECT_GT(quanta.refreshed, 0u);
  EXPECT_EQ(quanta.run_out, 0u);
  EXPECT_EQ(quanta.hops, held.hops);
  EXPECT_EQ(quanta.flows[0].greatest_residence, held.flows[0].greatest_residence);
}

TEST(Quanta, DeadlockIsFoundThroughPausesThatAreSaidAgain) {
  RunOptions options = until(500);
  options.pause_timer.quanta = 1000;
  options.pause_in_band = true;
  const RunReport report = run(paper_ring(true, 0.125), options);
  ASSERT_TRUE(report.deadlock.has_value());
  EXPECT_EQ(report.deadlock->cycle.size(), 4u);
  EXPECT_EQ(report.loose_links, 0u);
}

TEST(Quanta, PauseThatRunsOutFirst_LocksNothingAndSaysSo) {
  RunOptions options = until(500);
  options.pause_timer = {100, 200};
  options.stop_at_deadlock = false;
  const RunReport report = run(paper_ring(true, 0.125), options);
  EXPECT_FALSE(report.deadlock.has_value());
  EXPECT_EQ(report.loose_links, paper_ring(true, 0.125).links.size());
  EXPECT_GT(report.run_out, 0u);
}

TEST(Quanta, OneQuantum_IsShorterThanAPacketAndHoldsNothing) {
  RunOptions options = until(50);
  options.pause_in_band = true;
  options.pause_timer.quanta = 1;
  const RunReport report = run(paper_ring(true, 0.125), options);
  EXPECT_FALSE(report.deadlock.has_value());
  EXPECT_EQ(unaccounted(report), 0);
}

TEST(Quanta, OneQuantumAtOnce_IsSaidAgainInTimeAndLocks) {
  // Said again every half a quantum, on no wire and without delay: it never runs out.
  RunOptions options = until(300);
  const RunReport held = run(paper_ring(true, 0), options);
  options.pause_timer.quanta = 1;
  const RunReport report = run(paper_ring(true, 0), options);
  ASSERT_TRUE(held.deadlock.has_value());
  ASSERT_TRUE(report.deadlock.has_value());
  EXPECT_EQ(report.deadlock->time, held.deadlock->time);
  EXPECT_EQ(report.run_out, 0u);
  EXPECT_EQ(report.loose_links, 0u);
}

TEST(Quanta, SaidAgainWhenTheyRunOut_ComeTooLateAndThatIsSaid) {
  RunOptions options = until(100);
  options.pause_timer = {3, 3};
  const RunReport report = run(paper_ring(true, 0), options);
  EXPECT_FALSE(report.deadlock.has_value());
  EXPECT_EQ(report.loose_links, paper_ring(true, 0).links.size());
}

TEST(Quanta, MoreThan16Bits_AreRefused) {
  RunOptions options = until(1);
  options.pause_timer.quanta = 65'536;
  EXPECT_THAT(simulate(bottleneck(), options).error().text, ::testing::HasSubstr("65536 quanta"));
}

TEST(Storm, OfOneNic_SpreadsToWhoSendsElsewhere) {
  // g shares the ingress behind h0 with f, which goes to the NIC that storms.
  Topology topology = bottleneck();
  topology.add_node("h2", NodeKind::Host);
  topology.add_link(1, 3);
  ASSERT_TRUE(topology.add_flow("g", {0, 1, 3}).has_value());
  RunOptions options = until(200);
  const RunReport before = run(topology, options);
  options.storms = {{2, 0, 0, 400 * kTheta}};
  const RunReport during = run(topology, options);
  EXPECT_LT(during.flows[1].delivered, before.flows[1].delivered / 10);
  EXPECT_FALSE(during.deadlock.has_value());
  EXPECT_EQ(during.ingresses[1].closed, 200 * kTheta);
}

TEST(Storm, OfAPriorityOrNodeThatIsNone_IsRefused) {
  RunOptions options = until(1);
  options.storms = {{2, 5, 0, 1}};
  EXPECT_THAT(simulate(bottleneck(), options).error().text, ::testing::HasSubstr("priority 5"));
  options.storms = {{1, 0, 0, 1}};
  EXPECT_THAT(simulate(bottleneck(), options).error().text, ::testing::HasSubstr("no host"));
  options.storms = {{2, 0, 5, 5}};
  EXPECT_THAT(simulate(bottleneck(), options).error().text, ::testing::HasSubstr("ascend"));
}

}  // namespace
}  // namespace portcullis::pfc::packet
