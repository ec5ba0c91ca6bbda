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

INSTANTIATE_TEST_SUITE_P(Mtu, Headroom, ::testing::Values(1000U, 4096U, 9000U),
                         [](const auto& of) { return std::to_string(of.param); });

}  // namespace
}  // namespace portcullis::pfc::bound
