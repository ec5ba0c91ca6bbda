// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/bound/waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "pfc/cbd/cycles.hpp"

namespace portcullis::pfc::bound {
namespace {

using cbd::Graph;
using cbd::Vertex;

/// Of packets of one size each may close a gate (PauseTimes), so where it opens is no remedy.
std::string frames_reason(const Link& link, const PauseModel& model) {
  const bool has_remedy = model.least_bytes != 0 && model.least_bytes < model.packet_bytes &&
                          std::isfinite(link.xoff) && link.xon >= link.xoff;
  return fmt::format(
      "PAUSE frames for packets so small may take all of the cable of link {}{}", link.name,
      has_remedy ? ", whose xon is its xoff; the further below it is, the fewer" : "");
}

}  // namespace

Waits::Waits(const Topology& topology, Graph turns, std::uint32_t a_link,
             const BoundOptions& options, const PauseTimes& times, const std::vector<bool>& begins)
    : topology_(topology),
      options_(options),
      times_(times),
      begins_(begins),
      graph_(std::move(turns)),
      a_link_(a_link),
      ahead_(graph_.size(), 0),
      waits_(graph_.size(), kUnlimited),
      is_cyclic_(graph_.size(), false) {
  for (Vertex from = 0; from < graph_.size(); ++from)
    for (const Vertex to : graph_.out(from)) ahead_[to] += times_.most_bytes(link_of(from));
  for (const auto& component : cbd::cyclic_components(pauses()))
    for (const Vertex buffer : component) is_cyclic_[buffer] = true;
  find_waits();
}

void Waits::explain(Vertex buffer, ResidenceBound& to) const {
  std::vector<Vertex> queue{buffer};
  std::vector<bool> is_seen(graph_.size(), false);
  is_seen[buffer] = true;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (is_cyclic_[queue[i]]) {
      for (const Vertex one : circle_with(queue[i])) {
        to.circle.push_back(link_of(one));
        if (a_link_ > 1) to.circle_priorities.push_back(one % a_link_);
      }
      return;
    }
    if (!std::isfinite(own_ps(queue[i]))) {
      to.reason = local_reason(queue[i]);
      return;
    }
    for (const Vertex next : graph_.out(queue[i])) {
      if (is_seen[next]) continue;
      is_seen[next] = true;
      queue.push_back(next);
    }
  }
  to.reason = "PAUSE frames of several priorities may take all of a link";
}

bool Waits::can_pause(Vertex buffer) const {
  return !graph_.out(buffer).empty() && std::isfinite(topology_.links[link_of(buffer)].xoff);
}

/// Buffers whose wait needs the waits of the next ones.
Graph Waits::pauses() const {
  Graph graph(graph_.size());
  for (Vertex buffer = 0; buffer < graph_.size(); ++buffer) {
    graph.begin_row(buffer);
    if (!can_pause(buffer)) continue;
    for (const Vertex next : graph_.out(buffer)) graph.add_target(next);
  }
  return graph;
}

void Waits::find_waits() {
  const Graph graph = pauses();
  std::vector<std::size_t> left(graph.size());
  std::vector<std::vector<Vertex>> into(graph.size());
  std::vector<Vertex> ready;
  for (Vertex buffer = 0; buffer < graph.size(); ++buffer) {
    for (const Vertex next : graph.out(buffer)) into[next].push_back(buffer);
    left[buffer] = graph.out(buffer).size();
    if (is_cyclic_[buffer]) left[buffer] = 0;  // the watchdog decides, not what comes after
    if (left[buffer] == 0) ready.push_back(buffer);
  }
  for (std::size_t i = 0; i < ready.size(); ++i) {
    waits_[ready[i]] = wait_at(ready[i], graph.out(ready[i]));
    for (const Vertex before : into[ready[i]])
      if (!is_cyclic_[before] && --left[before] == 0) ready.push_back(before);
  }
}

/// What PAUSE frames leave of the link, for one of the priorities.
double Waits::packet_ps(LinkId link) const {
  const double share = times_.frame_share(link);
  if (share >= 1) return kUnlimited;
  return static_cast<double>(times_.priorities()) * times_.packet_ps(link) / (1 - share);
}

