// SPDX-License-Identifier: BSD-3-Clause
//
// One fabric in several units is one fabric: everything scales, and nothing is rounded on the way.
#include "pfc/fluid/scale.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/pfc/fluid/runs.hpp"

namespace portcullis::pfc::testing {
namespace {

/// ring-3 with delays of 1/8, in units of which `time` and `data` make one of the seed's; one flow
/// begins `later`.
Topology ring_in(double time, double data, double later = 0) {
  Topology topology = with("ring-3", {"d=0.125"});
  for (Link& link : topology.links) {
    link.delay *= time;
    link.capacity *= data / time;
    link.xoff *= data;
    link.xon *= data;
  }
  topology.flows[1].source.start = later * time;
  return topology;
}

struct Units {
  const char* name;
  double time, data;
};

class InUnits : public ::testing::TestWithParam<Units> {};

TEST_P(InUnits, Ring_LocksWhenAndWithWhatItDoesInThoseOfTheSeed) {
  const auto& [name, time, data] = GetParam();
  for (const Discipline discipline : {Discipline::Fifo, Discipline::Proportional}) {
    const FluidRun seed = run(ring_in(1, 1), sampled(60, 4, discipline));
    const FluidRun found = run(ring_in(time, data), sampled(60 * time, 4 * time, discipline));
    ASSERT_TRUE(seed.deadlock.has_value());
    ASSERT_TRUE(found.deadlock.has_value());
    // Proportional share is as exact as its steps (docs/pfc.md): swings grow.
    EXPECT_NEAR(found.deadlock->time / time, seed.deadlock->time, 2e-3);
    EXPECT_EQ(found.deadlock->cycle, seed.deadlock->cycle);
    for (std::size_t slot = 0; slot < seed.hops.size(); ++slot) {
      EXPECT_NEAR(found.samples.back().served[slot] / data, seed.samples.back().served[slot], 1e-3);
      EXPECT_NEAR(found.peak[seed.hops[slot].link] / data, seed.peak[seed.hops[slot].link], 1e-3);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scale, InUnits,
                         ::testing::Values(Units{"SecondsAndGigabytes", 8e-6, 4e-5},
                                           Units{"NanosecondsAndBytes", 8e3, 4e4},
                                           Units{"MicrosecondsAndKilobytes", 8, 40},
                                           Units{"FarApart", 1e-12, 1e9}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Scale, OfThresholdsAndLinksNearOne_IsOne) {
  for (const char* name : {"seed-1", "seed-2", "seed-3", "seed-4", "ring-3"})
    EXPECT_TRUE(scale_of(with(name)).is_one()) << name;
}

TEST(Scale, PowersOfTwo_ComeBackToTheLastBit) {
  const Topology topology = ring_in(std::ldexp(1.0, -20), std::ldexp(1.0, 30), 0.3);
  const FluidRun found =
      run(topology, sampled(std::ldexp(60.0, -20), std::ldexp(60.0, -20), Discipline::Fifo));
  const FluidRun seed = run(ring_in(1, 1, 0.3), sampled(60, 60, Discipline::Fifo));
  EXPECT_EQ(std::ldexp(found.deadlock->time, 20), seed.deadlock->time);
  for (std::size_t slot = 0; slot < seed.hops.size(); ++slot)
    EXPECT_EQ(std::ldexp(found.samples[1].served[slot], -30), seed.samples[1].served[slot]);
  EXPECT_EQ(std::ldexp(found.end, 20), 60);
}

}  // namespace
}  // namespace portcullis::pfc::testing
