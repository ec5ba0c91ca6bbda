// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/import/draft.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/json.hpp"

namespace portcullis::pfc::import {

tl::unexpected<Error> bad(std::string_view file, std::size_t line, std::string_view field,
                          std::string_view what) {
  return fail(Errc::Malformed, one_line(fmt::format("{}:{}: {}: {}", file, line, field, what)));
}

namespace {

/// How many bytes the character at the beginning of `text` has; 0: it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(text[at])) : 0;
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  std::uint32_t code = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool is_longer = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool is_half = code >= 0xd800 && code < 0xe000;  // of a pair of UTF-16
  return is_longer || is_half || code > 0x10ffff ? 0 : length;
}

}  // namespace

Result<void> expect_utf8(const File& file) {
  std::size_t line = 1;
  for (std::size_t at = 0; at < file.text.size();) {
    const std::size_t length = utf8_length(std::string_view(file.text).substr(at));
    if (length == 0)
      return fail(Errc::Malformed, fmt::format("{}:{}: byte 0x{:02x} is none of UTF-8", file.name,
                                               line, static_cast<unsigned char>(file.text[at])));
    if (file.text[at] == '\n') ++line;
    at += length;
  }
  return {};
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back({number, line});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string few(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  const std::size_t shown = std::min(names.size(), kShown);
  const std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return names.size() <= kShown ? text : fmt::format("{} and {} more", text, names.size() - kShown);
}

std::optional<std::string> bad_speed(std::optional<double> gbps, std::string_view text) {
  if (!gbps || !(*gbps > 0)) return fmt::format("\"{}\"; a number above 0 is accepted", text);
  if (*gbps >= kLeastNumber && *gbps <= kLargestNumber) return std::nullopt;
  return fmt::format("\"{}\"; {:g} to {:g} Gb/s are accepted", text, kLeastNumber, kLargestNumber);
}

Draft::Draft(std::string name) {
  if (expect_utf8({"", name})) topology_.name = std::move(name);
  // One of capacity is 1 Gb/s, and one of data what a threshold of 40 KB is.
  topology_.units = {.time_s = 40'000 * 8 / 1e9, .data_bytes = 40'000};
}

NodeId Draft::node(const std::string& name) {
  const auto [found, is_new] = nodes_.try_emplace(name, NodeId{0});
  if (is_new) found->second = topology_.add_node(name, NodeKind::Switch);
  return found->second;
}

std::optional<NodeId> Draft::find(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? std::nullopt : std::optional(found->second);
}

/// Two cables between the same nodes need names that differ, and so do those from a-b to c and from
/// a to b-c.
std::string Draft::unused_name(const std::string& plain, const End& near, const End& far,
                               std::size_t number) const {
  if (number == 1 && !link_names_.contains(plain)) return plain;
  std::string by_ports = fmt::format("{}:{}-{}:{}", near.node, near.port, far.node, far.port);
  if (!near.port.empty() && !link_names_.contains(by_ports)) return by_ports;
  std::string name = fmt::format("{}#{}", plain, number);
  while (link_names_.contains(name)) name = fmt::format("{}#{}", plain, ++number);
  return name;
}

LinkId Draft::add_link(NodeId from, NodeId to, const End& near, const End& far, double capacity) {
  Link like;
  like.capacity = capacity;
  const LinkId link = topology_.add_link(from, to, like);
  std::string& name = topology_.links[link].name;
  name = unused_name(name, near, far, ++cables_[{from, to}]);
  link_names_.insert(name);
  if (!near.port.empty()) {
    ports_.emplace(std::pair(from, near.port), link);
    port_of_[link] = near.port;
  }
  return link;
}

/// Lists made of LLDP have a cable once from either end.
bool Draft::is_known(NodeId one, const End& a, NodeId other, const End& b) const {
  if (a.port.empty() || b.port.empty()) return false;
  const auto there = link_at(one, a.port);
  const auto back = link_at(other, b.port);
  return there && back && topology_.links[*there].to == other && topology_.links[*back].to == one &&
         cable_of_.at(*there) == cable_of_.at(*back);
}

Result<void> Draft::add_cable(const End& a, const End& b, double gbps) {
  if (a.node == b.node)
    return fail(
        Errc::Malformed,
        fmt::format("\"{}\" is linked to itself; two different nodes are accepted", a.node));
  const NodeId one = node(a.node);
  const NodeId other = node(b.node);
  if (is_known(one, a, other, b)) {
    same_cable(*link_at(one, a.port), *link_at(other, b.port), gbps);
    return {};
  }
  for (const auto& [id, end] : {std::pair(one, a), std::pair(other, b)})
    if (!end.port.empty() && ports_.contains({id, end.port}))
      return fail(Errc::Malformed, fmt::format("port {} of {} has a cable already; one is accepted",
                                               end.port, end.node));
  const double capacity = gbps == 0 ? kUsualGbps : gbps;
  const LinkId there = add_link(one, other, a, b, capacity);
  const LinkId back = add_link(other, one, b, a, capacity);
  cable_of_[there] = cable_of_[back] = there;
  if (gbps == 0) speed_unknown_.insert(there);
  return {};
}

void Draft::same_cable(LinkId there, LinkId back, double gbps) {
  Link& link = topology_.links[there];
  const bool was_unknown = gbps != 0 && speed_unknown_.erase(cable_of_.at(there)) != 0;
  if (gbps == 0 || gbps == link.capacity) return;
  if (!was_unknown) unlike_.push_back(topology_.links[cable_of_.at(there)].name);
  link.capacity = was_unknown ? gbps : std::max(gbps, link.capacity);
  topology_.links[back].capacity = link.capacity;
}

std::optional<LinkId> Draft::link_at(NodeId node, const std::string& port) const {
  const auto found = ports_.find({node, port});
  return found == ports_.end() ? std::nullopt : std::optional(found->second);
}

std::string Draft::port_of(LinkId link) const {
  const auto found = port_of_.find(link);
  return found == port_of_.end() ? "" : found->second;
}

NodeId Draft::add_twin(NodeId host, const std::string& name,
                       const std::vector<std::pair<NodeId, LinkId>>& ways) {
  std::string unused = name;
  while (nodes_.contains(unused)) unused += "'";
  const NodeId twin = node(unused);
  set_kind(twin, NodeKind::Host);
  std::map<LinkId, LinkId> instead;  // cables to `host`, and to its twin
  const auto links = static_cast<LinkId>(topology_.links.size());
  for (LinkId id = 0; id < links; ++id) {
    const Link like = topology_.links[id];
    if (like.to != host) continue;
    const std::string& near = topology_.nodes[like.from].name;
    instead[id] = add_link(like.from, twin, {near, ""}, {unused, ""}, like.capacity);
    add_link(twin, like.from, {unused, ""}, {near, ""}, like.capacity);
  }
  for (const auto& [node, via] : ways) {
    const auto own = instead.find(via);
    add_route({node, twin, own == instead.end() ? via : own->second});
  }
  return twin;
}

void Draft::find_hosts() {
  std::vector<std::set<NodeId>> neighbours(topology_.nodes.size());
  for (const Link& link : topology_.links) neighbours[link.from].insert(link.to);
  const auto is_end = [&](NodeId node) { return neighbours[node].size() == 1; };
  for (NodeId node = 0; node < neighbours.size(); ++node)
    if (is_end(node) && !is_end(*neighbours[node].begin()))
      topology_.nodes[node].kind = NodeKind::Host;
}

Result<void> Draft::finish(Imported& into) {
  std::ranges::move(notes_, std::back_inserter(into.notes));
  if (!speed_unknown_.empty())
    into.notes.push_back(
        fmt::format("{} cables of which nobody says how fast they are: {} Gb/s taken",
                    speed_unknown_.size(), kUsualGbps));
  if (!unlike_.empty())
    into.notes.push_back(
        fmt::format("{} cables have another speed at their other end, the higher "
                    "taken: {}",
                    unlike_.size(), few(unlike_)));
  const auto checked = check(topology_);
  if (checked) {
    into.topology = std::move(topology_);
    return {};
  }
  return fail(Errc::Malformed, fmt::format("{}: what was read makes no fabric: {}", topology_.name,
                                           checked.error().text));
}

namespace {

bool is_like(std::string_view text, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return text == pattern;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  text.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  // What lies between two stars is best found as early as possible.
  for (std::size_t next = pattern.find('*'); next != std::string_view::npos;
       next = pattern.find('*')) {
    const std::size_t found = text.find(pattern.substr(0, next));
    if (found == std::string_view::npos) return false;
    text.remove_prefix(found + next);
    pattern.remove_prefix(next + 1);
  }
  return text.ends_with(pattern);
}

}  // namespace

Result<void> set_hosts(Topology& topology, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    bool is_found = false;
    for (Node& node : topology.nodes)
      if (is_like(node.name, name)) {
        node.kind = NodeKind::Host;
        is_found = true;
      }
    if (!is_found)
      return fail(
          Errc::NotFound,
          fmt::format("no node \"{}\"; a node's name, with * for any characters, is accepted",
                      name));
  }
  return {};
}

}  // namespace portcullis::pfc::import
