// SPDX-License-Identifier: BSD-3-Clause
//
// What the model's port sees in a frame, sums up in it, cuts it into and hashes of it.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "model/ethernet/frame_facts.hpp"
#include "model/ethernet/offloads.hpp"
#include "model/ethernet/rss_hash.hpp"
#include "model/transport/checksum.hpp"
#include "prm/ethernet_wqe.hpp"
#include "tests/model/steered_frames.hpp"

namespace portcullis::model::testing {
namespace {

using L3 = FrameFacts::L3;
using L4 = FrameFacts::L4;

constexpr std::uint8_t kBoth = prm::kEthL3Csum | prm::kEthL4Csum;

// Of FrameSpec{.payload = 4}, summed apart by RFC 1071 (Python, struct.unpack and a loop).
constexpr std::uint16_t kIpSum = 0x66c9;
constexpr std::uint16_t kTcpSum = 0xb6f7;

TEST(FrameFacts, TcpOverIpv4_IsSeen) {
  const auto frame = finished({.payload = 4});
  const FrameFacts facts = facts_of(frame);
  EXPECT_EQ(facts.l3, L3::Ipv4);
  EXPECT_EQ(facts.l4, L4::Tcp);
  EXPECT_TRUE(facts.l3_ok);
  EXPECT_TRUE(is_transport_right(frame, facts));
  EXPECT_EQ(facts.l3_at, 14U);
  EXPECT_EQ(facts.l4_at, 34U);
  EXPECT_FALSE(facts.tag.has_value());
}

TEST(FrameFacts, UdpOverIpv6BehindATag_IsSeen) {
  const auto frame = finished({.ipv6 = true, .udp = true, .tag = 0x2123, .payload = 9});
  const FrameFacts facts = facts_of(frame);
  EXPECT_EQ(facts.l3, L3::Ipv6);
  EXPECT_EQ(facts.l4, L4::Udp);
  EXPECT_EQ(facts.tag, 0x2123);
  EXPECT_EQ(facts.l3_at, 18U);
  EXPECT_TRUE(is_transport_right(frame, facts));
}

TEST(FrameFacts, PaddingBehindTheIpPacket_IsNotPartOfIt) {
  auto frame = finished({.udp = true, .payload = 1});
  const std::size_t end = frame.size();
  frame.resize(60, std::byte{0xee});
  const FrameFacts facts = facts_of(frame);
  EXPECT_EQ(facts.end, end);
  EXPECT_TRUE(is_transport_right(frame, facts));
}

TEST(FrameFacts, Fragment_HasNoTransportHeader) {
  auto frame = finished({.payload = 100});
  frame[20] = std::byte{0x20};  // more fragments
  EXPECT_FALSE(facts_of(frame).has_l4());
}

TEST(FrameFacts, LengthBeyondTheFrame_IsNotRight) {
  auto frame = finished({.payload = 4});
  frame.pop_back();
  const FrameFacts facts = facts_of(frame);
  EXPECT_EQ(facts.l3, L3::Ipv4);
  EXPECT_FALSE(facts.l3_ok);
  EXPECT_FALSE(facts.has_l4());
}

TEST(FrameFacts, TcpHeaderLongerThanItsPacket_IsNone) {
  auto frame = finished({.payload = 0});
  frame[34 + 12] = std::byte{0xf0};
  EXPECT_FALSE(facts_of(frame).has_l4());
}

TEST(FrameFacts, WrongSums_AreSeen) {
  auto frame = finished({.payload = 4});
  frame.back() ^= std::byte{1};
  EXPECT_TRUE(facts_of(frame).l3_ok);
  EXPECT_FALSE(is_transport_right(frame, facts_of(frame)));
  frame[22] ^= std::byte{1};  // ttl
  EXPECT_FALSE(facts_of(frame).l3_ok);
}

TEST(FrameFacts, UdpWithoutASum_IsRightOverIpv4Alone) {
  const auto v4 = build_frame({.udp = true, .payload = 4});
  EXPECT_TRUE(is_transport_right(v4, facts_of(v4)));
  const auto v6 = build_frame({.ipv6 = true, .udp = true, .payload = 4});
  EXPECT_FALSE(is_transport_right(v6, facts_of(v6)));
}

TEST(FrameFacts, EveryShortFrame_IsLookedAtWithoutHarm) {
  const auto whole = finished({.ipv6 = true, .tag = 7, .payload = 30});
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<long>(bytes));
    const FrameFacts facts = facts_of(cut);
    EXPECT_EQ(facts.has_l4(), bytes == whole.size()) << bytes;
    EXPECT_LE(facts.end, std::max(bytes, facts.l3_at));
  }
}

TEST(Checksums, AreThoseOfRfc1071) {
  const auto frame = finished({.payload = 4});
  EXPECT_EQ(load_be16(&frame[14 + 10]), kIpSum);
  EXPECT_EQ(load_be16(&frame[34 + 16]), kTcpSum);
}

TEST(Checksums, WhatIsNotAskedFor_IsNotTouched) {
  auto frame = build_frame({.payload = 4});
  store_be16(&frame[34 + 16], 0x1234);
  fill_checksums(frame, prm::kEthL3Csum);
  EXPECT_EQ(load_be16(&frame[34 + 16]), 0x1234);
  fill_checksums(frame, prm::kEthL4Csum);
  EXPECT_EQ(load_be16(&frame[34 + 16]), kTcpSum);
}

