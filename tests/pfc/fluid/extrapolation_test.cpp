// SPDX-License-Identifier: BSD-3-Clause
//
// Anderson's extrapolation of iterations whose solution is known, among them such as lead nowhere
// by themselves.
#include "pfc/fluid/extrapolation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace portcullis::pfc {
namespace {

using Vector = Extrapolation::Vector;

/// x -> factor (x - solution) + solution, by component.
Vector step(const Vector& x, const Vector& factors, const Vector& solution) {
  Vector g(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) g[i] = factors[i] * (x[i] - solution[i]) + solution[i];
  return g;
}

/// How far the next x is from the solution after so many steps from 0.
double distance_after(int steps, const Vector& factors, const Vector& solution) {
  Extrapolation extrapolation;
  Vector x(solution.size());
  for (int i = 0; i < steps; ++i) extrapolation.advance(Vector(x), step(x, factors, solution), x);
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - solution[i]));
  return most;
}

TEST(Extrapolation, OfOneStep_GoesOnFromWhereItLed) {
  Extrapolation extrapolation;
  Vector next;
  extrapolation.advance({1, 2}, {3, 5}, next);
  EXPECT_EQ(next, (Vector{3, 5}));
}

TEST(Extrapolation, OfAsManyFactorsAsItKnowsSteps_IsTheSolution) {
  EXPECT_LT(distance_after(2, {0.9}, {7}), 1e-13);
  EXPECT_LT(distance_after(4, {0.9, 0.5, -0.3}, {7, -2, 0.5}), 1e-12);
  EXPECT_LT(distance_after(6, {0.9, 0.5, -0.3, 0.8, 0.1}, {7, -2, 0.5, 1, 3}), 1e-11);
}

TEST(Extrapolation, OfStepsThatLeadAway_IsTheSolution) {
  EXPECT_LT(distance_after(3, {1.5, -2}, {7, -2}), 1e-12);
}

TEST(Extrapolation, OfMoreFactorsThanItRemembersSteps_ComesNearer) {
  Vector factors, solution;
  for (int i = 0; i < 12; ++i) {
    factors.push_back(0.95 - 0.1 * i);
    solution.push_back(1 + i);
  }
  EXPECT_LT(distance_after(30, factors, solution), 1e-3);
  EXPECT_GT(std::pow(0.95, 30), 0.2);  // what is left by plain steps
}

TEST(Extrapolation, AtTheSolution_StaysThere) {
  Extrapolation extrapolation;
  Vector x{7, -2};
  for (int i = 0; i < 10; ++i) extrapolation.advance(Vector(x), Vector(x), x);
  EXPECT_EQ(x, (Vector{7, -2}));
}

TEST(Extrapolation, WhereStepsHardlyMove_GoesNoFartherThanTheyDo) {
  // A factor of all but 1: whether such steps would end at 2 is no question to extrapolate.
  Extrapolation extrapolation;
  Vector x{0.5, 0.5};
  for (int i = 0; i < 12; ++i)
    extrapolation.advance(Vector(x), step(x, {1 - 1e-5, 0.5}, {2, 0}), x);
  EXPECT_NEAR(x[0], 0.5, 1e-3);
  EXPECT_LT(std::abs(x[1]), 1e-3);
}

TEST(Extrapolation, AfterRestart_KnowsNothingOfTheStepsBefore) {
  Extrapolation used;
  Vector ignored;
  for (const double x : {1.0, 2.0, 4.0}) used.advance({x}, {3 * x}, ignored);
  used.restart();
  Vector next;
  used.advance({0}, {3.5}, next);
  EXPECT_EQ(next, (Vector{3.5}));
}

}  // namespace
}  // namespace portcullis::pfc
