// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/json.hpp"
#include "pfc/import/edges.hpp"

namespace portcullis::pfc::import {
namespace {

/// An IPv4 prefix; bits beyond its length are 0.
struct Prefix {
  std::uint32_t address = 0;
  std::uint32_t length = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 means the 0 of the comparison
  friend auto operator<=>(const Prefix&, const Prefix&) = default;

  [[nodiscard]] static std::uint32_t mask(std::uint32_t length) {
    return length == 0 ? 0 : ~std::uint32_t{0} << (32 - length);
  }
  [[nodiscard]] Prefix cut(std::uint32_t to) const { return {address & mask(to), to}; }
  [[nodiscard]] std::string text() const {
    return fmt::format("{}.{}.{}.{}/{}", address >> 24, address >> 16 & 255, address >> 8 & 255,
                       address & 255, length);
  }
};

std::optional<Prefix> parse_prefix(std::string_view text) {
  Prefix prefix;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int i = 0; i < 5; ++i) {
    std::uint32_t number = 0;
    const auto [behind, error] = std::from_chars(at, end, number);
    const bool is_length = i == 4;
    if (error != std::errc() || number > (is_length ? 32U : 255U)) return std::nullopt;
    if (is_length && behind != end) return std::nullopt;
    if (is_length)
      prefix.length = number;
    else
      prefix.address = prefix.address << 8 | number;
    if (is_length) break;
    if (behind == end || *behind != (i == 3 ? '/' : '.')) return std::nullopt;
    at = behind + 1;
  }
  return prefix.cut(prefix.length);
}

/// What a table says of one prefix.
struct Entry {
  std::vector<LinkId> vias;
  bool is_here = false;  // connected, and not on a cable to another switch
};

using Table = std::map<Prefix, Entry>;

class FrrReader {
 public:
  explicit FrrReader(Draft& draft) : draft_(draft) {}

  /// Whatever it looks like, a node with a table is a switch; so all are named before one is read.
  Result<void> name(const File& file) {
    const std::size_t slash = file.name.rfind('/');
    std::string name = slash == std::string::npos ? file.name : file.name.substr(slash + 1);
    if (name.ends_with(".json")) name.resize(name.size() - 5);
    const auto node = draft_.find(name);
    if (!node)
      return bad(file.name, 1, "file",
                 fmt::format("no node \"{}\" among the cables; tables are named NODE.json", name));
    if (!tables_.try_emplace(*node).second)
      return bad(file.name, 1, "file", fmt::format("a second table of {}", name));
    draft_.set_kind(*node, NodeKind::Switch);
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

  /// Every destination, at every node, by the longest prefix that covers it.
  void add_routes(std::vector<std::string>& notes) {
    const auto destinations = find_destinations();
    std::set<std::tuple<NodeId, NodeId, LinkId>> added;
    std::size_t without = 0;
    for (const auto& [prefix, origins] : destinations) {
      const NodeId destination = destination_of(prefix, origins);
      for (const auto& [node, table] : tables_) {
        if (origins.contains(node)) {
          if (destination != node)
            if (const auto link = draft_.link_at(node, prefix.text()))
              draft_.add_route({node, destination, *link});
          continue;
        }
        const Entry* entry = longest(table, prefix);
        without += entry == nullptr || entry->vias.empty() ? 1 : 0;
        if (entry == nullptr) continue;
        for (const LinkId via : entry->vias)
          if (added.emplace(node, destination, via).second)
            draft_.add_route({node, destination, via});
      }
    }
    if (destinations.empty())
      notes.emplace_back("no prefix is connected to any switch: there are no routes");
    if (without > 0)
      notes.push_back(fmt::format(
          "{} pairs of node and prefix without a next hop: that data is dropped", without));
    if (ignored_ > 0)
      notes.push_back(fmt::format("{} entries that are not selected were left out", ignored_));
  }

 private:
  Result<void> routes(NodeId node, const Prefix& prefix, const JsonCursor& list) {
    PORTCULLIS_TRY(list.expect_array());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const JsonCursor route = list.item(i);
      if (route.value().kind != JsonValue::Kind::Object) return route.bad("a route expected");
      bool is_selected = false;
      if (route.has("selected")) {
        PORTCULLIS_TRY_ASSIGN(is_selected, route.at("selected").boolean());
      }
      if (!is_selected) {
        ++ignored_;
        continue;
      }
      std::string protocol;
      PORTCULLIS_TRY(route.read("protocol", protocol));
      if (!route.has("nexthops")) return route.bad("no \"nexthops\"; a list of them expected");
      PORTCULLIS_TRY(hops(node, prefix, protocol, route.at("nexthops")));
    }
    return {};
  }

