// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/routing.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "pfc/prefixes.hpp"

namespace portcullis::pfc::cbd {

std::vector<NodeId> destinations_of(const Topology& topology) {
  std::vector<NodeId> destinations;
  for (NodeId node = 0; node < topology.nodes.size(); ++node)
    if (topology.nodes[node].kind == NodeKind::Host) destinations.push_back(node);
  if (destinations.empty()) {
    destinations.resize(topology.nodes.size());
    std::iota(destinations.begin(), destinations.end(), NodeId{0});
  }
  return destinations;
}

std::vector<NodeId> prefixes_of(const Topology& topology) {
  std::vector<NodeId> destinations = destinations_of(topology);
  const Prefixes prefixes(topology);
  for (NodeId& node : destinations) node = prefixes.switch_of(node).value_or(node);
  std::ranges::sort(destinations);
  destinations.erase(std::unique(destinations.begin(), destinations.end()), destinations.end());
  return destinations;
}

std::vector<std::vector<LinkId>> cables_of(const Topology& topology) {
  std::vector<std::vector<LinkId>> cables;
  std::map<std::pair<NodeId, NodeId>, std::vector<std::size_t>> waiting;  // cables of one link
  for (LinkId link = 0; link < topology.links.size(); ++link) {
    const auto [from, to] = std::pair(topology.links[link].from, topology.links[link].to);
    auto& back = waiting[{to, from}];
    if (back.empty()) {
      waiting[{from, to}].push_back(cables.size());
      cables.push_back({link});
    } else {
      cables[back.front()].push_back(link);
      back.erase(back.begin());
    }
  }
  return cables;
}

std::optional<std::vector<std::uint32_t>> tiers_of(const Topology& topology) {
  std::vector<std::uint32_t> tiers(topology.nodes.size(), kUnreachable);
  std::vector<std::vector<NodeId>> into(topology.nodes.size());
  for (const Link& link : topology.links) into[link.to].push_back(link.from);
  std::vector<NodeId> queue;
  for (NodeId node = 0; node < topology.nodes.size(); ++node)
    if (topology.nodes[node].kind == NodeKind::Host) {
      tiers[node] = 0;
      queue.push_back(node);
    }
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (const NodeId from : into[queue[i]]) {
      if (tiers[from] != kUnreachable) continue;
      tiers[from] = tiers[queue[i]] + 1;
      queue.push_back(from);
    }
  const bool has_tiers = std::ranges::none_of(
      topology.links, [&](const Link& link) { return tiers[link.from] == tiers[link.to]; });
  return has_tiers && !queue.empty() ? std::optional(std::move(tiers)) : std::nullopt;
}

Routing::Routing(const Topology& topology)
    : topology_(topology), from_(topology.nodes.size()), into_(topology.nodes.size()) {
  for (LinkId link = 0; link < topology.links.size(); ++link) {
    from_[topology.links[link].from].push_back(link);
    into_[topology.links[link].to].push_back(link);
  }
}

std::vector<std::uint32_t> Routing::distances(NodeId destination,
                                              const std::vector<bool>& is_down) const {
  std::vector<std::uint32_t> distance(topology_.nodes.size(), kUnreachable);
  std::vector<NodeId> queue{destination};
  distance[destination] = 0;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const NodeId node = queue[at];
    if (node != destination && topology_.nodes[node].kind == NodeKind::Host) continue;
    for (const LinkId link : into_[node]) {
      const NodeId from = topology_.links[link].from;
      if (is_down[link] || distance[from] != kUnreachable) continue;
      distance[from] = distance[node] + 1;
      queue.push_back(from);
    }
  }
  return distance;
}

