// SPDX-License-Identifier: BSD-3-Clause
//
// `show ip route json` of FRR, as vty_show_ip_route() of zebra/zebra_vty.c and
// nexthop_json_helper() of lib/nexthop.c print it (commit fbfc8222): an object of prefixes, of each
// a list of routes; a route that counts is "selected", a next hop that is used has "fib", and one
// that is "recursive" is followed by those that it was resolved to.
#include <fmt/format.h>

#include <optional>
#include <set>
#include <vector>

#include "base/json.hpp"
#include "pfc/import/edges.hpp"
#include "pfc/import/prefix_tables.hpp"

namespace portcullis::pfc::import {
namespace {

Result<bool> flag(const JsonCursor& from, std::string_view key) {
  if (!from.has(key)) return false;
  return from.at(key).boolean();
}

class FrrReader {
 public:
  explicit FrrReader(Draft& draft) : draft_(draft), tables_(draft) {}

  /// Whatever it looks like, a node with a table is a switch; so all are named before one is read.
  Result<void> name(const File& file) {
    const std::size_t slash = file.name.rfind('/');
    std::string name = slash == std::string::npos ? file.name : file.name.substr(slash + 1);
    if (name.ends_with(".json")) name.resize(name.size() - 5);
    const auto node = draft_.find(name);
    if (!node)
      return bad(file.name, 1, "file",
                 fmt::format("no node \"{}\" among the cables; tables are named NODE.json", name));
    if (!tables_.add_table(*node))
      return bad(file.name, 1, "file", fmt::format("a second table of {}", name));
    nodes_.push_back(*node);
    return {};
  }

  /// The table of the node that was named `index`th.
  Result<void> read(std::size_t index, const File& file) {
    const NodeId node = nodes_[index];
    PORTCULLIS_TRY_ASSIGN(const JsonValue top, parse_json(file.text, file.name));
    const JsonCursor cursor(top, file.name);
    if (top.kind != JsonValue::Kind::Object)
      return cursor.bad("{\"PREFIX\": [{..}, ..], ..} expected");
    for (std::size_t i = 0; i < cursor.size(); ++i) {
      const auto prefix = parse_prefix(top.keys[i]);
      if (!prefix)
        return cursor.item(i).refuse("a key that is an IPv4 prefix, as \"10.0.0.0/24\",");
      PORTCULLIS_TRY(routes(node, *prefix, cursor.item(i)));
    }
    return {};
  }

  void finish(std::vector<std::string>& notes) {
    tables_.add_routes(notes);
    if (ignored_ > 0)
      notes.push_back(fmt::format("{} entries that are not selected were left out", ignored_));
    if (is_weighted_)
      notes.emplace_back("weights of next hops are not read: fluid and packet spread evenly");
  }

  PrefixTables& tables() noexcept { return tables_; }

 private:
  Result<void> routes(NodeId node, const Prefix& prefix, const JsonCursor& list) {
    PORTCULLIS_TRY(list.expect_array());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const JsonCursor route = list.item(i);
      if (route.value().kind != JsonValue::Kind::Object) return route.bad("a route expected");
      PORTCULLIS_TRY_ASSIGN(const bool is_selected, flag(route, "selected"));
      if (!is_selected) {
        ++ignored_;
        continue;
      }
      std::string protocol;
      PORTCULLIS_TRY(route.read("protocol", protocol));
      if (!route.has("nexthops"))
        return route.bad(
            "no \"nexthops\"; a list of them expected, as without brief or summary there is");
      PORTCULLIS_TRY(hops(node, prefix, protocol, route.at("nexthops")));
    }
    return {};
  }

  Result<void> hops(NodeId node, const Prefix& prefix, const std::string& protocol,
                    const JsonCursor& list) {
    PORTCULLIS_TRY(list.expect_array());
    PrefixEntry& entry = tables_.at(node, prefix);
    const bool is_connected = protocol == "connected" || protocol == "local";
    entry.is_connected = entry.is_connected || is_connected;
    std::set<double> weights;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const JsonCursor hop = list.item(i);
      PORTCULLIS_TRY_ASSIGN(const bool is_used, flag(hop, "fib"));
      PORTCULLIS_TRY_ASSIGN(const bool is_recursive, flag(hop, "recursive"));
      if (!is_used || is_recursive || !hop.has("interfaceName")) continue;  // or a black hole
      PORTCULLIS_TRY_ASSIGN(const std::string name, hop.at("interfaceName").string());
      const auto link = link_of_port(draft_, node, name);
      if (is_connected) {
        const bool is_to_switch =
            link &&
            draft_.topology().nodes[draft_.topology().links[*link].to].kind == NodeKind::Switch;
        entry.is_here =
            entry.is_here || (protocol == "connected" && !is_to_switch && !is_loopback(name));
        continue;
      }
      if (!link)
        return hop.at("interfaceName")
            .bad(fmt::format("no cable at port \"{}\" of {}; a port_a or port_b of the list of "
                             "cables is accepted",
                             name, draft_.topology().nodes[node].name));
      entry.vias.push_back(*link);
      double weight = 1;
      PORTCULLIS_TRY(hop.read("weight", weight));
      weights.insert(weight);
    }
    is_weighted_ = is_weighted_ || weights.size() > 1;
    return {};
  }

  Draft& draft_;
  PrefixTables tables_;
  std::vector<NodeId> nodes_;  // in the order of the files
  std::size_t ignored_ = 0;
  bool is_weighted_ = false;
};

}  // namespace

Result<Imported> from_frr(const File& edges, const std::vector<File>& tables) {
  Draft draft(edges.name);
  PORTCULLIS_TRY(add_edges(edges, draft));
  if (tables.empty())
    return bad(edges.name, 1, "tables", "none; NODE.json of one switch or more is accepted");
  FrrReader reader(draft);
  Imported imported;
  for (const File& table : tables) PORTCULLIS_TRY(reader.name(table));
  reader.tables().find_hosts(imported.notes);
  for (std::size_t i = 0; i < tables.size(); ++i) PORTCULLIS_TRY(reader.read(i, tables[i]));
  reader.finish(imported.notes);
  PORTCULLIS_TRY(draft.finish(imported));
  return imported;
}

}  // namespace portcullis::pfc::import
