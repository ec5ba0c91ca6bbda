// SPDX-License-Identifier: BSD-3-Clause
//
// The buffer-dependency graph: a link, that is the ingress buffer at its far end, depends on
// another when some data takes the one and then the other, for then the first cannot drain while
// the second is paused. A cycle is what a PFC deadlock needs (Hu et al., "Deadlocks in Datacenter
// Networks", HotNets 2016). Who makes an edge is looked up when asked, not stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "pfc/cbd/graph.hpp"
#include "pfc/prefixes.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::cbd {

enum class Traffic : std::uint8_t {
  All,     // the flows and the routes
  Flows,   // what the flows take
  Routes,  // whatever the routes permit, from any host to any destination
};

/// Who makes an edge: a flow, or any data for a destination that follows the routes.
struct User {
  enum class Kind : std::uint8_t { Flow, Destination };
  Kind kind = Kind::Flow;
  std::uint32_t index = 0;  // in Topology::flows or Topology::nodes

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 means the 0 of the comparison
  friend auto operator<=>(const User&, const User&) = default;
};

/// "flow f3", "data for h7", or "data for leaf3" for all that is behind it.
[[nodiscard]] std::string name_of(const User& user, const Topology& topology);

/// The priorities that flows use, ascending; 0 when there is no flow.
[[nodiscard]] std::vector<std::uint32_t> priorities_of(const Topology& topology);

struct DependencyOptions {
  Traffic traffic = Traffic::All;
  /// By link; nothing goes over what is down, and a path ends before it. nullptr: all are up.
  const std::vector<bool>* is_down = nullptr;
  /// True: every pair of links that data takes in turn, whether or not the second can be paused.
  bool with_unpaused = false;
};

/// Routes serve every priority, and a routed flow takes every next hop that it is offered. Data for
/// a destination starts at every host, or at every node when there is no host; a host without
/// routes gives all its links. Nothing goes on through a host that has no route, and nothing goes
/// on at its destination, but to the hosts behind it where it is a prefix (Prefixes). A link whose
/// xoff is kUnlimited is never paused: nothing depends on it.
class Dependencies {
 public:
  /// `topology` was checked (parse_topology, check) and outlives this.
  Dependencies(const Topology& topology, std::uint32_t priority, const DependencyOptions& options);
  Dependencies(const Topology& topology, std::uint32_t priority, Traffic traffic)
      : Dependencies(topology, priority, DependencyOptions{.traffic = traffic}) {}

  /// Vertices are LinkIds.
  [[nodiscard]] const Graph& graph() const noexcept { return graph_; }
  [[nodiscard]] const Topology& topology() const noexcept { return topology_; }
  /// What was looked at: flows, and destinations that data goes to by routes, each host of a prefix
  /// counted.
  [[nodiscard]] std::size_t flows() const noexcept { return flows_; }
  [[nodiscard]] std::size_t destinations() const noexcept { return destinations_; }
  /// Where data for a destination comes and finds no next hop: it ends there, and nothing beyond
  /// was looked at. The first of them, and how many there are.
  struct DeadEnds {
    std::size_t count = 0;
    NodeId node = 0;
    NodeId destination = 0;
  };
  [[nodiscard]] const DeadEnds& dead_ends() const noexcept { return dead_ends_; }
  /// Flows of which a part finds no next hop, or a link that is down.
  [[nodiscard]] const std::vector<std::uint32_t>& cut_flows() const noexcept { return cut_flows_; }
  /// Who takes `from` and then `to`; ascending, never empty for an edge of the graph.
  [[nodiscard]] std::vector<User> users(LinkId from, LinkId to) const;

 private:
  /// Routes of one node for one destination. Most destinations share their next hops with others,
  /// so those are kept once: set `set`.
  struct Group {
    NodeId node;
    NodeId destination;
    std::uint32_t set;
  };
  /// Lists of numbers by a key: items[begin[key], begin[key + 1]).
  struct Lists {
    std::vector<std::uint32_t> begin;
    std::vector<std::uint32_t> items;

    [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t key) const {
      return {items.data() + begin[key], begin[key + 1] - begin[key]};
    }
  };
  template <class KeyOf>
  static Lists lists_of(std::size_t keys, std::size_t count, KeyOf key_of);

  void group_routes();
  void add_groups_of(NodeId node, std::span<const std::uint32_t> routes, bool is_prefix);
  void add_group(NodeId node, NodeId destination, std::span<const LinkId> vias);
  std::uint32_t add_set(NodeId node, NodeId destination, std::span<const LinkId> vias);
  void find_starts();
  void find_reached();
  void reach(NodeId destination, const Lists& by_destination);
  void enter(NodeId node, NodeId destination);
  void index_uses();
  void index_flows(std::uint32_t priority);
  void build_graph();
  void add_row(LinkId link);
  void add_edge(LinkId from, LinkId to);
  [[nodiscard]] bool gives_all(NodeId node) const {
    return topology_.nodes[node].kind == NodeKind::Host && groups_of_.of(node).empty();
  }
  [[nodiscard]] const Group* find_group(NodeId node, NodeId destination) const;
  [[nodiscard]] std::span<const LinkId> vias_of(const Group& group) const {
    return {vias_.data() + set_begin_[group.set],
            set_begin_[group.set + 1] - set_begin_[group.set]};
  }
  [[nodiscard]] bool is_down(LinkId link) const {
    return options_.is_down != nullptr && (*options_.is_down)[link];
  }

  const Topology& topology_;
  const DependencyOptions options_;
  Prefixes prefixes_;
  std::vector<LinkId> vias_;
  std::vector<std::uint32_t> set_begin_{0};  // of a set in vias_, and behind the last
  std::vector<Group> groups_;                // by node, then destination
  std::vector<bool> is_reached_;
  Lists groups_of_;   // group by node
  Lists sets_of_;     // set by link
  Lists reached_of_;  // reached group by set
  Lists into_;        // links by the node at their far end
  // Consecutive links of flows, ascending.
  struct Turn {
    LinkId from;
    LinkId to;
    std::uint32_t flow;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 means the 0 of the comparison
    friend auto operator<=>(const Turn&, const Turn&) = default;
  };
  std::vector<Turn> turns_;
  Lists turns_of_;  // turn by its first link
  Graph graph_;
  std::size_t flows_ = 0;
  std::size_t destinations_ = 0;
  DeadEnds dead_ends_;
  std::vector<std::uint32_t> cut_flows_;
  struct Start {
    NodeId source;
    NodeId node;  // whose routes take over
  };
  std::vector<Start> starts_;
  // What the building needs once: the group of a node or destination, and who asked last.
  std::vector<std::uint32_t> group_at_;
  std::vector<std::uint32_t> stamp_;
  std::vector<std::uint32_t> edge_stamp_;
  std::vector<std::uint32_t> set_stamp_;
  std::vector<std::uint32_t> dead_stamp_;
  std::vector<std::uint32_t> todo_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> sets_;  // of one node, by hash
};

}  // namespace portcullis::pfc::cbd
