// SPDX-License-Identifier: BSD-3-Clause
//
// What a modify header context does to a frame: each field at its place, as the RFCs of its header
// have it, and checksums that follow.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <vector>

#include "model/ethernet/frame_facts.hpp"
#include "model/ethernet/offloads.hpp"
#include "model/steering/modify_header.hpp"
#include "model/transport/checksum.hpp"
#include "prm/ethernet_wqe.hpp"
#include "prm/view.hpp"
#include "tests/model/flow_commands.hpp"
#include "tests/model/steered_frames.hpp"

namespace portcullis::model::testing {
namespace {

using prm::HeaderField;

constexpr std::size_t kIpv4At = 14;
constexpr std::size_t kTcpAt = 34;
constexpr std::size_t kUdpCheckAt = 40;

std::vector<std::byte> changed(std::vector<std::byte> frame, const RawAction& raw) {
  const auto action = read_header_action(raw);
  EXPECT_TRUE(action.has_value());
  if (action) change_headers(frame, std::span(&*action, 1));
  return frame;
}

TEST(ModifyHeader, SourceAddressOfTcp_FrameIsAsIfBuiltWithIt) {
  const auto frame =
      changed(finished({.payload = 5}), set_action(HeaderField::OUT_SIPV4, 0xc0000207, 0));
  EXPECT_EQ(frame, finished({.payload = 5, .source = {192, 0, 2, 7}}));
}

TEST(ModifyHeader, LowestWordOfIpv6Destination_FrameIsAsIfBuiltWithIt) {
  const FrameSpec spec{.ipv6 = true, .udp = true, .payload = 8};
  FrameSpec wanted = spec;
  wanted.dest = {192, 0, 2, 7};
  EXPECT_EQ(changed(finished(spec), set_action(HeaderField::OUT_DIPV6_31_0, 0xc0000207, 0)),
            finished(wanted));
}

TEST(ModifyHeader, PortOfUdpBehindATag_FrameIsAsIfBuiltWithIt) {
  const FrameSpec spec{.udp = true, .tag = 0x2123, .payload = 8};
  FrameSpec wanted = spec;
  wanted.dport = 4791;
  EXPECT_EQ(changed(finished(spec), set_action(HeaderField::OUT_UDP_DPORT, 4791, 16)),
            finished(wanted));
}

/// mlx5e and DPDK take one off so: 255 is added to eight bits.
TEST(ModifyHeader, AddToTtl_WrapsAndTheHeaderStaysRight) {
  const auto before = finished({.payload = 5});
  const auto frame = changed(before, add_action(HeaderField::OUT_IP_TTL, 0xff));
  EXPECT_EQ(frame[kIpv4At + 8], std::byte{63});
  EXPECT_TRUE(facts_of(frame).l3_ok);
  EXPECT_TRUE(is_transport_right(frame, facts_of(frame)));
  EXPECT_TRUE(std::equal(frame.begin() + kTcpAt, frame.end(), before.begin() + kTcpAt));
}

/// DPDK writes a length where mlx5_ifc.h has reserved bits of an ADD.
TEST(ModifyHeader, AddWithALength_IsAnAdd) {
  auto raw = add_action(HeaderField::OUT_TCP_SEQ_NUM, 0xffffffff);
  raw[3] = std::byte{8};
  EXPECT_EQ(changed(finished({.payload = 5, .sequence = 0x100}), raw),
            finished({.payload = 5, .sequence = 0xff}));
}

TEST(ModifyHeader, PartOfAField_LeavesTheRest) {
  const auto frame = changed(finished({.udp = true, .tag = 0x2123, .payload = 8}),
                             set_action(HeaderField::OUT_FIRST_VID, 0x5, 4, /*offset=*/8));
  EXPECT_EQ(facts_of(frame).tag, 0x2523);
}

TEST(ModifyHeader, Copy_TakesBitsOfTheSource) {
  const auto frame =
      changed(finished({.payload = 5, .source = {10, 1, 2, 3}}),
              copy_action(HeaderField::OUT_SIPV4, 8, HeaderField::OUT_TCP_DPORT, 0, 16));
  EXPECT_EQ(frame, finished({.payload = 5, .source = {10, 1, 2, 3}, .dport = 0x0102}));
}

TEST(ModifyHeader, SeveralActions_EachSeesWhatTheOneBeforeLeft) {
  const std::array actions{
      read_header_action(set_action(HeaderField::OUT_TCP_SPORT, 7, 16)).value(),
      read_header_action(add_action(HeaderField::OUT_TCP_SPORT, 2)).value()};
  auto frame = finished({.payload = 5});
  change_headers(frame, actions);
  EXPECT_EQ(frame, finished({.payload = 5, .sport = 9}));
}

TEST(ModifyHeader, WrongChecksums_AreLeftForWhoeverGetsTheFrame) {
  const auto before = build_frame({.payload = 5});
  const auto frame = changed(before, set_action(HeaderField::OUT_SIPV4, 0xc0000207, 0));
  EXPECT_EQ(frame, build_frame({.payload = 5, .source = {192, 0, 2, 7}}));
}

TEST(ModifyHeader, UdpWithoutAChecksum_GetsNone) {
  auto frame = build_frame({.udp = true, .payload = 8});
  fill_checksums(frame, prm::kEthL3Csum);
  frame = changed(frame, set_action(HeaderField::OUT_SIPV4, 0xc0000207, 0));
  EXPECT_EQ(load_be16(&frame[kUdpCheckAt]), 0);
  EXPECT_TRUE(facts_of(frame).l3_ok);
}

TEST(ModifyHeader, FieldsThatAFrameHasNot_ChangeNothing) {
  const auto tcp = finished({.payload = 5});
  EXPECT_EQ(changed(tcp, set_action(HeaderField::OUT_UDP_DPORT, 9, 16)), tcp);
  EXPECT_EQ(changed(tcp, set_action(HeaderField::OUT_IPV6_HOPLIMIT, 9, 8)), tcp);
  EXPECT_EQ(changed(tcp, set_action(HeaderField::OUT_FIRST_VID, 9, 12)), tcp);
  EXPECT_EQ(
      changed(tcp, copy_action(HeaderField::OUT_UDP_SPORT, 0, HeaderField::OUT_TCP_SPORT, 0, 16)),
      tcp);
  const std::vector<std::byte> cut(tcp.begin(), tcp.begin() + 13);
  EXPECT_EQ(changed(cut, set_action(HeaderField::OUT_DMAC_47_16, 9, 0)), cut);
}

TEST(ModifyHeader, ActionThatNoFieldHasRoomFor_IsRefused) {
  EXPECT_FALSE(read_header_action(set_action(HeaderField::OUT_TCP_SPORT, 0, 17)));
  EXPECT_FALSE(read_header_action(set_action(HeaderField::OUT_TCP_SPORT, 0, 0)));
  EXPECT_FALSE(read_header_action(set_action(HeaderField::OUT_TCP_SPORT, 0, 8, 9)));
  EXPECT_FALSE(
      read_header_action(copy_action(HeaderField::OUT_IP_TTL, 1, HeaderField::OUT_SIPV4, 0, 8)));
}

TEST(ModifyHeader, ActionOfAFieldOrKindThatIsNotOffered_IsRefused) {
  EXPECT_FALSE(read_header_action(set_action(HeaderField::METADATA_REG_B, 0, 8)));
  EXPECT_FALSE(read_header_action(add_action(HeaderField{0xfff}, 1)));
  EXPECT_FALSE(read_header_action(RawAction{}));
}

/// Where the bits of a field stand in a frame of TCP or UDP, over IPv4 or IPv6, without a tag or
/// with one.
struct Place {
  const char* name;
  HeaderField field;
  FrameSpec frame;
  std::size_t at;
  std::vector<std::uint8_t> ones;  // the bits of the field
};

class EachField : public ::testing::TestWithParam<Place> {};

TEST_P(EachField, SetToOnes_ChangesItsBitsAndChecksumsAlone) {
  const Place& place = GetParam();
  const auto bits = std::accumulate(place.ones.begin(), place.ones.end(), 0U,
                                    [](unsigned sum, std::uint8_t byte) {
                                      return sum + static_cast<unsigned>(std::popcount(byte));
                                    });
  auto wanted = finished(place.frame);
  std::transform(place.ones.begin(), place.ones.end(), wanted.begin() + static_cast<long>(place.at),
                 wanted.begin() + static_cast<long>(place.at),
                 [](std::uint8_t mask, std::byte old) { return old | std::byte{mask}; });
  fill_checksums(wanted, prm::kEthL3Csum | prm::kEthL4Csum);
  EXPECT_EQ(changed(finished(place.frame), set_action(place.field, 0xffffffff, bits % 32)), wanted);
}

constexpr FrameSpec kTcp{.payload = 5};
constexpr FrameSpec kTagged{.tag = 1, .payload = 5};
constexpr FrameSpec kUdp6{.ipv6 = true, .udp = true, .payload = 8};

INSTANTIATE_TEST_SUITE_P(
    ModifyHeader, EachField,
    ::testing::Values(
        Place{"Dmac4716", HeaderField::OUT_DMAC_47_16, kTcp, 0, {255, 255, 255, 255}},
        Place{"Dmac150", HeaderField::OUT_DMAC_15_0, kTcp, 4, {255, 255}},
        Place{"Smac4716", HeaderField::OUT_SMAC_47_16, kTcp, 6, {255, 255, 255, 255}},
        Place{"Smac150", HeaderField::OUT_SMAC_15_0, kTcp, 10, {255, 255}},
        Place{"FirstVid", HeaderField::OUT_FIRST_VID, kTagged, 14, {0x0f, 255}},
        Place{"DscpOfIpv4", HeaderField::OUT_IP_DSCP, kTcp, 15, {0xfc}},
        Place{"DscpOfIpv6", HeaderField::OUT_IP_DSCP, kUdp6, 14, {0x0f, 0xc0}},
        Place{"Ttl", HeaderField::OUT_IP_TTL, kTcp, 22, {255}},
        Place{"HopLimit", HeaderField::OUT_IPV6_HOPLIMIT, kUdp6, 21, {255}},
        Place{"Sipv4", HeaderField::OUT_SIPV4, kTcp, 26, {255, 255, 255, 255}},
        Place{"Dipv4", HeaderField::OUT_DIPV4, kTagged, 34, {255, 255, 255, 255}},
        Place{"Sipv6First", HeaderField::OUT_SIPV6_127_96, kUdp6, 22, {255, 255, 255, 255}},
        Place{"Sipv6Second", HeaderField::OUT_SIPV6_95_64, kUdp6, 26, {255, 255, 255, 255}},
        Place{"Sipv6Third", HeaderField::OUT_SIPV6_63_32, kUdp6, 30, {255, 255, 255, 255}},
        Place{"Sipv6Last", HeaderField::OUT_SIPV6_31_0, kUdp6, 34, {255, 255, 255, 255}},
        Place{"Dipv6First", HeaderField::OUT_DIPV6_127_96, kUdp6, 38, {255, 255, 255, 255}},
        Place{"Dipv6Second", HeaderField::OUT_DIPV6_95_64, kUdp6, 42, {255, 255, 255, 255}},
        Place{"Dipv6Third", HeaderField::OUT_DIPV6_63_32, kUdp6, 46, {255, 255, 255, 255}},
        Place{"Dipv6Last", HeaderField::OUT_DIPV6_31_0, kUdp6, 50, {255, 255, 255, 255}},
        Place{"TcpSport", HeaderField::OUT_TCP_SPORT, kTcp, 34, {255, 255}},
        Place{"TcpDport", HeaderField::OUT_TCP_DPORT, kTcp, 36, {255, 255}},
        Place{"TcpSeq", HeaderField::OUT_TCP_SEQ_NUM, kTcp, 38, {255, 255, 255, 255}},
        Place{"TcpAck", HeaderField::OUT_TCP_ACK_NUM, kTcp, 42, {255, 255, 255, 255}},
        Place{"TcpFlags", HeaderField::OUT_TCP_FLAGS, kTcp, 46, {0x01, 255}},
        Place{"UdpSport", HeaderField::OUT_UDP_SPORT, kUdp6, 54, {255, 255}},
        Place{"UdpDport", HeaderField::OUT_UDP_DPORT, kUdp6, 56, {255, 255}}),
    [](const auto& info) { return info.param.name; });

TEST(ModifyHeader, Ethertype_IsTheOneBehindATag) {
  const auto frame = changed(finished(kTagged), set_action(HeaderField::OUT_ETHERTYPE, 0x88b5, 16));
  EXPECT_EQ(load_be16(&frame[12]), 0x8100);
  EXPECT_EQ(load_be16(&frame[16]), 0x88b5);
}

}  // namespace
}  // namespace portcullis::model::testing
