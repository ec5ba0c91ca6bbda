// SPDX-License-Identifier: BSD-3-Clause
//
// GIDs, MACs, the RoCE address table's commands, and the UDP source port of a connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pmd/roce_address.hpp"
#include "pmd/roce_path.hpp"
#include "tests/pmd/object_rig.hpp"

namespace portcullis::testing {
namespace {

using pmd::Gid;
using pmd::Mac;
using pmd::RoceAddress;
using pmd::RoceAddressTable;
using ::testing::HasSubstr;

constexpr Mac kMac{{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}};

struct RoceAddresses : ::testing::Test, ObjectRig {
  static IfcMessage set_in() {
    return IfcMessage("set_roce_address_in", 48)
        .put("opcode", kSetRoceAddress)
        .put("roce_address.roce_version", 2);
  }
};

TEST(Gid, TextOfEitherFamilyIsRead) {
  EXPECT_EQ(Gid::parse("192.0.2.1").value(), Gid::from_ipv4(192, 0, 2, 1));
  EXPECT_EQ(Gid::parse("::ffff:192.0.2.1").value(), Gid::from_ipv4(192, 0, 2, 1));
  EXPECT_FALSE(Gid::parse("fe80::1").value().is_ipv4());
}

TEST(Gid, TextIsWhatWasRead) {
  EXPECT_EQ(Gid::parse("fe80::1").value().text(), "fe80::1");
  EXPECT_EQ(Gid::from_ipv4(192, 0, 2, 1).text(), "192.0.2.1");
}

TEST(Gid, OtherTextIsRefusedByName) {
  EXPECT_THAT(Gid::parse("192.0.2").error().text, HasSubstr("'192.0.2'"));
}

TEST(Mac, TextIsReadAndWritten) {
  EXPECT_EQ(Mac::parse("02:11:22:33:44:55").value(), kMac);
  EXPECT_EQ(kMac.text(), "02:11:22:33:44:55");
  EXPECT_EQ(kMac.number(), 0x021122334455u);
}

TEST(Mac, OtherTextIsRefused) {
  EXPECT_FALSE(Mac::parse("02:11:22:33:44"));
  EXPECT_FALSE(Mac::parse("02:11:22:33:44:5g"));
  EXPECT_FALSE(Mac::parse("02-11-22-33-44-55"));
}

TEST_F(RoceAddresses, Ipv4AddressIsV4MappedOfTypeIpv4) {
  RoceAddressTable table(context);
  ASSERT_TRUE(table.set(3, {Gid::from_ipv4(10, 1, 2, 3), kMac}));
  EXPECT_EQ(channel.last(),
            set_in()
                .put("roce_address_index", 3)
                .put("roce_address.source_l3_address", Gid::from_ipv4(10, 1, 2, 3).bytes)
                .put("roce_address.source_mac_47_32", 0x0211)
                .put("roce_address.source_mac_31_0", 0x22334455)
                .put("roce_address.roce_l3_type", 0)
                .bytes());
}

TEST_F(RoceAddresses, Ipv6AddressWithVlanIsOfTypeIpv6) {
  RoceAddressTable table(context);
  const Gid gid = Gid::parse("2001:db8::7").value();
  ASSERT_TRUE(table.set(0, {gid, kMac, 100}));
  EXPECT_EQ(channel.last(), set_in()
                                .put("roce_address.source_l3_address", gid.bytes)
                                .put("roce_address.source_mac_47_32", 0x0211)
                                .put("roce_address.source_mac_31_0", 0x22334455)
                                .put("roce_address.vlan_valid", 1)
                                .put("roce_address.vlan_id", 100)
                                .put("roce_address.roce_l3_type", 1)
                                .bytes());
}

TEST_F(RoceAddresses, WhatWasSetIsClearedOnTheWayOut) {
  {
    RoceAddressTable table(context);
    ASSERT_TRUE(table.set(2, {Gid::from_ipv4(10, 1, 2, 3), kMac}));
    ASSERT_TRUE(table.set(2, {Gid::from_ipv4(10, 1, 2, 4), kMac}));
  }
  EXPECT_EQ(channel.count(kSetRoceAddress), 3u);
  EXPECT_EQ(channel.last(),
            set_in().put("roce_address_index", 2).put("roce_address.roce_l3_type", 1).bytes());
}

TEST_F(RoceAddresses, WhatWasClearedIsNotClearedAgain) {
  {
    RoceAddressTable table(context);
    ASSERT_TRUE(table.set(2, {Gid::from_ipv4(10, 1, 2, 3), kMac}));
    ASSERT_TRUE(table.clear(2));
  }
  EXPECT_EQ(channel.count(kSetRoceAddress), 2u);
}

TEST_F(RoceAddresses, QueryReadsWhatTheDeviceHolds) {
  channel.answer(kQueryRoceAddress,
                 IfcMessage("query_roce_address_out", 48)
                     .put("roce_address.source_l3_address", Gid::from_ipv4(10, 1, 2, 3).bytes)
                     .put("roce_address.source_mac_47_32", 0x0211)
                     .put("roce_address.source_mac_31_0", 0x22334455)
                     .put("roce_address.vlan_valid", 1)
                     .put("roce_address.vlan_id", 7));
  const RoceAddressTable table(context);
  EXPECT_EQ(table.query(5).value(), (RoceAddress{Gid::from_ipv4(10, 1, 2, 3), kMac, 7}));
  EXPECT_EQ(channel.last(), IfcMessage("query_roce_address_in", 16)
                                .put("opcode", kQueryRoceAddress)
                                .put("roce_address_index", 5)
                                .bytes());
}

TEST_F(RoceAddresses, ImpossibleEntriesAreRefusedUnsent) {
  RoceAddressTable table(context);
  const Gid gid = Gid::from_ipv4(10, 1, 2, 3);
  EXPECT_THAT(table.set(16, {gid, kMac}).error().text, HasSubstr("16 entries"));
  EXPECT_FALSE(table.set(0, {Gid{}, kMac}));
  EXPECT_FALSE(table.set(0, {gid, Mac{}}));
  EXPECT_FALSE(table.set(0, {gid, kMac, 4095}));
  EXPECT_TRUE(channel.sent.empty());
}

TEST_F(RoceAddresses, InfinibandPort_HasNone) {
  context.caps.port_type = 0;
  RoceAddressTable table(context);
  EXPECT_EQ(table.set(0, {Gid::from_ipv4(10, 1, 2, 3), kMac}).error().code, Errc::Unsupported);
}

// Worked by hand from rdma_calc_flow_label and rdma_flow_label_to_udp_sport.
TEST(UdpSourcePort, FlowLabelFoldsIntoFourteenBits) {
  EXPECT_EQ(pmd::udp_source_port(0x12345, prm::QpNumber{1}, prm::QpNumber{2}),
            0xc000 | (0x2345 ^ 0x4));
  EXPECT_EQ(pmd::udp_source_port(0xfffff, prm::QpNumber{1}, prm::QpNumber{2}),
            0xc000 | (0x3fff ^ 0x3f));
}

TEST(UdpSourcePort, WithoutFlowLabelFollowsFromBothNumbers) {
  EXPECT_EQ(pmd::udp_source_port(0, prm::QpNumber{0x100}, prm::QpNumber{0x200}),
            0xc000 | (0x0 ^ 0x8));  // product 0x20000
  EXPECT_EQ(pmd::udp_source_port(0, prm::QpNumber{0x400}, prm::QpNumber{0x800}),
            0xc002);  // 0x200000, folded to 0x200002
  // Product 0x10000000000: folded to 0x10000100000, then to 0x10000100001; low 20 bits 0x00001.
  EXPECT_EQ(pmd::udp_source_port(0, prm::QpNumber{0x800000}, prm::QpNumber{0x20000}), 0xc001);
  EXPECT_EQ(pmd::udp_source_port(0, prm::QpNumber{0x20000}, prm::QpNumber{0x800000}), 0xc001);
}

}  // namespace
}  // namespace portcullis::testing
