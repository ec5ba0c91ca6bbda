// SPDX-License-Identifier: BSD-3-Clause
#include "proof/floor_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/clock.hpp"

namespace portcullis::proof {
namespace {

constexpr double kNear = 0.10;        // a point is explained
constexpr double kNearShare = 0.85;   // so many points are: lost packets start timers early
constexpr double kNearMedian = 0.03;  // and by the median it fits well
constexpr std::size_t kLeastPoints = 6;
/// Served this long after the revoke or longer, a client met more than what was on its way.
constexpr double kServedNs = 5.0 * kNsPerMs;

double timeout_ns(unsigned exponent) { return std::ldexp(4096.0, static_cast<int>(exponent)); }

using Prediction = std::function<double(const FloorPoint&)>;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string duration(double ns) {
  if (ns >= 1e9) return fmt::format("{:.3g} s", ns / 1e9);
  if (ns >= 1e6) return fmt::format("{:.4g} ms", ns / 1e6);
  return fmt::format("{:.3g} us", ns / 1e3);
}

/// The relative error of one point: at least and at most, wherever within its uncertainty it was.
/// What is censored must have been said to come later.
struct PointError {
  double least = 0;
  double most = 0;
};

PointError error_of(const FloorPoint& point, double said) {
  const double deadline = static_cast<double>(point.deadline_ns);
  if (!point.failure_ns) {
    const double error = said >= deadline * (1 - kNear) ? 0 : 1;
    return {error, error};
  }
  const double seen = static_cast<double>(*point.failure_ns);
  const double unsure = static_cast<double>(point.uncertainty_ns);
  const double off = std::abs(seen - said);
  if (seen + unsure == 0) return {0, 1};  // it says nothing, and rules nothing out
  const double least = std::max(0.0, off - unsure) / (seen + unsure);
  return {least, unsure < seen ? (off + unsure) / (seen - unsure) : std::max(least, 1.0)};
}

struct Share {
  double within = 0;  // of the points within kNear
  double median_error = 0;
  [[nodiscard]] bool fits() const noexcept {
    return within >= kNearShare && median_error <= kNearMedian;
  }
};

Share share_of(std::vector<double> errors) {
  const auto near = std::ranges::count_if(errors, [](double error) { return error <= kNear; });
  const double within = static_cast<double>(near) / static_cast<double>(errors.size());
  return {within, median(std::move(errors))};
}

/// The widest of all points.
double uncertainty_of(std::span<const FloorPoint> points) {
  std::uint64_t most_ns = 0;
  for (const FloorPoint& point : points) most_ns = std::max(most_ns, point.uncertainty_ns);
  return static_cast<double>(most_ns);
}

Share share_with(std::span<const FloorPoint> points, const Prediction& say, double offset_ns,
                 double PointError::*which) {
  std::vector<double> errors;
  errors.reserve(points.size());
  for (const FloorPoint& point : points)
    errors.push_back(error_of(point, say(point) + offset_ns).*which);
  return share_of(std::move(errors));
}

/// Whether it fits with `offset_ns`, or with one so near it that the median of what is left over
/// could be that if each failure was where it suits. What fits changes only where a point's error
/// is 0 or one of the two limits, so no offset between those needs a look.
bool may_fit(std::span<const FloorPoint> points, const Prediction& say, double offset_ns) {
  const double unsure = uncertainty_of(points);
  std::vector<double> offsets{offset_ns, std::max(0.0, offset_ns - unsure), offset_ns + unsure};
  for (const FloorPoint& point : points) {
    if (!point.failure_ns || unsure == 0) continue;
    const double seen = static_cast<double>(*point.failure_ns);
    const double own = static_cast<double>(point.uncertainty_ns);
    for (const double error : {0.0, kNearMedian, kNear})
      for (const double side : {-1.0, 1.0}) {
        const double at = seen - say(point) + side * (own + error * (seen + own));
        if (at >= 0 && std::abs(at - offset_ns) <= unsure) offsets.push_back(at);
      }
  }
  return std::ranges::any_of(offsets, [&](double offset) {
    return share_with(points, say, offset, &PointError::least).fits();
  });
}

/// So many of the clients say it of all, as is_served() has it.
bool is_quarter(std::ptrdiff_t some, std::span<const FloorPoint> points) {
  return 4 * static_cast<std::size_t>(some) >= points.size();
}

bool is_served_late(std::span<const FloorPoint> points) {
  return is_quarter(std::ranges::count_if(points, &FloorPoint::is_served_late), points);
}

/// Whether all took no longer beyond what is said than the revoke itself, behind whose outcome no
/// budget begins; with room for what was on its way, which is little where bytes changed later.
bool is_of_a_revoke(std::span<const FloorPoint> points, double offset_ns) {
  constexpr double kPacketNs = 200.0 * kNsPerUs;
  std::vector<double> outcomes;
  for (const FloorPoint& point : points)
    if (point.outcome_ns) outcomes.push_back(static_cast<double>(*point.outcome_ns));
  if (outcomes.empty()) return true;
  const double room_ns = is_served_late(points) ? kPacketNs : kServedNs;
  return offset_ns <= median(std::move(outcomes)) + room_ns + uncertainty_of(points);
}

struct Scored {
  FloorFit fit;
  double offset_ns = 0;
};

/// With the offset that suits it best: the median of what is left over, where it is not negative.
Scored score(std::span<const FloorPoint> points, const Prediction& say) {
  std::vector<double> left;
  for (const FloorPoint& point : points)
    if (point.failure_ns) left.push_back(static_cast<double>(*point.failure_ns) - say(point));
  Scored scored;
  scored.offset_ns = std::max(0.0, median(std::move(left)));
  const Share certain = share_with(points, say, scored.offset_ns, &PointError::most);
  scored.fit.share_within = certain.within;
  scored.fit.median_error = certain.median_error;
  scored.fit.is_accepted = certain.fits();
  scored.fit.is_possible = certain.fits() || may_fit(points, say, scored.offset_ns);
  return scored;
}

bool is_better(const Scored& a, const Scored& b) {
  if (a.fit.share_within != b.fit.share_within) return a.fit.share_within > b.fit.share_within;
  return a.fit.median_error < b.fit.median_error;
}

FloorFit named(std::span<const FloorPoint> points, const Scored& scored, std::string mechanism,
               const std::string& formula, double value = 0) {
  const double unsure = uncertainty_of(points);
  FloorFit fit = scored.fit;
  fit.value = static_cast<std::uint64_t>(value);
  fit.mechanism = std::move(mechanism);
  // Of these the constant is the number of their own.
  const bool has_own = fit.mechanism == "fixed total" || fit.mechanism == "minimum total, budget";
  if (!has_own && !is_of_a_revoke(points, scored.offset_ns))
    fit.is_accepted = fit.is_possible = false;
  fit.formula = fmt::format("{} + {}{}", formula, duration(scored.offset_ns),
                            unsure == 0 ? "" : " +- " + duration(unsure));
  return fit;
}

double budget(const FloorPoint& point) { return (point.retry + 1) * timeout_ns(point.timeout); }

FloorFit fit_least_timeout(std::span<const FloorPoint> points) {
  constexpr unsigned kLeast = 9;  // below, it would bind nowhere in a sweep from 8
  constexpr unsigned kMost = 24;
  std::optional<Scored> best;
  unsigned best_exponent = 0;
  bool is_possible = false;
  for (unsigned exponent = kLeast; exponent <= kMost; ++exponent) {
    const Scored scored = score(points, [exponent](const FloorPoint& point) {
      return (point.retry + 1) * timeout_ns(std::max(point.timeout, exponent));
    });
    is_possible = is_possible || scored.fit.is_possible;
    if (best && !is_better(scored, *best)) continue;
    best = scored;
    best_exponent = exponent;
  }
  best->fit.is_possible = is_possible;
  return named(points, *best, "minimum timeout, budget",
               fmt::format("(r + 1) max(T, 4.096 us x 2^{})", best_exponent), best_exponent);
}

FloorFit fit_least_total(std::span<const FloorPoint> points) {
  std::optional<Scored> best;
  double best_total = 0;
  bool is_possible = false;
  for (const FloorPoint& candidate : points) {
    if (!candidate.failure_ns) continue;
    const double seen = static_cast<double>(*candidate.failure_ns);
    const double unsure = static_cast<double>(candidate.uncertainty_ns);
    for (const double total : {seen, std::max(0.0, seen - unsure), seen + unsure}) {
      const Scored scored = score(
          points, [total](const FloorPoint& point) { return std::max(total, budget(point)); });
      is_possible = is_possible || scored.fit.is_possible;
      if (total != seen || (best && !is_better(scored, *best))) continue;
      best = scored;
      best_total = total;
    }
  }
  best->fit.is_possible = is_possible;
  return named(points, *best, "minimum total, budget",
               fmt::format("max({}, (r + 1) T)", duration(best_total)), best_total);
}

/// How long, by the median, the region went on changing.
double served_ns(std::span<const FloorPoint> points) {
  std::vector<double> times;
  for (const FloorPoint& point : points) times.push_back(static_cast<double>(point.last_change_ns));
  return median(std::move(times));
}

/// A quarter of the clients are enough: one that lost a packet may have met the end of its own
/// timer only, when all was over.
bool is_served(std::span<const FloorPoint> points) {
  const auto served = std::ranges::count_if(points, [](const FloorPoint& point) {
    return static_cast<double>(point.last_change_ns) >= kServedNs;
  });
  return is_quarter(served, points);
}

/// Of those that would be named before or beside `accepted`, one that the uncertainty of the points
/// leaves possible; null: none.
const FloorFit* possible_besides(const std::vector<FloorFit>& fits, std::size_t plain,
                                 const std::vector<const FloorFit*>& accepted) {
  const bool is_plain = !accepted.empty() && accepted.front() < fits.data() + plain;
  const std::size_t rivals = is_plain ? plain : fits.size();
  for (std::size_t i = 0; i < rivals; ++i)
    if (fits[i].is_possible && !fits[i].is_accepted) return &fits[i];
  return nullptr;
}

/// What fits without a number of its own comes first and stands for itself; what needs one must be
/// alone.
FloorVerdict choose(std::vector<FloorFit> fits, std::size_t plain) {
  FloorVerdict verdict{"undecided", "no explanation fits", std::move(fits)};
  std::vector<const FloorFit*> accepted;
  for (std::size_t i = 0; i < verdict.fits.size(); ++i) {
    if (i == plain && !accepted.empty()) break;
    if (verdict.fits[i].is_accepted) accepted.push_back(&verdict.fits[i]);
  }
  if (accepted.size() > 1)
    verdict.why = fmt::format("\"{}\" and \"{}\" fit alike; sweep wider", accepted[0]->mechanism,
                              accepted[1]->mechanism);
  if (const FloorFit* const other = possible_besides(verdict.fits, plain, accepted)) {
    verdict.why =
        fmt::format("the clocks are not known well enough: {} may fit too", other->mechanism);
    return verdict;
  }
  if (accepted.size() != 1) return verdict;
  verdict.mechanism = accepted.front()->mechanism;
  verdict.why = accepted.front()->formula;
  return verdict;
}

}  // namespace

FloorVerdict explain_floor(std::span<const FloorPoint> points) {
  const auto failed = std::ranges::count_if(
      points, [](const FloorPoint& point) { return point.failure_ns.has_value(); });
  const auto refused = std::ranges::count_if(points, &FloorPoint::is_nak);
  if (failed == 0) return {"censored", "no client failed before its deadline", {}};
  if (2 * refused > failed)
    return {"nak", "the responder answers with a refusal; no budget is spent", {}};
  if (points.size() < kLeastPoints)
    return {"undecided",
            fmt::format("{} points; at least {} expected, --sweep makes them", points.size(),
                        kLeastPoints),
            {}};
  std::vector<FloorFit> fits;
  // The budget counts from when the client was last served, which was long after the revoke.
  const auto add_cache = [&] {
    const Scored served = score(points, [](const FloorPoint& point) {
      return static_cast<double>(point.last_change_ns) + budget(point);
    });
    fits.push_back(named(points, served, "cache plus budget",
                         fmt::format("{} served, (r + 1) T", duration(served_ns(points))),
                         served_ns(points)));
  };
  if (is_served(points)) {
    add_cache();
  } else {
    fits.push_back(named(points, score(points, budget), "budget", "(r + 1) T"));
    fits.push_back(named(
        points,
        score(points,
              [](const FloorPoint& point) { return point.retry * timeout_ns(point.timeout); }),
        "budget without the last timeout", "r T"));
    // What changed memory behind the outcome need not have kept the client waiting.
    if (is_served_late(points) && std::ranges::none_of(fits, &FloorFit::is_accepted)) add_cache();
  }
  const std::size_t plain = fits.size();
  fits.push_back(fit_least_timeout(points));
  fits.push_back(fit_least_total(points));
  const Scored fixed = score(points, [](const FloorPoint&) { return 0.0; });
  fits.push_back(named(points, fixed, "fixed total", "0", fixed.offset_ns));
  return choose(std::move(fits), plain);
}

std::string describe(const FloorVerdict& verdict) {
  std::string text = fmt::format("mechanism: {} ({})\n", verdict.mechanism, verdict.why);
  for (const FloorFit& fit : verdict.fits)
    text += fmt::format(
        "  {:<34}{:>5.0f} % of the points within {:.0f} %, median error {:.1f} %: {}\n",
        fit.mechanism, 100 * fit.share_within, 100 * kNear, 100 * fit.median_error, fit.formula);
  return text;
}

}  // namespace portcullis::proof
