// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/import/prefix_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace portcullis::pfc::import {
namespace {

std::uint32_t mask(std::uint32_t length) {
  return length == 0 ? 0 : ~std::uint32_t{0} << (32 - length);
}

}  // namespace

Prefix Prefix::cut(std::uint32_t to) const { return {address & mask(to), to}; }

std::string Prefix::text() const {
  return fmt::format("{}.{}.{}.{}/{}", address >> 24, address >> 16 & 255, address >> 8 & 255,
                     address & 255, length);
}

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

std::optional<LinkId> link_of_port(const Draft& draft, NodeId node, const std::string& port) {
  if (const auto link = draft.link_at(node, port)) return link;
  const std::size_t dot = port.rfind('.');
  const bool is_vlan = dot != std::string::npos && dot + 1 < port.size() &&
                       port.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  return is_vlan ? draft.link_at(node, port.substr(0, dot)) : std::nullopt;
}

bool is_loopback(std::string_view port) {
  constexpr std::string_view kLong = "loopback";
  std::string lower(port);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  if (lower.starts_with(kLong)) return true;
  return lower.starts_with("lo") && lower.find_first_not_of("0123456789.", 2) == std::string::npos;
}

bool PrefixTables::add_table(NodeId node) {
  draft_.set_kind(node, NodeKind::Switch);
  return tables_.try_emplace(node).second;
}

void PrefixTables::find_hosts(std::vector<std::string>& notes) {
  std::vector<std::set<NodeId>> neighbours(draft_.topology().nodes.size());
  for (const Link& link : draft_.topology().links) neighbours[link.from].insert(link.to);
  std::vector<std::string> wide;
  for (NodeId node = 0; node < neighbours.size(); ++node) {
    if (tables_.contains(node)) continue;
    draft_.set_kind(node, NodeKind::Host);
    if (neighbours[node].size() > 1) wide.push_back(draft_.topology().nodes[node].name);
  }
  if (!wide.empty())
    notes.push_back(
        fmt::format("no table of {}: taken as hosts, which pass nothing on", few(wide)));
}

std::optional<std::pair<Prefix, const PrefixEntry*>> PrefixTables::find_longest(
    NodeId node, const Prefix& prefix) const {
  const auto table = tables_.find(node);
  if (table == tables_.end()) return std::nullopt;
  for (std::uint32_t length = prefix.length + 1; length-- > 0;)
    if (const auto found = table->second.find(prefix.cut(length)); found != table->second.end())
      return std::pair(found->first, &found->second);
  return std::nullopt;
}

PrefixTables::Ways PrefixTables::ways_to(const Prefix& prefix,
                                         const std::set<NodeId>& origins) const {
  Ways ways;
  for (const auto& [node, table] : tables_) {
    if (origins.contains(node)) continue;
    const auto found = find_longest(node, prefix);
    if (!found) continue;
    std::vector<LinkId> vias = found->second->vias;
    std::ranges::sort(vias);
    vias.erase(std::unique(vias.begin(), vias.end()), vias.end());
    if (!vias.empty()) ways.emplace(node, std::move(vias));
  }
  return ways;
}

/// The node that has the prefix, or a host of that name behind all that have it.
NodeId PrefixTables::destination_of(const Prefix& prefix, const std::set<NodeId>& origins,
                                    bool is_first) {
  if (is_first && origins.size() == 1) return *origins.begin();
  std::string name = prefix.text();
  while (draft_.find(name)) name += "'";
  const NodeId host = draft_.node(name);
  draft_.set_kind(host, NodeKind::Host);
  for (const NodeId origin : origins) {
    // Named after the prefix, so that no port of the switch is taken; it cannot be there yet.
    const std::string& near = draft_.topology().nodes[origin].name;
    static_cast<void>(draft_.add_cable({near, name}, {name, near}, 0));
    if (const auto link = draft_.link_at(origin, name)) draft_.add_route({origin, host, *link});
  }
  return host;
}

