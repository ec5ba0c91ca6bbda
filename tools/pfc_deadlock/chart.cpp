// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/svg_parts.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

constexpr double kWidth = 980;
constexpr double kLeft = 76;
constexpr double kRight = 800;  // labels stand to the right of it
constexpr double kPlotHeight = 260;
constexpr double kGap = 84;
constexpr double kRow = 22;
constexpr double kLegendRow = 17;

constexpr std::array kDashes = {"", "9 4", "3 3", "12 4 3 4"};

/// One series looks like no other until colours times dashes are used up.
std::string stroke_of(std::size_t index) {
  const std::string_view dash = kDashes[(index / svg::kColours.size()) % kDashes.size()];
  return fmt::format("stroke=\"{}\" stroke-width=\"1.8\" fill=\"none\"{}",
                     svg::kColours[index % svg::kColours.size()],
                     dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash));
}

struct Frame {
  double top, bottom;
  double x_low, x_high, y_low, y_high;

  [[nodiscard]] double x(double value) const {
    return kLeft + (value - x_low) / (x_high - x_low) * (kRight - kLeft);
  }
  [[nodiscard]] double y(double value) const {
    return bottom - (value - y_low) / (y_high - y_low) * (bottom - top);
  }
};

Frame frame_of(const Chart& chart, double top) {
  Frame frame{top, top + kPlotHeight, 0, 0, 0, 0};
  for (const ChartSeries& series : chart.series)
    for (const auto& [x, y] : series.points) {
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      frame.x_high = std::max(frame.x_high, x);
      frame.y_high = std::max(frame.y_high, y);
    }
  for (const ChartMark& mark : chart.marks)
    if (!mark.is_vertical) frame.y_high = std::max(frame.y_high, mark.at);
  if (frame.x_high == 0) frame.x_high = 1;
  frame.y_high = frame.y_high == 0 ? 1 : frame.y_high * 1.04;
  return frame;
}

std::string grid(const Frame& frame, const Chart& chart) {
  std::string drawn;
  for (const double x : ticks(frame.x_low, frame.x_high, 10)) {
    drawn += svg::line(frame.x(x), frame.top, frame.x(x), frame.bottom, "stroke=\"#e4e4e4\"");
    drawn += svg::text(frame.x(x), frame.bottom + 17, "text-anchor=\"middle\" fill=\"#444\"",
                       fmt::format("{:.6g}", x));
  }
  for (const double y : ticks(frame.y_low, frame.y_high, 6)) {
    drawn += svg::line(kLeft, frame.y(y), kRight, frame.y(y), "stroke=\"#e4e4e4\"");
    drawn += svg::text(kLeft - 8, frame.y(y) + 4, "text-anchor=\"end\" fill=\"#444\"",
                       fmt::format("{:.6g}", y));
  }
  drawn += svg::box(kLeft, frame.top, kRight - kLeft, frame.bottom - frame.top,
                    "fill=\"none\" stroke=\"#888\"");
  drawn += svg::text(kLeft, frame.top - 10, "font-weight=\"bold\" fill=\"#222\"", chart.title);
  drawn += svg::text((kLeft + kRight) / 2, frame.bottom + 36,
                     "text-anchor=\"middle\" fill=\"#222\"", chart.x_label);
  drawn += svg::upright((frame.top + frame.bottom) / 2, chart.y_label);
  return drawn;
}

std::string curve(const Frame& frame, const ChartSeries& series, std::size_t index) {
  std::string path;
  double last_x = -1e9, last_y = -1e9;
  for (const auto& [x, y] : series.points) {
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    const double at_x = frame.x(x), at_y = frame.y(y);
    // Closer than a tenth of a pixel is the same to an eye, and halves a file.
    if (std::abs(at_x - last_x) < 0.1 && std::abs(at_y - last_y) < 0.1) continue;
    if (path.empty())
      path = fmt::format("M{:.1f} {:.1f}", at_x, at_y);
    else if (series.is_step)
      path += fmt::format("H{:.1f}V{:.1f}", at_x, at_y);
    else
      path += fmt::format("L{:.1f} {:.1f}", at_x, at_y);
    last_x = at_x;
    last_y = at_y;
  }
  return path.empty() ? "" : svg::path(path, stroke_of(index));
}

constexpr auto kMarkStroke = "stroke=\"#a00000\" stroke-dasharray=\"3 3\"";
constexpr auto kMarkLabel = "fill=\"#a00000\"";

std::string marks(const std::vector<ChartMark>& list, const Frame& frame) {
  std::string drawn;
  for (const ChartMark& mark : list)
    drawn +=
        mark.is_vertical
            ? svg::line(frame.x(mark.at), frame.top, frame.x(mark.at), frame.bottom, kMarkStroke)
            : svg::line(kLeft, frame.y(mark.at), kRight, frame.y(mark.at), kMarkStroke);
  return drawn;
}

