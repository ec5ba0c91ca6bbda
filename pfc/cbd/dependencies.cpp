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
      prefixes_(topology),
      group_at_(topology.nodes.size()),
      stamp_(topology.nodes.size(), kNobody) {
  group_routes();
  is_reached_.assign(groups_.size(), false);
  if (options.traffic != Traffic::Flows) find_reached();
  index_uses();
  if (options.traffic != Traffic::Routes) index_flows(priority);
  build_graph();
}

/// A counting sort by node; what comes sorted by destination, as generated routes do, is left so.
void Dependencies::group_routes() {
  const std::vector<Route>& routes = topology_.routes;
  const std::size_t nodes = topology_.nodes.size();
  std::vector<bool> is_destination(nodes, false);
  for (const Route& route : routes) is_destination[route.destination] = true;
  Lists by_node = lists_of(nodes, routes.size(), [&](std::size_t i) { return routes[i].node; });
  for (NodeId node = 0; node < nodes; ++node) {
    const std::span<std::uint32_t> own(by_node.items.data() + by_node.begin[node],
                                       by_node.begin[node + 1] - by_node.begin[node]);
    const auto destination = [&](std::uint32_t i) { return routes[i].destination; };
    if (!std::ranges::is_sorted(own, {}, destination))
      std::ranges::stable_sort(own, {}, destination);
    add_groups_of(node, own, is_destination[node]);
    sets_.clear();
  }
  groups_of_ = lists_of(nodes, groups_.size(), [&](std::size_t i) { return groups_[i].node; });
}

/// By destination; one that is a prefix itself has the links to its hosts for it.
void Dependencies::add_groups_of(NodeId node, std::span<const std::uint32_t> routes,
                                 bool is_prefix) {
  std::vector<LinkId> vias;
  const std::span<const LinkId> own = prefixes_.links_to_hosts(node);
  bool is_left = is_prefix && !own.empty();
  const auto add_own = [&] {
    if (std::exchange(is_left, false)) add_set(node, node, own);  // never another's: add_row()
  };
  for (std::size_t begin = 0; begin < routes.size();) {
    const NodeId destination = topology_.routes[routes[begin]].destination;
    std::size_t end = begin;
    vias.clear();
    for (; end < routes.size() && topology_.routes[routes[end]].destination == destination; ++end)
      vias.push_back(topology_.routes[routes[end]].via);
    if (destination >= node) add_own();
    if (destination != node)
      add_group(node, destination, vias);
    else if (!is_prefix || own.empty())
      add_group(node, node, {});  // a table that says nothing is a table: gives_all()
    begin = end;
  }
  add_own();
}

void Dependencies::add_group(NodeId node, NodeId destination, std::span<const LinkId> vias) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, by link
  for (const LinkId via : vias) hash = (hash ^ via) * 0x100000001b3;
  std::vector<std::uint32_t>& known = sets_[hash];
  for (const std::uint32_t set : known) {
    const Group group{node, destination, set};
    if (!std::ranges::equal(vias_of(group), vias)) continue;
    groups_.push_back(group);
    return;
  }
  known.push_back(add_set(node, destination, vias));
}

std::uint32_t Dependencies::add_set(NodeId node, NodeId destination, std::span<const LinkId> vias) {
  const auto set = static_cast<std::uint32_t>(set_begin_.size() - 1);
  vias_.insert(vias_.end(), vias.begin(), vias.end());
  set_begin_.push_back(static_cast<std::uint32_t>(vias_.size()));
  groups_.push_back({node, destination, set});
  return set;
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
  dead_stamp_.assign(topology_.nodes.size(), kNobody);
  const Lists by_destination = lists_of(topology_.nodes.size(), groups_.size(),
                                        [&](std::size_t i) { return groups_[i].destination; });
  for (NodeId destination = 0; destination < topology_.nodes.size(); ++destination)
    reach(destination, by_destination);
  std::ranges::fill(stamp_, kNobody);
}

void Dependencies::enter(NodeId node, NodeId destination) {
  if (stamp_[node] != destination) {
    if (node == destination || dead_stamp_[node] == destination) return;
    dead_stamp_[node] = destination;
    if (dead_ends_.count++ == 0) dead_ends_ = {1, node, destination};
    return;
  }
  const std::uint32_t group = group_at_[node];
  if (is_reached_[group]) return;
  is_reached_[group] = true;
  todo_.push_back(group);
}

