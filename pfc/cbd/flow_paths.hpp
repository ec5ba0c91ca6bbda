// SPDX-License-Identifier: BSD-3-Clause
//
// Which links a flow may take: those of its path, or, when it is routed, every next hop that it is
// offered on the way (ECMP). What analyses a fabric looks at all of them; what simulates one run
// takes one way and says so.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pfc/cbd/graph.hpp"
#include "pfc/prefixes.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::cbd {

/// What one flow may do; vertices are LinkIds.
struct FlowWays {
  std::vector<LinkId> first;  // where it begins
  std::vector<Edge> turns;    // links that its data takes one after the other
  std::vector<LinkId> links;  // all of them
  bool is_whole = true;       // false: some of it ends at a node that has no link for it
};

/// Routes are looked up by node and destination, or by the switch that serves the destination
/// (Prefixes); a host without sends what is its own over its only link, a switch drops.
class FlowPaths {
 public:
  /// `topology` was checked and outlives this, as does `is_down`: by link, nullptr when all are up.
  explicit FlowPaths(const Topology& topology, const std::vector<bool>* is_down = nullptr);

  [[nodiscard]] FlowWays of(const Flow& flow);
  /// Whether data of the flow is offered several next hops somewhere.
  [[nodiscard]] bool has_choice(const Flow& flow);
  /// The path of a flow. Without one, first next hops until a link comes again; that link is the
  /// last, too. Empty when there is no way.
  [[nodiscard]] std::vector<LinkId> first_way(const Flow& flow);

  /// What data of the flow is offered at a node.
  [[nodiscard]] std::vector<LinkId> next_hops(const Flow& flow, NodeId at);

 private:
  [[nodiscard]] bool is_down(LinkId link) const { return is_down_ != nullptr && (*is_down_)[link]; }
  void along_path(const Flow& flow, FlowWays& ways) const;
  void along_routes(const Flow& flow, FlowWays& ways);

  const Topology& topology_;
  const Prefixes prefixes_;
  const std::vector<bool>* is_down_;
  std::vector<std::vector<LinkId>> from_;  // links by node
  std::vector<std::size_t> place_;         // of a node among those that a flow was seen at, 1 first
  std::vector<Route> routes_;              // by node, then destination; filled when first needed
  bool has_routes_ = false;
};

/// Flows that are offered several next hops somewhere, by number.
[[nodiscard]] std::vector<std::size_t> flows_with_choice(const Topology& topology);

/// One line that names them and says that this run takes the first next hop; empty when there are
/// none.
[[nodiscard]] std::string first_hops_note(const Topology& topology);

}  // namespace portcullis::pfc::cbd
