// SPDX-License-Identifier: BSD-3-Clause
//
// Headroom as docs/pfc.md states it, against the packet simulator: with it nothing is lost, with a
// byte less something is, at every size of packets.
#include <gmock/gmock.h>

#include <string>

#include "pfc/bound/pause_times.hpp"
#include "pfc/packet/simulator.hpp"

namespace portcullis::pfc::bound {
namespace {

constexpr double kDelay = 0.125;  // 1 us, 5000 bytes
constexpr double kMoments = 48;   // of a packet: how the link back happens to be busy
constexpr packet::Picoseconds kUnit = 8'000'000;

/// h0 -> a -> b -> h1, whose last link is so slow that b keeps the one before it paused: what comes
/// to a from h0 stays there. Data of h2 for h0 keeps the link back busy from `moment` on, which
/// decides how long a PAUSE waits there.
Topology fabric(double moment) {
  Topology topology;
  for (const char* name : {"h0", "h1", "h2"}) topology.add_node(name, NodeKind::Host);
  for (const char* name : {"a", "b"}) topology.add_node(name, NodeKind::Switch);
  Link link;
  link.delay = kDelay;
  link.capacity = 2;
  topology.add_link(0, 3, link);
  topology.add_link(3, 0, link);
  topology.add_link(2, 3, link);
  topology.add_link(3, 4, link);
  link.capacity = 0.02;
  topology.add_link(4, 1, link);
  EXPECT_TRUE(topology.add_flow("f", {0, 3, 4, 1}).has_value());
  Source back;
  back.start = moment;
  EXPECT_TRUE(topology.add_flow("g", {2, 3, 0}, back).has_value());
  return topology;
}

/// Packets lost with this buffer, whatever the moment.
std::uint64_t lost(std::uint32_t packet_bytes, double buffer_bytes) {
  std::uint64_t sum = 0;
  for (double i = 0; i < kMoments; ++i) {
    Topology topology = fabric(i / kMoments * packet_bytes / 40'000);
    topology.links[0].buffer = buffer_bytes / topology.units.data_bytes;
    packet::RunOptions options;
    options.until = 30 * kUnit;
    options.packet_bytes = packet_bytes;
    const auto report = packet::simulate(topology, options);
    EXPECT_TRUE(report.has_value());
    sum += report->flows[0].overflowed;
  }
  return sum;
}

class Headroom : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Headroom, AsStated_LosesNothing) {
  const PauseTimes times(fabric(0), {.packet_bytes = GetParam()});
  EXPECT_EQ(lost(GetParam(), 40'000 + times.headroom_bytes(0)), 0u);
}

TEST_P(Headroom, OneByteLess_LosesPackets) {
  const PauseTimes times(fabric(0), {.packet_bytes = GetParam()});
  EXPECT_GT(lost(GetParam(), 40'000 + times.headroom_bytes(0) - 1), 0u);
}

TEST_P(Headroom, IsWithinTheSumOfItsParts) {
  // Two packets at the ends, one and a PAUSE on the link back, two delays; at two units of
  // capacity.
  const double parts = 2.0 * GetParam() + GetParam() + 84 + 2 * kDelay * 2 * 40'000;
  const PauseTimes times(fabric(0), {.packet_bytes = GetParam()});
  EXPECT_LE(times.headroom_bytes(0), parts);
  EXPECT_GT(times.headroom_bytes(0), parts - 2.0 * GetParam());
}

/// Two priorities from h: o0 takes half of what comes, and data of g keeps the link back busy,
/// which has `back` Gb/s of the 100 of the link.
Topology of_two_priorities(double back) {
  Topology topology;
  topology.units = {.time_s = 1e-6, .data_bytes = 125};
  const NodeId h = topology.add_node("h", NodeKind::Host);
  const NodeId s = topology.add_node("s", NodeKind::Switch);
  const NodeId g = topology.add_node("g", NodeKind::Host);
  const NodeId half = topology.add_node("o0", NodeKind::Host);
  const NodeId whole = topology.add_node("o1", NodeKind::Host);
  const auto add = [&](NodeId from, NodeId to, double capacity) {
    Link link;
    link.capacity = capacity;
    link.xoff = link.xon = kUnlimited;
    return topology.add_link(from, to, link);
  };
  Link& watched = topology.links[add(h, s, 100)];
  watched.xoff = 2.048;  // a packet of 256 bytes
  watched.xon = 1.024;
  add(s, h, back);
  add(g, s, back);
  add(s, half, 50);
  add(s, whole, 100);
  for (const char* name : {"f0.0", "f0.1"})
    EXPECT_TRUE(topology.add_flow(name, {h, s, whole}).has_value());
  for (const char* name : {"f1.0", "f1.1"})
    EXPECT_TRUE(topology.add_flow(name, {h, s, half}).has_value());
  EXPECT_TRUE(topology.add_flow("r", {g, s, h}).has_value());
  for (std::size_t flow = 2; flow < 5; ++flow) topology.flows[flow].priority = 1;
  return topology;
}

/// docs/pfc.md: two MTU at the ends, and what comes while an MTU and a frame go back, beside two
/// frames and one for each priority.
double stated_for_two(double back) { return 2 * 256 + 100 * (256 + 84 + 4 * 84) / back; }

std::uint64_t lost_of_two(double back, double headroom_bytes) {
  Topology topology = of_two_priorities(back);
  topology.links[0].buffer = (256 + headroom_bytes) / 125;
  packet::RunOptions options;
  options.until = 50'000'000;
  options.packet_bytes = 256;
  const auto report = packet::simulate(topology, options);
  EXPECT_TRUE(report.has_value());
  std::uint64_t sum = 0;
  for (const packet::FlowReport& flow : report->flows) sum += flow.overflowed;
  return sum;
}

/// 2 * 84 bytes at 70 Gb/s take less than 256 at 100.
TEST(HeadroomOfPriorities, LinkBackThatTakesTheFrames_LosesNothing) {
  for (const double back : {70.0, 100.0, 400.0}) {
    const PauseTimes times(of_two_priorities(back), {.packet_bytes = 256});
    EXPECT_LE(times.headroom_bytes(0), stated_for_two(back));
    EXPECT_EQ(lost_of_two(back, times.headroom_bytes(0)), 0u) << back;
  }
}

/// At 25 Gb/s they take more: frames wait for frames, and no such sum is enough.
TEST(HeadroomOfPriorities, FramesThatFillTheLinkBack_HaveNone) {
  EXPECT_GT(lost_of_two(25, stated_for_two(25)), 0u);
  const PauseTimes times(of_two_priorities(25), {.packet_bytes = 256});
  EXPECT_EQ(times.headroom_bytes(0), kUnlimited);
}

INSTANTIATE_TEST_SUITE_P(Mtu, Headroom, ::testing::Values(1000U, 4096U, 9000U),
                         [](const auto& of) { return std::to_string(of.param); });

}  // namespace
}  // namespace portcullis::pfc::bound
