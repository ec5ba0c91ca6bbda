// SPDX-License-Identifier: BSD-3-Clause
//
// What holds whatever the parameters: data is conserved, nothing runs backwards or faster than its
// link, no queue is negative, no ingress exceeds its threshold by more than two delays of data.
#include <gtest/gtest.h>

#include <random>

#include "tests/pfc/fluid/runs.hpp"

namespace portcullis::pfc::testing {
namespace {

Topology random_ring(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&random](double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(random);
  };
  Topology topology = with(seed % 2 == 0 ? "seed-1" : "ring-3");
  for (Link& link : topology.links) {
    link.capacity = draw(0.5, 2);
    link.delay = seed % 3 == 0 ? 0 : draw(0.05, 0.6);
    link.xoff = draw(0.5, 2);
    link.xon = seed % 5 == 0 ? link.xoff : link.xoff * draw(0.3, 1);
  }
  for (Flow& flow : topology.flows) {
    flow.source.start = draw(0, 2);
    flow.source.kind = draw(0, 1) < 0.3 ? SourceKind::Rate : SourceKind::Greedy;
    flow.source.rate = draw(0.1, 1.2);
  }
  return topology;
}

void expect_lawful(const Topology& topology, const FluidRun& found, double step, double slack) {
  ASSERT_FALSE(found.samples.empty());
  std::vector<double> before(found.hops.size(), 0);
  for (const FluidSample& sample : found.samples) {
    for (std::size_t slot = 0; slot < found.hops.size(); ++slot) {
      const double capacity = topology.links[found.hops[slot].link].capacity;
      EXPECT_GE(sample.arrived[slot], sample.served[slot] - slack) << sample.time;
      EXPECT_GE(sample.served[slot], before[slot] - slack) << sample.time;
      EXPECT_LE(sample.served[slot], before[slot] + capacity * step + slack) << sample.time;
      const bool is_first = found.hops[slot].hop == 0;
      const double sent = is_first ? sample.arrived[slot] : sample.served[slot - 1];
      EXPECT_LE(sample.arrived[slot], sent + slack) << sample.time;
    }
    before = sample.served;
  }
  for (std::size_t link = 0; link < topology.links.size(); ++link) {
    const Link& of = topology.links[link];
    EXPECT_LE(found.peak[link], of.xoff + 2 * of.delay * of.capacity + slack) << of.name;
  }
}

class Laws : public ::testing::TestWithParam<unsigned> {};

TEST_P(Laws, HoldUnderFifo) {
  const Topology topology = random_ring(GetParam());
  expect_lawful(topology, run(topology, sampled(20, 0.25, Discipline::Fifo)), 0.25, 1e-9);
}

TEST_P(Laws,
       HoldUnderProportionalShare) {  // delayed rates are those of cubics: docs/pfc.md, accuracy
  const Topology topology = random_ring(GetParam());
  FluidOptions options = sampled(20, 0.25, Discipline::Proportional);
  options.tolerance = 1e-10;
  expect_lawful(topology, run(topology, options), 0.25, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Laws, ::testing::Range(0u, 40u));

}  // namespace
}  // namespace portcullis::pfc::testing
