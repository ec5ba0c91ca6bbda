// SPDX-License-Identifier: BSD-3-Clause
//
// What every picture here is made of: a self-contained SVG, no script, no font, no network, drawn
// in colours that all can tell apart. Pure text; whatever comes from outside is escaped.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace portcullis::svg {

/// Okabe and Ito's, told apart by colour-blind readers too, and a grey.
inline constexpr std::array<std::string_view, 8> kColours = {
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7F7F7F"};

/// `text` as XML character data or attribute value; what is not printable ASCII becomes '?'.
[[nodiscard]] std::string escape(std::string_view text);

struct Page {
  double width = 0;
  double height = 0;
  int font_size = 12;
  std::string_view title;             // not drawn: for who cannot see the picture
  std::string_view description = {};  // more of it
};

/// From the first byte to a white background. "</svg>\n" ends what follows.
[[nodiscard]] std::string open(const Page& page);

// Elements on a line of their own; `attributes` are as they stand in the element.

[[nodiscard]] std::string text(double x, double y, std::string_view attributes,
                               std::string_view what);
[[nodiscard]] std::string line(double x1, double y1, double x2, double y2,
                               std::string_view attributes);
[[nodiscard]] std::string box(double x, double y, double width, double height,
                              std::string_view attributes);
[[nodiscard]] std::string circle(double x, double y, double radius, std::string_view attributes);
[[nodiscard]] std::string path(std::string_view points, std::string_view attributes);
/// The name of a vertical axis, at the left edge, its middle at `y`.
[[nodiscard]] std::string upright(double y, std::string_view what);

}  // namespace portcullis::svg
