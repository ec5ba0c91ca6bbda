// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/json.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc {
namespace {

using Part = TopologyProblem::Part;
using Problem = std::optional<TopologyProblem>;

/// Finds the first problem, part by part; what later parts rely on is checked before them.
class Checker {
 public:
  explicit Checker(const Topology& topology) : topology_(topology) {}

  Problem run() {
    if (auto problem = units()) return problem;
    for (at_ = 0; at_ < topology_.priorities.size(); ++at_)
      if (auto problem = priority(topology_.priorities[at_])) return problem;
    for (at_ = 0; at_ < topology_.nodes.size(); ++at_)
      if (auto problem = node(topology_.nodes[at_])) return problem;
    names_.clear();
    for (at_ = 0; at_ < topology_.links.size(); ++at_)
      if (auto problem = link(topology_.links[at_])) return problem;
    for (at_ = 0; at_ < topology_.routes.size(); ++at_)
      if (auto problem = route(topology_.routes[at_])) return problem;
    for (at_ = 0; at_ < topology_.rewrites.size(); ++at_)
      if (auto problem = rewrite(topology_.rewrites[at_])) return problem;
    names_.clear();
    for (at_ = 0; at_ < topology_.flows.size(); ++at_)
      if (auto problem = flow(topology_.flows[at_])) return problem;
    return std::nullopt;
  }

 private:
  Problem bad(Part part, std::string_view member, std::string text) const {
    return TopologyProblem{part, at_, member, std::move(text)};
  }
  static bool is_in_range(double value) { return value >= kLeastNumber && value <= kLargestNumber; }
  static std::string shown(double value) {
    return std::isinf(value) ? "unlimited" : fmt::format("{}", value);
  }

  /// A number above 0; `or_unlimited`: that too.
  Problem positive(Part part, std::string_view member, double value,
                   bool or_unlimited = false) const {
    if (is_in_range(value) || (or_unlimited && value == kUnlimited)) return std::nullopt;
    const std::string_view more = or_unlimited ? ", or \"unlimited\"," : "";
    if (!(value > 0))
      return bad(part, member,
                 fmt::format("{}; a number above 0{} is accepted", shown(value), more));
    return bad(part, member,
               fmt::format("{}; {:g} to {:g}{} is accepted", shown(value), kLeastNumber,
                           kLargestNumber, more));
  }
  Problem size(Part part, std::string_view member, double value) const {
    if (value == 0 || is_in_range(value)) return std::nullopt;
    if (!(value > 0))
      return bad(part, member, fmt::format("{}; 0 or more is accepted", shown(value)));
    return bad(part, member,
               fmt::format("{}; 0, or {:g} to {:g}, is accepted", shown(value), kLeastNumber,
                           kLargestNumber));
  }

  Problem units() const {
    if (auto problem = positive(Part::Units, "time_s", topology_.units.time_s)) return problem;
    return positive(Part::Units, "data_bytes", topology_.units.data_bytes);
  }

  Problem priority(std::uint32_t priority) const {
    if (priority >= kPriorities)
      return bad(Part::Priority, "",
                 fmt::format("{}; 0 to {} is accepted", priority, kPriorities - 1));
    if (at_ > 0 && priority <= topology_.priorities[at_ - 1])
      return bad(Part::Priority, "",
                 fmt::format("{} behind {}; priorities that ascend are accepted", priority,
                             topology_.priorities[at_ - 1]));
    return std::nullopt;
  }

  Problem name(Part part, const std::string& value) {
    if (value.empty()) return bad(part, "name", "empty; a name is accepted");
    if (one_line(value) != value)
      return bad(part, "name",
                 fmt::format("\"{}\" with a control character; none is accepted", one_line(value)));
    if (!names_.insert(value).second)
      return bad(part, "name",
                 fmt::format("\"{}\" is the name of one before already; names differ", value));
    return std::nullopt;
  }

