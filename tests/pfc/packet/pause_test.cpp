// SPDX-License-Identifier: BSD-3-Clause
//
// PAUSE: when gates close and open, what is still under way then, and how much headroom that takes.
#include <gmock/gmock.h>

#include "tests/pfc/packet/fabrics.hpp"

namespace portcullis::pfc::packet {
namespace {

/// The bytes that the ingress of h0-a came to.
std::int64_t most(const Topology& topology, const RunOptions& options) {
  return run(topology, options).ingresses[0].most_bytes;
}

TEST(Pause, WithoutDelay_TakesNoMoreThanThePacketOnTheWire) {
  EXPECT_EQ(most(bottleneck(), until(100)), kThreshold + 1000);
}

TEST(Pause, Headroom_IsWhatComesInTwoDelaysAndDoesNotLeave) {
  // Twice the capacity comes in and once the capacity leaves: 2 * 0.25 thresholds above the first.
  const std::int64_t bytes = most(bottleneck(delayed(0.25)), until(100));
  EXPECT_NEAR(static_cast<double>(bytes), 1.5 * kThreshold, 1000);
}

TEST(Pause, EnoughHeadroom_LosesNothing) {
  Link link = delayed(0.25);
  link.buffer = 1.55;
  const RunReport report = run(bottleneck(link), until(1000));
  EXPECT_EQ(overflowed(report), 0u);
  EXPECT_EQ(unaccounted(report), 0);
}

TEST(Pause, TooLittleHeadroom_LosesPackets) {
  Link link = delayed(0.25);
  link.buffer = 1.25;
  const RunReport report = run(bottleneck(link), until(1000));
  EXPECT_GT(overflowed(report), 0u);
  EXPECT_EQ(unaccounted(report), 0);
  EXPECT_LE(report.ingresses[0].most_bytes, kThreshold * 5 / 4);
}

TEST(Pause, Response_AddsToTheDelay) {
  RunOptions options = until(100);
  options.response = kTheta / 4;
  const std::int64_t bytes = most(bottleneck(), options);
  EXPECT_NEAR(static_cast<double>(bytes), 1.25 * kThreshold, 1000);
}

TEST(Pause, InBand_WaitsForThePacketThatIsBeingSent) {
  // h1 keeps the link back busy, so a PAUSE waits up to one packet and takes 84 bytes itself.
  Topology topology = bottleneck();
  topology.add_link(1, 0);
  topology.add_link(2, 1);
  ASSERT_TRUE(topology.add_flow("g", {2, 1, 0}).has_value());
  RunOptions options = until(1000);
  EXPECT_EQ(most(topology, options), kThreshold + 1000);
  options.pause_in_band = true;
  EXPECT_GT(most(topology, options), kThreshold + 1000);
  EXPECT_LE(most(topology, options), kThreshold + 4000);
}

TEST(Pause, Hysteresis_MakesFewerAndLongerPauses) {
  Link link = delayed(0.05);
  const RunReport narrow = run(bottleneck(link), until(200));
  link.xon = 0.5;
  const RunReport wide = run(bottleneck(link), until(200));
  EXPECT_LT(wide.ingresses[0].closings, narrow.ingresses[0].closings / 2);
  EXPECT_EQ(wide.flows[0].delivered, narrow.flows[0].delivered);
}

TEST(Pause, ClosedTime_IsTheShareThatTheSourceHasTooMuch) {
  // Twice the capacity comes in, so the gate is closed half of the time; thresholds far apart keep
  // the packets' size out of it.
  Link link;
  link.xon = 0.5;
  const RunReport report = run(bottleneck(link), until(1000));
  EXPECT_NEAR(static_cast<double>(report.ingresses[0].closed), 500.0 * kTheta, 25.0 * kTheta);
}

TEST(Pause, LinkWithUnlimitedXoff_NeverPauses) {
  Link link;
  link.xoff = link.xon = kUnlimited;
  const RunReport report = run(bottleneck(link), until(100));
  EXPECT_EQ(report.ingresses[0].closings, 0u);
  EXPECT_NEAR(static_cast<double>(report.ingresses[0].bytes), 100.0 * kThreshold, 2000);
}

}  // namespace
}  // namespace portcullis::pfc::packet
