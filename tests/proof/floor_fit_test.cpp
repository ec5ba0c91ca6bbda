// SPDX-License-Identifier: BSD-3-Clause
//
// Each mechanism, made up and noisy, is named for what it is; what cannot be told apart is not.
#include "proof/floor_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/clock.hpp"

namespace portcullis::proof {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kDeadlineNs = 10 * kNsPerSecond;

double t_of(unsigned timeout) { return std::ldexp(4096.0, static_cast<int>(timeout)); }

/// The whole sweep; `time` says what a client with T and r sees. Every ninth is early, as a timer
/// that a lost packet started.
std::vector<FloorPoint> sweep(const std::function<double(unsigned, unsigned)>& time,
                              double last_change_ns = 0) {
  std::vector<FloorPoint> points;
  for (unsigned timeout = 8; timeout <= 18; ++timeout)
    for (unsigned retry = 1; retry <= 7; ++retry) {
      const double early = points.size() % 9 == 0 ? 0.8 : 1.0;
      const auto seen = static_cast<std::uint64_t>(time(timeout, retry) * early);
      FloorPoint point{.timeout = timeout, .retry = retry, .deadline_ns = kDeadlineNs};
      if (seen < kDeadlineNs) point.failure_ns = seen;
      point.last_change_ns = static_cast<std::uint64_t>(last_change_ns);
      points.push_back(point);
    }
  return points;
}

double budget(unsigned timeout, unsigned retry) { return (retry + 1) * t_of(timeout); }

TEST(ExplainFloor, Budget_IsNamed) { EXPECT_EQ(explain_floor(sweep(budget)).mechanism, "budget"); }

TEST(ExplainFloor, BudgetWithAnOffset_IsStillTheBudget) {
  const auto verdict =
      explain_floor(sweep([](unsigned t, unsigned r) { return budget(t, r) + 2e6; }));
  EXPECT_EQ(verdict.mechanism, "budget");
  EXPECT_THAT(verdict.why, HasSubstr("(r + 1) T + 2 ms"));
}

TEST(ExplainFloor, BudgetWithoutTheLastTimeout_IsNamed) {
  EXPECT_EQ(explain_floor(sweep([](unsigned t, unsigned r) { return r * t_of(t); })).mechanism,
            "budget without the last timeout");
}

TEST(ExplainFloor, LeastTimeout_IsNamedWithItsValue) {
  const auto verdict =
      explain_floor(sweep([](unsigned t, unsigned r) { return budget(std::max(t, 14U), r); }));
  EXPECT_EQ(verdict.mechanism, "minimum timeout, budget");
  EXPECT_THAT(verdict.why, HasSubstr("2^14"));
}

TEST(ExplainFloor, LeastTotal_IsNamedWithItsValue) {
  const auto verdict =
      explain_floor(sweep([](unsigned t, unsigned r) { return std::max(1.4e9, budget(t, r)); }));
  EXPECT_EQ(verdict.mechanism, "minimum total, budget");
  EXPECT_THAT(verdict.why, HasSubstr("max(1.4 s"));
}

TEST(ExplainFloor, FixedTotal_IsNamedWithItsValue) {
  const auto verdict = explain_floor(sweep([](unsigned, unsigned) { return 1.4e9; }));
  EXPECT_EQ(verdict.mechanism, "fixed total");
  EXPECT_THAT(verdict.why, HasSubstr("1.4 s"));
}

TEST(ExplainFloor, ServedForLongThenTheBudget_IsTheCache) {
  const auto verdict =
      explain_floor(sweep([](unsigned t, unsigned r) { return 5e8 + budget(t, r); }, 5e8));
  EXPECT_EQ(verdict.mechanism, "cache plus budget");
}

TEST(ExplainFloor, BudgetFromAnOffsetWithoutService_IsNoCache) {
  const auto verdict =
      explain_floor(sweep([](unsigned t, unsigned r) { return 5e8 + budget(t, r); }));
  EXPECT_EQ(verdict.mechanism, "budget");
  EXPECT_THAT(verdict.why, HasSubstr("+ 500 ms"));
}

TEST(ExplainFloor, OneTimeoutOnly_IsUndecidedWhenTwoFit) {
  std::vector<FloorPoint> points;
  for (int i = 0; i < 10; ++i)
    points.push_back(
        {.timeout = 14, .retry = 7, .failure_ns = 900'000'000, .deadline_ns = kDeadlineNs});
  const auto verdict = explain_floor(points);
  EXPECT_EQ(verdict.mechanism, "undecided");
  EXPECT_THAT(verdict.why, HasSubstr("sweep wider"));
}

TEST(ExplainFloor, NothingThatFits_IsUndecided) {
  const auto verdict = explain_floor(
      sweep([](unsigned t, unsigned r) { return 1e6 * (1 + (t * 7 + r * 13) % 29); }));
  EXPECT_EQ(verdict.mechanism, "undecided");
}

TEST(ExplainFloor, Refusals_AreANak) {
  std::vector<FloorPoint> points = sweep([](unsigned, unsigned) { return 2e4; });
  for (FloorPoint& point : points) point.is_nak = true;
  EXPECT_EQ(explain_floor(points).mechanism, "nak");
}

TEST(ExplainFloor, NoFailureAtAll_IsCensored) {
  EXPECT_EQ(explain_floor(sweep([](unsigned, unsigned) { return 1e12; })).mechanism, "censored");
}

std::vector<FloorPoint> unsure_by(std::vector<FloorPoint> points, double ns) {
  for (FloorPoint& point : points) point.uncertainty_ns = static_cast<std::uint64_t>(ns);
  return points;
}

TEST(ExplainFloor, UncertaintyFarBelowEachPoint_ChangesNothing) {
  EXPECT_EQ(explain_floor(unsure_by(sweep(budget), 2e4)).mechanism, "budget");
}

/// Nothing fits whatever the clocks were, and several things might.
TEST(ExplainFloor, UncertaintyOfATenthAndMore_NamesNothing) {
  std::vector<FloorPoint> points = sweep(budget);
  for (FloorPoint& point : points) point.uncertainty_ns = point.failure_ns.value_or(0) / 5;
  const auto verdict = explain_floor(points);
  EXPECT_EQ(verdict.mechanism, "undecided");
  EXPECT_THAT(verdict.why, HasSubstr("the clocks are not known well enough"));
}

/// A budget that fits wherever the points were is named only if its rival could not have fitted.
TEST(ExplainFloor, RivalThatTheUncertaintyLeavesPossible_LeavesItOpen) {
  std::vector<FloorPoint> points;
  for (unsigned timeout = 8; timeout <= 14; ++timeout)
    points.push_back({.timeout = timeout,
                      .retry = 40,
                      .failure_ns = static_cast<std::uint64_t>(41 * t_of(timeout)),
                      .deadline_ns = kDeadlineNs});
  EXPECT_EQ(explain_floor(points).mechanism, "undecided");  // r and r + 1 fit alike
  for (FloorPoint& point : points) point.retry = 25;
  for (FloorPoint& point : points)
    point.failure_ns = static_cast<std::uint64_t>(26 * t_of(point.timeout));
  EXPECT_EQ(explain_floor(points).mechanism, "budget");
  for (FloorPoint& point : points) point.uncertainty_ns = *point.failure_ns / 50;
  EXPECT_THAT(explain_floor(points).why, HasSubstr("may fit too"));
}

/// All times late by the same: the bounds of the clocks hold the truth, the middle between them is
/// not it.
TEST(ExplainFloor, LeastTimeoutWhoseTimesAreAllLateWithinTheClocks_StaysPossible) {
  std::vector<FloorPoint> points = unsure_by(
      sweep([](unsigned t, unsigned r) { return (r + 1) * t_of(std::max(t, 13U)); }), 25e6);
  for (FloorPoint& point : points)
    if (point.failure_ns) *point.failure_ns += 24'000'000;
  const auto verdict = explain_floor(points);
  EXPECT_EQ(verdict.mechanism, "undecided");
  const auto least =
      std::ranges::find(verdict.fits, "minimum timeout, budget", &FloorFit::mechanism);
  ASSERT_NE(least, verdict.fits.end());
  EXPECT_TRUE(least->is_possible);
}

/// A cache that serves for less than a packet may be on its way, but behind the outcome.
TEST(ExplainFloor, ServedBehindTheOutcome_IsNoBudgetHoweverShortItWas) {
  std::vector<FloorPoint> points = sweep([](unsigned t, unsigned r) { return budget(t, r) + 2e6; });
  for (FloorPoint& point : points) {
    point.last_change_ns = 2'000'000;
    point.outcome_ns = 100'000;
    point.is_served_late = true;
  }
  EXPECT_EQ(explain_floor(points).mechanism, "cache plus budget");
}

TEST(ExplainFloor, LateDmaThatKeptNobodyWaiting_LeavesTheBudget) {
  std::vector<FloorPoint> points = sweep(budget);
  for (FloorPoint& point : points) {
    point.last_change_ns = 120'000;
    point.outcome_ns = 100'000;
    point.is_served_late = true;
  }
  EXPECT_EQ(explain_floor(points).mechanism, "budget");
}

/// No budget begins long behind the outcome, whatever else took the time.
TEST(ExplainFloor, ConstantFarLongerThanTheRevoke_IsNoBudget) {
  std::vector<FloorPoint> points = sweep([](unsigned t, unsigned r) { return budget(t, r) + 3e8; });
  for (FloorPoint& point : points) point.outcome_ns = 1'000'000;
  EXPECT_EQ(explain_floor(points).mechanism, "undecided");
  for (FloorPoint& point : points) point.outcome_ns = 300'000'000;
  EXPECT_EQ(explain_floor(points).mechanism, "budget");
}

TEST(ExplainFloor, WhatAllTook_IsToldWithTheUncertainty) {
  EXPECT_THAT(explain_floor(unsure_by(sweep(budget), 2e4)).why, HasSubstr(" +- 20 us"));
  EXPECT_THAT(explain_floor(sweep(budget)).why, Not(HasSubstr("+-")));
}

TEST(ExplainFloor, EachName_IsOneThatAVerdictMayHave) {
  for (const FloorFit& fit : explain_floor(sweep(budget)).fits)
    EXPECT_THAT(kMechanisms, ::testing::Contains(fit.mechanism));
}

}  // namespace
}  // namespace portcullis::proof
