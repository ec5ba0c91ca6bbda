// SPDX-License-Identifier: BSD-3-Clause
#include "base/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/svg_parts.hpp"

namespace portcullis {
namespace {

constexpr double kWidth = 1060;
constexpr double kLeft = 84;
constexpr double kRight = 886;  // reference labels stand to the right of it
constexpr double kPlotHeight = 380;
constexpr double kLineHeight = 20;
constexpr std::size_t kSubtitleColumns = 125;

struct Quantile {
  double value;
  const char* name;
};
constexpr Quantile kTicks[] = {
    {0, "0 %"},        {0.5, "50 %"},       {0.9, "90 %"},         {0.99, "99 %"},
    {0.999, "99.9 %"}, {0.9999, "99.99 %"}, {0.99999, "99.999 %"}, {0.999999, "99.9999 %"}};
constexpr double kLeastSpan = 1e3;     // the axis reaches 99.9 % whatever the samples do
constexpr double kGreatestSpan = 1e6;  // and ends where the marks end

/// Where quantiles and latencies fall in the picture.
struct Frame {
  double top;
  double log_least, log_greatest;  // of latency
  double log_span;                 // of 1/(1-q)

  [[nodiscard]] double bottom() const { return top + kPlotHeight; }
  [[nodiscard]] double x(double inverse) const {
    const double share = std::log10(std::max(1.0, inverse)) / log_span;
    return kLeft + std::min(1.0, share) * (kRight - kLeft);
  }
  [[nodiscard]] double y(double value_ns) const {
    // 0 ns has no place on a logarithmic axis; it lies on the lower edge.
    const double position = value_ns > 0 ? std::log10(value_ns) : log_least;
    const double share = (position - log_least) / (log_greatest - log_least);
    return bottom() - std::clamp(share, 0.0, 1.0) * kPlotHeight;
  }
};

Frame frame_of(const PercentilePlot& plot, double top) {
  double least = std::numeric_limits<double>::max();
  double greatest = 0;
  double samples = 0;
  const auto include = [&](double value_ns) {
    least = std::min(least, std::max(1.0, value_ns));
    greatest = std::max(greatest, std::max(1.0, value_ns));
  };
  for (const PlotSeries& series : plot.series) {
    if (series.histogram.is_empty()) continue;
    include(static_cast<double>(series.histogram.min_ns()));
    include(static_cast<double>(series.histogram.max_ns()));
    samples = std::max(samples, static_cast<double>(series.histogram.count()));
  }
  for (const ReferenceLine& line : plot.references) include(static_cast<double>(line.value_ns));
  if (greatest == 0) include(1e6);
  Frame frame{top, std::log10(least) - 0.15, std::log10(greatest) + 0.15,
              std::log10(std::clamp(samples, kLeastSpan, kGreatestSpan))};
  const double missing = 1.0 - (frame.log_greatest - frame.log_least);
  if (missing > 0) {  // at least a decade, so that a narrow distribution looks narrow
    frame.log_least -= missing / 2;
    frame.log_greatest += missing / 2;
  }
  return frame;
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  while (text.size() > columns) {
    const std::size_t blank = text.rfind(' ', columns);
    const std::size_t end = blank == std::string_view::npos || blank == 0 ? columns : blank;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == blank ? end + 1 : end);
  }
  lines.emplace_back(text);
  return lines;
}

std::string latency_grid(const Frame& frame) {
  std::string drawn;
  const double decades = frame.log_greatest - frame.log_least;
  for (int decade = static_cast<int>(std::floor(frame.log_least)); decade < frame.log_greatest;
       ++decade) {
    for (int digit = 1; digit <= 9; ++digit) {
      const double value = digit * std::pow(10.0, decade);
      const double position = std::log10(value);
      if (position < frame.log_least || position > frame.log_greatest) continue;
      const bool is_labelled =
          digit == 1 || (decades < 3 && (digit == 2 || digit == 5)) || (decades < 1.2);
      const double y = frame.y(value);
      drawn +=
          svg::line(kLeft, y, kRight, y, digit == 1 ? "stroke=\"#c8c8c8\"" : "stroke=\"#eeeeee\"");
      if (is_labelled)
        drawn +=
            svg::text(kLeft - 8, y + 4, "text-anchor=\"end\" fill=\"#444\"", duration_text(value));
    }
  }
  return drawn;
}

std::string quantile_grid(const Frame& frame) {
  std::string drawn;
  for (const Quantile& tick : kTicks) {
    const double inverse = 1 / (1 - tick.value);
    if (std::log10(inverse) > frame.log_span + 1e-9) continue;
    const double x = frame.x(inverse);
    drawn += svg::line(x, frame.top, x, frame.bottom(), "stroke=\"#c8c8c8\"");
    drawn += svg::text(x, frame.bottom() + 18, "text-anchor=\"middle\" fill=\"#444\"", tick.name);
  }
  drawn += svg::box(kLeft, frame.top, kRight - kLeft, kPlotHeight, "fill=\"none\" stroke=\"#888\"");
  drawn +=
      svg::text((kLeft + kRight) / 2, frame.bottom() + 38, "text-anchor=\"middle\" fill=\"#222\"",
                "share of samples at or below, drawn as 1/(1-q)");
  drawn += svg::upright(frame.top + kPlotHeight / 2, "latency");
  return drawn;
}

// Dashes differ from one series to the next, so that of two curves on top of each other both show.
constexpr std::array kDashes = {"", "11 5", "4 4", "12 4 3 4"};

std::string stroke_of(std::size_t index) {
  const std::string_view dash = kDashes[index % kDashes.size()];
  std::string stroke = fmt::format("stroke=\"{}\" stroke-width=\"2.2\" fill=\"none\"",
                                   svg::kColours[index % svg::kColours.size()]);
  if (!dash.empty()) stroke += fmt::format(" stroke-dasharray=\"{}\"", dash);
  return stroke;
}

std::string curve_of(const Frame& frame, const PlotSeries& series, std::size_t index) {
  const Histogram& histogram = series.histogram;
  if (histogram.is_empty()) return "";
  if (series.is_deterministic && histogram.is_one_value()) {
    const double y = frame.y(static_cast<double>(histogram.max_ns()));
    return svg::path(fmt::format("M{:.1f} {:.1f}H{:.1f}", kLeft, y, kRight), stroke_of(index));
  }
  std::string path;
  double y = -1;
  for (const CurvePoint& point : histogram.percentile_curve(20)) {
    const double next = frame.y(static_cast<double>(point.value_ns));
    // The last sample's share ends at 1/(1-q) = count; 100 % itself lies at infinity.
    const double inverse =
        point.quantile < 1 ? 1 / (1 - point.quantile) : static_cast<double>(histogram.count());
    if (path.empty())
      path = fmt::format("M{:.1f} {:.1f}", frame.x(inverse), next);
    else if (next != y || point.quantile >= 1)
      path += fmt::format("H{:.1f}V{:.1f}", frame.x(inverse), next);
    y = next;
  }
  const double end = frame.x(static_cast<double>(histogram.count()));
  const auto colour = svg::kColours[index % svg::kColours.size()];
  return svg::path(path, stroke_of(index)) +
         svg::circle(end, y, 3.5, fmt::format("fill=\"{}\"", colour));
}

std::string reference_lines(const Frame& frame, std::vector<ReferenceLine> references) {
  std::sort(references.begin(), references.end(),
            [](const auto& a, const auto& b) { return a.value_ns > b.value_ns; });
  std::string drawn;
  double free_from = frame.top - kLineHeight;  // labels keep clear of each other, top to bottom
  for (const ReferenceLine& line : references) {
    const double y = frame.y(static_cast<double>(line.value_ns));
    const double label = std::max(y, free_from + 15);
    drawn += svg::line(kLeft, y, kRight, y, "stroke=\"#a00000\" stroke-dasharray=\"3 3\"");
    drawn += svg::line(kRight, y, kRight + 12, label, "stroke=\"#a00000\"");
    drawn += svg::text(kRight + 16, label + 4, "fill=\"#a00000\"", line.label);
    free_from = label;
  }
  return drawn;
}

constexpr double kColumns[] = {566, 646, 726, 806, 886, 966};

std::string table_row(double y, std::size_t index, const PlotSeries& series) {
  const Histogram& histogram = series.histogram;
  std::string drawn = svg::path(fmt::format("M{:.1f} {:.1f}h32", kLeft, y - 4), stroke_of(index));
  drawn += svg::text(kLeft + 40, y, "fill=\"#222\"", series.label);
  constexpr auto kRightAligned = "text-anchor=\"end\" fill=\"#222\"";
  if (histogram.is_empty()) return drawn + svg::text(kColumns[4], y, kRightAligned, "no samples");
  if (series.is_deterministic && histogram.is_one_value())
    return drawn +
           svg::text(kColumns[4], y, kRightAligned,
                     duration_text(static_cast<double>(histogram.max_ns())) +
                         " (deterministic, one value)") +
           svg::text(kColumns[5], y, kRightAligned, fmt::format("{}", histogram.count()));
  constexpr double kShown[] = {0.5, 0.9, 0.99, 0.999, 1};
  for (std::size_t i = 0; i < std::size(kShown); ++i) {
    const bool is_told = i == 0 || kShown[i] == 1 || histogram.tells(kShown[i]);
    const auto value = static_cast<double>(histogram.percentile_ns(kShown[i]));
    drawn += svg::text(kColumns[i], y, kRightAligned, is_told ? duration_text(value) : "-");
  }
  return drawn + svg::text(kColumns[5], y, kRightAligned, fmt::format("{}", histogram.count()));
}

std::string table_of(const PercentilePlot& plot, double top) {
  constexpr const char* kNames[] = {"p50", "p90", "p99", "p99.9", "max", "samples"};
  std::string drawn;
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    drawn += svg::text(kColumns[i], top, "text-anchor=\"end\" fill=\"#666\"", kNames[i]);
  for (std::size_t i = 0; i < plot.series.size(); ++i)
    drawn += table_row(top + kLineHeight * static_cast<double>(i + 1), i, plot.series[i]);
  return drawn;
}

}  // namespace

std::string percentile_svg(const PercentilePlot& plot) {
  const std::vector<std::string> subtitle = wrap(plot.subtitle, kSubtitleColumns);
  const double top = 50 + 17 * static_cast<double>(subtitle.size());
  const Frame frame = frame_of(plot, top);
  const double table = frame.bottom() + 68;
  const double height = table + kLineHeight * static_cast<double>(plot.series.size()) + 18;

  std::string drawn = svg::open({kWidth, height, 12, plot.title, plot.subtitle});
  drawn += svg::text(kLeft, 30, "font-size=\"18\" font-weight=\"bold\" fill=\"#111\"", plot.title);
  for (std::size_t i = 0; i < subtitle.size(); ++i)
    drawn += svg::text(kLeft, 50 + 17 * static_cast<double>(i), "fill=\"#444\"", subtitle[i]);
  drawn += latency_grid(frame) + quantile_grid(frame) + reference_lines(frame, plot.references);
  for (std::size_t i = 0; i < plot.series.size(); ++i) drawn += curve_of(frame, plot.series[i], i);
  return drawn + table_of(plot, table) + "</svg>\n";
}

}  // namespace portcullis
