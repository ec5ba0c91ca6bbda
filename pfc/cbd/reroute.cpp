// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/reroute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/taken_turns.hpp"
#include "pfc/prefixes.hpp"

namespace portcullis::pfc::cbd {
namespace {

constexpr std::size_t kMostRoots = 16;   // of spanning trees that are tried
constexpr std::size_t kMostPaths = 256;  // of one flow
constexpr std::uint32_t kNoLayer = ~std::uint32_t{0};

/// Who takes which turns now, and who of them is to change.
struct Users {
  struct One {
    User user;
    std::vector<Edge> turns;  // links
  };
  std::vector<One> all;  // those that need not change first

  Users(const Topology& topology, const std::vector<std::uint32_t>& priorities, Traffic traffic) {
    std::map<User, std::vector<Edge>> turns;
    std::set<User> breaking;
    for (const std::uint32_t priority : priorities) {
      const Dependencies dependencies(topology, priority, traffic);
      const Graph& graph = dependencies.graph();
      for (LinkId from = 0; from < graph.size(); ++from)
        for (const LinkId to : graph.out(from))
          for (const User& user : dependencies.users(from, to)) turns[user].emplace_back(from, to);
      for (const Component& component : analyse(dependencies, priority, {}).components)
        breaking.insert(component.breaks->users.changes.begin(),
                        component.breaks->users.changes.end());
    }
    for (const bool is_breaking : {false, true})
      for (auto& [user, edges] : turns)
        if (breaking.contains(user) == is_breaking) all.push_back({user, std::move(edges)});
  }
};

/// Two-way cables that join all switches which such cables can join, without a circle.
class Tree {
 public:
  Tree(const Topology& topology, const TopologyIndex& index, NodeId root)
      : links_(topology.nodes.size()) {
    std::vector<bool> is_in(topology.nodes.size(), false);
    std::vector<NodeId> queue;
    const auto grow = [&](NodeId from) {
      if (is_in[from] || topology.nodes[from].kind == NodeKind::Host) return;
      is_in[from] = true;
      for (queue = {from}; !queue.empty(); queue.erase(queue.begin()))
        for (const LinkId link : index.links_from(queue.front())) {
          const NodeId to = topology.links[link].to;
          const auto back = index.link_between(to, queue.front());
          if (is_in[to] || !back || topology.nodes[to].kind == NodeKind::Host) continue;
          is_in[to] = true;
          links_[queue.front()].push_back(link);
          links_[to].push_back(*back);
          queue.push_back(to);
        }
    };
    grow(root);
    for (NodeId node = 0; node < topology.nodes.size(); ++node) grow(node);
  }

  [[nodiscard]] const std::vector<LinkId>& links_from(NodeId node) const { return links_[node]; }

 private:
  std::vector<std::vector<LinkId>> links_;
};

/// One try, with or without a tree whose turns are everybody's to fall back on.
class Rerouter {
 public:
  Rerouter(const Topology& topology, const std::vector<std::uint32_t>& priorities, Traffic traffic,
           const Users& users, const std::vector<Vertex>& order)
      : before_(topology),
        index_(topology),
        prefixes_(topology),
        priorities_(priorities),
        traffic_(traffic),
        users_(users),
        taken_(topology, priorities, order),
        into_(topology.nodes.size()),
        old_(topology.nodes.size()) {
    for (LinkId link = 0; link < topology.links.size(); ++link)
      into_[topology.links[link].to].push_back(link);
    for (const Route& route : topology.routes) old_[route.node].insert(route.destination);
  }

  std::optional<Rerouted> run(std::optional<NodeId> root) {
    if (root) {
      tree_.emplace(before_, index_, *root);
      if (!reserve_tree()) return std::nullopt;
    }
    std::vector<User> changed;
    for (const Users::One& one : users_.all)
      if (!taken_.try_add(one.turns, priorities_of(one.user))) changed.push_back(one.user);
    for (const User& user : changed)
      if (user.kind == User::Kind::Destination && !route(user.index)) return std::nullopt;
    for (auto& [destination, table] : tables_) widen(destination, table);
    Rerouted result{before_, tables_.size(), 0, {}};
    result.topology.routes = routes();
    if (!tables_.empty()) follow_routes(result.topology);
    for (const User& user : changed)
      if (user.kind == User::Kind::Flow && !lead(user.index, result)) return std::nullopt;
    keep_within_ttl(result);
    return is_good(result.topology) ? std::optional(std::move(result)) : std::nullopt;
  }

