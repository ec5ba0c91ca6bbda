// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/literal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace portcullis::pfc {
namespace {

constexpr double kMostSteps = 1e9;

/// Up to five curves of f, then up to five of g: S^0 .. S^4.
using Curves = std::array<double, 10>;
constexpr std::size_t kF = 0;
constexpr std::size_t kG = 5;

using Rates = std::function<Curves(const Curves&, double)>;

double share(double a, double b) { return a + b > 0 ? a / (a + b) : 0; }

/// (1) to (5).
Curves section_1(const Curves& s, double theta) {
  Curves to{};
  const auto half = [&](std::size_t own, std::size_t other) {
    const double x1 = s[own + 1] - s[own + 2], x2 = s[own + 2] - s[own + 3];
    const double x3 = s[own + 3] - s[own + 4];
    const double crossing = s[other + 3] - s[other + 4];
    to[own + 1] = x1 < theta ? 1 : 0;
    to[own + 2] = x2 < theta ? share(x1, crossing) : 0;
    to[own + 3] = x3 < theta && x2 > 0 ? 1 : 0;
    // The sum of own^2 and other^4: 1 where both wait, else own^2 alone, else open.
    to[other + 4] = x2 < theta && x1 > 0 && crossing > 0 ? 1 - to[own + 2] : 0;
  };
  half(kF, kG);
  half(kG, kF);
  return to;
}

/// (6) to (9).
Curves section_2(const Curves& s, double theta) {
  Curves to{};
  const double xf = s[kF + 1] - s[kF + 2], xg = s[kG + 1] - s[kG + 2];
  to[kF + 1] = xf < theta ? 1 : 0;
  to[kG + 1] = xg < theta ? 1 : 0;
  to[kF + 2] = share(xf, xg);
  to[kG + 2] = 1 - to[kF + 2];
  return to;
}

/// (15) to (17); S_f^0 is known.
Curves section_4(const Curves& s, double theta, double rate) {
  Curves to{};
  to[kF] = rate;
  to[kF + 1] = s[kF + 1] - s[kF + 2] < theta && s[kF] - s[kF + 1] > 0 ? 1 : 0;
  to[kG + 1] = s[kG + 1] - s[kG + 2] < theta ? 1 : 0;
  to[kG + 2] = 1;
  return to;
}

/// Samples on the way, between two steps in proportion.
class Walk {
 public:
  Walk(const LiteralOptions& options, std::vector<std::size_t> columns)
      : options_(options), columns_(std::move(columns)) {}

  void run(const Rates& rates) {
    const auto steps = static_cast<std::uint64_t>(std::ceil(options_.until / options_.step));
    for (std::uint64_t i = 0; i <= steps; ++i) {
      const double time = static_cast<double>(i) * options_.step;
      const Curves rate = rates(curves_, time);
      Curves next = curves_;
      for (std::size_t k = 0; k < next.size(); ++k) next[k] += options_.step * rate[k];
      emit(time, next);
      curves_ = next;
    }
  }
  [[nodiscard]] std::vector<LiteralSample> take() && { return std::move(samples_); }

 private:
  void emit(double time, const Curves& next) {
    const auto& times = options_.sample_times;
    for (; at_ < times.size() && times[at_] < time + options_.step; ++at_) {
      const double part = (times[at_] - time) / options_.step;
      LiteralSample sample{times[at_], {}};
      for (const std::size_t k : columns_)
        sample.values.push_back(curves_[k] + part * (next[k] - curves_[k]));
      samples_.push_back(std::move(sample));
    }
  }

  const LiteralOptions& options_;
  std::vector<std::size_t> columns_;
  Curves curves_{};
  std::size_t at_ = 0;
  std::vector<LiteralSample> samples_;
};

/// (10) to (14): what was decided d1 ago is sent now, and arrives d1 later.
class Section3 {
 public:
  Section3(const Topology& topology, double step)
      : theta_(topology.links[0].xoff), delay_(topology.links[1].delay), step_(step) {}

  Curves operator()(const Curves& s, double time) {
    Curves to{};
    const double xf = s[kF + 1] - s[kF + 2], xg = s[kG + 1] - s[kG + 2];
    decided_.push_back(s[kF + 1] - s[kG + 2] < theta_ ? 1 : 0);  // (10), with S_f^1 as printed
    to[kG] = time < delay_ ? 0 : ago(delay_);
    to[kG + 1] = time < 2 * delay_ ? 0 : ago(2 * delay_);
    to[kF + 2] = share(xf, xg);
    to[kG + 2] = 1 - to[kF + 2];
    return to;
  }

 private:
  [[nodiscard]] double ago(double time) const {
    const auto back = static_cast<std::size_t>(std::llround(time / step_));
    return back < decided_.size() ? decided_[decided_.size() - 1 - back] : 0;
  }

  double theta_, delay_, step_;
  std::vector<float> decided_;
};

}  // namespace

Result<std::vector<LiteralSample>> solve_literal(const Topology& topology,
                                                 const LiteralOptions& options) {
  if (!(options.step > 0) || !(options.until >= 0) || options.until / options.step > kMostSteps)
    return fail(
        Errc::InvalidArgument,
        fmt::format("step {}; a step above 0, at most 10^9 of them, is accepted", options.step));
  const bool is_seed = topology.name == "seed-1" || topology.name == "seed-2" ||
                       topology.name == "seed-3" || topology.name == "seed-4";
  if (!is_seed)
    return fail(Errc::Unsupported, "the literal reading is of the equations of seed-1 to seed-4");
  const double theta = topology.links[0].xoff;
  if (topology.name == "seed-1") {
    Walk walk(options, {1, 2, 3, 4, 6, 7, 8, 9});
    walk.run([&](const Curves& s, double) { return section_1(s, theta); });
    return std::move(walk).take();
  }
  if (topology.name == "seed-2") {
    Walk walk(options, {1, 2, 6, 7});
    walk.run([&](const Curves& s, double) { return section_2(s, theta); });
    return std::move(walk).take();
  }
  if (topology.name == "seed-3") {
    // S^0 stands where there is a delay.
    std::vector<std::size_t> columns;
    if (topology.links[0].delay > 0) columns.push_back(kF);
    columns.insert(columns.end(), {kF + 1, kF + 2});
    if (topology.links[1].delay > 0) columns.push_back(kG);
    columns.insert(columns.end(), {kG + 1, kG + 2});
    Walk walk(options, columns);
    walk.run(Section3(topology, options.step));
    return std::move(walk).take();
  }
  Walk walk(options, {0, 1, 2, 6, 7});
  const double rate = topology.flows[0].source.rate;
  walk.run([&](const Curves& s, double) { return section_4(s, theta, rate); });
  return std::move(walk).take();
}

}  // namespace portcullis::pfc
