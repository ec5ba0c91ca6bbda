// SPDX-License-Identifier: BSD-3-Clause
//
// Headers that flow entries put around a frame and take off it. The headers of tunnels stand here
// byte by byte: VXLAN of RFC 7348, geneve of RFC 8926, GRE of RFC 2784 and 2890.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "model/ethernet/frame_facts.hpp"
#include "model/ethernet/offloads.hpp"
#include "model/steering/tunnels.hpp"
#include "model/transport/checksum.hpp"
#include "prm/ethernet_wqe.hpp"
#include "tests/model/ethernet_frames.hpp"

namespace portcullis::model::testing {
namespace {

using Raw = std::vector<std::byte>;

constexpr std::size_t kEthernet = 14;
constexpr std::size_t kIpv4 = 20;
constexpr std::size_t kUdp = 8;

Raw raw(std::initializer_list<unsigned> bytes) {
  Raw made;
  for (const unsigned byte : bytes) made.push_back(static_cast<std::byte>(byte));
  return made;
}

Raw operator+(Raw first, const Raw& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const Raw vxlan = raw({8, 0, 0, 0, 0, 0, 7, 0});
const Raw geneve_of_frames = raw({0, 0, 0x65, 0x58, 0, 0, 7, 0});
const Raw geneve_of_ipv4 = raw({0, 0, 0x08, 0x00, 0, 0, 7, 0});
const Raw geneve_with_option = raw({2, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 1, 9, 9, 9, 9});
const Raw gre_of_ipv4 = raw({0, 0, 0x08, 0x00});
const Raw gre_of_frames_with_key = raw({0x20, 0, 0x65, 0x58, 0, 0, 0, 7});
const Raw new_ethernet = raw({2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0});

Raw finished(const FrameSpec& spec) {
  Raw frame = build_frame(spec);
  fill_checksums(frame, prm::kEthL3Csum | prm::kEthL4Csum);
  return frame;
}

/// Ethernet, IPv4 and UDP to `dport`, their lengths 0 as Linux leaves them.
Raw udp_front(std::uint16_t dport) {
  Raw front = build_frame({.udp = true, .source = {192, 0, 2, 1}, .dport = dport});
  for (const std::size_t at : {16U, 17U, 38U, 39U}) front[at] = std::byte{0};
  return front;
}

Raw gre_front() {
  Raw front = build_frame({.udp = true, .source = {192, 0, 2, 1}});
  front.resize(kEthernet + kIpv4);
  front[kEthernet + 9] = std::byte{47};
  return front;
}

std::uint16_t at16(const Raw& frame, std::size_t at) { return load_be16(&frame[at]); }

TEST(Tunnels, FrameInVxlan_OuterLengthsAndChecksumFitIt) {
  const Raw inner = finished({.payload = 30});
  const Raw header = udp_front(4789) + vxlan;
  const Raw outer = wrap(inner, header, TunnelLoad::WholeFrame);
  ASSERT_EQ(outer.size(), header.size() + inner.size());
  EXPECT_EQ(at16(outer, kEthernet + 2), outer.size() - kEthernet);
  EXPECT_EQ(at16(outer, kEthernet + kIpv4 + 4), outer.size() - kEthernet - kIpv4);
  EXPECT_EQ(at16(outer, kEthernet + kIpv4 + 6), 0);
  EXPECT_TRUE(facts_of(outer).l3_ok);
  EXPECT_TRUE(std::equal(inner.begin(), inner.end(), outer.begin() + 50));
}

TEST(Tunnels, FrameOverIpv6_PayloadLengthFitsIt) {
  const Raw inner = finished({.payload = 30});
  const Raw header = build_frame({.ipv6 = true, .udp = true, .dport = 4789}) + vxlan;
  const Raw outer = wrap(inner, header, TunnelLoad::WholeFrame);
  EXPECT_EQ(at16(outer, kEthernet + 4), kUdp + vxlan.size() + inner.size());
  EXPECT_EQ(at16(outer, kEthernet + 40 + 4), kUdp + vxlan.size() + inner.size());
}

TEST(Tunnels, PacketInGre_LeavesItsEthernetHeaderBehind) {
  const Raw inner = finished({.tag = 5, .payload = 30});
  const Raw outer = wrap(inner, gre_front() + gre_of_ipv4, TunnelLoad::NetworkPacket);
  ASSERT_EQ(outer.size(), kEthernet + kIpv4 + 4 + inner.size() - kEthernet - 4);
  EXPECT_EQ(at16(outer, kEthernet + 2), outer.size() - kEthernet);
  EXPECT_TRUE(facts_of(outer).l3_ok);
  EXPECT_TRUE(std::equal(inner.begin() + 18, inner.end(), outer.begin() + 38));
}

TEST(Tunnels, HeaderWithoutANetworkHeader_GoesInFrontAsItIs) {
  const Raw inner = finished({.payload = 30});
  const Raw header = raw({2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5});
  EXPECT_EQ(wrap(inner, header, TunnelLoad::WholeFrame), header + inner);
}

TEST(Tunnels, FrameInVxlanGeneveOrGre_ComesOutAsItWas) {
  const Raw inner = finished({.payload = 30});
  EXPECT_EQ(unwrap_frame(wrap(inner, udp_front(4789) + vxlan, TunnelLoad::WholeFrame)), inner);
  EXPECT_EQ(unwrap_frame(wrap(inner, udp_front(6081) + geneve_of_frames, TunnelLoad::WholeFrame)),
            inner);
  EXPECT_EQ(unwrap_frame(wrap(inner, udp_front(6081) + geneve_with_option, TunnelLoad::WholeFrame)),
            inner);
  EXPECT_EQ(unwrap_frame(wrap(inner, gre_front() + gre_of_frames_with_key, TunnelLoad::WholeFrame)),
            inner);
}

/// GRE_VER of rdma-core's tests/utils.py.
TEST(Tunnels, FrameInGreOfVersion1_ComesOutAsItWas) {
  const Raw inner = finished({.payload = 30});
  const Raw header = gre_front() + raw({0x20, 1, 0x65, 0x58, 0, 0, 0, 7});
  EXPECT_EQ(unwrap_frame(wrap(inner, header, TunnelLoad::WholeFrame)), inner);
}

TEST(Tunnels, PaddingBehindTheOuterPacket_IsNotPartOfTheFrame) {
  const Raw inner = finished({.udp = true, .payload = 1});
  Raw outer = wrap(inner, udp_front(4789) + vxlan, TunnelLoad::WholeFrame);
  outer.resize(outer.size() + 4, std::byte{0xee});
  EXPECT_EQ(unwrap_frame(outer), inner);
}

TEST(Tunnels, PacketInGreOrGeneve_ComesOutBehindTheNewHeader) {
  const Raw inner = finished({.payload = 30});
  const Raw packet(inner.begin() + kEthernet, inner.end());
  const Raw gre = wrap(inner, gre_front() + gre_of_ipv4, TunnelLoad::NetworkPacket);
  EXPECT_EQ(unwrap_packet(gre, new_ethernet), new_ethernet + packet);
  const Raw geneve = wrap(inner, udp_front(6081) + geneve_of_ipv4, TunnelLoad::NetworkPacket);
  EXPECT_EQ(unwrap_packet(geneve, new_ethernet), new_ethernet + packet);
}

TEST(Tunnels, FrameInNoTunnel_IsNotUnwrapped) {
  EXPECT_FALSE(unwrap_frame(finished({.payload = 30})));
  EXPECT_FALSE(unwrap_frame(finished({.udp = true, .payload = 60, .dport = 4790})));
  EXPECT_FALSE(unwrap_packet(finished({.udp = true, .payload = 60, .dport = 4789}), new_ethernet));
  EXPECT_FALSE(unwrap_frame(raw({1, 2, 3})));
}

TEST(Tunnels, PacketWhereAFrameIsWanted_IsNotUnwrapped) {
  const Raw inner = finished({.payload = 30});
  const Raw gre = wrap(inner, gre_front() + gre_of_ipv4, TunnelLoad::NetworkPacket);
  EXPECT_FALSE(unwrap_frame(gre));
  const Raw keyed = wrap(inner, gre_front() + gre_of_frames_with_key, TunnelLoad::WholeFrame);
  EXPECT_FALSE(unwrap_packet(keyed, new_ethernet));
}

TEST(Tunnels, FragmentOfGre_IsNotUnwrapped) {
  Raw front = gre_front();
  front[kEthernet + 6] = std::byte{0x20};  // more fragments
  const Raw inner = finished({.payload = 30});
  EXPECT_FALSE(unwrap_frame(wrap(inner, front + gre_of_frames_with_key, TunnelLoad::WholeFrame)));
}

TEST(Tunnels, TunnelThatIsCutShort_IsNotUnwrapped) {
  const Raw header = udp_front(6081) + geneve_with_option;
  const Raw nothing;
  Raw cut = wrap(nothing, Raw(header.begin(), header.end() - 9), TunnelLoad::WholeFrame);
  EXPECT_FALSE(unwrap_frame(cut));
  EXPECT_FALSE(unwrap_frame(wrap(nothing, udp_front(4789) + vxlan, TunnelLoad::WholeFrame)));
  EXPECT_FALSE(unwrap_frame(wrap(nothing, gre_front() + raw({0}), TunnelLoad::WholeFrame)));
}

TEST(Tunnels, PushedTag_IsTheOutermost) {
  const Raw frame = push_tag(finished({.tag = 5, .payload = 30}), 0x88a86007);
  EXPECT_EQ(at16(frame, 12), 0x88a8);
  EXPECT_EQ(at16(frame, 14), 0x6007);
  EXPECT_EQ(at16(frame, 16), 0x8100);
}

TEST(Tunnels, PoppedTag_LeavesTheFrameWithoutIt) {
  EXPECT_EQ(pop_tag(finished({.tag = 5, .payload = 30})), finished({.payload = 30}));
  EXPECT_FALSE(pop_tag(finished({.payload = 30})));
  EXPECT_FALSE(pop_tag(raw({1, 2, 3})));
}

}  // namespace
}  // namespace portcullis::model::testing