 private:
  /// Of one destination, by node.
  struct Table {
    std::vector<std::vector<LinkId>> vias;
    std::vector<std::uint32_t> layer;  // kNoLayer: none yet

    explicit Table(std::size_t nodes) : vias(nodes), layer(nodes, kNoLayer) {}
  };

  [[nodiscard]] std::vector<std::uint32_t> priorities_of(const User& user) const {
    if (user.kind == User::Kind::Destination) return priorities_;
    return {before_.flows[user.index].priority};
  }
  [[nodiscard]] NodeId far_end(LinkId link) const { return before_.links[link].to; }
  [[nodiscard]] bool is_host(NodeId node) const {
    return before_.nodes[node].kind == NodeKind::Host;
  }
  /// Hosts have tables where they had some.
  [[nodiscard]] bool has_table(NodeId node, NodeId destination) const {
    return !is_host(node) || old_[node].contains(destination);
  }

  bool reserve_tree() {
    std::vector<Edge> turns;
    for (NodeId node = 0; node < before_.nodes.size(); ++node)
      for (const LinkId in : tree_->links_from(node))
        for (const LinkId out : tree_->links_from(far_end(in)))
          if (far_end(out) != node) turns.emplace_back(in, out);
    return taken_.try_add(turns, priorities_);
  }

  /// What data takes in turn when `via` is a next hop of `node`.
  [[nodiscard]] std::vector<Edge> turns_of(const Table& table, NodeId node, LinkId via) const {
    std::vector<Edge> turns;
    for (const LinkId after : table.vias[far_end(via)]) turns.emplace_back(via, after);
    for (const LinkId in : into_[node]) {
      const NodeId from = before_.links[in].from;
      const auto& vias = table.vias[from];
      const bool is_taken = std::ranges::find(vias, in) != vias.end();
      if (from != far_end(via) && (is_taken || is_host(from))) turns.emplace_back(in, via);
    }
    return turns;
  }

  /// From the destination outwards, a next hop for each node.
  bool route(NodeId destination) {
    const std::size_t mark = taken_.mark();
    Table table(before_.nodes.size());
    const auto hosts = prefixes_.links_to_hosts(destination);
    table.vias[destination].assign(hosts.begin(), hosts.end());
    table.layer[destination] = 0;
    std::vector<NodeId> last{destination};
    for (std::uint32_t layer = 1; !last.empty(); ++layer) {
      std::vector<NodeId> next;
      for (const NodeId to : last)
        for (const LinkId link : into_[to]) {
          const NodeId node = before_.links[link].from;
          if (table.layer[node] != kNoLayer || !has_table(node, destination)) continue;
          if (is_host(to) && to != destination) continue;
          if (!taken_.try_add(turns_of(table, node, link), priorities_)) continue;
          table.vias[node].push_back(link);
          table.layer[node] = layer;
          next.push_back(node);
        }
      last = std::move(next);
    }
    if (!reaches_all(destination, table)) {
      taken_.take_back(mark);
      if (!tree_ || !route_by_tree(destination, table)) return false;
    }
    tables_.emplace(destination, std::move(table));
    return true;
  }

  [[nodiscard]] bool reaches_all(NodeId destination, const Table& table) const {
    for (NodeId node = 0; node < before_.nodes.size(); ++node)
      if (old_[node].contains(destination) && table.layer[node] == kNoLayer) return false;
    return true;
  }

