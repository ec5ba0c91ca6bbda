// SPDX-License-Identifier: BSD-3-Clause
//
// What solve() accepts and refuses, and the settings that change a scenario.
#include <gmock/gmock.h>

#include "tests/pfc/fluid/runs.hpp"

namespace portcullis::pfc::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string setting_error(const char* name, const char* setting) {
  auto topology = scenario(name);
  const std::vector<std::string> settings = {setting};
  const auto applied = apply_settings(*topology, settings);
  return applied ? "none" : applied.error().text;
}

TEST(Scenario, UnknownName_ListsTheKnownOnes) {
  EXPECT_EQ(scenario("seed-9").error().text,
            "no scenario \"seed-9\"; seed-1, seed-2, seed-3, seed-4, ring-3 are accepted");
}

TEST(Setting, Mistakes_AreNamed) {
  EXPECT_THAT(setting_error("seed-1", "theta"), StartsWith("setting \"theta\"; NAME=NUMBER"));
  EXPECT_THAT(setting_error("seed-1", "theta=x"), StartsWith("setting \"theta=x\"; NAME=NUMBER"));
  EXPECT_THAT(setting_error("seed-1", "rate.z=1"), HasSubstr("no \"rate.z\" in seed-1"));
  EXPECT_THAT(setting_error("seed-1", "theta=-1"),
              StartsWith("setting \"theta=-1\": links[0].xoff: -1;"));
  EXPECT_THAT(setting_error("seed-1", "gap=-1"),
              StartsWith("setting \"gap=-1\": links[0].xon: 2;"));
  EXPECT_THAT(setting_error("seed-3", "d0=-0.25"),
              StartsWith("setting \"d0=-0.25\": links[0].delay: -0.25;"));
}

TEST(Setting, Values_ReachTheTopology) {
  const Topology topology = with(
      "seed-3", {"theta=2", "gap=0.5", "d0=0.5", "a=0.25", "B=3", "capacity.1-2=4", "start.g=1"});
  EXPECT_EQ(topology.links[1].xon, 1.5);
  EXPECT_EQ(topology.links[0].delay, 0.5);
  EXPECT_EQ(topology.links[1].delay, 0.25);
  EXPECT_EQ(topology.links[2].capacity, 4);
  EXPECT_EQ(topology.flows[0].source.rate, 0.25);
  EXPECT_EQ(topology.flows[0].source.buffer, 3);
  EXPECT_EQ(topology.flows[1].source.start, 1);
}

TEST(Setting, Theta_ScalesTimeAndData) {
  const FluidRun one = run(with("seed-1"), sampled(10, 1, Discipline::Proportional));
  const FluidRun four = run(with("seed-1", {"theta=4"}), sampled(40, 4, Discipline::Proportional));
  for (std::size_t i = 0; i < one.samples.size(); ++i)
    for (std::size_t k = 0; k < 8; ++k)
      EXPECT_NEAR(four.samples[i].served[k], 4 * one.samples[i].served[k], 1e-9);
}

TEST(Solve, SampleTimesOutOfOrder_AreRefused) {
  FluidOptions options;
  options.sample_times = {2, 1};
  EXPECT_FALSE(solve(with("seed-1"), options).has_value());
  options.sample_times = {11};
  EXPECT_FALSE(solve(with("seed-1"), options).has_value());
}

TEST(Solve, TooManyEvents_IsAnErrorWithTheTime) {
  FluidOptions options;
  options.discipline = Discipline::Fifo;
  options.until = 1000;
  options.max_events = 100;
  EXPECT_THAT(solve(with("seed-1", {"d=0.01"}), options).error().text,
              StartsWith("100 events by t = "));
}

TEST(Solve, TwoPrioritiesOnOneLink_AreRefused) {
  Topology topology = with("seed-2");
  topology.flows[1].priority = 3;
  EXPECT_THAT(solve(topology, {}).error().text, HasSubstr("has another priority"));
}

TEST(Solve, FlowRoundALoop_IsRefused) {
  Topology topology = with("seed-2");
  topology.flows[1].ttl = 3;
  EXPECT_THAT(solve(topology, {}).error().text, HasSubstr("goes round a loop"));
}

TEST(Solve, RunThatIsStopped_SaysSo) {
  const std::atomic<bool> is_stopped = true;
  FluidOptions options;
  options.until = 1000;
  options.is_stopped = &is_stopped;
  const FluidRun found = run(with("seed-1"), options);
  EXPECT_TRUE(found.is_interrupted);
  EXPECT_LT(found.end, 1000);
}

}  // namespace
}  // namespace portcullis::pfc::testing
