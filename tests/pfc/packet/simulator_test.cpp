// SPDX-License-Identifier: BSD-3-Clause
//
// Packets from end to end: when they arrive, how links are shared, that none is lost or made, and
// that a run is the same every time.
#include "pfc/packet/simulator.hpp"

#include <gmock/gmock.h>

#include "tests/pfc/packet/fabrics.hpp"

namespace portcullis::pfc::packet {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Simulator, OnePacket_TakesItsTimesOnTheWireAndTheDelays) {
  Link like;
  like.delay = 0.5;
  Topology topology = bottleneck(like);
  topology.flows[0].source = offered({{0, 0}, {0.025, 0.025}});
  const RunReport report = run(topology, until(10));
  EXPECT_EQ(report.flows[0].delivered, 1u);
  EXPECT_EQ(report.flows[0].greatest_residence, kPacket / 2 + kPacket + kTheta);
  EXPECT_EQ(report.hops, 2u);
}

TEST(Simulator, Bottleneck_RunsAtItsCapacity) {
  const RunReport report = run(bottleneck(), until(100));
  // The first packet takes half a packet time to the switch; then the link is never idle.
  EXPECT_EQ(report.flows[0].delivered, 100u * 40 - 1);
}

TEST(Simulator, TwoGreedyFlows_ShareALinkEvenly) {
  Topology topology;
  for (const char* name : {"h0", "h1", "h2"}) topology.add_node(name, NodeKind::Host);
  topology.add_node("a", NodeKind::Switch);
  topology.add_link(0, 3);
  topology.add_link(1, 3);
  topology.add_link(3, 2);
  ASSERT_TRUE(topology.add_flow("f", {0, 3, 2}).has_value());
  ASSERT_TRUE(topology.add_flow("g", {1, 3, 2}).has_value());
  const RunReport report = run(topology, until(1000));
  EXPECT_NEAR(static_cast<double>(report.flows[0].delivered), 20'000, 40);
  EXPECT_NEAR(static_cast<double>(report.flows[1].delivered), 20'000, 40);
}

TEST(Simulator, TwoFlowsOfOneHost_TakeTurns) {
  Topology topology = bottleneck();
  topology.flows.push_back(topology.flows[0]);
  topology.flows[1].name = "g";
  const RunReport report = run(topology, until(100));
  EXPECT_NEAR(static_cast<double>(report.flows[0].delivered), 2000, 1);
  EXPECT_NEAR(static_cast<double>(report.flows[1].delivered), 2000, 1);
}

TEST(Simulator, TwoPriorities_TakeTurnsAndAreCountedApart) {
  Topology topology = bottleneck();
  topology.flows.push_back(topology.flows[0]);
  topology.flows[1].name = "g";
  topology.flows[1].priority = 5;
  const RunReport report = run(topology, until(100));
  EXPECT_NEAR(static_cast<double>(report.flows[1].delivered), 2000, 1);
  ASSERT_THAT(report.ingresses, SizeIs(4));
  EXPECT_EQ(report.ingresses[1].priority, 5u);
  EXPECT_GE(report.ingresses[1].most_bytes, kThreshold);
}

TEST(Simulator, RateSource_DeliversItsRate) {
  Topology topology = bottleneck();
  topology.flows[0].source = rated(0.25);
  const RunReport report = run(topology, until(100));
  EXPECT_NEAR(static_cast<double>(report.flows[0].delivered), 1000, 1);
  EXPECT_EQ(report.ingresses[0].closings, 0u);
}

TEST(Simulator, RateLimit_HoldsAGreedyFlowBack) {
  RunOptions options = until(100);
  options.limits = {{.flow = 0, .rate = 0.1}};
  EXPECT_NEAR(static_cast<double>(run(bottleneck(), options).flows[0].delivered), 400, 1);
}

TEST(Simulator, SeedRingWithoutDelay_RunsBothFlowsAtHalfRate) {
  // HotNets 2016: only B-C and D-A are ever paused, and both flows run at half the capacity.
  const RunReport report = run(paper_ring(false, 0), until(1000));
  EXPECT_FALSE(report.deadlock.has_value());
  EXPECT_NEAR(static_cast<double>(report.flows[0].delivered), 20'000, 100);
  EXPECT_NEAR(static_cast<double>(report.flows[1].delivered), 20'000, 100);
  EXPECT_EQ(report.ingresses[2].closings, 0u);   // sw0-sw1
  EXPECT_GT(report.ingresses[6].closings, 0u);   // sw1-sw2
  EXPECT_EQ(report.ingresses[10].closings, 0u);  // sw2-sw3
  EXPECT_GT(report.ingresses[14].closings, 0u);  // sw3-sw0
}

TEST(Simulator, LosslessRing_LosesNothingAndForgetsNothing) {
  const RunReport report = run(paper_ring(false, 0.5), until(500));
  EXPECT_EQ(unaccounted(report), 0);
  EXPECT_EQ(overflowed(report), 0u);
  EXPECT_GT(report.flows[0].held, 0u);
}

TEST(Simulator, IngressBytesAtTheEnd_AreThoseOfPacketsHeld) {
  const RunReport report = run(paper_ring(true, 0.125), until(500));
  std::int64_t bytes = 0;
  for (const IngressReport& ingress : report.ingresses) bytes += ingress.bytes;
  std::uint64_t held = 0;
  for (const FlowReport& flow : report.flows) held += flow.held;
  EXPECT_LE(bytes, static_cast<std::int64_t>(held) * 1000);
  EXPECT_GE(bytes, 4 * kThreshold);
}

TEST(Simulator, SameRunTwice_IsTheSame) {
  const Topology topology = paper_ring(true, 0.3);
  RunOptions options = until(300);
  options.stop_at_deadlock = false;
  options.pause_in_band = true;
  const RunReport first = run(topology, options);
  const RunReport second = run(topology, options);
  EXPECT_EQ(first.events, second.events);
  EXPECT_EQ(first.hops, second.hops);
  EXPECT_EQ(first.flows[2].delivered, second.flows[2].delivered);
  EXPECT_EQ(first.deadlock.has_value(), second.deadlock.has_value());
}

TEST(Simulator, Residence_HasEveryDeliveredPacket) {
  RunOptions options = until(50);
  options.with_residence = true;
  const RunReport report = run(bottleneck(), options);
  ASSERT_TRUE(report.flows[0].residence.has_value());
  EXPECT_EQ(report.flows[0].residence->count(), report.flows[0].delivered);
  EXPECT_EQ(report.flows[0].residence->max_ns(),
            static_cast<std::uint64_t>(report.flows[0].greatest_residence / 1000));
}

TEST(Simulator, Samples_FollowTheServiceCurve) {
  RunOptions options = until(10);
  options.sample_every = kTheta;
  const RunReport report = run(bottleneck(), options);
  ASSERT_THAT(report.samples, SizeIs(11));
  EXPECT_EQ(report.samples[0].delivered_bytes[0], 0u);
  EXPECT_NEAR(static_cast<double>(report.samples[5].delivered_bytes[0]), 5.0 * kThreshold, 2000);
}

TEST(Simulator, ProgressThatSaysNo_EndsTheRun) {
  RunOptions options = until(1e6);
  options.progress = [](Picoseconds) { return false; };
  const RunReport report = run(bottleneck(), options);
  EXPECT_TRUE(report.is_stopped);
  EXPECT_LT(report.end, options.until);
}

TEST(Simulator, OptionsThatDoNotFit_AreRefusedByName) {
  const auto refusal = [](const RunOptions& options) {
    return simulate(bottleneck(), options).error().text;
  };
  EXPECT_THAT(refusal(until(0)), HasSubstr("a time above 0"));
  RunOptions options = until(1);
  options.packet_bytes = 0;
  EXPECT_THAT(refusal(options), HasSubstr("packets of 0 bytes"));
  options = until(1);
  options.limits = {{.flow = 1, .rate = 1}};
  EXPECT_THAT(refusal(options), HasSubstr("rate limit of flow 1; 0 to 0,"));
  options.limits = {{.flow = 0, .rate = 0}};
  EXPECT_THAT(refusal(options), HasSubstr("rate limit 0 of flow f"));
}

TEST(Simulator, SourceThatNobodyCanCount_IsRefused) {
  Topology fast = bottleneck();
  fast.flows[0].source = rated(1e300);
  EXPECT_THAT(simulate(fast, until(1)).error().text,
              HasSubstr("packets offered by the end; at most 9e+15"));
  fast.flows[0].source = offered({{1, 1e300}});
  EXPECT_THAT(simulate(fast, until(1)).error().text, HasSubstr("packets offered by the end"));
}

TEST(Simulator, DelayOfHours_IsRefused) {
  Link slow;
  slow.delay = 2e9;  // of 8 us
  EXPECT_THAT(simulate(bottleneck(slow), until(1)).error().text,
              HasSubstr("16000 s; at most 9000 s are accepted"));
}

TEST(Simulator, TopologyWithoutFlows_IsRefused) {
  EXPECT_THAT(simulate(*cbd::fat_tree(4, true), until(1)).error().text, HasSubstr("no flows"));
}

TEST(Simulator, BufferThatHoldsNoPacket_IsRefused) {
  Link small;
  small.xoff = small.xon = small.buffer = 0.01;
  EXPECT_THAT(simulate(bottleneck(small), until(1)).error().text,
              HasSubstr("link h0-a: a buffer of 400 bytes holds no packet of 1000"));
}

}  // namespace
}  // namespace portcullis::pfc::packet
