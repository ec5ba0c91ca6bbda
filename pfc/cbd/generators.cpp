// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/generators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <string>

#include "pfc/cbd/routing.hpp"
#include "pfc/scenarios.hpp"

namespace portcullis::pfc::cbd {
namespace {

constexpr double kMostEntries = 2.5e8;  // links, next hops and hops of flows: a few gigabytes

/// Nothing is begun that no memory holds.
Result<void> check_entries(const std::string& what, double entries) {
  if (entries <= kMostEntries) return {};
  return fail(Errc::InvalidArgument,
              fmt::format("{}: {:.2g} links and next hops; at most {:.2g} are accepted", what,
                          entries, kMostEntries));
}

std::vector<NodeId> add_nodes(Topology& topology, std::string_view prefix, std::uint32_t count,
                              NodeKind kind) {
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < count; ++i)
    nodes.push_back(topology.add_node(fmt::format("{}{}", prefix, i), kind));
  return nodes;
}

constexpr double kApart = 0.45;  // of neighbours in a drawing

/// In a row, in the middle of the widest one.
void put_in_row(Topology& topology, const std::vector<NodeId>& nodes, double y,
                std::size_t widest) {
  const double step = kApart * static_cast<double>(widest) / static_cast<double>(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    topology.nodes[nodes[i]].x = step * (static_cast<double>(i) + 0.5);
    topology.nodes[nodes[i]].y = y;
  }
}

/// Clockwise, the first at the top.
void put_in_circle(Topology& topology, const std::vector<NodeId>& nodes, double radius) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(nodes.size());
    topology.nodes[nodes[i]].x = radius * std::sin(angle);
    topology.nodes[nodes[i]].y = -radius * std::cos(angle);
  }
}

void cable(Topology& topology, NodeId a, NodeId b, const Link& like) {
  topology.add_link(a, b, like);
  topology.add_link(b, a, like);
}

/// To every leaf, for the hosts behind it.
void add_shortest_routes(Topology& topology) {
  topology.routes = Routing(topology).shortest_routes(prefixes_of(topology),
                                                      std::vector<bool>(topology.links.size()));
}

constexpr std::string_view kForms =
    "leaf-spine:LEAVES,SPINES,HOSTS, fat-tree:PORTS, ring:SWITCHES,SPAN, "
    "jellyfish:SWITCHES,PORTS,SEED and dragonfly:GROUPS,ROUTERS,GLOBAL";

/// "4,2,1" as exactly `count` numbers.
Result<std::vector<std::uint32_t>> parse_shape(std::string_view name, std::string_view text,
                                               std::size_t count, std::string_view accepted) {
  std::vector<std::uint32_t> numbers;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + comma, number);
    if (error != std::errc() || end != text.data() + comma) break;
    numbers.push_back(number);
    if (comma == text.size()) {
      if (numbers.size() == count) return numbers;
      break;
    }
    text.remove_prefix(comma + 1);
  }
  return fail(Errc::InvalidArgument,
              fmt::format("scenario \"{}\"; {} with whole numbers is accepted", name, accepted));
}

}  // namespace

Result<Topology> leaf_spine(const LeafSpine& shape, const Link& like) {
  const std::string what = fmt::format("leaf-spine of {} leaves, {} spines and {} hosts a leaf",
                                       shape.leaves, shape.spines, shape.hosts);
  if (shape.leaves == 0 || shape.spines == 0 || shape.hosts == 0)
    return fail(Errc::InvalidArgument, what + "; 1 or more of each are accepted");
  const double all_hosts = 1.0 * shape.leaves * shape.hosts;
  const double next_hops = 1.0 * shape.leaves * shape.leaves * shape.spines;
  const double links = 2 * (all_hosts + 1.0 * shape.leaves * shape.spines);
  PORTCULLIS_TRY(check_entries(what, next_hops + links));
  Topology topology;
  topology.name = fmt::format("leaf-spine-{}x{}", shape.leaves, shape.spines);
  const auto leaves = add_nodes(topology, "leaf", shape.leaves, NodeKind::Switch);
  const auto spines = add_nodes(topology, "spine", shape.spines, NodeKind::Switch);
  const auto hosts = add_nodes(topology, "host", shape.leaves * shape.hosts, NodeKind::Host);
  const std::size_t widest = std::max({spines.size(), leaves.size(), hosts.size()});
  put_in_row(topology, spines, 0, widest);
  put_in_row(topology, leaves, 1, widest);
  put_in_row(topology, hosts, 2, widest);
  for (std::uint32_t i = 0; i < hosts.size(); ++i)
    cable(topology, hosts[i], leaves[i / shape.hosts], like);
  for (const NodeId leaf : leaves)
    for (const NodeId spine : spines) cable(topology, leaf, spine, like);
  add_shortest_routes(topology);
  return topology;
}

