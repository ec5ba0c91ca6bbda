// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/bound/residence_bound.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "pfc/bound/waits.hpp"
#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/rewrite_table.hpp"
#include "pfc/cbd/rewritten.hpp"
#include "pfc/prefixes.hpp"

namespace portcullis::pfc::bound {
namespace {

using cbd::Graph;

/// The longest way from every vertex along `graph`, each vertex costing `cost`; kUnlimited from
/// where a circle can be reached. Without recursion: a fabric may hold long paths.
std::vector<double> longest_ways(const Graph& graph, const std::vector<double>& cost) {
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<std::uint8_t> state(graph.size(), kNew);
  std::vector<double> way(graph.size(), 0);
  std::vector<std::pair<cbd::Vertex, std::size_t>> stack;
  for (cbd::Vertex root = 0; root < graph.size(); ++root) {
    if (state[root] != kNew) continue;
    stack.emplace_back(root, 0);
    state[root] = kOpen;
    while (!stack.empty()) {
      auto& [vertex, at] = stack.back();
      const auto targets = graph.out(vertex);
      if (at < targets.size()) {
        const cbd::Vertex target = targets[at++];
        if (state[target] == kOpen) way[vertex] = kUnlimited;
        if (state[target] == kDone) way[vertex] = std::max(way[vertex], way[target]);
        if (state[target] != kNew) continue;
        --at;  // once more when it is done
        state[target] = kOpen;
        stack.emplace_back(target, 0);
        continue;
      }
      way[vertex] += cost[vertex];
      state[vertex] = kDone;
      stack.pop_back();
    }
  }
  return way;
}

class Bounder {
 public:
  Bounder(const Topology& topology, const BoundOptions& options)
      : topology_(topology),
        options_(options),
        a_link_(topology.rewrites.empty() ? 1 : kPriorities),
        prefixes_(topology),
        rewrites_(topology),
        paths_(topology),
        begins_(topology.links.size(), false) {
    for (const Flow& flow : topology.flows)
      for (const LinkId link : paths_.of(flow).first) begins_[link] = true;
    for (LinkId link = 0; link < topology.links.size(); ++link)
      if (topology.nodes[topology.links[link].from].kind == NodeKind::Host) begins_[link] = true;
    bound_.flows.assign(topology.flows.size(), 0);
  }

  /// Each priority by itself; all of them at once where one becomes another.
  Result<ResidenceBound> run(const std::vector<std::uint32_t>& priorities) {
    bound_.carried = carried_priorities(topology_);
    // Without flows of its own a priority takes fewer turns than one with them, and is no later.
    const bool is_for_all = a_link_ == 1 && !topology_.routes.empty();
    bound_.begins = is_for_all ? bound_.carried : priorities;
    std::vector<Data> all = data_of(priorities);
    times_.emplace(topology_, options_.pause, can_close(all));
    for (Data& data : all) {
      const Waits waits(topology_, std::move(data.turns), a_link_, options_, *times_, begins_);
      bound_data(data.begins, waits);
    }
    if (is_stopped()) return fail(Errc::Timeout, "stopped before the bound was found");
    if (bound_.most == 0)
      return fail(Errc::InvalidArgument,
                  "nothing to look at: no flows, and no host has routes to another; one needed");
    if (!std::isfinite(bound_.most) && has_no_reason()) bound_.reason = kTooLong;
    return std::move(bound_);
  }

 private:
  [[nodiscard]] bool is_stopped() const {
    return options_.is_stopped != nullptr && *options_.is_stopped;
  }
  [[nodiscard]] bool has_no_reason() const {
    return bound_.circle.empty() && bound_.reason.empty();
  }

  void find_dead_ends(const std::vector<std::uint32_t>& priorities) {
    for (const std::uint32_t priority : priorities)
      if (bound_.dead_ends.count == 0)
        bound_.dead_ends = cbd::Dependencies(topology_, priority, {}).dead_ends();
  }

