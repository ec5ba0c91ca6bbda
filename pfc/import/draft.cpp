// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/import/draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace portcullis::pfc::import {

tl::unexpected<Error> bad(std::string_view file, std::size_t line, std::string_view field,
                          std::string_view what) {
  return fail(Errc::Malformed, fmt::format("{}:{}: {}: {}", file, line, field, what));
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

Draft::Draft(std::string name) {
  topology_.name = std::move(name);
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

LinkId Draft::add_link(NodeId from, NodeId to, const End& near, const End& far, double capacity) {
  Link like;
  like.capacity = capacity;
  const LinkId link = topology_.add_link(from, to, like);
  // Two cables between the same nodes need names that differ.
  const std::size_t number = ++cables_[{from, to}];
  if (number > 1)
    topology_.links[link].name =
        near.port.empty() ? fmt::format("{}-{}#{}", near.node, far.node, number)
                          : fmt::format("{}:{}-{}:{}", near.node, near.port, far.node, far.port);
  if (!near.port.empty()) ports_.emplace(std::pair(from, near.port), link);
  return link;
}

Result<void> Draft::add_cable(const End& a, const End& b, double gbps) {
  constexpr double kUsualGbps = 40;
  if (a.node == b.node)
    return fail(
        Errc::Malformed,
        fmt::format("\"{}\" is linked to itself; two different nodes are accepted", a.node));
  const NodeId one = node(a.node);
  const NodeId other = node(b.node);
  for (const auto& [id, end] : {std::pair(one, a), std::pair(other, b)})
    if (!end.port.empty() && ports_.contains({id, end.port}))
      return fail(Errc::Malformed, fmt::format("port {} of {} has a cable already; one is accepted",
                                               end.port, end.node));
  const double capacity = gbps == 0 ? kUsualGbps : gbps;
  add_link(one, other, a, b, capacity);
  add_link(other, one, b, a, capacity);
  return {};
}

std::optional<LinkId> Draft::link_at(NodeId node, const std::string& port) const {
  const auto found = ports_.find({node, port});
  return found == ports_.end() ? std::nullopt : std::optional(found->second);
}

void Draft::find_hosts() {
  std::vector<std::set<NodeId>> neighbours(topology_.nodes.size());
  for (const Link& link : topology_.links) neighbours[link.from].insert(link.to);
  const auto is_end = [&](NodeId node) { return neighbours[node].size() == 1; };
  for (NodeId node = 0; node < neighbours.size(); ++node)
    if (is_end(node) && !is_end(*neighbours[node].begin()))
      topology_.nodes[node].kind = NodeKind::Host;
}

Result<Topology> Draft::finish() {
  PORTCULLIS_TRY(check(topology_));
  return std::move(topology_);
}

}  // namespace portcullis::pfc::import
