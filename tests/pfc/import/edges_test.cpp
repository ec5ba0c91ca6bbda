// SPDX-License-Identifier: BSD-3-Clause
//
// Lists of cables.
#include <gmock/gmock.h>

#include <set>
#include <string>

#include "tests/pfc/import/samples.hpp"

namespace portcullis::pfc::import {
namespace {

using testing::damaged;
using ::testing::ElementsAre;
using testing::error_of;
using testing::sample;
using ::testing::SizeIs;

TEST(Edges, Sample_HasItsNodesAndCables) {
  const auto imported = from_edges(sample("cables.csv"));
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  const Topology& fabric = imported->topology;
  EXPECT_THAT(fabric.links, SizeIs(12));
  const TopologyIndex index(fabric);
  EXPECT_EQ(fabric.nodes[*index.node("server1")].kind, NodeKind::Host);
  EXPECT_EQ(fabric.nodes[*index.node("leaf1")].kind, NodeKind::Switch);
  EXPECT_EQ(fabric.links[*index.link("leaf1-spine1")].capacity, 100);
  EXPECT_EQ(fabric.links[*index.link("server2-leaf2")].capacity, 25);
}

TEST(Edges, NetBoxColumns_AreTaken) {
  const auto imported =
      from_edges({"netbox.csv",
                  "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name\n"
                  "\"sw,1\",dcim.interface,eth1,sw2,dcim.interface,eth1\n"
                  "\"sw,1\",dcim.interface,eth2,sw2,dcim.interface,eth2\n"});
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_EQ(imported->topology.nodes[0].name, "sw,1");
  EXPECT_EQ(imported->topology.links[2].name, "sw,1:eth2-sw2:eth2");  // the second between them
}

/// Spreadsheets begin a file of UTF-8 so.
TEST(Edges, ByteOrderMark_IsNoPartOfTheHeader) {
  File cables = sample("cables.csv");
  cables.text = "\xef\xbb\xbf" + cables.text;
  EXPECT_EQ(error_of(from_edges(cables)), "none");
}

TEST(Edges, CableListedByBothEnds_IsOne) {
  File cables = sample("cables.csv");
  cables.text += "spine1,swp1,leaf1,swp1,100\nleaf1,swp1,spine1,swp1,100\n";
  const auto imported = from_edges(cables);
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_THAT(imported->topology.links, SizeIs(12));
}

TEST(Edges, SpeedOfEitherEnd_IsTaken) {
  const auto imported = from_edges({"e.csv",
                                    "node_a,port_a,node_b,port_b,gbps\n"
                                    "a,1,b,1,\nb,1,a,1,100\n"   // the second end knows
                                    "a,2,b,2,25\nb,2,a,2,50\n"  // they disagree
                                    "a,3,b,3,\n"});             // nobody knows
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  const auto& links = imported->topology.links;
  ASSERT_THAT(links, SizeIs(6));
  EXPECT_EQ(links[0].capacity, 100);
  EXPECT_EQ(links[1].capacity, 100);
  EXPECT_EQ(links[2].capacity, 50);
  EXPECT_EQ(links[3].capacity, 50);
  EXPECT_THAT(imported->notes,
              ElementsAre("1 cables of which nobody says how fast they are: 40 Gb/s taken",
                          "1 cables have another speed at their other end, the higher taken: "
                          "a:2-b:2"));
}

/// a-b to c and a to b-c.
TEST(Edges, HyphensInNames_MakeNoTwoLinksOfOneName) {
  const auto imported = from_edges({"e.csv", "node_a,node_b\na-b,c\na,b-c\na,c\na-b,b-c\n"});
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  std::set<std::string> names;
  for (const Link& link : imported->topology.links) names.insert(link.name);
  EXPECT_THAT(names, SizeIs(8));
}

TEST(Edges, NetBoxCablesThatAreNotThere_AreLeftOutAndTold) {
  const auto imported =
      from_edges({"netbox.csv",
                  "side_a_device,side_a_name,side_b_device,side_b_name,status\n"
                  "sw1,eth1,sw2,eth1,connected\nsw1,eth2,sw2,eth2,Planned\nsw1,eth3,,,connected\n"
                  ",,sw2,eth4,connected\nsw1,eth5,sw2,eth5,decommissioning\n"});
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_THAT(imported->topology.links, SizeIs(4));
  EXPECT_THAT(imported->notes,
              ElementsAre("2 cables with a free end, left out",
                          "1 cables of status planned, left out; what is there already is "
                          "\"connected\"",
                          "1 cables of status \"decommissioning\", taken for there as if connected",
                          "2 cables of which nobody says how fast they are: 40 Gb/s taken"));
}

TEST(Edges, Hosts_MayBeNamed) {
  auto imported = from_edges(sample("cables.csv"));
  ASSERT_TRUE(set_hosts(imported->topology, {"leaf*"}).has_value());
  EXPECT_EQ(imported->topology.nodes[0].kind, NodeKind::Host);
  EXPECT_EQ(error_of(set_hosts(imported->topology, {"*7", "x"})),
            "no node \"*7\"; a node's name, with * for any characters, is accepted");
  EXPECT_TRUE(set_hosts(imported->topology, {"s*n*2"}).has_value());
  const TopologyIndex index(imported->topology);
  EXPECT_EQ(imported->topology.nodes[*index.node("spine2")].kind, NodeKind::Host);
  EXPECT_EQ(imported->topology.nodes[*index.node("spine1")].kind, NodeKind::Switch);
}

struct Mistake {
  const char* name;
  const char* from;
  const char* to;
  const char* answer;
};

class EdgesMistake : public ::testing::TestWithParam<Mistake> {};

TEST_P(EdgesMistake, IsOneLineWithFileLineAndField) {
  EXPECT_EQ(error_of(from_edges(damaged(sample("cables.csv"), GetParam().from, GetParam().to))),
            GetParam().answer);
}

constexpr Mistake kMistakes[] = {
    {"NoSuchColumns", "node_a", "from",
     "cables.csv:2: header: neither node_a and node_b nor side_a_device and side_b_device; one of "
     "these pairs is accepted"},
    {"SpeedThatIsNone", "swp1,100", "swp1,fast",
     "cables.csv:3: gbps: \"fast\"; a number above 0 is accepted"},
    {"SpeedBeyondAllFabrics", "swp1,100", "swp1,1e308",
     "cables.csv:3: gbps: \"1e308\"; 1e-50 to 1e+50 Gb/s are accepted"},
    {"MissingField", "swp1,100", "swp1",
     "cables.csv:3: 4 fields; 5, as the header has, are accepted"},
    {"NodeWithoutName", "leaf1,swp1", ",swp1",
     "cables.csv:3: node_a: empty; a node's name is accepted"},
    {"PortTwice", "leaf1,swp2", "leaf1,swp1",
     "cables.csv:4: cable: port swp1 of leaf1 has a cable already; one is accepted"},
    {"CableToItself", "spine1,swp1", "leaf1,swp9",
     "cables.csv:3: cable: \"leaf1\" is linked to itself; two different nodes are accepted"},
    {"OpenQuote", "server2,eth0", "\"server2,eth0", "cables.csv:8: a quote that is never closed"},
};

INSTANTIATE_TEST_SUITE_P(All, EdgesMistake, ::testing::ValuesIn(kMistakes),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(Edges, BytesThatAreNoText_AreNamed) {
  for (const char* bytes : {"\x86", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf8\x88\x80\x80"})
    EXPECT_THAT(error_of(from_edges({"e.csv", std::string("node_a,node_b\nk\xc3\xb6ln,") + bytes})),
                ::testing::HasSubstr("is none of UTF-8"));
  const auto imported = from_edges({"\x86.csv", "node_a,node_b\nk\xc3\xb6ln,\xf0\x9f\x8c\x8d\n"});
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_EQ(imported->topology.name, "");
}

TEST(Edges, EmptyFile_IsNamed) {
  EXPECT_EQ(error_of(from_edges({"e.csv", ""})), "e.csv:1: no header line");
  EXPECT_EQ(error_of(from_edges({"e.csv", "node_a,node_b\n"})),
            "e.csv:1: rows: none; a cable a line is accepted");
}

}  // namespace
}  // namespace portcullis::pfc::import
