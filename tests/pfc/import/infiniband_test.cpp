// SPDX-License-Identifier: BSD-3-Clause
//
// Dumps of an InfiniBand subnet.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

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

TEST(InfiniBand, Sample_RoutesAdapterToAdapter) {
  const auto imported = from_infiniband(sample("subnet.ibnetdiscover"), sample("subnet.fts"));
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  const Topology& fabric = imported->topology;
  const TopologyIndex index(fabric);
  EXPECT_THAT(fabric.links, SizeIs(2 * 6));
  EXPECT_EQ(fabric.links[*index.link("leaf1-spine1")].capacity, 100);
  Flow flow;
  flow.from = *index.node("node1 HCA-1");
  flow.to = *index.node("node2 HCA-1");
  flow.is_routed = true;
  const cbd::FlowWays ways = cbd::FlowPaths(fabric).of(flow);
  EXPECT_THAT(ways.links, SizeIs(4));
  EXPECT_TRUE(ways.is_whole);
  EXPECT_EQ(cbd::analyse(fabric, 0, {}).destinations, 2u);
  EXPECT_THAT(imported->notes, ElementsAre(HasSubstr("service levels are not read")));
}

/// What a line of a forwarding table begins with; -n prints no more.
std::string entry(unsigned lid, unsigned port) { return fmt::format("0x{:04x} {:03}", lid, port); }
std::string entries(const std::vector<unsigned>& lids, unsigned port) {
  std::string text;
  for (const unsigned lid : lids) text += (text.empty() ? "" : "\n") + entry(lid, port);
  return text;
}

TEST(InfiniBand, LidOfNobody_IsTold) {
  const File tables = damaged(sample("subnet.fts"), "0x0006 010", "0x0009 010");
  EXPECT_THAT(from_infiniband(sample("subnet.ibnetdiscover"), tables)->notes.front(),
              HasSubstr("1 entries for LIDs of nothing that was discovered, left out"));
}

using InfiniBandMistake = testing::MistakeInOneOfTwo;

TEST_P(InfiniBandMistake, IsOneLineWithFileLineAndField) {
  EXPECT_EQ(error_of(from_infiniband(first("subnet.ibnetdiscover"), second("subnet.fts"))),
            GetParam().answer);
}

constexpr testing::MistakeInOne kMistakes[] = {
    {"UnknownSpeed", true, "4xEDR", "4xFAST",
     "subnet.ibnetdiscover:11: speed: none behind the peer's lid; as 4xEDR, with SDR to XDR, is "
     "accepted"},
    {"LanesBelowZero", true, "4xEDR", "-1xEDR",
     "subnet.ibnetdiscover:11: speed: none behind the peer's lid; as 4xEDR, with SDR to XDR, is "
     "accepted"},
    {"LanesThatAreNone", true, "4xEDR", "nanxEDR",
     "subnet.ibnetdiscover:11: speed: none behind the peer's lid; as 4xEDR, with SDR to XDR, is "
     "accepted"},
    {"PortThatIsNone", true, "[1]\t\"S-", "[x]\t\"S-",
     "subnet.ibnetdiscover:11: port: [PORT] \"NAME\"[PORT] # .. is accepted, as ibnetdiscover "
     "prints it"},
    {"PeerThatIsNoNode", true, "[1]\t\"S-0000000000200011\"", "[1]\t\"S-0000000000200099\"",
     "subnet.ibnetdiscover:11: port: \"S-0000000000200099\" is no node of this file"},
    {"UnknownSwitch", false, "0000000000200001 (", "0000000000200091 (",
     "subnet.fts:31: guid: \"0000000000200091\"; the 16 digits of a switch that was discovered are "
     "accepted"},
    {"EndsThatDisagree", true, "[1]\t\"S-0000000000200011\"[2]", "[1]\t\"S-0000000000200011\"[1]",
     "subnet.ibnetdiscover:11: port: \"S-0000000000200011\"[1] leads to \"S-0000000000200001\"[1] "
     "by its own line, 28"},
    {"NoWayBack", true, "[1](100002) \t\"S-", "lost \"S-",
     "subnet.ibnetdiscover:38: port: \"H-0000000000100001\"[1] has no line that leads back"},
    {"SwitchTwice", true, "Switch\t36 \"S-0000000000200012\"", "Switch\t36 \"S-0000000000200002\"",
     "subnet.ibnetdiscover:19: node: \"S-0000000000200002\" a second time; a node's GUID stands "
     "once"},
    {"EntryTwice", false, "0x0006", "0x0005",
     "subnet.fts:9: lid: 0x0005 has another port in this switch's table already"},
    {"EntryBeforeAnyTable", false, "Unicast lids", "lids",
     "subnet.fts:4: lid: no \"Unicast lids ..\" line before it"},
    {"EntryWithoutAPort", false, "0x0006 010", "0x0006 port",
     "subnet.fts:9: lid: 0xLID PORT : (..) is accepted, as dump_fts has it"},
};

