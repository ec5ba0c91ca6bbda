// SPDX-License-Identifier: BSD-3-Clause
//
// True FIFO against hand-made transients, where it and proportional share part.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/pfc/fluid/runs.hpp"

namespace portcullis::pfc::testing {
namespace {

/// f at rate 1 until 2, then at 1/4; g at rate 1. Nothing is ever paused.
Topology falling() {
  Topology topology = with("seed-2", {"theta=100", "rate.g=1"});
  Source& source = topology.flows[0].source;
  source.kind = SourceKind::Points;
  source.points = {{0, 0}, {2, 2}, {10, 4}};
  return topology;
}

TEST(Fifo, Head_IsServedAsItArrived) {
  const FluidRun found = run(falling(), sampled(9, 0.25, Discipline::Fifo));
  for (const FluidSample& sample : found.samples) {
    const double t = sample.time;
    // What arrived at 2 is at the head at 4: two units stood in front of it.
    const double served = t <= 4 ? t / 2 : 2 + (t - 4) / 5;
    EXPECT_NEAR(sample.served[1], served, 1e-12) << t;
    EXPECT_NEAR(sample.served[3], t - served, 1e-12) << t;
  }
}

TEST(Fifo, ProportionalShare_ForgetsTheOrder) {
  const FluidRun found = run(falling(), sampled(4, 4, Discipline::Proportional));
  EXPECT_LT(found.samples.back().served[1], 1.9);
}

TEST(Fifo, WithHysteresis_FallsToXonBeforeItOpens) {
  // Both queues rise at 1/2 to 1, then fall at 1/2 to 0.4: period 2.4 from t = 2 on.
  const FluidRun found = run(with("seed-2", {"gap=0.6"}), sampled(20, 0.1, Discipline::Fifo));
  for (const FluidSample& sample : found.samples) {
    const double phase = sample.time < 2 ? 2 - sample.time : std::fmod(sample.time - 2, 2.4);
    const double level = sample.time < 2 || phase <= 1.2 ? 1 - phase / 2 : 0.4 + (phase - 1.2) / 2;
    EXPECT_NEAR(sample.served[0] - sample.served[1], level, 1e-9) << sample.time;
  }
}

TEST(Fifo, SlowLink_IsPausedByItsThresholdOnly) {
  // The exit takes 1/4; the hosts may send 1 each until each has stored 2.
  const FluidRun found =
      run(with("seed-2", {"capacity.1-2=0.25", "theta=2"}), sampled(10, 1, Discipline::Fifo));
  EXPECT_NEAR(found.samples[2].served[0], 2, 1e-12);
  EXPECT_NEAR(found.samples[10].served[1], 1.25, 1e-12);
  EXPECT_NEAR(found.samples[10].served[0], 3.25, 1e-12);
}

TEST(Fifo, HostWithTwoFlows_ServesThemInTurn) {
  // f is offered 1/4 of what its link can, the greedy g takes the rest.
  Topology topology;
  topology.add_node("h", NodeKind::Host);
  topology.add_node("1", NodeKind::Switch);
  topology.add_node("2", NodeKind::Switch);
  topology.add_link(0, 1);
  topology.add_link(1, 2);
  Source slow;
  slow.kind = SourceKind::Rate;
  slow.rate = 0.25;
  ASSERT_TRUE(topology.add_flow("f", {0, 1, 2}, slow).has_value());
  ASSERT_TRUE(topology.add_flow("g", {0, 1, 2}).has_value());
  const FluidRun found = run(topology, sampled(8, 8, Discipline::Fifo));
  EXPECT_NEAR(found.samples.back().served[1], 2, 1e-12);
  EXPECT_NEAR(found.samples.back().served[3], 6, 1e-12);
}

TEST(Fifo, HostThatRunsOver_DoesSoWhenItsBufferIsFullWhateverTheEnd) {
  // It offers 3 where its link takes 1: 0.5 more than that after 0.25.
  Topology topology;
  const NodeId from = topology.add_node("a", NodeKind::Host);
  const NodeId middle = topology.add_node("s", NodeKind::Switch);
  const NodeId to = topology.add_node("b", NodeKind::Host);
  topology.add_link(from, middle);
  topology.add_link(middle, to);
  ASSERT_TRUE(topology.add_flow("f", {from, middle, to}).has_value());
  Source& source = topology.flows[0].source;
  source.kind = SourceKind::Rate;
  source.rate = 3;
  source.buffer = 0.5;
  for (const double until : {1.0, 5.0, 50.0})
    EXPECT_NEAR(run(topology, sampled(until, until, Discipline::Fifo)).overflow_time[0], 0.25, 1e-9)
        << until;
}

TEST(Fifo, SampleAtAJump_IsWhatComesAfterItAsUnderProportionalShare) {
  Topology topology = with("seed-2");
  topology.flows[0].source.kind = SourceKind::Points;
  topology.flows[0].source.points = {{0, 4}};
  topology.flows[0].source.start = 2;
  for (const Discipline discipline : {Discipline::Fifo, Discipline::Proportional})
    EXPECT_EQ(run(topology, sampled(4, 2, discipline)).samples[1].offered[0], 4);
}

TEST(Fifo, SourceThatStops_LeavesTheLinkToTheOther) {
  const FluidRun found = run(with("seed-2", {"stop.f=1"}), sampled(4, 0.5, Discipline::Fifo));
  // The queue of 1 at t = 1 is half f; what arrives later is g alone.
  EXPECT_NEAR(found.samples[2].served[1], 0.5, 1e-12);
  EXPECT_NEAR(found.samples[4].served[1], 1.0, 1e-12);
  EXPECT_NEAR(found.samples[8].served[1], 1.0, 1e-12);
  EXPECT_NEAR(found.samples[8].served[3], 3.0, 1e-12);
}

TEST(Fifo, LongRunOfSection3WithEqualDelays_AgreesWithProportionalShare) {
  // Rates are constant there under either, so both are one solution; what the printed share keeps
  // of it is what docs/pfc.md guarantees.
  const Topology topology = with("seed-3");
  const FluidRun exact = run(topology, sampled(20000, 1000, Discipline::Fifo));
  const FluidRun mixed = run(topology, sampled(20000, 1000, Discipline::Proportional));
  for (std::size_t i = 0; i < exact.samples.size(); ++i)
    for (std::size_t slot = 0; slot < exact.hops.size(); ++slot)
      EXPECT_NEAR(mixed.samples[i].served[slot], exact.samples[i].served[slot],
                  exact.samples[i].time <= 2000 ? 1e-7 : 1e-6)
          << exact.samples[i].time;
}

TEST(Fifo, Section3WithAQueueThatJustRunsEmpty_AgreesToAMillionth) {
  // With d = theta data comes again at the very moment when the queue has run empty.
  const Topology topology = with("seed-3", {"d=1"});
  const FluidRun exact = run(topology, sampled(2000, 100, Discipline::Fifo));
  const FluidRun mixed = run(topology, sampled(2000, 100, Discipline::Proportional));
  for (std::size_t i = 0; i < exact.samples.size(); ++i)
    for (std::size_t slot = 0; slot < exact.hops.size(); ++slot)
      EXPECT_NEAR(mixed.samples[i].served[slot], exact.samples[i].served[slot], 1e-6)
          << exact.samples[i].time;
}

}  // namespace
}  // namespace portcullis::pfc::testing
