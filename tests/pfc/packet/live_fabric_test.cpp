// SPDX-License-Identifier: BSD-3-Clause
//
// Guests of the packet simulator: packets of somebody else, which meet the switches, the PAUSE and
// the watchdogs that its own packets meet, and are handed back where they arrive.
#include "pfc/packet/live_fabric.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "pfc/packet/network.hpp"
#include "pfc/packet/offer.hpp"
#include "tests/pfc/packet/fabrics.hpp"

namespace portcullis::pfc::packet {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr std::uint32_t kOwn = 0;    // flow of the simulator's own
constexpr std::uint32_t kGuest = 1;  // flow that offers nothing itself

/// h0 -> a -> b -> h1 for guests; into b comes a second host's flow, twice what h1 takes.
Topology joined(double own_rate, const Link& like = {}) {
  Topology topology = two_switches();
  const NodeId load = topology.add_node("h2", NodeKind::Host);
  topology.add_link(0, 1, like);
  topology.add_link(1, 2, like);
  topology.add_link(2, 3, like);
  Link fast = like;
  fast.capacity = 2;
  topology.add_link(load, 2, fast);
  EXPECT_TRUE(topology.add_flow("own", {load, 2, 3}, rated(own_rate)).has_value());
  EXPECT_TRUE(topology.add_flow("guest", {0, 1, 2, 3}, rated(0)).has_value());
  return topology;
}

struct Live {
  explicit Live(const Topology& topology, const RunOptions& options = until(1000))
      : fabric(LiveFabric::create(topology, options, [this](const Guest& guest) {
                 ended.push_back(guest);
               }).value()) {}

