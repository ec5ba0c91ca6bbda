// SPDX-License-Identifier: BSD-3-Clause
//
// What entries of a program see of a frame, and where it is looked for. Lookup types, masks, tags
// and places are those that dr_ste_v0.c and dr_crc32.c of rdma-core 44 came to for a rule that asks
// for the frame's own fields.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "model/steering/lookup_tag.hpp"
#include "model/steering/tunnels.hpp"
#include "prm/enums.hpp"
#include "prm/view.hpp"
#include "tests/model/steered_frames.hpp"

namespace portcullis::model::testing {
namespace {

using prm::SteLookup;

struct Golden {
  const char* name;
  std::uint8_t lookup;
  std::uint16_t byte_mask;
  std::string_view mask;
  std::string_view tag;
  std::uint32_t place;  // of 1024
  LookedAt (*packet)();
};

SteTag from_hex(std::string_view hex) {
  SteTag tag{};
  std::ranges::copy(raw_of(hex), tag.begin());
  return tag;
}

Raw joined(Raw first, const Raw& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const Raw tcp = build_frame({.payload = 4});
const Raw tagged = build_frame({.tag = 0x2123, .payload = 4});
const Raw udp_over_ipv6 = build_frame({.ipv6 = true, .udp = true, .payload = 4});
const Raw in_vxlan =
    wrap(tcp, joined(build_frame({.udp = true, .dport = 4789}), raw_of("0800000000000700")),
         TunnelLoad::WholeFrame);
/// Ethernet and IPv4 of protocol 47, a GRE header with key 7, and a frame.
Raw make_gre() {
  Raw front = build_frame({.udp = true});
  front.resize(34);
  front[23] = std::byte{47};
  return wrap(tcp, joined(front, raw_of("2000655800000007")), TunnelLoad::WholeFrame);
}
const Raw in_gre = make_gre();
const Raw mpls = joined(raw_of("025043000001020000000009"
                               "8847"),
                        raw_of("12345b4045000000"));

SteeringRegisters numbered() {
  SteeringRegisters registers{.a = 0x77};
  registers.c = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17};
  return registers;
}

template <const Raw& Frame>
LookedAt frame() {
  return {Frame, {}, {}};
}
LookedAt with_registers() { return {tcp, numbered(), {}}; }
LookedAt sent() { return {tcp, {}, {.sqn = 0x1234}}; }

class LookupTag : public ::testing::TestWithParam<Golden> {};

TEST_P(LookupTag, IsWhatRdmaCoreWritesForTheSameFields) {
  const auto tag = lookup_tag(SteLookup{GetParam().lookup}, GetParam().packet());
  ASSERT_TRUE(tag.has_value());
  SteTag masked = *tag;
  for (std::size_t i = 0; i < masked.size(); ++i) masked[i] &= from_hex(GetParam().mask)[i];
  EXPECT_EQ(masked, from_hex(GetParam().tag));
}

TEST_P(LookupTag, IsLookedForWhereRdmaCorePutsIt) {
  const auto tag = lookup_tag(SteLookup{GetParam().lookup}, GetParam().packet());
  ASSERT_TRUE(tag.has_value());
  EXPECT_EQ(hash_index(*tag, GetParam().byte_mask, 1024), GetParam().place);
}

INSTANTIATE_TEST_SUITE_P(
    RdmaCore44, LookupTag,
    ::testing::Values(Golden{"SourceOfWhatComes", 0x1c, 0xff10, "ffffffffffffffff000fcfff8c000000",
                             "02000000000908000002812304000000", 873, &frame<tagged>},
                      Golden{"SourceOfWhatIsSent", 0x08, 0xff10, "ffffffffffffffff000fcfff8c000000",
                             "02000000000908000002812304000000", 873, &frame<tagged>},
                      Golden{"Destination", 0x1b, 0xff00, "ffffffffffffffff000000000c000000",
                             "02504300000108000000000004000000", 230, &frame<tcp>},
                      Golden{"SourceAndDestination", 0x38, 0xfff1,
                             "ffffffffffffffffffffffff0c0fcfff", "02504300000102000000000904028123",
                             350, &frame<tagged>},
                      Golden{"Ipv4FiveTuple", 0x20, 0xfff5, "ffffffffffffffffffffffff87fffcff",
                             "0a0000020a0000010001000200180006", 590, &frame<tcp>},
                      Golden{"Ipv4Rest", 0x2b, 0x0080, "0f00000000000000ff00000000000000",
                             "05000000000000004000000000000000", 297, &frame<tcp>},
                      Golden{"Ipv6Source", 0x1f, 0xffff, "ffffffffffffffffffffffffffffffff",
                             "20010db800000000000000000a000001", 252, &frame<udp_over_ipv6>},
                      Golden{"Transport", 0x21, 0x7323, "00ffffff0000ffff0000ff00000fffff",
                             "00110002000000010000400000000000", 645, &frame<udp_over_ipv6>},
                      Golden{"TransportRest", 0x2e, 0x0f00, "00000000ffffffff0000000000000000",
                             "00000000000000050000000000000000", 842, &frame<tcp>},
                      Golden{"InATunnel", 0x0a, 0xffe0, "ffffffffffffffffffffff0000000000",
                             "02504300000108000000070000000000", 507, &frame<in_vxlan>},
                      Golden{"Gre", 0x16, 0x30f0, "2000ffff00000000ffffffff00000000",
                             "20006558000000000000000700000000", 1001, &frame<in_gre>},
                      Golden{"Mpls", 0x25, 0xf000, "ffffffff000000000000000000000000",
                             "12345b40000000000000000000000000", 754, &frame<mpls>},
                      Golden{"FirstRegisters", 0x2f, 0xffff, "ffffffffffffffffffffffffffffffff",
                             "00000010000000110000001200000013", 657, &with_registers},
                      Golden{"LastRegisters", 0x30, 0xffff, "ffffffffffffffffffffffffffffffff",
                             "00000014000000150000001600000017", 766, &with_registers},
                      Golden{"RegisterA", 0x18, 0xf000, "ffffffff000000000000000000000000",
                             "00000077000000000000000000000000", 967, &with_registers},
                      Golden{"SendQueue", 0x05, 0x0700, "0000000000ffffff0000000000000000",
                             "00000000000012340000000000000000", 592, &sent}),
    [](const auto& tested) { return tested.param.name; });

TEST(LookupTag, OfFlexibleParsers_IsNotOffered) {
  constexpr SteLookup kFlexParser0{0x22};  // DR_STE_V0_LU_TYPE_FLEX_PARSER_0
  EXPECT_FALSE(lookup_tag(kFlexParser0, frame<tcp>()).has_value());
}

TEST(LookupTag, OfAFrameThatIsCutShort_IsZeros) {
  const std::span<const std::byte> cut = std::span(tcp).first(13);
  EXPECT_EQ(lookup_tag(SteLookup::ETHL2_SRC_D, {cut, {}, {}}), SteTag{});
  EXPECT_EQ(lookup_tag(SteLookup::ETHL4_D, {cut, {}, {}}), SteTag{});
}

TEST(LookupTag, InsideWhereThereIsNoTunnel_IsZeros) {
  EXPECT_EQ(lookup_tag(SteLookup::ETHL2_SRC_I, frame<tcp>()), SteTag{});
  EXPECT_EQ(lookup_tag(SteLookup::ETHL3_IPV4_5_TUPLE_I, frame<tcp>()), SteTag{});
}

TEST(LookupTag, OfTwoTags_SecondFollowsFirst) {
  Raw double_tagged = push_tag(tagged, 0x88a84005);
  const auto tag = lookup_tag(SteLookup::ETHL2_SRC_D, {double_tagged, {}, {}});
  ASSERT_TRUE(tag.has_value());
  const auto seen = prm::ConstView<prm::ste_eth_l2_src>::at(*tag);
  EXPECT_EQ(seen.get<"first_vlan_qualifier">(), prm::number(prm::SteVlan::SVLAN));
  EXPECT_EQ(seen.get<"first_vlan_id">(), 5U);
  EXPECT_EQ(seen.get<"second_vlan_qualifier">(), prm::number(prm::SteVlan::CVLAN));
  EXPECT_EQ(seen.get<"second_vlan_id">(), 0x123U);
  EXPECT_EQ(seen.get<"l3_ethertype">(), 0x0800U);
}

TEST(LookupTag, OfAFrameByLoopback_SaysSo) {
  const auto tag = lookup_tag(SteLookup::SRC_GVMI_AND_QP, {tcp, {}, {.is_own = true}});
  ASSERT_TRUE(tag.has_value());
  EXPECT_EQ(prm::ConstView<prm::ste_src_gvmi_qp>::at(*tag).get<"functional_lb">(), 1U);
}

TEST(HashIndex, InATableOfOne_IsTheFirst) {
  SteTag tag;
  tag.fill(std::byte{0xff});
  EXPECT_EQ(hash_index(tag, 0xffff, 1), 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