/// Beside the plot, where no label crosses a curve: the series, then the marks.
std::string legend(const Chart& chart, double top) {
  std::string drawn;
  double y = top + 10;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    if (chart.series[i].label.empty()) continue;
    drawn += svg::path(fmt::format("M{:.1f} {:.1f}h26", kRight + 12, y), stroke_of(i));
    drawn += svg::text(kRight + 44, y + 4, "fill=\"#222\"", chart.series[i].label);
    y += kLegendRow;
  }
  for (const ChartMark& mark : chart.marks) {
    drawn += mark.is_vertical ? svg::line(kRight + 25, y - 7, kRight + 25, y + 7, kMarkStroke)
                              : svg::line(kRight + 12, y, kRight + 38, y, kMarkStroke);
    drawn += svg::text(kRight + 44, y + 4, kMarkLabel, mark.label);
    y += kLegendRow;
  }
  return drawn;
}

double height_of(const Chart& chart) {
  const std::size_t rows = chart.series.size() + chart.marks.size();
  return std::max(kPlotHeight, kLegendRow * static_cast<double>(rows) + 6);
}

std::string rows_of(const Timeline& timeline, const Frame& frame) {
  std::string drawn;
  for (std::size_t i = 0; i < timeline.rows.size(); ++i) {
    const TimelineRow& row = timeline.rows[i];
    const double y = frame.top + kRow * static_cast<double>(i);
    drawn += svg::box(kLeft, y + 3, kRight - kLeft, kRow - 6, "fill=\"#eef3ee\"");
    for (std::size_t k = 0, next = 0; k < row.points.size(); k = next) {
      const auto [time, closed] = row.points[k];
      // As one piece what goes on: between two that touch one sees through.
      while (next < row.points.size() && row.points[next].second == closed) ++next;
      const double end = next < row.points.size() ? row.points[next].first : timeline.to;
      if (closed <= 0) continue;
      drawn += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" "
          "fill=\"#D55E00\" fill-opacity=\"{:.2f}\"/>\n",
          frame.x(time), y + 3, std::max(0.2, frame.x(end) - frame.x(time)), kRow - 6,
          std::min(1.0, closed));
    }
    drawn += svg::text(kRight + 12, y + 15, "fill=\"#222\"", row.label);
  }
  return drawn;
}

}  // namespace

std::vector<double> ticks(double low, double high, int count) {
  const double rough = (high - low) / count;
  const double decade = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * decade;
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * decade >= rough) {
      step = digit * decade;
      break;
    }
  std::vector<double> values;
  for (double k = std::ceil(low / step); k * step <= high * (1 + 1e-12); ++k)
    values.push_back(k * step);
  return values;
}

std::string chart_svg(const std::string& title, const std::string& subtitle,
                      const std::vector<Chart>& charts, const Timeline& timeline) {
  std::string body;
  double top = 96;
  for (const Chart& chart : charts) {
    const Frame frame = frame_of(chart, top);
    body += grid(frame, chart);
    for (std::size_t i = 0; i < chart.series.size(); ++i) body += curve(frame, chart.series[i], i);
    body += marks(chart.marks, frame) + legend(chart, top);
    top += height_of(chart) + kGap;
  }
  if (!timeline.rows.empty()) {
    const double bottom = top + kRow * static_cast<double>(timeline.rows.size());
    const Frame frame{top, bottom, timeline.from, timeline.to, 0, 1};
    body += rows_of(timeline, frame);
    for (const double x : ticks(frame.x_low, frame.x_high, 10))
      body += svg::text(frame.x(x), bottom + 17, "text-anchor=\"middle\" fill=\"#444\"",
                        fmt::format("{:.6g}", x));
    body += svg::text(kLeft, top - 10, "font-weight=\"bold\" fill=\"#222\"", timeline.title);
    body += svg::text((kLeft + kRight) / 2, bottom + 36, "text-anchor=\"middle\" fill=\"#222\"",
                      timeline.x_label);
    body += marks(timeline.marks, frame);
    for (const ChartMark& mark : timeline.marks)
      body += svg::text(kRight, top - 10, fmt::format("text-anchor=\"end\" {}", kMarkLabel),
                        mark.label);
    top = bottom + kGap;
  }
  return svg::open({kWidth, top - 30, 12, title}) +
         svg::text(kLeft, 30, "font-size=\"18\" font-weight=\"bold\" fill=\"#111\"", title) +
         svg::text(kLeft, 52, "fill=\"#444\"", subtitle) + body + "</svg>\n";
}

}  // namespace portcullis::tools::pfc_deadlock
