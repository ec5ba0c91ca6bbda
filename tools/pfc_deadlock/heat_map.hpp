// SPDX-License-Identifier: BSD-3-Clause
//
// A grid of cells as SVG: how often each deadlocked as its colour, when as its text.
#pragma once

#include <string>
#include <vector>

namespace portcullis::tools::pfc_deadlock {

struct HeatMap {
  std::string title;
  std::string subtitle;
  std::string x_label;
  std::string y_label;
  std::string note;                  // below all: the units
  std::vector<std::string> columns;  // along x
  std::vector<std::string> rows;     // along y, the first at the bottom
  struct Cell {
    double share = 0;  // 0 to 1
    std::string text;
  };
  std::vector<Cell> cells;  // row by row
};

[[nodiscard]] std::string heat_map_svg(const HeatMap& map);

}  // namespace portcullis::tools::pfc_deadlock
