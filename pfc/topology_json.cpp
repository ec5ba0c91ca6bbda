// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/topology_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "base/json.hpp"
#include "pfc/prefixes.hpp"

namespace portcullis::pfc {
namespace {

constexpr std::string_view kTop =
    "name, units, priorities, defaults, nodes, links, flows, routes, rewrites";
constexpr std::string_view kUnits = "time_s, data_bytes";
constexpr std::string_view kDefaults = "capacity, delay, xoff, xon, buffer";
constexpr std::string_view kNode = "name, kind, shared_buffer, alpha, x, y";
constexpr std::string_view kLink = "name, from, to, both_ways, capacity, delay, xoff, xon, buffer";
constexpr std::string_view kRewrite = "from, to, was, becomes";
constexpr std::string_view kFlow =
    "name, path, links, from, to, priority, ttl, rate, points, start, stop, buffer";

class TopologyReader {
 public:
  explicit TopologyReader(const JsonCursor& top) : top_(top) {}

  Result<Topology> run() {
    PORTCULLIS_TRY(top_.expect_object(kTop));
    PORTCULLIS_TRY(top_.read("name", topology_.name));
    PORTCULLIS_TRY(units());
    PORTCULLIS_TRY(priorities());
    PORTCULLIS_TRY(thresholds(top_, "defaults", defaults_));
    PORTCULLIS_TRY(each("nodes", &TopologyReader::node));
    if (topology_.nodes.empty())
      return top_.bad("no nodes; \"nodes\": [{\"name\": ..}, ..] needed");
    PORTCULLIS_TRY(settled());
    nodes_.emplace(topology_);
    PORTCULLIS_TRY(each("links", &TopologyReader::link));
    PORTCULLIS_TRY(settled());
    nodes_.emplace(topology_);
    PORTCULLIS_TRY(routes());
    PORTCULLIS_TRY(each("flows", &TopologyReader::flow));
    PORTCULLIS_TRY(each("rewrites", &TopologyReader::rewrite));
    PORTCULLIS_TRY(settled());
    return std::move(topology_);
  }

 private:
  using Part = TopologyProblem::Part;

  Result<void> each(std::string_view key, Result<void> (TopologyReader::*read)(const JsonCursor&)) {
    if (!top_.has(key)) return {};
    const JsonCursor list = top_.at(key);
    PORTCULLIS_TRY(list.expect_array());
    for (at_ = 0; at_ < list.size(); ++at_) PORTCULLIS_TRY((this->*read)(list.item(at_)));
    return {};
  }

  /// Puts the first problem of what has been read to the line it came from.
  Result<void> settled() const {
    const auto problem = find_problem(topology_);
    if (!problem) return {};
    JsonCursor at = top_;
    if (problem->part == Part::Units && top_.has("units")) at = top_.at("units");
    if (problem->part == Part::Priority)
      return top_.at("priorities").item(problem->index).bad(problem->text);
    if (problem->part == Part::Node) at = top_.at("nodes").item(problem->index);
    if (problem->part == Part::Link) at = top_.at("links").item(link_items_[problem->index]);
    if (problem->part == Part::Flow) at = top_.at("flows").item(problem->index);
    if (problem->part == Part::Rewrite) at = top_.at("rewrites").item(problem->index);
    if (problem->part != Part::Route && at.has(problem->member))
      return at.at(problem->member).bad(problem->text);
    return at.bad(fmt::format("{}: {}", problem->member, problem->text));
  }

  Result<void> units() {
    if (!top_.has("units")) return {};
    const JsonCursor units = top_.at("units");
    PORTCULLIS_TRY(units.expect_object(kUnits));
    PORTCULLIS_TRY(units.read("time_s", topology_.units.time_s));
    return units.read("data_bytes", topology_.units.data_bytes);
  }

  Result<void> priorities() {
    if (!top_.has("priorities")) return {};
    const JsonCursor list = top_.at("priorities");
    PORTCULLIS_TRY(list.expect_array());
    if (list.size() == 0) return list.bad("none; at least one is accepted");
    for (std::size_t i = 0; i < list.size(); ++i) {
      PORTCULLIS_TRY_ASSIGN(const std::uint32_t one, list.item(i).count(kPriorities - 1));
      topology_.priorities.push_back(one);
    }
    return {};
  }

