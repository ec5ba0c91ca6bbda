// SPDX-License-Identifier: BSD-3-Clause
//
// Shortest paths in hops, all of equal cost (ECMP), as a fabric's routing protocol settles on them;
// and cables, the pairs of links that fail together.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "pfc/topology.hpp"

namespace portcullis::pfc::cbd {

inline constexpr std::uint32_t kUnreachable = std::numeric_limits<std::uint32_t>::max();

/// The hosts, or every node where there are none.
[[nodiscard]] std::vector<NodeId> destinations_of(const Topology& topology);

/// The switches that serve all their hosts as prefixes would, and the hosts that none can serve.
[[nodiscard]] std::vector<NodeId> prefixes_of(const Topology& topology);

/// A link and the first link back that no other has taken; a link without one is a cable alone.
[[nodiscard]] std::vector<std::vector<LinkId>> cables_of(const Topology& topology);

/// Hops from every node to the nearest host, when that makes tiers: every link between two switches
/// leads from one tier to another, as in a Clos network. Else nothing.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> tiers_of(const Topology& topology);

/// Answers for one topology, as often as asked.
class Routing {
 public:
  explicit Routing(const Topology& topology);

  /// Hops from every node to `destination` over links that are not down, kUnreachable if there is
  /// no way. Hosts pass nothing on.
  [[nodiscard]] std::vector<std::uint32_t> distances(NodeId destination,
                                                     const std::vector<bool>& is_down) const;
  /// Every next hop that comes nearer, by destination and node, of those nodes that have a table: a
  /// host without one gives everything to its links.
  [[nodiscard]] std::vector<Route> shortest_routes(std::span<const NodeId> destinations,
                                                   const std::vector<bool>& is_down,
                                                   const std::vector<bool>& has_table) const;
  /// Where tables are made anew: all nodes have one. Where a destination is a switch (a prefix) no
  /// host with one switch has: its table would say no more than its links.
  [[nodiscard]] std::vector<Route> shortest_routes(std::span<const NodeId> destinations,
                                                   const std::vector<bool>& is_down) const;
  /// Up, then down, as BGP settles on in a Clos with one AS number for the top, one for each
  /// cluster below it and one for each leaf (RFC 7938, 5.2.1): who is above a destination when all
  /// is well has links down to it or none, for in what comes from above or from its side stands its
  /// own number; everybody else has links up, the shortest way. No data goes down and up again, so
  /// no link waits for itself however old and new routes mix. Where the top reaches a cluster by
  /// two of its switches BGP refuses the way from one to the other, which counts as one here.
  /// `tiers` are those of tiers_of(), `has_table` as above.
  [[nodiscard]] std::vector<Route> up_down_routes(std::span<const NodeId> destinations,
                                                  std::span<const std::uint32_t> tiers,
                                                  const std::vector<bool>& is_down,
                                                  const std::vector<bool>& has_table) const;
  /// Appends the next hops of one node.
  void add_next_hops(NodeId node, NodeId destination, std::span<const std::uint32_t> distances,
                     const std::vector<bool>& is_down, std::vector<Route>& to) const;

 private:
  [[nodiscard]] std::vector<std::uint32_t> distances_down(NodeId destination,
                                                          std::span<const std::uint32_t> tiers,
                                                          const std::vector<bool>& is_down) const;

  const Topology& topology_;
  std::vector<std::vector<LinkId>> from_;
  std::vector<std::vector<LinkId>> into_;
};

}  // namespace portcullis::pfc::cbd
