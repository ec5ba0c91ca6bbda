// SPDX-License-Identifier: BSD-3-Clause
//
// Dumps of an InfiniBand subnet.
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

TEST(InfiniBand, LidOfNobody_IsTold) {
  const File tables = damaged(sample("subnet.fts"), "0x0006 010", "0x0009 010");
  EXPECT_THAT(from_infiniband(sample("subnet.ibnetdiscover"), tables)->notes.front(),
              HasSubstr("1 entries for LIDs of no channel adapter that was discovered"));
}

struct Mistake {
  const char* name;
  bool is_in_net;
  const char* from;
  const char* to;
  const char* answer;
};

class InfiniBandMistake : public ::testing::TestWithParam<Mistake> {
 protected:
  static File changed(const char* name, bool is_this) {
    return is_this ? damaged(sample(name), GetParam().from, GetParam().to) : sample(name);
  }
};

TEST_P(InfiniBandMistake, IsOneLineWithFileLineAndField) {
  EXPECT_EQ(error_of(from_infiniband(changed("subnet.ibnetdiscover", GetParam().is_in_net),
                                     changed("subnet.fts", !GetParam().is_in_net))),
            GetParam().answer);
}

constexpr Mistake kMistakes[] = {
    {"UnknownSpeed", true, "4xEDR", "4xFAST",
     "subnet.ibnetdiscover:10: speed: none at the end of the line; as 4xEDR, with SDR to XDR, is "
     "accepted"},
    {"PortThatIsNone", true, "[1]\t\"S-", "[x]\t\"S-",
     "subnet.ibnetdiscover:10: port: [PORT] \"NAME\"[PORT] # .. is accepted, as ibnetdiscover "
     "prints it"},
    {"PeerThatIsNoNode", true, "[1]\t\"S-0000000000200011\"", "[1]\t\"S-0000000000200099\"",
     "subnet.ibnetdiscover:10: port: \"S-0000000000200099\" is no node of this file"},
    {"UnknownSwitch", false, "0000000000200001 (", "0000000000200091 (",
     "subnet.fts:1: guid: \"0000000000200091\"; the 16 digits of a switch that was discovered are "
     "accepted"},
    {"PortWithoutACable", false, "0x0005 010", "0x0005 011",
     "subnet.fts:5: port: 11: no cable at that port of leaf1"},
    {"EntryBeforeAnyTable", false, "Unicast lids", "lids",
     "subnet.fts:4: lid: no \"Unicast lids ..\" line before it"},
    {"EntryWithoutAPort", false, "0x0005 010", "0x0005 port",
     "subnet.fts:5: lid: 0xLID PORT : (..) is accepted, as dump_fts has it"},
};

INSTANTIATE_TEST_SUITE_P(All, InfiniBandMistake, ::testing::ValuesIn(kMistakes),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(InfiniBand, FilesOfOtherKinds_AreNamed) {
  EXPECT_EQ(error_of(from_infiniband({"x", "hello\n"}, sample("subnet.fts"))),
            "x:1: net: no cables; what ibnetdiscover prints is accepted");
  EXPECT_EQ(error_of(from_infiniband(sample("subnet.ibnetdiscover"), {"y", "hello\n"})),
            "y:1: tables: no routes; what dump_fts or dump_lfts prints is accepted");
}

}  // namespace
}  // namespace portcullis::pfc::import