Result<Topology> fat_tree(std::uint32_t ports, bool with_routes, const Link& like) {
  constexpr std::uint32_t kMostPorts = 128;
  if (ports < 2 || ports > kMostPorts || ports % 2 != 0)
    return fail(Errc::InvalidArgument,
                fmt::format("fat tree of {} ports; an even number from 2 to {} is accepted", ports,
                            kMostPorts));
  const std::uint32_t half = ports / 2;
  const double leaves = 1.0 * ports * half;
  if (with_routes)
    PORTCULLIS_TRY(check_entries(fmt::format("fat tree of {} ports", ports),
                                 leaves * (2 * leaves * half + half * half)));
  Topology topology;
  topology.name = fmt::format("fat-tree-{}", ports);
  const auto edges = add_nodes(topology, "edge", ports * half, NodeKind::Switch);
  const auto aggregations = add_nodes(topology, "agg", ports * half, NodeKind::Switch);
  const auto cores = add_nodes(topology, "core", half * half, NodeKind::Switch);
  const auto hosts = add_nodes(topology, "host", ports * half * half, NodeKind::Host);
  put_in_row(topology, cores, 0, hosts.size());
  put_in_row(topology, aggregations, 1, hosts.size());
  put_in_row(topology, edges, 2, hosts.size());
  put_in_row(topology, hosts, 3, hosts.size());
  for (std::uint32_t i = 0; i < hosts.size(); ++i) cable(topology, hosts[i], edges[i / half], like);
  for (std::uint32_t i = 0; i < edges.size(); ++i)
    for (std::uint32_t j = 0; j < half; ++j)
      cable(topology, edges[i], aggregations[i / half * half + j], like);
  // The j-th aggregation switch of every pod reaches the j-th group of cores.
  for (std::uint32_t i = 0; i < aggregations.size(); ++i)
    for (std::uint32_t j = 0; j < half; ++j)
      cable(topology, aggregations[i], cores[i % half * half + j], like);
  if (with_routes) add_shortest_routes(topology);
  return topology;
}

Result<Topology> ring(std::uint32_t switches, std::uint32_t span, const Link& like) {
  const std::string what = fmt::format("ring of {} switches with span {}", switches, span);
  if (switches < 3 || span == 0 || span >= switches)
    return fail(Errc::InvalidArgument,
                what + "; 3 switches or more and a span from 1 to one less are accepted");
  PORTCULLIS_TRY(check_entries(what, switches * (span + 6.0)));
  Topology topology;
  topology.name = fmt::format("ring-{}", switches);
  const auto nodes = add_nodes(topology, "sw", switches, NodeKind::Switch);
  const auto hosts = add_nodes(topology, "host", switches, NodeKind::Host);
  const double radius = kApart * switches / std::numbers::pi;
  put_in_circle(topology, nodes, radius);
  put_in_circle(topology, hosts, radius + 2 * kApart);
  // Links host i -> switch i, back, switch i -> i + 1, back: four to a switch, in this order.
  for (std::uint32_t i = 0; i < switches; ++i) {
    cable(topology, hosts[i], nodes[i], like);
    cable(topology, nodes[i], nodes[(i + 1) % switches], like);
  }
  for (std::uint32_t i = 0; i < switches; ++i) {
    Flow flow;
    flow.name = fmt::format("f{}", i);
    flow.from = hosts[i];
    flow.to = hosts[(i + span) % switches];
    flow.path.push_back(4 * i);
    for (std::uint32_t hop = 0; hop < span; ++hop)
      flow.path.push_back(4 * ((i + hop) % switches) + 2);
    flow.path.push_back(4 * ((i + span) % switches) + 1);
    topology.flows.push_back(std::move(flow));
  }
  return topology;
}

Result<Topology> generate(std::string_view name) {
  const std::size_t colon = std::min(name.find(':'), name.size());
  const std::string_view kind = name.substr(0, colon);
  const std::string_view shape = name.substr(std::min(colon + 1, name.size()));
  if (kind == "leaf-spine") {
    PORTCULLIS_TRY_ASSIGN(const auto n,
                          parse_shape(name, shape, 3, "leaf-spine:LEAVES,SPINES,HOSTS"));
    return leaf_spine({.leaves = n[0], .spines = n[1], .hosts = n[2]});
  }
  if (kind == "fat-tree") {
    PORTCULLIS_TRY_ASSIGN(const auto n, parse_shape(name, shape, 1, "fat-tree:PORTS"));
    return fat_tree(n[0], true);
  }
  if (kind == "ring") {
    PORTCULLIS_TRY_ASSIGN(const auto n, parse_shape(name, shape, 2, "ring:SWITCHES,SPAN"));
    return ring(n[0], n[1]);
  }
  if (kind == "jellyfish") {
    PORTCULLIS_TRY_ASSIGN(const auto n,
                          parse_shape(name, shape, 3, "jellyfish:SWITCHES,PORTS,SEED"));
    return jellyfish(n[0], n[1], n[2]);
  }
  if (kind == "dragonfly") {
    PORTCULLIS_TRY_ASSIGN(const auto n,
                          parse_shape(name, shape, 3, "dragonfly:GROUPS,ROUTERS,GLOBAL"));
    return dragonfly(n[0], n[1], n[2]);
  }
  return fail(Errc::NotFound, fmt::format("no scenario \"{}\"; {} are generated", name, kForms));
}

Result<Topology> by_name(std::string_view name) {
  const bool is_generated = name.find(':') != std::string_view::npos;
  auto found = is_generated ? generate(name) : scenario(name);
  if (found || found.error().code != Errc::NotFound) return found;
  std::vector<std::string_view> names;
  for (const ScenarioName& known : scenario_names()) names.push_back(known.name);
  return fail(Errc::NotFound, fmt::format("no scenario \"{}\"; {}, {} are accepted", name,
                                          fmt::join(names, ", "), kForms));
}

}  // namespace portcullis::pfc::cbd
