// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/diagram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>
#include <vector>

#include "base/svg.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

constexpr double kMargin = 90;
constexpr double kPerUnit = 190;
constexpr double kRadius = 24;
constexpr std::array kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                 "#56B4E9", "#E69F00", "#000000", "#7F7F7F"};

struct Point {
  double x = 0;
  double y = 0;
};

std::vector<Point> places_of(const pfc::Topology& topology) {
  std::vector<Point> places;
  const auto count = static_cast<double>(topology.nodes.size());
  const double radius = std::max(1.0, count / 7);
  for (std::size_t i = 0; i < topology.nodes.size(); ++i) {
    const pfc::Node& node = topology.nodes[i];
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / count;
    places.push_back({node.x.value_or(radius + radius * std::cos(angle)),
                      node.y.value_or(radius + radius * std::sin(angle))});
  }
  return places;
}

/// Scales to pixels, the least coordinates at the margin.
Point fit(std::vector<Point>& places) {
  Point low = places.front(), high = places.front();
  for (const Point& place : places) {
    low = {std::min(low.x, place.x), std::min(low.y, place.y)};
    high = {std::max(high.x, place.x), std::max(high.y, place.y)};
  }
  for (Point& place : places)
    place = {kMargin + (place.x - low.x) * kPerUnit, kMargin + 20 + (place.y - low.y) * kPerUnit};
  return {2 * kMargin + (high.x - low.x) * kPerUnit,
          2 * kMargin + 20 + (high.y - low.y) * kPerUnit};
}

/// `from` moved towards `to` by `along` and to its right by `aside`.
Point moved(Point from, Point to, double along, double aside) {
  const double length = std::max(1e-9, std::hypot(to.x - from.x, to.y - from.y));
  const double dx = (to.x - from.x) / length, dy = (to.y - from.y) / length;
  return {from.x + dx * along - dy * aside, from.y + dy * along + dx * aside};
}

std::string line(Point from, Point to, std::string_view attributes) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", from.x,
                     from.y, to.x, to.y, attributes);
}

std::string links(const pfc::Topology& topology, const std::vector<Point>& places) {
  std::string svg;
  std::set<std::pair<pfc::NodeId, pfc::NodeId>> drawn;
  for (const pfc::Link& link : topology.links)
    if (drawn.insert(std::minmax(link.from, link.to)).second)
      svg += line(places[link.from], places[link.to], "stroke=\"#bbb\" stroke-width=\"5\"");
  return svg;
}

std::string flow(const pfc::Topology& topology, const std::vector<Point>& places,
                 std::size_t index) {
  // Flows run beside their links, each at a distance of its own.
  const double aside = 9 + 7 * static_cast<double>(index);
  const std::string_view colour = kColours[index % kColours.size()];
  const pfc::Flow& of = topology.flows[index];
  std::string svg;
  for (const pfc::LinkId id : of.path) {
    const Point from = places[topology.links[id].from];
    const Point to = places[topology.links[id].to];
    svg += line(moved(from, to, kRadius, aside), moved(to, from, kRadius + 4, -aside),
                fmt::format("stroke=\"{}\" stroke-width=\"2.2\" marker-end=\"url(#arrow{})\"",
                            colour, index % kColours.size()));
  }
  return svg;
}

std::string nodes(const pfc::Topology& topology, const std::vector<Point>& places) {
  std::string svg;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool is_host = topology.nodes[i].kind == pfc::NodeKind::Host;
    const Point at = places[i];
    svg += is_host ? fmt::format(
                         "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"30\" "
                         "rx=\"4\" fill=\"#f4f4f4\" stroke=\"#555\"/>\n",
                         at.x - 34, at.y - 15, 68.0)
                   : fmt::format(
                         "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.0f}\" "
                         "fill=\"#ffffff\" stroke=\"#222\" stroke-width=\"1.6\"/>\n",
                         at.x, at.y, kRadius);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", at.x,
                       at.y + 4, xml_escape(topology.nodes[i].name));
  }
  return svg;
}

std::string legend(const pfc::Topology& topology, double top) {
  std::string svg;
  for (std::size_t i = 0; i < topology.flows.size(); ++i) {
    const pfc::Flow& of = topology.flows[i];
    std::string path = topology.nodes[of.from].name;
    for (const pfc::LinkId id : of.path) path += " > " + topology.nodes[topology.links[id].to].name;
    svg += fmt::format("<text x=\"24\" y=\"{:.1f}\" fill=\"{}\">{}: {}</text>\n",
                       top + 18 * static_cast<double>(i), kColours[i % kColours.size()],
                       xml_escape(of.name), xml_escape(path));
  }
  return svg;
}

}  // namespace

std::string diagram_svg(const pfc::Topology& topology) {
  std::vector<Point> places = places_of(topology);
  const Point size = fit(places);
  const double height = size.y + 18 * static_cast<double>(topology.flows.size());
  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 "
      "0 "
      "{0:.0f} {1:.0f}\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"13\">\n"
      "<title>{2}</title>\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#ffffff\"/>\n<defs>\n",
      std::max(size.x, 320.0), height, xml_escape(topology.name));
  for (std::size_t i = 0; i < kColours.size(); ++i)
    svg += fmt::format(
        "<marker id=\"arrow{}\" markerWidth=\"9\" markerHeight=\"8\" refX=\"7\" refY=\"4\" "
        "orient=\"auto\" markerUnits=\"userSpaceOnUse\"><path d=\"M0 0L9 4L0 8z\" "
        "fill=\"{}\"/></marker>\n",
        i, kColours[i]);
  svg += "</defs>\n";
  svg += fmt::format("<text x=\"24\" y=\"32\" font-size=\"18\" font-weight=\"bold\">{}</text>\n",
                     xml_escape(topology.name));
  svg += links(topology, places);
  for (std::size_t i = 0; i < topology.flows.size(); ++i) svg += flow(topology, places, i);
  return svg + nodes(topology, places) + legend(topology, size.y - 20) + "</svg>\n";
}

}  // namespace portcullis::tools::pfc_deadlock
