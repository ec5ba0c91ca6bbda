// SPDX-License-Identifier: BSD-3-Clause
//
// What arrives, before and after: apart from who reroutes, which it judges.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/reroute.hpp"

namespace portcullis::pfc::cbd {
namespace {

/// Of one destination, by node: whether some of the offered ways arrives, and whether all do.
struct Arrival {
  std::vector<bool> some;
  std::vector<bool> all;
};

Arrival arrival_of(const Topology& topology, NodeId destination,
                   const std::vector<std::vector<LinkId>>& table) {
  Arrival arrival;
  arrival.some.assign(topology.nodes.size(), false);
  arrival.some[destination] = true;
  arrival.all = arrival.some;
  const auto arrives = [&](const std::vector<bool>& known) {
    return [&](LinkId via) { return known[topology.links[via].to]; };
  };
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (NodeId node = 0; node < table.size(); ++node) {
      const std::vector<LinkId>& vias = table[node];
      if (vias.empty()) continue;
      if (!arrival.some[node] && std::ranges::any_of(vias, arrives(arrival.some)))
        is_new = arrival.some[node] = true;
      if (!arrival.all[node] && std::ranges::all_of(vias, arrives(arrival.all)))
        is_new = arrival.all[node] = true;
    }
  }
  return arrival;
}

using Tables = std::map<NodeId, std::vector<std::vector<LinkId>>>;  // by destination, then node

Tables tables_of(const Topology& topology) {
  Tables tables;
  for (const Route& route : topology.routes) {
    auto& table = tables[route.destination];
    table.resize(topology.nodes.size());
    table[route.node].push_back(route.via);
  }
  return tables;
}

std::optional<std::string> lost_by_routes(const Topology& before, const Topology& after) {
  const Tables now = tables_of(after);
  for (const auto& [destination, table] : tables_of(before)) {
    const Arrival was = arrival_of(before, destination, table);
    const auto found = now.find(destination);
    const Arrival is = arrival_of(
        after, destination,
        found == now.end() ? std::vector<std::vector<LinkId>>(table.size()) : found->second);
    for (NodeId node = 0; node < before.nodes.size(); ++node)
      if ((was.some[node] && !is.some[node]) || (was.all[node] && !is.all[node]))
        return fmt::format("data from {} to {}", before.nodes[node].name,
                           before.nodes[destination].name);
  }
  return std::nullopt;
}

/// Of the longest way, when none goes round.
std::uint32_t most_links(const FlowWays& ways, const Graph& turns) {
  std::uint32_t links = 0;
  for (std::set<LinkId> now(ways.first.begin(), ways.first.end()); !now.empty(); ++links) {
    std::set<LinkId> next;
    for (const LinkId link : now) next.insert(turns.out(link).begin(), turns.out(link).end());
    now = std::move(next);
  }
  return links;
}

/// Links of the longest way of a flow, if all of its data comes to its end: nothing stops on the
/// way, and nothing goes round.
std::optional<std::uint32_t> arrives_after(const Topology& topology, const Flow& flow,
                                           FlowPaths& paths) {
  const FlowWays ways = paths.of(flow);
  if (!ways.is_whole || ways.links.empty()) return std::nullopt;
  if (!is_routed(flow))
    return topology.links[ways.links.back()].to == flow.to
               ? std::optional(static_cast<std::uint32_t>(ways.links.size()))
               : std::nullopt;
  const Graph turns(topology.links.size(), ways.turns);
  return cyclic_components(turns).empty() ? std::optional(most_links(ways, turns)) : std::nullopt;
}

bool suffices(std::uint32_t ttl, std::uint32_t links) { return ttl == 0 || links <= ttl; }

}  // namespace

std::optional<std::string> lost_way(const Topology& before, const Topology& after,
                                    Traffic traffic) {
  if (traffic != Traffic::Flows)
    if (auto lost = lost_by_routes(before, after)) return lost;
  FlowPaths was(before);
  FlowPaths is(after);
  for (std::size_t i = 0; i < before.flows.size(); ++i) {
    const auto links = arrives_after(before, before.flows[i], was);
    if (links && suffices(before.flows[i].ttl, *links) && !arrives_after(after, after.flows[i], is))
      return "flow " + before.flows[i].name;
  }
  return std::nullopt;
}

std::vector<OutgrownTtl> outgrown_ttls(const Topology& before, const Topology& after) {
  std::vector<OutgrownTtl> outgrown;
  FlowPaths was(before);
  FlowPaths is(after);
  for (std::uint32_t i = 0; i < before.flows.size(); ++i) {
    if (before.flows[i].ttl == 0 && after.flows[i].ttl == 0) continue;
    const auto links = arrives_after(before, before.flows[i], was);
    if (!links || !suffices(before.flows[i].ttl, *links)) continue;
    const auto now = arrives_after(after, after.flows[i], is);
    if (now && !suffices(after.flows[i].ttl, *now)) outgrown.push_back({i, *now});
  }
  return outgrown;
}

}  // namespace portcullis::pfc::cbd
