// SPDX-License-Identifier: BSD-3-Clause
//
// The method of order 8: its coefficients add up, errors fall with the ninth power of a step, and
// the estimate sees rates that depend on time alone.
#include "pfc/fluid/runge_kutta.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace portcullis::pfc::testing {
namespace {

using Vector = RungeKutta::Vector;

TEST(RungeKutta, Weights_AddUpToOneAndErrorsToZero) {
  using Method = DormandPrince8;
  const auto sum = [](const Method::Row& row) {
    return std::accumulate(row.begin(), row.end(), 0.0);
  };
  EXPECT_NEAR(sum(Method::kWeights), 1, 1e-15);
  EXPECT_NEAR(sum(Method::kError5), 0, 1e-14);
  EXPECT_NEAR(sum(Method::kError3), 0, 1e-14);
  for (std::size_t stage = 0; stage < Method::kStages; ++stage)
    EXPECT_NEAR(sum(Method::kInner[stage]), Method::kTimes[stage], 1e-13) << stage;
}

/// The error of one step of y' = y cos t from 1 at 0: y = exp(sin t).
double error_of_step(double width) {
  RungeKutta method(1);
  Vector end(1);
  const auto derive = [](const Vector& y, Vector& to, double t) { to[0] = y[0] * std::cos(t); };
  method.step(derive, {1}, {1}, 0, width, 1e-12, end);
  return std::abs(end[0] - std::exp(std::sin(width)));
}

TEST(RungeKutta, Error_FallsWithTheNinthPower) {
  const double ratio = error_of_step(0.5) / error_of_step(0.25);
  EXPECT_GT(ratio, 256);
  EXPECT_LT(ratio, 2048);
}

TEST(RungeKutta, RateThatDependsOnTimeAlone_IsSeenByTheEstimate) {
  RungeKutta method(1);
  Vector end(1);
  const auto jump = [](const Vector&, Vector& to, double t) { to[0] = t < 0.4 ? 1 : 0; };
  EXPECT_GT(method.step(jump, {0}, {1}, 0, 1, 1e-12, end), 1e6);
}

}  // namespace
}  // namespace portcullis::pfc::testing