  /// An xoff without xon moves xon with it: no hysteresis unless asked for.
  static Result<void> numbers(const JsonCursor& from, Link& to) {
    PORTCULLIS_TRY(from.read("capacity", to.capacity));
    PORTCULLIS_TRY(from.read("delay", to.delay));
    PORTCULLIS_TRY(limit(from, "xoff", to.xoff));
    if (from.has("xoff")) to.xon = to.xoff;
    PORTCULLIS_TRY(limit(from, "xon", to.xon));
    return limit(from, "buffer", to.buffer);
  }
  /// A number, or "unlimited", for JSON has no infinity.
  static Result<void> limit(const JsonCursor& from, std::string_view key, double& to) {
    if (!from.has(key)) return {};
    const JsonCursor at = from.at(key);
    if (at.value().kind != JsonValue::Kind::String) return from.read(key, to);
    if (at.value().text != kUnlimitedText) return at.refuse("a number or \"unlimited\"");
    to = kUnlimited;
    return {};
  }
  static Result<void> thresholds(const JsonCursor& from, std::string_view key, Link& to) {
    if (!from.has(key)) return {};
    PORTCULLIS_TRY(from.at(key).expect_object(kDefaults));
    return numbers(from.at(key), to);
  }

  Result<void> node(const JsonCursor& from) {
    PORTCULLIS_TRY(from.expect_object(kNode));
    Node node;
    PORTCULLIS_TRY(from.read("name", node.name));
    std::string kind = "switch";
    PORTCULLIS_TRY(from.read("kind", kind));
    if (kind != "host" && kind != "switch") return from.at("kind").refuse("host or switch");
    node.kind = kind == "host" ? NodeKind::Host : NodeKind::Switch;
    PORTCULLIS_TRY(limit(from, "shared_buffer", node.shared_buffer));
    PORTCULLIS_TRY(from.read("alpha", node.alpha));
    if (from.has("x")) {
      PORTCULLIS_TRY_ASSIGN(node.x, from.at("x").number());
    }
    if (from.has("y")) {
      PORTCULLIS_TRY_ASSIGN(node.y, from.at("y").number());
    }
    topology_.nodes.push_back(std::move(node));
    return {};
  }

  Result<NodeId> node_named(const JsonCursor& from) const {
    PORTCULLIS_TRY_ASSIGN(const std::string name, from.string());
    const auto id = nodes_->node(name);
    if (!id) return from.bad(fmt::format("no node \"{}\"; one of \"nodes\" is accepted", name));
    return *id;
  }
  Result<NodeId> node_of(const JsonCursor& from, std::string_view key) const {
    if (!from.has(key)) return from.bad(fmt::format("no \"{}\"; a node's name expected", key));
    return node_named(from.at(key));
  }

  Result<void> link(const JsonCursor& from) {
    PORTCULLIS_TRY(from.expect_object(kLink));
    Link link = defaults_;
    PORTCULLIS_TRY_ASSIGN(link.from, node_of(from, "from"));
    PORTCULLIS_TRY_ASSIGN(link.to, node_of(from, "to"));
    PORTCULLIS_TRY(numbers(from, link));
    bool both_ways = false;
    if (from.has("both_ways")) {
      PORTCULLIS_TRY_ASSIGN(both_ways, from.at("both_ways").boolean());
    }
    if (both_ways && from.has("name"))
      return from.at("name").bad("a link in both ways is two, named \"FROM-TO\" and \"TO-FROM\"");
    add(from, link);
    if (!both_ways) return {};
    std::swap(link.from, link.to);
    add(from, link);
    return {};
  }
  void add(const JsonCursor& from, Link link) {
    link.name = topology_.nodes[link.from].name + "-" + topology_.nodes[link.to].name;
    if (const JsonValue* name = from.value().find("name")) link.name = name->text;
    topology_.links.push_back(std::move(link));
    link_items_.push_back(at_);
  }

