// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers that the ports of a switch share, with and without dynamic thresholds.
#include <gmock/gmock.h>

#include "tests/pfc/packet/fabrics.hpp"

namespace portcullis::pfc::packet {
namespace {

Topology shared(double buffer, double alpha) {
  Link link;
  link.xoff = link.xon = 100;
  Topology topology = bottleneck(link);
  topology.nodes[1].shared_buffer = buffer;
  topology.nodes[1].alpha = alpha;
  return topology;
}

TEST(SharedBuffer, DynamicThreshold_IsAlphaTimesWhatIsFree) {
  // One ingress: it closes at q = alpha (S - q), half of S when alpha is 1, a third with 1/2.
  EXPECT_NEAR(static_cast<double>(run(shared(2, 1), until(100)).ingresses[0].most_bytes),
              kThreshold, 1500);
  EXPECT_NEAR(static_cast<double>(run(shared(3, 0.5), until(100)).ingresses[0].most_bytes),
              kThreshold, 1500);
}

TEST(SharedBuffer, DynamicThreshold_LosesNothingAndKeepsTheLinkBusy) {
  const RunReport report = run(shared(2, 1), until(100));
  EXPECT_EQ(overflowed(report), 0u);
  EXPECT_EQ(report.flows[0].delivered, 100u * 40 - 1);
}

TEST(SharedBuffer, OneIngressThatGivesWay_OpensAnother) {
  // h3 fills its share and stops for good; as that drains, h0 gets more.
  Topology topology = shared(2, 1);
  topology.add_node("h3", NodeKind::Host);
  Link link;
  link.xoff = link.xon = 100;
  topology.add_link(3, 1, link);
  ASSERT_TRUE(topology.add_flow("g", {3, 1, 2}, greedy(0, 20)).has_value());
  const RunReport both = run(topology, until(20));
  EXPECT_LT(both.ingresses[0].most_bytes, kThreshold);
  const RunReport later = run(topology, until(100));
  EXPECT_GT(later.ingresses[0].most_bytes, kThreshold - 3000);
  EXPECT_EQ(unaccounted(later), 0);
}

TEST(SharedBuffer, LossyClass_DropsAndNeverPauses) {
  // cbd says that nothing waits for it; a dynamic threshold must not make it so.
  Topology topology = shared(2, 1);
  for (pfc::Link& link : topology.links) link.xoff = link.xon = kUnlimited;
  const RunReport report = run(topology, until(100));
  EXPECT_EQ(report.ingresses[0].closings, 0u);
  EXPECT_GT(overflowed(report), 0u);
}

TEST(SharedBuffer, WithoutAlpha_IsTheLimitOfAllPortsTogether) {
  const RunReport report = run(shared(2, 0), until(100));
  EXPECT_GT(overflowed(report), 0u);
  EXPECT_EQ(report.ingresses[0].most_bytes, 2 * kThreshold);
}

}  // namespace
}  // namespace portcullis::pfc::packet
