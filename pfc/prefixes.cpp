// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/prefixes.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

namespace portcullis::pfc {
namespace {

std::uint64_t pair_of(NodeId node, NodeId destination) {
  return std::uint64_t{node} << 32 | destination;
}

}  // namespace

std::vector<NodeId> only_switches(const Topology& topology) {
  std::vector<NodeId> only(topology.nodes.size());
  std::vector<bool> has_link(topology.nodes.size(), false);
  for (NodeId node = 0; node < only.size(); ++node) only[node] = node;
  for (const Link& link : topology.links) {
    if (topology.nodes[link.from].kind != NodeKind::Host) continue;
    const bool is_other = has_link[link.from] && only[link.from] != link.to;
    const bool to_switch = topology.nodes[link.to].kind == NodeKind::Switch;
    only[link.from] = is_other || !to_switch ? link.from : link.to;
    has_link[link.from] = true;
  }
  return only;
}

Prefixes::Prefixes(const Topology& topology)
    : switch_(only_switches(topology)),
      links_(topology.nodes.size()),
      hosts_(topology.nodes.size(), 0) {
  for (const Route& route : topology.routes) switch_[route.destination] = route.destination;
  for (NodeId node = 0; node < switch_.size(); ++node)
    if (switch_[node] != node) ++hosts_[switch_[node]];
  for (LinkId id = 0; id < topology.links.size(); ++id) {
    const Link& link = topology.links[id];
    if (switch_[link.to] == link.from) links_[link.from].push_back(id);
  }
}

std::optional<NodeId> Prefixes::switch_of(NodeId host) const {
  return switch_[host] == host ? std::nullopt : std::optional(switch_[host]);
}

std::span<const LinkId> Prefixes::links_to_hosts(NodeId node) const { return links_[node]; }

void expand_prefixes(Topology& topology, std::span<const Dropped> dropped) {
  const std::vector<NodeId> only = only_switches(topology);
  std::vector<bool> is_named(topology.nodes.size(), false);
  for (const Route& route : topology.routes) is_named[route.destination] = true;
  std::map<NodeId, std::set<NodeId>> named;  // hosts of prefixes, by their switch
  for (NodeId host = 0; host < only.size(); ++host)
    if (only[host] != host && is_named[host] && is_named[only[host]])
      named[only[host]].insert(host);
  if (named.empty()) return;
  std::unordered_set<std::uint64_t> own;
  for (const Route& route : topology.routes) own.insert(pair_of(route.node, route.destination));
  for (const Dropped& one : dropped) own.insert(pair_of(one.node, one.destination));
  std::vector<Route> more;
  for (const Route& route : topology.routes) {
    const auto hosts = named.find(route.destination);
    if (hosts == named.end() || route.node == route.destination) continue;
    for (const NodeId host : hosts->second)
      if (!own.contains(pair_of(route.node, host)) && route.node != host)
        more.push_back({route.node, host, route.via});
  }
  for (LinkId id = 0; id < topology.links.size(); ++id) {
    const Link& link = topology.links[id];
    const auto hosts = named.find(link.from);
    if (hosts != named.end() && hosts->second.contains(link.to) &&
        !own.contains(pair_of(link.from, link.to)))
      more.push_back({link.from, link.to, id});
  }
  topology.routes.insert(topology.routes.end(), more.begin(), more.end());
}

std::vector<NodeId> all_destinations(const Topology& topology) {
  const Prefixes prefixes(topology);
  std::vector<bool> is_named(topology.nodes.size(), false);
  for (const Route& route : topology.routes) is_named[route.destination] = true;
  std::vector<NodeId> destinations;
  for (NodeId node = 0; node < topology.nodes.size(); ++node) {
    const auto prefix = prefixes.switch_of(node);
    const bool is_unserved =
        topology.nodes[node].kind == NodeKind::Host && !(prefix && is_named[*prefix]);
    if (is_named[node] || is_unserved) destinations.push_back(node);
  }
  return destinations;
}

void expand_defaults(Topology& topology, std::span<const DefaultRoute> defaults,
                     std::span<const Dropped> dropped) {
  if (defaults.empty()) return;
  const std::vector<NodeId> destinations = all_destinations(topology);
  std::unordered_set<std::uint64_t> own;
  for (const Route& route : topology.routes) own.insert(pair_of(route.node, route.destination));
  for (const Dropped& one : dropped) own.insert(pair_of(one.node, one.destination));
  const auto is_host = [&](NodeId node) { return topology.nodes[node].kind == NodeKind::Host; };
  std::unordered_set<std::uint64_t> linked;  // to hosts
  for (const Link& link : topology.links)
    if (is_host(link.to)) linked.insert(pair_of(link.from, link.to));
  const auto needs = [&](NodeId node, NodeId destination) {
    return node != destination && !own.contains(pair_of(node, destination));
  };
  std::vector<Route> more;
  std::vector<bool> has_default(topology.nodes.size(), false);
  for (const DefaultRoute& route : defaults) {
    has_default[route.node] = true;
    for (const NodeId destination : destinations)
      if (needs(route.node, destination) && !linked.contains(pair_of(route.node, destination)))
        more.push_back({route.node, destination, route.via});
  }
  std::vector<bool> is_destination(topology.nodes.size(), false);
  for (const NodeId destination : destinations) is_destination[destination] = true;
  for (LinkId id = 0; id < topology.links.size(); ++id) {
    const Link& link = topology.links[id];
    if (has_default[link.from] && is_destination[link.to] && is_host(link.to) &&
        needs(link.from, link.to))
      more.push_back({link.from, link.to, id});
  }
  topology.routes.insert(topology.routes.end(), more.begin(), more.end());
}

}  // namespace portcullis::pfc
