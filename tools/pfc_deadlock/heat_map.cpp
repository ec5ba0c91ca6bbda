// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/svg.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

constexpr double kLeft = 96;
constexpr double kTop = 90;
constexpr double kCellHeight = 34;

/// White to dark orange; text on it stays readable.
std::string colour_of(double share) {
  const double s = std::clamp(share, 0.0, 1.0);
  const auto mix = [s](double from, double to) {
    return static_cast<int>(std::lround(from + s * (to - from)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(247, 213), mix(250, 94), mix(247, 0));
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"#222\">{}</text>\n",
                     x, y, anchor, xml_escape(text));
}

}  // namespace

std::string heat_map_svg(const HeatMap& map) {
  const double cell = std::clamp(840.0 / static_cast<double>(map.columns.size()), 26.0, 76.0);
  const double right = kLeft + cell * static_cast<double>(map.columns.size());
  const double bottom = kTop + kCellHeight * static_cast<double>(map.rows.size());
  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 "
      "0 "
      "{0:.0f} {1:.0f}\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"11\">\n"
      "<title>{2}</title>\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#ffffff\"/>\n"
      "<text x=\"{3}\" y=\"30\" font-size=\"18\" font-weight=\"bold\">{2}</text>\n"
      "<text x=\"{3}\" y=\"52\" fill=\"#444\">{4}</text>\n",
      std::max(right + 40, 720.0), bottom + 96, xml_escape(map.title), 24,
      xml_escape(map.subtitle));
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    const double y = bottom - kCellHeight * static_cast<double>(row + 1);
    svg += text_at(kLeft - 8, y + kCellHeight / 2 + 4, "end", map.rows[row]);
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const HeatMap::Cell& of = map.cells[row * map.columns.size() + column];
      const double x = kLeft + cell * static_cast<double>(column);
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
          "stroke=\"#ffffff\"/>\n",
          x, y, cell, kCellHeight, colour_of(of.share));
      svg += text_at(x + cell / 2, y + kCellHeight / 2 + 4, "middle", of.text);
    }
  }
  for (std::size_t column = 0; column < map.columns.size(); ++column)
    svg += text_at(kLeft + cell * (static_cast<double>(column) + 0.5), bottom + 18, "middle",
                   map.columns[column]);
  svg += text_at((kLeft + right) / 2, bottom + 40, "middle", map.x_label);
  svg += fmt::format(
      "<text transform=\"translate(20 {:.1f}) rotate(-90)\" text-anchor=\"middle\" "
      "fill=\"#222\">{}</text>\n",
      (kTop + bottom) / 2, xml_escape(map.y_label));
  for (int i = 0; i <= 10; ++i)
    svg += fmt::format("<rect x=\"{:.0f}\" y=\"{:.1f}\" width=\"22\" height=\"12\" fill=\"{}\"/>\n",
                       kLeft + 22 * i, bottom + 58, colour_of(i / 10.0));
  svg += text_at(kLeft + 252, bottom + 68, "start", "share of runs that deadlock, 0 to 1");
  return svg + "</svg>\n";
}

}  // namespace portcullis::tools::pfc_deadlock
