// SPDX-License-Identifier: BSD-3-Clause
//
// The fields that steering reads off a frame, held against the path the frame was built from.
#include <gtest/gtest.h>

#include <array>

#include "model/steering/flow_key.hpp"
#include "model/transport/frame.hpp"

namespace portcullis::model {
namespace {

constexpr Gid kSource4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
constexpr Gid kDest4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2};
constexpr Gid kSource6{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr Gid kDest6{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};

struct Built {
  explicit Built(const Path& path) {
    PacketHeader header;
    header.opcode = BthOpcode::WriteOnly;
    length = FrameTemplate(path).finish(bytes, header, 64);
  }
  [[nodiscard]] std::span<const std::byte> frame() const { return std::span(bytes).first(length); }
  std::array<std::byte, kMaxFrameBytes> bytes{};
  std::size_t length = 0;
};

Path path(const Gid& source, const Gid& dest) {
  Path path;
  path.source_mac = {2, 0, 0, 0, 0, 1};
  path.dest_mac = {2, 0, 0, 0, 0, 2};
  path.source_ip = source;
  path.dest_ip = dest;
  path.traffic_class = 0x6a;
  path.hop_limit = 63;
  path.udp_sport = 0xc123;
  path.dest_qpn = 0x1234;
  return path;
}

TEST(FlowKey, Ipv4Frame_HasItsOuterHeadersAndTheBth) {
  const Built built(path(kSource4, kDest4));
  FlowKey key = flow_key(built.frame(), PortType::Ethernet);
  EXPECT_EQ(key.outer().get<"dmac_47_16">(), 0x02000000U);
  EXPECT_EQ(key.outer().get<"dmac_15_0">(), 2U);
  EXPECT_EQ(key.outer().get<"smac_15_0">(), 1U);
  EXPECT_EQ(key.outer().get<"ethertype">(), 0x0800U);
  EXPECT_EQ(key.outer().get<"ip_version">(), 4U);
  EXPECT_EQ(key.outer().get<"ip_protocol">(), 17U);
  EXPECT_EQ(key.outer().get<"ip_dscp">(), 0x1aU);
  EXPECT_EQ(key.outer().get<"ip_ecn">(), 2U);
  EXPECT_EQ(key.outer().get<"ttl_hoplimit">(), 63U);
  EXPECT_EQ(key.outer().get<"udp_sport">(), 0xc123U);
  EXPECT_EQ(key.outer().get<"udp_dport">(), 4791U);
  EXPECT_EQ(key.outer().bytes<"src_ipv4_src_ipv6">()[12], std::byte{10});
  EXPECT_EQ(key.outer().bytes<"src_ipv4_src_ipv6">()[11], std::byte{0});  // not mapped: 12 zeros
  EXPECT_EQ(key.outer().bytes<"dst_ipv4_dst_ipv6">()[15], std::byte{2});
  EXPECT_EQ(key.misc().get<"bth_opcode">(), 0x0aU);
  EXPECT_EQ(key.misc().get<"bth_dst_qp">(), 0x1234U);
}

TEST(FlowKey, Ipv6Frame_HasItsAddressesAndTheBth) {
  const Built built(path(kSource6, kDest6));
  FlowKey key = flow_key(built.frame(), PortType::Ethernet);
  EXPECT_EQ(key.outer().get<"ip_version">(), 6U);
  EXPECT_EQ(key.outer().bytes<"src_ipv4_src_ipv6">()[0], std::byte{0xfe});
  EXPECT_EQ(key.outer().bytes<"dst_ipv4_dst_ipv6">()[15], std::byte{2});
  EXPECT_EQ(key.misc().get<"bth_dst_qp">(), 0x1234U);
}

TEST(FlowKey, TaggedFrame_HasItsVlanAndWhatFollows) {
  const Built built(path(kSource4, kDest4));
  std::vector<std::byte> tagged(built.frame().begin(), built.frame().end());
  const std::array tag{std::byte{0x81}, std::byte{0x00}, std::byte{0x60}, std::byte{0x07}};
  tagged.insert(tagged.begin() + 12, tag.begin(), tag.end());
  FlowKey key = flow_key(tagged, PortType::Ethernet);
  EXPECT_EQ(key.outer().get<"cvlan_tag">(), 1U);
  EXPECT_EQ(key.outer().get<"first_prio">(), 3U);
  EXPECT_EQ(key.outer().get<"first_vid">(), 7U);
  EXPECT_EQ(key.misc().get<"bth_opcode">(), 0x0aU);
}

TEST(FlowKey, InfiniBandFrame_HasTheBthAlone) {
  Path ib = path({}, {});
  ib.port_type = PortType::InfiniBand;
  ib.dest_lid = 2;
  const Built built(ib);
  FlowKey key = flow_key(built.frame(), PortType::InfiniBand);
  EXPECT_EQ(key.misc().get<"bth_opcode">(), 0x0aU);
  EXPECT_EQ(key.misc().get<"bth_dst_qp">(), 0x1234U);
  EXPECT_EQ(key.outer().get<"ethertype">(), 0U);
}

TEST(FlowKey, FrameCutAnywhere_IsReadAsFarAsItGoes) {
  const Built built(path(kSource4, kDest4));
  for (std::size_t bytes = 0; bytes <= 54; ++bytes) {
    FlowKey key = flow_key(built.frame().first(bytes), PortType::Ethernet);
    EXPECT_EQ(key.misc().get<"bth_dst_qp">(), bytes < 54 ? 0U : 0x1234U) << bytes;
  }
}

}  // namespace
}  // namespace portcullis::model