  Result<void> routes() {
    if (!top_.has("routes")) return {};
    const JsonCursor tables = top_.at("routes");
    if (tables.value().kind != JsonValue::Kind::Object)
      return tables.bad("{\"NODE\": {\"DESTINATION\": [\"NEXT HOP\", ..], ..}, ..} expected");
    std::vector<DefaultRoute> defaults;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const auto node = nodes_->node(tables.value().keys[i]);
      if (!node) return tables.item(i).bad("no such node");
      PORTCULLIS_TRY(table(*node, tables.item(i), defaults));
    }
    expand_prefixes(topology_, dropped_);
    expand_defaults(topology_, defaults, dropped_);
    return {};
  }
  Result<void> table(NodeId node, const JsonCursor& entries, std::vector<DefaultRoute>& defaults) {
    if (entries.value().kind != JsonValue::Kind::Object)
      return entries.bad("{\"DESTINATION\": [\"NEXT HOP\", ..], ..} expected");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const JsonCursor hops = entries.item(i);
      const std::string& key = entries.value().keys[i];
      const auto destination = nodes_->node(key);
      const bool is_default = !destination && key == kAnyDestination;
      if (!destination && !is_default) return hops.bad("no such node");
      PORTCULLIS_TRY(hops.expect_array());
      if (hops.size() == 0 && destination) dropped_.push_back({node, *destination});
      for (std::size_t k = 0; k < hops.size(); ++k) {
        PORTCULLIS_TRY_ASSIGN(const std::vector<LinkId> vias, hop(node, hops.item(k)));
        for (const LinkId via : vias)
          if (is_default)
            defaults.push_back({node, via});
          else
            topology_.routes.push_back({node, *destination, via});
      }
    }
    return {};
  }
  /// A next hop is a neighbour, over all links that lead there, or one of its links.
  Result<std::vector<LinkId>> hop(NodeId node, const JsonCursor& from) const {
    PORTCULLIS_TRY_ASSIGN(const std::string name, from.string());
    std::vector<LinkId> vias;
    if (const auto next = nodes_->node(name))
      std::ranges::copy_if(nodes_->links_from(node), std::back_inserter(vias),
                           [&](LinkId link) { return topology_.links[link].to == *next; });
    const auto link = nodes_->link(name);
    const bool is_link = link && topology_.links[*link].from == node;
    if (is_link && !vias.empty() && vias != std::vector<LinkId>{*link})
      return from.bad(
          fmt::format("\"{}\" is a neighbour and a link of {}; a link of another name "
                      "is accepted",
                      name, topology_.nodes[node].name));
    if (is_link) return std::vector<LinkId>{*link};
    if (!vias.empty()) return vias;
    return from.bad(fmt::format("\"{}\" is neither a neighbour nor a link of {}", name,
                                topology_.nodes[node].name));
  }

  Result<void> flow(const JsonCursor& from) {
    PORTCULLIS_TRY(from.expect_object(kFlow));
    Flow flow;
    PORTCULLIS_TRY(from.read("name", flow.name));
    if (from.has("priority")) {
      PORTCULLIS_TRY_ASSIGN(flow.priority, from.at("priority").count(kPriorities - 1));
    }
    if (from.has("ttl")) {
      PORTCULLIS_TRY_ASSIGN(flow.ttl, from.at("ttl").count(255));
    }
    PORTCULLIS_TRY(source(from, flow.source));
    const int ways = (from.has("path") ? 1 : 0) + (from.has("links") ? 1 : 0) +
                     (from.has("from") || from.has("to") ? 1 : 0);
    if (ways != 1)
      return from.bad(
          "one of \"path\" (nodes), \"links\" (links), or \"from\" and \"to\" expected");
    if (from.has("path")) PORTCULLIS_TRY(path_of_nodes(from.at("path"), flow));
    if (from.has("links")) PORTCULLIS_TRY(path_of_links(from.at("links"), flow));
    if (from.has("from") || from.has("to")) PORTCULLIS_TRY(routed(from, flow));
    topology_.flows.push_back(std::move(flow));
    return {};
  }

  Result<void> rewrite(const JsonCursor& from) {
    PORTCULLIS_TRY(from.expect_object(kRewrite));
    Rewrite rewrite;
    for (const auto& [key, link] : {std::pair("from", &rewrite.from), {"to", &rewrite.to}}) {
      if (!from.has(key)) return from.bad(fmt::format("no \"{}\"; a link's name expected", key));
      PORTCULLIS_TRY_ASSIGN(const std::string name, from.at(key).string());
      const auto found = nodes_->link(name);
      if (!found) return from.at(key).bad(fmt::format("no link \"{}\"", name));
      *link = *found;
    }
    for (const auto& [key, priority] :
         {std::pair("was", &rewrite.was), {"becomes", &rewrite.becomes}}) {
      if (!from.has(key)) return from.bad(fmt::format("no \"{}\"; a priority expected", key));
      PORTCULLIS_TRY_ASSIGN(*priority, from.at(key).count(kPriorities - 1));
    }
    topology_.rewrites.push_back(rewrite);
    return {};
  }

  Result<void> path_of_nodes(const JsonCursor& names, Flow& flow) const {
    PORTCULLIS_TRY(names.expect_array());
    if (names.size() < 2) return names.bad("at least two nodes are accepted");
    PORTCULLIS_TRY_ASSIGN(flow.from, node_named(names.item(0)));
    NodeId at = flow.from;
    for (std::size_t i = 1; i < names.size(); ++i) {
      PORTCULLIS_TRY_ASSIGN(const NodeId next, node_named(names.item(i)));
      const auto link = nodes_->link_between(at, next);
      if (!link)
        return names.item(i).bad(fmt::format("no link from {} to {}", topology_.nodes[at].name,
                                             topology_.nodes[next].name));
      if (nodes_->links_between(at, next) > 1)
        return names.item(i).bad(
            fmt::format("several links from {} to {}; give the flow's \"links\" instead",
                        topology_.nodes[at].name, topology_.nodes[next].name));
      flow.path.push_back(*link);
      at = next;
    }
    flow.to = at;
    return {};
  }

