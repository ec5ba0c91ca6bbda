// SPDX-License-Identifier: BSD-3-Clause
//
// The ring: which way its data goes, that it has a bound and loses nothing, and what becomes of
// both when its routes or its switches are others.
#include "late/ring.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "pfc/bound/pause_times.hpp"
#include "pfc/packet/simulator.hpp"
#include "pfc/topology_json.hpp"

namespace portcullis::late {
namespace {

using ::testing::HasSubstr;

constexpr pfc::packet::Picoseconds kMs = 1'000'000'000;

Ring ring_of(const RingOptions& options = {}) { return make_ring(options).value(); }

pfc::packet::RunReport simulated(const Ring& ring) {
  pfc::packet::RunOptions options;
  options.until = 20 * kMs;
  options.packet_bytes = pfc::bound::kLargestRoceFrame;
  return pfc::packet::simulate(ring.topology, options).value();
}

std::uint64_t lost(const pfc::packet::RunReport& report) {
  std::uint64_t sum = 0;
  for (const auto& flow : report.flows) sum += flow.overflowed;
  return sum;
}

TEST(Ring, Ways_AreThoseOfTheFlowsTheyAreNamedFor) {
  const Ring ring = ring_of();
  for (std::size_t from = 0; from < kServers; ++from)
    for (std::size_t to = 0; to < kServers; ++to) {
      if (from == to) continue;
      const pfc::Flow& flow = ring.topology.flows[ring.way(from, to)];
      EXPECT_EQ(flow.from, ring.servers[from]);
      EXPECT_EQ(flow.to, ring.servers[to]);
    }
}

TEST(Ring, FirstServerToTheLast_GoesOverTwoLinksOfTheRing) {
  const Ring ring = ring_of();
  EXPECT_EQ(ring.topology.flows[ring.way(0, 2)].path.size(), 4U);
  EXPECT_EQ(ring.topology.flows[ring.way(2, 0)].path.size(), 3U);
}

TEST(Ring, OfThreeSwitches_HasABoundAboveWhatItsLinksTake) {
  const auto bound = residence_bound_us(ring_of());
  ASSERT_TRUE(bound) << bound.error().text;
  const double four_links_us = 4 * (pfc::bound::kLargestRoceFrame * 8 / 10e3 + 1);
  EXPECT_GT(*bound, four_links_us);
}

TEST(Ring, WithHigherThresholds_HasALongerBound) {
  EXPECT_GT(residence_bound_us(ring_of({.xoff_kb = 400})).value(),
            residence_bound_us(ring_of({.xoff_kb = 100})).value());
}

TEST(Ring, WithAllRoutesClockwise_HasNoBoundAndNamesTheCircle) {
  const auto bound = residence_bound_us(ring_of({.is_clockwise = true}));
  ASSERT_FALSE(bound);
  EXPECT_THAT(bound.error().text, HasSubstr("no bound"));
  EXPECT_THAT(bound.error().text, HasSubstr("switch-1-switch-2 waits for switch-2-switch-3"));
}

TEST(Ring, UnderLoad_PausesAndLosesNothing) {
  const Ring ring = ring_of();
  const auto report = simulated(ring);
  EXPECT_EQ(lost(report), 0U);
  EXPECT_FALSE(report.deadlock);
  EXPECT_GT(std::ranges::count_if(report.ingresses,
                                  [](const auto& ingress) { return ingress.closings > 0; }),
            3);
}

TEST(Ring, WithoutPause_DropsWhatFindsNoRoom) {
  const auto report = simulated(ring_of({.pauses = false}));
  EXPECT_GT(lost(report), 0U);
  for (const auto& ingress : report.ingresses) EXPECT_EQ(ingress.closings, 0U);
}

TEST(Ring, AsJson_ReadsBackWithTheSameBound) {
  const Ring ring = ring_of();
  Ring read = ring;
  read.topology = pfc::parse_topology(pfc::to_json(ring.topology), "ring").value();
  EXPECT_DOUBLE_EQ(residence_bound_us(read).value(), residence_bound_us(ring).value());
}

TEST(Ring, ThresholdBelowTwoOpenings_IsRefused) {
  EXPECT_THAT(make_ring({.xoff_kb = 1}).error().text, HasSubstr("XOFF of 1 KB"));
}

}  // namespace
}  // namespace portcullis::late
