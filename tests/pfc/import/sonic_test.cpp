// SPDX-License-Identifier: BSD-3-Clause
//
// Configurations of SONiC.
#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/pfc/import/samples.hpp"

namespace portcullis::pfc::import {
namespace {

using ::testing::Contains;
using testing::damaged;
using testing::error_of;
using ::testing::HasSubstr;
using testing::sample;
using ::testing::SizeIs;

std::vector<File> samples() {
  return {sample("sonic-leaf1.json"), sample("sonic-leaf2.json"), sample("sonic-spine1.json")};
}

Result<Imported> with(std::size_t file, const char* from, const char* to) {
  std::vector<File> files = samples();
  files[file] = damaged(files[file], from, to);
  return from_sonic(files);
}

TEST(Sonic, Sample_HasCablesDelaysAndThresholds) {
  const auto imported = from_sonic(samples());
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  const Topology& fabric = imported->topology;
  const TopologyIndex index(fabric);
  EXPECT_THAT(fabric.links, SizeIs(2 * 4));  // one is called by an alias from its other end
  EXPECT_EQ(fabric.nodes[*index.node("server1")].kind, NodeKind::Host);
  const Link& up = fabric.links[*index.link("leaf1-spine1")];
  EXPECT_EQ(up.capacity, 100);
  EXPECT_DOUBLE_EQ(up.delay * fabric.units.time_s, 40 * 5e-9);
  // A dynamic threshold: never above the pool, 2^-3 of what is free of it, the headroom on top.
  EXPECT_DOUBLE_EQ(up.xoff * fabric.units.data_bytes, 10'875'072);
  EXPECT_DOUBLE_EQ(up.buffer * fabric.units.data_bytes, 10'875'072 + 71'552);
  EXPECT_EQ(fabric.nodes[*index.node("spine1")].alpha, 0.125);
  EXPECT_DOUBLE_EQ(fabric.nodes[*index.node("spine1")].shared_buffer * fabric.units.data_bytes,
                   10'875'072);
  EXPECT_EQ(fabric.links[*index.link("spine1-leaf1")].delay, up.delay);
  EXPECT_THAT(imported->notes, Contains(HasSubstr("residence --watchdog-ms 600, where all its")));
  EXPECT_THAT(imported->notes, Contains(HasSubstr("PFC is on for priorities 3, 4; data in any")));
}

/// A look never takes all of the detection time, and the first one only sees that a pause is there.
TEST(Sonic, WatchdogThatIsPolledSeldom_IsToldWithAllItsLooks) {
  const auto imported = with(0, "\"detection_time\": \"200\"", "\"detection_time\": \"500\"");
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_THAT(imported->notes, Contains(HasSubstr("residence --watchdog-ms 800")));
}

TEST(Sonic, WatchdogThatDoesNotDrop_IsNoneOfResidence) {
  const auto imported = with(0, "\"action\": \"drop\"", "\"action\": \"forward\"");
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_THAT(imported->notes,
              Contains(HasSubstr("(drop, forward): residence has no bound of watchdogs that do")));
}

TEST(Sonic, LengthThatOneEndAloneKnows_CountsInAnyOrder) {
  std::vector<File> files = samples();
  files[0] = damaged(files[0], "\"40m\"", "\"0m\"");
  const auto forward = from_sonic(files);
  ASSERT_TRUE(forward.has_value()) << error_of(forward);
  std::swap(files[0], files[2]);
  const auto backward = from_sonic(files);
  ASSERT_TRUE(backward.has_value()) << error_of(backward);
  const auto delay_s = [](const Topology& fabric) {
    return fabric.links[*TopologyIndex(fabric).link("leaf1-spine1")].delay * fabric.units.time_s;
  };
  EXPECT_DOUBLE_EQ(delay_s(forward->topology), 40 * 5e-9);
  EXPECT_DOUBLE_EQ(delay_s(backward->topology), 40 * 5e-9);
}

TEST(Sonic, EndsThatDisagree_AreToldByName) {
  const auto length = with(0, "\"40m\"", "\"30m\"");
  ASSERT_TRUE(length.has_value()) << error_of(length);
  EXPECT_THAT(length->notes, Contains(HasSubstr("1 cables have another CABLE_LENGTH at their other "
                                                "end, the longer taken: leaf1:Ethernet0-spine1")));
  const auto speed = with(0, "\"speed\": \"100000\"", "\"speed\": \"40000\"");
  ASSERT_TRUE(speed.has_value()) << error_of(speed);
  EXPECT_EQ(speed->topology.links[*TopologyIndex(speed->topology).link("spine1-leaf1")].capacity,
            100);
  EXPECT_THAT(speed->notes, Contains(HasSubstr("1 cables have another speed at their other end, "
                                               "the higher taken: leaf1-spine1")));
}

/// One end that is down takes the cable from both.
TEST(Sonic, PortThatIsKeptDown_HasNoCable) {
  for (const std::size_t file : {std::size_t{0}, std::size_t{2}}) {
    const auto one = with(file, "\"admin_status\": \"up\"", "\"admin_status\": \"down\"");
    ASSERT_TRUE(one.has_value()) << error_of(one);
    EXPECT_THAT(one->topology.links, SizeIs(2 * 3));
    EXPECT_FALSE(TopologyIndex(one->topology).link("leaf1-spine1").has_value());
    EXPECT_THAT(one->notes, Contains("1 cables at ports whose admin_status is down, left out: "
                                     "leaf1:Ethernet0-spine1:Ethernet0"));
  }
  const auto unsaid = with(0, "\"admin_status\": \"up\"", "\"index\": \"0\"");
  ASSERT_TRUE(unsaid.has_value()) << error_of(unsaid);
  EXPECT_THAT(unsaid->topology.links, SizeIs(2 * 4));
  EXPECT_THAT(unsaid->notes, Contains("1 cables at ports without admin_status, which SONiC keeps "
                                      "down: taken for up: leaf1:Ethernet0-spine1:Ethernet0"));
  EXPECT_THAT(error_of(with(0, "\"admin_status\": \"up\"", "\"admin_status\": \"off\"")),
              HasSubstr("up or down is accepted"));
}

TEST(Sonic, PortWithoutASpeed_IsToldOrHasItsNeighbours) {
  const auto one = with(0, "\"speed\": \"100000\",", "");
  ASSERT_TRUE(one.has_value()) << error_of(one);
  EXPECT_EQ(one->topology.links[*TopologyIndex(one->topology).link("leaf1-spine1")].capacity, 100);
  std::vector<File> files = samples();
  for (File& file : files)
    for (std::size_t at = 0; (at = file.text.find("\"speed\"")) != std::string::npos;)
      file.text.replace(at, 7, "\"spede\"");
  const auto none = from_sonic(files);
  ASSERT_TRUE(none.has_value()) << error_of(none);
  EXPECT_THAT(none->notes,
              Contains(HasSubstr("4 cables of which nobody says how fast they are: 40 Gb/s")));
}

TEST(Sonic, PriorityInAnotherGroup_HasThatGroupsRoom) {
  const std::string map = "\"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP\": {\"AZURE\": {\"3\": \"5\"}}, ";
  std::vector<File> files = samples();
  files[2] = damaged(files[2], "\"PORT_QOS_MAP\"", (map + "\"PORT_QOS_MAP\"").c_str());
  files[2] = damaged(files[2], "\"pfc_enable\"", "\"pfc_to_pg_map\": \"AZURE\", \"pfc_enable\"");
  const auto moved = from_sonic(files);
  ASSERT_TRUE(moved.has_value()) << error_of(moved);
  EXPECT_THAT(moved->notes, Contains(HasSubstr("lossless ports without a buffer profile")));
  files[2] = damaged(files[2], "\"3\": \"5\"", "\"3\": \"4\"");
  EXPECT_EQ(error_of(from_sonic(files)), "none");
  files[2] = damaged(files[2], "\"3\": \"4\"", "\"3\": \"9\"");
  EXPECT_THAT(error_of(from_sonic(files)), HasSubstr("a group from 0 to 7"));
}

TEST(Sonic, StaticThreshold_IsWhatIsReservedAndTheThreshold) {
  const auto imported = with(2, "\"dynamic_th\": \"-3\"", "\"static_th\": \"40000\"");
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  const TopologyIndex index(imported->topology);
  const Link& up = imported->topology.links[*index.link("leaf1-spine1")];
  EXPECT_DOUBLE_EQ(up.xoff * 40'000, 41'248);
  EXPECT_DOUBLE_EQ(up.xon * 40'000, 41'248 - 2'288);
  EXPECT_DOUBLE_EQ(up.buffer * 40'000, 41'248 + 71'552);
}

TEST(Sonic, PortWithoutPfcForThePriority_NeverPauses) {
  const auto imported = with(0, "\"pfc_enable\": \"3,4\"", "\"pfc_enable\": \"4\"");
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  const TopologyIndex index(imported->topology);
  EXPECT_TRUE(std::isinf(imported->topology.links[*index.link("spine1-leaf1")].xoff));
  EXPECT_FALSE(std::isinf(imported->topology.links[*index.link("leaf1-spine1")].xoff));
  EXPECT_EQ(error_of(from_sonic({samples()[0]}, 7)), "none");
}

TEST(Sonic, OtherSpellings_AreTaken) {
  const auto imported =
      with(0, "\"Ethernet64\": {\n   \"name\": \"server1\",\n   \"port\": \"eth0\"\n  }",
           "\"server1\": {\"local_port\": \"Ethernet64\", \"lo_addr\": null}");
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_THAT(imported->topology.links, SizeIs(8));
  const auto old = with(0, "\"pg_lossless_100000_40m_profile\"\n",
                        "\"[BUFFER_PROFILE|pg_lossless_100000_40m_profile]\"\n");
  EXPECT_EQ(error_of(old), "none");
  const auto old_pool = with(0, "\"pool\": \"ingress_lossless_pool\"",
                             "\"pool\": \"[BUFFER_POOL|ingress_lossless_pool]\"");
  EXPECT_EQ(error_of(old_pool), "none");
  const auto calculated = with(0, "\"pg_lossless_100000_40m_profile\"\n", "\"NULL\"\n");
  ASSERT_TRUE(calculated.has_value()) << error_of(calculated);
  EXPECT_THAT(calculated->notes,
              Contains(HasSubstr("priority groups 3-4 are calculated by the switch")));
}

/// As every switch of the dynamic buffer model has it: the lossy pool is sized by the switch.
TEST(Sonic, ProfileOfALossyGroup_NeedsNoPool) {
  const auto imported =
      with(0, "\"Ethernet0|3-4\"",
           "\"Ethernet0|0\": {\"profile\": \"ingress_lossy_profile\"},\n  \"Ethernet0|3-4\"");
  EXPECT_EQ(error_of(imported), "none");
}

struct Mistake {
  const char* name;
  const char* from;
  const char* to;
  const char* answer;
};

class SonicMistake : public ::testing::TestWithParam<Mistake> {};

TEST_P(SonicMistake, IsOneLineWithFileLineAndField) {
  EXPECT_EQ(error_of(with(0, GetParam().from, GetParam().to)), GetParam().answer);
}

constexpr Mistake kMistakes[] = {
    {"NoHostname", "hostname", "host",
     "sonic-leaf1.json:3: DEVICE_METADATA.localhost: no hostname; a name is needed"},
    {"HostnameTwice", "\"leaf1\"", "\"leaf2\"",
     "sonic-leaf2.json:1: hostname: \"leaf2\"; a name that no other file has is accepted"},
    {"SpeedThatIsNone", "\"speed\": \"100000\"", "\"speed\": \"fast\"",
     "sonic-leaf1.json:12: PORT.Ethernet0.speed: \"fast\"; a number, as a string is accepted"},
    {"ThresholdBelowZero", "\"xon_offset\": \"", "\"xon_offset\": \"-",
     "sonic-leaf1.json:52: BUFFER_PROFILE.pg_lossless_100000_40m_profile.xon_offset: \"-2288\"; a "
     "number from 0 on is accepted"},
    {"ThresholdThatIsNone", "\"xon_offset\": \"", "\"xon_offset\": \"nan\", \"x\": \"",
     "sonic-leaf1.json:52: BUFFER_PROFILE.pg_lossless_100000_40m_profile.xon_offset: \"nan\"; a "
     "number, as a string is accepted"},
    {"LengthWithoutEnd", "\"40m\"", "\"infm\"",
     "sonic-leaf1.json:36: CABLE_LENGTH.AZURE.Ethernet0: \"infm\"; metres, as \"5m\", is "
     "accepted"},
    {"NeighbourAtNoPort", "\"Ethernet0\": {\n   \"name\"", "\"Ethernet8\": {\n   \"name\"",
     "sonic-leaf1.json:25: DEVICE_NEIGHBOR: \"Ethernet8\" is no PORT; one of the ports is "
     "accepted"},
    {"NeighboursPortThatIsNone", "\"port\": \"etp1\"", "\"port\": \"etp9\"",
     "sonic-leaf1.json:25: DEVICE_NEIGHBOR: \"etp9\" is no PORT of spine1; one of its ports is "
     "accepted"},
    {"LengthWithoutUnit", "\"40m\"", "\"40\"",
     "sonic-leaf1.json:36: CABLE_LENGTH.AZURE.Ethernet0: \"40\"; metres, as \"5m\", is accepted"},
    {"PriorityThatIsNone", "\"3,4\"", "\"3,8\"",
     "sonic-leaf1.json:77: PORT_QOS_MAP.Ethernet0.pfc_enable: \"3,8\"; priorities from 0 to 7, as "
     "\"3,4\", is accepted"},
    {"ProfileThatIsNone", "\"profile\": \"pg_lossless_100000_40m_profile\"", "\"profile\": \"x\"",
     "sonic-leaf1.json:68: BUFFER_PG.Ethernet0|3-4.profile: \"x\"; the name of a BUFFER_PROFILE is "
     "accepted"},
    {"PoolWithoutSize", "\"size\": \"10875072\",\n", "",
     "sonic-leaf1.json:48: BUFFER_PROFILE.pg_lossless_100000_40m_profile: its pool "
     "ingress_lossless_pool has no size in BUFFER_POOL, as in a dynamic buffer model; what the "
     "switch calculated is needed"},
};

INSTANTIATE_TEST_SUITE_P(All, SonicMistake, ::testing::ValuesIn(kMistakes),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace portcullis::pfc::import
