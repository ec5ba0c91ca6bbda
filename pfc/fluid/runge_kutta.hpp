// SPDX-License-Identifier: BSD-3-Clause
//
// One step of the Runge-Kutta method of order 8 by Dormand and Prince, with the two error estimates
// that Hairer, Norsett and Wanner combine ("Solving Ordinary Differential Equations I", II.5; their
// DOP853 has the same coefficients). Boost's method of order 8 is Fehlberg's, whose estimate is 0
// wherever rates depend on time alone.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace portcullis::pfc {

struct DormandPrince8 {
  static constexpr std::size_t kStages = 12;
  using Row = std::array<double, kStages>;

  static const std::array<Row, kStages> kInner;  // of the earlier stages, for each stage
  static const Row kTimes;                       // of the stages, in steps: the sums of kInner
  static const Row kWeights;                     // order 8
  static const Row kError5;                      // weights of the estimate of order 5
  static const Row kError3;                      // and of that of order 3
};

class RungeKutta {
 public:
  using Vector = std::vector<double>;

  explicit RungeKutta(std::size_t size) : inner_(size) {
    for (Vector& slope : slopes_) slope.resize(size);
  }

  /// From `start` with its slope to `end`. `derive(values, slopes, time)` gives slopes. Returns the
  /// error of the step in units of `tolerance`, relative to values above 1; infinite values, and
  /// those that do not change, count for nothing.
  template <class Derive>
  double step(const Derive& derive, const Vector& start, const Vector& slope, double time,
              double width, double tolerance, Vector& end) {
    slopes_[0] = slope;
    for (std::size_t stage = 1; stage < DormandPrince8::kStages; ++stage) {
      mix(start, DormandPrince8::kInner[stage], stage, width, inner_);
      derive(inner_, slopes_[stage], time + width * DormandPrince8::kTimes[stage]);
    }
    mix(start, DormandPrince8::kWeights, DormandPrince8::kStages, width, end);
    return error_of(end, width, tolerance);
  }

 private:
  void mix(const Vector& start, const DormandPrince8::Row& weights, std::size_t stages,
           double width, Vector& to) const {
    to = start;
    for (std::size_t stage = 0; stage < stages; ++stage) {
      const double weight = weights[stage] * width;
      if (weight == 0) continue;
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += weight * slopes_[stage][i];
    }
  }

  [[nodiscard]] double error_of(const Vector& end, double width, double tolerance) const {
    double most5 = 0;
    double most3 = 0;
    for (std::size_t i = 0; i < end.size(); ++i) {
      if (!std::isfinite(end[i])) continue;
      double of5 = 0;
      double of3 = 0;
      for (std::size_t stage = 0; stage < DormandPrince8::kStages; ++stage) {
        of5 += DormandPrince8::kError5[stage] * slopes_[stage][i];
        of3 += DormandPrince8::kError3[stage] * slopes_[stage][i];
      }
      const double scale = tolerance * std::fmax(1.0, std::abs(end[i]));
      most5 = std::fmax(most5, std::abs(of5) / scale);
      most3 = std::fmax(most3, std::abs(of3) / scale);
    }
    // Their combination, so that the estimate falls with the eighth power of the step.
    const double both = std::hypot(most5, 0.1 * most3);
    return both > 0 ? width * most5 * most5 / both : 0;
  }

  std::array<Vector, DormandPrince8::kStages> slopes_;
  Vector inner_;
};

}  // namespace portcullis::pfc
