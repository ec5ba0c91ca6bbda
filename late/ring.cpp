// SPDX-License-Identifier: BSD-3-Clause
#include "late/ring.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "pfc/bound/pause_times.hpp"
#include "pfc/bound/residence_bound.hpp"

namespace portcullis::late {
namespace {

constexpr double kBytes = 1000;       // of a unit of data
constexpr double kKbPerUs = 1.0 / 8;  // of 1 Gb/s
constexpr std::size_t kLast = kServers - 1;
/// An ingress opens when three of the largest frames have left it.
constexpr double kHysteresisKb = 3 * pfc::bound::kLargestRoceFrame / kBytes;

pfc::bound::PauseModel frame_sizes() {
  return {.packet_bytes = pfc::bound::kLargestRoceFrame,
          .least_bytes = pfc::bound::kLeastRoceFrame};
}

class Builder {
 public:
  explicit Builder(const RingOptions& options) : options_(options) {
    ring_.topology.name = options.is_clockwise ? "clockwise-ring" : "ring";
    ring_.topology.units = {.time_s = 1e-6, .data_bytes = kBytes};
    ring_.topology.priorities = {0};  // that of servers, loads and guests
    like_.capacity = options.gbps * kKbPerUs;
    like_.delay = options.delay_us;
    like_.xoff = options.xoff_kb;
    like_.xon = options.xoff_kb - kHysteresisKb;
  }

  Result<Ring> run() {
    add_nodes();
    for (std::size_t i = 0; i < kServers; ++i) {
      cable(switches_[i], switches_[(i + 1) % kServers]);
      cable(ring_.servers[i], switches_[i]);
      cable(loads_[i], switches_[i]);
    }
    PORTCULLIS_TRY(add_flows());
    add_routes();
    PORTCULLIS_TRY(pfc::check(ring_.topology));
    give_headroom();
    return std::move(ring_);
  }

 private:
  void add_nodes() {
    for (std::size_t i = 0; i < kServers; ++i) {
      const double x = static_cast<double>(i);
      switches_[i] = add(fmt::format("switch-{}", i + 1), pfc::NodeKind::Switch, x, 1);
      ring_.servers[i] = add(fmt::format("server-{}", i + 1), pfc::NodeKind::Host, x, 0);
      loads_[i] = add(fmt::format("load-{}", i + 1), pfc::NodeKind::Host, x, 2);
    }
  }
  pfc::NodeId add(const std::string& name, pfc::NodeKind kind, double x, double y) {
    const pfc::NodeId id = ring_.topology.add_node(name, kind);
    ring_.topology.nodes[id].x = x;
    ring_.topology.nodes[id].y = y;
    return id;
  }
  void cable(pfc::NodeId one, pfc::NodeId other) {
    ring_.topology.add_link(one, other, like_);
    ring_.topology.add_link(other, one, like_);
  }

  /// Of the switches, on the way to server `to`.
  [[nodiscard]] std::size_t next(std::size_t at, std::size_t to) const {
    // From the first to the last the long way, everything else over one link.
    if (options_.is_clockwise || at == 0) return (at + 1) % kServers;
    return to;
  }
  [[nodiscard]] std::vector<pfc::NodeId> path(pfc::NodeId host, std::size_t from,
                                              std::size_t to) const {
    std::vector<pfc::NodeId> nodes{host, switches_[from]};
    for (std::size_t at = from; at != to; nodes.push_back(switches_[at])) at = next(at, to);
    nodes.push_back(ring_.servers[to]);
    return nodes;
  }

  Result<void> add_flows() {
    pfc::Source silent;
    silent.kind = pfc::SourceKind::Rate;
    for (std::size_t from = 0; from < kServers; ++from)
      for (std::size_t to = 0; to < kServers; ++to)
        if (from != to)
          PORTCULLIS_TRY(ring_.topology.add_flow(fmt::format("{}-to-{}", from + 1, to + 1),
                                                 path(ring_.servers[from], from, to), silent));
    if (!options_.has_loads) return {};
    pfc::Source greedy;
    greedy.start = options_.from_us;
    greedy.stop = options_.until_us;
    for (std::size_t from = 0; from < kServers; ++from)
      PORTCULLIS_TRY(ring_.topology.add_flow(fmt::format("load-{}", from + 1),
                                             path(loads_[from], from, kLast), greedy));
    return {};
  }

  /// Servers are reached from everywhere; the loads' hosts, which receive nothing, from nowhere.
  void add_routes() {
    const pfc::TopologyIndex index(ring_.topology);
    for (std::size_t to = 0; to < kServers; ++to)
      for (std::size_t at = 0; at < kServers; ++at) {
        const pfc::NodeId via = at == to ? ring_.servers[to] : switches_[next(at, to)];
        ring_.topology.routes.push_back({.node = switches_[at],
                                         .destination = ring_.servers[to],
                                         .via = *index.link_between(switches_[at], via)});
      }
  }

  /// What still comes after XOFF finds room; a lossy priority gets the same room and no threshold.
  void give_headroom() {
    const pfc::bound::PauseTimes times(ring_.topology, frame_sizes());
    for (pfc::LinkId id = 0; id < ring_.topology.links.size(); ++id) {
      pfc::Link& link = ring_.topology.links[id];
      link.buffer = std::ceil(link.xoff + times.headroom_bytes(id) / kBytes);
      if (!options_.pauses) link.xoff = link.xon = pfc::kUnlimited;
    }
  }

  const RingOptions& options_;
  Ring ring_;
  pfc::Link like_;
  std::array<pfc::NodeId, kServers> switches_{};
  std::array<pfc::NodeId, kServers> loads_{};
};

}  // namespace

std::uint32_t Ring::way(std::size_t from, std::size_t to) const {
  // As Builder::add_flows() has them: all others of a server, in their order.
  return static_cast<std::uint32_t>(from * (kServers - 1) + (to > from ? to - 1 : to));
}

Result<Ring> make_ring(const RingOptions& options) {
  if (!(options.xoff_kb >= 2 * kHysteresisKb) || !std::isfinite(options.xoff_kb))
    return fail(Errc::InvalidArgument, fmt::format("XOFF of {} KB; {} or more are accepted",
                                                   options.xoff_kb, 2 * kHysteresisKb));
  return Builder(options).run();
}

Result<double> residence_bound_us(const Ring& ring) {
  pfc::bound::BoundOptions options;
  options.pause = frame_sizes();
  PORTCULLIS_TRY_ASSIGN(const auto bound, pfc::bound::bound_residence(ring.topology, options));
  if (std::isfinite(bound.most)) return bound.most;
  return fail(Errc::InvalidArgument,
              fmt::format("{}: no bound on how late a packet may be: {}", ring.topology.name,
                          bound.circle.empty() ? bound.reason
                                               : pfc::bound::circle_text(ring.topology, bound)));
}

}  // namespace portcullis::late