class Segments : public ::testing::Test {
 protected:
  static constexpr std::size_t kHeader = 14 + 20 + 20;
  /// Segment `number` of a send with 100 bytes in each.
  static std::vector<std::byte> cut(std::uint32_t number, bool is_last) {
    FrameSpec spec{.payload = 100, .flags = 0x99};  // CWR, ACK, PSH, FIN
    std::vector<std::byte> frame = build_frame(spec);
    EXPECT_TRUE(make_segment(frame, kHeader, {number, 100 * number, is_last}));
    fill_checksums(frame, kBoth);
    return frame;
  }
};

TEST_F(Segments, First_KeepsCwrAndLosesWhatEndsTheStream) {
  const auto frame = cut(0, false);
  EXPECT_EQ(frame[34 + 13], std::byte{0x90});
  EXPECT_EQ(load_be16(&frame[14 + 4]), 1U);  // id
  EXPECT_EQ(load_be16(&frame[14 + 2]), 140U);
}

TEST_F(Segments, Last_HasItsOwnNumbers) {
  const auto frame = cut(2, true);
  EXPECT_EQ(frame[34 + 13], std::byte{0x19});
  EXPECT_EQ(load_be16(&frame[14 + 4]), 3U);
  EXPECT_EQ(load_be16(&frame[34 + 6]), 5U + 200U);  // low half of the sequence number
  EXPECT_TRUE(is_transport_right(frame, facts_of(frame)));
}

TEST_F(Segments, SequenceNumber_Wraps) {
  FrameSpec spec{.payload = 100, .sequence = 0xffffffff};
  std::vector<std::byte> frame = build_frame(spec);
  ASSERT_TRUE(make_segment(frame, kHeader, {1, 100, true}));
  EXPECT_EQ(load_be16(&frame[34 + 4]), 0U);
  EXPECT_EQ(load_be16(&frame[34 + 6]), 99U);
}

TEST_F(Segments, Udp_HasItsLength) {
  std::vector<std::byte> frame = build_frame({.ipv6 = true, .udp = true, .payload = 50});
  ASSERT_TRUE(make_segment(frame, 14 + 40 + 8, {1, 50, true}));
  EXPECT_EQ(load_be16(&frame[54 + 4]), 58U);
  EXPECT_EQ(load_be16(&frame[14 + 4]), 58U);
}

TEST_F(Segments, HeadersThatEndElsewhere_AreRefused) {
  std::vector<std::byte> frame = build_frame({.payload = 100});
  EXPECT_FALSE(make_segment(frame, kHeader + 1, {0, 0, true}));
  std::vector<std::byte> no_ip(80, std::byte{0x55});
  EXPECT_FALSE(make_segment(no_ip, kHeader, {0, 0, true}));
}

// The key and the flow of "Verifying the RSS Hash Calculation" of Microsoft's documentation.
constexpr std::array<std::uint8_t, RssRule::kKeyBytes> kMicrosoftKey{
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
constexpr std::uint32_t kAddresses = 3, kAddressesAndPorts = 15;

class Rss : public ::testing::Test {
 protected:
  Rss() {
    rule_.function = prm::RxHashFn::TOEPLITZ;
    rule_.fields = kAddressesAndPorts;
    std::memcpy(rule_.key.data(), kMicrosoftKey.data(), kMicrosoftKey.size());
  }
  [[nodiscard]] RssHash hash(const FrameSpec& spec) const {
    const auto frame = build_frame(spec);
    return rss_hash(frame, facts_of(frame), rule_);
  }
  static FrameSpec there() {
    return {.source = {66, 9, 149, 187}, .dest = {161, 142, 100, 80}, .sport = 2794, .dport = 1766};
  }
  static FrameSpec back() {
    return {.source = {161, 142, 100, 80}, .dest = {66, 9, 149, 187}, .sport = 1766, .dport = 2794};
  }
  RssRule rule_;
};

TEST_F(Rss, Toeplitz_IsMicrosofts) {
  EXPECT_EQ(hash(there()).value, 0x51ccc178U);
  rule_.fields = kAddresses;
  EXPECT_EQ(hash(there()).value, 0x323e8fc2U);
}

TEST_F(Rss, Type_SaysWhatWasHashed) {
  EXPECT_EQ(hash(there()).type, prm::rss_hash_type(prm::CqeRssIp::IPV4, prm::CqeRssL4::TCP));
  rule_.fields = kAddresses;
  EXPECT_EQ(hash(there()).type, prm::rss_hash_type(prm::CqeRssIp::IPV4, prm::CqeRssL4::NONE));
  EXPECT_EQ(hash({.ipv6 = true}).type, 0);
}

TEST_F(Rss, OtherTransport_IsHashedByItsAddresses) {
  FrameSpec udp = there();
  udp.udp = true;
  EXPECT_EQ(hash(udp).value, 0x323e8fc2U);
}

TEST_F(Rss, Symmetric_IsTheSameInBothDirections) {
  EXPECT_NE(hash(there()).value, hash(back()).value);
  rule_.is_symmetric = true;
  EXPECT_EQ(hash(there()).value, hash(back()).value);
  EXPECT_NE(hash(there()).value, 0U);
}

TEST_F(Rss, NoFunction_IsNoHash) {
  rule_.function = prm::RxHashFn::NONE;
  EXPECT_EQ(hash(there()).value, 0U);
  EXPECT_EQ(hash(there()).type, 0);
}

TEST_F(Rss, InvertedXor8_TurnsTheBitsOfTheSum) {
  rule_.function = prm::RxHashFn::INVERTED_XOR8;
  rule_.fields = kAddresses;
  FrameSpec spec;
  spec.source = {1, 0, 0, 0};
  spec.dest = {2, 0, 0, 0};
  EXPECT_EQ(hash(spec).value, 0xc0U);
}

}  // namespace
}  // namespace portcullis::model::testing
