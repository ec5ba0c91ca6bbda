// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/rewritten.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/rewrite_table.hpp"
#include "pfc/prefixes.hpp"

namespace portcullis::pfc::cbd {
namespace {

/// Who makes each of some edges, ascending.
using Makers = std::map<Edge, std::vector<User>>;

/// Follows data link by link, with the priority it has there.
class Follower {
 public:
  /// `makers`: the edges whose makers are wanted, and the only ones that are looked at then.
  Follower(const Topology& topology, const DependencyOptions& options, Makers* makers = nullptr)
      : makers_(makers),
        topology_(topology),
        options_(options),
        rewrites_(topology),
        seen_(topology.links.size() * kPriorities, 0) {}

  void flows(const std::vector<std::uint32_t>& priorities) {
    if (topology_.flows.empty()) return;
    FlowPaths paths(topology_, options_.is_down);
    for (std::uint32_t index = 0; index < topology_.flows.size(); ++index) {
      const Flow& flow = topology_.flows[index];
      user_ = {User::Kind::Flow, index};
      if (std::ranges::find(priorities, flow.priority) == priorities.end()) continue;
      const FlowWays ways = paths.of(flow);
      const Graph turns(topology_.links.size(), ways.turns);
      const std::vector<LinkId>& firsts = ways.first;
      if (is_routed(flow)) {
        begin();
        for (const LinkId first : firsts) enter(buffer_of(first, flow.priority));
        follow([&](LinkId link) { return turns.out(link); });
      } else {  // a path may take a link twice, in a circle
        along(ways.links, flow.priority);
      }
    }
  }

  void routes(const std::vector<std::uint32_t>& priorities) {
    const Prefixes prefixes(topology_);
    std::vector<Route> routes = topology_.routes;
    std::ranges::stable_sort(routes, {}, &Route::destination);
    std::vector<bool> has_table(topology_.nodes.size(), false);
    for (const Route& route : routes) has_table[route.node] = true;
    for (std::size_t at = 0; at < routes.size();) {
      std::size_t end = at;
      while (end < routes.size() && routes[end].destination == routes[at].destination) ++end;
      destination(std::span(routes).subspan(at, end - at), priorities, prefixes, has_table);
      at = end;
    }
  }

  [[nodiscard]] Graph graph() && {
    return {topology_.links.size() * kPriorities, std::move(edges_)};
  }

 private:
  [[nodiscard]] bool is_down(LinkId link) const {
    return options_.is_down != nullptr && (*options_.is_down)[link];
  }

  void add_edge(Vertex from, Vertex to) {
    if (makers_ != nullptr) {
      const auto wanted = makers_->find({from, to});
      if (wanted == makers_->end()) return;
      std::vector<User>& users = wanted->second;  // each comes once, but may turn so twice
      if (users.empty() || users.back() != user_) users.push_back(user_);
      return;
    }
    if (options_.with_unpaused || !std::isinf(topology_.links[link_of(to)].xoff))
      edges_.emplace_back(from, to);
    // Most turns are made by data for many destinations.
    if (edges_.size() >= keep_) {
      std::ranges::sort(edges_);
      edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
      keep_ = std::max(keep_, 2 * edges_.size());
    }
  }

  void begin() {
    ++stamp_;
    todo_.clear();
  }
  void enter(Vertex buffer) {
    if (is_down(link_of(buffer)) || std::exchange(seen_[buffer], stamp_) == stamp_) return;
    todo_.push_back(buffer);
  }
  void follow(const std::function<std::span<const LinkId>(LinkId)>& next) {
    for (std::size_t i = 0; i < todo_.size(); ++i) {
      const Vertex buffer = todo_[i];
      const LinkId link = link_of(buffer);
      for (const LinkId via : next(link)) {
        if (is_down(via)) continue;
        const Vertex to = buffer_of(via, rewrites_.after(link, via, priority_of(buffer)));
        add_edge(buffer, to);
        enter(to);
      }
    }
  }
  void along(const std::vector<LinkId>& links, std::uint32_t priority) {
    for (std::size_t i = 1; i < links.size(); ++i) {
      const std::uint32_t next = rewrites_.after(links[i - 1], links[i], priority);
      add_edge(buffer_of(links[i - 1], priority), buffer_of(links[i], next));
      priority = next;
    }
  }

  /// As Dependencies has it: from every host, or every node where there is none, to one destination
  /// and the hosts behind it.
  void destination(std::span<const Route> routes, const std::vector<std::uint32_t>& priorities,
                   const Prefixes& prefixes, const std::vector<bool>& has_table) {
    const NodeId destination = routes.front().destination;
    user_ = {User::Kind::Destination, destination};
    std::unordered_map<NodeId, std::vector<LinkId>> table;
    for (const Route& route : routes)
      if (route.node != destination) table[route.node].push_back(route.via);
    const std::span<const LinkId> hosts = prefixes.links_to_hosts(destination);
    std::vector<LinkId> firsts;
    bool has_hosts = false;
    for (LinkId id = 0; id < topology_.links.size(); ++id) {
      const NodeId from = topology_.links[id].from;
      if (topology_.nodes[from].kind != NodeKind::Host) continue;
      has_hosts = true;
      if (from != destination && !has_table[from]) firsts.push_back(id);
    }
    for (const auto& [node, vias] : table)
      if (!has_hosts || topology_.nodes[node].kind == NodeKind::Host)
        firsts.insert(firsts.end(), vias.begin(), vias.end());
    if (!has_hosts) firsts.insert(firsts.end(), hosts.begin(), hosts.end());
    begin();
    for (const LinkId first : firsts)
      for (const std::uint32_t priority : priorities) enter(buffer_of(first, priority));
    std::vector<LinkId> others;
    follow([&](LinkId link) -> std::span<const LinkId> {
      const NodeId node = topology_.links[link].to;
      if (node != destination) {
        const auto found = table.find(node);
        return found == table.end() ? std::span<const LinkId>() : found->second;
      }
      // Nothing that a host sends to those behind its own switch comes back to it.
      others.clear();
      std::ranges::copy_if(hosts, std::back_inserter(others), [&](LinkId host) {
        return topology_.links[host].to != topology_.links[link].from;
      });
      return others;
    });
  }

