// SPDX-License-Identifier: BSD-3-Clause
//
// Line charts as self-contained SVG: service curves, queues, pause timelines, phase diagrams. Pure;
// whoever wants a file writes one.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace portcullis::tools::pfc_deadlock {

struct ChartSeries {
  std::string label;
  std::vector<std::pair<double, double>> points;
  bool is_step = false;  // holds its value until the next point
};

struct ChartMark {
  std::string label;
  double at = 0;
  bool is_vertical = true;  // at x; else at y
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<ChartSeries> series;
  std::vector<ChartMark> marks;
};

/// One row a line, coloured where it is closed: x from `from` to `to`.
struct TimelineRow {
  std::string label;
  std::vector<std::pair<double, double>>
      points;  // time and share closed, which holds until the next
};

struct Timeline {
  std::string title;
  std::string x_label;
  std::vector<TimelineRow> rows;
  double from = 0;
  double to = 1;
  std::vector<ChartMark> marks;
};

/// Charts below each other, then the timeline if it has rows, under one title.
[[nodiscard]] std::string chart_svg(const std::string& title, const std::string& subtitle,
                                    const std::vector<Chart>& charts, const Timeline& timeline);

/// Round numbers from `low` to `high`, about `count` of them.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count);

}  // namespace portcullis::tools::pfc_deadlock