INSTANTIATE_TEST_SUITE_P(All, InfiniBandMistake, ::testing::ValuesIn(kMistakes),
                         [](const auto& parameter) { return parameter.param.name; });

/// What a program of rdma-core prints beside what it always does.
TEST(InfiniBand, WhatOptionsAdd_IsNoObstacle) {
  File net = sample("subnet.ibnetdiscover");
  net = damaged(net, "\"spine1\" lid 3 4xEDR", "\"spine1\" lid 3 4xEDR s=4 w=2 v=5");  // --full
  net = damaged(net, "[1]\t\"S-0000000000200001\"[1]\t\t# \"leaf1\" lid 1 4xEDR",
                "[1]\t\"S-0000000000200001\"[1]\t\t# \"leaf1\" lid 1 4x???");  // no port 0 seen
  net = damaged(net, "# \"spine2\" enhanced", "# \"spine \"two\" in rack 3\" enhanced");
  net = damaged(net, "[10]\t\"H", "[10][ext 3]\t\"H");  // --grouping
  net = damaged(net, "vendid", "Chassis 1 (guid 0x200001)\n\nvendid");
  File tables = sample("subnet.fts");
  tables = damaged(tables, "switch DR path slid 0; dlid 0; 0 guid", "switch Lid 1 guid");
  tables =
      damaged(tables, "0x0005 010 : (Channel Adapter portguid 0x0000000000100002: 'node1 HCA-1')",
              "0x0005 010 ");  // -n
  tables =
      damaged(tables, "6 valid lids dumped", "0x0007 255 : (illegal port)\n7 lids dumped");  // -a
  tables.text +=
      "Multicast mlids [0xc000-0xc3ff] of switch Lid 1 guid 0x0000000000200001 (leaf1):\n"
      " MLid\n0xc000      x x   \n1 valid mlids dumped \n";
  const auto imported = from_infiniband(net, tables);
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_EQ(imported->topology.routes.size(), 8u);
  EXPECT_TRUE(TopologyIndex(imported->topology).node("spine \"two\" in rack 3").has_value());
  EXPECT_THAT(imported->notes, ElementsAre(HasSubstr("service levels are not read")));
  const TopologyIndex index(imported->topology);
  EXPECT_EQ(imported->topology.links[*index.link("leaf1-spine1")].capacity, 100);
}

/// A port that has lost its cable since, and a switch whose table could not be read.
TEST(InfiniBand, TablesThatLeadNowhere_AreTold) {
  File tables = damaged(sample("subnet.fts"), entry(6, 1), entry(6, 7));
  const size_t spine2 =
      tables.text.find("Unicast lids [0x0-0x6] of switch DR path slid 0; dlid 0; 0,2");
  tables.text.erase(spine2, tables.text.find("Unicast lids", spine2 + 1) - spine2);
  const auto imported = from_infiniband(sample("subnet.ibnetdiscover"), tables);
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_THAT(
      imported->notes,
      ElementsAre(HasSubstr("no table of spine2: data that comes there is dropped"),
                  HasSubstr("1 entries with a port that has no cable, the first of them port "
                            "7 of leaf1 (line 29)"),
                  HasSubstr("service levels")));
  EXPECT_GT(cbd::analyse(imported->topology, 0, {}).dead_ends.count, 0u);
}

