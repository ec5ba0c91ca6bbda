// SPDX-License-Identifier: BSD-3-Clause
//
// Routes by destination prefix: a route to a switch serves the hosts behind it, as one entry of a
// table serves a subnet. So a fabric needs routes to its leaves, not to each of its hosts.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "pfc/topology.hpp"

namespace portcullis::pfc {

/// Which hosts are served so: those whose links all lead to one switch, and that no route names.
/// That switch knows its links to them, every other node takes its routes to the switch. Answers
/// for one topology that outlives this; only its links and names of routes are looked at.
class Prefixes {
 public:
  explicit Prefixes(const Topology& topology);

  /// The switch whose routes serve `host`, if any are to.
  [[nodiscard]] std::optional<NodeId> switch_of(NodeId host) const;
  /// The links of a switch to the hosts that are served with it, ascending.
  [[nodiscard]] std::span<const LinkId> links_to_hosts(NodeId node) const;
  /// How many they lead to.
  [[nodiscard]] std::size_t hosts_of(NodeId node) const { return hosts_[node]; }

 private:
  std::vector<NodeId> switch_;  // by node; of a node that has none the node itself
  std::vector<std::vector<LinkId>> links_;
  std::vector<std::size_t> hosts_;
};

/// At `node`, data for `destination` is dropped.
struct Dropped {
  NodeId node = 0;
  NodeId destination = 0;
};

/// Gives every host that some route names the entries of its switch's prefix wherever it has none
/// of its own, for the longest prefix wins where both are there. Topologies are read so; whoever
/// builds one with both calls this.
/// `dropped` are pairs that a table names without a next hop: data ends there, and no prefix stands
/// in for them.
void expand_prefixes(Topology& topology, std::span<const Dropped> dropped = {});

/// By node: the one switch that all links of a host lead to; the node itself where there is none.
[[nodiscard]] std::vector<NodeId> only_switches(const Topology& topology);

/// At `node`, data for whatever has no entry takes `via`.
struct DefaultRoute {
  NodeId node = 0;
  LinkId via = 0;
};

/// What the defaults mean: all that some route names, and all hosts that no prefix serves. A node
/// has hosts of its own over its links to them; what stands behind a neighbouring switch it is told
/// of as of any other. After expand_prefixes().
void expand_defaults(Topology& topology, std::span<const DefaultRoute> defaults,
                     std::span<const Dropped> dropped = {});

/// Those destinations, ascending.
[[nodiscard]] std::vector<NodeId> all_destinations(const Topology& topology);

}  // namespace portcullis::pfc
