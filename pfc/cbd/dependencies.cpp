// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/dependencies.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "pfc/cbd/flow_paths.hpp"

namespace portcullis::pfc::cbd {
namespace {

constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

}  // namespace

std::string name_of(const User& user, const Topology& topology) {
  return user.kind == User::Kind::Flow ? "flow " + topology.flows[user.index].name
                                       : "data for " + topology.nodes[user.index].name;
}

std::vector<std::uint32_t> priorities_of(const Topology& topology) {
  std::vector<bool> is_used(kPriorities, topology.flows.empty());
  std::fill(is_used.begin() + 1, is_used.end(), false);
  for (const Flow& flow : topology.flows) is_used[flow.priority] = true;
  std::vector<std::uint32_t> used;
  for (std::uint32_t priority = 0; priority < kPriorities; ++priority)
    if (is_used[priority]) used.push_back(priority);
  return used;
}

template <class KeyOf>
Dependencies::Lists Dependencies::lists_of(std::size_t keys, std::size_t count, KeyOf key_of) {
  Lists lists;
  lists.begin.assign(keys + 1, 0);
  for (std::size_t i = 0; i < count; ++i) ++lists.begin[key_of(i) + 1];
  std::partial_sum(lists.begin.begin(), lists.begin.end(), lists.begin.begin());
  std::vector<std::uint32_t> next(lists.begin.begin(), lists.begin.end() - 1);
  lists.items.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    lists.items[next[key_of(i)]++] = static_cast<std::uint32_t>(i);
  return lists;
}

Dependencies::Dependencies(const Topology& topology, std::uint32_t priority,
                           const DependencyOptions& options)
    : topology_(topology),
      options_(options),
      group_at_(topology.nodes.size()),
      stamp_(topology.nodes.size(), kNobody) {
  group_routes();
  is_reached_.assign(groups_.size(), false);
  if (options.traffic != Traffic::Flows) find_reached();
  index_uses();
  if (options.traffic != Traffic::Routes) index_flows(priority);
  build_graph();
}

/// Counting sorts, by destination and then by node: a million routes in a few milliseconds.
void Dependencies::group_routes() {
  const std::vector<Route>& routes = topology_.routes;
  const std::size_t nodes = topology_.nodes.size();
  const Lists by_destination =
      lists_of(nodes, routes.size(), [&](std::size_t i) { return routes[i].destination; });
  const auto route = [&](std::size_t i) -> const Route& { return routes[by_destination.items[i]]; };
  const Lists by_node =
      lists_of(nodes, routes.size(), [&](std::size_t i) { return route(i).node; });
  vias_.reserve(routes.size());
  for (const std::uint32_t i : by_node.items) {
    const Route& next = route(i);
    if (groups_.empty() || groups_.back().node != next.node ||
        groups_.back().destination != next.destination) {
      const auto at = static_cast<std::uint32_t>(vias_.size());
      groups_.push_back({next.node, next.destination, at, at});
    }
    vias_.push_back(next.via);
    ++groups_.back().end;
  }
  groups_of_ = lists_of(nodes, groups_.size(), [&](std::size_t i) { return groups_[i].node; });
}

/// Data starts at every host, behind a host without routes, or anywhere when there are no hosts.
void Dependencies::find_starts() {
  bool has_hosts = false;
  for (LinkId id = 0; id < topology_.links.size(); ++id) {
    const Link& link = topology_.links[id];
    if (topology_.nodes[link.from].kind != NodeKind::Host) continue;
    has_hosts = true;
    if (!is_down(id)) starts_.push_back({link.from, gives_all(link.from) ? link.to : link.from});
  }
  if (has_hosts) return;
  for (NodeId node = 0; node < topology_.nodes.size(); ++node) starts_.push_back({node, node});
}

void Dependencies::find_reached() {
  find_starts();
  const Lists by_destination = lists_of(topology_.nodes.size(), groups_.size(),
                                        [&](std::size_t i) { return groups_[i].destination; });
  for (NodeId destination = 0; destination < topology_.nodes.size(); ++destination)
    reach(destination, by_destination);
  std::ranges::fill(stamp_, kNobody);
}

void Dependencies::enter(NodeId node, NodeId destination) {
  if (node == destination || stamp_[node] != destination) return;
  const std::uint32_t group = group_at_[node];
  if (is_reached_[group]) return;
  is_reached_[group] = true;
  todo_.push_back(group);
}

/// Follows the routes for one destination from wherever data for it starts.
void Dependencies::reach(NodeId destination, const Lists& by_destination) {
  const auto groups = by_destination.of(destination);
  if (groups.empty()) return;
  ++destinations_;
  for (const std::uint32_t group : groups) {
    stamp_[groups_[group].node] = destination;
    group_at_[groups_[group].node] = group;
  }
  for (const Start& start : starts_)
    if (start.source != destination) enter(start.node, destination);
  while (!todo_.empty()) {
    const Group group = groups_[todo_.back()];
    todo_.pop_back();
    for (std::uint32_t i = group.begin; i < group.end; ++i)
      enter(topology_.links[vias_[i]].to, destination);
  }
}

void Dependencies::index_uses() {
  std::vector<std::pair<LinkId, std::uint32_t>> uses;
  for (std::uint32_t group = 0; group < groups_.size(); ++group)
    if (is_reached_[group])
      for (std::uint32_t i = groups_[group].begin; i < groups_[group].end; ++i)
        uses.emplace_back(vias_[i], group);
  uses_ =
      lists_of(topology_.links.size(), uses.size(), [&](std::size_t i) { return uses[i].first; });
  for (std::uint32_t& item : uses_.items) item = uses[item].second;
}

void Dependencies::index_flows(std::uint32_t priority) {
  if (topology_.flows.empty()) return;
  FlowPaths paths(topology_, options_.is_down);
  for (std::uint32_t i = 0; i < topology_.flows.size(); ++i) {
    if (topology_.flows[i].priority != priority) continue;
    ++flows_;
    for (const auto& [from, to] : paths.of(topology_.flows[i]).turns)
      turns_.push_back({from, to, i});
  }
  std::ranges::sort(turns_);
  turns_.erase(std::unique(turns_.begin(), turns_.end()), turns_.end());
}

void Dependencies::add_edge(LinkId from, LinkId to) {
  if (edge_stamp_[to] == from) return;
  if (!options_.with_unpaused && std::isinf(topology_.links[to].xoff)) return;
  edge_stamp_[to] = from;
  graph_.add_target(to);
}

/// Node by node, so that finding a node's routes for a destination is one look into a small array.
void Dependencies::build_graph() {
  const std::vector<Link>& links = topology_.links;
  graph_ = Graph(links.size());
  edge_stamp_.assign(links.size(), kNobody);
  turns_of_ = lists_of(links.size(), turns_.size(), [&](std::size_t i) { return turns_[i].from; });
  into_ =
      lists_of(topology_.nodes.size(), links.size(), [&](std::size_t i) { return links[i].to; });
  for (NodeId node = 0; node < topology_.nodes.size(); ++node) {
    for (const std::uint32_t group : groups_of_.of(node)) {
      if (!is_reached_[group]) continue;
      stamp_[groups_[group].destination] = node;
      group_at_[groups_[group].destination] = group;
    }
    for (const LinkId link : into_.of(node)) add_row(link);
  }
}

void Dependencies::add_row(LinkId link) {
  const NodeId node = topology_.links[link].to;
  const auto add_group = [&](const Group& group) {
    if (group.destination == node) return;
    for (std::uint32_t i = group.begin; i < group.end; ++i) add_edge(link, vias_[i]);
  };
  graph_.begin_row(link);
  for (const std::uint32_t use : uses_.of(link)) {
    const NodeId destination = groups_[use].destination;
    if (stamp_[destination] == node) add_group(groups_[group_at_[destination]]);
  }
  if (gives_all(topology_.links[link].from) && !is_down(link))
    for (const std::uint32_t group : groups_of_.of(node))
      if (is_reached_[group] && groups_[group].destination != topology_.links[link].from)
        add_group(groups_[group]);
  for (const std::uint32_t turn : turns_of_.of(link)) add_edge(link, turns_[turn].to);
}

const Dependencies::Group* Dependencies::find_group(NodeId node, NodeId destination) const {
  const auto groups = groups_of_.of(node);
  const auto found = std::ranges::lower_bound(
      groups, destination, {}, [&](std::uint32_t group) { return groups_[group].destination; });
  if (found == groups.end() || groups_[*found].destination != destination) return nullptr;
  return is_reached_[*found] ? &groups_[*found] : nullptr;
}

std::vector<User> Dependencies::users(LinkId from, LinkId to) const {
  const NodeId node = topology_.links[from].to;
  const auto goes_on = [&](const Group* group) {
    return group != nullptr && group->destination != node &&
           std::find(vias_.begin() + group->begin, vias_.begin() + group->end, to) !=
               vias_.begin() + group->end;
  };
  std::vector<User> users;
  for (const std::uint32_t turn : turns_of_.of(from))
    if (turns_[turn].to == to) users.push_back({User::Kind::Flow, turns_[turn].flow});
  const auto add = [&](NodeId destination) {
    if (goes_on(find_group(node, destination)))
      users.push_back({User::Kind::Destination, destination});
  };
  for (const std::uint32_t use : uses_.of(from)) add(groups_[use].destination);
  if (gives_all(topology_.links[from].from) && !is_down(from))
    for (const std::uint32_t group : groups_of_.of(node))
      if (groups_[group].destination != topology_.links[from].from) add(groups_[group].destination);
  std::ranges::sort(users);
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

}  // namespace portcullis::pfc::cbd