/// From when a queue may send until it does: the packet that is being sent, those of the other
/// priorities, and a burst of PAUSE frames; and the last one, which may be cut off by a PAUSE.
double Waits::restart_ps(LinkId link) const {
  return 3 * packet_ps(link) +
         times_.frame_burst(link) * times_.frame_ps(link) / (1 - times_.frame_share(link));
}

/// Without pauses: a packet of each other priority comes before each of these, however small.
double Waits::own_ps(Vertex buffer) const {
  if (ahead_[buffer] == 0) return 0;
  const LinkId link = link_of(buffer);
  const double share = times_.frame_share(link);
  if (share >= 1) return kUnlimited;
  double sending = times_.sending_ps(link, ahead_[buffer]);
  if (times_.priorities() > 1)
    sending += static_cast<double>(times_.priorities() - 1) * times_.packets_of(ahead_[buffer]) *
               times_.packet_ps(link);
  return restart_ps(link) + sending / (1 - share);
}

double Waits::wait_at(Vertex buffer, std::span<const Vertex> next) const {
  if (ahead_[buffer] == 0) return 0;
  if (!can_pause(buffer)) return own_ps(buffer);
  const LinkId link = link_of(buffer);
  const double round = times_.notice_ps(link) + restart_ps(link);
  const double under_way = times_.begun_bytes(link, times_.delay_ps(link));
  double drained = 0;  // after so long all that is in the ingress now has left it
  for (const Vertex after : next)
    drained = std::max(drained, is_cyclic_[buffer] ? kUnlimited : waits_[after]);
  const double rounds = std::floor((ahead_[buffer] + under_way) / times_.least_closed(link)) + 1;
  const double wait = round + rounds * (drained + round) + own_ps(buffer);
  const double least = std::min(wait, watched_ps(buffer));
  return std::isnan(least) ? kUnlimited : least;  // infinite over infinite, of some part of it
}

/// With a watchdog no pause is longer than it allows, and each takes the packets that close a
/// gate.
double Waits::watched_ps(Vertex buffer) const {
  const LinkId link = link_of(buffer);
  if (!options_.watchdog_ps || begins_[link]) return kUnlimited;
  const double heard = 2 * times_.delay_ps(link) + times_.notice_ps(link);
  const double under_way = times_.begun_bytes(link, heard) + options_.pause.packet_bytes;
  const double pauses =
      std::floor((ahead_[buffer] + under_way) / times_.between_closings(link)) + 2;
  return pauses * (*options_.watchdog_ps + times_.notice_ps(link) + restart_ps(link)) +
         own_ps(buffer);
}

std::vector<Vertex> Waits::circle_with(Vertex buffer) const {
  for (const auto& component : cbd::cyclic_components(pauses())) {
    if (std::ranges::find(component, buffer) == component.end()) continue;
    std::vector<Vertex> circle = cbd::shortest_cycle(cbd::induced(pauses(), component));
    for (Vertex& vertex : circle) vertex = component[vertex];
    return circle;
  }
  return {};
}

std::string Waits::local_reason(Vertex buffer) const {
  if (!std::isfinite(times_.packet_ps(link_of(buffer)))) return kTooLong;
  for (Vertex from = 0; from < graph_.size(); ++from) {
    const LinkId link = link_of(from);
    const Link& fed = topology_.links[link];
    if (std::isfinite(times_.most_bytes(link)) ||
        std::ranges::find(graph_.out(from), buffer) == graph_.out(from).end())
      continue;
    if (!std::isfinite(fed.xoff))
      return fmt::format("the ingress of {} has neither a threshold nor a buffer that ends",
                         fed.name);
    const bool is_long = !std::isfinite(times_.delay_ps(link));
    return is_long || std::isfinite(times_.notice_ps(link)) ? kTooLong
                                                            : frames_reason(fed, options_.pause);
  }
  return times_.frame_share(link_of(buffer)) >= 1
             ? frames_reason(topology_.links[link_of(buffer)], options_.pause)
             : kTooLong;
}

}  // namespace portcullis::pfc::bound
