// SPDX-License-Identifier: BSD-3-Clause
//
// Routing loops: packets go round until their TTL ends, and lock the loop exactly when more comes
// in than the loop can carry round that often (Hu et al., HotNets 2016, case 1: deadlock iff the
// injection rate exceeds n B / TTL).
#include <gmock/gmock.h>

#include "tests/pfc/packet/fabrics.hpp"

namespace portcullis::pfc::packet {
namespace {

constexpr std::uint32_t kTtl = 17;  // one link to the loop, sixteen within

/// h0 -> a <-> b, data for h1 goes to and fro between the two for ever.
Topology loop(double rate) {
  Topology topology = two_switches();
  Link link;
  link.delay = 0.05;
  topology.add_link(0, 1, link);
  topology.add_link(1, 2, link);
  topology.add_link(2, 1, link);
  topology.add_link(2, 3, link);
  topology.routes = {{0, 3, 0}, {1, 3, 1}, {2, 3, 2}};
  Flow flow;
  flow.name = "f";
  flow.from = 0;
  flow.to = 3;
  flow.ttl = kTtl;
  flow.source = rated(rate);
  topology.flows.push_back(flow);
  return topology;
}

constexpr double kLimit = 2.0 / (kTtl - 1);  // n B / links that a packet takes within the loop

TEST(RoutingLoop, Packet_TakesAsManyLinksAsItsTtl) {
  Topology topology = loop(0);
  topology.flows[0].source = offered({{0, 0}, {0.025, 0.025}});
  const RunReport report = run(topology, until(100));
  EXPECT_EQ(report.hops, kTtl);
  EXPECT_EQ(report.flows[0].expired, 1u);
  EXPECT_EQ(unaccounted(report), 0);
}

TEST(RoutingLoop, HostWithOneLink_NeedsNoRoute) {
  Topology topology = loop(0.5 * kLimit);
  topology.routes.erase(topology.routes.begin());
  EXPECT_GT(run(topology, until(1000)).flows[0].expired, 100u);
}

TEST(RoutingLoop, FlowWithoutAWay_IsRefused) {
  Topology topology = loop(0.5 * kLimit);
  topology.routes = {{1, 3, 1}};
  topology.add_link(2, 0);
  EXPECT_THAT(simulate(topology, until(1)).error().text,
              ::testing::HasSubstr("flow f: neither a path nor routes from h0 to h1"));
}

TEST(RoutingLoop, BelowTheLimit_Lives) {
  const RunReport report = run(loop(0.95 * kLimit), until(5000));
  EXPECT_FALSE(report.deadlock.has_value());
  EXPECT_NEAR(static_cast<double>(report.flows[0].expired), 0.95 * kLimit * 40 * 5000, 100);
  EXPECT_EQ(unaccounted(report), 0);
}

TEST(RoutingLoop, AboveTheLimit_Locks) {
  const RunReport report = run(loop(1.05 * kLimit), until(20'000));
  ASSERT_TRUE(report.deadlock.has_value());
  EXPECT_THAT(report.deadlock->cycle, ::testing::UnorderedElementsAre(1u, 2u));
}

TEST(RoutingLoop, RateLimitBelowTheLimit_Unlocks) {
  RunOptions options = until(5000);
  EXPECT_TRUE(run(loop(1), options).deadlock.has_value());
  options.limits = {{.flow = 0, .rate = 0.95 * kLimit}};
  EXPECT_FALSE(run(loop(1), options).deadlock.has_value());
}

TEST(Ttl, ShorterThanThePath_EndsThePacketOnTheWay) {
  Topology topology = bottleneck();
  topology.flows[0].ttl = 1;
  const RunReport report = run(topology, until(10));
  EXPECT_EQ(report.flows[0].delivered, 0u);
  EXPECT_GT(report.flows[0].expired, 100u);
}

TEST(Ttl, AsLongAsThePath_Delivers) {
  Topology topology = bottleneck();
  topology.flows[0].ttl = 2;
  const RunReport report = run(topology, until(10));
  EXPECT_GT(report.flows[0].delivered, 300u);
  EXPECT_EQ(report.flows[0].expired, 0u);
}

}  // namespace
}  // namespace portcullis::pfc::packet
