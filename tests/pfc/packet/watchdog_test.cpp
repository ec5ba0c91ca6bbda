// SPDX-License-Identifier: BSD-3-Clause
//
// Watchdogs: a locked ring goes on, at the price of packets dropped or of buffers overrun; a fabric
// that is merely busy is left alone.
#include <gmock/gmock.h>

#include "pfc/watchdog.hpp"
#include "tests/pfc/packet/fabrics.hpp"

namespace portcullis::pfc::packet {
namespace {

Topology locking() {
  Topology topology = *cbd::ring(4, 2, delayed(0.25));
  for (Link& link : topology.links) link.buffer = 1.55;
  return topology;
}

RunOptions with(WatchdogAction action) {
  RunOptions options = until(2000);
  options.stop_at_deadlock = false;
  options.watchdog = {.action = action, .detect = 50 * kTheta, .restore = 20 * kTheta};
  return options;
}

std::uint64_t delivered(const RunReport& report) {
  std::uint64_t sum = 0;
  for (const FlowReport& flow : report.flows) sum += flow.delivered;
  return sum;
}

TEST(Watchdog, None_LeavesTheRingLocked) {
  const RunReport report = run(locking(), with(WatchdogAction::None));
  EXPECT_TRUE(report.deadlock.has_value());
  EXPECT_EQ(report.storms, 0u);
}

TEST(Watchdog, Drop_GetsTheRingGoingAndSaysWhatItDropped) {
  const std::uint64_t locked = delivered(run(locking(), with(WatchdogAction::None)));
  const RunReport report = run(locking(), with(WatchdogAction::Drop));
  std::uint64_t discarded = 0;
  for (const FlowReport& flow : report.flows) discarded += flow.discarded;
  EXPECT_GT(report.storms, 0u);
  EXPECT_GT(discarded, 0u);
  EXPECT_GT(delivered(report), 2 * locked);
  EXPECT_EQ(unaccounted(report), 0);
}

TEST(Watchdog, Forward_GetsTheRingGoing) {
  const std::uint64_t locked = delivered(run(locking(), with(WatchdogAction::None)));
  const RunReport report = run(locking(), with(WatchdogAction::Forward));
  EXPECT_GT(report.storms, 0u);
  EXPECT_GT(delivered(report), 2 * locked);
  EXPECT_EQ(unaccounted(report), 0);
}

/// h0 -> a -> b -> h1, and h1 takes a hundredth of what h0 sends: a PAUSE lasts, but is no
/// deadlock.
Topology slow_receiver() {
  Topology topology = two_switches();
  Link link;
  link.buffer = 1.5;
  topology.add_link(0, 1, link);
  link.xon = 0.25;
  topology.add_link(1, 2, link);
  link.capacity = 0.01;
  topology.add_link(2, 3, link);
  EXPECT_TRUE(topology.add_flow("f", {0, 1, 2, 3}).has_value());
  return topology;
}

TEST(Watchdog, ForwardToASlowReceiver_OverrunsItsBuffer) {
  EXPECT_EQ(overflowed(run(slow_receiver(), with(WatchdogAction::None))), 0u);
  const RunReport report = run(slow_receiver(), with(WatchdogAction::Forward));
  EXPECT_GT(report.storms, 0u);
  EXPECT_GT(overflowed(report), 0u);
  EXPECT_EQ(unaccounted(report), 0);
}

TEST(Watchdog, DropForASlowReceiver_DiscardsWhatItWouldHaveHeld) {
  const RunReport report = run(slow_receiver(), with(WatchdogAction::Drop));
  EXPECT_GT(report.flows[0].discarded, 0u);
  EXPECT_EQ(overflowed(report), 0u);
  EXPECT_EQ(unaccounted(report), 0);
}

TEST(Watchdog, PausesShorterThanDetection_AreLeftAlone) {
  RunOptions options = with(WatchdogAction::Drop);
  const RunReport watched = run(paper_ring(false, 0.1), options);
  EXPECT_EQ(watched.storms, 0u);
  options.watchdog.action = WatchdogAction::None;
  EXPECT_EQ(watched.hops, run(paper_ring(false, 0.1), options).hops);
}

TEST(Watchdog, PacketHeldUpByADeadlock_IsDeliveredLateByForwarding) {
  // What a late packet is to a failover: it sat in the ring until the watchdog let it go.
  const RunReport report = run(locking(), with(WatchdogAction::Forward));
  Picoseconds latest = 0;
  for (const FlowReport& flow : report.flows) latest = std::max(latest, flow.greatest_residence);
  EXPECT_GT(latest, 50 * kTheta);
}

/// h0 -> a -> h1, where h1 storms from 10 theta on; the poll is 10 theta.
RunOptions polled(WatchdogAction action, Picoseconds detect) {
  RunOptions options = until(200);
  options.watchdog = {
      .action = action, .detect = detect, .restore = 20 * kTheta, .poll = 10 * kTheta, .ports = {}};
  options.storms = {{2, 0, 15 * kTheta, 400 * kTheta}};
  return options;
}

TEST(Watchdog, Polled_TakesTwoLooksThatAgreeEvenForTheShortestTime) {
  // Looks at 20 (the first that sees the pause), 30 and 40 theta: time runs down from the second
  // on, and never in one step.
  RunOptions options = polled(WatchdogAction::Alert, 10 * kTheta);
  options.until = 39 * kTheta;
  EXPECT_EQ(run(bottleneck(), options).storms, 0u);
  options.until = 41 * kTheta;
  EXPECT_EQ(run(bottleneck(), options).storms, 1u);
}

TEST(Watchdog, Polled_CountsLooksAndNotThePausesLength) {
  // 25 theta at a poll of 10: three looks behind the first that sees it.
  RunOptions options = polled(WatchdogAction::Alert, 25 * kTheta);
  options.until = 49 * kTheta;
  EXPECT_EQ(run(bottleneck(), options).storms, 0u);
  options.until = 51 * kTheta;
  EXPECT_EQ(run(bottleneck(), options).storms, 1u);
}

TEST(Watchdog, Alert_CountsAStormOnceAndDoesNothing) {
  const RunReport report = run(bottleneck(), polled(WatchdogAction::Alert, 20 * kTheta));
  EXPECT_EQ(report.storms, 1u);
  EXPECT_EQ(report.flows[0].discarded, 0u);
  EXPECT_LT(report.flows[0].delivered, 16 * 40u);
}

TEST(Watchdog, AlertWhenTheStormIsOver_IsRestoredAtTheNextLook) {
  RunOptions options = polled(WatchdogAction::Alert, 20 * kTheta);
  options.storms[0].to = 105 * kTheta;
  const RunReport report = run(bottleneck(), options);
  EXPECT_EQ(report.restored, 1u);
  EXPECT_GT(report.flows[0].delivered, 100 * 40u);
}

TEST(Watchdog, PolledDrop_LetsGoAfterLooksThatHeardNothing) {
  RunOptions options = polled(WatchdogAction::Drop, 20 * kTheta);
  options.storms[0].to = 105 * kTheta;
  const RunReport report = run(bottleneck(), options);
  EXPECT_EQ(report.storms, 1u);
  EXPECT_EQ(report.restored, 1u);
  EXPECT_GT(report.flows[0].discarded, 0u);
  EXPECT_EQ(unaccounted(report), 0);
}

TEST(Watchdog, PolledWithQuanta_TakesPausesThatRanOutForOver) {
  RunOptions options = polled(WatchdogAction::Drop, 20 * kTheta);
  options.pause_timer.quanta = 1000;
  options.storms[0].to = 105 * kTheta;
  const RunReport report = run(bottleneck(), options);
  EXPECT_EQ(report.storms, 1u);
  EXPECT_EQ(report.restored, 1u);
}

TEST(Watchdog, OfOnePort_LeavesTheOthersAlone) {
  RunOptions options = with(WatchdogAction::None);
  options.watchdog.ports = {{5, WatchdogAction::Drop, 50 * kTheta, 20 * kTheta}};
  const Topology topology = locking();
  std::vector<LinkId> between_switches;
  for (LinkId link = 0; link < topology.links.size(); ++link)
    if (topology.nodes[topology.links[link].from].kind == NodeKind::Switch &&
        topology.nodes[topology.links[link].to].kind == NodeKind::Switch)
      between_switches.push_back(link);
  options.watchdog.ports[0].link = between_switches.front();
  const std::uint64_t locked = delivered(run(topology, with(WatchdogAction::None)));
  const RunReport report = run(topology, options);
  EXPECT_GT(report.storms, 0u);
  EXPECT_LT(report.storms, run(topology, with(WatchdogAction::Drop)).storms);
  EXPECT_GT(delivered(report), 2 * locked);
}

/// Of a pause that begins just behind a look; a picosecond earlier it has not fired.
TEST(Watchdog, PolledOne_TakesAsLongAsImportersTell) {
  const std::pair<Picoseconds, Picoseconds> times[] = {{20, 20}, {10, 40}, {25, 10}, {40, 20}};
  for (const auto& [detect, poll] : times) {
    RunOptions options = polled(WatchdogAction::Drop, detect * kTheta);
    options.watchdog.poll = poll * kTheta;
    const Picoseconds begin = poll * kTheta + 1;
    const auto longest = static_cast<Picoseconds>(longest_watched_pause(
        static_cast<double>(detect * kTheta), static_cast<double>(poll * kTheta)));
    options.storms = {{2, 0, begin, 1000 * kTheta}};
    options.until = begin + longest - 2;
    EXPECT_EQ(run(bottleneck(), options).storms, 0u) << detect << ' ' << poll;
    options.until = begin + longest;
    EXPECT_EQ(run(bottleneck(), options).storms, 1u) << detect << ' ' << poll;
  }
}

}  // namespace
}  // namespace portcullis::pfc::packet
