// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/rewritten.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/rewrite_table.hpp"
#include "pfc/prefixes.hpp"

namespace portcullis::pfc::cbd {
namespace {

/// Follows data link by link, with the priority it has there.
class Follower {
 public:
  Follower(const Topology& topology, const DependencyOptions& options)
      : topology_(topology),
        options_(options),
        rewrites_(topology),
        seen_(topology.links.size() * kPriorities, 0) {}

  void flows(const std::vector<std::uint32_t>& priorities) {
    if (topology_.flows.empty()) return;
    FlowPaths paths(topology_, options_.is_down);
    for (const Flow& flow : topology_.flows) {
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

  const Topology& topology_;
  const DependencyOptions options_;
  const RewriteTable rewrites_;
  std::vector<std::uint32_t> seen_;  // by buffer: the traversal that came there last
  std::uint32_t stamp_ = 0;
  std::vector<Vertex> todo_;
  std::vector<Edge> edges_;
  std::size_t keep_ = std::size_t{1} << 20;
};

}  // namespace

Graph rewritten_dependencies(const Topology& topology, const std::vector<std::uint32_t>& priorities,
                             const DependencyOptions& options) {
  Follower follower(topology, options);
  if (options.traffic != Traffic::Routes) follower.flows(priorities);
  if (options.traffic != Traffic::Flows) follower.routes(priorities);
  return std::move(follower).graph();
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
  const Graph graph = rewritten_dependencies(
      topology, begins, {.traffic = options.traffic, .is_down = options.is_down});
  analysis.edges = graph.edges();
  const auto is_asked_for = [&](Vertex buffer) {
    return std::ranges::find(options.only, priority_of(buffer)) != options.only.end();
  };
  for (const std::vector<Vertex>& buffers : cyclic_components(graph)) {
    if (!options.only.empty() && std::ranges::none_of(buffers, is_asked_for)) continue;
    const Graph inside = induced(graph, buffers);
    Component component;
    component.edges = inside.edges();
    component.cycles = simple_cycles(inside, kExactCycles).size();
    for (const Vertex buffer : buffers) component.links.push_back(link_of(buffer));
    for (const Vertex vertex : shortest_cycle(inside)) {
      component.shortest.push_back(link_of(buffers[vertex]));
      component.priorities.push_back(priority_of(buffers[vertex]));
    }
    analysis.components.push_back(std::move(component));
  }
  return analysis;
}

}  // namespace portcullis::pfc::cbd
