// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/diagram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>
#include <vector>

#include "base/svg_parts.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

constexpr double kMargin = 90;
constexpr double kPerUnit = 190;
constexpr double kRadius = 24;

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
  return svg::line(from.x, from.y, to.x, to.y, attributes);
}

std::string links(const pfc::Topology& topology, const std::vector<Point>& places) {
  std::string drawn;
  std::set<std::pair<pfc::NodeId, pfc::NodeId>> done;
  for (const pfc::Link& link : topology.links)
    if (done.insert(std::minmax(link.from, link.to)).second)
      drawn += line(places[link.from], places[link.to], "stroke=\"#bbb\" stroke-width=\"5\"");
  return drawn;
}

std::string flow(const pfc::Topology& topology, const std::vector<Point>& places,
                 std::size_t index) {
  // Flows run beside their links, each at a distance of its own.
  const double aside = 9 + 7 * static_cast<double>(index);
  const std::string_view colour = svg::kColours[index % svg::kColours.size()];
  const pfc::Flow& of = topology.flows[index];
  std::string drawn;
  for (const pfc::LinkId id : of.path) {
    const Point from = places[topology.links[id].from];
    const Point to = places[topology.links[id].to];
    drawn += line(moved(from, to, kRadius, aside), moved(to, from, kRadius + 4, -aside),
                  fmt::format("stroke=\"{}\" stroke-width=\"2.2\" marker-end=\"url(#arrow{})\"",
                              colour, index % svg::kColours.size()));
  }
  return drawn;
}

/// Beside the middle of its cable, on the side of its direction.
std::string waiting(const pfc::Topology& topology, const std::vector<Point>& places,
                    const std::vector<pfc::LinkId>& cycle) {
  std::string drawn;
  for (const pfc::LinkId id : cycle) {
    const Point from = places[topology.links[id].from];
    const Point to = places[topology.links[id].to];
    drawn += line(moved(from, to, kRadius, 4), moved(to, from, kRadius + 4, -4),
                  "stroke=\"#c00000\" stroke-width=\"4.5\" marker-end=\"url(#waits)\"");
  }
  return drawn;
}

std::string nodes(const pfc::Topology& topology, const std::vector<Point>& places) {
  std::string drawn;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool is_host = topology.nodes[i].kind == pfc::NodeKind::Host;
    const Point at = places[i];
    drawn += is_host ? svg::box(at.x - 34, at.y - 15, 68, 30,
                                "rx=\"4\" fill=\"#f4f4f4\" stroke=\"#555\"")
                     : svg::circle(at.x, at.y, kRadius,
                                   "fill=\"#ffffff\" stroke=\"#222\" stroke-width=\"1.6\"");
    drawn += svg::text(at.x, at.y + 4, "text-anchor=\"middle\"", topology.nodes[i].name);
  }
  return drawn;
}

std::string legend(const pfc::Topology& topology, double top) {
  std::string drawn;
  for (std::size_t i = 0; i < topology.flows.size(); ++i) {
    const pfc::Flow& of = topology.flows[i];
    std::string path = topology.nodes[of.from].name;
    for (const pfc::LinkId id : of.path) path += " > " + topology.nodes[topology.links[id].to].name;
    const std::string_view colour = svg::kColours[i % svg::kColours.size()];
    drawn += svg::text(24, top + 18 * static_cast<double>(i), fmt::format("fill=\"{}\"", colour),
                       of.name + ": " + path);
  }
  return drawn;
}

}  // namespace

std::string diagram_svg(const pfc::Topology& topology, const std::vector<pfc::LinkId>& cycle) {
  std::vector<Point> places = places_of(topology);
  const Point size = fit(places);
  const double height = size.y + 18 * static_cast<double>(topology.flows.size());
  std::string drawn = svg::open({std::max(size.x, 320.0), height, 13, topology.name}) + "<defs>\n";
  for (std::size_t i = 0; i < svg::kColours.size(); ++i)
    drawn += fmt::format(
        "<marker id=\"arrow{}\" markerWidth=\"9\" markerHeight=\"8\" refX=\"7\" refY=\"4\" "
        "orient=\"auto\" markerUnits=\"userSpaceOnUse\"><path d=\"M0 0L9 4L0 8z\" "
        "fill=\"{}\"/></marker>\n",
        i, svg::kColours[i]);
  if (!cycle.empty())
    drawn +=
        "<marker id=\"waits\" markerWidth=\"14\" markerHeight=\"12\" refX=\"10\" refY=\"6\" "
        "orient=\"auto\" markerUnits=\"userSpaceOnUse\"><path d=\"M0 0L13 6L0 12z\" "
        "fill=\"#c00000\"/></marker>\n";
  drawn += "</defs>\n";
  drawn += svg::text(24, 32, "font-size=\"18\" font-weight=\"bold\"", topology.name);
  drawn += links(topology, places);
  for (std::size_t i = 0; i < topology.flows.size(); ++i) drawn += flow(topology, places, i);
  drawn += waiting(topology, places, cycle);
  return drawn + nodes(topology, places) + legend(topology, size.y - 20) + "</svg>\n";
}

}  // namespace portcullis::tools::pfc_deadlock
