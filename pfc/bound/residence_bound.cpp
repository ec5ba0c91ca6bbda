// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/bound/residence_bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/routing.hpp"
#include "pfc/prefixes.hpp"

namespace portcullis::pfc::bound {
namespace {

using cbd::Graph;

constexpr const char* kTooLong = "the times of this fabric are too long to be added up";

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

/// How long a packet waits and is sent at each link, for one priority.
class Waits {
 public:
  Waits(const Topology& topology, std::uint32_t priority, const BoundOptions& options,
        const PauseTimes& times, const std::vector<bool>& begins)
      : topology_(topology),
        options_(options),
        times_(times),
        begins_(begins),
        dependencies_(topology, priority, {.with_unpaused = true}),
        graph_(dependencies_.graph()),
        ahead_(topology.links.size(), 0),
        waits_(topology.links.size(), kUnlimited),
        is_cyclic_(topology.links.size(), false) {
    for (LinkId from = 0; from < graph_.size(); ++from)
      for (const LinkId to : graph_.out(from)) ahead_[to] += times_.most_packets(from);
    for (const auto& component : cbd::cyclic_components(pauses()))
      for (const LinkId link : component) is_cyclic_[link] = true;
    find_waits();
  }

  [[nodiscard]] double wait_ps(LinkId link) const { return waits_[link]; }
  [[nodiscard]] const cbd::Dependencies& dependencies() const noexcept { return dependencies_; }

  /// Says why there is no bound for what takes `link`.
  void explain(LinkId link, ResidenceBound& to) const {
    std::vector<LinkId> queue{link};
    std::vector<bool> is_seen(graph_.size(), false);
    is_seen[link] = true;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      if (is_cyclic_[queue[i]]) {
        to.circle = circle_with(queue[i]);
        return;
      }
      if (!std::isfinite(own_ps(queue[i]))) {
        to.reason = local_reason(queue[i]);
        return;
      }
      for (const LinkId next : graph_.out(queue[i])) {
        if (is_seen[next]) continue;
        is_seen[next] = true;
        queue.push_back(next);
      }
    }
    to.reason = "PAUSE frames of several priorities may take all of a link";
  }

 private:
  [[nodiscard]] bool can_pause(LinkId link) const {
    return !graph_.out(link).empty() && std::isfinite(topology_.links[link].xoff);
  }

  /// Links whose wait needs the waits of the next ones.
  [[nodiscard]] Graph pauses() const {
    Graph graph(graph_.size());
    for (LinkId link = 0; link < graph_.size(); ++link) {
      graph.begin_row(link);
      if (!can_pause(link)) continue;
      for (const LinkId next : graph_.out(link)) graph.add_target(next);
    }
    return graph;
  }

  void find_waits() {
    const Graph graph = pauses();
    std::vector<std::size_t> left(graph.size());
    std::vector<std::vector<LinkId>> into(graph.size());
    std::vector<LinkId> ready;
    for (LinkId link = 0; link < graph.size(); ++link) {
      for (const LinkId next : graph.out(link)) into[next].push_back(link);
      left[link] = graph.out(link).size();
      if (is_cyclic_[link]) left[link] = 0;  // the watchdog decides, not what comes after
      if (left[link] == 0) ready.push_back(link);
    }
    for (std::size_t i = 0; i < ready.size(); ++i) {
      waits_[ready[i]] = wait_at(ready[i], graph.out(ready[i]));
      for (const LinkId before : into[ready[i]])
        if (!is_cyclic_[before] && --left[before] == 0) ready.push_back(before);
    }
  }

  /// What PAUSE frames leave of the link, for one of the priorities.
  [[nodiscard]] double packet_ps(LinkId link) const {
    const double share = times_.frame_share(link);
    if (share >= 1) return kUnlimited;
    return static_cast<double>(times_.priorities()) * times_.packet_ps(link) / (1 - share);
  }
  /// From when a queue may send until it does: the packet that is being sent, those of the other
  /// priorities, and a burst of PAUSE frames; and the last one, which may be cut off by a PAUSE.
  [[nodiscard]] double restart_ps(LinkId link) const {
    const auto priorities = static_cast<double>(times_.priorities());
    return 3 * packet_ps(link) +
           (2 + priorities) * times_.frame_ps(link) / (1 - times_.frame_share(link));
  }
  /// Without pauses.
  [[nodiscard]] double own_ps(LinkId link) const {
    if (ahead_[link] == 0) return 0;
    return restart_ps(link) + ahead_[link] * packet_ps(link);
  }

  [[nodiscard]] double wait_at(LinkId link, std::span<const LinkId> next) const {
    if (ahead_[link] == 0) return 0;
    if (!can_pause(link)) return own_ps(link);
    const double round = times_.notice_ps(link) + restart_ps(link);
    const double under_way = std::floor(times_.delay_ps(link) / times_.packet_ps(link)) + 1;
    double drained = 0;  // after so long all that is in the ingress now has left it
    for (const LinkId after : next)
      drained = std::max(drained, is_cyclic_[link] ? kUnlimited : waits_[after]);
    const double rounds = std::floor((ahead_[link] + under_way) / times_.least_closed(link)) + 1;
    const double wait = round + rounds * (drained + round) + own_ps(link);
    return std::min(wait, watched_ps(link));
  }