  /// What is bounded by itself: where it begins, and the turns that it takes.
  struct Data {
    std::vector<std::uint32_t> begins;
    Graph turns;
  };
  std::vector<Data> data_of(const std::vector<std::uint32_t>& priorities) {
    std::vector<Data> all;
    if (a_link_ > 1) {
      find_dead_ends(priorities);
      all.push_back({priorities,
                     cbd::rewritten_dependencies(topology_, priorities, {.with_unpaused = true})});
      return all;
    }
    for (const std::uint32_t priority : priorities) {
      const cbd::Dependencies data(topology_, priority, {.with_unpaused = true});
      if (bound_.dead_ends.count == 0) bound_.dead_ends = data.dead_ends();
      all.push_back({{priority}, data.graph()});
    }
    return all;
  }

  /// Links from which some data goes on: no ingress but theirs ever holds any.
  [[nodiscard]] std::vector<bool> can_close(const std::vector<Data>& all) const {
    std::vector<bool> holds(topology_.links.size(), false);
    for (const Data& data : all)
      for (cbd::Vertex buffer = 0; buffer < data.turns.size(); ++buffer)
        if (!data.turns.out(buffer).empty()) holds[buffer / a_link_] = true;
    return holds;
  }

  void bound_data(const std::vector<std::uint32_t>& priorities, const Waits& waits) {
    for (std::size_t i = 0; i < topology_.flows.size(); ++i)
      if (std::ranges::find(priorities, topology_.flows[i].priority) != priorities.end())
        take(bound_.flows[i], flow_ps(topology_.flows[i], waits));
    if (!topology_.routes.empty())
      take(bound_.routes.emplace(bound_.routes.value_or(0)), routes_ps(priorities, waits));
  }

  void take(double& to, double ps) {
    double time = ps / (topology_.units.time_s * 1e12);
    if (std::isnan(time)) time = kUnlimited;  // a maximum passes over a NaN
    to = std::max(to, time);
    bound_.most = std::max(bound_.most, to);
  }

  [[nodiscard]] cbd::Vertex buffer_of(LinkId link, std::uint32_t priority) const {
    return a_link_ == 1 ? link : cbd::buffer_of(link, priority);
  }
  /// Where what is in `buffer` waits when it goes on over `via`.
  [[nodiscard]] cbd::Vertex after(cbd::Vertex buffer, LinkId via) const {
    if (a_link_ == 1) return via;
    return cbd::buffer_of(via,
                          rewrites_.after(cbd::link_of(buffer), via, cbd::priority_of(buffer)));
  }

  [[nodiscard]] double first_ps(LinkId link) const {
    return times_->packet_ps(link) + times_->delay_ps(link);
  }
  double hop_ps(cbd::Vertex buffer, const Waits& waits) {
    const double wait = waits.wait_ps(buffer);
    if (!std::isfinite(wait) && has_no_reason()) waits.explain(buffer, bound_);
    return wait + times_->delay_ps(waits.link_of(buffer));
  }

  /// Of data that begins in `firsts`; `next` has the links that what is in a link goes on over.
  struct Longest {
    double ps = 0;
    double dearest = 0;
    std::vector<cbd::Vertex> seen;
  };
  template <class Next>
  Longest longest(const std::vector<cbd::Vertex>& firsts, Next next, const Waits& waits) const {
    Longest found;
    found.seen = firsts;
    std::vector<cbd::Edge> edges;
    std::vector<double> cost(topology_.links.size() * a_link_, 0);
    std::vector<bool> is_seen(cost.size(), false);
    for (std::size_t i = 0; i < found.seen.size(); ++i) {
      const cbd::Vertex buffer = found.seen[i];
      if (is_seen[buffer]) continue;
      is_seen[buffer] = true;
      for (const LinkId via : next(waits.link_of(buffer))) {
        const cbd::Vertex to = after(buffer, via);
        cost[to] = waits.wait_ps(to) + times_->delay_ps(via);
        found.dearest = std::max(found.dearest, cost[to]);
        edges.emplace_back(buffer, to);
        found.seen.push_back(to);
      }
    }
    const auto way = longest_ways(cbd::Graph(cost.size(), std::move(edges)), cost);
    // What begins at a link is sent at once: its queue counts nothing there.
    for (const cbd::Vertex first : firsts)
      found.ps = std::max(found.ps,
                          first_ps(waits.link_of(first)) +
                              (std::isfinite(way[first]) ? way[first] - cost[first] : kUnlimited));
    return found;
  }
  void explain(const std::vector<cbd::Vertex>& buffers, const Waits& waits) {
    for (const cbd::Vertex buffer : buffers) static_cast<void>(hop_ps(buffer, waits));
  }

