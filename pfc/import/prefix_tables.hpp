// SPDX-License-Identifier: BSD-3-Clause
//
// Routing tables by IPv4 prefix, node by node, and the routes that they are from node to node. What
// reads such tables fills this. Internal to pfc/import.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pfc/import/draft.hpp"

namespace portcullis::pfc::import {

/// An IPv4 prefix; bits beyond its length are 0.
struct Prefix {
  std::uint32_t address = 0;
  std::uint32_t length = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 means the 0 of the comparison
  friend auto operator<=>(const Prefix&, const Prefix&) = default;

  [[nodiscard]] Prefix cut(std::uint32_t to) const;
  [[nodiscard]] std::string text() const;
};

/// "10.0.1.0/24"; nothing else.
[[nodiscard]] std::optional<Prefix> parse_prefix(std::string_view text);

/// What a table says of one prefix.
struct PrefixEntry {
  std::vector<LinkId> vias;  // none: it is dropped, or comes to an end here
  bool is_here = false;      // what is in it is behind this node, and not on a cable to another one
  bool is_connected = false;  // some port of this node is in it
};

/// The link of a port, "swp1" or its VLAN "swp1.100", as Linux calls them.
[[nodiscard]] std::optional<LinkId> link_of_port(const Draft& draft, NodeId node,
                                                 const std::string& port);

/// "lo", "lo0.0", "Loopback0": what is connected there is the node itself, not hosts behind it.
[[nodiscard]] bool is_loopback(std::string_view port);

class PrefixTables {
 public:
  explicit PrefixTables(Draft& draft) : draft_(draft) {}

  /// False: it has one already. A node with a table is a switch, whatever it looks like.
  [[nodiscard]] bool add_table(NodeId node);
  /// After the last table: who has none is a host.
  void find_hosts(std::vector<std::string>& notes);
  PrefixEntry& at(NodeId node, const Prefix& prefix) { return tables_[node][prefix]; }

  /// The entry of the longest prefix that covers `prefix`, and which that is.
  [[nodiscard]] std::optional<std::pair<Prefix, const PrefixEntry*>> find_longest(
      NodeId node, const Prefix& prefix) const;

  /// Where data goes to are the prefixes that are behind some node; the longest prefix of a table
  /// that covers one decides. Those of one node that all others treat alike are one destination,
  /// the node; what others treat otherwise, or is behind several nodes, becomes a host behind them.
  void add_routes(std::vector<std::string>& notes);

 private:
  using Table = std::map<Prefix, PrefixEntry>;
  using Ways = std::map<NodeId, std::vector<LinkId>>;

  [[nodiscard]] Ways ways_to(const Prefix& prefix, const std::set<NodeId>& origins) const;
  NodeId destination_of(const Prefix& prefix, const std::set<NodeId>& origins, bool is_first);
  void add_senders(const std::map<Prefix, std::set<NodeId>>& origins_of,
                   std::vector<std::string>& notes);
  void tell_left_out(std::vector<std::string>& notes) const;

  Draft& draft_;
  std::map<NodeId, Table> tables_;
};

}  // namespace portcullis::pfc::import
