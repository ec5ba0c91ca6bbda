// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/svg_parts.hpp"
#include "tools/pfc_deadlock/diagram.hpp"
#include "tools/pfc_deadlock/input.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

constexpr std::size_t kMostNodes = 150;  // drawn
constexpr std::size_t kMostRows = 1000;  // of a table

constexpr std::string_view kStyle =
    "body{font:15px sans-serif;max-width:1020px;margin:2em auto;padding:0 1em;color:#111}"
    "table{border-collapse:collapse;margin:.5em "
    "0;display:block;overflow-x:auto}pre{white-space:pre-wrap}"
    "td,th{padding:.2em .8em;border-bottom:1px solid #ccc;text-align:right}"
    "td.t,th.t{text-align:left}.note{color:#8a3b00}svg{max-width:100%;height:auto}";

std::string row_of(const std::vector<std::string>& cells, std::string_view kind) {
  std::string text = "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i)
    text += fmt::format("<{0}{1}>{2}</{0}>", kind, i == 0 ? " class=t" : "", svg::escape(cells[i]));
  return text + "</tr>\n";
}

std::string lines_of(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    escaped += svg::escape(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return escaped;
}

}  // namespace

Page::Page(std::string_view command, Arguments arguments, const pfc::Topology& topology)
    : topology_(topology) {
  std::string line = fmt::format("pfc-deadlock {}", command);
  for (const std::string& argument : arguments) line += " " + argument;
  const std::string title = svg::escape(fmt::format("{}: {}", topology.name, command));
  body_ = fmt::format(
      "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
      "<meta name=viewport content=\"width=device-width,initial-scale=1\">"
      "<title>{0}</title>"
      "<style>{1}</style></head><body>\n<h1>{0}</h1>\n<pre>{2}</pre>\n",
      title, kStyle, svg::escape(line));
}

void Page::heading(std::string_view text) { body_ += "<h2>" + svg::escape(text) + "</h2>\n"; }

void Page::printed(std::string_view text) { body_ += "<pre>" + lines_of(text) + "</pre>\n"; }

void Page::not_looked_at(const std::vector<std::string>& lines) {
  heading("Not looked at");
  for (const std::string& line : lines) body_ += "<p class=note>" + svg::escape(line) + "</p>\n";
}

void Page::picture(std::string_view svg) {
  // A page has no use for the line that makes a file of it.
  if (svg.starts_with("<?xml")) svg.remove_prefix(svg.find('\n') + 1);
  body_ += svg;
}

void Page::fabric(const std::vector<pfc::LinkId>& cycle) {
  heading("The fabric");
  if (topology_.nodes.size() > kMostNodes) {
    body_ += fmt::format("<p class=note>{} nodes are not drawn; {} are at most.</p>\n",
                         topology_.nodes.size(), kMostNodes);
    return;
  }
  if (!cycle.empty()) body_ += "<p>Red: links that wait for each other in a circle.</p>\n";
  picture(diagram_svg(topology_, cycle));
}

void Page::table(const std::vector<std::string>& head,
                 const std::vector<std::vector<std::string>>& rows) {
  body_ += "<table>\n" + row_of(head, "th");
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) body_ += row_of(rows[i], "td");
  body_ += "</table>\n";
  if (rows.size() > kMostRows)
    body_ += fmt::format("<p class=note>{} more are left out.</p>\n", rows.size() - kMostRows);
}

void Page::keep(const std::string& path) const {
  program::keep_output("--report", path, body_ + "</body></html>\n");
}

std::string time_text(const pfc::Topology& topology, double time) {
  if (std::isinf(time)) return "never";
  return fmt::format("{:.6g} us", time * topology.units.time_s * 1e6);
}

std::string data_text(const pfc::Topology& topology, double data) {
  if (std::isinf(data)) return "unlimited";
  return fmt::format("{:.6g} KB", data * topology.units.data_bytes / 1e3);
}

std::string time_axis(const pfc::Topology& topology) {
  return "time, 1 is " + time_text(topology, 1);
}

std::string data_axis(const pfc::Topology& topology) {
  return "data, 1 is " + data_text(topology, 1);
}

}  // namespace portcullis::tools::pfc_deadlock
