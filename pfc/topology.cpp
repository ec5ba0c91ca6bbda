// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace portcullis::pfc {

NodeId Topology::add_node(std::string node_name, NodeKind kind) {
  Node node;
  node.name = std::move(node_name);
  node.kind = kind;
  nodes.push_back(std::move(node));
  return static_cast<NodeId>(nodes.size() - 1);
}

std::vector<std::uint32_t> carried_priorities(const Topology& topology) {
  std::set<std::uint32_t> carried(topology.priorities.begin(), topology.priorities.end());
  const bool is_flows_alone = topology.routes.empty() && !topology.flows.empty();
  for (std::uint32_t any = 0; any < kPriorities; ++any)
    if (topology.priorities.empty() && !is_flows_alone) carried.insert(any);
  for (const Flow& flow : topology.flows) carried.insert(flow.priority);
  for (const Rewrite& rewrite : topology.rewrites) carried.insert({rewrite.was, rewrite.becomes});
  return {carried.begin(), carried.end()};
}

LinkId Topology::add_link(NodeId from, NodeId to, const Link& like) {
  Link link = like;
  link.name = nodes[from].name + "-" + nodes[to].name;
  link.from = from;
  link.to = to;
  links.push_back(std::move(link));
  return static_cast<LinkId>(links.size() - 1);
}

Result<void> Topology::add_flow(std::string flow_name, const std::vector<NodeId>& path,
                                Source source) {
  Flow flow;
  flow.name = std::move(flow_name);
  flow.from = path.front();
  flow.to = path.back();
  flow.source = std::move(source);
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const auto found = std::ranges::find_if(
        links, [&](const Link& link) { return link.from == path[i] && link.to == path[i + 1]; });
    if (found == links.end())
      return fail(Errc::NotFound, fmt::format("flow {}: no link from {} to {}", flow.name,
                                              nodes[path[i]].name, nodes[path[i + 1]].name));
    flow.path.push_back(static_cast<LinkId>(found - links.begin()));
  }
  flows.push_back(std::move(flow));
  return {};
}

TopologyIndex::TopologyIndex(const Topology& topology)
    : topology_(topology), from_(topology.nodes.size()) {
  for (std::size_t i = 0; i < topology.nodes.size(); ++i)
    nodes_.try_emplace(topology.nodes[i].name, static_cast<NodeId>(i));
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    const Link& link = topology.links[i];
    links_.try_emplace(link.name, static_cast<LinkId>(i));
    if (link.from < from_.size()) from_[link.from].push_back(static_cast<LinkId>(i));
  }
}

std::optional<NodeId> TopologyIndex::node(std::string_view name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<LinkId> TopologyIndex::link(std::string_view name) const {
  const auto found = links_.find(name);
  return found == links_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<LinkId> TopologyIndex::link_between(NodeId from, NodeId to) const {
  for (const LinkId link : from_[from])
    if (topology_.links[link].to == to) return link;
  return std::nullopt;
}

std::size_t TopologyIndex::links_between(NodeId from, NodeId to) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      from_[from], [&](LinkId link) { return topology_.links[link].to == to; }));
}

}  // namespace portcullis::pfc