  /// With a watchdog no pause is longer than it allows, and each takes the packets that close a
  /// gate.
  [[nodiscard]] double watched_ps(LinkId link) const {
    if (!options_.watchdog_ps || begins_[link]) return kUnlimited;
    const double heard = 2 * times_.delay_ps(link) + times_.notice_ps(link);
    const double under_way = std::floor(heard / times_.packet_ps(link)) + 2;
    const double pauses =
        std::floor((ahead_[link] + under_way) / times_.between_closings(link)) + 2;
    return pauses * (*options_.watchdog_ps + times_.notice_ps(link) + restart_ps(link)) +
           own_ps(link);
  }

  [[nodiscard]] std::vector<LinkId> circle_with(LinkId link) const {
    for (const auto& component : cbd::cyclic_components(pauses())) {
      if (std::ranges::find(component, link) == component.end()) continue;
      std::vector<LinkId> circle = cbd::shortest_cycle(cbd::induced(pauses(), component));
      for (LinkId& vertex : circle) vertex = component[vertex];
      return circle;
    }
    return {};
  }

  [[nodiscard]] std::string local_reason(LinkId link) const {
    for (LinkId from = 0; from < graph_.size(); ++from) {
      const Link& fed = topology_.links[from];
      if (std::isfinite(times_.most_packets(from)) ||
          std::ranges::find(graph_.out(from), link) == graph_.out(from).end())
        continue;
      if (!std::isfinite(fed.xoff))
        return fmt::format("the ingress of {} has neither a threshold nor a buffer that ends",
                           fed.name);
      const bool is_long = !std::isfinite(times_.delay_ps(from));
      return is_long || std::isfinite(times_.notice_ps(from)) ? kTooLong : frames_reason(fed);
    }
    return times_.frame_share(link) >= 1 ? frames_reason(topology_.links[link]) : kTooLong;
  }
  static std::string frames_reason(const Link& link) {
    return fmt::format("PAUSE frames for packets so small may take all of the cable of link {}",
                       link.name);
  }

  const Topology& topology_;
  const BoundOptions& options_;
  const PauseTimes& times_;
  const std::vector<bool>& begins_;
  const cbd::Dependencies dependencies_;
  const Graph& graph_;
  std::vector<double> ahead_;  // packets that may stand in a queue, the one that waits included
  std::vector<double> waits_;
  std::vector<bool> is_cyclic_;
};

class Bounder {
 public:
  Bounder(const Topology& topology, const BoundOptions& options)
      : topology_(topology),
        options_(options),
        times_(topology, options.pause),
        prefixes_(topology),
        paths_(topology),
        begins_(topology.links.size(), false) {
    for (const Flow& flow : topology.flows)
      for (const LinkId link : paths_.of(flow).first) begins_[link] = true;
    for (LinkId link = 0; link < topology.links.size(); ++link)
      if (topology.nodes[topology.links[link].from].kind == NodeKind::Host) begins_[link] = true;
    bound_.flows.assign(topology.flows.size(), 0);
  }

  Result<ResidenceBound> run(const std::vector<std::uint32_t>& priorities) {
    for (const std::uint32_t priority : priorities) {
      if (options_.is_stopped != nullptr && *options_.is_stopped)
        return fail(Errc::Timeout, "stopped before the bound was found");
      const Waits waits(topology_, priority, options_, times_, begins_);
      if (bound_.dead_ends.count == 0) bound_.dead_ends = waits.dependencies().dead_ends();
      for (std::size_t i = 0; i < topology_.flows.size(); ++i)
        if (topology_.flows[i].priority == priority)
          take(bound_.flows[i], flow_ps(topology_.flows[i], waits));
      if (!topology_.routes.empty())
        take(bound_.routes.emplace(bound_.routes.value_or(0)), routes_ps(waits));
    }
    if (bound_.most == 0)
      return fail(Errc::InvalidArgument,
                  "nothing to look at: no flows, and no host has routes to another; one needed");
    if (!std::isfinite(bound_.most) && bound_.circle.empty() && bound_.reason.empty())
      bound_.reason = kTooLong;
    return std::move(bound_);
  }

 private:
  void take(double& to, double ps) {
    to = std::max(to, ps / (topology_.units.time_s * 1e12));
    bound_.most = std::max(bound_.most, to);
  }

  [[nodiscard]] double first_ps(LinkId link) const {
    return times_.packet_ps(link) + times_.delay_ps(link);
  }
  double hop_ps(LinkId link, const Waits& waits) {
    const double wait = waits.wait_ps(link);
    if (!std::isfinite(wait) && bound_.circle.empty() && bound_.reason.empty())
      waits.explain(link, bound_);
    return wait + times_.delay_ps(link);
  }

