// SPDX-License-Identifier: BSD-3-Clause
//
// What a fabric's file makes of the time for which a queue pair's number rests.
#include "tools/fabric_residence.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "pfc/bound/residence_bound.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/generators.hpp"
#include "pfc/cbd/routing.hpp"
#include "pfc/packet/simulator.hpp"
#include "pfc/topology_json.hpp"

namespace portcullis::tools {
namespace {

using ::testing::HasSubstr;

/// A file in this test's own name, gone with it.
class FabricFile {
 public:
  explicit FabricFile(const pfc::Topology& topology)
      : path_(::testing::TempDir() + "fabric_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".json") {
    std::ofstream(path_) << pfc::to_json(topology);
  }
  FabricFile(const FabricFile&) = delete;
  FabricFile& operator=(const FabricFile&) = delete;
  ~FabricFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// XON below XOFF, for no bound holds where each frame of 84 bytes may close a gate.
pfc::Topology with_hysteresis(pfc::Topology fabric) {
  for (pfc::Link& link : fabric.links) link.xon = 0.8 * link.xoff;
  return fabric;
}

pfc::Topology clos() {
  return with_hysteresis(*pfc::cbd::leaf_spine({.leaves = 3, .spines = 2, .hosts = 2}));
}

/// Leaves and spines in a circle: what is for leaf0 goes up again at leaf1.
pfc::Topology circle() {
  pfc::Topology ring = with_hysteresis(*pfc::cbd::ring(4, 2));
  for (const pfc::Flow& flow : ring.flows)
    for (const pfc::LinkId link : flow.path)
      if (link % 4 != 0) ring.routes.push_back({ring.links[link].from, flow.to, link});
  return ring;
}

TEST(FabricResidence, OfAClos_IsItsBoundRoundedUp) {
  const pfc::Topology fabric = clos();
  const FabricFile file(fabric);
  pfc::bound::BoundOptions options;
  options.pause = {.packet_bytes = 4222, .least_bytes = 84};
  const double bound_ms =
      pfc::bound::bound_residence(fabric, options)->most * fabric.units.time_s * 1e3;
  const auto residence = residence_of({.file = file.path()});
  ASSERT_TRUE(residence.has_value()) << residence.error().text;
  EXPECT_EQ(residence->ms, static_cast<std::uint64_t>(std::ceil(bound_ms)));
  EXPECT_THAT(residence->text, HasSubstr("a packet of 84 to 4222 bytes comes at most"));
}

/// Of routes any priority is possible; fewer have to be said, and the lease's has to be among them.
TEST(FabricResidence, Priorities_AreAnyUnlessSaidAndHoldItsOwn) {
  const FabricFile file(clos());
  const auto any = residence_of({.file = file.path(), .own_priority = 3});
  ASSERT_TRUE(any.has_value()) << any.error().text;
  EXPECT_THAT(any->text, HasSubstr("after it was sent, in any priority, if hosts take"));
  EXPECT_THAT(any->text, HasSubstr("; --fabric-priorities, or \"priorities\" of the fabric, may"));
  const auto one = residence_of({.file = file.path(), .priorities = {3}, .own_priority = 3});
  ASSERT_TRUE(one.has_value()) << one.error().text;
  EXPECT_THAT(one->text, HasSubstr("after it was sent, in priority 3 alone, if hosts take"));
  EXPECT_LT(one->ms, any->ms);
  EXPECT_EQ(
      residence_of({.file = file.path(), .priorities = {3, 4}, .own_priority = 0}).error().text,
      "--priority 0: data of " + file.path() +
          " comes in 3, 4 alone; one of them, or more --fabric-priorities, are accepted");
}

TEST(FabricResidence, DelaysThatAreNotThere_AreTold) {
  const FabricFile file(clos());
  EXPECT_THAT(residence_of({.file = file.path()})->text, HasSubstr(" of 24 links have delay 0"));
  EXPECT_THAT(late_packets({.file = file.path()}, {.after_us = 0})->text,
              HasSubstr(" of 24 links have delay 0"));
}

TEST(FabricResidence, SlowerResponse_IsLaterAndSaid) {
  const FabricFile file(clos());
  const auto slow = residence_of({.file = file.path(), .response_us = 50, .priorities = {0}});
  ASSERT_TRUE(slow.has_value()) << slow.error().text;
  EXPECT_THAT(slow->text, HasSubstr("senders heed a PAUSE after 50 us"));
  EXPECT_GT(slow->ms, residence_of({.file = file.path(), .priorities = {0}})->ms);
}

/// An ACK costs two PAUSE frames of its own size there.
TEST(FabricResidence, GatesThatAnAckCloses_HaveNone) {
  const FabricFile file(*pfc::cbd::leaf_spine({.leaves = 3, .spines = 2, .hosts = 2}));
  EXPECT_THAT(residence_of({.file = file.path()}).error().text,
              HasSubstr("PAUSE frames for packets so small may take all of the cable"));
}

TEST(FabricResidence, LongerThanTheBound_IsWhatWasTold) {
  const FabricFile file(clos());
  EXPECT_EQ(residence_of({.file = file.path(), .told_ms = 9000})->ms, 9000u);
}

TEST(FabricResidence, CircleWithoutAValue_IsRefusedWithTheCircle) {
  const FabricFile file(circle());
  const auto residence = residence_of({.file = file.path()});
  ASSERT_FALSE(residence.has_value());
  EXPECT_THAT(residence.error().text, HasSubstr("no bound on how late a packet may be: sw0-sw1 "
                                                "waits for sw1-sw2"));
  EXPECT_THAT(residence.error().text, HasSubstr("--residence-ms is accepted"));
}

TEST(FabricResidence, CircleWithAValue_TakesItAndSaysWhy) {
  const FabricFile file(circle());
  const auto residence = residence_of({.file = file.path(), .told_ms = 700});
  ASSERT_TRUE(residence.has_value()) << residence.error().text;
  EXPECT_EQ(residence->ms, 700u);
  EXPECT_THAT(residence->text, HasSubstr("as told; ring-4 has no bound: sw0-sw1 waits"));
}

TEST(FabricResidence, CircleWithWatchdogs_HasABound) {
  const FabricFile file(circle());
  const auto residence = residence_of({.file = file.path(), .watchdog_ms = 5});
  ASSERT_TRUE(residence.has_value()) << residence.error().text;
  EXPECT_GT(residence->ms, 5u);
}

TEST(FabricResidence, PolledWatchdogs_CountTheLongestPauseThatTheyLetBe) {
  const FabricFile file(circle());
  // 1.2 s of 100 ms polled every 400, as docs/pfc.md has it.
  const auto polled = residence_of({.file = file.path(), .watchdog_ms = 100, .poll_ms = 400});
  ASSERT_TRUE(polled.has_value()) << polled.error().text;
  EXPECT_EQ(polled->ms, residence_of({.file = file.path(), .watchdog_ms = 1200})->ms);
  EXPECT_GT(polled->ms, residence_of({.file = file.path(), .watchdog_ms = 100})->ms);
}

TEST(FabricResidence, BoundOfMoreThanAnHour_IsRefusedUnlessAValueIsTold) {
  const FabricFile file(circle());
  const FabricOptions hours{.file = file.path(), .watchdog_ms = 3.6e6};
  EXPECT_THAT(
      residence_of(hours).error().text,
      HasSubstr("at most 3600000 are accepted, which fewer --fabric-priorities may give, or "
                "--residence-ms instead"));
  FabricOptions told = hours;
  told.told_ms = 700;
  const auto residence = residence_of(told);
  ASSERT_TRUE(residence.has_value()) << residence.error().text;
  EXPECT_EQ(residence->ms, 700u);
  EXPECT_THAT(residence->text, HasSubstr("700 ms, as told; in ring-4 a packet in any priority may "
                                         "be "));
  EXPECT_THAT(residence->text, HasSubstr(" ms late, which is longer"));
}

TEST(FabricResidence, FabricOfFlowsAlone_IsRefused) {
  const FabricFile file(*pfc::cbd::ring(4, 1));
  EXPECT_THAT(residence_of({.file = file.path()}).error().text,
              HasSubstr("nothing bounds data that is none of its flows"));
}

TEST(FabricResidence, FileThatIsNotThere_IsNamed) {
  EXPECT_EQ(residence_of({.file = "/nowhere/f.json"}).error().text,
            "--fabric /nowhere/f.json cannot be read: No such file or directory");
}

/// Five hosts that send to a sixth until `stop`; packets of each that are in the fabric still after
/// that much more, in units of time.
std::uint64_t most_in_the_fabric(pfc::Topology topology, double stop, double more) {
  pfc::cbd::FlowPaths paths(topology);
  const auto hosts = pfc::cbd::destinations_of(topology);
  for (std::size_t i = 1; i < hosts.size(); ++i) {
    pfc::Flow flow;
    flow.name = "f" + std::to_string(i);
    flow.from = hosts[i];
    flow.to = hosts[0];
    flow.path = paths.first_way(flow);
    flow.source.stop = stop;
    topology.flows.push_back(flow);
  }
  pfc::packet::RunOptions options;
  options.until = static_cast<pfc::packet::Picoseconds>((stop + more) * 8e6);
  const auto report = pfc::packet::simulate(topology, options);
  std::uint64_t most = 0;
  for (const auto& flow : report->flows) most = std::max(most, flow.held);
  return most;
}

TEST(LatePackets, WhoGivesUpAtOnce_HasNoMoreThanAreSaid) {
  const FabricFile file(clos());
  std::uint64_t seen = 0;
  for (const double after : {0.0, 0.5, 1.0, 2.0, 4.0, 8.0}) {
    const auto late = late_packets({.file = file.path()}, {.after_us = after * 8});
    ASSERT_TRUE(late.has_value()) << late.error().text;
    const std::uint64_t in_fabric = most_in_the_fabric(clos(), 50, after);
    EXPECT_LE(in_fabric, late->most.value()) << after;
    seen += in_fabric;
  }
  EXPECT_GT(seen, 20u);  // else nothing was compared
}

TEST(LatePackets, WhoGivesUpAfterTheBound_HasNone) {
  const FabricFile file(clos());
  pfc::bound::BoundOptions options;
  options.pause = {.packet_bytes = 4222, .least_bytes = 84};
  const double bound = pfc::bound::bound_residence(clos(), options)->most;
  const auto late = late_packets({.file = file.path()}, {.after_us = bound * 8 + 1e-6});
  ASSERT_TRUE(late.has_value()) << late.error().text;
  EXPECT_EQ(late->most, 0u);
  EXPECT_EQ(most_in_the_fabric(clos(), 50, bound), 0u);
  EXPECT_GT(late_packets({.file = file.path()}, {.after_us = bound * 8 - 1})->most, 0u);
}

/// A host with two links sends on both.
TEST(LatePackets, OfAHostWithTwoLinks_AreThoseOfBoth) {
  pfc::Topology fabric = clos();
  const pfc::Link first = fabric.links[0];
  ASSERT_EQ(fabric.nodes[first.from].kind, pfc::NodeKind::Host);
  const FabricFile one(fabric);
  const auto before = late_packets({.file = one.path(), .priorities = {0}}, {.after_us = 0});
  fabric.add_link(first.from, first.to, first);
  fabric.links.back().name = "second";
  const FabricFile two(fabric);
  const auto after = late_packets({.file = two.path(), .priorities = {0}}, {.after_us = 0});
  ASSERT_TRUE(before.has_value() && after.has_value());
  EXPECT_GE(after->most.value(), 2 * before->most.value());
  EXPECT_THAT(after->text, HasSubstr("over its 2 links"));
}

TEST(LatePackets, AreNoMoreThanTheClientHasOut) {
  const FabricFile file(clos());
  EXPECT_EQ(late_packets({.file = file.path()}, {.after_us = 0, .packets = 3})->most, 3u);
}

TEST(LatePackets, InACircle_AreAllThatTheClientHasOut) {
  const FabricFile file(circle());
  const auto late = late_packets({.file = file.path()}, {.after_us = 1e9});
  ASSERT_TRUE(late.has_value()) << late.error().text;
  EXPECT_FALSE(late->most.has_value());
  EXPECT_THAT(late->text, HasSubstr("no bound on how late a packet of ring-4 may be: sw0-sw1"));
  EXPECT_EQ(late_packets({.file = file.path()}, {.after_us = 1e9, .packets = 2})->most, 2u);
  EXPECT_EQ(late_packets({.file = file.path(), .watchdog_ms = 5}, {.after_us = 1e9})->most, 0u);
}

TEST(FabricResidence, WithoutAFabric_IsNothingOrWhatWasTold) {
  EXPECT_EQ(residence_of({})->ms, 0u);
  EXPECT_EQ(residence_of({.file = "", .told_ms = 250})->ms, 250u);
}

}  // namespace
}  // namespace portcullis::tools
