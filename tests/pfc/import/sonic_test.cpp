// SPDX-License-Identifier: BSD-3-Clause
//
// Configurations of SONiC.
#include <gmock/gmock.h>

#include <cmath>
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
  EXPECT_THAT(imported->notes, Contains(HasSubstr("residence --watchdog-ms 400")));
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
  const auto calculated = with(0, "\"pg_lossless_100000_40m_profile\"\n", "\"NULL\"\n");
  ASSERT_TRUE(calculated.has_value()) << error_of(calculated);
  EXPECT_THAT(calculated->notes,
              Contains(HasSubstr("priority groups 3-4 are calculated by the switch")));
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
