// SPDX-License-Identifier: BSD-3-Clause
#include "base/histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/histogram/histogram.hpp>
#include <boost/histogram/make_histogram.hpp>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace portcullis {
namespace {

constexpr unsigned kSubBits = std::bit_width(Histogram::kBinsPerOctave) - 1U;
static_assert(std::has_single_bit(Histogram::kBinsPerOctave));

// The axis: below kBinsPerOctave every value has its own bin; from there each octave has that many,
// of equal width. It covers all of 64 bits, so nothing is ever cut off.
struct LogLinearAxis {
  static constexpr int kSize =
      static_cast<int>((64U - kSubBits) * Histogram::kBinsPerOctave + Histogram::kBinsPerOctave);

  static constexpr unsigned shift_of(std::uint64_t value) noexcept {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    return width > kSubBits + 1U ? width - kSubBits - 1U : 0U;
  }
  [[nodiscard]] constexpr int index(std::uint64_t value) const noexcept {
    const unsigned shift = shift_of(value);
    return static_cast<int>(shift * Histogram::kBinsPerOctave + (value >> shift));
  }
  /// The axis' inverse, which Boost's merge asks for.
  [[nodiscard]] static constexpr std::uint64_t value(int index) noexcept { return first_of(index); }
  [[nodiscard]] constexpr int size() const noexcept { return kSize; }
  static constexpr bool inclusive() noexcept { return true; }
  bool operator==(const LogLinearAxis& /*other*/) const noexcept { return true; }

  static constexpr std::uint64_t first_of(int index) noexcept {
    const auto i = static_cast<unsigned>(index);
    if (i < 2U * Histogram::kBinsPerOctave) return i;
    const unsigned shift = i / Histogram::kBinsPerOctave - 1U;
    return static_cast<std::uint64_t>(i - shift * Histogram::kBinsPerOctave) << shift;
  }
  static constexpr std::uint64_t last_of(int index) noexcept {
    return index + 1 >= kSize ? std::numeric_limits<std::uint64_t>::max()
                              : first_of(index + 1) - 1U;
  }
};

static_assert(LogLinearAxis{}.index(std::numeric_limits<std::uint64_t>::max()) ==
              LogLinearAxis::kSize - 1);

using Bins = boost::histogram::histogram<std::tuple<LogLinearAxis>,
                                         boost::histogram::dense_storage<std::uint64_t>>;

__extension__ using Wide = unsigned __int128;

double scale_of(TimeUnit unit) noexcept {
  switch (unit) {
    case TimeUnit::Ns:
      return 1.0;
    case TimeUnit::Us:
      return 1e3;
    case TimeUnit::Ms:
      return 1e6;
  }
  return 1.0;
}

}  // namespace

struct Histogram::State {
  Bins bins{LogLinearAxis{}};
  std::uint64_t count = 0;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t greatest = 0;
  Wide sum = 0;  // 64 bits overflow after some thousand hours
};

Histogram::Histogram() : state_(std::make_unique<State>()) {}
Histogram::Histogram(const Histogram& other) : state_(std::make_unique<State>(*other.state_)) {}
Histogram& Histogram::operator=(const Histogram& other) {
  if (this != &other) state_ = std::make_unique<State>(*other.state_);
  return *this;
}
Histogram::Histogram(Histogram&&) noexcept = default;
Histogram& Histogram::operator=(Histogram&&) noexcept = default;
Histogram::~Histogram() = default;

void Histogram::record(std::uint64_t value_ns) noexcept {
  state_->bins(value_ns);
  ++state_->count;
  state_->sum += value_ns;
  state_->least = std::min(state_->least, value_ns);
  state_->greatest = std::max(state_->greatest, value_ns);
}

void Histogram::merge(const Histogram& other) {
  const State copy = *other.state_;  // so that a histogram may be merged into itself
  state_->bins += copy.bins;
  state_->count += copy.count;
  state_->sum += copy.sum;
  state_->least = std::min(state_->least, copy.least);
  state_->greatest = std::max(state_->greatest, copy.greatest);
}

std::uint64_t Histogram::count() const noexcept { return state_->count; }
std::uint64_t Histogram::min_ns() const noexcept { return is_empty() ? 0 : state_->least; }
std::uint64_t Histogram::max_ns() const noexcept { return state_->greatest; }

double Histogram::mean_ns() const noexcept {
  if (is_empty()) return 0;
  return static_cast<double>(state_->sum) / static_cast<double>(state_->count);
}

