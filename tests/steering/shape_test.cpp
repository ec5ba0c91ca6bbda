// SPDX-License-Identifier: BSD-3-Clause
//
// Shapes as words, as scopes, and as the mask and value that an entry compares.
#include "steering/shape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "steering/flow_drop.hpp"
#include "steering/set_up.hpp"

namespace portcullis::steering {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

TEST(Shape, EveryName_IsParsedBack) {
  for (const Shape shape : kShapes) EXPECT_EQ(parse_shape(name(shape)).value(), shape);
}

TEST(Shape, UnknownName_IsRefusedWithThoseAccepted) {
  EXPECT_EQ(parse_shape("dst-qpn").error().text,
            "steering shape 'dst-qpn'; accepted are dst-qp, client-flow, opcode, opcode-class, "
            "roce-port, match-all");
}

TEST(Shape, OnlyQpAndFlow_HaveTheScopeOfALease) {
  EXPECT_EQ(scope(Shape::DstQp), Scope::Lease);
  EXPECT_EQ(scope(Shape::ClientFlow), Scope::Lease);
  EXPECT_EQ(scope(Shape::Opcode), Scope::Function);
  EXPECT_EQ(scope(Shape::OpcodeClass), Scope::Function);
  EXPECT_EQ(scope(Shape::RocePort), Scope::Function);
  EXPECT_EQ(scope(Shape::MatchAll), Scope::Function);
}

TEST(Shape, ClientFlowOfIpv4_ComparesTheLastFourBytes) {
  prm::Buffer<prm::fte_match_param> value;
  const DropTarget target{.client = pmd::Gid::from_ipv4(192, 0, 2, 7), .client_udp_sport = 0xc123};
  ASSERT_TRUE(put_value(Shape::ClientFlow, target, value.view()));
  const auto address = value.bytes<"outer_headers.src_ipv4_src_ipv6">();
  EXPECT_EQ(address[11], std::byte{0});
  EXPECT_EQ(address[12], std::byte{192});
  EXPECT_EQ(address[15], std::byte{7});
  EXPECT_EQ(value.get<"outer_headers.udp_sport">(), 0xc123U);
  EXPECT_EQ(value.get<"outer_headers.ip_version">(), 4U);
}

TEST(Shape, ClientFlowOfIpv6_ComparesAllSixteenBytes) {
  prm::Buffer<prm::fte_match_param> value;
  const DropTarget target{.client = pmd::Gid::parse("fe80::5").value(), .client_udp_sport = 1};
  ASSERT_TRUE(put_value(Shape::ClientFlow, target, value.view()));
  const auto address = value.bytes<"outer_headers.src_ipv4_src_ipv6">();
  EXPECT_EQ(address[0], std::byte{0xfe});
  EXPECT_EQ(address[15], std::byte{5});
  EXPECT_EQ(value.get<"outer_headers.ip_version">(), 6U);
}

TEST(Shape, ClientFlowWithoutAPort_IsRefused) {
  prm::Buffer<prm::fte_match_param> value;
  EXPECT_THAT(put_value(Shape::ClientFlow, {}, value.view()).error().text,
              HasSubstr("UDP source port is not known"));
}

TEST(Shape, QpNumberOf25Bits_IsRefused) {
  prm::Buffer<prm::fte_match_param> value;
  EXPECT_EQ(put_value(Shape::DstQp, {.qpn = prm::QpNumber{1U << 24}}, value.view()).error().code,
            Errc::InvalidArgument);
}

TEST(Shape, ClientFlowOfIpv4BehindOneOfIpv6_LeavesNothingOfIt) {
  prm::Buffer<prm::fte_match_param> value;
  const DropTarget first{.client = pmd::Gid::parse("fe80::5").value(), .client_udp_sport = 1};
  const DropTarget second{.client = pmd::Gid::from_ipv4(192, 0, 2, 7), .client_udp_sport = 2};
  ASSERT_TRUE(put_value(Shape::ClientFlow, first, value.view()));
  ASSERT_TRUE(put_value(Shape::ClientFlow, second, value.view()));
  const auto address = value.bytes<"outer_headers.src_ipv4_src_ipv6">();
  EXPECT_THAT(address.first<12>(), Each(std::byte{0}));
  EXPECT_EQ(value.get<"outer_headers.ip_version">(), 4U);
}

TEST(Shape, ClientFlow_ComparesAddressVersionAndPort) {
  prm::Buffer<prm::fte_match_param> mask;
  EXPECT_EQ(put_mask(Shape::ClientFlow, mask.view()), 1U);
  EXPECT_THAT(mask.bytes<"outer_headers.src_ipv4_src_ipv6">(), Each(std::byte{0xff}));
  EXPECT_EQ(mask.get<"outer_headers.ip_version">(), 0xfU);
  EXPECT_EQ(mask.get<"outer_headers.udp_sport">(), 0xffffU);
}

TEST(Shape, RocePort_ComparesTheWholeDestinationPort) {
  prm::Buffer<prm::fte_match_param> mask;
  prm::Buffer<prm::fte_match_param> value;
  EXPECT_EQ(put_mask(Shape::RocePort, mask.view()), 1U);
  EXPECT_EQ(mask.get<"outer_headers.udp_dport">(), 0xffffU);
  ASSERT_TRUE(put_value(Shape::RocePort, {}, value.view()));
  EXPECT_EQ(value.get<"outer_headers.udp_dport">(), 4791U);
  EXPECT_EQ(value.get<"misc_parameters.bth_opcode">(), 0U);
}

TEST(Shape, MatchAll_ComparesNothing) {
  prm::Buffer<prm::fte_match_param> mask;
  prm::Buffer<prm::fte_match_param> value;
  EXPECT_EQ(put_mask(Shape::MatchAll, mask.view()), 0U);
  ASSERT_TRUE(put_value(Shape::MatchAll, {.qpn = prm::QpNumber{9}}, value.view()));
  EXPECT_THAT(mask.all(), Each(std::byte{0}));
  EXPECT_THAT(value.all(), Each(std::byte{0}));
}

TEST(Shape, Opcode_IsThatOfAWriteOfOnePacket) {
  prm::Buffer<prm::fte_match_param> value;
  ASSERT_TRUE(put_value(Shape::Opcode, {}, value.view()));
  EXPECT_EQ(value.get<"misc_parameters.bth_opcode">(), 0x0aU);
  EXPECT_EQ(value.get<"outer_headers.udp_dport">(), 0U);
}

TEST(Shape, OfferedWhere_EveryFieldOfItsIs) {
  EXPECT_TRUE(is_offered(Shape::MatchAll, {}));
  EXPECT_FALSE(is_offered(Shape::DstQp, {}));
  EXPECT_TRUE(is_offered(Shape::DstQp, {.bth_dst_qp = true}));
  EXPECT_FALSE(is_offered(Shape::ClientFlow, {.outer_sip = true}));
  EXPECT_FALSE(is_offered(Shape::ClientFlow, {.outer_udp_sport = true}));
  EXPECT_TRUE(is_offered(Shape::ClientFlow, {.outer_sip = true, .outer_udp_sport = true}));
  EXPECT_FALSE(is_offered(Shape::Opcode, {}));
  EXPECT_TRUE(is_offered(Shape::Opcode, {.bth_opcode = true}));
  EXPECT_TRUE(is_offered(Shape::OpcodeClass, {.bth_opcode = true}));
  EXPECT_FALSE(is_offered(Shape::RocePort, {}));
  EXPECT_TRUE(is_offered(Shape::RocePort, {.outer_udp_dport = true}));
}

TEST(Shape, OpcodeClass_ComparesTheUpperThreeBits) {
  prm::Buffer<prm::fte_match_param> mask;
  EXPECT_EQ(put_mask(Shape::OpcodeClass, mask.view()), 2U);
  EXPECT_EQ(mask.get<"misc_parameters.bth_opcode">(), 0xe0U);
}

TEST(Choice, Words_AreParsed) {
  EXPECT_EQ(parse_choice("off")->kind, Choice::Kind::Off);
  EXPECT_EQ(parse_choice("offered")->kind, Choice::Kind::Offered);
  EXPECT_EQ(parse_choice("try")->kind, Choice::Kind::Try);
  EXPECT_EQ(parse_choice("opcode")->shape, Shape::Opcode);
}

TEST(Choice, UnknownWord_IsRefusedWithThoseAccepted) {
  EXPECT_EQ(parse_choice("on").error().text,
            "steering 'on'; accepted are dst-qp, client-flow, opcode, opcode-class, roce-port, "
            "match-all, off, offered, try");
}

TEST(Choice, WhereNobodyChose_OnlyAnEntryFromTheGrantOnNeedsSteering) {
  EXPECT_EQ(choice_for(EntryPlan::AtRevoke).kind, Choice::Kind::Off);
  EXPECT_EQ(choice_for(EntryPlan::AllowReplace).kind, Choice::Kind::Offered);
  EXPECT_EQ(choice_for(EntryPlan::AllowModify).kind, Choice::Kind::Offered);
}

TEST(Choice, ForAnEntryFromTheGrantOn_NotOffAndForAnUnderlayNoShape) {
  EXPECT_TRUE(check_choice(EntryPlan::AtRevoke, {Choice::Kind::Off}));
  EXPECT_TRUE(check_choice(EntryPlan::AllowModify, {Choice::Kind::One, Shape::Opcode}));
  EXPECT_TRUE(check_choice(EntryPlan::Underlay, {Choice::Kind::Try}));
  EXPECT_EQ(check_choice(EntryPlan::AllowModify, {Choice::Kind::Off}).error().text,
            "steering off: the plan has its entry from the grant on; offered, try or a shape is "
            "accepted");
  EXPECT_EQ(check_choice(EntryPlan::Underlay, {Choice::Kind::One, Shape::Opcode}).error().text,
            "steering opcode: an underlay has no shape to choose; offered or try is accepted");
  EXPECT_FALSE(check_choice(EntryPlan::Underlay, {Choice::Kind::Off}));
}

}  // namespace
}  // namespace portcullis::steering
