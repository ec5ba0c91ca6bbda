// SPDX-License-Identifier: BSD-3-Clause
//
// The four systems of the PFC document against what paper and pencil say, to 1e-9 for every t up to
// 50. The formulas are derived in docs/pfc.md; nothing here shares code with the solver.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/pfc/fluid/runs.hpp"

namespace portcullis::pfc::testing {
namespace {

constexpr double kClose = 1e-9;

/// Where a falling or rising function is 0, by bisection to the last bit.
template <class Function>
double root_of(double low, double high, Function function) {
  const bool is_rising = function(high) > 0;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    ((function(middle) > 0) == is_rising ? high : low) = middle;
  }
  return (low + high) / 2;
}

struct Curves {
  double first, second, third, fourth;
};

/// Section 1, both flows alike: the golden ratio until the first queue is full, then
/// q' = (1 - q) / (1 + q) for the queue of the third hop, with w = -ln(1 - q).
Curves section_1(double t) {
  const double golden = (std::sqrt(5.0) - 1) / 2;
  const double full = 1 / (1 - golden);
  if (t <= full) return {t, golden * t, golden * t, (1 - golden) * t};
  const double q1 = (2 * golden - 1) * full;
  const double w1 = -std::log(1 - q1);
  const double w = root_of(
      w1, 200, [&](double x) { return -(1 - std::exp(-x) - q1) + 2 * (x - w1) - (t - full); });
  const double second = golden * full + (w - w1);
  return {second + 1, second, second, second - (1 - std::exp(-w))};
}

TEST(ClosedForm, Section1_IsMet) {
  const FluidRun found = run(with("seed-1"), sampled(50, 0.37, Discipline::Proportional));
  ASSERT_EQ(found.samples.size(), 136u);
  for (const FluidSample& sample : found.samples) {
    const Curves exact = section_1(sample.time);
    for (const std::size_t flow : {0u, 4u}) {
      EXPECT_NEAR(sample.served[flow], exact.first, kClose) << sample.time;
      EXPECT_NEAR(sample.served[flow + 1], exact.second, kClose) << sample.time;
      EXPECT_NEAR(sample.served[flow + 2], exact.third, kClose) << sample.time;
      EXPECT_NEAR(sample.served[flow + 3], exact.fourth, kClose) << sample.time;
    }
  }
}

TEST(ClosedForm, Section1ToTen_TakesAtMost100Events) {
  const FluidRun found = run(with("seed-1"), sampled(10, 10, Discipline::Proportional));
  EXPECT_LE(found.events, 100u);
  EXPECT_LE(found.steps, 100u);
}

TEST(ClosedForm, Section2_IsMet) {
  for (const Discipline discipline : {Discipline::Proportional, Discipline::Fifo}) {
    const FluidRun found = run(with("seed-2"), sampled(50, 0.37, discipline));
    for (const FluidSample& sample : found.samples) {
      const double first = sample.time <= 2 ? sample.time : 1 + sample.time / 2;
      EXPECT_NEAR(sample.served[0], first, kClose) << sample.time;
      EXPECT_NEAR(sample.served[1], sample.time / 2, kClose) << sample.time;
      EXPECT_NEAR(sample.served[2], first, kClose) << sample.time;
      EXPECT_NEAR(sample.served[3], sample.time / 2, kClose) << sample.time;
    }
  }
}

/// Data that arrives at rate 1 in a first burst and then in bursts of `on` after pauses of `off`.
double bursts(double t, double first, double off, double on) {
  if (t <= 0) return 0;
  if (t <= first) return t;
  const double since = t - first;
  const double rounds = std::floor(since / (off + on));
  return first + rounds * on + std::max(0.0, since - rounds * (off + on) - off);
}

/// Section 3 with equal delays d up to theta, both hosts sending from `start` on: dead time 2 d.
void expect_triangle(const FluidRun& found, double d, double start) {
  for (const FluidSample& sample : found.samples) {
    const double t = sample.time - start - d;
    const double arrived = bursts(t, 2 + 2 * d, 4 * d, 4 * d);
    EXPECT_NEAR(sample.arrived[1], arrived, kClose) << sample.time;
    EXPECT_NEAR(sample.arrived[3], arrived, kClose) << sample.time;
    EXPECT_NEAR(sample.served[0], bursts(t + d, 2 + 2 * d, 4 * d, 4 * d), kClose) << sample.time;
    EXPECT_NEAR(sample.served[1], std::max(0.0, t / 2), kClose) << sample.time;
    EXPECT_NEAR(sample.served[3], std::max(0.0, t / 2), kClose) << sample.time;
  }
  EXPECT_NEAR(found.peak[0], 1 + d, kClose);
}

TEST(ClosedForm, Section3_IsATriangleWave) {
  for (const Discipline discipline : {Discipline::Proportional, Discipline::Fifo})
    for (const double d : {0.125, 0.25, 0.7, 1.0}) {
      const std::string value = std::to_string(d);
      const Topology topology = with("seed-3", {"d0=" + value, "d1=" + value});
      expect_triangle(run(topology, sampled(50, 0.37, discipline)), d, 0);
    }
}

TEST(ClosedForm, Section3ReadingB_IsTheSameLater) {
  Topology topology = with("seed-3");
  apply_start(topology, StartReading::B);
  expect_triangle(run(topology, sampled(50, 0.37, Discipline::Proportional)), 0.25, 0.25);
}

/// With d > theta the queue runs dry in each period of 2 theta + 6 d, for 2 (d - theta) of it.
TEST(ClosedForm, Section3WithLongDelay_Idles) {
  constexpr double kDelay = 1.5;
  const FluidRun found =
      run(with("seed-3", {"d0=1.5", "d1=1.5"}), sampled(50, 0.37, Discipline::Fifo));
  constexpr double kPeriod = 2 + 6 * kDelay;
  constexpr double kBusy = kPeriod - 2 * (kDelay - 1);
  for (const FluidSample& sample : found.samples) {
    const double t = std::max(0.0, sample.time - kDelay);
    const double rounds = std::floor(t / kPeriod);
    const double busy = rounds * kBusy + std::min(kBusy, t - rounds * kPeriod);
    EXPECT_NEAR(sample.served[1], busy / 2, kClose) << sample.time;
    EXPECT_NEAR(sample.served[3], busy / 2, kClose) << sample.time;
  }
}

/// Section 4 with S_f^0 = a t, to the time at which f is paused if it ever is.
struct Section4 {
  double a;
  double b = 1 - a;
  double full_g = (1 + a) / a;  // q_g = theta, q_f = a