double Histogram::stddev_ns() const noexcept {
  if (is_empty()) return 0;
  const double mean = mean_ns();
  double squares = 0;
  for (const Bin& bin : bins()) {
    const auto first = static_cast<double>(std::max(bin.first_ns, min_ns()));
    const auto last = static_cast<double>(std::min(bin.last_ns, max_ns()));
    const double distance = (first + last) / 2 - mean;
    squares += distance * distance * static_cast<double>(bin.count);
  }
  return std::sqrt(squares / static_cast<double>(count()));
}

std::uint64_t Histogram::percentile_ns(double quantile) const noexcept {
  if (is_empty()) return 0;
  // 0.07 * 100 is a little above 7 in binary; one step down keeps it from asking for sample 8.
  const double wanted = std::clamp(quantile, 0.0, 1.0) * static_cast<double>(count());
  const auto rank = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(std::nextafter(wanted, 0.0))));
  std::uint64_t seen = 0;
  for (int i = LogLinearAxis{}.index(min_ns()); i < LogLinearAxis::kSize; ++i) {
    seen += state_->bins.at(i);
    if (seen >= rank) return std::clamp(LogLinearAxis::last_of(i), min_ns(), max_ns());
  }
  return max_ns();
}

std::vector<Histogram::Bin> Histogram::bins() const {
  std::vector<Bin> filled;
  if (is_empty()) return filled;
  const LogLinearAxis axis;
  for (int i = axis.index(min_ns()); i <= axis.index(max_ns()); ++i) {
    const std::uint64_t count = state_->bins.at(i);
    if (count != 0)
      filled.push_back({LogLinearAxis::first_of(i), LogLinearAxis::last_of(i), count});
  }
  return filled;
}

// HdrHistogram's percentile_iter_next (hdr_histogram.c): several levels may fall into one bin, the
// last bin gives one point and then 100 %.
std::vector<CurvePoint> Histogram::percentile_curve(unsigned ticks_per_half_distance) const {
  std::vector<CurvePoint> curve;
  const double ticks = std::max(1U, ticks_per_half_distance);
  double quantile = 0;
  std::uint64_t seen = 0;
  for (const Bin& bin : bins()) {
    seen += bin.count;
    const std::uint64_t value = std::min(bin.last_ns, max_ns());
    const double reached = static_cast<double>(seen) / static_cast<double>(count());
    while (quantile < 1 && quantile <= reached) {
      curve.push_back({quantile, value, seen});
      const double halvings = std::floor(std::log2(1 / (1 - quantile))) + 1;
      quantile += 1 / (ticks * std::exp2(halvings));
      if (seen == count()) break;
    }
  }
  if (!is_empty()) curve.push_back({1.0, max_ns(), seen});
  return curve;
}

std::string_view unit_name(TimeUnit unit) noexcept {
  switch (unit) {
    case TimeUnit::Ns:
      return "ns";
    case TimeUnit::Us:
      return "us";
    case TimeUnit::Ms:
      return "ms";
  }
  return "ns";
}

std::string percentile_text(const Histogram& histogram, TimeUnit unit, std::string_view series) {
  const double scale = scale_of(unit);
  const auto in_unit = [scale](double ns) { return ns / scale; };
  // Readers split on blanks and want one in front; values of hours in ns fill the twelve columns.
  std::string text = fmt::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile",
                                 "TotalCount", "1/(1-Percentile)");
  for (const CurvePoint& point : histogram.percentile_curve(5)) {
    const double value = in_unit(static_cast<double>(point.value_ns));
    text += fmt::format(" {:11.3f} {:14.12f} {:10}", value, point.quantile, point.count);
    if (point.quantile < 1) text += fmt::format(" {:14.2f}", 1 / (1 - point.quantile));
    text += '\n';
  }
  text += fmt::format("#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n",
                      in_unit(histogram.mean_ns()), in_unit(histogram.stddev_ns()));
  text += fmt::format("#[Max     = {:12.3f}, Total count    = {:12}]\n",
                      in_unit(static_cast<double>(histogram.max_ns())), histogram.count());
  text += fmt::format("#[Buckets = {:12}, SubBuckets     = {:12}]\n", 64U - kSubBits,
                      2U * Histogram::kBinsPerOctave);
  text += fmt::format("#[Unit    = {:>12}, Series         = {}]\n", unit_name(unit), series);
  return text;
}

std::string duration_text(double value_ns) {
  static constexpr std::pair<double, const char*> kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  if (value_ns >= 999.5e9) return fmt::format("{:.0f} s", value_ns / 1e9);
  for (const auto& [scale, name] : kUnits) {
    // 999.6 us would round to 1e+03 us: the next unit takes over half a digit earlier.
    if (value_ns >= scale * 0.9995) return fmt::format("{:.3g} {}", value_ns / scale, name);
  }
  return fmt::format("{:.3g} ns", value_ns);
}

}  // namespace portcullis
