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

  // Of the earlier stages, for each stage.
  static constexpr std::array<Row, kStages> kInner = {{
      {},
      {0.052600151958767731879, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
      {0.019725056984537899454, 0.059175170953613698363, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
      {0.029587585476806849182, 0, 0.088762756430420547545, 0, 0, 0, 0, 0, 0, 0, 0, 0},
      {0.24136513415926668550, 0, -0.88454947932828608534, 0.92483400326179200312, 0, 0, 0, 0, 0, 0,
       0, 0},
      {0.037037037037037037037, 0, 0, 0.17082860872947387128, 0.12546768756682242502, 0, 0, 0, 0, 0,
       0, 0},
      {0.037109375000000000000, 0, 0, 0.17025221101954403931, 0.060216538980455960685,
       -0.017578125000000000000, 0, 0, 0, 0, 0, 0},
      {0.037092000118504792711, 0, 0, 0.17038392571223999381, 0.10726203044637328465,
       -0.015319437748624401753, 0.0082737891638140228876, 0, 0, 0, 0, 0},
      {0.62411095871607571711, 0, 0, -3.3608926294469412941, -0.86821934684172600682,
       27.592099699446708305, 20.154067550477893409, -43.489884181069958848, 0, 0, 0, 0},
      {0.47766253643826436589, 0, 0, -2.4881146199716676419, -0.59029082683684299637,
       21.230051448181194235, 15.279233632882423583, -33.288210968984862919,
       -0.020331201708508626136, 0, 0, 0},
      {-0.93714243008598732572, 0, 0, 5.1863724288440637083, 1.0914373489967295782,
       -8.1497870107469261251, -18.520065659996959864, 22.739487099350504282, 2.4936055526796523899,
       -3.0467644718982195004, 0, 0},
      {2.2733101475165382079, 0, 0, -10.534495466737250198, -2.0008720582248624991,
       -17.958931863118798917, 27.948884529419960051, -2.8589982771350236947,
       -8.8728569335306295443, 12.360567175794303065, 0.64339274601576353036, 0},
  }};

  // Of the stages, in steps: the sums of kInner.
  static constexpr Row kTimes = {0,
                                 0.052600151958767731879,
                                 0.078900227938151597818,
                                 0.11835034190722739673,
                                 0.28164965809277260327,
                                 0.33333333333333333333,
                                 0.25000000000000000000,
                                 0.30769230769230769231,
                                 0.65128205128205128205,
                                 0.60000000000000000000,
                                 0.85714285714285714286,
                                 1.0000000000000000000};

  // Order 8.
  static constexpr Row kWeights = {0.054293734116568762238,
                                   0,
                                   0,
                                   0,
                                   0,
                                   4.4503128927524088814,
                                   1.8915178993145003830,
                                   -5.8012039600105847815,
                                   0.31116436695781989441,
                                   -0.15216094966251607856,
                                   0.20136540080403034837,
                                   0.044710615727772590518};

  // Weights of the estimate of order 5.
  static constexpr Row kError5 = {0.013120044994194880733,
                                  0,
                                  0,
                                  0,
                                  0,
                                  -1.2251564463762044407,
                                  -0.49575894965725019152,
                                  1.6643771824549865370,
                                  -0.35032884874997368169,
                                  0.33417911871301747903,
                                  0.081923206485115712466,
                                  -0.022355307863886295259};

  // And of that of order 3.
  static constexpr Row kError3 = {-0.18980075407240761571,
                                  0,
                                  0,
                                  0,
                                  0,
                                  4.4503128927524088814,
                                  1.8915178993145003830,
                                  -5.8012039600105847815,
                                  -0.42268232132379196293,
                                  -0.15216094966251607856,
                                  0.20136540080403034837,
                                  0.022651792198360825812};
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
