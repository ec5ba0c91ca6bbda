// SPDX-License-Identifier: BSD-3-Clause
//
// Sweeps: the same answer from any number of threads, and quantiles that count runs that live.
#include "pfc/fluid/sweep.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/pfc/fluid/runs.hpp"

namespace portcullis::pfc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

SweepOptions small(unsigned threads) {
  SweepOptions options;
  options.solver.discipline = Discipline::Fifo;
  options.solver.until = 30;
  options.axes = {{"d", {0.0625, 0.125}}, {"theta", {1, 1.5, 2}}};
  options.runs = 8;
  options.threads = threads;
  return options;
}

TEST(Sweep, Result_DoesNotDependOnThreads) {
  const Topology topology = with("ring-3");
  const auto one = sweep(topology, small(1));
  const auto five = sweep(topology, small(5));
  ASSERT_TRUE(one.has_value() && five.has_value());
  ASSERT_EQ(one->size(), 6u);
  for (std::size_t i = 0; i < one->size(); ++i) EXPECT_EQ((*one)[i].times, (*five)[i].times) << i;
  EXPECT_THAT((*one)[1].values, ElementsAre(0.0625, 1.5));
  EXPECT_EQ((*one)[1].runs, 8u);
}

TEST(Sweep, ThirdFlow_DeadlocksInEveryRun) {
  SweepOptions options = small(2);
  options.axes = {{"d", {0.125}}};
  options.solver.until = 100;
  const auto cells = sweep(with("ring-3"), options);
  ASSERT_TRUE(cells.has_value());
  EXPECT_EQ(cells->front().share(), 1);
}

TEST(Sweep, Seed_ChangesTheOffsets) {
  SweepOptions options = small(1);
  options.axes = {{"d", {0.125}}};
  const auto one = sweep(with("ring-3"), options);
  options.seed = 2;
  const auto two = sweep(with("ring-3"), options);
  EXPECT_NE(one->front().times, two->front().times);
}

TEST(SweepCell, Quantiles_CountRunsThatLive) {
  const SweepCell cell{{}, 4, 0, {3, 5}};
  EXPECT_EQ(cell.share(), 0.5);
  EXPECT_EQ(cell.quantile(0), 3);
  EXPECT_EQ(cell.quantile(0.5), 5);
  EXPECT_TRUE(std::isinf(cell.quantile(0.9)));
  EXPECT_TRUE(std::isinf(SweepCell{}.quantile(0.5)));
}

TEST(Sweep, BadSetting_IsTheErrorOfTheFirstRun) {
  SweepOptions options = small(3);
  options.axes = {{"theta", {1, -1}}};
  EXPECT_THAT(sweep(with("ring-3"), options).error().text,
              StartsWith("setting \"theta=-1\": links[0].xoff: -1"));
}

TEST(Sweep, RunWithTooManyEvents_IsUndecided) {
  SweepOptions options = small(2);
  options.axes = {{"d", {0.125}}};
  options.solver.max_events = 10;
  const auto cells = sweep(with("ring-3"), options);
  ASSERT_TRUE(cells.has_value());
  EXPECT_EQ(cells->front().undecided, 8u);
  EXPECT_EQ(cells->front().runs, 0u);
}

TEST(Sweep, Stopped_GivesWhatThereIs) {
  const std::atomic<bool> is_stopped = true;
  SweepOptions options = small(2);
  options.is_stopped = &is_stopped;
  const auto cells = sweep(with("ring-3"), options);
  ASSERT_TRUE(cells.has_value());
  for (const SweepCell& cell : *cells) EXPECT_EQ(cell.runs, 0u);
}

TEST(Sweep, NoAxisRunOrThread_IsRefused) {
  SweepOptions options = small(0);
  EXPECT_FALSE(sweep(with("ring-3"), options).has_value());
  options.threads = 1;
  options.axes.clear();
  EXPECT_FALSE(sweep(with("ring-3"), options).has_value());
}

}  // namespace
}  // namespace portcullis::pfc::testing
