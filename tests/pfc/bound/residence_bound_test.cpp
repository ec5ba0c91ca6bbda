// SPDX-License-Identifier: BSD-3-Clause
//
// The bound on residence against the packet simulator: fabrics, flows, buffers and starts at
// random, and no packet may ever be later. Where a run locks there must have been no bound.
#include "pfc/bound/residence_bound.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "pfc/cbd/advice.hpp"
#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/generators.hpp"
#include "pfc/cbd/rewritten.hpp"
#include "pfc/cbd/routing.hpp"
#include "pfc/packet/simulator.hpp"
#include "pfc/scenarios.hpp"
#include "pfc/watchdog.hpp"

namespace portcullis::pfc::bound {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kUnit = 8e6;  // picoseconds of one unit of time

double bound_of(const Topology& topology, const BoundOptions& options = {}) {
  const auto bound = bound_residence(topology, options);
  EXPECT_TRUE(bound.has_value());
  return bound->most;
}

TEST(ResidenceBound, PacketThatMeetsNobody_TakesItsLinksAndDelays) {
  // One hop: 200 ns on the link and 1 us of delay.
  Topology topology = *scenario("seed-2");
  topology.flows.resize(1);
  topology.flows[0].path = {0};
  topology.flows[0].to = topology.links[0].to;
  topology.links[0].delay = 0.125;
  EXPECT_NEAR(bound_of(topology), (200'000 + 1'000'000) / kUnit, 1e-12);
}

TEST(ResidenceBound, LongDelay_IsInIt) {
  Topology topology = *scenario("seed-2");
  for (Link& link : topology.links) link.delay = 5000;
  EXPECT_GT(bound_of(topology), 10'000);
}

TEST(ResidenceBound, CircleWithoutWatchdog_HasNone) {
  for (const char* name : {"seed-1", "ring-3"}) {
    const ResidenceBound bound = *bound_residence(*scenario(name), {});
    EXPECT_FALSE(std::isfinite(bound.most)) << name;
    EXPECT_THAT(bound.circle, SizeIs(4)) << name;
  }
}

/// A ring of four that rewrites at one turn: no buffer waits for itself. Back at another, one does.
TEST(ResidenceBound, CircleThatIsRewritten_HasOneUnlessItClosesAgain) {
  Topology topology = *cbd::ring(4, 2);
  EXPECT_FALSE(std::isfinite(bound_residence(topology, {})->most));
  const auto& path = topology.flows[0].path;
  topology.rewrites.push_back({path[1], path[2], 0, 1});
  EXPECT_TRUE(std::isfinite(bound_residence(topology, {})->most));
  Topology closed = *cbd::ring(4, 3);
  closed.rewrites.push_back({closed.flows[0].path[1], closed.flows[0].path[2], 0, 1});
  closed.rewrites.push_back({closed.flows[1].path[1], closed.flows[1].path[2], 1, 0});
  const ResidenceBound none = *bound_residence(closed, {});
  EXPECT_FALSE(std::isfinite(none.most));
  EXPECT_THAT(none.circle_priorities, SizeIs(none.circle.size()));
  EXPECT_THAT(circle_text(closed, none), HasSubstr("@1 waits for"));
}

/// With routes alone data begins in the priority that is rewritten and that nothing becomes.
TEST(ResidenceBound, RewritesThatNothingMeets_CostWhatOnePriorityMoreDoes) {
  Topology plain = *cbd::leaf_spine({.leaves = 3, .spines = 2, .hosts = 1});
  plain.priorities = {0};
  Topology rewritten = plain;
  const TopologyIndex index(plain);
  rewritten.rewrites.push_back(
      {*index.link("spine0-leaf0"), *index.link("leaf0-spine0"), 0, 1});  // no data turns back
  const double alone = *bound_residence(plain, {})->routes;
  EXPECT_GT(*bound_residence(rewritten, {})->routes, alone);
  EXPECT_TRUE(std::isfinite(*bound_residence(rewritten, {})->routes));
}

TEST(ResidenceBound, FlowBesideTheCircle_HasItsOwn) {
  Topology topology = *scenario("ring-3");
  const NodeId one = topology.add_node("one", NodeKind::Host);
  const NodeId middle = topology.add_node("middle", NodeKind::Switch);
  const NodeId other = topology.add_node("other", NodeKind::Host);
  topology.add_link(one, middle);
  topology.add_link(middle, other);
  ASSERT_TRUE(topology.add_flow("apart", {one, middle, other}).has_value());
  const ResidenceBound bound = *bound_residence(topology, {});
  EXPECT_TRUE(std::isfinite(bound.flows.back()));
  EXPECT_FALSE(std::isfinite(bound.flows.front()));
}

TEST(ResidenceBound, Watchdog_GivesACircleOne) {
  BoundOptions options;
  options.watchdog_ps = 2e8;  // 200 us
  const double bound = bound_of(*scenario("ring-3"), options);
  EXPECT_TRUE(std::isfinite(bound));
  EXPECT_GT(bound, 2e8 / kUnit);
}

TEST(ResidenceBound, IngressThatEndsNowhere_IsNamed) {
  Topology topology = *scenario("seed-2");
  topology.links[0].xoff = topology.links[0].xon = kUnlimited;
  const ResidenceBound bound = *bound_residence(topology, {});
  EXPECT_FALSE(std::isfinite(bound.most));
  EXPECT_THAT(bound.circle, IsEmpty());
  EXPECT_EQ(bound.reason, "the ingress of host-f-1 has neither a threshold nor a buffer that ends");
}

TEST(ResidenceBound, BufferThatHoldsNoPacket_IsNamed) {
  Topology topology = *scenario("seed-2");
  BoundOptions options;
  options.pause.packet_bytes = 9000;
  topology.links[0].xoff = topology.links[0].xon = topology.links[0].buffer = 0.05;  // 2000 bytes
  EXPECT_EQ(bound_residence(topology, options).error().text,
            "link host-f-1: a buffer of 2000 bytes holds no packet of 9000; smaller packets or a "
            "larger buffer are accepted");
  topology.links[0].buffer = 1;
  topology.nodes[topology.links[0].to].shared_buffer = 0.05;
  EXPECT_THAT(bound_residence(topology, options).error().text, HasSubstr("holds no packet"));
}

TEST(ResidenceBound, TimesBeyondAllNumbers_AreTheReason) {
  Topology topology = *scenario("seed-2");
  for (Link& link : topology.links) link.delay = 1e308;
  const ResidenceBound bound = *bound_residence(topology, {});
  EXPECT_FALSE(std::isfinite(bound.most));
  EXPECT_EQ(bound.reason, "the times of this fabric are too long to be added up");
}

TEST(ResidenceBound, PauseFramesThatFillACable_AreTheReason) {
  Topology topology = *scenario("seed-2");
  topology.add_link(topology.links[0].to, topology.links[0].from);  // for the PAUSE frames
  topology.flows[1].priority = 3;
  BoundOptions options;
  options.pause.packet_bytes = 100;
  const ResidenceBound bound = *bound_residence(topology, options);
  EXPECT_FALSE(std::isfinite(bound.most));
  EXPECT_EQ(bound.reason,
            "PAUSE frames for packets so small may take all of the cable of link host-f-1");
}

/// 1e-306 makes times that a double does not hold, and those of a quotient fall out of a maximum.
TEST(ResidenceBound, LinkSlowerThanAllNumbers_LeavesNoFlowOverItABound) {
  Topology topology = *cbd::leaf_spine({.leaves = 2, .spines = 1, .hosts = 1});
  for (Link& link : topology.links) link.delay = 0.125;
  for (const char* name : {"leaf0-spine0", "spine0-leaf0"})
    topology.links[*TopologyIndex(topology).link(name)].capacity = 1e-306;
  const auto node = [&](const char* name) { return *TopologyIndex(topology).node(name); };
  ASSERT_TRUE(topology
                  .add_flow("f", {node("host0"), node("leaf0"), node("spine0"), node("leaf1"),
                                  node("host1")})
                  .has_value());
  for (const double watchdog_ps : {0.0, 1e9}) {
    BoundOptions options;
    if (watchdog_ps > 0) options.watchdog_ps = watchdog_ps;
    const ResidenceBound bound = *bound_residence(topology, options);
    EXPECT_EQ(bound.flows.front(), kUnlimited);
    EXPECT_EQ(*bound.routes, kUnlimited);
    EXPECT_EQ(bound.reason, "the times of this fabric are too long to be added up");
  }
}

/// h -> s -> o, and a link back from o that is ten times as fast.
Topology with_return_link(double xoff) {
  Topology topology;
  const NodeId h = topology.add_node("h", NodeKind::Host);
  const NodeId s = topology.add_node("s", NodeKind::Switch);
  const NodeId o = topology.add_node("o", NodeKind::Host);
  Link link;
  link.xoff = link.xon = kUnlimited;
  link.buffer = 0.25;
  link.capacity = 0.25;
  topology.add_link(h, s, link);
  link.buffer = kUnlimited;
  link.capacity = 0.125;
  topology.add_link(s, o, link);
  link.xoff = link.xon = xoff;
  link.capacity = 1.25;
  topology.add_link(o, s, link);
  EXPECT_TRUE(topology.add_flow("f", {h, s, o}).has_value());
  return topology;
}

/// What never closes sends no PAUSE frames, which could take the link of the data.
TEST(ResidenceBound, GatesThatNeverClose_TakeNothingOfALink) {
  BoundOptions options;
  options.pause.packet_bytes = 125;
  Topology alone = with_return_link(kUnlimited);
  alone.links.pop_back();
  const double bound = bound_of(alone, options);
  EXPECT_TRUE(std::isfinite(bound));
  EXPECT_EQ(bound_of(with_return_link(kUnlimited), options), bound);
  EXPECT_EQ(bound_of(with_return_link(0.5), options), bound);  // no data comes over it
  Topology used = with_return_link(0.5);
  ASSERT_TRUE(used.add_flow("g", {2, 1, 2}).has_value());
  EXPECT_FALSE(std::isfinite(bound_of(used, options)));
}

TEST(ResidenceBound, LossyClass_IsBoundedByItsBuffers) {
  Topology topology = *scenario("ring-3");
  for (Link& link : topology.links) {
    link.xoff = link.xon = kUnlimited;
    link.buffer = 2;
  }
  EXPECT_TRUE(std::isfinite(bound_of(topology)));
}

TEST(ResidenceBound, Routes_AreBoundedWithoutFlows) {
  const ResidenceBound bound =
      *bound_residence(*cbd::leaf_spine({.leaves = 4, .spines = 2, .hosts = 1}), {});
  ASSERT_TRUE(bound.routes.has_value());
  EXPECT_TRUE(std::isfinite(*bound.routes));
  EXPECT_GT(*bound.routes, 4);  // thresholds of a chain of buffers
}

TEST(ResidenceBound, RoutesInALoop_HaveNone) {
  Topology topology = *cbd::ring(4, 1);
  topology.flows.clear();
  const NodeId destination = cbd::destinations_of(topology).front();
  for (NodeId node = 0; node < 4; ++node)
    topology.routes.push_back(
        {node, destination, *TopologyIndex(topology).link_between(node, (node + 1) % 4)});
  EXPECT_FALSE(std::isfinite(*bound_residence(topology, {})->routes));
}

TEST(ResidenceBound, RoutesInALoopWithATtl_BeginOverTheDearestOfSeveralNextHops) {
  Topology topology;
  for (const char* name : {"x", "a", "b", "c"}) topology.add_node(name, NodeKind::Switch);
  const NodeId end = topology.add_node("d", NodeKind::Host);
  // x-a, x-b, a-b, b-c, c-a, c-d
  const std::pair<NodeId, NodeId> cables[] = {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 1}, {3, end}};
  for (const auto& [from, to] : cables) {
    topology.add_link(from, to);
    topology.links.back().xoff = topology.links.back().xon = kUnlimited;
    topology.links.back().buffer = 2;
  }
  topology.links[1].delay = 1000;
  topology.routes = {{1, end, 2}, {2, end, 3}, {3, end, 5}, {3, end, 4}, {0, end, 0}, {0, end, 1}};
  Flow flow{"f", 0, end, {}, false, 0, 8, {}};
  topology.flows.push_back(flow);
  const double bound = bound_of(topology);
  EXPECT_GT(bound, 1000 * kUnit);
  std::swap(topology.routes[4].via, topology.routes[5].via);
  EXPECT_EQ(bound_of(topology), bound);
}

/// Of routes nobody says in which priority data comes, so it may come in any.
TEST(ResidenceBound, Routes_AreBoundedForAnyPriorityUnlessSomeAreNamed) {
  Topology topology = *cbd::leaf_spine({.leaves = 3, .spines = 2, .hosts = 1});
  const ResidenceBound any = *bound_residence(topology, {});
  EXPECT_EQ(priorities_text(any), "in any priority");
  ASSERT_TRUE(take_priorities(topology, {3, 0, 3}).has_value());
  const ResidenceBound two = *bound_residence(topology, {});
  EXPECT_EQ(priorities_text(two), "in priorities 0, 3 alone");
  EXPECT_LT(two.most, any.most);
  ASSERT_TRUE(take_priorities(topology, {5}).has_value());
  EXPECT_LT(bound_of(topology), two.most);
  topology.rewrites.push_back({0, 2, 5, 6});
  EXPECT_EQ(priorities_text(*bound_residence(topology, {})),
            "in priority 5 with data of priorities 5, 6 on the links");
}

TEST(ResidenceBound, FlowsAlone_AreBoundedForTheirPriorities) {
  Topology topology = *scenario("seed-2");
  topology.flows[1].priority = 3;
  EXPECT_EQ(priorities_text(*bound_residence(topology, {})), "in priorities 0, 3 alone");
}

TEST(ResidenceBound, PrioritiesThatAFlowIsNotIn_AreRefused) {
  Topology topology = *scenario("seed-2");
  EXPECT_EQ(take_priorities(topology, {1, 2}).error().text,
            "flows[0].priority: 0; one of the fabric's \"priorities\", 1, 2, is accepted");
  EXPECT_EQ(take_priorities(topology, {0, 8}).error().text, "priorities[1]: 8; 0 to 7 is accepted");
}

/// Many small packets stand where few large ones would, and one of the other priority comes before
/// each of them.
TEST(ResidenceBound, SmallPackets_WaitLongerThanLargeOnesWould) {
  Topology topology = *scenario("seed-2");
  topology.flows[1].priority = 1;
  packet::RunOptions run;
  run.until = static_cast<packet::Picoseconds>(300 * kUnit);
  run.packet_bytes = 4214;
  run.sizes.push_back({0, 256});
  const double latest =
      static_cast<double>(packet::simulate(topology, run)->flows[0].greatest_residence) / kUnit;
  BoundOptions options;
  options.pause.packet_bytes = 4214;
  EXPECT_LT(bound_of(topology, options), latest);
  options.pause.least_bytes = 256;
  EXPECT_GE(bound_of(topology, options), latest);
  options.pause.least_bytes = 4215;
  EXPECT_THAT(bound_residence(topology, options).error().text, HasSubstr("at most the largest"));
}

/// A gate that never closes asks for no PAUSE frames, however small packets are.
TEST(ResidenceBound, SmallPacketsWithoutPause_HaveTheBoundOfTheBuffers) {
  Topology topology = *scenario("seed-2");
  for (Link& link : topology.links) {
    link.xoff = link.xon = kUnlimited;
    link.buffer = 2;
  }
  BoundOptions options;
  options.pause.least_bytes = 84;
  EXPECT_TRUE(std::isfinite(bound_of(topology, options)));
}

TEST(ResidenceBound, NothingToLookAt_IsRefused) {
  Topology topology = *scenario("seed-2");
  topology.flows.clear();
  EXPECT_THAT(bound_residence(topology, {}).error().text, HasSubstr("to analyse"));
  topology.routes = {{2, 0, 2}};  // nobody's: link 2 leads away from the host it is for
  topology.nodes[1].kind = NodeKind::Switch;
  EXPECT_THAT(bound_residence(topology, {}).error().text, HasSubstr("nothing to look at"));
}

/// Fabrics for the comparison: tiers or rings, buffers, speeds, delays and flows as they come.
class RandomRun {
 public:
  explicit RandomRun(std::uint32_t seed) : random_(seed) {}

  Topology topology;
  packet::RunOptions run;
  BoundOptions options;

  void make(bool in_a_ring, bool keeps_routes = false) {
    constexpr std::uint32_t kSizes[] = {256, 1000, 1000, 4096, 9000};
    if (in_a_ring)
      topology = *cbd::ring(between(3, 5), between(1, 2));
    else
      topology = *cbd::leaf_spine(
          {.leaves = between(2, 4), .spines = between(1, 3), .hosts = between(1, 3)});
    for (Link& link : topology.links) vary(link);
    if (between(0, 3) == 0) share_buffers();
    if (!in_a_ring) add_flows(keeps_routes);
    for (Flow& flow : topology.flows) vary(flow);
    run.until = static_cast<packet::Picoseconds>(between(20, 120) * kUnit);
    run.packet_bytes = kSizes[between(0, 4)];
    run.pause_in_band = between(0, 3) != 0;
    run.response = between(0, 2) * 100'000;
    run.stop_at_deadlock = false;
    options.pause = {.packet_bytes = run.packet_bytes,
                     .response_ps = static_cast<double>(run.response),
                     .is_in_band = run.pause_in_band};
  }

  /// Turns that flows take, some of them, to priorities as they come: or what is advised.
  void rewrite(bool as_advised) {
    if (as_advised) {
      const auto advice = cbd::advise(topology, cbd::priorities_of(topology), cbd::Traffic::All,
                                      cbd::Remedy::Rewrites);
      if (advice) topology = advice->topology;
      return;
    }
    std::set<std::tuple<LinkId, LinkId, std::uint32_t>> seen;
    for (const Flow& flow : topology.flows)
      for (std::size_t hop = 1; hop < flow.path.size(); ++hop) {
        const std::uint32_t was = between(0, 2);
        const std::uint32_t becomes = (was + between(1, 2)) % 3;
        if (between(0, 2) == 0 && seen.insert({flow.path[hop - 1], flow.path[hop], was}).second)
          topology.rewrites.push_back({flow.path[hop - 1], flow.path[hop], was, becomes});
      }
  }

  /// One switch, hosts at it that send to one of them in one priority, and much that the routes
  /// permit in others, which no flow names.
  void make_with_guests() {
    topology = *cbd::leaf_spine({.leaves = 1, .spines = 1, .hosts = between(3, 5)});
    for (Link& link : topology.links) vary(link);
    const auto hosts = cbd::destinations_of(topology);
    topology.flows.push_back({"f", hosts[1], hosts[0], {}, true, between(0, 7), 0, {}});
    topology.flows[0].path = cbd::FlowPaths(topology).first_way(topology.flows[0]);
    send_elsewhere();
    run.until = static_cast<packet::Picoseconds>(between(20, 120) * kUnit);
    run.stop_at_deadlock = false;
    options.pause = {.packet_bytes = run.packet_bytes, .response_ps = 0, .is_in_band = true};
  }

  /// Messages that outlast the run, to the first host from all others.
  void send_elsewhere() {
    const auto hosts = cbd::destinations_of(topology);
    for (std::size_t i = 1; i < hosts.size(); ++i)
      for (std::uint32_t priority = 0; priority < kPriorities; ++priority)
        if (between(0, 3) != 0)
          run.messages.push_back({hosts[i], hosts[0], 400'000'000, 0, priority});
  }

  /// Flows of other sizes; the smallest so large that PAUSE frames seldom fill a cable.
  void mix_sizes() {
    options.pause.least_bytes = std::max(84U, run.packet_bytes / between(2, 20));
    for (std::uint32_t flow = 0; flow < topology.flows.size(); ++flow)
      if (between(0, 3) != 0)
        run.sizes.push_back({flow, between(0, 1) == 0
                                       ? options.pause.least_bytes
                                       : between(options.pause.least_bytes, run.packet_bytes)});
    for (Link& link : topology.links) link.xon = std::min(link.xon, some(0.3, 0.8) * link.xoff);
  }

  void watch() {
    run.watchdog.action = packet::WatchdogAction::Drop;
    run.watchdog.detect = between(1, 40) * 1'000'000;
    run.watchdog.restore = between(1, 40) * 1'000'000;
    options.watchdog_ps = static_cast<double>(run.watchdog.detect);
  }
  void poll() {
    run.watchdog.poll = between(1, 40) * 1'000'000;
    options.watchdog_ps = longest_watched_pause(static_cast<double>(run.watchdog.detect),
                                                static_cast<double>(run.watchdog.poll));
  }

 private:
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random_()) % (high - low + 1);
  }
  double some(double low, double high) {
    return low + (high - low) * static_cast<double>(random_()) / 4294967295.0;
  }

  void vary(Link& link) {
    constexpr double kSpeeds[] = {0.25, 0.5, 1, 1, 1, 2};
    link.capacity = kSpeeds[between(0, 5)];
    link.delay = between(0, 1) == 0 ? 0 : some(0, 0.5);
    link.xoff = some(0.3, 2);
    link.xon = between(0, 1) == 0 ? link.xoff : some(0.05, 1) * link.xoff;
    if (between(0, 3) == 0) link.buffer = link.xoff + some(0, 1);
  }

  void share_buffers() {
    for (Node& node : topology.nodes) {
      if (node.kind == NodeKind::Host) continue;
      node.shared_buffer = some(2, 8);
      node.alpha = between(0, 1) == 0 ? 0 : some(0.2, 2);
    }
  }

  void add_flows(bool keeps_routes) {
    const auto hosts = cbd::destinations_of(topology);
    const auto host = [&] {
      return hosts[between(0, static_cast<std::uint32_t>(hosts.size()) - 1)];
    };
    cbd::FlowPaths paths(topology);
    const NodeId busy = host();  // incast
    for (std::uint32_t i = between(2, 9); i > 0; --i) {
      Flow flow;
      flow.name = "f" + std::to_string(i);
      flow.from = host();
      flow.to = between(0, 1) == 0 ? busy : host();
      if (flow.from == flow.to) continue;
      flow.path = paths.first_way(flow);
      flow.is_routed = between(0, 1) == 0;
      topology.flows.push_back(flow);
    }
    if (topology.flows.empty()) {
      Flow flow;
      flow.name = "f";
      flow.from = hosts.front();
      flow.to = hosts.back();
      flow.path = paths.first_way(flow);
      topology.flows.push_back(flow);
    }
    if (between(0, 1) == 0 && !keeps_routes) topology.routes.clear();
    for (Flow& flow : topology.flows) flow.is_routed &= !topology.routes.empty();
  }

  void vary(Flow& flow) {
    flow.source.start = between(0, 1) == 0 ? 0 : some(0, 10);
    if (between(0, 2) == 0) {
      flow.source.kind = SourceKind::Rate;
      flow.source.rate = some(0.05, 1.5);
    }
    if (between(0, 3) == 0) flow.priority = between(0, 2);
  }

  std::mt19937 random_;
};

/// What one run showed beside its bound.
struct Compared {
  double latest = 0;  // time units
  double bound = 0;
  bool is_deadlocked = false;
  bool is_acyclic = true;
  bool has_rewrites = false;
  bool would_be_acyclic = true;  // if nothing were rewritten
  bool has_failed = false;
  bool holds_more = false;  // some ingress than PauseTimes says
};

Compared compare(const RandomRun& made) {
  Compared to;
  const auto report = packet::simulate(made.topology, made.run);
  const auto bound = bound_residence(made.topology, made.options);
  if (!report || !bound) return {.has_failed = true};
  for (const packet::FlowReport& flow : report->flows)
    to.latest = std::max({to.latest, static_cast<double>(flow.greatest_residence) / kUnit,
                          static_cast<double>(flow.oldest_held) / kUnit});
  to.latest =
      std::max(to.latest, static_cast<double>(report->of_messages.greatest_residence) / kUnit);
  const PauseTimes times(made.topology, made.options.pause);
  for (const packet::IngressReport& ingress : report->ingresses)
    to.holds_more |= static_cast<double>(ingress.most_bytes) > times.most_bytes(ingress.link);
  to.bound = bound->most;
  to.is_deadlocked = report->deadlock.has_value();
  for (const std::uint32_t priority : cbd::priorities_of(made.topology))
    to.is_acyclic &=
        cbd::analyse(made.topology, priority, {.with_breaks = false}).is_free_of_cycles();
  to.has_rewrites = !made.topology.rewrites.empty();
  if (!to.has_rewrites) return to;
  to.would_be_acyclic = to.is_acyclic;
  to.is_acyclic = cbd::analyse_rewritten(
                      made.topology, *cbd::check_question(made.topology, {}, cbd::Traffic::All), {})
                      .is_free_of_cycles();
  return to;
}

/// Runs of each kind; more of them by PORTCULLIS_RUNS=10000 in front of the test.
std::uint32_t runs() {
  constexpr std::uint32_t kRuns = 400;
  const char* const asked = std::getenv("PORTCULLIS_RUNS");
  return asked == nullptr ? kRuns : static_cast<std::uint32_t>(std::strtoul(asked, nullptr, 10));
}

TEST(ResidenceBound, RandomClosRuns_NeverExceedIt) {
  for (std::uint32_t seed = 0; seed < runs(); ++seed) {
    RandomRun made(seed);
    made.make(false);
    const Compared found = compare(made);
    EXPECT_FALSE(found.has_failed || found.holds_more) << seed;
    EXPECT_TRUE(found.is_acyclic) << seed;
    EXPECT_FALSE(found.is_deadlocked) << seed;
    EXPECT_LE(found.latest, found.bound) << seed;
  }
}

TEST(ResidenceBound, RandomRingRuns_NeverExceedItNorLockWithIt) {
  std::uint32_t locked = 0;
  for (std::uint32_t seed = 0; seed < runs(); ++seed) {
    RandomRun made(seed);
    made.make(true);
    const Compared found = compare(made);
    EXPECT_FALSE(found.has_failed || found.holds_more) << seed;
    EXPECT_FALSE(found.is_deadlocked && found.is_acyclic) << seed;
    EXPECT_FALSE(found.is_deadlocked && std::isfinite(found.bound)) << seed;
    EXPECT_LE(found.latest, found.bound) << seed;
    locked += found.is_deadlocked ? 1 : 0;
  }
  EXPECT_GT(locked, 10u);  // else the comparison has compared nothing
}

TEST(ResidenceBound, RandomRingRunsWithAWatchdog_NeverExceedIt) {
  std::uint32_t bounded = 0;
  for (std::uint32_t seed = 0; seed < runs(); ++seed) {
    RandomRun made(seed);
    made.make(true);
    made.watch();
    const Compared found = compare(made);
    EXPECT_FALSE(found.has_failed || found.holds_more) << seed;
    EXPECT_LE(found.latest, found.bound) << seed;
    bounded += std::isfinite(found.bound) ? 1 : 0;
  }
  EXPECT_GT(bounded, runs() / 2);
}

TEST(ResidenceBound, RandomRingRunsWithAPolledWatchdog_NeverExceedIt) {
  std::uint32_t bounded = 0;
  for (std::uint32_t seed = 0; seed < runs(); ++seed) {
    RandomRun made(seed);
    made.make(true);
    made.watch();
    made.poll();
    const Compared found = compare(made);
    EXPECT_FALSE(found.has_failed || found.holds_more) << seed;
    EXPECT_LE(found.latest, found.bound) << seed;
    bounded += std::isfinite(found.bound) ? 1 : 0;
  }
  EXPECT_GT(bounded, runs() / 2);
}

TEST(ResidenceBound, RandomClosRunsOfMixedSizes_NeverExceedIt) {
  std::uint32_t bounded = 0;
  for (std::uint32_t seed = 0; seed < runs(); ++seed) {
    RandomRun made(seed);
    made.make(false);
    made.mix_sizes();
    const Compared found = compare(made);
    EXPECT_FALSE(found.has_failed || found.holds_more) << seed;
    EXPECT_FALSE(found.is_deadlocked) << seed;
    EXPECT_LE(found.latest, found.bound) << seed;
    bounded += std::isfinite(found.bound) ? 1 : 0;
  }
  EXPECT_GT(bounded, runs() / 4);
}

TEST(ResidenceBound, RandomRingRunsOfMixedSizesWithAWatchdog_NeverExceedIt) {
  std::uint32_t bounded = 0;
  for (std::uint32_t seed = 0; seed < runs(); ++seed) {
    RandomRun made(seed);
    made.make(true);
    made.mix_sizes();
    made.watch();
    const Compared found = compare(made);
    EXPECT_FALSE(found.has_failed || found.holds_more) << seed;
    EXPECT_LE(found.latest, found.bound) << seed;
    bounded += std::isfinite(found.bound) ? 1 : 0;
  }
  EXPECT_GT(bounded, runs() / 4);
}

TEST(ResidenceBound, RandomClosRunsInPrioritiesThatNoFlowNames_NeverExceedIt) {
  std::uint32_t bounded = 0;
  for (std::uint32_t seed = 0; seed < runs(); ++seed) {
    RandomRun made(seed);
    made.make(false, true);
    made.send_elsewhere();
    const Compared found = compare(made);
    EXPECT_FALSE(found.has_failed || found.holds_more) << seed;
    EXPECT_FALSE(found.is_deadlocked) << seed;
    EXPECT_LE(found.latest, found.bound) << seed;
    bounded += std::isfinite(found.bound) ? 1 : 0;
  }
  EXPECT_GT(bounded, runs() / 2);
}

TEST(ResidenceBound, RandomSwitchesInPrioritiesThatNoFlowNames_NeverExceedIt) {
  std::uint32_t bounded = 0;
  for (std::uint32_t seed = 0; seed < runs(); ++seed) {
    RandomRun made(seed);
    made.make_with_guests();
    const Compared found = compare(made);
    EXPECT_FALSE(found.has_failed || found.holds_more) << seed;
    EXPECT_LE(found.latest, found.bound) << seed;
    bounded += std::isfinite(found.bound) ? 1 : 0;
  }
  EXPECT_GT(bounded, runs() / 2);
}

TEST(ResidenceBound, RandomClosRunsWithRewrites_NeverExceedIt) {
  std::uint32_t bounded = 0;  // PAUSE frames of several priorities may fill a cable
  for (std::uint32_t seed = 0; seed < runs(); ++seed) {
    RandomRun made(seed);
    made.make(false);
    made.rewrite(false);
    const Compared found = compare(made);
    EXPECT_FALSE(found.has_failed || found.holds_more) << seed;
    EXPECT_TRUE(found.is_acyclic) << seed;
    EXPECT_FALSE(found.is_deadlocked) << seed;
    EXPECT_LE(found.latest, found.bound) << seed;
    bounded += found.has_rewrites && std::isfinite(found.bound) ? 1 : 0;
  }
  EXPECT_GT(bounded, runs() / 2);
}

TEST(ResidenceBound, RandomRingRunsWithRewrites_NeverExceedItNorLockWithIt) {
  std::uint32_t locked = 0;
  std::uint32_t broken = 0;  // circles of links, and a bound
  for (std::uint32_t seed = 0; seed < runs(); ++seed) {
    RandomRun made(seed);
    made.make(true);
    made.rewrite(seed % 2 == 0);
    const Compared found = compare(made);
    EXPECT_FALSE(found.has_failed || found.holds_more) << seed;
    EXPECT_FALSE(found.is_deadlocked && found.is_acyclic) << seed;
    EXPECT_FALSE(found.is_deadlocked && std::isfinite(found.bound)) << seed;
    EXPECT_LE(found.latest, found.bound) << seed;
    locked += found.is_deadlocked ? 1 : 0;
    broken += !found.would_be_acyclic && std::isfinite(found.bound) ? 1 : 0;
  }
  EXPECT_GT(locked, 5u);  // else the comparison has compared nothing
  EXPECT_GT(broken, runs() / 10);
}

TEST(ResidenceBound, RandomRingRunsWithRewritesAndAWatchdog_NeverExceedIt) {
  std::uint32_t bounded = 0;
  for (std::uint32_t seed = 0; seed < runs(); ++seed) {
    RandomRun made(seed);
    made.make(true);
    made.rewrite(false);
    made.watch();
    const Compared found = compare(made);
    EXPECT_FALSE(found.has_failed || found.holds_more) << seed;
    EXPECT_LE(found.latest, found.bound) << seed;
    bounded += std::isfinite(found.bound) ? 1 : 0;
  }
  EXPECT_GT(bounded, runs() / 2);
}

}  // namespace
}  // namespace portcullis::pfc::bound