  bool route_by_tree(NodeId destination, Table& table) {
    Table fresh(before_.nodes.size());
    fresh.vias[destination] = table.vias[destination];
    fresh.layer[destination] = 0;
    std::vector<NodeId> queue{destination};
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (const LinkId link : into_[queue[i]]) {
        const NodeId node = before_.links[link].from;
        const auto& tree = tree_->links_from(node);
        // A host hangs on one switch of the tree.
        const bool is_way = std::ranges::find(tree, link) != tree.end() || is_host(node) ||
                            (is_host(destination) && i == 0 && queue.size() == 1);
        if (!is_way || fresh.layer[node] != kNoLayer || !has_table(node, destination)) continue;
        if (is_host(queue[i]) && queue[i] != destination) continue;
        fresh.vias[node].push_back(link);
        fresh.layer[node] = fresh.layer[queue[i]] + 1;
        queue.push_back(node);
      }
    std::vector<Edge> turns;
    for (const NodeId node : queue)
      for (const LinkId via : fresh.vias[node])
        if (node != destination)
          std::ranges::copy(turns_of(fresh, node, via), back_inserter(turns));
    table = std::move(fresh);
    return reaches_all(destination, table) && taken_.try_add(turns, priorities_);
  }

  /// Adds what other next hops lead nearer and still fit.
  void widen(NodeId destination, Table& table) {
    for (NodeId node = 0; node < before_.nodes.size(); ++node) {
      if (node == destination || table.layer[node] == kNoLayer) continue;
      for (const LinkId link : index_.links_from(node)) {
        const NodeId to = far_end(link);
        auto& vias = table.vias[node];
        if (table.layer[to] >= table.layer[node] || (is_host(to) && to != destination)) continue;
        if (std::ranges::find(vias, link) != vias.end()) continue;
        if (taken_.try_add(turns_of(table, node, link), priorities_)) vias.push_back(link);
      }
      std::ranges::sort(table.vias[node]);
    }
  }

  [[nodiscard]] std::vector<Route> routes() const {
    std::vector<Route> routes;
    for (const Route& route : before_.routes)
      if (!tables_.contains(route.destination)) routes.push_back(route);
    for (const auto& [destination, table] : tables_)
      for (NodeId node = 0; node < table.vias.size(); ++node)
        for (const LinkId via : table.vias[node])
          if (node != destination) routes.push_back({node, destination, via});
    return routes;
  }

  static void follow_routes(Topology& topology) {
    FlowPaths paths(topology);
    for (Flow& flow : topology.flows)
      if (flow.is_routed) {
        flow.path.clear();
        flow.path = paths.first_way(flow);
      }
  }

  /// Gives a flow a path of its own, unless the new routes lead it where nothing waits for itself.
  bool lead(std::uint32_t number, Rerouted& result) {
    Flow& flow = result.topology.flows[number];
    if (is_routed(flow) && traffic_ == Traffic::All) {
      FlowPaths paths(result.topology);
      if (taken_.try_add(paths.of(flow).turns, {{flow.priority}})) return true;
    }
    return (flow.ttl != 0 && give_path(flow, flow.ttl, result)) ||
           give_path(flow, before_.links.size(), result);
  }

  /// Of at most so many links.
  bool give_path(Flow& flow, std::size_t most, Rerouted& result) {
    auto path = path_of(flow, most, nullptr);
    if (path.empty() && tree_) path = path_of(flow, most, &*tree_);
    if (path.empty()) return false;
    flow.path = std::move(path);
    flow.is_routed = false;
    ++result.flows;
    return true;
  }

  /// Flows whose ttl the new tables exceed get paths of their own, where there are shorter ones.
  void keep_within_ttl(Rerouted& result) {
    for (const OutgrownTtl& one : outgrown_ttls(before_, result.topology)) {
      Flow& flow = result.topology.flows[one.flow];
      if (is_routed(flow)) give_path(flow, flow.ttl, result);
    }
    result.outgrown = outgrown_ttls(before_, result.topology);
  }

  /// A shortest path of turns that fit, of at most so many links; empty when none is found.
  std::vector<LinkId> path_of(const Flow& flow, std::size_t most, const Tree* along) {
    std::set<Edge> refused;
    for (std::size_t trial = 0; trial < kMostPaths; ++trial) {
      std::vector<LinkId> path = shortest(flow, refused, along);
      if (path.empty() || path.size() > most) return {};
      const std::size_t mark = taken_.mark();
      std::size_t at = 1;
      while (at < path.size() && taken_.try_add({{{path[at - 1], path[at]}}}, {{flow.priority}}))
        ++at;
      if (at == path.size()) return path;
      taken_.take_back(mark);
      refused.emplace(path[at - 1], path[at]);
    }
    return {};
  }

