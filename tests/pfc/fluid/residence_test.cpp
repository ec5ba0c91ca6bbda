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

TEST(Residence, Deadlock_KeepsDataInsideForEver) {
  const auto early = residence_of(with("ring-3", {"d=0.125"}), 30);
  const auto late = residence_of(with("ring-3", {"d=0.125"}), 50);
  EXPECT_GT(early[0].inside, 1);
  EXPECT_NEAR(late[0].oldest_inside - early[0].oldest_inside, 20, 1e-9);
  EXPECT_EQ(late[0].longest, early[0].longest);
}

}  // namespace
}  // namespace portcullis::pfc::testing
