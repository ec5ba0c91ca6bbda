// SPDX-License-Identifier: BSD-3-Clause
//
// What pybatfish answers, written as CSV by pandas: the columns of bf.q.layer1Edges() or
// layer3Edges() and of bf.q.routes() as docs/source/notebooks/topology.ipynb and
// routingTables.ipynb of pybatfish show them; an interface is NODE[PORT] (Interface.__str__), a
// next hop "interface PORT ip A.B.C.D", "interface PORT", "ip A.B.C.D" or "discard" (NextHop* of
// pybatfish/datamodel/route.py, escape_name() of util.py; commit 9ecc8449).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "pfc/csv.hpp"
#include "pfc/import/prefix_tables.hpp"

namespace portcullis::pfc::import {
namespace {

/// Names with special characters stand in quotes.
std::string unescaped(std::string_view name) {
  if (name.size() >= 2 && name.front() == '"' && name.back() == '"')
    name = name.substr(1, name.size() - 2);
  return std::string(name);
}

/// NODE[PORT]
std::optional<End> parse_interface(std::string_view text) {
  const std::size_t open = text.rfind('[');
  if (open == std::string_view::npos || open == 0 || !text.ends_with(']')) return std::nullopt;
  End end{unescaped(text.substr(0, open)),
          unescaped(text.substr(open + 1, text.size() - open - 2))};
  return end.node.empty() || end.port.empty() ? std::nullopt : std::optional(std::move(end));
}

struct NextHop {
  std::string port;  // empty: found by the address
  std::optional<Prefix> address;
  bool is_discard = false;
};

std::optional<NextHop> parse_next_hop(std::string_view text) {
  constexpr std::string_view kInterface = "interface ";
  constexpr std::string_view kIp = "ip ";
  NextHop hop;
  if (text == "discard") {
    hop.is_discard = true;
    return hop;
  }
  if (text.starts_with(kInterface)) {
    text.remove_prefix(kInterface.size());
    const std::size_t quote = text.starts_with('"') ? text.find('"', 1) : 0;
    if (quote == std::string_view::npos) return std::nullopt;
    hop.port = unescaped(text.substr(0, text.find(' ', quote)));
    return hop.port.empty() ? std::nullopt : std::optional(hop);
  }
  if (!text.starts_with(kIp)) return std::nullopt;
  hop.address = parse_prefix(std::string(text.substr(kIp.size())) + "/32");
  return hop.address ? std::optional(hop) : std::nullopt;
}

class BatfishReader {
 public:
  explicit BatfishReader(Draft& draft) : draft_(draft), tables_(draft) {}

  /// Batfish has each edge once from either end.
  Result<void> edges(const File& file) {
    PORTCULLIS_TRY_ASSIGN(const Csv csv, parse_csv(file.text, file.name));
    const auto a = csv.column("Interface");
    const auto b = csv.column("Remote_Interface");
    if (!a || !b)
      return bad(file.name, csv.header_line, "header",
                 "no Interface and Remote_Interface; the answer of layer1Edges or layer3Edges is "
                 "accepted");
    std::map<std::pair<std::string, std::string>, std::pair<std::string, std::string>> known;
    for (const CsvRow& row : csv.rows) {
      const auto near = parse_interface(row.fields[*a]);
      const auto far = parse_interface(row.fields[*b]);
      if (!near || !far)
        return bad(file.name, row.line, near ? "Remote_Interface" : "Interface",
                   fmt::format("\"{}\"; NODE[PORT] is accepted", row.fields[near ? *b : *a]));
      const std::pair one(near->node, near->port);
      const std::pair other(far->node, far->port);
      if (const auto back = known.find(other); back != known.end() && back->second == one) continue;
      const auto [before, is_new] = known.try_emplace(one, other);
      if (!is_new && before->second == other) continue;
      const auto added = draft_.add_cable(*near, *far, 0);
      if (!added) return bad(file.name, row.line, "cable", added.error().text);
    }
    if (csv.rows.empty()) return bad(file.name, 1, "rows", "none; an edge a line is accepted");
    return {};
  }

  Result<void> routes(const File& file, std::vector<std::string>& notes) {
    PORTCULLIS_TRY_ASSIGN(const Csv csv, parse_csv(file.text, file.name));
    std::vector<std::size_t> columns;
    for (const char* name : {"Node", "VRF", "Network", "Next_Hop", "Protocol"}) {
      const auto column = csv.column(name);
      if (!column)
        return bad(file.name, csv.header_line, "header",
                   fmt::format("no {}; the answer of bf.q.routes() is accepted", name));
      columns.push_back(*column);
    }
    for (const CsvRow& row : csv.rows) {
      const auto node = draft_.find(row.fields[columns[0]]);
      if (!node)
        return bad(file.name, row.line, "Node",
                   fmt::format("\"{}\" has no edge; one of the edges' nodes is accepted",
                               row.fields[columns[0]]));
      static_cast<void>(tables_.add_table(*node));
    }
    tables_.find_hosts(notes);
    for (const CsvRow& row : csv.rows) PORTCULLIS_TRY(route(file, row, columns));
    resolve(notes);
    tables_.add_routes(notes);
    if (other_vrfs_ > 0)
      notes.push_back(
          fmt::format("{} routes of other VRFs than \"default\" were left out", other_vrfs_));
    if (other_hops_ > 0)
      notes.push_back(
          fmt::format("{} routes into another VRF or a tunnel were left out: that data "
                      "is dropped",
                      other_hops_));
    return {};
  }

