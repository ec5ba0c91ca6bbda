// SPDX-License-Identifier: BSD-3-Clause
//
// Route tables as FRR prints them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "pfc/topology_json.hpp"
#include "tests/pfc/import/samples.hpp"

namespace portcullis::pfc::import {
namespace {

using testing::damaged;
using ::testing::ElementsAre;
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
  tables[0] = damaged(tables[0], "\"10.0.2.0/24\":[", "\"10.0.0.0/16\":[");
  const auto imported = from_frr(sample("cables.csv"), tables);
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_EQ(imported->topology.routes.size(), 2u + 2u + 2u + 2u);
}

TEST(Frr, TableThatKnowsNoWay_IsTold) {
  auto tables = frr_samples();
  tables[0] = damaged(tables[0], "\"10.0.2.0/24\":[", "\"10.9.0.0/16\":[");
  EXPECT_THAT(from_frr(sample("cables.csv"), tables)->notes,
              ElementsAre(HasSubstr("1 pairs of node and prefix without a next hop"),
                          HasSubstr("not looked at: data for what only 10.9.0.0/16 covers")));
}

TEST(Frr, PrefixOfTwoSwitches_IsBehindBoth) {
  auto tables = frr_samples();
  tables[1] = damaged(tables[1], "\"10.0.2.0/24\":[", "\"10.0.1.0/24\":[");
  tables[1] = damaged(tables[1], "\"10.0.1.0/24\":[\n    {\n      \"prefix\":\"10.0.1.0/24\"",
                      "\"10.8.0.0/24\":[\n    {\n      \"prefix\":\"10.0.1.0/24\"");
  const auto imported = from_frr(sample("cables.csv"), tables);
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  const TopologyIndex index(imported->topology);
  const auto prefix = index.node("10.0.1.0/24");
  ASSERT_TRUE(prefix.has_value());
  EXPECT_TRUE(index.link_between(*index.node("leaf1"), *prefix).has_value());
  EXPECT_TRUE(index.link_between(*index.node("leaf2"), *prefix).has_value());
}

/// A table with these routes: prefix, protocol and next hops as JSON.
std::string table_of(const std::vector<std::array<std::string, 3>>& routes) {
  std::string text = "{";
  for (const auto& [prefix, protocol, hops] : routes)
    text += (text.size() > 1 ? "," : "") + ("\"" + prefix + "\":[{\"protocol\":\"" + protocol) +
            "\",\"selected\":true,\"destSelected\":true,\"nexthops\":[" + hops + "]}]";
  return text + "}";
}
std::string by(const std::string& port) {
  return R"({"flags":3,"fib":true,"ip":"10.255.0.1","afi":"ipv4","interfaceName":")" + port +
         R"(","active":true,"weight":1})";
}

/// json-c escapes slashes; a recursive next hop is followed by what it was resolved to.
TEST(Frr, RecursiveNextHops_AreThoseTheyResolveTo) {
  const std::string hops =
      R"({"ip":"10.0.0.9","interfaceName":"nowhere","fib":true,"active":true,"recursive":true},)" +
      by("swp1") + R"(,{"duplicate":true,"ip":"10.255.0.1","interfaceName":"swp1","active":true})";
  const auto imported = from_frr(
      {"c.csv", "node_a,port_a,node_b,port_b\nl1,swp1,l2,swp1\nh1,e,l1,swp9\nh2,e,l2,swp9\n"},
      {{"l1.json",
        table_of({{"10.0.1.0\\/24", "connected", by("swp9")}, {"10.0.2.0\\/24", "bgp", hops}})},
       {"l2.json", table_of({{"10.0.2.0\\/24", "connected", by("swp9")},
                             {"10.0.1.0\\/24", "static", by("swp1.100")}})}});
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_THAT(imported->topology.routes, SizeIs(2));
  EXPECT_THAT(imported->notes, ElementsAre(HasSubstr("of which nobody says how fast")));
}

/// Three switches in a ring, a prefix behind each on a port that is not in the list of cables; the
/// other two prefixes go clockwise. The circle is there whoever is on a cable besides.
TEST(Frr, SwitchWhoseHostsAreOnNoCable_SendsAllTheSame) {
  const std::string ring = "node_a,port_a,node_b,port_b\nr1,e2,r2,e1\nr2,e2,r3,e1\nr3,e2,r1,e1\n";
  std::vector<File> tables;
  for (int i = 1; i <= 3; ++i) {
    std::vector<std::array<std::string, 3>> routes;
    for (int to = 1; to <= 3; ++to)
      routes.push_back({fmt::format("10.0.{}.0/24", to), to == i ? "connected" : "bgp",
                        by(to == i ? "e9" : "e2")});
    tables.push_back({fmt::format("r{}.json", i), table_of(routes)});
  }
  for (const char* more : {"", "r1,e8,h1,eth0\n"}) {
    const auto imported = from_frr({"c.csv", ring + more}, tables);
    ASSERT_TRUE(imported.has_value()) << error_of(imported);
    EXPECT_FALSE(cbd::analyse(imported->topology, 0, {}).is_free_of_cycles()) << more;
  }
  EXPECT_THAT(
      from_frr({"c.csv", ring + "r1,e8,h1,eth0\n"}, tables)->notes,
      ::testing::Contains(HasSubstr("prefixes are connected to r2, r3 and no cable leads")));
}

