// SPDX-License-Identifier: BSD-3-Clause
//
// Fabrics that several tests simulate. Units are those of Topology: 40 KB and 8 us, so a link of
// capacity 1 takes 200 ns for a packet of 1000 bytes, and 40 packets for one threshold.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "pfc/cbd/generators.hpp"
#include "pfc/packet/simulator.hpp"

namespace portcullis::pfc::packet {

inline constexpr Picoseconds kTheta = 8'000'000;    // one unit of time
inline constexpr Picoseconds kPacket = 200'000;     // to send one packet
inline constexpr std::int64_t kThreshold = 40'000;  // one unit of data

/// Out of band, so that delays are the whole of the delay.
inline RunOptions until(double time) {
  RunOptions options;
  options.until = static_cast<Picoseconds>(time * static_cast<double>(kTheta));
  options.pause_in_band = false;
  return options;
}

inline RunReport run(const Topology& topology, const RunOptions& options) {
  const auto checked = simulate(topology, options);
  EXPECT_TRUE(checked.has_value()) << checked.error().text;
  return checked.value_or(RunReport{});
}

inline Link delayed(double delay) {
  Link link;
  link.delay = delay;
  return link;
}

inline Source rated(double rate) {
  Source source;
  source.kind = SourceKind::Rate;
  source.rate = rate;
  return source;
}

inline Source offered(std::vector<SourcePoint> points) {
  Source source;
  source.kind = SourceKind::Points;
  source.points = std::move(points);
  return source;
}

inline Source greedy(double start, double stop) {
  Source source;
  source.start = start;
  source.stop = stop;
  return source;
}

/// Hosts h0 and h1 and switches a and b between them, numbered 0 to 3 in the order h0, a, b, h1; no
/// link yet.
inline Topology two_switches() {
  Topology topology;
  topology.add_node("h0", NodeKind::Host);
  topology.add_node("a", NodeKind::Switch);
  topology.add_node("b", NodeKind::Switch);
  topology.add_node("h1", NodeKind::Host);
  return topology;
}

/// h0 -> a -> h1, a host that can send twice as fast as a can pass on.
inline Topology bottleneck(const Link& like = {}) {
  Topology topology;
  topology.add_node("h0", NodeKind::Host);
  topology.add_node("a", NodeKind::Switch);
  topology.add_node("h1", NodeKind::Host);
  Link fast = like;
  fast.capacity = 2;
  topology.add_link(0, 1, fast);
  topology.add_link(1, 2, like);
  EXPECT_TRUE(topology.add_flow("f", {0, 1, 2}).has_value());
  topology.routes.push_back({.node = 1, .destination = 2, .via = 1});  // for messages
  return topology;
}

/// Figure 1 of the paper: f and g over three links of a ring of four each, from opposite corners;
/// with `third` a flow over the link sw1-sw2 alone, which makes the ring of HotNets 2016 deadlock.
inline Topology paper_ring(bool third, double delay) {
  Topology topology = *cbd::ring(4, 3, delayed(delay));
  topology.flows = {topology.flows[0], topology.flows[2]};
  if (third) {
    Flow flow;
    flow.name = "h";
    flow.path = {4, 6, 9};
    flow.from = topology.links[4].from;
    flow.to = topology.links[9].to;
    topology.flows.push_back(flow);
  }
  return topology;
}

/// Packets that are unaccounted for, over all flows; no report gives more than it got.
inline std::int64_t unaccounted(const RunReport& report) {
  std::int64_t sum = 0;
  for (const FlowReport& flow : report.flows)
    sum += static_cast<std::int64_t>(flow.sent) -
           static_cast<std::int64_t>(flow.delivered + flow.overflowed + flow.expired +
                                     flow.discarded + flow.held);
  return sum;
}

inline std::uint64_t overflowed(const RunReport& report) {
  std::uint64_t sum = 0;
  for (const FlowReport& flow : report.flows) sum += flow.overflowed;
  return sum;
}

}  // namespace portcullis::pfc::packet