  Problem node(const Node& node) {
    if (auto problem = name(Part::Node, node.name)) return problem;
    if (auto problem = positive(Part::Node, "shared_buffer", node.shared_buffer, true))
      return problem;
    if (auto problem = size(Part::Node, "alpha", node.alpha)) return problem;
    if (node.alpha > 0 && !std::isfinite(node.shared_buffer))
      return bad(Part::Node, "alpha", "a dynamic threshold needs shared_buffer too");
    return std::nullopt;
  }

  Problem link(const Link& link) {
    if (link.from >= topology_.nodes.size() || link.to >= topology_.nodes.size())
      return bad(Part::Link, link.from >= topology_.nodes.size() ? "from" : "to", "no such node");
    if (link.from == link.to)
      return bad(Part::Link, "to",
                 fmt::format("\"{}\" is linked to itself; two different nodes are accepted",
                             topology_.nodes[link.to].name));
    if (auto problem = name(Part::Link, link.name)) return problem;
    if (auto problem = positive(Part::Link, "capacity", link.capacity)) return problem;
    if (auto problem = size(Part::Link, "delay", link.delay)) return problem;
    if (auto problem = positive(Part::Link, "xoff", link.xoff, true)) return problem;
    if (!(link.xon > 0) || link.xon > link.xoff)
      return bad(Part::Link, "xon",
                 fmt::format("{}; above 0 and at most xoff, {}, is accepted", shown(link.xon),
                             shown(link.xoff)));
    if (auto problem = positive(Part::Link, "xon", link.xon, true)) return problem;
    if (auto problem = positive(Part::Link, "buffer", link.buffer, true)) return problem;
    if (std::isfinite(link.xoff) && !(link.xoff <= link.buffer))
      return bad(Part::Link, "xoff",
                 fmt::format("{}; at most buffer, {}, is accepted", link.xoff, link.buffer));
    return std::nullopt;
  }

  Problem route(const Route& route) const {
    if (route.node >= topology_.nodes.size() || route.destination >= topology_.nodes.size())
      return bad(Part::Route, "node", "no such node");
    if (route.via >= topology_.links.size() || topology_.links[route.via].from != route.node)
      return bad(
          Part::Route, "via",
          fmt::format("the next hop is no neighbour of {}", topology_.nodes[route.node].name));
    return std::nullopt;
  }

  Problem rewrite(const Rewrite& rewrite) {
    for (const auto& [member, link] : {std::pair("from", rewrite.from), {"to", rewrite.to}})
      if (link >= topology_.links.size()) return bad(Part::Rewrite, member, "no such link");
    const std::string& name = topology_.links[rewrite.to].name;
    if (topology_.links[rewrite.from].to != topology_.links[rewrite.to].from)
      return bad(Part::Rewrite, "to",
                 fmt::format("\"{}\" does not begin where \"{}\" ends", name,
                             topology_.links[rewrite.from].name));
    for (const auto& [member, priority] :
         {std::pair("was", rewrite.was), {"becomes", rewrite.becomes}})
      if (priority >= kPriorities)
        return bad(Part::Rewrite, member,
                   fmt::format("{}; 0 to {} is accepted", priority, kPriorities - 1));
    if (!turns_.emplace(rewrite.from, rewrite.to, rewrite.was).second)
      return bad(Part::Rewrite, "was",
                 fmt::format("{} a second time from \"{}\" to \"{}\"; once is accepted",
                             rewrite.was, topology_.links[rewrite.from].name, name));
    return std::nullopt;
  }

  Problem flow(const Flow& flow) {
    if (auto problem = name(Part::Flow, flow.name)) return problem;
    if (flow.from >= topology_.nodes.size() || flow.to >= topology_.nodes.size())
      return bad(Part::Flow, "path", "no such node");
    if (flow.priority >= kPriorities)
      return bad(Part::Flow, "priority",
                 fmt::format("{}; 0 to {} is accepted", flow.priority, kPriorities - 1));
    const auto& all = topology_.priorities;
    if (!all.empty() && std::ranges::find(all, flow.priority) == all.end())
      return bad(Part::Flow, "priority",
                 fmt::format("{}; one of the fabric's \"priorities\", {}, is accepted",
                             flow.priority, fmt::join(all, ", ")));
    if (auto problem = path(flow)) return problem;
    return source(flow.source);
  }