  [[nodiscard]] std::vector<LinkId> shortest(const Flow& flow, const std::set<Edge>& refused,
                                             const Tree* along) const {
    constexpr LinkId kNone = ~LinkId{0};
    std::vector<LinkId> came(before_.links.size(), kNone);
    std::vector<LinkId> queue;
    for (const LinkId link : index_.links_from(flow.from)) {
      came[link] = link;
      queue.push_back(link);
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const NodeId node = far_end(queue[i]);
      if (node == flow.to) {
        std::vector<LinkId> path{queue[i]};
        while (came[path.back()] != path.back()) path.push_back(came[path.back()]);
        std::ranges::reverse(path);
        return path;
      }
      if (is_host(node)) continue;
      for (const LinkId link : index_.links_from(node)) {
        if (came[link] != kNone || refused.contains({queue[i], link})) continue;
        const auto* const tree = along == nullptr ? nullptr : &along->links_from(node);
        if (tree != nullptr && far_end(link) != flow.to &&
            std::ranges::find(*tree, link) == tree->end())
          continue;
        came[link] = queue[i];
        queue.push_back(link);
      }
    }
    return {};
  }

  /// By the engine, whatever was thought above.
  [[nodiscard]] bool is_good(const Topology& after) const {
    const bool is_acyclic = std::ranges::all_of(priorities_, [&](std::uint32_t priority) {
      return cyclic_components(Dependencies(after, priority, traffic_).graph()).empty();
    });
    return is_acyclic && check(after) && !lost_way(before_, after, traffic_);
  }

  const Topology& before_;
  const TopologyIndex index_;
  const Prefixes prefixes_;
  const std::vector<std::uint32_t>& priorities_;
  const Traffic traffic_;
  const Users& users_;
  TakenTurns taken_;
  std::vector<std::vector<LinkId>> into_;  // links by the node at their far end
  std::vector<std::set<NodeId>> old_;      // destinations by node
  std::optional<Tree> tree_;
  std::map<NodeId, Table> tables_;  // by destination
};

/// Switches, those with the most links first.
std::vector<NodeId> roots_of(const Topology& topology) {
  const TopologyIndex index(topology);
  std::vector<NodeId> roots;
  for (NodeId node = 0; node < topology.nodes.size(); ++node)
    if (topology.nodes[node].kind == NodeKind::Switch) roots.push_back(node);
  std::ranges::stable_sort(roots, std::greater(),
                           [&](NodeId node) { return index.links_from(node).size(); });
  roots.resize(std::min(roots.size(), kMostRoots));
  return roots;
}

}  // namespace

Result<Rerouted> reroute(const Topology& topology, const std::vector<std::uint32_t>& priorities,
                         Traffic traffic) {
  if (!topology.rewrites.empty())
    return fail(Errc::Unsupported,
                "rewrites: ways are not looked for where priorities are rewritten; a fabric "
                "without, or --advise rewrites, is accepted");
  const Users users(topology, priorities, traffic);
  std::vector<Edge> turns;
  for (const Users::One& one : users.all)
    turns.insert(turns.end(), one.turns.begin(), one.turns.end());
  const std::vector<Vertex> order = forward_order(Graph(topology.links.size(), std::move(turns)));
  const auto attempt = [&](std::optional<NodeId> root) {
    return Rerouter(topology, priorities, traffic, users, order).run(root);
  };
  // Without what packets are too old for, then of few changes.
  const auto worth = [](const Rerouted& one) {
    return std::pair(one.outgrown.size(), one.destinations + one.flows);
  };
  std::optional<Rerouted> best = attempt(std::nullopt);
  if (best && best->outgrown.empty()) return std::move(*best);
  for (const NodeId root : roots_of(topology)) {
    auto found = attempt(root);
    if (found && (!best || worth(*found) < worth(*best))) best = std::move(found);
  }
  if (best) return std::move(*best);
  return fail(Errc::Unsupported,
              "no other ways were found that close no circle and leave every destination "
              "reachable, which does not prove that there are none; cables that carry data both "
              "ways, --advise rewrites or --advise lossy are accepted");
}

}  // namespace portcullis::pfc::cbd