void PrefixTables::add_routes(std::vector<std::string>& notes) {
  std::map<Prefix, std::set<NodeId>> origins_of;
  for (const auto& [node, table] : tables_)
    for (const auto& [prefix, entry] : table)
      if (entry.is_here) origins_of[prefix].insert(node);
  std::map<std::set<NodeId>, std::set<Ways>> known;
  std::size_t without = 0;
  std::vector<std::string> unheard;
  std::vector<std::string> apart;
  for (const auto& [prefix, origins] : origins_of) {
    const Ways ways = ways_to(prefix, origins);
    if (ways.empty() && tables_.size() > 1) {
      unheard.push_back(prefix.text());
      continue;
    }
    without += tables_.size() - origins.size() - ways.size();
    std::set<Ways>& alike = known[origins];
    if (!alike.insert(ways).second) continue;
    const bool is_first = alike.size() == 1;
    if (!is_first) apart.push_back(prefix.text());
    const NodeId destination = destination_of(prefix, origins, is_first);
    for (const auto& [node, vias] : ways)
      for (const LinkId via : vias) draft_.add_route({node, destination, via});
  }
  add_senders(origins_of, notes);
  if (origins_of.empty())
    notes.emplace_back("no prefix is connected to any switch: there are no routes");
  if (without > 0)
    notes.push_back(fmt::format(
        "{} pairs of node and prefix without a next hop: that data is dropped", without));
  if (!unheard.empty())
    notes.push_back(fmt::format("{}: no node has a route there over a cable", few(unheard)));
  if (!apart.empty())
    notes.push_back(
        fmt::format("{}: routed otherwise than the first prefix of the same switch, so a host of "
                    "that name, with a cable of its own",
                    few(apart)));
  tell_left_out(notes);
}

/// Data begins at hosts, or anywhere where there are none. Where there are some, who has prefixes
/// and no host on a cable has one all the same: somebody is behind it.
void PrefixTables::add_senders(const std::map<Prefix, std::set<NodeId>>& origins_of,
                               std::vector<std::string>& notes) {
  const auto& nodes = draft_.topology().nodes;
  const auto is_host = [](const Node& node) { return node.kind == NodeKind::Host; };
  if (std::ranges::none_of(nodes, is_host)) return;
  std::set<NodeId> silent;
  for (const auto& [prefix, origins] : origins_of) silent.insert(origins.begin(), origins.end());
  for (const Link& link : draft_.topology().links)
    if (is_host(nodes[link.from])) silent.erase(link.to);
  std::vector<std::string> names;
  for (const NodeId node : silent) {
    const std::string near = nodes[node].name;
    std::string name = near + " hosts";
    while (draft_.find(name)) name += "'";
    draft_.set_kind(draft_.node(name), NodeKind::Host);
    static_cast<void>(draft_.add_cable({near, name}, {name, near}, 0));
    names.push_back(near);
  }
  if (!names.empty())
    notes.push_back(fmt::format(
        "prefixes are connected to {} and no cable leads to a host there: one host behind each",
        few(names)));
}

/// Routes to what no node is connected to: nobody says who sends there, nor where it ends.
void PrefixTables::tell_left_out(std::vector<std::string>& notes) const {
  std::set<Prefix> routed;
  std::set<Prefix> connected;
  for (const auto& [node, table] : tables_)
    for (const auto& [prefix, entry] : table) {
      if (entry.is_connected) connected.insert(prefix);
      if (!entry.vias.empty()) routed.insert(prefix);
    }
  std::vector<std::string> names;
  for (const Prefix& prefix : routed)
    if (!connected.contains(prefix)) names.push_back(prefix.text());
  if (!names.empty())
    notes.push_back(fmt::format(
        "not looked at: data for what only {} {}, for no table has {} as connected", few(names),
        names.size() == 1 ? "covers" : "cover", names.size() == 1 ? "it" : "them"));
}

}  // namespace portcullis::pfc::import