/// Two rails: node1 has a port on either leaf, with a LID of its own; nothing goes round.
File two_rails() {
  File net = damaged(sample("subnet.ibnetdiscover"), "Ca\t1 \"H-0000000000100001\"",
                     "Ca\t2 \"H-0000000000100001\"");
  net = damaged(net, "[2]\t\"S-0000000000200012\"[2]",
                "[11]\t\"H-0000000000100001\"[2](100004) \t\t# \"node1 HCA-1\" lid 7 4xEDR\n"
                "[2]\t\"S-0000000000200012\"[2]");
  net.text +=  // node1 is the last of the file
      "[2](100004) \t\"S-0000000000200002\"[11]\t\t# lid 7 lmc 0 \"leaf2\" lid 2 4xEDR\n";
  return net;
}

TEST(InfiniBand, PortsOfOneAdapter_AreHostsOfTheirOwn) {
  File tables = sample("subnet.fts");
  tables = damaged(tables, entry(6, 1), entry(7, 2) + "\n" + entry(6, 1));     // leaf1
  tables = damaged(tables, entry(6, 10), entry(7, 11) + "\n" + entry(6, 10));  // leaf2
  tables = damaged(tables, entry(6, 2), entry(7, 2) + "\n" + entry(6, 2));     // spine2
  const auto imported = from_infiniband(two_rails(), tables);
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  const TopologyIndex index(imported->topology);
  ASSERT_TRUE(index.node("node1 HCA-1:1").has_value());
  ASSERT_TRUE(index.node("node1 HCA-1:2").has_value());
  EXPECT_EQ(imported->topology.nodes[*index.node("node1 HCA-1:2")].kind, NodeKind::Host);
  // As one destination leaf1 would send on what leaf2 sends back.
  const cbd::Analysis analysis = cbd::analyse(imported->topology, 0, {});
  EXPECT_TRUE(analysis.is_free_of_cycles());
  EXPECT_EQ(analysis.destinations, 3u);
}

TEST(InfiniBand, LidsThatTakeOtherWays_AreHostsOfTheirOwn) {
  // node2 has four LIDs: 8 to 11; 9 goes by spine2, the others by spine1.
  File net = damaged(sample("subnet.ibnetdiscover"), "# lid 6 lmc 0", "# lid 8 lmc 2");
  File tables = sample("subnet.fts");
  tables = damaged(tables, entry(6, 1), entries({8, 10, 11}, 1) + "\n" + entry(9, 2));
  tables = damaged(tables, entry(6, 10), entries({8, 9, 10, 11}, 10));
  tables = damaged(tables, entry(6, 2), entry(9, 2));              // spine2
  tables = damaged(tables, entry(6, 2), entries({8, 10, 11}, 2));  // spine1
  const auto imported = from_infiniband(net, tables);
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  const Topology& fabric = imported->topology;
  const TopologyIndex index(fabric);
  ASSERT_TRUE(index.node("node2 HCA-1 lid 9").has_value());
  EXPECT_THAT(imported->notes.front(), HasSubstr("1 LIDs take other ways"));
  Flow flow;
  flow.from = *index.node("node1 HCA-1");
  flow.to = *index.node("node2 HCA-1 lid 9");
  flow.is_routed = true;
  EXPECT_THAT(cbd::FlowPaths(fabric).of(flow).links,
              ElementsAre(*index.link("node1 HCA-1-leaf1"), *index.link("leaf1-spine2"),
                          *index.link("spine2-leaf2"), *index.link("leaf2-node2 HCA-1 lid 9")));
}

