// SPDX-License-Identifier: BSD-3-Clause
//
// Topologies as JSON that says nothing twice: a fat tree of 16 ports in a third of a megabyte.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pfc/prefixes.hpp"
#include "pfc/topology_json.hpp"

namespace portcullis::pfc {
namespace {

using Ordered = nlohmann::ordered_json;

/// Where no limit is what stands for an absent number.
void put_finite(Ordered& to, const char* key, double value) {
  if (std::isfinite(value)) to[key] = value;
}

/// Where an absent number stands for something else.
void put_limit(Ordered& to, const char* key, double value) {
  if (std::isfinite(value))
    to[key] = value;
  else
    to[key] = kUnlimitedText;
}

Ordered json_of(const Node& node) {
  Ordered to = {{"name", node.name}, {"kind", node.kind == NodeKind::Host ? "host" : "switch"}};
  put_finite(to, "shared_buffer", node.shared_buffer);
  if (node.alpha > 0) to["alpha"] = node.alpha;
  if (node.x) to["x"] = *node.x;
  if (node.y) to["y"] = *node.y;
  return to;
}

/// What the most links have, field by field, and so need not say.
Link common_link(const Topology& topology) {
  const auto most = [&](auto member) {
    std::map<double, std::size_t> counts;
    for (const Link& link : topology.links) ++counts[link.*member];
    return std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->first;
  };
  Link common;
  if (topology.links.empty()) return common;
  common.capacity = most(&Link::capacity);
  common.delay = most(&Link::delay);
  common.xoff = most(&Link::xoff);
  common.xon = most(&Link::xon);
  common.buffer = most(&Link::buffer);
  if (common.xon > common.xoff) common.xon = common.xoff;
  if (std::isfinite(common.xoff) && common.buffer < common.xoff) common.buffer = kUnlimited;
  return common;
}

/// The numbers of a link that are not those of `common`; an xoff sets xon, too.
void put_numbers(Ordered& to, const Link& link, const Link& common) {
  if (link.capacity != common.capacity) to["capacity"] = link.capacity;
  if (link.delay != common.delay) to["delay"] = link.delay;
  const bool has_xoff = link.xoff != common.xoff;
  if (has_xoff) put_limit(to, "xoff", link.xoff);
  if (link.xon != (has_xoff ? link.xoff : common.xon)) put_limit(to, "xon", link.xon);
  if (link.buffer != common.buffer) put_limit(to, "buffer", link.buffer);
}

std::string default_name(const Topology& topology, const Link& link) {
  return topology.nodes[link.from].name + "-" + topology.nodes[link.to].name;
}

bool is_other_way(const Link& one, const Link& other) {
  return one.from == other.to && one.to == other.from && one.capacity == other.capacity &&
         one.delay == other.delay && one.xoff == other.xoff && one.xon == other.xon &&
         one.buffer == other.buffer;
}

/// A link, or a cable where the next one is the way back.
std::vector<Ordered> links_of(const Topology& topology, const Link& common) {
  std::vector<Ordered> items;
  for (LinkId id = 0; id < topology.links.size(); ++id) {
    const Link& link = topology.links[id];
    const auto has_default_name = [&](const Link& one) {
      return one.name == default_name(topology, one);
    };
    Ordered item;
    if (!has_default_name(link)) item["name"] = link.name;
    item["from"] = topology.nodes[link.from].name;
    item["to"] = topology.nodes[link.to].name;
    const bool is_cable = id + 1 < topology.links.size() && has_default_name(link) &&
                          has_default_name(topology.links[id + 1]) &&
                          is_other_way(link, topology.links[id + 1]);
    if (is_cable) {
      item["both_ways"] = true;
      ++id;
    }
    put_numbers(item, link, common);
    items.push_back(std::move(item));
  }
  return items;
}

Ordered json_of(const Topology& topology, const Flow& flow) {
  Ordered to = {{"name", flow.name}};
  if (is_routed(flow)) {
    to["from"] = topology.nodes[flow.from].name;
    to["to"] = topology.nodes[flow.to].name;
  } else {
    for (const LinkId link : flow.path) to["links"].push_back(topology.links[link].name);
  }
  to["priority"] = flow.priority;
  if (flow.ttl != 0) to["ttl"] = flow.ttl;
  const Source& source = flow.source;
  if (source.kind == SourceKind::Rate) to["rate"] = source.rate;
  if (source.kind == SourceKind::Points)
    for (const SourcePoint& point : source.points) to["points"].push_back({point.time, point.data});
  if (source.start > 0) to["start"] = source.start;
  put_finite(to, "stop", source.stop);
  put_finite(to, "buffer", source.buffer);
  return to;
}

template <class List, class Make>
void put_list(std::string& to, std::string_view name, const List& list, Make make) {
  to += fmt::format(",\n  \"{}\": [", name);
  std::string_view separator = "\n    ";
  for (const auto& item : list) {
    to += separator;
    to += make(item).dump();
    separator = ",\n    ";
  }
  to += "]";
}

/// Next hops by name: neighbours where that says which link, else links.
class Tables {
 public:
  explicit Tables(const Topology& topology)
      : topology_(topology),
        index_(topology),
        destinations_(all_destinations(topology)),
        by_node_(topology.nodes.size()),
        is_told_(topology.nodes.size()),
        only_(only_switches(topology)) {
    std::vector<bool> is_named(topology.nodes.size(), false);
    for (NodeId node = 0; node < topology.nodes.size(); ++node)
      is_told_[node] = topology.nodes[node].kind == NodeKind::Host;
    for (const Route& route : topology.routes) {
      // Its neighbours' entries are written out, and so "*" covers it elsewhere.
      if (is_linked(route.node, route.destination)) is_told_[route.destination] = true;
      by_node_[route.node][route.destination].push_back(route.via);
      is_named[route.destination] = true;
    }
    for (NodeId host = 0; host < only_.size(); ++host) {
      const bool is_both = only_[host] != host && is_named[host] && is_named[only_[host]];
      if (is_both)
        hosts_.push_back(host);
      else
        only_[host] = host;
    }
  }

