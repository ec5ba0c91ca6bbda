// SPDX-License-Identifier: BSD-3-Clause
//
// Latency distributions as a picture: the percentile curve, which shows the tail that a mean hides
// and has none of the false steps that log-linear bins draw as counts. A self-contained SVG, no
// script, no font, no network; pure, so that whoever wants a file writes one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.hpp"

namespace portcullis {

struct PlotSeries {
  std::string label;
  Histogram histogram;
  /// On a virtual clock: one value, drawn as a line across and named so.
  bool is_deterministic = false;
};

/// A level to compare with, such as a budget.
struct ReferenceLine {
  std::string label;
  std::uint64_t value_ns = 0;
};

struct PercentilePlot {
  std::string title;
  /// What the figures are worth: device, emulated or not, clock.
  std::string subtitle;
  std::vector<PlotSeries> series;
  std::vector<ReferenceLine> references;
};

/// x is 1/(1-q), logarithmic, marked 0, 50, 90, 99, 99.9 % and as far as the samples reach; y is
/// latency, logarithmic; a table of p50 to max below. A series without samples has its row in the
/// table and no curve.
[[nodiscard]] std::string percentile_svg(const PercentilePlot& plot);

}  // namespace portcullis