  /// What begins at a link is sent at once: its queue counts nothing there.
  [[nodiscard]] double longest_from(const std::vector<LinkId>& firsts,
                                    const std::vector<double>& way,
                                    const std::vector<double>& cost) const {
    double longest = 0;
    for (const LinkId first : firsts)
      longest = std::max(
          longest,
          first_ps(first) + (std::isfinite(way[first]) ? way[first] - cost[first] : kUnlimited));
    return longest;
  }

  double flow_ps(const Flow& flow, const Waits& waits) {
    if (!is_routed(flow)) {
      double sum = first_ps(flow.path.front());
      for (std::size_t hop = 1; hop < flow.path.size(); ++hop) sum += hop_ps(flow.path[hop], waits);
      return sum;
    }
    const cbd::FlowWays ways = paths_.of(flow);
    if (ways.first.empty()) {
      bound_.reason = fmt::format("flow {} has neither a path nor routes", flow.name);
      return kUnlimited;
    }
    std::vector<double> cost(topology_.links.size(), 0);
    double dearest = 0;
    for (const auto& [from, to] : ways.turns) {
      cost[to] = hop_ps(to, waits);
      dearest = std::max(dearest, cost[to]);
    }
    const auto way = longest_ways(Graph(cost.size(), ways.turns), cost);
    double longest = longest_from(ways.first, way, cost);
    if (!std::isfinite(longest) && flow.ttl != 0)
      longest = first_ps(ways.first.front()) + flow.ttl * dearest;
    if (!std::isfinite(longest) && bound_.circle.empty() && bound_.reason.empty())
      bound_.reason = fmt::format("the routes of flow {} go round in a circle", flow.name);
    return longest;
  }

  /// Destination by destination: nodes are the vertices, the next hop that takes longest counts.
  double routes_ps(const Waits& waits) {
    std::vector<Route> routes = topology_.routes;
    std::ranges::stable_sort(routes, {}, &Route::destination);
    double longest = 0;
    for (std::size_t begin = 0; begin < routes.size();) {
      std::size_t end = begin;
      while (end < routes.size() && routes[end].destination == routes[begin].destination) ++end;
      longest =
          std::max(longest, destination_ps(std::span(routes).subspan(begin, end - begin), waits));
      begin = end;
    }
    return longest;
  }

  double destination_ps(std::span<const Route> routes, const Waits& waits) {
    const NodeId destination = routes.front().destination;
    // A link is a vertex that costs what its queue does; from it the routes of the node behind go
    // on.
    std::vector<cbd::Edge> edges;
    std::map<NodeId, std::vector<LinkId>> out;
    for (const Route& route : routes)
      if (route.node != destination) out[route.node].push_back(route.via);
    if (const auto hosts = prefixes_.links_to_hosts(destination); !hosts.empty())
      out[destination].assign(hosts.begin(), hosts.end());
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
    std::vector<double>& cost = scratch_;
    cost.assign(topology_.links.size(), 0);
    for (const auto& [node, vias] : out)
      for (const LinkId via : vias) cost[via] = waits.wait_ps(via) + times_.delay_ps(via);
    std::vector<bool> is_seen(topology_.links.size(), false);
    std::vector<LinkId> todo = firsts;
    for (std::size_t i = 0; i < todo.size(); ++i) {
      const auto next = out.find(topology_.links[todo[i]].to);
      if (is_seen[todo[i]] || next == out.end()) continue;
      is_seen[todo[i]] = true;
      for (const LinkId via : next->second) {
        edges.emplace_back(todo[i], via);
        todo.push_back(via);
      }
    }
    const auto way = longest_ways(Graph(cost.size(), std::move(edges)), cost);
    const double longest = longest_from(firsts, way, cost);
    if (!std::isfinite(longest) && bound_.circle.empty() && bound_.reason.empty()) {
      for (const LinkId link : todo) static_cast<void>(hop_ps(link, waits));
      if (bound_.circle.empty() && bound_.reason.empty())
        bound_.reason =
            fmt::format("the routes to {} go round in a circle", topology_.nodes[destination].name);
    }
    return longest;
  }

  const Topology& topology_;
  const BoundOptions& options_;
  const PauseTimes times_;
  const Prefixes prefixes_;
  cbd::FlowPaths paths_;
  std::vector<bool> begins_;
  ResidenceBound bound_;
  std::vector<double> scratch_;
};

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

Result<ResidenceBound> bound_residence(const Topology& topology, const BoundOptions& options) {
  if (options.pause.packet_bytes == 0)
    return fail(Errc::InvalidArgument, "packets of 0 bytes; 1 or more are accepted");
  if (!topology.rewrites.empty())
    return fail(Errc::Unsupported,
                "priorities that are rewritten on the way: no bound is known for them");
  PORTCULLIS_TRY(check_rooms(topology, options.pause.packet_bytes));
  PORTCULLIS_TRY_ASSIGN(const std::vector<std::uint32_t> priorities,
                        cbd::check_question(topology, {}, cbd::Traffic::All));
  return Bounder(topology, options).run(priorities);
}

}  // namespace portcullis::pfc::bound