  double path_ps(const Flow& flow, const Waits& waits) {
    double sum = first_ps(flow.path.front());
    cbd::Vertex buffer = buffer_of(flow.path.front(), flow.priority);
    for (std::size_t hop = 1; hop < flow.path.size(); ++hop) {
      buffer = after(buffer, flow.path[hop]);
      sum += hop_ps(buffer, waits);
    }
    return sum;
  }

  double flow_ps(const Flow& flow, const Waits& waits) {
    if (!is_routed(flow)) return path_ps(flow, waits);
    const cbd::FlowWays ways = paths_.of(flow);
    if (ways.first.empty()) {
      bound_.reason = fmt::format("flow {} has neither a path nor routes", flow.name);
      return kUnlimited;
    }
    std::vector<cbd::Vertex> firsts;
    for (const LinkId first : ways.first) firsts.push_back(buffer_of(first, flow.priority));
    const cbd::Graph turns(topology_.links.size(), ways.turns);
    Longest found = longest(
        firsts, [&](LinkId link) { return turns.out(link); }, waits);
    if (!std::isfinite(found.ps) && flow.ttl != 0) {
      double first = 0;
      for (const LinkId link : ways.first) first = std::max(first, first_ps(link));
      found.ps = first + flow.ttl * found.dearest;
    }
    if (!std::isfinite(found.ps)) {
      explain(found.seen, waits);
      if (has_no_reason())
        bound_.reason = fmt::format("the routes of flow {} go round in a circle", flow.name);
    }
    return found.ps;
  }

  /// Destination by destination: nodes are the vertices, the next hop that takes longest counts.
  double routes_ps(const std::vector<std::uint32_t>& priorities, const Waits& waits) {
    std::vector<Route> routes = topology_.routes;
    std::ranges::stable_sort(routes, {}, &Route::destination);
    double most = 0;
    for (std::size_t begin = 0; begin < routes.size() && !is_stopped();) {
      std::size_t end = begin;
      while (end < routes.size() && routes[end].destination == routes[begin].destination) ++end;
      most = std::max(
          most, destination_ps(std::span(routes).subspan(begin, end - begin), priorities, waits));
      begin = end;
    }
    return most;
  }

  double destination_ps(std::span<const Route> routes, const std::vector<std::uint32_t>& priorities,
                        const Waits& waits) {
    const NodeId destination = routes.front().destination;
    std::map<NodeId, std::vector<LinkId>> out;
    for (const Route& route : routes)
      if (route.node != destination) out[route.node].push_back(route.via);
    if (const auto hosts = prefixes_.links_to_hosts(destination); !hosts.empty())
      out[destination].assign(hosts.begin(), hosts.end());
    std::vector<cbd::Vertex> firsts;
    for (const LinkId first : firsts_of(destination, out))
      for (const std::uint32_t priority : priorities) firsts.push_back(buffer_of(first, priority));
    const auto next = [&](LinkId link) -> std::span<const LinkId> {
      const auto vias = out.find(topology_.links[link].to);
      return vias == out.end() ? std::span<const LinkId>() : vias->second;
    };
    const Longest found = longest(firsts, next, waits);
    if (!std::isfinite(found.ps) && has_no_reason()) {
      explain(found.seen, waits);
      if (has_no_reason())
        bound_.reason =
            fmt::format("the routes to {} go round in a circle", topology_.nodes[destination].name);
    }
    return found.ps;
  }

  /// Links that data for `destination` may begin at.
  [[nodiscard]] std::vector<LinkId> firsts_of(
      NodeId destination, const std::map<NodeId, std::vector<LinkId>>& out) const {
    std::vector<LinkId> firsts;
    bool has_hosts = false;
    for (LinkId id = 0; id < topology_.links.size(); ++id) {
      const Link& link = topology_.links[id];
      if (topology_.nodes[link.from].kind != NodeKind::Host) continue;
      has_hosts = true;
      const auto own = out.find(link.from);
      const bool takes =
          own == out.end() || std::ranges::find(own->second, id) != own->second.end();
      if (link.from != destination && takes) firsts.push_back(id);
    }
    if (!has_hosts)
      for (const auto& [node, vias] : out) firsts.insert(firsts.end(), vias.begin(), vias.end());
    return firsts;
  }

