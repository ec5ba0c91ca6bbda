// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/flow_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace portcullis::pfc::cbd {

FlowPaths::FlowPaths(const Topology& topology, const std::vector<bool>* is_down)
    : topology_(topology),
      prefixes_(topology),
      is_down_(is_down),
      from_(topology.nodes.size()),
      place_(topology.nodes.size()) {
  for (LinkId link = 0; link < topology.links.size(); ++link)
    from_[topology.links[link].from].push_back(link);
}

/// In the order of Topology::routes, so that the first is the one that parse_topology() takes.
std::vector<LinkId> FlowPaths::next_hops(const Flow& flow, NodeId at) {
  const auto key = [](const Route& route) { return std::tuple(route.node, route.destination); };
  if (!has_routes_) {
    routes_ = topology_.routes;
    std::ranges::stable_sort(routes_, {}, key);
    has_routes_ = true;
  }
  std::vector<LinkId> links;
  bool has_entry = false;
  const std::optional<NodeId> prefix = prefixes_.switch_of(flow.to);
  if (prefix == at) {
    for (const LinkId link : from_[at])
      if (topology_.links[link].to == flow.to && !is_down(link)) links.push_back(link);
    return links;
  }
  const std::tuple wanted(at, prefix.value_or(flow.to));
  for (auto route = std::ranges::lower_bound(routes_, wanted, {}, key);
       route != routes_.end() && key(*route) == wanted; ++route) {
    has_entry = true;
    if (!is_down(route->via) && std::ranges::find(links, route->via) == links.end())
      links.push_back(route->via);
  }
  // The only link of a host, not the last one that a failure has left it. A switch drops.
  if (has_entry || from_[at].size() != 1 || is_down(from_[at].front())) return links;
  if (topology_.nodes[at].kind != NodeKind::Host || at != flow.from) return links;
  return {from_[at].front()};
}

void FlowPaths::along_path(const Flow& flow, FlowWays& ways) const {
  for (const LinkId link : flow.path) {
    if (is_down(link)) {
      ways.is_whole = false;
      return;
    }
    if (ways.links.empty())
      ways.first.push_back(link);
    else
      ways.turns.emplace_back(ways.links.back(), link);
    ways.links.push_back(link);
  }
}

void FlowPaths::along_routes(const Flow& flow, FlowWays& ways) {
  std::vector<NodeId> seen{flow.from};
  place_[flow.from] = 1;
  std::vector<std::vector<LinkId>> hops;  // of `seen`
  for (std::size_t i = 0; i < seen.size(); ++i) {
    hops.push_back(seen[i] == flow.to ? std::vector<LinkId>() : next_hops(flow, seen[i]));
    if (hops[i].empty() && seen[i] != flow.to) ways.is_whole = false;
    for (const LinkId link : hops[i]) {
      ways.links.push_back(link);
      const NodeId to = topology_.links[link].to;
      if (place_[to] != 0) continue;
      seen.push_back(to);
      place_[to] = seen.size();
    }
  }
  ways.first = hops.front();
  for (const LinkId link : ways.links)
    for (const LinkId after : hops[place_[topology_.links[link].to] - 1])
      ways.turns.emplace_back(link, after);
  for (const NodeId node : seen) place_[node] = 0;
}

FlowWays FlowPaths::of(const Flow& flow) {
  FlowWays ways;
  if (is_routed(flow))
    along_routes(flow, ways);
  else
    along_path(flow, ways);
  return ways;
}

bool FlowPaths::has_choice(const Flow& flow) {
  if (!is_routed(flow)) return false;
  const FlowWays ways = of(flow);
  std::vector<NodeId> nodes;
  for (const LinkId link : ways.links) nodes.push_back(topology_.links[link].from);
  std::ranges::sort(nodes);
  return std::ranges::adjacent_find(nodes) != nodes.end();
}

std::vector<LinkId> FlowPaths::first_way(const Flow& flow) {
  if (!flow.path.empty()) return flow.path;
  std::vector<LinkId> links;
  for (NodeId at = flow.from; at != flow.to; at = topology_.links[links.back()].to) {
    const std::vector<LinkId> hops = next_hops(flow, at);
    if (hops.empty()) return {};
    const bool is_round = std::ranges::find(links, hops.front()) != links.end();
    links.push_back(hops.front());
    if (is_round) return links;
  }
  return links;
}

std::vector<std::size_t> flows_with_choice(const Topology& topology) {
  std::vector<std::size_t> flows;
  FlowPaths paths(topology);
  for (std::size_t i = 0; i < topology.flows.size(); ++i)
    if (paths.has_choice(topology.flows[i])) flows.push_back(i);
  return flows;
}

std::string first_hops_note(const Topology& topology) {
  constexpr std::size_t kShown = 4;
  const std::vector<std::size_t> flows = flows_with_choice(topology);
  if (flows.empty()) return "";
  std::string names;
  for (std::size_t i = 0; i < flows.size() && i < kShown; ++i)
    names += (i == 0 ? "" : ", ") + topology.flows[flows[i]].name;
  if (flows.size() > kShown) names += fmt::format(" and {} more", flows.size() - kShown);
  return fmt::format(
      "flow{} {}: several next hops are offered (ECMP); this run takes the first of each, cbd "
      "looks "
      "at all\n",
      flows.size() == 1 ? "" : "s", names);
}

}  // namespace portcullis::pfc::cbd