/// The subnet that ibnetdiscover(8) of rdma-core shows: two switches with two cables between them,
/// of which one end of one says 1xSDR; an adapter with two ports on one switch.
TEST(InfiniBand, SubnetOfTheManualPage_IsRead) {
  const std::string net =
      "#\n# Topology file: generated on Tue Jun  5 14:15:10 2007\n#\nNon-Chassis Nodes\n\n"
      "switchguid=0x5442ba00003080(5442ba00003080)\n"
      "Switch  24 \"S-005442ba00003080\"   # \"ISR9024 Voltaire\" base port 0 lid 6 lmc 0\n"
      "[10]    \"S-0008f10400410015\"[1]   # \"SW-6IB4 Voltaire\" lid 3 4xSDR\n"
      "[8]     \"H-0008f10403960558\"[2](8f1040396055a)  # \"MT23108\" lid 14 4xSDR\n"
      "[6]     \"S-0008f10400410015\"[3]   # \"SW-6IB4 Voltaire\" lid 3 4xSDR\n"
      "[12]    \"H-0008f10403960558\"[1](8f10403960559)  # \"MT23108\" lid 10 4xSDR\n\n"
      "Switch  8 \"S-0008f10400410015\"    # \"SW-6IB4 Voltaire\" base port 0 lid 3 lmc 0\n"
      "[6]     \"H-0008f10403960984\"[1](8f10403960985)  # \"MT23108\" lid 16 4xSDR\n"
      "[1]     \"S-005442ba00003080\"[10]  # \"ISR9024 Voltaire\" lid 6 1xSDR\n"
      "[3]     \"S-005442ba00003080\"[6]   # \"ISR9024 Voltaire\" lid 6 4xSDR\n\n"
      "Ca      2 \"H-0008f10403960984\"    # \"MT23108\"\n"
      "[1](8f10403960985)  \"S-0008f10400410015\"[6]     # lid 16 lmc 1 \"SW-6IB4 Voltaire\" lid 3 "
      "4xSDR\n\n"
      "Ca      2 \"H-0008f10403960558\"    # \"MT23108\"\n"
      "[2](8f1040396055a)  \"S-005442ba00003080\"[8]     # lid 14 lmc 1 \"ISR9024 Voltaire\" lid 6 "
      "4xSDR\n"
      "[1](8f10403960559)  \"S-005442ba00003080\"[12]    # lid 10 lmc 1 \"ISR9024 Voltaire\" lid 6 "
      "1xSDR\n";
  const std::string tables =
      "Unicast lids [0x0-0x10] of switch DR path slid 0; dlid 0; 0,1 guid 0x005442ba00003080 (a):\n"
      "0x000a 012 : (Channel Adapter portguid 0x0008f10403960559: 'MT23108')\n"
      "0x000b 012 : (path #2 out of 2: portguid 0x0008f10403960559)\n"
      "0x0010 010 : (Channel Adapter portguid 0x0008f10403960985: 'MT23108')\n"
      "0x0011 006 : (path #2 out of 2: portguid 0x0008f10403960985)\n"
      "4 valid lids dumped \n";
  const auto imported = from_infiniband({"net", net}, {"fts", tables});
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  const Topology& fabric = imported->topology;
  const TopologyIndex index(fabric);
  EXPECT_EQ(index.links_between(*index.node("ISR9024 Voltaire"), *index.node("SW-6IB4 Voltaire")),
            2u);
  EXPECT_EQ(fabric.links[*index.link("ISR9024 Voltaire-SW-6IB4 Voltaire")].capacity, 2);
  EXPECT_TRUE(index.node("MT23108").has_value());
  EXPECT_TRUE(index.node("MT23108 0008f10403960558:1").has_value());
  EXPECT_TRUE(index.node("MT23108 lid 17").has_value());  // by the other cable
}

TEST(InfiniBand, FilesOfOtherKinds_AreNamed) {
  EXPECT_EQ(error_of(from_infiniband({"x", "hello\n"}, sample("subnet.fts"))),
            "x:1: net: no cables; what ibnetdiscover prints is accepted");
  EXPECT_EQ(error_of(from_infiniband(sample("subnet.ibnetdiscover"), {"y", "hello\n"})),
            "y:1: tables: no routes; what dump_fts or dump_lfts prints is accepted");
}

}  // namespace
}  // namespace portcullis::pfc::import