  Result<void> path_of_links(const JsonCursor& names, Flow& flow) const {
    PORTCULLIS_TRY(names.expect_array());
    if (names.size() == 0) return names.bad("at least one link is accepted");
    for (std::size_t i = 0; i < names.size(); ++i) {
      PORTCULLIS_TRY_ASSIGN(const std::string name, names.item(i).string());
      const auto link = nodes_->link(name);
      if (!link) return names.item(i).bad(fmt::format("no link \"{}\"", name));
      if (i > 0 && topology_.links[flow.path.back()].to != topology_.links[*link].from)
        return names.item(i).bad(fmt::format("\"{}\" does not begin where \"{}\" ends", name,
                                             topology_.links[flow.path.back()].name));
      flow.path.push_back(*link);
    }
    flow.from = topology_.links[flow.path.front()].from;
    flow.to = topology_.links[flow.path.back()].to;
    return {};
  }

  Result<void> routed(const JsonCursor& from, Flow& flow) {
    PORTCULLIS_TRY_ASSIGN(flow.from, node_of(from, "from"));
    PORTCULLIS_TRY_ASSIGN(flow.to, node_of(from, "to"));
    if (flow.from == flow.to) return from.at("to").bad("equals \"from\"; another node is accepted");
    flow.is_routed = true;
    std::unordered_set<NodeId> seen;
    for (NodeId at = flow.from; at != flow.to;) {
      if (!seen.insert(at).second) {
        flow.path.clear();
        if (flow.ttl != 0) return {};
        return from.bad(
            fmt::format("its routes are a loop through {}; a \"ttl\" or other routes are accepted",
                        topology_.nodes[at].name));
      }
      const auto via = next_hop(at, flow.to);
      if (!via)
        return from.bad(fmt::format("no route at {} to {}", topology_.nodes[at].name,
                                    topology_.nodes[flow.to].name));
      flow.path.push_back(*via);
      at = topology_.links[*via].to;
    }
    return {};
  }
  /// Where there is one way only, a host needs no route.
  std::optional<LinkId> next_hop(NodeId at, NodeId destination) {
    if (!prefixes_) {
      prefixes_.emplace(topology_);
      for (const Route& route : topology_.routes)
        first_hops_.try_emplace(key(route.node, route.destination), route.via);
    }
    const auto prefix = prefixes_->switch_of(destination);
    if (prefix == at) return nodes_->link_between(at, destination);
    const auto found = first_hops_.find(key(at, prefix.value_or(destination)));
    if (found != first_hops_.end()) return found->second;
    const bool is_host = topology_.nodes[at].kind == NodeKind::Host;
    if (is_host && nodes_->links_from(at).size() == 1) return nodes_->links_from(at).front();
    return std::nullopt;
  }
  static std::uint64_t key(NodeId node, NodeId destination) {
    return std::uint64_t{node} << 32 | destination;
  }

  static Result<void> source(const JsonCursor& from, Source& to) {
    PORTCULLIS_TRY(from.read("start", to.start));
    PORTCULLIS_TRY(limit(from, "stop", to.stop));
    PORTCULLIS_TRY(limit(from, "buffer", to.buffer));
    if (from.has("rate") && from.has("points"))
      return from.at("points").bad("a source has \"rate\" or \"points\", not both");
    if (from.has("rate")) {
      to.kind = SourceKind::Rate;
      return from.read("rate", to.rate);
    }
    if (!from.has("points")) return {};
    to.kind = SourceKind::Points;
    const JsonCursor points = from.at("points");
    PORTCULLIS_TRY(points.expect_array());
    for (std::size_t i = 0; i < points.size(); ++i) {
      const JsonCursor point = points.item(i);
      PORTCULLIS_TRY(point.expect_array());
      if (point.size() != 2) return point.bad("[time, data] expected");
      PORTCULLIS_TRY_ASSIGN(const double time, point.item(0).number());
      PORTCULLIS_TRY_ASSIGN(const double data, point.item(1).number());
      to.points.push_back({time, data});
    }
    return {};
  }

  JsonCursor top_;
  Topology topology_;
  Link defaults_;
  std::optional<TopologyIndex> nodes_;
  std::vector<std::size_t> link_items_;  // of "links", the item each link came from
  std::size_t at_ = 0;                   // of the list that is being read
  std::unordered_map<std::uint64_t, LinkId> first_hops_;
  std::vector<Dropped> dropped_;
  std::optional<Prefixes> prefixes_;  // when first_hops_ is filled
};

}  // namespace

Result<Topology> parse_topology(std::string_view text, std::string_view file) {
  PORTCULLIS_TRY_ASSIGN(const JsonValue top, parse_json(text, file));
  return TopologyReader(JsonCursor(top, file)).run();
}

}  // namespace portcullis::pfc
