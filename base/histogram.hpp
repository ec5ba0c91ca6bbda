// SPDX-License-Identifier: BSD-3-Clause
//
// Latency samples as a distribution: log-linear bins, 128 to a power of two, so a value read back
// is at most 1/128 (0.8 %) above the one recorded, from 1 ns to the end of 64 bits. Count, least,
// greatest and mean are exact. The bins are a Boost.Histogram, kept out of this header because its
// own are slow to compile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis {

/// One point of a percentile curve, in the order of HdrHistogram's percentile iterator.
struct CurvePoint {
  double quantile = 0;         // 0 to 1
  std::uint64_t value_ns = 0;  // the share `quantile` of all samples is at most this
  std::uint64_t count = 0;     // samples at most value_ns
};

class Histogram {
 public:
  /// Neighbouring values that are counted as one.
  struct Bin {
    std::uint64_t first_ns = 0;
    std::uint64_t last_ns = 0;
    std::uint64_t count = 0;
  };
  static constexpr unsigned kBinsPerOctave = 128;

  Histogram();
  Histogram(const Histogram& other);
  Histogram& operator=(const Histogram& other);
  Histogram(Histogram&&) noexcept;
  Histogram& operator=(Histogram&&) noexcept;
  ~Histogram();

  /// Allocates nothing, so it may stand between two measurements.
  void record(std::uint64_t value_ns) noexcept;
  /// Adds the samples of `other`, as if they had been recorded here.
  void merge(const Histogram& other);

  [[nodiscard]] std::uint64_t count() const noexcept;
  [[nodiscard]] bool is_empty() const noexcept { return count() == 0; }
  /// 0 when empty, as are all below.
  [[nodiscard]] std::uint64_t min_ns() const noexcept;
  [[nodiscard]] std::uint64_t max_ns() const noexcept;
  [[nodiscard]] double mean_ns() const noexcept;
  /// Of the whole population, each bin counted at its middle.
  [[nodiscard]] double stddev_ns() const noexcept;
  /// The least value that at least the share `quantile` (0 to 1) of the samples does not exceed,
  /// at most 0.8 % too high, never above max_ns() nor below min_ns().
  [[nodiscard]] std::uint64_t percentile_ns(double quantile) const noexcept;
  /// Whether a percentile is more than the maximum by another name: 1 / (1 - quantile) samples.
  [[nodiscard]] bool tells(double quantile) const noexcept {
    constexpr double kRounding = 1e-9;  // 1 - 0.9 is a little less than 0.1
    return static_cast<double>(count()) * (1 - quantile) >= 1 - kRounding;
  }
  /// Every sample is the same, as in a deterministic series.
  [[nodiscard]] bool is_one_value() const noexcept { return !is_empty() && min_ns() == max_ns(); }

  /// Bins that hold samples, ascending.
  [[nodiscard]] std::vector<Bin> bins() const;
  /// The distribution as a curve with `ticks_per_half_distance` points each time the distance to
  /// 100 % halves; ends at quantile 1 and max_ns(). Empty when there is no sample.
  [[nodiscard]] std::vector<CurvePoint> percentile_curve(unsigned ticks_per_half_distance) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

enum class TimeUnit : std::uint8_t { Ns, Us, Ms };

/// "ns", "us", "ms".
[[nodiscard]] std::string_view unit_name(TimeUnit unit) noexcept;

/// The text that HdrHistogram's outputPercentileDistribution writes and its plotters read: columns
/// Value Percentile TotalCount 1/(1-Percentile), then its three footer lines. The unit and `series`
/// follow in a fourth footer line, which readers skip as a comment.
[[nodiscard]] std::string percentile_text(const Histogram& histogram, TimeUnit unit,
                                          std::string_view series);

/// "1.5 ms", "12 ms", "900 ns": three significant digits, in the unit that reads best.
[[nodiscard]] std::string duration_text(double value_ns);

}  // namespace portcullis
