// SPDX-License-Identifier: BSD-3-Clause
//
// A lossless fabric: nodes, directed links with their PFC thresholds, flows with their paths, and
// next-hop tables. Data and time have free units; Units says what one of each is. Whatever judges a
// fabric (fluid, cbd, packet) starts from this, so that all of them judge the same one.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"

namespace portcullis::pfc {

using NodeId = std::uint32_t;  // position in Topology::nodes
using LinkId = std::uint32_t;  // position in Topology::links

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();
inline constexpr std::uint32_t kPriorities = 8;  // of IEEE 802.1Qbb

/// By default one unit of data is a threshold of 40 KB, one of time what 40 Gb/s need for it, and
/// so one of capacity is 40 Gb/s.
struct Units {
  double time_s = 8e-6;
  double data_bytes = 40'000;
};

enum class NodeKind : std::uint8_t { Host, Switch };

struct Node {
  std::string name;
  NodeKind kind = NodeKind::Switch;
  /// Of a switch with a buffer that its ports share: data, all ports together.
  double shared_buffer = kUnlimited;
  /// Dynamic threshold: an ingress closes at alpha times what is free of shared_buffer, though
  /// never above the link's xoff. 0: the threshold is xoff alone.
  double alpha = 0;
  /// Where to draw it, x to the right and y downwards, in any unit; nowhere: the drawer chooses.
  std::optional<double> x;
  std::optional<double> y;
};

/// One direction of a cable. The ingress at its far end pauses it, one priority at a time.
struct Link {
  std::string name;  // "FROM-TO" unless given
  NodeId from = 0;
  NodeId to = 0;
  double capacity = 1;         // data per time, above 0
  double delay = 0;            // time that data takes, and a PAUSE the other way
  double xoff = 1;             // data in the ingress at `to` at which it closes; kUnlimited: never
  double xon = 1;              // it opens when below; at most xoff. Equal: no hysteresis
  double buffer = kUnlimited;  // data the ingress can hold: xoff and the headroom above it
};

enum class SourceKind : std::uint8_t {
  Greedy,  // as much as the first link takes
  Rate,    // `rate` from `start` on
  Points,  // offered data as a piecewise linear function of time
};

struct SourcePoint {
  double time = 0;
  double data = 0;  // offered from 0 to `time`, never less than at the point before
};

struct Source {
  SourceKind kind = SourceKind::Greedy;
  double rate = 0;                  // of Rate: data per time
  std::vector<SourcePoint> points;  // of Points: times ascend; after the last no more is offered
  double start = 0;                 // nothing is offered before; points count from here
  double stop = kUnlimited;         // nor after
  /// What the host can hold back while its link is paused. The seed calls it B; more is lost.
  double buffer = kUnlimited;
};

struct Flow {
  std::string name;
  NodeId from = 0;
  NodeId to = 0;
  /// Links in order, from `from` to `to`. Empty: the flow goes round a routing loop until its TTL
  /// ends, and follows Topology::routes.
  std::vector<LinkId> path;
  /// The routes decide, and `path` is but the first next hop at every node: data may take any that
  /// it is offered, and failures change them. A flow without a path is routed whatever this says.
  bool is_routed = false;
  std::uint32_t priority = 0;
  std::uint32_t ttl = 0;  // links a packet may take; 0: no limit
  Source source;
};

/// Whether next hops decide where it goes.
[[nodiscard]] inline bool is_routed(const Flow& flow) {
  return flow.is_routed || flow.path.empty();
}

/// At `node`, data for `destination` may take the link `via`. Several for one pair: ECMP.
struct Route {
  NodeId node = 0;
  NodeId destination = 0;
  LinkId via = 0;
};

/// Data of priority `was` that came over `from` and goes on over `to` is `becomes` there (Tagger:
/// Hu et al., CoNEXT 2017). Both ends of `to` heed the new one.
struct Rewrite {
  LinkId from = 0;
  LinkId to = 0;
  std::uint32_t was = 0;
  std::uint32_t becomes = 0;
};

struct Topology {
  std::string name;
  Units units;
  std::vector<Node> nodes;
  std::vector<Link> links;
  std::vector<Flow> flows;
  std::vector<Route> routes;
  std::vector<Rewrite> rewrites;  // one for a turn and a priority
  /// Data begins in no others, that of flows included; empty: nobody has said so.
  std::vector<std::uint32_t> priorities;

  NodeId add_node(std::string node_name, NodeKind kind);
  /// A link named "FROM-TO".
  LinkId add_link(NodeId from, NodeId to, const Link& like = {});
  /// Over the nodes of `path`, two at least; of several links between two nodes the first. Gives
  /// NotFound when two of them are not linked.
  [[nodiscard]] Result<void> add_flow(std::string flow_name, const std::vector<NodeId>& path,
                                      Source source = {});
};

/// In which data may take links, ascending: those of Topology::priorities, or, where nobody has
/// said, those of flows where there are flows alone, else all, for routes permit data in any; and
/// what is rewritten.
[[nodiscard]] std::vector<std::uint32_t> carried_priorities(const Topology& topology);

/// Names and neighbours of a topology that does not change meanwhile.
class TopologyIndex {
 public:
  explicit TopologyIndex(const Topology& topology);

  [[nodiscard]] std::optional<NodeId> node(std::string_view name) const;
  [[nodiscard]] std::optional<LinkId> link(std::string_view name) const;
  /// In the order of Topology::links.
  [[nodiscard]] const std::vector<LinkId>& links_from(NodeId node) const { return from_[node]; }
  /// The first link between two nodes.
  [[nodiscard]] std::optional<LinkId> link_between(NodeId from, NodeId to) const;
  /// How many there are.
  [[nodiscard]] std::size_t links_between(NodeId from, NodeId to) const;

 private:
  const Topology& topology_;
  std::unordered_map<std::string_view, NodeId> nodes_;
  std::unordered_map<std::string_view, LinkId> links_;
  std::vector<std::vector<LinkId>> from_;
};

/// What is wrong with a topology, and where.
struct TopologyProblem {
  enum class Part : std::uint8_t { Units, Node, Link, Flow, Route, Rewrite, Priority };
  Part part = Part::Units;
  std::size_t index = 0;    // in nodes, links, flows, routes, rewrites or priorities
  std::string_view member;  // as JSON spells it
  std::string text;         // the value and what is accepted
};

/// Of every number of a topology that is neither 0 nor unlimited. A product or quotient of a few
/// such numbers still fits a double, where one of 1e-306 made infinite times out of a capacity.
inline constexpr double kLeastNumber = 1e-50;
inline constexpr double kLargestNumber = 1e50;

/// The first problem of: numbers beyond those, names used twice, ids out of range, capacities,
/// delays, thresholds, buffers, paths that do not connect, loops without a TTL, sources.
[[nodiscard]] std::optional<TopologyProblem> find_problem(const Topology& topology);

/// InvalidArgument, as "links[3].xon: what".
[[nodiscard]] Result<void> check(const Topology& topology);

}  // namespace portcullis::pfc
