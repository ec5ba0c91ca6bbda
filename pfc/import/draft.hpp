// SPDX-License-Identifier: BSD-3-Clause
//
// A fabric while it is put together: nodes by name, cables by port. Internal to pfc/import.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "pfc/import/import.hpp"

namespace portcullis::pfc::import {

/// "FILE:LINE: FIELD: WHAT"
[[nodiscard]] tl::unexpected<Error> bad(std::string_view file, std::size_t line,
                                        std::string_view field, std::string_view what);

/// Malformed, with the line of the first byte that is none of UTF-8: names become JSON.
[[nodiscard]] Result<void> expect_utf8(const File& file);

/// One line of text and its number, from 1.
struct Line {
  std::size_t number = 0;
  std::string_view text;
};
[[nodiscard]] std::vector<Line> lines_of(std::string_view text);

struct End {
  std::string node;
  std::string port;  // empty: not known
};

/// A cable of which nobody says how fast it is.
inline constexpr double kUsualGbps = 40;

/// What is wrong with a speed that stands as `text`, where find_problem() will not have it.
[[nodiscard]] std::optional<std::string> bad_speed(std::optional<double> gbps,
                                                   std::string_view text);

/// The first few of `names`, and how many more there are.
[[nodiscard]] std::string few(const std::vector<std::string>& names);

class Draft {
 public:
  explicit Draft(std::string name);

  /// A node of that name, a new one if there is none.
  NodeId node(const std::string& name);
  [[nodiscard]] std::optional<NodeId> find(const std::string& name) const;
  void set_kind(NodeId node, NodeKind kind) { topology_.nodes[node].kind = kind; }
  /// Two links; `gbps` 0: not known, and kUsualGbps in the end. Where the same ports are linked to
  /// each other already it is the same cable as its other end has it: of two speeds the higher
  /// counts, and finish() tells. What is wrong with it is told without file and line.
  [[nodiscard]] Result<void> add_cable(const End& a, const End& b, double gbps);
  [[nodiscard]] std::optional<LinkId> link_at(NodeId node, const std::string& port) const;
  /// The port that a link begins at; empty: not known.
  [[nodiscard]] std::string port_of(LinkId link) const;
  [[nodiscard]] const Topology& topology() const noexcept { return topology_; }
  /// To set what a cable alone does not say.
  [[nodiscard]] Link& link(LinkId id) { return topology_.links[id]; }
  [[nodiscard]] Node& node_of(NodeId id) { return topology_.nodes[id]; }
  void add_route(const Route& route) { topology_.routes.push_back(route); }
  /// A host with cables where `host` has them, and routes to it: who has one over a cable to `host`
  /// takes that of the new one.
  NodeId add_twin(NodeId host, const std::string& name,
                  const std::vector<std::pair<NodeId, LinkId>>& ways);

  /// One line for whoever reads the fabric, in front of what finish() has to say.
  void note(std::string line) { notes_.push_back(std::move(line)); }

  /// Nodes that are linked to one other node alone are hosts, unless all are.
  void find_hosts();
  /// The topology, unless check() refuses it, and what was decided on the way.
  [[nodiscard]] Result<void> finish(Imported& into);

 private:
  [[nodiscard]] bool is_known(NodeId one, const End& a, NodeId other, const End& b) const;
  LinkId add_link(NodeId from, NodeId to, const End& near, const End& far, double capacity);
  [[nodiscard]] std::string unused_name(const std::string& plain, const End& near, const End& far,
                                        std::size_t number) const;
  void same_cable(LinkId there, LinkId back, double gbps);

  Topology topology_;
  std::map<std::string, NodeId> nodes_;
  std::map<std::pair<NodeId, std::string>, LinkId> ports_;
  std::map<LinkId, std::string> port_of_;
  std::map<LinkId, LinkId> cable_of_;  // links of one cable have one number
  std::map<std::pair<NodeId, NodeId>, std::size_t> cables_;
  std::vector<std::string> notes_;
  std::set<std::string> link_names_;
  std::set<LinkId> speed_unknown_;   // of cables, by cable_of_
  std::vector<std::string> unlike_;  // cables whose ends have two speeds
};

}  // namespace portcullis::pfc::import