  /// Of one node, if it has one.
  [[nodiscard]] std::optional<Ordered> of(NodeId node) const {
    const auto& table = by_node_[node];
    std::vector<NodeId> dropped;  // what a reader would take from the switch's entry
    for (const NodeId host : hosts_)
      if (is_filled(node, host) && !table.contains(host)) dropped.push_back(host);
    if (table.empty() && dropped.empty()) return std::nullopt;
    const std::vector<LinkId>* common = common_hops(node);
    Ordered json = Ordered::object();
    for (const auto& [destination, vias] : table)
      if (common == nullptr || vias != *common || is_linked(node, destination) ||
          is_filled(node, destination) || !is_told_[destination])
        json[topology_.nodes[destination].name] = names(vias);
    for (const NodeId host : dropped) json[topology_.nodes[host].name] = Ordered::array();
    if (common != nullptr) json[kAnyDestination] = names(*common);
    return json;
  }

 private:
  [[nodiscard]] bool is_linked(NodeId node, NodeId destination) const {
    return index_.link_between(node, destination).has_value();
  }
  /// Whether expand_prefixes() gives `node` an entry for this host where it has none of its own.
  [[nodiscard]] bool is_filled(NodeId node, NodeId host) const {
    const NodeId prefix = only_[host];
    return prefix != host && node != host && (node == prefix || by_node_[node].contains(prefix));
  }
  /// What "*" stands for; nothing where it would say more than the table does. What comes first of
  /// several next hops matters, so only equal lists are one.
  [[nodiscard]] const std::vector<LinkId>* common_hops(NodeId node) const {
    const auto& table = by_node_[node];
    std::map<std::vector<LinkId>, std::size_t> counts;
    for (const NodeId destination : destinations_) {
      if (destination == node) continue;
      const auto found = table.find(destination);
      if (found == table.end()) return nullptr;
      if (!is_linked(node, destination) && !is_filled(node, destination) && is_told_[destination])
        ++counts[found->second];
    }
    const auto most =
        std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
    if (most == counts.end() || most->second < 2 || index_.node(kAnyDestination)) return nullptr;
    const auto used = std::ranges::find(
        table, most->first, [](const auto& entry) -> const auto& { return entry.second; });
    return &used->second;
  }
  [[nodiscard]] Ordered names(const std::vector<LinkId>& vias) const {
    Ordered list = Ordered::array();
    for (const LinkId via : vias) {
      const Link& link = topology_.links[via];
      const bool is_only = index_.links_between(link.from, link.to) == 1;
      list.push_back(is_only ? topology_.nodes[link.to].name : link.name);
    }
    return list;
  }

  const Topology& topology_;
  const TopologyIndex index_;
  const std::vector<NodeId> destinations_;
  std::vector<std::map<NodeId, std::vector<LinkId>>> by_node_;
  std::vector<bool> is_told_;  // a destination even where every other entry is part of "*"
  std::vector<NodeId> only_;   // of hosts_ their switch; of all others the node itself
  std::vector<NodeId> hosts_;  // that routes name, behind switches that they name too
};

}  // namespace

std::string to_json(const Topology& topology) {
  std::string text = "{\n  \"name\": " + Ordered(topology.name).dump();
  const Ordered units = {{"time_s", topology.units.time_s},
                         {"data_bytes", topology.units.data_bytes}};
  text += ",\n  \"units\": " + units.dump();
  if (!topology.priorities.empty())
    text += ",\n  \"priorities\": " + Ordered(topology.priorities).dump();
  const Link common = common_link(topology);
  Ordered defaults = {{"capacity", common.capacity}, {"delay", common.delay}};
  put_limit(defaults, "xoff", common.xoff);
  put_limit(defaults, "xon", common.xon);
  put_limit(defaults, "buffer", common.buffer);
  text += ",\n  \"defaults\": " + defaults.dump();
  put_list(text, "nodes", topology.nodes, [](const Node& node) { return json_of(node); });
  put_list(text, "links", links_of(topology, common), [](const Ordered& link) { return link; });
  put_list(text, "flows", topology.flows,
           [&](const Flow& flow) { return json_of(topology, flow); });
  if (!topology.rewrites.empty())
    put_list(text, "rewrites", topology.rewrites, [&](const Rewrite& rewrite) {
      return Ordered{{"from", topology.links[rewrite.from].name},
                     {"to", topology.links[rewrite.to].name},
                     {"was", rewrite.was},
                     {"becomes", rewrite.becomes}};
    });
  if (topology.routes.empty()) return text + "\n}\n";
  const Tables tables(topology);
  text += ",\n  \"routes\": {";
  std::string_view separator = "\n    ";
  for (NodeId node = 0; node < topology.nodes.size(); ++node)
    if (const auto table = tables.of(node)) {
      text += separator;
      text += Ordered(topology.nodes[node].name).dump() + ": " + table->dump();
      separator = ",\n    ";
    }
  return text + "}\n}\n";
}

}  // namespace portcullis::pfc