  Result<void> hops(NodeId node, const Prefix& prefix, const std::string& protocol,
                    const JsonCursor& list) {
    PORTCULLIS_TRY(list.expect_array());
    Entry& entry = tables_[node][prefix];
    const bool is_connected = protocol == "connected" || protocol == "local";
    for (std::size_t i = 0; i < list.size(); ++i) {
      const JsonCursor hop = list.item(i);
      bool is_used = false;
      if (hop.has("fib")) {
        PORTCULLIS_TRY_ASSIGN(is_used, hop.at("fib").boolean());
      }
      if (!is_used || !hop.has("interfaceName")) continue;  // recursive, or a black hole
      PORTCULLIS_TRY_ASSIGN(const std::string name, hop.at("interfaceName").string());
      const auto link = draft_.link_at(node, name);
      if (is_connected) {
        const bool is_to_switch =
            link &&
            draft_.topology().nodes[draft_.topology().links[*link].to].kind == NodeKind::Switch;
        entry.is_here = protocol == "connected" && !is_to_switch && name != "lo";
        continue;
      }
      if (!link)
        return hop.at("interfaceName")
            .bad(fmt::format("no cable at port \"{}\" of {}; a port_a or port_b of the list of "
                             "cables is accepted",
                             name, draft_.topology().nodes[node].name));
      entry.vias.push_back(*link);
    }
    return {};
  }

  [[nodiscard]] std::map<Prefix, std::set<NodeId>> find_destinations() const {
    std::map<Prefix, std::set<NodeId>> destinations;
    for (const auto& [node, table] : tables_)
      for (const auto& [prefix, entry] : table)
        if (entry.is_here) destinations[prefix].insert(node);
    return destinations;
  }

  /// The switch that has the prefix, or, where several have, a host of that name behind them all.
  NodeId destination_of(const Prefix& prefix, const std::set<NodeId>& origins) {
    if (origins.size() == 1) return *origins.begin();
    const std::string name = prefix.text();
    const NodeId host = draft_.node(name);
    draft_.set_kind(host, NodeKind::Host);
    for (const NodeId origin : origins) {
      // Named after the prefix, so that no port of the switch is taken; it cannot be there yet.
      const auto added = draft_.add_cable({draft_.topology().nodes[origin].name, name},
                                          {name, draft_.topology().nodes[origin].name}, 0);
      static_cast<void>(added);
    }
    return host;
  }

  static const Entry* longest(const Table& table, const Prefix& prefix) {
    for (std::uint32_t length = prefix.length + 1; length-- > 0;)
      if (const auto found = table.find(prefix.cut(length)); found != table.end())
        return &found->second;
    return nullptr;
  }

  Draft& draft_;
  std::vector<NodeId> nodes_;  // in the order of the files
  std::map<NodeId, Table> tables_;
  std::size_t ignored_ = 0;
};

}  // namespace

Result<Imported> from_frr(const File& edges, const std::vector<File>& tables) {
  Draft draft(edges.name);
  PORTCULLIS_TRY(add_edges(edges, draft));
  draft.find_hosts();
  if (tables.empty())
    return bad(edges.name, 1, "tables", "none; NODE.json of one switch or more is accepted");
  FrrReader reader(draft);
  for (const File& table : tables) PORTCULLIS_TRY(reader.name(table));
  for (std::size_t i = 0; i < tables.size(); ++i) PORTCULLIS_TRY(reader.read(i, tables[i]));
  Imported imported;
  reader.add_routes(imported.notes);
  PORTCULLIS_TRY_ASSIGN(imported.topology, draft.finish());
  return imported;
}

}  // namespace portcullis::pfc::import