  /// q_f in phase 2, from its implicit solution.
  [[nodiscard]] double queue(double t) const {
    const double limit = std::min(1.0, a / b) * (1 - 1e-16);
    return root_of(a, limit, [&](double q) {
      return -(q - a) / b - (1 + a / b) / b * std::log((a - b * q) / (a - b * a)) - (t - full_g);
    });
  }
  [[nodiscard]] double full_f() const {
    return full_g - (1 - a) / b - (1 + a / b) / b * std::log((a - b) / (a - b * a));
  }
};

TEST(ClosedForm, Section4WithASlowFlow_IsNeverPaused) {
  const Section4 exact{0.4};
  const FluidRun found =
      run(with("seed-4", {"a=0.4"}), sampled(50, 0.37, Discipline::Proportional));
  for (const FluidSample& sample : found.samples) {
    const double t = sample.time;
    const double q = t <= exact.full_g ? exact.a * exact.a * t / (1 + exact.a) : exact.queue(t);
    EXPECT_NEAR(sample.offered[0], 0.4 * t, kClose) << t;
    EXPECT_NEAR(sample.served[0], 0.4 * t, kClose) << t;
    EXPECT_NEAR(sample.served[1], 0.4 * t - q, kClose) << t;
    EXPECT_NEAR(sample.served[3], t - sample.served[1], kClose) << t;
    EXPECT_NEAR(sample.served[2], t <= exact.full_g ? t : 1 + sample.served[3], kClose) << t;
  }
}

TEST(ClosedForm, Section4WithAFastFlow_FillsTheHostsBuffer) {
  const Section4 exact{0.7};
  const double full = exact.full_f();
  const FluidRun found =
      run(with("seed-4", {"a=0.7", "B=0.5"}), sampled(50, 0.37, Discipline::Proportional));
  for (const FluidSample& sample : found.samples) {
    if (sample.time < full) continue;
    EXPECT_NEAR(sample.served[0], 0.7 * full + (sample.time - full) / 2, kClose) << sample.time;
    EXPECT_NEAR(sample.served[1], sample.served[0] - 1, kClose) << sample.time;
  }
  EXPECT_NEAR(found.overflow_time[0], full + 0.5 / (0.7 - 0.5), kClose);
}

}  // namespace
}  // namespace portcullis::pfc::testing
