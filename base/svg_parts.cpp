// SPDX-License-Identifier: BSD-3-Clause
#include "base/svg_parts.hpp"

#include <fmt/format.h>

namespace portcullis::svg {

std::string escape(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&apos;";
        break;
      default:
        escaped += c >= ' ' && c <= '~' ? c : '?';
    }
  }
  return escaped;
}

std::string open(const Page& page) {
  const std::string description =
      page.description.empty() ? "" : fmt::format("<desc>{}</desc>\n", escape(page.description));
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" "
      "font-size=\"{2}\">\n<title>{3}</title>\n{4}"
      "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#ffffff\"/>\n",
      page.width, page.height, page.font_size, escape(page.title), description);
}

std::string text(double x, double y, std::string_view attributes, std::string_view what) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes,
                     escape(what));
}

std::string line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, attributes);
}

std::string box(double x, double y, double width, double height, std::string_view attributes) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}/>\n", x,
                     y, width, height, attributes);
}

std::string circle(double x, double y, double radius, std::string_view attributes) {
  return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" {}/>\n", x, y, radius,
                     attributes);
}

std::string path(std::string_view points, std::string_view attributes) {
  return fmt::format("<path d=\"{}\" {}/>\n", points, attributes);
}

std::string upright(double y, std::string_view what) {
  return fmt::format(
      "<text transform=\"translate(20 {:.1f}) rotate(-90)\" text-anchor=\"middle\" "
      "fill=\"#222\">{}</text>\n",
      y, escape(what));
}

}  // namespace portcullis::svg
