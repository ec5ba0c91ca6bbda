// SPDX-License-Identifier: BSD-3-Clause
//
// Small Euler steps of the ring of section 1, written from the equations alone: their limit is what
// the event-driven solver gives. f may start later than g, so that nothing is symmetric.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tests/pfc/fluid/runs.hpp"

namespace portcullis::pfc::testing {
namespace {

/// S_f^1 .. S_f^4, S_g^1 .. S_g^4.
using Ring = std::array<double, 8>;

/// What a link of capacity 1 moves in a step, of two queues in proportion to what they hold.
std::pair<double, double> moved(double a, double b, double step, bool is_open) {
  if (!is_open) return {0, 0};
  if (a + b <= step) return {a, b};
  return {step * a / (a + b), step * b / (a + b)};
}

Ring euler(double until, int steps, double start_f) {
  const double step = until / steps;
  Ring s{};
  for (int i = 0; i < steps; ++i) {
    const double xf1 = s[0] - s[1], xf2 = s[1] - s[2], xf3 = s[2] - s[3];
    const double xg1 = s[4] - s[5], xg2 = s[5] - s[6], xg3 = s[6] - s[7];
    const double f1 = xf1 < 1 && i * step >= start_f ? step : 0;  // (1)
    const double g1 = xg1 < 1 ? step : 0;
    // What arrived in this step may leave in it: pass-through, in the order of the hops.
    const auto [f2, g4] = moved(xf1 + f1, xg3, step, xf2 < 1);  // (2), (4)
    const auto [g2, f4] = moved(xg1 + g1, xf3, step, xg2 < 1);  // (5)
    const double f3 = moved(xf2 + f2, 0, step, xf3 < 1).first;  // (3)
    const double g3 = moved(xg2 + g2, 0, step, xg3 < 1).first;
    const Ring change = {f1, f2, f3, f4, g1, g2, g3, g4};
    for (std::size_t k = 0; k < s.size(); ++k) s[k] += change[k];
  }
  return s;
}

double distance(const Ring& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

class EulerLimit : public ::testing::TestWithParam<double> {};

TEST_P(EulerLimit, IsTheSolutionFromEventToEvent) {
  constexpr double kUntil = 10;
  const std::string start = std::to_string(GetParam());
  const FluidRun found =
      run(with("seed-1", {"start.f=" + start}), sampled(kUntil, kUntil, Discipline::Proportional));
  const auto& exact = found.samples.back().served;
  const double coarse = distance(euler(kUntil, 10'000, GetParam()), exact);
  const double fine = distance(euler(kUntil, 160'000, GetParam()), exact);
  EXPECT_LT(coarse, 5e-3);
  EXPECT_LT(fine, 4e-4);
  EXPECT_LT(fine, coarse / 6);
}

INSTANTIATE_TEST_SUITE_P(Starts, EulerLimit, ::testing::Values(0.0, 0.5, 1.7, 3.2));

}  // namespace
}  // namespace portcullis::pfc::testing
