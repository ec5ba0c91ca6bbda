// SPDX-License-Identifier: BSD-3-Clause
//
// The histogram against a sorted vector of the same samples: the vector is the truth, the histogram
// may differ by its stated 0.8 % and never in count, least, greatest or mean. The percentile text
// is read back the way plotters do.
#include "base/histogram.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>

namespace portcullis {
namespace {

using Samples = std::vector<std::uint64_t>;

constexpr std::uint64_t kHourNs = 3'600'000'000'000;
constexpr double kQuantiles[] = {0.0, 0.01, 0.07, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0};

Histogram histogram_of(const Samples& samples) {
  Histogram histogram;
  for (const std::uint64_t sample : samples) histogram.record(sample);
  return histogram;
}

/// Nearest rank on the sorted samples.
std::uint64_t oracle_percentile(Samples samples, double quantile) {
  std::sort(samples.begin(), samples.end());
  const auto n = static_cast<double>(samples.size());
  const double rank = std::max(1.0, std::ceil(quantile * n * (1 - 1e-12)));
  return samples[static_cast<std::size_t>(rank) - 1];
}

Samples log_uniform(std::uint32_t seed, std::size_t count, double least, double greatest) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(std::log(least), std::log(greatest));
  Samples samples(count);
  std::generate(samples.begin(), samples.end(),
                [&] { return static_cast<std::uint64_t>(std::exp(exponent(random))); });
  return samples;
}

/// Two modes far apart, as a fence that is fast or waits for a retry budget.
Samples bimodal(std::uint32_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> fast(2'000, 150);
  std::normal_distribution<double> slow(1.4e9, 2e7);
  std::bernoulli_distribution is_slow(0.02);
  Samples samples(count);
  std::generate(samples.begin(), samples.end(), [&] {
    return static_cast<std::uint64_t>(is_slow(random) ? slow(random) : fast(random));
  });
  return samples;
}

struct Shape {
  const char* name;
  Samples samples;
};
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

class HistogramOracle : public testing::TestWithParam<Shape> {};

TEST_P(HistogramOracle, Percentiles_AreAtMostOneBinAboveTheTruth) {
  const Histogram histogram = histogram_of(GetParam().samples);
  for (const double quantile : kQuantiles) {
    const std::uint64_t truth = oracle_percentile(GetParam().samples, quantile);
    EXPECT_GE(histogram.percentile_ns(quantile), truth) << "quantile " << quantile;
    EXPECT_LE(static_cast<double>(histogram.percentile_ns(quantile)),
              static_cast<double>(truth) * 1.008)
        << "quantile " << quantile;
  }
}

TEST_P(HistogramOracle, CountLeastGreatestAndMean_AreExact) {
  const Samples& samples = GetParam().samples;
  const Histogram histogram = histogram_of(samples);
  long double sum = 0;
  for (const std::uint64_t sample : samples) sum += static_cast<long double>(sample);
  EXPECT_EQ(histogram.count(), samples.size());
  EXPECT_EQ(histogram.min_ns(), *std::min_element(samples.begin(), samples.end()));
  EXPECT_EQ(histogram.max_ns(), *std::max_element(samples.begin(), samples.end()));
  EXPECT_DOUBLE_EQ(histogram.mean_ns(),
                   static_cast<double>(sum / static_cast<long double>(samples.size())));
}

TEST_P(HistogramOracle, Deviation_IsThatOfTheSamples) {
  const Samples& samples = GetParam().samples;
  const Histogram histogram = histogram_of(samples);
  double squares = 0;
  for (const std::uint64_t sample : samples)
    squares += std::pow(static_cast<double>(sample) - histogram.mean_ns(), 2);
  const double truth = std::sqrt(squares / static_cast<double>(samples.size()));
  EXPECT_NEAR(histogram.stddev_ns(), truth, truth * 0.01 + 1);
}

TEST_P(HistogramOracle, MergeOfHalves_EqualsTheWhole) {
  const Samples& samples = GetParam().samples;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  Histogram merged = histogram_of(Samples(samples.begin(), middle));
  merged.merge(histogram_of(Samples(middle, samples.end())));
  const Histogram whole = histogram_of(samples);
  EXPECT_EQ(merged.count(), whole.count());
  EXPECT_EQ(merged.min_ns(), whole.min_ns());
  EXPECT_EQ(merged.max_ns(), whole.max_ns());
  EXPECT_DOUBLE_EQ(merged.mean_ns(), whole.mean_ns());
  EXPECT_EQ(percentile_text(merged, TimeUnit::Ns, "s"), percentile_text(whole, TimeUnit::Ns, "s"));
}

TEST_P(HistogramOracle, BinCounts_AddUpToTheCountAndHoldTheSamples) {
  const Samples& samples = GetParam().samples;
  std::uint64_t sum = 0;
  for (const Histogram::Bin& bin : histogram_of(samples).bins()) {
    const auto inside = std::count_if(samples.begin(), samples.end(), [&](std::uint64_t sample) {
      return sample >= bin.first_ns && sample <= bin.last_ns;
    });
    EXPECT_EQ(bin.count, static_cast<std::uint64_t>(inside));
    sum += bin.count;
  }
  EXPECT_EQ(sum, samples.size());
}

TEST_P(HistogramOracle, CurveCounts_AreThoseOfTheSamples) {
  const Samples& samples = GetParam().samples;
  for (const CurvePoint& point : histogram_of(samples).percentile_curve(5)) {
    const auto below = std::count_if(samples.begin(), samples.end(),
                                     [&](std::uint64_t s) { return s <= point.value_ns; });
    EXPECT_EQ(point.count, static_cast<std::uint64_t>(below));
    EXPECT_GE(static_cast<double>(below),
              point.quantile * static_cast<double>(samples.size()) - 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, HistogramOracle,
    testing::Values(Shape{"zero", {0}}, Shape{"three", {1, 2, 3}},
                    Shape{"equal", Samples(1000, 12'000'000)},
                    Shape{"ns_to_hours", log_uniform(1, 2'000, 1, 1e13)},
                    Shape{"narrow", log_uniform(2, 2'000, 900, 1'100)},
                    Shape{"seconds_to_hours", log_uniform(3, 2'000, 1e9, 3.6e13)},
                    Shape{"two_modes", bimodal(4, 3'000)},
                    Shape{"octave_ends", {127, 128, 129, 255, 256, 257, 511, 512, 513}}));

TEST(Histogram, Empty_ReadsZeroEverywhere) {
  const Histogram empty;
  EXPECT_TRUE(empty.is_empty());
  EXPECT_EQ(empty.min_ns(), 0U);
  EXPECT_EQ(empty.max_ns(), 0U);
  EXPECT_EQ(empty.percentile_ns(0.5), 0U);
  EXPECT_EQ(empty.mean_ns(), 0);
  EXPECT_EQ(empty.stddev_ns(), 0);
  EXPECT_TRUE(empty.bins().empty());
  EXPECT_TRUE(empty.percentile_curve(5).empty());
  EXPECT_FALSE(empty.is_one_value());
}

TEST(Histogram, WidestValue_IsKept) {
  const auto widest = std::numeric_limits<std::uint64_t>::max();
  const Histogram histogram = histogram_of({widest, widest});
  EXPECT_EQ(histogram.max_ns(), widest);
  EXPECT_EQ(histogram.percentile_ns(0.5), widest);
  EXPECT_DOUBLE_EQ(histogram.mean_ns(), static_cast<double>(widest));
}

TEST(Histogram, DaysInNanoseconds_AreToldApart) {
  const Histogram histogram = histogram_of({24 * kHourNs, 48 * kHourNs});
  EXPECT_NEAR(static_cast<double>(histogram.percentile_ns(0.5)), 24.0 * kHourNs,
              24.0 * kHourNs * 0.008);
  EXPECT_EQ(histogram.percentile_ns(1), 48 * kHourNs);
}

TEST(Histogram, EqualSamples_AreOneValueAndTheNextOneIsNot) {
  Histogram histogram = histogram_of({1'500'000, 1'500'000});
  EXPECT_TRUE(histogram.is_one_value());
  EXPECT_EQ(histogram.percentile_ns(0.5), 1'500'000U);
  EXPECT_EQ(histogram.stddev_ns(), 0);
  histogram.record(1'500'001);
  EXPECT_FALSE(histogram.is_one_value());
}

TEST(Histogram, Quantile_OutsideZeroToOne_IsTheNearestEnd) {
  const Histogram histogram = histogram_of({10, 20, 30});
  EXPECT_EQ(histogram.percentile_ns(-1), 10U);
  EXPECT_EQ(histogram.percentile_ns(2), 30U);
}

TEST(Histogram, SevenPercentOfHundred_IsTheSeventhSample) {
  Samples hundred(100);
  std::generate(hundred.begin(), hundred.end(), [n = 0U]() mutable { return ++n; });
  EXPECT_EQ(histogram_of(hundred).percentile_ns(0.07), 7U);
}

TEST(Histogram, MergeIntoItself_DoublesEveryCount) {
  Histogram histogram = histogram_of({5, 6});
  histogram.merge(histogram);
  EXPECT_EQ(histogram.count(), 4U);
  EXPECT_EQ(histogram.bins().front().count, 2U);
}

TEST(Histogram, MergeOfEmpty_ChangesNothing) {
  Histogram histogram = histogram_of({5});
  histogram.merge(Histogram());
  EXPECT_EQ(histogram.min_ns(), 5U);
  EXPECT_EQ(histogram.count(), 1U);
}

TEST(Histogram, Copy_IsIndependentOfItsSource) {
  Histogram source = histogram_of({5});
  const Histogram copy = source;
  source.record(6);
  EXPECT_EQ(copy.count(), 1U);
  EXPECT_EQ(source.count(), 2U);
}

/// The rows of a percentile text that have four numbers, which is what plotters draw.
std::vector<std::vector<double>> plotted_rows(const std::string& text) {
  std::vector<std::vector<double>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<double> row;
    for (double number = 0; words >> number;) row.push_back(number);
    if (row.size() == 4) rows.push_back(row);
  }
  return rows;
}

// The expected text is HdrHistogram's own for the samples 25, 50, 75 with five ticks per half
// distance, as its ports print it; only the last two lines, which describe the bins, are ours.
TEST(PercentileText, ThreeSamples_ReadAsHdrHistogramPrintsThem) {
  EXPECT_EQ(percentile_text(histogram_of({25, 50, 75}), TimeUnit::Ns, "three"),
            "       Value     Percentile TotalCount 1/(1-Percentile)\n"
            "\n"
            "      25.000 0.000000000000          1           1.00\n"
            "      25.000 0.100000000000          1           1.11\n"
            "      25.000 0.200000000000          1           1.25\n"
            "      25.000 0.300000000000          1           1.43\n"
            "      50.000 0.400000000000          2           1.67\n"
            "      50.000 0.500000000000          2           2.00\n"
            "      50.000 0.550000000000          2           2.22\n"
            "      50.000 0.600000000000          2           2.50\n"
            "      50.000 0.650000000000          2           2.86\n"
            "      75.000 0.700000000000          3           3.33\n"
            "      75.000 1.000000000000          3\n"
            "#[Mean    =       50.000, StdDeviation   =       20.412]\n"
            "#[Max     =       75.000, Total count    =            3]\n"
            "#[Buckets =           57, SubBuckets     =          256]\n"
            "#[Unit    =           ns, Series         = three]\n");
}

TEST(PercentileText, Rows_RiseToTheMaximum) {
  const auto rows =
      plotted_rows(percentile_text(histogram_of(bimodal(7, 3'000)), TimeUnit::Us, ""));
  EXPECT_GT(rows.size(), 20U);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(),
                             [](const auto& a, const auto& b) { return a[0] < b[0]; }));
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(),
                             [](const auto& a, const auto& b) { return a[3] < b[3]; }));
}

TEST(PercentileText, Unit_ScalesEveryValueAndIsNamed) {
  const std::string text = percentile_text(histogram_of({1'500'000}), TimeUnit::Us, "revoke");
  EXPECT_THAT(text, testing::HasSubstr("    1500.000 1.000000000000          1\n"));
  EXPECT_THAT(text, testing::HasSubstr("#[Mean    =     1500.000, "));
  EXPECT_THAT(text, testing::HasSubstr("#[Unit    =           us, Series         = revoke]\n"));
}

TEST(PercentileText, EveryRow_BeginsWithABlankHoweverWideTheValue) {
  const std::string text = percentile_text(histogram_of({100 * kHourNs}), TimeUnit::Ns, "");
  EXPECT_THAT(text, testing::HasSubstr("\n 360000000000000.000 1.0"));
}

TEST(PercentileText, Empty_HasHeaderAndFooterOnly) {
  const std::string text = percentile_text(Histogram(), TimeUnit::Us, "none");
  EXPECT_TRUE(plotted_rows(text).empty());
  EXPECT_THAT(text, testing::HasSubstr("Total count    =            0]"));
}

TEST(DurationText, ReadsInTheUnitThatFits) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(1'500), "1.5 us");
  EXPECT_EQ(duration_text(12e6), "12 ms");
  EXPECT_EQ(duration_text(999'999), "1 ms");
  EXPECT_EQ(duration_text(1.4e9), "1.4 s");
  EXPECT_EQ(duration_text(7.2e12), "7200 s");
}

}  // namespace
}  // namespace portcullis