/// Follows the routes for one destination from wherever data for it starts.
void Dependencies::reach(NodeId destination, const Lists& by_destination) {
  const auto groups = by_destination.of(destination);
  if (groups.empty()) return;
  for (const std::uint32_t group : groups) {
    stamp_[groups_[group].node] = destination;
    group_at_[groups_[group].node] = group;
  }
  for (const Start& start : starts_)
    if (start.source != destination) enter(start.node, destination);
  // What no data goes to was not looked at, whatever the tables say of it.
  if (!todo_.empty()) destinations_ += std::max<std::size_t>(prefixes_.hosts_of(destination), 1);
  while (!todo_.empty()) {
    const Group group = groups_[todo_.back()];
    todo_.pop_back();
    if (group.node == destination) continue;  // the hosts behind it are the end
    for (const LinkId via : vias_of(group))
      if (!is_down(via)) enter(topology_.links[via].to, destination);
  }
}

void Dependencies::index_uses() {
  const std::size_t sets = set_begin_.size() - 1;
  std::vector<std::uint32_t> reached;
  for (std::uint32_t group = 0; group < groups_.size(); ++group)
    if (is_reached_[group]) reached.push_back(group);
  reached_of_ =
      lists_of(sets, reached.size(), [&](std::size_t i) { return groups_[reached[i]].set; });
  for (std::uint32_t& item : reached_of_.items) item = reached[item];
  std::vector<std::uint32_t> set_of(vias_.size());
  for (std::uint32_t set = 0; set < sets; ++set)
    std::fill(set_of.begin() + set_begin_[set], set_of.begin() + set_begin_[set + 1], set);
  sets_of_ =
      lists_of(topology_.links.size(), vias_.size(), [&](std::size_t i) { return vias_[i]; });
  for (std::uint32_t& item : sets_of_.items) item = set_of[item];
}

void Dependencies::index_flows(std::uint32_t priority) {
  if (topology_.flows.empty()) return;
  FlowPaths paths(topology_, options_.is_down);
  for (std::uint32_t i = 0; i < topology_.flows.size(); ++i) {
    if (topology_.flows[i].priority != priority) continue;
    ++flows_;
    const FlowWays ways = paths.of(topology_.flows[i]);
    if (!ways.is_whole) cut_flows_.push_back(i);
    for (const auto& [from, to] : ways.turns) turns_.push_back({from, to, i});
  }
  std::ranges::sort(turns_);
  turns_.erase(std::unique(turns_.begin(), turns_.end()), turns_.end());
}

void Dependencies::add_edge(LinkId from, LinkId to) {
  if (edge_stamp_[to] == from) return;
  if (is_down(to)) return;  // of a prefix, to a host: no route says so
  if (!options_.with_unpaused && std::isinf(topology_.links[to].xoff)) return;
  edge_stamp_[to] = from;
  graph_.add_target(to);
}

/// Node by node, so that finding a node's routes for a destination is one look into a small array.
void Dependencies::build_graph() {
  const std::vector<Link>& links = topology_.links;
  graph_ = Graph(links.size());
  edge_stamp_.assign(links.size(), kNobody);
  set_stamp_.assign(set_begin_.size(), kNobody);
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
  const Link& own = topology_.links[link];
  const auto add_group = [&](const Group& group) {
    if (std::exchange(set_stamp_[group.set], link) == link) return;
    // Nothing that a host sends to those behind its own switch comes back to it.
    for (const LinkId via : vias_of(group))
      if (group.destination != own.to || topology_.links[via].to != own.from) add_edge(link, via);
  };
  graph_.begin_row(link);
  if (!is_down(link))
    for (const std::uint32_t set : sets_of_.of(link))
      for (const std::uint32_t use : reached_of_.of(set)) {
        const NodeId destination = groups_[use].destination;
        if (destination != own.from && stamp_[destination] == own.to)
          add_group(groups_[group_at_[destination]]);
      }
  if (gives_all(own.from) && !is_down(link))
    for (const std::uint32_t group : groups_of_.of(own.to))
      if (is_reached_[group] && groups_[group].destination != own.from) add_group(groups_[group]);
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
  const Link& own = topology_.links[from];
  const auto goes_on = [&](const Group* group) {
    return group != nullptr &&
           (group->destination != own.to || topology_.links[to].to != own.from) &&
           std::ranges::find(vias_of(*group), to) != vias_of(*group).end();
  };
  std::vector<User> users;
  for (const std::uint32_t turn : turns_of_.of(from))
    if (turns_[turn].to == to) users.push_back({User::Kind::Flow, turns_[turn].flow});
  const auto add = [&](NodeId destination) {
    if (goes_on(find_group(own.to, destination)))
      users.push_back({User::Kind::Destination, destination});
  };
  for (const std::uint32_t set : sets_of_.of(from))
    for (const std::uint32_t use : reached_of_.of(set))
      if (groups_[use].destination != own.from) add(groups_[use].destination);
  if (gives_all(own.from) && !is_down(from))
    for (const std::uint32_t group : groups_of_.of(own.to))
      if (groups_[group].destination != own.from) add(groups_[group].destination);
  std::ranges::sort(users);
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

}  // namespace portcullis::pfc::cbd