 private:
  struct Unresolved {
    NodeId node = 0;
    Prefix prefix;
    Prefix address;
  };

  Result<void> route(const File& file, const CsvRow& row, const std::vector<std::size_t>& columns) {
    if (row.fields[columns[1]] != "default") {
      ++other_vrfs_;
      return {};
    }
    const NodeId node = *draft_.find(row.fields[columns[0]]);
    const auto prefix = parse_prefix(row.fields[columns[2]]);
    if (!prefix)
      return bad(file.name, row.line, "Network",
                 fmt::format("\"{}\"; an IPv4 prefix is accepted", row.fields[columns[2]]));
    const std::string& text = row.fields[columns[3]];
    const std::string& protocol = row.fields[columns[4]];
    PrefixEntry& entry = tables_.at(node, *prefix);
    const auto hop = parse_next_hop(text);
    if (!hop) {
      if (!text.starts_with("vrf ") && !text.starts_with("vni "))
        return bad(file.name, row.line, "Next_Hop",
                   fmt::format("\"{}\"; interface PORT, interface PORT ip A.B.C.D, ip A.B.C.D and "
                               "discard are accepted",
                               text));
      ++other_hops_;
      return {};
    }
    if (hop->is_discard) return {};
    if (hop->address) {
      unresolved_.push_back({node, *prefix, *hop->address});
      return {};
    }
    const auto link = link_of_port(draft_, node, hop->port);
    if (protocol == "connected" || protocol == "local") {
      entry.is_connected = true;
      const bool is_to_switch =
          link &&
          draft_.topology().nodes[draft_.topology().links[*link].to].kind == NodeKind::Switch;
      entry.is_here =
          entry.is_here || (protocol == "connected" && !is_to_switch && !is_loopback(hop->port));
      if (link) ports_of_[{node, *prefix}] = *link;
      return {};
    }
    if (!link)
      return bad(file.name, row.line, "Next_Hop",
                 fmt::format("no edge at {}[{}]; a port with one is accepted",
                             row.fields[columns[0]], hop->port));
    entry.vias.push_back(*link);
    return {};
  }

  /// A next hop that is an address is looked up in the same table, as often as that gives
  /// addresses.
  void resolve(std::vector<std::string>& notes) {
    std::size_t lost = 0;
    std::map<std::pair<NodeId, Prefix>, std::vector<Prefix>> again;
    for (const Unresolved& one : unresolved_) again[{one.node, one.prefix}].push_back(one.address);
    for (const Unresolved& one : unresolved_) {
      std::set<LinkId> vias;
      std::set<Prefix> seen;
      std::vector<Prefix> todo{one.address};
      while (!todo.empty()) {
        const Prefix address = todo.back();
        todo.pop_back();
        if (!seen.insert(address).second) continue;
        const auto found = tables_.find_longest(one.node, address);
        if (!found) continue;
        const auto& [prefix, entry] = *found;
        vias.insert(entry->vias.begin(), entry->vias.end());
        if (const auto port = ports_of_.find({one.node, prefix}); port != ports_of_.end())
          vias.insert(port->second);
        if (const auto more = again.find({one.node, prefix}); more != again.end())
          todo.insert(todo.end(), more->second.begin(), more->second.end());
      }
      lost += vias.empty() ? 1 : 0;
      resolved_.emplace_back(one.node, one.prefix, std::move(vias));
    }
    // Afterwards, so that what is resolved does not depend on what was before.
    for (const auto& [node, prefix, vias] : resolved_) {
      PrefixEntry& entry = tables_.at(node, prefix);
      entry.vias.insert(entry.vias.end(), vias.begin(), vias.end());
    }
    if (lost > 0)
      notes.push_back(
          fmt::format("{} routes by an address that no port leads to: that data is dropped", lost));
  }

  Draft& draft_;
  PrefixTables tables_;
  std::map<std::pair<NodeId, Prefix>, LinkId> ports_of_;  // of what is connected over a cable
  std::vector<Unresolved> unresolved_;
  std::vector<std::tuple<NodeId, Prefix, std::set<LinkId>>> resolved_;
  std::size_t other_vrfs_ = 0;
  std::size_t other_hops_ = 0;
};

}  // namespace

Result<Imported> from_batfish(const File& edges, const File& routes) {
  PORTCULLIS_TRY(expect_utf8(edges));
  PORTCULLIS_TRY(expect_utf8(routes));
  Draft draft(edges.name);
  BatfishReader reader(draft);
  Imported imported;
  PORTCULLIS_TRY(reader.edges(edges));
  PORTCULLIS_TRY(reader.routes(routes, imported.notes));
  PORTCULLIS_TRY(draft.finish(imported));
  return imported;
}

}  // namespace portcullis::pfc::import
