// SPDX-License-Identifier: BSD-3-Clause
//
// What a bench program leaves behind: counters in Google Benchmark's table and JSON, and for every
// series a percentile text and a curve in a picture. Google Benchmark's own statistics are over
// repetitions, never over iterations, so each sample goes into a histogram of ours.
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.hpp"
#include "base/result.hpp"
#include "base/svg.hpp"

namespace portcullis::bench {

struct Series {
  std::string name;     // "nak-first/leases:64/traffic:write/clock:virtual"
  std::string picture;  // series of one picture are compared with each other: "idle", "traffic"
  bool is_virtual = false;
  Histogram latency;
};

/// p50 p90 p99 p999 max in nanoseconds, and count. Of a percentile q only with 1/(1-q) samples.
void set_counters(benchmark::State& state, const Histogram& latency);

/// With its parents; System when it cannot be made.
[[nodiscard]] Result<void> make_directory(const std::string& directory);

/// A series without a result, and why: "the clients' first WRITEs did not complete within 60 s".
struct NotMeasured {
  std::string name;
  std::string reason;
};

class Report {
 public:
  /// A series of the same name is merged: repetitions are more samples.
  void add(const Series& series);
  void add_reference(ReferenceLine line) { references_.push_back(std::move(line)); }
  /// What a series took before it failed is no distribution: nothing of it is added.
  void add_failure(NotMeasured failure) { failures_.push_back(std::move(failure)); }
  [[nodiscard]] const std::vector<Series>& series() const noexcept { return series_; }
  [[nodiscard]] const std::vector<NotMeasured>& failures() const noexcept { return failures_; }

  /// One line a series: name, p50 to max, count, in units that read well. "-": too few samples.
  [[nodiscard]] std::string table() const;
  /// `directory`/SERIES.hgrm (HdrHistogram text, microseconds) and
  /// `directory`/`program`[.PICTURE].svg. Returns their names; System when one cannot be written,
  /// and then the others are written all the same.
  [[nodiscard]] Result<std::vector<std::string>> write(const std::string& directory,
                                                       const std::string& program,
                                                       const std::string& title,
                                                       const std::string& subtitle) const;

 private:
  [[nodiscard]] PercentilePlot plot_of(std::string_view picture) const;

  std::vector<Series> series_;
  std::vector<NotMeasured> failures_;
  std::vector<ReferenceLine> references_;
};

}  // namespace portcullis::bench
