// SPDX-License-Identifier: BSD-3-Clause
#include "model/steering/flow_key.hpp"

#include <cstring>

#include "model/ethernet/frame_facts.hpp"
#include "model/transport/checksum.hpp"
#include "model/transport/frame.hpp"
#include "model/transport/frame_parts.hpp"
#include "model/transport/headers.hpp"

namespace portcullis::model {
namespace {

using Outer = prm::View<prm::fte_match_set_lyr_2_4>;
using Bytes = std::span<const std::byte>;

constexpr std::uint8_t kProtocolTcp = 6;    // IPPROTO_TCP, in.h
constexpr std::size_t kPortsBytes = 4;      // source and destination, the same in UDP and TCP
constexpr std::size_t kIpv4InAddress = 12;  // ipv4_layout: the last four of the sixteen bytes

/// For values that their place in the frame already holds to the field's width.
template <prm::Name Path, class L>
void put(const prm::View<L>& view, std::uint64_t value) noexcept {
  static_cast<void>(view.template try_set<Path>(value));
}

std::uint16_t be16(Bytes frame, std::size_t at) noexcept { return load_be16(&frame[at]); }
std::uint32_t be32(Bytes frame, std::size_t at) noexcept {
  return std::uint32_t{be16(frame, at)} << 16 | be16(frame, at + 2);
}

/// Addresses, VLAN tag and ethertype; where the network header begins.
std::size_t put_ethernet(Bytes frame, const Outer& outer) noexcept {
  put<"dmac_47_16">(outer, be32(frame, 0));
  put<"dmac_15_0">(outer, be16(frame, 4));
  put<"smac_47_16">(outer, be32(frame, 6));
  put<"smac_15_0">(outer, be16(frame, 10));
  std::size_t at = kEthernetBytes;
  std::uint16_t ethertype = be16(frame, at - 2);
  const bool is_cvlan = ethertype == kEthertypeVlan;
  if ((is_cvlan || ethertype == kEthertypeSvlan) && frame.size() >= at + kVlanTagBytes) {
    const std::uint16_t tag = be16(frame, at);
    if (is_cvlan)
      outer.set<"cvlan_tag", 1>();
    else
      outer.set<"svlan_tag", 1>();
    put<"first_prio">(outer, tag >> 13);
    put<"first_cfi">(outer, tag >> 12 & 1);
    put<"first_vid">(outer, tag & 0xfff);
    ethertype = be16(frame, at + 2);
    at += kVlanTagBytes;
  }
  put<"ethertype">(outer, ethertype);
  return at;
}

/// Where the transport header begins; past the end when there is none.
std::size_t put_ipv4(Bytes frame, std::size_t at, const Outer& outer) noexcept {
  const auto ip = prm::ConstView<ipv4_header>::at(frame, at);
  put<"ip_version">(outer, ip.get<"version">());
  put<"ip_protocol">(outer, ip.get<"protocol">());
  put<"ip_dscp">(outer, ip.get<"tos">() >> 2);
  put<"ip_ecn">(outer, ip.get<"tos">() & 3);
  put<"ttl_hoplimit">(outer, ip.get<"ttl">());
  const bool fragment = ip.get<"more_fragments">() != 0 || ip.get<"frag_off">() != 0;
  if (fragment) outer.set<"frag", 1>();
  constexpr std::size_t kSource = prm::place<ipv4_header, "saddr">.offset / 8;
  constexpr std::size_t kDest = prm::place<ipv4_header, "daddr">.offset / 8;
  std::memcpy(outer.bytes<"src_ipv4_src_ipv6">().data() + kIpv4InAddress, &frame[at + kSource], 4);
  std::memcpy(outer.bytes<"dst_ipv4_dst_ipv6">().data() + kIpv4InAddress, &frame[at + kDest], 4);
  return fragment ? frame.size() : at + std::size_t{ip.get<"ihl">()} * 4;
}

std::size_t put_ipv6(Bytes frame, std::size_t at, const Outer& outer) noexcept {
  const auto ip = prm::ConstView<ipv6_header>::at(frame, at);
  put<"ip_version">(outer, ip.get<"version">());
  put<"ip_protocol">(outer, ip.get<"next_header">());
  put<"ip_dscp">(outer, ip.get<"traffic_class">() >> 2);
  put<"ip_ecn">(outer, ip.get<"traffic_class">() & 3);
  put<"ttl_hoplimit">(outer, ip.get<"hop_limit">());
  std::memcpy(outer.bytes<"src_ipv4_src_ipv6">().data(), ip.bytes<"saddr">().data(), 16);
  std::memcpy(outer.bytes<"dst_ipv4_dst_ipv6">().data(), ip.bytes<"daddr">().data(), 16);
  return at + ipv6_header::bytes;
}

void put_bth(Bytes frame, std::size_t at, FlowKey& key) noexcept {
  if (frame.size() < at + bth::bytes) return;
  const auto base = prm::ConstView<bth>::at(frame, at);
  put<"bth_opcode">(key.misc(), base.get<"opcode">());
  put<"bth_dst_qp">(key.misc(), base.get<"qpn">());
}

void put_ports(Bytes frame, std::size_t at, FlowKey& key) noexcept {
  const Outer outer = key.outer();
  if (frame.size() < at + kPortsBytes) return;
  if (outer.get<"ip_protocol">() == kProtocolTcp) {
    put<"tcp_sport">(outer, be16(frame, at));
    put<"tcp_dport">(outer, be16(frame, at + 2));
  }
  if (outer.get<"ip_protocol">() != kProtocolUdp) return;
  put<"udp_sport">(outer, be16(frame, at));
  put<"udp_dport">(outer, be16(frame, at + 2));
  if (outer.get<"udp_dport">() == kRoceUdpPort) put_bth(frame, at + udp_header::bytes, key);
}

FlowKey all_fields() noexcept {
  FlowKey key;
  const Outer outer = key.outer();
  outer.set<"smac_47_16", 0xffffffff>();
  outer.set<"smac_15_0", 0xffff>();
  outer.set<"ethertype", 0xffff>();
  outer.set<"dmac_47_16", 0xffffffff>();
  outer.set<"dmac_15_0", 0xffff>();
  outer.set<"first_prio", 7>();
  outer.set<"first_cfi", 1>();
  outer.set<"first_vid", 0xfff>();
  outer.set<"ip_protocol", 0xff>();
  outer.set<"ip_dscp", 0x3f>();
  outer.set<"ip_ecn", 3>();
  outer.set<"cvlan_tag", 1>();
  outer.set<"svlan_tag", 1>();
  outer.set<"frag", 1>();
  outer.set<"ip_version", 0xf>();
  outer.set<"tcp_sport", 0xffff>();
  outer.set<"tcp_dport", 0xffff>();
  outer.set<"ttl_hoplimit", 0xff>();
  outer.set<"udp_sport", 0xffff>();
  outer.set<"udp_dport", 0xffff>();
  std::memset(outer.bytes<"src_ipv4_src_ipv6">().data(), 0xff, 16);
  std::memset(outer.bytes<"dst_ipv4_dst_ipv6">().data(), 0xff, 16);
  key.misc().set<"bth_opcode", 0xff>();
  key.misc().set<"bth_dst_qp", 0xffffff>();
  return key;
}

template <class Test>
bool all_words(Test test) noexcept {
  for (std::size_t at = 0; at < FlowKey::kBytes; at += sizeof(std::uint64_t))
    if (!test(at)) return false;
  return true;
}

std::uint64_t word(const FlowKey& key, std::size_t at) noexcept {
  std::uint64_t value;
  std::memcpy(&value, key.bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

bool FlowKey::matches(const FlowKey& mask, const FlowKey& value) const noexcept {
  return all_words([&](std::size_t at) {
    return (word(*this, at) & word(mask, at)) == (word(value, at) & word(mask, at));
  });
}

bool FlowKey::is_within(const FlowKey& mask) const noexcept {
  return all_words([&](std::size_t at) { return (word(*this, at) & ~word(mask, at)) == 0; });
}

FlowKey flow_key(std::span<const std::byte> frame, PortType port_type) noexcept {
  FlowKey key;
  if (port_type == PortType::InfiniBand) {
    if (const auto at = infiniband_bth_offset(frame)) put_bth(frame, *at, key);
    return key;
  }
  if (frame.size() < kEthernetBytes) return key;
  const std::size_t at = put_ethernet(frame, key.outer());
  const auto ethertype = key.outer().get<"ethertype">();
  if (ethertype == kEthertypeIpv4 && frame.size() >= at + ipv4_header::bytes)
    put_ports(frame, put_ipv4(frame, at, key.outer()), key);
  if (ethertype == kEthertypeIpv6 && frame.size() >= at + ipv6_header::bytes)
    put_ports(frame, put_ipv6(frame, at, key.outer()), key);
  return key;
}

const FlowKey& supported_fields() noexcept {
  static const FlowKey key = all_fields();
  return key;
}

}  // namespace portcullis::model
