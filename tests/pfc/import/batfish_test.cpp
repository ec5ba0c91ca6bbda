// SPDX-License-Identifier: BSD-3-Clause
//
// Batfish's answers as CSV.
#include <gmock/gmock.h>

#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "tests/pfc/import/samples.hpp"

namespace portcullis::pfc::import {
namespace {

using testing::damaged;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::sample;
using ::testing::SizeIs;

TEST(Batfish, Sample_RoutesServerToServerOverBothSpines) {
  const auto imported = from_batfish(sample("batfish-edges.csv"), sample("batfish-routes.csv"));
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_THAT(imported->notes, ElementsAre(HasSubstr("6 cables of which nobody says how fast")));
  EXPECT_THAT(imported->topology.links, SizeIs(12));  // either end lists a cable
  const TopologyIndex index(imported->topology);
  Flow flow;
  flow.from = *index.node("server1");
  flow.to = *index.node("server2");
  flow.is_routed = true;
  EXPECT_THAT(cbd::FlowPaths(imported->topology).of(flow).links, SizeIs(1 + 2 + 2 + 1));
  const cbd::Analysis analysis = cbd::analyse(imported->topology, 0, {});
  EXPECT_TRUE(analysis.is_free_of_cycles());
  EXPECT_EQ(analysis.destinations, 2u);
  EXPECT_EQ(analysis.dead_ends.count, 0u);
}

TEST(Batfish, NextHopByAddress_IsLookedUpAsOftenAsItTakes) {
  File routes = sample("batfish-routes.csv");
  routes = damaged(routes, "10.0.2.0/24,ip 10.255.1.3", "10.0.2.0/24,ip 10.7.0.1");
  routes.text +=
      "leaf1,default,10.7.0.0/16,ip 10.8.0.1,static,0,1,\n"
      "leaf1,default,10.8.0.0/16,ip 10.255.1.3,static,0,1,\n"
      "leaf1,default,10.6.0.0/16,ip 10.6.0.1,static,0,1,\n"
      "leaf1,red,10.0.9.0/24,ip 10.6.0.1,static,0,1,\n"
      "leaf1,default,10.0.8.0/24,vrf red,static,0,1,\n";
  const auto imported = from_batfish(sample("batfish-edges.csv"), routes);
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_EQ(imported->topology.routes.size(), 8u);
  EXPECT_THAT(
      imported->notes,
      ElementsAre("1 routes by an address that no port leads to: that data is dropped",
                  HasSubstr("not looked at: data for what only 10.7.0.0/16, 10.8.0.0/16"),
                  HasSubstr("1 routes of other VRFs"), HasSubstr("1 routes into another VRF"),
                  HasSubstr("of which nobody says how fast")));
}

using BatfishMistake = testing::MistakeInOneOfTwo;

TEST_P(BatfishMistake, IsOneLineWithFileLineAndField) {
  EXPECT_EQ(error_of(from_batfish(first("batfish-edges.csv"), second("batfish-routes.csv"))),
            GetParam().answer);
}

constexpr testing::MistakeInOne kMistakes[] = {
    {"NoSuchColumn", true, "Remote_Interface", "Remote",
     "batfish-edges.csv:1: header: no Interface and Remote_Interface; the answer of layer1Edges or "
     "layer3Edges is accepted"},
    {"PortWithoutBrackets", true, "spine1[Ethernet1]", "spine1:Ethernet1",
     "batfish-edges.csv:2: Remote_Interface: \"spine1:Ethernet1\"; NODE[PORT] is accepted"},
    {"PortTwice", true, "leaf1[Ethernet2],spine2[Ethernet1]", "leaf1[Ethernet1],spine2[Ethernet1]",
     "batfish-edges.csv:4: cable: port Ethernet1 of leaf1 has a cable already; one is accepted"},
    {"NoNextHop", false, "Next_Hop", "Next_Hop_IP",
     "batfish-routes.csv:1: header: no Next_Hop; the answer of bf.q.routes() is accepted"},
    {"NodeWithoutEdge", false, "leaf1,default", "leaf9,default",
     "batfish-routes.csv:2: Node: \"leaf9\" has no edge; one of the edges' nodes is accepted"},
    {"PrefixThatIsNone", false, "10.0.1.0/24", "2001::/64",
     "batfish-routes.csv:2: Network: \"2001::/64\"; an IPv4 prefix is accepted"},
    {"NextHopThatIsNone", false, "interface Ethernet10", "Ethernet10",
     "batfish-routes.csv:2: Next_Hop: \"Ethernet10\"; interface PORT, interface PORT ip A.B.C.D, "
     "ip "
     "A.B.C.D and discard are accepted"},
    {"PortWithoutAnEdge", false, "interface Ethernet1 ip", "interface Ethernet7 ip",
     "batfish-routes.csv:21: Next_Hop: no edge at spine1[Ethernet7]; a port with one is accepted"},
};

INSTANTIATE_TEST_SUITE_P(All, BatfishMistake, ::testing::ValuesIn(kMistakes),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace portcullis::pfc::import