  const Topology& topology_;
  const BoundOptions& options_;
  const std::uint32_t a_link_;  // buffers: one, or one of each priority where they are rewritten
  std::optional<PauseTimes> times_;  // when turns are known
  const Prefixes prefixes_;
  const cbd::RewriteTable rewrites_;
  cbd::FlowPaths paths_;
  std::vector<bool> begins_;
  ResidenceBound bound_;
};

/// Those in which data begins that is bounded by itself: where none is rewritten one without flows
/// stands for all such.
Result<std::vector<std::uint32_t>> beginnings(const Topology& topology) {
  PORTCULLIS_TRY_ASSIGN(std::vector<std::uint32_t> begins,
                        cbd::check_question(topology, {}, cbd::Traffic::All));
  if (topology.rewrites.empty() || topology.routes.empty()) return begins;
  begins.insert(begins.end(), topology.priorities.begin(), topology.priorities.end());
  std::ranges::sort(begins);
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  return begins;
}

std::string listed(const std::vector<std::uint32_t>& priorities) {
  return fmt::format("{} {}", priorities.size() == 1 ? "priority" : "priorities",
                     fmt::join(priorities, ", "));
}

/// A fabric through which no packet of that size comes has no bound that says anything.
Result<void> check_rooms(const Topology& topology, std::uint32_t packet_bytes) {
  for (const Link& link : topology.links) {
    const Node& node = topology.nodes[link.to];
    const double room =
        std::round(std::min(link.buffer, node.shared_buffer) * topology.units.data_bytes);
    if (node.kind == NodeKind::Host || room >= packet_bytes) continue;
    return fail(Errc::InvalidArgument,
                fmt::format("link {}: a buffer of {} bytes holds no packet of {}; smaller packets "
                            "or a larger buffer are accepted",
                            link.name, room, packet_bytes));
  }
  return {};
}

}  // namespace

std::string circle_text(const Topology& topology, const ResidenceBound& bound) {
  const auto name = [&](std::size_t at) {
    const std::string& link = topology.links[bound.circle[at]].name;
    return bound.circle_priorities.empty()
               ? link
               : fmt::format("{}@{}", link, bound.circle_priorities[at]);
  };
  std::string text;
  for (std::size_t i = 0; i < bound.circle.size(); ++i)
    text += fmt::format("{}{} waits for {}", i == 0 ? "" : ", ", name(i),
                        name((i + 1) % bound.circle.size()));
  return text;
}

Result<void> take_priorities(Topology& topology, std::vector<std::uint32_t> priorities) {
  if (priorities.empty()) return {};
  std::ranges::sort(priorities);
  priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
  topology.priorities = std::move(priorities);
  return check(topology);
}

/// Importers that are told no delays leave them at 0.
std::string delays_note(const Topology& topology) {
  const auto has_none = [](const Link& link) { return link.delay == 0; };
  const auto without = static_cast<std::size_t>(std::ranges::count_if(topology.links, has_none));
  if (without == 0) return "";
  return fmt::format(
      "{} of {} links have delay 0: what cables and pipelines take there is in no figure above; "
      "\"delay\" of links, or of defaults, is accepted",
      without, topology.links.size());
}

std::string priorities_text(const ResidenceBound& bound) {
  if (bound.begins.size() == kPriorities) return "in any priority";
  if (bound.begins == bound.carried) return fmt::format("in {} alone", listed(bound.begins));
  return fmt::format("in {} with data of {} on the links", listed(bound.begins),
                     bound.carried.size() == kPriorities ? "any" : listed(bound.carried));
}

Result<ResidenceBound> bound_residence(const Topology& topology, const BoundOptions& options) {
  if (options.pause.packet_bytes == 0)
    return fail(Errc::InvalidArgument, "packets of 0 bytes; 1 or more are accepted");
  if (options.pause.least_bytes > options.pause.packet_bytes)
    return fail(Errc::InvalidArgument,
                fmt::format("a smallest packet of {} bytes; at most the largest, {}, is accepted",
                            options.pause.least_bytes, options.pause.packet_bytes));
  PORTCULLIS_TRY(check_rooms(topology, options.pause.packet_bytes));
  PORTCULLIS_TRY_ASSIGN(const std::vector<std::uint32_t> priorities, beginnings(topology));
  return Bounder(topology, options).run(priorities);
}

}  // namespace portcullis::pfc::bound
