// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/routing.hpp"

#include <map>
#include <numeric>
#include <utility>

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

std::vector<Route> Routing::shortest_routes(std::span<const NodeId> destinations,
                                            const std::vector<bool>& is_down) const {
  std::vector<Route> routes;
  for (const NodeId destination : destinations) {
    const std::vector<std::uint32_t> distance = distances(destination, is_down);
    for (NodeId node = 0; node < topology_.nodes.size(); ++node)
      add_next_hops(node, destination, distance, is_down, routes);
  }
  return routes;
}

}  // namespace portcullis::pfc::cbd