  Problem path(const Flow& flow) const {
    if (flow.path.empty()) {
      if (flow.ttl == 0)
        return bad(
            Part::Flow, "ttl",
            "the routes of this flow are a loop; a ttl above 0 or other routes are accepted");
      return std::nullopt;
    }
    NodeId at = flow.from;
    std::unordered_set<LinkId> seen;
    for (const LinkId& id : flow.path) {
      if (id >= topology_.links.size() || topology_.links[id].from != at)
        return bad(Part::Flow, "path",
                   fmt::format("the links do not connect at node {}", topology_.nodes[at].name));
      if (!seen.insert(id).second && flow.ttl == 0)
        return bad(Part::Flow, "path",
                   fmt::format("takes the link {} twice; without ttl each link once is accepted",
                               topology_.links[id].name));
      at = topology_.links[id].to;
      const bool is_last = &id == &flow.path.back();
      if (!is_last && topology_.nodes[at].kind == NodeKind::Host)
        return bad(Part::Flow, "path",
                   fmt::format("goes through the host {}; hosts only begin and end a path",
                               topology_.nodes[at].name));
    }
    if (at != flow.to)
      return bad(Part::Flow, "path",
                 fmt::format("ends at {}, not at {}", topology_.nodes[at].name,
                             topology_.nodes[flow.to].name));
    return std::nullopt;
  }

  Problem source(const Source& source) const {
    if (auto problem = size(Part::Flow, "start", source.start)) return problem;
    if (!(source.stop >= source.start))
      return bad(Part::Flow, "stop",
                 fmt::format("{}; at least start, {}, is accepted", source.stop, source.start));
    if (source.stop > 0)
      if (auto problem = positive(Part::Flow, "stop", source.stop, true)) return problem;
    if (auto problem = positive(Part::Flow, "buffer", source.buffer, true)) return problem;
    if (source.kind == SourceKind::Rate)
      if (auto problem = size(Part::Flow, "rate", source.rate)) return problem;
    if (source.kind == SourceKind::Points) return points(source.points);
    return std::nullopt;
  }

  Problem points(const std::vector<SourcePoint>& points) const {
    if (points.empty()) return bad(Part::Flow, "points", "none; at least one is accepted");
    SourcePoint before{0, 0};
    for (std::size_t i = 0; i < points.size(); ++i) {
      const SourcePoint& point = points[i];
      const bool in_order = i == 0 ? point.time >= 0 : point.time > before.time;
      if (!in_order || point.data < before.data || size(Part::Flow, "points", point.time) ||
          size(Part::Flow, "points", point.data))
        return bad(
            Part::Flow, "points",
            fmt::format("number {} is [{}, {}]; times that ascend from 0 and data that never "
                        "falls, each number 0 or {:g} to {:g}, are accepted",
                        i, point.time, point.data, kLeastNumber, kLargestNumber));
      before = point;
    }
    return std::nullopt;
  }

  const Topology& topology_;
  std::size_t at_ = 0;
  std::unordered_set<std::string> names_;
  std::set<std::tuple<LinkId, LinkId, std::uint32_t>> turns_;  // of rewrites
};

}  // namespace

std::optional<TopologyProblem> find_problem(const Topology& topology) {
  return Checker(topology).run();
}

Result<void> check(const Topology& topology) {
  const auto problem = find_problem(topology);
  if (!problem) return {};
  constexpr std::array kParts = {"units", "nodes", "links", "flows", "routes", "rewrites"};
  if (problem->part == Part::Units)
    return fail(Errc::InvalidArgument, fmt::format("units.{}: {}", problem->member, problem->text));
  if (problem->part == Part::Priority)
    return fail(Errc::InvalidArgument,
                fmt::format("priorities[{}]: {}", problem->index, problem->text));
  return fail(Errc::InvalidArgument,
              fmt::format("{}[{}].{}: {}", kParts[static_cast<std::size_t>(problem->part)],
                          problem->index, problem->member, problem->text));
}

}  // namespace portcullis::pfc
