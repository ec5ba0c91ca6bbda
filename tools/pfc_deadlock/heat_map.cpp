// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/svg_parts.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

constexpr double kLeft = 96;
constexpr double kTop = 90;
constexpr double kCellHeight = 34;
constexpr double kMargin = 24;
constexpr auto kMiddle = "text-anchor=\"middle\" fill=\"#222\"";

/// White to dark orange; text on it stays readable.
std::string colour_of(double share) {
  const double s = std::clamp(share, 0.0, 1.0);
  const auto mix = [s](double from, double to) {
    return static_cast<int>(std::lround(from + s * (to - from)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(247, 213), mix(250, 94), mix(247, 0));
}

}  // namespace

std::string heat_map_svg(const HeatMap& map) {
  const double cell = std::clamp(840.0 / static_cast<double>(map.columns.size()), 26.0, 76.0);
  const double right = kLeft + cell * static_cast<double>(map.columns.size());
  const double bottom = kTop + kCellHeight * static_cast<double>(map.rows.size());
  std::string drawn = svg::open({std::max(right + 40, 720.0), bottom + 96, 11, map.title}) +
                      svg::text(kMargin, 30, "font-size=\"18\" font-weight=\"bold\"", map.title) +
                      svg::text(kMargin, 52, "fill=\"#444\"", map.subtitle);
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    const double y = bottom - kCellHeight * static_cast<double>(row + 1);
    drawn += svg::text(kLeft - 8, y + kCellHeight / 2 + 4, "text-anchor=\"end\" fill=\"#222\"",
                       map.rows[row]);
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const HeatMap::Cell& of = map.cells[row * map.columns.size() + column];
      const double x = kLeft + cell * static_cast<double>(column);
      drawn += svg::box(x, y, cell, kCellHeight,
                        fmt::format("fill=\"{}\" stroke=\"#ffffff\"", colour_of(of.share)));
      drawn += svg::text(x + cell / 2, y + kCellHeight / 2 + 4, kMiddle, of.text);
    }
  }
  for (std::size_t column = 0; column < map.columns.size(); ++column)
    drawn += svg::text(kLeft + cell * (static_cast<double>(column) + 0.5), bottom + 18, kMiddle,
                       map.columns[column]);
  drawn += svg::text((kLeft + right) / 2, bottom + 40, kMiddle, map.x_label);
  drawn += svg::upright((kTop + bottom) / 2, map.y_label);
  for (int i = 0; i <= 10; ++i)
    drawn += svg::box(kLeft + 22 * i, bottom + 58, 22, 12,
                      fmt::format("fill=\"{}\"", colour_of(i / 10.0)));
  drawn +=
      svg::text(kLeft + 252, bottom + 68, "fill=\"#222\"", "share of runs that deadlock, 0 to 1");
  drawn += svg::text(kLeft, bottom + 86, "fill=\"#444\"", map.note);
  return drawn + "</svg>\n";
}

}  // namespace portcullis::tools::pfc_deadlock
