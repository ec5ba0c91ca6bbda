// SPDX-License-Identifier: BSD-3-Clause
//
// Which rings deadlock, when, and the cycle that shows it. Expectations are those of the packet
// simulators quoted in docs/pfc.md, not of this solver.
#include <gmock/gmock.h>

#include <set>

#include "tests/pfc/fluid/runs.hpp"

namespace portcullis::pfc::testing {
namespace {

using ::testing::UnorderedElementsAre;

FluidRun until_dead(const Topology& topology, double until, Discipline discipline) {
  FluidOptions options;
  options.discipline = discipline;
  options.until = until;
  options.stops_at_deadlock = true;
  return run(topology, options);
}

TEST(Deadlock, TwoFlowsWithShortDelay_Live) {
  for (const char* start : {"start.g=0", "start.g=0.3", "start.g=0.71"})
    EXPECT_FALSE(until_dead(with("seed-1", {"d=0.03125", start}), 50, Discipline::Fifo).deadlock);
}

TEST(Deadlock, ThirdFlowWithDelay_DeadlocksUnderEitherDiscipline) {
  const Topology topology = with("ring-3", {"d=0.125"});
  const FluidRun fifo = until_dead(topology, 50, Discipline::Fifo);
  const FluidRun proportional = until_dead(topology, 50, Discipline::Proportional);
  ASSERT_TRUE(fifo.deadlock.has_value());
  ASSERT_TRUE(proportional.deadlock.has_value());
  // Proportional share is late by a factor of 2.5 to 5.
  EXPECT_GT(proportional.deadlock->time, 2.4 * fifo.deadlock->time);
  EXPECT_LT(proportional.deadlock->time, 5 * fifo.deadlock->time);
}

TEST(Deadlock, ThirdFlowWithoutDelay_IsMissed) {
  const Topology topology = with("ring-3");
  EXPECT_FALSE(until_dead(topology, 50, Discipline::Proportional).deadlock.has_value());
}

TEST(Deadlock, ThirdFlowWithoutDelay_GetsHalfOfItsLinksForEver) {
  // Every gate slides, and whatever the ring moves it goes on to move: rounding alone tells rates.
  const Topology topology = with("ring-3");
  const FluidRun found = run(topology, sampled(20'000, 100, Discipline::Proportional));
  for (std::size_t i = 2; i < found.samples.size(); ++i)
    for (std::size_t slot = 0; slot < found.hops.size(); ++slot)
      EXPECT_NEAR(found.samples[i].served[slot] - found.samples[i - 1].served[slot], 50, 1e-3)
          << found.samples[i].time;
  EXPECT_FALSE(found.deadlock.has_value());
}

TEST(Deadlock, WithAllQueuesFullAndNoDelay_TheTieDecides) {
  // Rounding brings the ring of three flows to its threshold everywhere; from there on every duty
  // from none to full keeps it there (D6).
  FluidOptions options;
  options.until = 200;
  const Topology topology = with("ring-3");
  EXPECT_FALSE(run(topology, options).deadlock.has_value());
  options.tie = Tie::Closed;
  EXPECT_TRUE(run(topology, options).deadlock.has_value());
}

TEST(Deadlock, TwoFlowsOnTheKnifeEdge_TakeFewEvents) {
  FluidOptions options;
  options.until = 300;
  for (const char* start : {"start.g=0", "start.g=0.3", "start.g=0.7", "start.g=1.3"}) {
    const FluidRun found = run(with("seed-1", {start}), options);
    EXPECT_FALSE(found.deadlock.has_value()) << start;
    EXPECT_LE(found.events, 100u) << start;
    for (const double rate : found.rates) EXPECT_NEAR(rate, 0.5, 1e-9) << start;
  }
}

TEST(Deadlock, Witness_IsTheRing) {
  const Topology topology = with("ring-3", {"d=0.125"});
  const FluidRun found = until_dead(topology, 50, Discipline::Fifo);
  ASSERT_TRUE(found.deadlock.has_value());
  std::vector<std::string> names;
  for (const LinkId link : found.deadlock->cycle) names.push_back(topology.links[link].name);
  EXPECT_THAT(names, UnorderedElementsAre("1-2", "2-3", "3-4", "4-1"));
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(topology.links[found.deadlock->cycle[i]].to,
              topology.links[found.deadlock->cycle[(i + 1) % 4]].from);
}

TEST(Deadlock, AfterIt_NothingInTheCycleMoves) {
  const Topology topology = with("ring-3", {"d=0.125"});
  const FluidRun found = run(topology, sampled(50, 1, Discipline::Fifo));
  ASSERT_TRUE(found.deadlock.has_value());
  const auto& late = found.samples[50].served;
  const auto& early = found.samples[static_cast<std::size_t>(found.deadlock->time) + 2].served;
  EXPECT_EQ(early, late);
}

TEST(Deadlock, OnTheKnifeEdge_IsForEver) {
  // Queues at their thresholds but for rounding: what is left of a rate may set nothing free.
  const Topology topology = with("ring-3");
  const FluidRun found = run(topology, sampled(20'000, 100, Discipline::Fifo));
  ASSERT_TRUE(found.deadlock.has_value());
  const std::size_t after = static_cast<std::size_t>(found.deadlock->time / 100) + 1;
  EXPECT_EQ(found.samples[after].served, found.samples.back().served);
}

TEST(Deadlock, SeedsDefinition_SeesTheSameRingStop) {
  FluidOptions options;
  options.discipline = Discipline::Fifo;
  options.until = 50;
  const Topology topology = with("ring-3", {"d=0.125"});
  const double structural = run(topology, options).deadlock->time;
  options.definition = Definition::Seed;
  const FluidRun found = run(topology, options);
  ASSERT_TRUE(found.deadlock.has_value());
  EXPECT_TRUE(found.deadlock->cycle.empty());
  // The last hosts stop one delay after the ring at most.
  EXPECT_NEAR(found.deadlock->time, structural, 1);
}

TEST(Deadlock, SeedsDefinition_IsNotPutOffByAStopThatChangesNothing) {
  FluidOptions options;
  options.discipline = Discipline::Fifo;
  options.definition = Definition::Seed;
  options.until = 500;
  const FluidRun found = run(with("ring-3", {"d=0.125"}), options);
  const Topology stops = with("ring-3", {"d=0.125", "stop.f=1000"});
  for (const double until : {500.0, 1500.0}) {
    options.until = until;
    const FluidRun other = run(stops, options);
    ASSERT_TRUE(other.deadlock.has_value()) << until;
    EXPECT_EQ(other.deadlock->time, found.deadlock->time) << until;
  }
}

TEST(Deadlock, SeedsDefinition_SaysNothingWhileAFlowIsYetToStart) {
  FluidOptions options;
  options.discipline = Discipline::Fifo;
  options.definition = Definition::Seed;
  options.until = 500;
  Topology topology = with("ring-3", {"d=0.125"});
  Flow late = topology.flows[2];
  late.name = "late";
  late.source.start = 1000;
  topology.flows.push_back(late);
  EXPECT_FALSE(run(topology, options).deadlock.has_value());
}

TEST(Deadlock, DrainedFlows_AreNone) {
  FluidOptions options;
  options.until = 20;
  options.definition = Definition::Seed;
  const FluidRun found = run(with("seed-1", {"stop.f=1", "stop.g=1"}), options);
  EXPECT_FALSE(found.deadlock.has_value());
  EXPECT_EQ(found.rates, std::vector<double>(8, 0.0));
}

TEST(Deadlock, Headroom_OfTwoDelaysIsEnough) {
  for (const char* delay : {"d=0.125", "d=0.5", "d=1"}) {
    const FluidRun found = run(with("ring-3", {delay}), sampled(50, 50, Discipline::Fifo));
    const double most = 1 + 2 * with("ring-3", {delay}).links[0].delay;
    for (const double peak : found.peak) EXPECT_LE(peak, most + 1e-9) << delay;
  }
}

}  // namespace
}  // namespace portcullis::pfc::testing
