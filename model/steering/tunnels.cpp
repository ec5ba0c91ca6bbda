// SPDX-License-Identifier: BSD-3-Clause
#include "model/steering/tunnels.hpp"

#include <algorithm>

#include "model/ethernet/frame_facts.hpp"
#include "model/ethernet/offloads.hpp"
#include "model/transport/checksum.hpp"
#include "model/transport/headers.hpp"
#include "prm/ethernet_wqe.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

using FrameBytes = std::span<const std::byte>;

constexpr std::uint16_t kVxlanPort = 4789;   // IANA_VXLAN_UDP_PORT, include/net/vxlan.h
constexpr std::uint16_t kGenevePort = 6081;  // GENEVE_UDP_PORT, include/net/geneve.h
constexpr std::uint8_t kProtocolGre = 47;    // IPPROTO_GRE, in.h
constexpr std::size_t kVxlanBytes = 8;       // struct vxlanhdr
constexpr std::size_t kGeneveBytes = 8;      // struct genevehdr, its options behind it
constexpr std::size_t kGreBytes = 4;         // struct gre_base_hdr
constexpr std::size_t kTypeAt = 2;           // of what is inside, in geneve and in GRE
constexpr std::byte kGeneveOptions{0x3f};    // opt_len, in dwords
/// GRE_CSUM, GRE_KEY, GRE_SEQ of include/uapi/linux/if_tunnel.h: each has a dword of its own.
constexpr std::uint16_t kGreDwords[] = {0x8000, 0x2000, 0x1000};
constexpr std::size_t kDword = 4;

constexpr std::size_t kNetworkAt = 4;  // of the VNI, in vxlan and in geneve

std::optional<TunnelInside> behind(std::uint16_t ethertype, FrameBytes payload,
                                   std::size_t header) {
  if (payload.size() < header) return std::nullopt;
  return TunnelInside{ethertype, payload.subspan(header)};
}

std::uint32_t network_of(FrameBytes payload) {
  return std::uint32_t{load_be16(&payload[kNetworkAt])} << 8 |
         std::to_integer<std::uint32_t>(payload[kNetworkAt + 2]);
}

/// Of any version: rdma-core's test_packet_reformat_root_l2_gre has frames come out of one of 1.
std::optional<TunnelInside> in_gre(FrameBytes payload) {
  if (payload.size() < kGreBytes) return std::nullopt;
  const std::uint16_t flags = load_be16(payload.data());
  const auto options = static_cast<std::size_t>(
      std::ranges::count_if(kGreDwords, [flags](std::uint16_t bit) { return (flags & bit) != 0; }));
  return behind(load_be16(&payload[kTypeAt]), payload, kGreBytes + options * kDword);
}

std::optional<TunnelInside> in_udp(std::uint16_t port, FrameBytes payload) {
  static_assert(kVxlanBytes == kGeneveBytes);
  if ((port != kVxlanPort && port != kGenevePort) || payload.size() < kVxlanBytes)
    return std::nullopt;
  const bool is_vxlan = port == kVxlanPort;
  const auto options = std::to_integer<std::size_t>(payload[0] & kGeneveOptions) * kDword;
  auto inside = is_vxlan ? behind(kEthertypeFrame, payload, kVxlanBytes)
                         : behind(load_be16(&payload[kTypeAt]), payload, kGeneveBytes + options);
  if (inside) inside->network = network_of(payload);
  return inside;
}

/// What follows the network header, as it says; 0 of a fragment.
std::uint8_t protocol_of(FrameBytes frame, const FrameFacts& facts) {
  if (facts.l3 == FrameFacts::L3::Ipv6)
    return static_cast<std::uint8_t>(
        prm::ConstView<ipv6_header>::at(frame, facts.l3_at).get<"next_header">());
  if (facts.l3 != FrameFacts::L3::Ipv4) return 0;
  const auto ip = prm::ConstView<ipv4_header>::at(frame, facts.l3_at);
  if (ip.get<"more_fragments">() != 0 || ip.get<"frag_off">() != 0) return 0;
  return static_cast<std::uint8_t>(ip.get<"protocol">());
}

FrameBuffer joined(FrameBytes first, FrameBytes second) {
  FrameBuffer both(first.begin(), first.end());
  both.insert(both.end(), second.begin(), second.end());
  return both;
}

}  // namespace

std::optional<TunnelInside> find_inside(FrameBytes frame) {
  const FrameFacts facts = facts_of(frame);
  if (protocol_of(frame, facts) == kProtocolGre)
    return in_gre(frame.subspan(facts.l4_at, facts.end - facts.l4_at));
  if (facts.l4 != FrameFacts::L4::Udp) return std::nullopt;
  const std::size_t payload = facts.l4_at + udp_header::bytes;
  const auto udp = prm::ConstView<udp_header>::at(frame, facts.l4_at);
  return in_udp(static_cast<std::uint16_t>(udp.get<"dest">()),
                frame.subspan(payload, facts.end - payload));
}

FrameBuffer wrap(FrameBytes frame, FrameBytes header, TunnelLoad load) {
  const std::size_t link =
      load == TunnelLoad::NetworkPacket ? std::min(facts_of(frame).l3_at, frame.size()) : 0;
  FrameBuffer wrapped = joined(header, frame.subspan(link));
  put_lengths(wrapped, 0);
  fill_checksums(wrapped, prm::kEthL3Csum);
  return wrapped;
}

std::optional<FrameBuffer> unwrap_frame(FrameBytes frame) {
  const auto inside = find_inside(frame);
  if (!inside || inside->ethertype != kEthertypeFrame || inside->bytes.size() < kEthernetBytes)
    return std::nullopt;
  return FrameBuffer(inside->bytes.begin(), inside->bytes.end());
}

std::optional<FrameBuffer> unwrap_packet(FrameBytes frame, FrameBytes header) {
  const auto inside = find_inside(frame);
  if (!inside || (inside->ethertype != kEthertypeIpv4 && inside->ethertype != kEthertypeIpv6))
    return std::nullopt;
  return joined(header, inside->bytes);
}

FrameBuffer push_tag(FrameBytes frame, std::uint32_t tag) {
  constexpr std::size_t kAddresses = 2 * kMacBytes;
  std::array<std::byte, kVlanTagBytes> raw{};
  prm::detail::store_dword(raw.data(), tag);
  return joined(joined(frame.first(kAddresses), raw), frame.subspan(kAddresses));
}

std::optional<FrameBuffer> pop_tag(FrameBytes frame) {
  constexpr std::size_t kAddresses = 2 * kMacBytes;
  if (frame.size() < kEthernetBytes + kVlanTagBytes) return std::nullopt;
  const std::uint16_t ethertype = load_be16(&frame[kAddresses]);
  if (ethertype != kEthertypeVlan && ethertype != kEthertypeSvlan) return std::nullopt;
  return joined(frame.first(kAddresses), frame.subspan(kAddresses + kVlanTagBytes));
}

}  // namespace portcullis::model