  std::vector<Guest> ended;
  LiveFabric fabric;
};

TEST(LiveFabric, GuestInAnEmptyFabric_TakesWhatItsLinksTake) {
  Live live(joined(0, delayed(0.5)));
  live.fabric.run_until(kTheta);
  ASSERT_TRUE(live.fabric.offer(kGuest, 1000, 7));
  live.fabric.run_until(10 * kTheta);
  ASSERT_EQ(live.ended.size(), 1U);
  const Guest& guest = live.ended.front();
  EXPECT_EQ(guest.tag, 7U);
  EXPECT_TRUE(guest.has_arrived);
  EXPECT_EQ(guest.offered, kTheta);
  EXPECT_EQ(guest.sent, kTheta);
  EXPECT_EQ(guest.ended, kTheta + 3 * (kPacket + kTheta / 2));
  EXPECT_EQ(guest.paused, 0);
}

TEST(LiveFabric, GuestsOfOneFlow_ArriveInTheirOrder) {
  Live live(joined(0));
  for (std::uint64_t tag = 1; tag <= 3; ++tag) ASSERT_TRUE(live.fabric.offer(kGuest, 1000, tag));
  live.fabric.run_until(10 * kTheta);
  EXPECT_THAT(live.ended,
              ElementsAre(Field(&Guest::tag, 1U), Field(&Guest::tag, 2U), Field(&Guest::tag, 3U)));
  // The second leaves its host when the first has left.
  EXPECT_EQ(live.ended[1].offered, 0);
  EXPECT_EQ(live.ended[1].sent, kPacket);
}

TEST(LiveFabric, GuestBehindAPausedPort_WaitsAsThePortDoes) {
  // A guest fills b's ingress while the load has all of its output: the gate of a-b closes.
  Topology topology = joined(2);
  topology.links[1].xoff = topology.links[1].xon = 0.05;  // two packets
  Live live(topology);
  live.fabric.run_until(20 * kTheta);
  for (std::uint64_t tag = 0; tag < 6; ++tag) ASSERT_TRUE(live.fabric.offer(kGuest, 1000, tag));
  live.fabric.run_until(100 * kTheta);
  ASSERT_EQ(live.ended.size(), 6U);
  EXPECT_EQ(live.ended[0].paused, 0);
  EXPECT_GT(live.ended[5].paused, kTheta / 4);
  EXPECT_GT(live.ended[5].ended - live.ended[5].sent, live.ended[5].paused);
}

TEST(LiveFabric, WithoutThresholds_NoGuestIsPaused) {
  Topology topology = joined(2);
  for (Link& link : topology.links) link.xoff = link.xon = kUnlimited;
  Live live(topology);
  live.fabric.run_until(20 * kTheta);
  for (std::uint64_t tag = 0; tag < 6; ++tag) ASSERT_TRUE(live.fabric.offer(kGuest, 1000, tag));
  live.fabric.run_until(100 * kTheta);
  ASSERT_EQ(live.ended.size(), 6U);
  for (const Guest& guest : live.ended) EXPECT_EQ(guest.paused, 0) << guest.tag;
}

TEST(LiveFabric, GuestThatFindsNoRoom_IsToldAsDropped) {
  Topology topology = joined(2);
  topology.links[1].xoff = topology.links[1].xon = kUnlimited;  // nobody says stop
  topology.links[1].buffer = 0.05;
  Live live(topology);
  live.fabric.run_until(20 * kTheta);
  for (std::uint64_t tag = 0; tag < 6; ++tag) ASSERT_TRUE(live.fabric.offer(kGuest, 1000, tag));
  live.fabric.run_until(100 * kTheta);
  ASSERT_EQ(live.ended.size(), 6U);
  EXPECT_GT(std::ranges::count(live.ended, false, &Guest::has_arrived), 0);
  const RunReport report = std::move(live.fabric).finish();
  EXPECT_EQ(report.flows[kGuest].overflowed,
            static_cast<std::uint64_t>(std::ranges::count(live.ended, false, &Guest::has_arrived)));
  EXPECT_EQ(unaccounted(report), 0);
}

TEST(LiveFabric, WithoutGuests_DoesWhatSimulateDoes) {
  const Topology topology = paper_ring(false, 0.125);
  const RunOptions options = until(200);
  const RunReport plain = run(topology, options);
  Live live(topology, options);
  // In steps of odd lengths, as a clock elsewhere has them.
  for (Picoseconds time = 0; time < options.until; time += 777'777) live.fabric.run_until(time);
  live.fabric.run_until(options.until);
  const RunReport stepped = std::move(live.fabric).finish();
  EXPECT_EQ(stepped.end, plain.end);
  EXPECT_EQ(stepped.events, plain.events);
  ASSERT_EQ(stepped.flows.size(), plain.flows.size());
  for (std::size_t i = 0; i < plain.flows.size(); ++i) {
    EXPECT_EQ(stepped.flows[i].delivered, plain.flows[i].delivered);
    EXPECT_EQ(stepped.flows[i].greatest_residence, plain.flows[i].greatest_residence);
  }
  for (std::size_t i = 0; i < plain.ingresses.size(); ++i)
    EXPECT_EQ(stepped.ingresses[i].closed, plain.ingresses[i].closed) << i;
}

/// The same packets at the same times, once as guests and once as the flow's own.
TEST(LiveFabric, GuestsOfAHost_MeetWhatItsOwnPacketsMeet) {
  const RunOptions options = until(400);
  Topology native = joined(2, delayed(0.05));
  for (Link& link : native.links) link.xoff = link.xon = 0.3;
  Topology hosting = native;
  Source& source = native.flows[kGuest].source;
  source = rated(0.4);
  source.start = 0.0137;  // so that nothing else happens when one is offered
  Offer offer(source, compile(native, options).value(), options.packet_bytes, 0);
  Live live(hosting, options);
  for (auto at = offer.next(0); at && *at < options.until; at = offer.next(live.fabric.now())) {
    live.fabric.run_until(*at);
    ASSERT_TRUE(live.fabric.offer(kGuest, options.packet_bytes, 1));
    offer.take(*at);
  }
  live.fabric.run_until(options.until);
  const RunReport hosted = std::move(live.fabric).finish();
  const RunReport expected = run(native, options);
  ASSERT_GT(expected.flows[kGuest].delivered, 1000U);
  for (const std::uint32_t flow : {kOwn, kGuest}) {
    EXPECT_EQ(hosted.flows[flow].delivered, expected.flows[flow].delivered);
    EXPECT_EQ(hosted.flows[flow].greatest_residence, expected.flows[flow].greatest_residence);
  }
  for (std::size_t i = 0; i < expected.ingresses.size(); ++i) {
    EXPECT_EQ(hosted.ingresses[i].closings, expected.ingresses[i].closings) << i;
    EXPECT_EQ(hosted.ingresses[i].closed, expected.ingresses[i].closed) << i;
    EXPECT_EQ(hosted.ingresses[i].most_bytes, expected.ingresses[i].most_bytes) << i;
  }
}

TEST(LiveFabric, NextTime_IsWhenSomethingHappensNext) {
  Live live(joined(0));
  ASSERT_TRUE(live.fabric.offer(kGuest, 1000, 1));
  ASSERT_EQ(live.fabric.next_time(), kPacket);
  live.fabric.run_until(kPacket - 1);
  EXPECT_EQ(live.fabric.now(), kPacket - 1);
  EXPECT_EQ(live.fabric.next_time(), kPacket);
  live.fabric.run_until(2000 * kTheta);  // beyond RunOptions::until
  EXPECT_FALSE(live.fabric.next_time());
  EXPECT_EQ(live.fabric.now(), until(1000).until);
}

TEST(LiveFabric, FinishedEarly_ReportsUpToNow) {
  Live live(joined(1));
  live.fabric.run_until(50 * kTheta);
  const RunReport report = std::move(live.fabric).finish();
  EXPECT_EQ(report.end, 50 * kTheta);
  EXPECT_NEAR(static_cast<double>(report.flows[kOwn].delivered), 50.0 * 40, 2);
}

TEST(LiveFabric, WhatItCannotCarry_IsRefused) {
  const Topology topology = joined(0);
  Live live(topology);
  EXPECT_THAT(live.fabric.offer(2, 1000, 1).error().text, HasSubstr("flow 2; 2 flows"));
  EXPECT_THAT(live.fabric.offer(kGuest, 0, 1).error().text, HasSubstr("0 bytes"));
  Link narrow;
  narrow.buffer = 1;
  Live small(joined(0, narrow));
  EXPECT_THAT(small.fabric.offer(kGuest, 40'001, 1).error().text, HasSubstr("1 to 40000"));
  RunOptions marked = until(1);
  marked.ecn.is_on = true;
  EXPECT_THAT(LiveFabric::create(topology, marked, {}).error().text, HasSubstr("marks"));
}

}  // namespace
}  // namespace portcullis::pfc::packet
