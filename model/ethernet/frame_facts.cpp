// SPDX-License-Identifier: BSD-3-Clause
#include "model/ethernet/frame_facts.hpp"

#include "model/transport/checksum.hpp"
#include "model/transport/headers.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

using FrameBytes = std::span<const std::byte>;

constexpr std::uint8_t kProtocolTcp = 6;  // IPPROTO_TCP, in.h

void find_transport(FrameBytes frame, std::uint32_t protocol, FrameFacts& facts) noexcept {
  const std::size_t room = facts.end - facts.l4_at;
  if (protocol == kProtocolUdp && room >= udp_header::bytes) facts.l4 = FrameFacts::L4::Udp;
  if (protocol != kProtocolTcp || room < tcp::kLeastBytes) return;
  const std::size_t header = tcp_header_bytes(frame, facts);
  if (header >= tcp::kLeastBytes && header <= room) facts.l4 = FrameFacts::L4::Tcp;
}

void find_ipv4(FrameBytes frame, FrameFacts& facts) noexcept {
  if (frame.size() < facts.l3_at + ipv4_header::bytes) return;
  const auto ip = prm::ConstView<ipv4_header>::at(frame, facts.l3_at);
  const std::size_t header = std::size_t{ip.get<"ihl">()} * 4;
  if (ip.get<"version">() != 4 || header < ipv4_header::bytes ||
      frame.size() < facts.l3_at + header)
    return;
  facts.l3 = FrameFacts::L3::Ipv4;
  facts.l4_at = facts.l3_at + header;
  const std::size_t total = ip.get<"tot_len">();
  if (total < header || total > frame.size() - facts.l3_at) return;
  facts.end = facts.l3_at + total;
  facts.l3_ok = fold_sum(ones_sum(frame.subspan(facts.l3_at, header))) == 0xffff;
  if (ip.get<"more_fragments">() == 0 && ip.get<"frag_off">() == 0)
    find_transport(frame, ip.get<"protocol">(), facts);
}

void find_ipv6(FrameBytes frame, FrameFacts& facts) noexcept {
  if (frame.size() < facts.l3_at + ipv6_header::bytes) return;
  const auto ip = prm::ConstView<ipv6_header>::at(frame, facts.l3_at);
  if (ip.get<"version">() != 6) return;
  facts.l3 = FrameFacts::L3::Ipv6;
  facts.l4_at = facts.l3_at + ipv6_header::bytes;
  const std::size_t payload = ip.get<"payload_len">();
  if (payload > frame.size() - facts.l4_at) return;
  facts.end = facts.l4_at + payload;
  facts.l3_ok = true;
  find_transport(frame, ip.get<"next_header">(), facts);
}

}  // namespace

FrameFacts facts_of(FrameBytes frame) noexcept {
  if (frame.size() < kEthernetBytes) return network_facts(frame, 0, 0);
  const std::uint16_t ethertype = load_be16(&frame[2 * kMacBytes]);
  if (ethertype != kEthertypeVlan || frame.size() < kEthernetBytes + kVlanTagBytes)
    return network_facts(frame, kEthernetBytes, ethertype);
  FrameFacts facts =
      network_facts(frame, kEthernetBytes + kVlanTagBytes, load_be16(&frame[kEthernetBytes + 2]));
  facts.tag = load_be16(&frame[kEthernetBytes]);
  return facts;
}

FrameFacts network_facts(FrameBytes frame, std::size_t l3_at, std::uint16_t ethertype) noexcept {
  FrameFacts facts;
  facts.end = frame.size();
  facts.l3_at = l3_at;
  if (ethertype == kEthertypeIpv4) find_ipv4(frame, facts);
  if (ethertype == kEthertypeIpv6) find_ipv6(frame, facts);
  return facts;
}

FrameBytes addresses_of(FrameBytes frame, const FrameFacts& facts) noexcept {
  constexpr prm::Place kV4 = prm::place<ipv4_header, "saddr">;
  constexpr prm::Place kV6 = prm::place<ipv6_header, "saddr">;
  if (facts.l3 == FrameFacts::L3::None) return {};
  const prm::Place& first = facts.l3 == FrameFacts::L3::Ipv4 ? kV4 : kV6;
  return frame.subspan(facts.l3_at + first.offset / 8, std::size_t{2} * (first.width / 8));
}

std::uint16_t transport_sum(FrameBytes frame, const FrameFacts& facts) noexcept {
  const FrameBytes segment = frame.subspan(facts.l4_at, facts.end - facts.l4_at);
  const std::uint32_t protocol = facts.l4 == FrameFacts::L4::Tcp ? kProtocolTcp : kProtocolUdp;
  return fold_sum(ones_sum(addresses_of(frame, facts)) + ones_sum(segment) + protocol +
                  segment.size());
}

bool is_transport_right(FrameBytes frame, const FrameFacts& facts) noexcept {
  if (!facts.has_l4()) return false;
  const bool may_be_none = facts.l4 == FrameFacts::L4::Udp && facts.l3 == FrameFacts::L3::Ipv4;
  if (may_be_none && load_be16(&frame[facts.l4_at + kUdpCheck]) == 0) return true;
  return transport_sum(frame, facts) == 0xffff;
}

std::size_t tcp_header_bytes(FrameBytes frame, const FrameFacts& facts) noexcept {
  return std::to_integer<std::size_t>(frame[facts.l4_at + tcp::kDataOffset] >> 4) * 4;
}

}  // namespace portcullis::model
