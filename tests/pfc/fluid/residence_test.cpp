// SPDX-License-Identifier: BSD-3-Clause
//
// Residence against queues whose length is known: waiting is what stands in front, over the rate.
#include "pfc/fluid/residence.hpp"

#include <gtest/gtest.h>

#include "tests/pfc/fluid/runs.hpp"

namespace portcullis::pfc::testing {
namespace {

std::vector<Residence> residence_of(const Topology& topology, double until) {
  FluidOptions options;
  options.discipline = Discipline::Fifo;
  options.until = until;
  options.keeps_history = true;
  return residence(topology, run(topology, options));
}

TEST(Residence, FullQueues_DelayByTwoThresholds) {
  // From t = 2 on two units stand in front of a link of capacity 1.
  const auto found = residence_of(with("seed-2"), 40);
  for (const Residence& flow : found) {
    EXPECT_NEAR(flow.longest, 2, 1e-9);
    EXPECT_NEAR(flow.median, 2, 1e-9);
    EXPECT_EQ(flow.transit, 0);
    EXPECT_NEAR(flow.inside, 1, 1e-9);
    EXPECT_NEAR(flow.oldest_inside, 2, 1e-9);
  }
}

TEST(Residence, WithoutCrossTraffic_IsTheDelayOfThePath) {
  const auto found = residence_of(with("seed-1", {"d=0.25", "stop.g=0"}), 40);
  EXPECT_NEAR(found[0].transit, 1, 1e-12);
  EXPECT_NEAR(found[0].longest, 1, 1e-9);
  EXPECT_NEAR(found[0].median, 1, 1e-9);
  EXPECT_EQ(found[1].longest, 0);
}

/// A host sends to two others over one switch; the way to the second is the narrow one.
Topology one_narrow_way() {
  Topology topology;
  const NodeId from = topology.add_node("h", NodeKind::Host);
  const NodeId middle = topology.add_node("s", NodeKind::Switch);
  for (const double capacity : {1.0, 0.3}) {
    const NodeId to = topology.add_node(capacity == 1 ? "d" : "e", NodeKind::Host);
    if (capacity == 1) topology.add_link(from, middle);
    topology.add_link(middle, to);
    topology.links.back().capacity = capacity;
    EXPECT_TRUE(topology.add_flow(capacity == 1 ? "f" : "g", {from, middle, to}).has_value());
  }
  for (Link& link : topology.links) link.delay = 0.2;
  return topology;
}

TEST(Residence, OfAFlowThatWaitsNowhere_IsItsTransitHoweverOftenItsHostIsPaused) {
  // At most 1 arrives for a link of 1 that f alone has. Sums of f on either side differ by
  // rounding.
  const auto found = residence_of(one_narrow_way(), 50);
  EXPECT_NEAR(found[0].longest, 0.4, 1e-6);
  EXPECT_NEAR(found[0].median, 0.4, 1e-6);
  EXPECT_GE(found[0].inside, 0);
  EXPECT_GT(found[1].longest, 1);
}

TEST(Residence, OfARing_IsTheSameInOtherUnits) {
  const auto in_theta = residence_of(with("ring-3", {"d=0.125"}), 14);
  Topology in_us = with("ring-3", {"d=0.125"});
  for (Link& link : in_us.links) {
    link.xoff *= 40;
    link.xon *= 40;
    link.delay *= 8;
    link.capacity *= 5;
  }
  const auto others = residence_of(in_us, 14 * 8);
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_NEAR(others[i].longest / 8, in_theta[i].longest, 1e-6) << i;
    EXPECT_NEAR(others[i].oldest_inside / 8, in_theta[i].oldest_inside, 1e-6) << i;
  }
}

TEST(Residence, Deadlock_KeepsDataInsideForEver) {
  const auto early = residence_of(with("ring-3", {"d=0.125"}), 30);
  const auto late = residence_of(with("ring-3", {"d=0.125"}), 50);
  EXPECT_GT(early[0].inside, 1);
  EXPECT_NEAR(late[0].oldest_inside - early[0].oldest_inside, 20, 1e-9);
  EXPECT_EQ(late[0].longest, early[0].longest);
}

}  // namespace
}  // namespace portcullis::pfc::testing
