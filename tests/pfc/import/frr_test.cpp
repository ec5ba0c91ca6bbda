// SPDX-License-Identifier: BSD-3-Clause
//
// Route tables as FRR prints them.
#include <gmock/gmock.h>

#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "tests/pfc/import/samples.hpp"

namespace portcullis::pfc::import {
namespace {

using testing::damaged;
using testing::error_of;
using testing::frr_samples;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::sample;
using ::testing::SizeIs;

TEST(Frr, Sample_RoutesServerToServerOverBothSpines) {
  const auto imported = from_frr(sample("cables.csv"), frr_samples());
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_THAT(imported->notes, IsEmpty());
  const TopologyIndex index(imported->topology);
  Flow flow;
  flow.from = *index.node("server1");
  flow.to = *index.node("server2");
  flow.is_routed = true;
  const cbd::FlowWays ways = cbd::FlowPaths(imported->topology).of(flow);
  EXPECT_THAT(ways.links, SizeIs(1 + 2 + 2 + 1));
  EXPECT_TRUE(ways.is_whole);
  const cbd::Analysis analysis =
      cbd::analyse(imported->topology, 0, {.traffic = cbd::Traffic::Routes});
  EXPECT_TRUE(analysis.is_free_of_cycles());
  EXPECT_EQ(analysis.destinations, 2u);
  EXPECT_EQ(analysis.dead_ends.count, 0u);
}

TEST(Frr, LongestPrefixThatCovers_Decides) {
  // leaf1 has 10.0.0.0/16 by spine1 and no entry of its own for 10.0.2.0/24 any more.
  auto tables = frr_samples();
  tables[0] = damaged(tables[0], "\"10.0.2.0/24\": [", "\"10.0.0.0/16\": [");
  const auto imported = from_frr(sample("cables.csv"), tables);
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_EQ(imported->topology.routes.size(), 2u + 2u + 2u + 2u);
}

TEST(Frr, TableThatKnowsNoWay_IsTold) {
  auto tables = frr_samples();
  tables[0] = damaged(tables[0], "\"10.0.2.0/24\": [", "\"10.9.0.0/16\": [");
  EXPECT_THAT(from_frr(sample("cables.csv"), tables)->notes,
              ::testing::ElementsAre(HasSubstr("1 pairs of node and prefix without a next hop")));
}

TEST(Frr, PrefixOfTwoSwitches_IsBehindBoth) {
  auto tables = frr_samples();
  tables[1] = damaged(tables[1], "\"10.0.2.0/24\": [", "\"10.0.1.0/24\": [");
  tables[1] = damaged(tables[1], "\"10.0.1.0/24\": [\n  {\n   \"prefix\": \"10.0.1.0/24\"",
                      "\"10.8.0.0/24\": [\n  {\n   \"prefix\": \"10.0.1.0/24\"");
  const auto imported = from_frr(sample("cables.csv"), tables);
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  const TopologyIndex index(imported->topology);
  const auto prefix = index.node("10.0.1.0/24");
  ASSERT_TRUE(prefix.has_value());
  EXPECT_TRUE(index.link_between(*index.node("leaf1"), *prefix).has_value());
  EXPECT_TRUE(index.link_between(*index.node("leaf2"), *prefix).has_value());
}

TEST(Frr, PortWithoutACable_IsNamedWithItsLine) {
  const File cables = damaged(sample("cables.csv"), "leaf1,swp1,spine1,swp1", "leaf1,,spine1,");
  EXPECT_THAT(error_of(from_frr(cables, frr_samples())),
              HasSubstr("nexthops[0].interfaceName: no cable at port \"swp1\" of leaf1; a port_a "
                        "or port_b of the list of cables is accepted"));
}

TEST(Frr, OtherMistakes_AreNamed) {
  const File cables = sample("cables.csv");
  EXPECT_EQ(error_of(from_frr(cables, {})),
            "cables.csv:1: tables: none; NODE.json of one switch or more is accepted");
  EXPECT_EQ(error_of(from_frr(cables, {{"x/core.json", "{}"}})),
            "x/core.json:1: file: no node \"core\" among the cables; tables are named NODE.json");
  EXPECT_THAT(error_of(from_frr(cables, {{"leaf1.json", "{\n\"2001::/64\": []}"}})),
              HasSubstr("leaf1.json:2: 2001::/64: "));
  EXPECT_THAT(
      error_of(from_frr(cables, {{"leaf1.json", "{\"10.0.0.0/8\": [{\"selected\": true}]}"}})),
      HasSubstr("leaf1.json:1: 10.0.0.0/8[0]: no \"nexthops\""));
}

}  // namespace
}  // namespace portcullis::pfc::import
