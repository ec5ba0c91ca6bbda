// SPDX-License-Identifier: BSD-3-Clause
//
// Priorities of one link: a packet each, strict, by shares, and packets of several sizes.
#include <gmock/gmock.h>

#include "tests/pfc/packet/fabrics.hpp"

namespace portcullis::pfc::packet {
namespace {

/// Three hosts of their own priorities, 0, 3 and 5, into one link of capacity 1.
Topology three_priorities() {
  Topology topology;
  for (const char* name : {"h0", "h1", "h2"}) topology.add_node(name, NodeKind::Host);
  topology.add_node("a", NodeKind::Switch);
  topology.add_node("h3", NodeKind::Host);
  for (NodeId host = 0; host < 3; ++host) topology.add_link(host, 3);
  topology.add_link(3, 4);
  for (NodeId host = 0; host < 3; ++host) {
    EXPECT_TRUE(topology.add_flow("f" + std::to_string(host), {host, 3, 4}).has_value());
    topology.flows[host].priority = std::vector<std::uint32_t>{0, 3, 5}[host];
  }
  return topology;
}

std::vector<double> shares(const RunReport& report) {
  double sum = 0;
  for (const FlowReport& flow : report.flows) sum += static_cast<double>(flow.delivered_bytes);
  std::vector<double> shares;
  for (const FlowReport& flow : report.flows)
    shares.push_back(static_cast<double>(flow.delivered_bytes) / sum);
  return shares;
}

void expect_shares(const RunReport& report, const std::vector<double>& expected) {
  const std::vector<double> seen = shares(report);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 0.01);
}

RunOptions scheduled(Schedule::Kind kind, std::array<double, kPriorities> weights = {}) {
  RunOptions options = until(500);
  options.schedule = {kind, weights};
  return options;
}

TEST(Schedule, Turns_AreAThirdEach) {
  expect_shares(run(three_priorities(), scheduled(Schedule::Kind::Turns)),
                {1 / 3., 1 / 3., 1 / 3.});
}

TEST(Schedule, Strict_LeavesTheLowerOnesNothing) {
  expect_shares(run(three_priorities(), scheduled(Schedule::Kind::Strict)), {0, 0, 1});
}

TEST(Schedule, StrictWithAHighestThatIsSlow_GivesTheRestToTheNext) {
  Topology topology = three_priorities();
  topology.flows[2].source = rated(0.25);
  expect_shares(run(topology, scheduled(Schedule::Kind::Strict)), {0, 0.75, 0.25});
}

TEST(Schedule, Shares_AreThoseGiven) {
  expect_shares(run(three_priorities(), scheduled(Schedule::Kind::Shares, {10, 0, 0, 30, 0, 60})),
                {0.1, 0.3, 0.6});
}

TEST(Schedule, SharesCountBytes_NotPackets) {
  RunOptions options = scheduled(Schedule::Kind::Shares, {50, 0, 0, 25, 0, 25});
  options.sizes = {{0, 200}, {1, 4000}};
  expect_shares(run(three_priorities(), options), {0.5, 0.25, 0.25});
}

TEST(Schedule, PriorityWithoutAShare_IsStrictAndBeforeTheOthers) {
  Topology topology = three_priorities();
  topology.flows[0].source = rated(0.5);
  expect_shares(run(topology, scheduled(Schedule::Kind::Shares, {0, 0, 0, 80, 0, 20})),
                {0.5, 0.4, 0.1});
}

TEST(Schedule, ShareThatIsNotUsed_GoesToTheOthersAsTheyShare) {
  Topology topology = three_priorities();
  topology.flows[2].source = rated(0.1);
  expect_shares(run(topology, scheduled(Schedule::Kind::Shares, {30, 0, 0, 30, 0, 40})),
                {0.45, 0.45, 0.1});
}

TEST(Schedule, SharesThatAreNoWeights_AreRefused) {
  EXPECT_FALSE(simulate(three_priorities(), scheduled(Schedule::Kind::Shares)).has_value());
  EXPECT_FALSE(
      simulate(three_priorities(), scheduled(Schedule::Kind::Shares, {-1, 0, 0, 2})).has_value());
}

TEST(PacketSizes, TakeTheirTimeEach) {
  // Alone on links of capacity 1: 500 theta hold as many bytes of any size, less one packet on its
  // way.
  RunOptions options = until(500);
  Topology topology = bottleneck();
  topology.links[0].capacity = 1;
  options.sizes = {{0, 4096}};
  const RunReport report = run(topology, options);
  EXPECT_EQ(report.flows[0].delivered_bytes, report.flows[0].delivered * 4096);
  EXPECT_NEAR(static_cast<double>(report.flows[0].delivered_bytes), 500.0 * kThreshold, 2 * 4096);
}

TEST(PacketSizes, OfNothingOrOfNoFlow_AreRefused) {
  RunOptions options = until(1);
  options.sizes = {{0, 0}};
  EXPECT_THAT(simulate(bottleneck(), options).error().text,
              ::testing::HasSubstr("packets of 0 bytes of flow f"));
  options.sizes = {{7, 100}};
  EXPECT_THAT(simulate(bottleneck(), options).error().text, ::testing::HasSubstr("flow 7"));
}

TEST(PacketSizes, LargerThanABuffer_AreRefused) {
  Link link;
  link.buffer = 1.5;
  RunOptions options = until(1);
  options.sizes = {{0, 70'000}};
  EXPECT_THAT(simulate(bottleneck(link), options).error().text,
              ::testing::HasSubstr("holds no packet of 70000"));
}

}  // namespace
}  // namespace portcullis::pfc::packet