  Makers* makers_;
  User user_;  // whose data is followed
  const Topology& topology_;
  const DependencyOptions options_;
  const RewriteTable rewrites_;
  std::vector<std::uint32_t> seen_;  // by buffer: the traversal that came there last
  std::uint32_t stamp_ = 0;
  std::vector<Vertex> todo_;
  std::vector<Edge> edges_;
  std::size_t keep_ = std::size_t{1} << 20;
};

Graph follow(const Topology& topology, const std::vector<std::uint32_t>& priorities,
             const DependencyOptions& options, Makers* makers) {
  Follower follower(topology, options, makers);
  if (options.traffic != Traffic::Routes) follower.flows(priorities);
  if (options.traffic != Traffic::Flows) follower.routes(priorities);
  return std::move(follower).graph();
}

/// A component, and its own edges and cycles.
struct Found {
  std::vector<Vertex> buffers;
  Graph inside;
  std::vector<Cycle> cycles;
  Cycle shortest;  // buffers
};

Found find(const Graph& graph, const std::vector<Vertex>& buffers) {
  Found found{buffers, induced(graph, buffers), {}, {}};
  found.cycles = simple_cycles(found.inside, kExactCycles);
  for (const Vertex vertex : shortest_cycle(found.inside))
    found.shortest.push_back(buffers[vertex]);
  return found;
}

/// Calls `take` with each edge of the shortest cycle.
template <class Take>
void along(const Cycle& cycle, Take take) {
  for (std::size_t i = 0; i < cycle.size(); ++i)
    take(Edge{cycle[i], cycle[(i + 1) % cycle.size()]});
}
/// And with each of the component, in the order of rows.
template <class Take>
void inside(const Found& found, Take take) {
  for (Vertex from = 0; from < found.inside.size(); ++from)
    for (const Vertex to : found.inside.out(from))
      take(Edge{found.buffers[from], found.buffers[to]});
}

Component component_of(const Found& found, const Makers& makers, bool with_breaks) {
  Component component;
  component.edges = found.inside.edges();
  component.cycles = found.cycles.size();
  for (const Vertex buffer : found.buffers) component.links.push_back(link_of(buffer));
  for (const Vertex buffer : found.shortest) {
    component.shortest.push_back(link_of(buffer));
    component.priorities.push_back(priority_of(buffer));
  }
  along(found.shortest,
        [&](const Edge& edge) { component.users.push_back(makers.find(edge)->second); });
  component.loop = common_user(component.users);
  if (!with_breaks) return component;
  std::vector<std::vector<User>> users;
  inside(found, [&](const Edge& edge) { users.push_back(makers.find(edge)->second); });
  Breaks breaks = break_cycles(found.inside, found.cycles, users);
  for (auto& [from, to] : breaks.turns.changes)
    std::tie(from, to) = std::pair(found.buffers[from], found.buffers[to]);
  for (Vertex& buffer : breaks.links.changes) buffer = found.buffers[buffer];
  component.breaks = std::move(breaks);
  return component;
}

}  // namespace

Graph rewritten_dependencies(const Topology& topology, const std::vector<std::uint32_t>& priorities,
                             const DependencyOptions& options) {
  return follow(topology, priorities, options, nullptr);
}

Analysis analyse_rewritten(const Topology& topology, const std::vector<std::uint32_t>& begins,
                           const RewrittenOptions& options) {
  Analysis analysis;
  analysis.links = topology.links.size();
  analysis.priority = begins.front();
  analysis.begins = begins;
  analysis.only = options.only;
  for (const std::uint32_t priority : begins) {
    const Dependencies plain(topology, priority,
                             {.traffic = options.traffic, .is_down = options.is_down});
    analysis.flows += plain.flows();
    analysis.destinations = plain.destinations();
    if (analysis.dead_ends.count == 0) analysis.dead_ends = plain.dead_ends();
    analysis.cut_flows.insert(analysis.cut_flows.end(), plain.cut_flows().begin(),
                              plain.cut_flows().end());
  }
  std::set<std::uint32_t> all(begins.begin(), begins.end());
  for (const Rewrite& rewrite : topology.rewrites) all.insert(rewrite.becomes);
  analysis.rewritten.assign(all.begin(), all.end());
  const DependencyOptions data{.traffic = options.traffic, .is_down = options.is_down};
  const Graph graph = rewritten_dependencies(topology, begins, data);
  analysis.edges = graph.edges();
  const auto is_asked_for = [&](Vertex buffer) {
    return std::ranges::find(options.only, priority_of(buffer)) != options.only.end();
  };
  std::vector<Found> cyclic;
  Makers makers;
  for (const std::vector<Vertex>& buffers : cyclic_components(graph)) {
    if (!options.only.empty() && std::ranges::none_of(buffers, is_asked_for)) continue;
    cyclic.push_back(find(graph, buffers));
    const auto want = [&](const Edge& edge) { makers[edge]; };
    along(cyclic.back().shortest, want);
    if (options.with_breaks) inside(cyclic.back(), want);
  }
  // Once more, for who makes these.
  if (!cyclic.empty()) static_cast<void>(follow(topology, begins, data, &makers));
  for (const Found& found : cyclic)
    analysis.components.push_back(component_of(found, makers, options.with_breaks));
  return analysis;
}

}  // namespace portcullis::pfc::cbd