void Routing::add_next_hops(NodeId node, NodeId destination,
                            std::span<const std::uint32_t> distances,
                            const std::vector<bool>& is_down, std::vector<Route>& to) const {
  if (distances[node] == kUnreachable || node == destination) return;
  for (const LinkId link : from_[node]) {
    const NodeId next = topology_.links[link].to;
    if (is_down[link] || distances[next] + 1 != distances[node]) continue;
    if (next != destination && topology_.nodes[next].kind == NodeKind::Host) continue;
    to.push_back({node, destination, link});
  }
}

/// Hops to `destination` over links that all lead to lower tiers.
std::vector<std::uint32_t> Routing::distances_down(NodeId destination,
                                                   std::span<const std::uint32_t> tiers,
                                                   const std::vector<bool>& is_down) const {
  std::vector<std::uint32_t> distance(topology_.nodes.size(), kUnreachable);
  std::vector<NodeId> queue{destination};
  distance[destination] = 0;
  for (std::size_t at = 0; at < queue.size(); ++at)
    for (const LinkId link : into_[queue[at]]) {
      const NodeId from = topology_.links[link].from;
      if (is_down[link] || tiers[from] < tiers[queue[at]] || distance[from] != kUnreachable)
        continue;
      distance[from] = distance[queue[at]] + 1;
      queue.push_back(from);
    }
  return distance;
}

std::vector<Route> Routing::up_down_routes(std::span<const NodeId> destinations,
                                           std::span<const std::uint32_t> tiers,
                                           const std::vector<bool>& is_down,
                                           const std::vector<bool>& has_table) const {
  std::vector<NodeId> from_the_top(topology_.nodes.size());
  std::iota(from_the_top.begin(), from_the_top.end(), NodeId{0});
  std::ranges::stable_sort(from_the_top, std::greater(), [&](NodeId node) { return tiers[node]; });
  const std::vector<bool> all_up(topology_.links.size());
  std::vector<Route> routes;
  for (const NodeId destination : destinations) {
    const std::vector<std::uint32_t> intact = distances_down(destination, tiers, all_up);
    std::vector<std::uint32_t> distance = distances_down(destination, tiers, is_down);
    for (const NodeId node : from_the_top) {
      if (node == destination || !has_table[node]) continue;
      const bool goes_down = intact[node] != kUnreachable;
      const auto leads_on = [&](LinkId link) {
        const NodeId next = topology_.links[link].to;
        return !is_down[link] && distance[next] != kUnreachable &&
               (tiers[next] < tiers[node]) == goes_down;
      };
      std::uint32_t nearest = kUnreachable;
      for (const LinkId link : from_[node])
        if (leads_on(link)) nearest = std::min(nearest, distance[topology_.links[link].to]);
      if (nearest == kUnreachable) continue;
      distance[node] = nearest + 1;
      for (const LinkId link : from_[node])
        if (leads_on(link) && distance[topology_.links[link].to] == nearest)
          routes.push_back({node, destination, link});
    }
  }
  return routes;
}

std::vector<Route> Routing::shortest_routes(std::span<const NodeId> destinations,
                                            const std::vector<bool>& is_down,
                                            const std::vector<bool>& has_table) const {
  std::vector<Route> routes;
  for (const NodeId destination : destinations) {
    const std::vector<std::uint32_t> distance = distances(destination, is_down);
    for (NodeId node = 0; node < topology_.nodes.size(); ++node)
      if (has_table[node]) add_next_hops(node, destination, distance, is_down, routes);
  }
  return routes;
}

std::vector<Route> Routing::shortest_routes(std::span<const NodeId> destinations,
                                            const std::vector<bool>& is_down) const {
  const bool has_prefixes = std::ranges::any_of(
      destinations, [this](NodeId node) { return topology_.nodes[node].kind == NodeKind::Switch; });
  std::vector<bool> has_table(topology_.nodes.size(), true);
  const std::vector<NodeId> only = only_switches(topology_);
  for (NodeId node = 0; has_prefixes && node < only.size(); ++node)
    if (only[node] != node) has_table[node] = false;
  return shortest_routes(destinations, is_down, has_table);
}

}  // namespace portcullis::pfc::cbd