/// One prefix of a switch is known everywhere, the other one only at its neighbour.
TEST(Frr, PrefixThatANodeHasNoRouteTo_IsDroppedThereAfterReadingToo) {
  const auto imported = from_frr(
      {"c.csv",
       "node_a,port_a,node_b,port_b\ns0,e2,s2,e0\ns1,e2,s2,e1\ns0,h,h0,eth0\n"
       "s1,h,h1,eth0\ns2,h,h2,eth0\n"},
      {{"s0.json",
        table_of({{"10.0.0.0/24", "connected", by("h")}, {"10.0.1.0/24", "connected", by("h")}})},
       {"s1.json", table_of({{"10.0.0.0/24", "bgp", by("e2")}})},
       {"s2.json",
        table_of({{"10.0.0.0/24", "bgp", by("e0")}, {"10.0.1.0/24", "bgp", by("e1")}})}});
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_TRUE(cbd::analyse(imported->topology, 0, {}).is_free_of_cycles());
  const auto again = parse_topology(to_json(imported->topology), "again");
  ASSERT_TRUE(again.has_value()) << again.error().text;
  EXPECT_TRUE(cbd::analyse(*again, 0, {}).is_free_of_cycles());
}

TEST(Frr, VlansOfACableToASwitch_AreNoDestination) {
  const auto imported =
      from_frr({"c.csv", "node_a,port_a,node_b,port_b\nl1,swp1,l2,swp1\n"},
               {{"l1.json", table_of({{"10.1.0.0/31", "connected", by("swp1.100")},
                                      {"10.9.9.9/32", "connected", by("lo0")}})},
                {"l2.json", table_of({{"10.1.0.0/31", "connected", by("swp1.100")}})}});
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_THAT(imported->topology.nodes, SizeIs(2));
  EXPECT_THAT(imported->notes, ElementsAre(HasSubstr("no prefix is connected to any switch"),
                                           HasSubstr("of which nobody says how fast")));
}

/// Two prefixes of one leaf by two spines that send them on to each other's: each has one way, the
/// two together have a circle.
TEST(Frr, PrefixesOfOneSwitchWithOtherWays_AreNotMixed) {
  const File cables{"c.csv",
                    "node_a,port_a,node_b,port_b\nl1,p1,s1,p1\nl1,p2,s2,p1\nl2,p1,s1,p2\n"
                    "l2,p2,s2,p2\nh1,e,l1,p9\nh2,e,l2,p9\ns1,p3,s2,p3\n"};
  const auto imported = from_frr(
      cables,
      {{"l1.json", table_of({{"10.0.1.0/24", "connected", by("vlan1")},
                             {"10.0.2.0/24", "connected", by("vlan2")}})},
       {"l2.json", table_of({{"10.0.1.0/24", "bgp", by("p1")}, {"10.0.2.0/24", "bgp", by("p2")}})},
       {"s1.json", table_of({{"10.0.1.0/24", "bgp", by("p3")}, {"10.0.2.0/24", "bgp", by("p1")}})},
       {"s2.json",
        table_of({{"10.0.1.0/24", "bgp", by("p1")}, {"10.0.2.0/24", "bgp", by("p3")}})}});
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_TRUE(TopologyIndex(imported->topology).node("10.0.2.0/24").has_value());
  EXPECT_THAT(imported->notes, ElementsAre(HasSubstr("10.0.2.0/24: routed otherwise"),
                                           HasSubstr("of which nobody says how fast")));
  EXPECT_TRUE(cbd::analyse(imported->topology, 0, {}).is_free_of_cycles());
  // What is read is what was written.
  const auto again = parse_topology(to_json(imported->topology), "again");
  ASSERT_TRUE(again.has_value()) << error_of(again);
  EXPECT_TRUE(cbd::analyse(*again, 0, {}).is_free_of_cycles());
}

TEST(Frr, ServerOnTwoSwitches_IsAHost) {
  File cables = sample("cables.csv");
  cables.text += "server1,eth1,leaf2,swp11,25\n";
  const auto imported = from_frr(cables, frr_samples());
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  const TopologyIndex index(imported->topology);
  EXPECT_EQ(imported->topology.nodes[*index.node("server1")].kind, NodeKind::Host);
  EXPECT_THAT(imported->notes,
              ElementsAre("no table of server1: taken as hosts, which pass nothing on"));
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
