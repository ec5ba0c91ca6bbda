// SPDX-License-Identifier: BSD-3-Clause
#include "model/steering/lookup_tag.hpp"

#include <libdeflate.h>

#include <algorithm>

#include "base/cells.hpp"
#include "model/ethernet/frame_facts.hpp"
#include "model/steering/tunnels.hpp"
#include "model/transport/checksum.hpp"
#include "model/transport/headers.hpp"
#include "prm/enums.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

using Bytes = std::span<const std::byte>;
using prm::SteLookup;

constexpr std::uint16_t kEthertypeMpls = 0x8847;           // ETH_P_MPLS_UC
constexpr std::uint16_t kEthertypeMplsMulticast = 0x8848;  // ETH_P_MPLS_MC
constexpr std::size_t kMplsBytes = 4;
constexpr std::uint8_t kProtocolGre = 47;  // IPPROTO_GRE, in.h
constexpr std::size_t kGreBytes = 4;       // struct gre_base_hdr
constexpr std::size_t kGreKeyBytes = 4;
constexpr std::size_t kTcpWindowAt = 14;  // struct tcphdr of include/uapi/linux/tcp.h
constexpr std::size_t kTcpUrgentAt = 18;

/// Some fields of a header, for values that their place in a frame already holds to the width.
template <prm::Name Path, class L>
void put(const prm::View<L>& view, std::uint64_t value) noexcept {
  static_cast<void>(view.template try_set<Path>(value));
}

std::uint32_t be32(Bytes bytes, std::size_t at) noexcept {
  return std::uint32_t{load_be16(&bytes[at])} << 16 | load_be16(&bytes[at + 2]);
}

struct VlanTag {
  prm::SteVlan qualifier{};
  std::uint16_t tci = 0;
};

/// The headers of a packet, or of one in a tunnel.
struct Headers {
  Bytes bytes;
  bool has_link = false;
  std::optional<VlanTag> tags[2];
  std::uint16_t ethertype = 0;
  FrameFacts facts;
  std::uint32_t tunnel_network = 0;  // of one in a tunnel

  [[nodiscard]] bool is_ipv4() const noexcept { return facts.l3 == FrameFacts::L3::Ipv4; }
  [[nodiscard]] bool is_ipv6() const noexcept { return facts.l3 == FrameFacts::L3::Ipv6; }
  [[nodiscard]] prm::ConstView<ipv4_header> ipv4() const {
    return prm::ConstView<ipv4_header>::at(bytes, facts.l3_at);
  }
  [[nodiscard]] prm::ConstView<ipv6_header> ipv6() const {
    return prm::ConstView<ipv6_header>::at(bytes, facts.l3_at);
  }
  [[nodiscard]] bool is_fragment() const {
    return is_ipv4() && (ipv4().get<"more_fragments">() != 0 || ipv4().get<"frag_off">() != 0);
  }
  /// Nine bits, the lowest FIN; 0 of no TCP.
  [[nodiscard]] std::uint32_t tcp_flags() const {
    return facts.l4 == FrameFacts::L4::Tcp
               ? load_be16(&bytes[facts.l4_at + tcp::kDataOffset]) & 0x1ffU
               : 0;
  }
};

bool is_tag(std::uint16_t ethertype) noexcept {
  return ethertype == kEthertypeVlan || ethertype == kEthertypeSvlan;
}

Headers headers_of(Bytes frame) {
  Headers headers;
  headers.bytes = frame;
  if (frame.size() < kEthernetBytes) return headers;
  headers.has_link = true;
  std::size_t at = kEthernetBytes;
  headers.ethertype = load_be16(&frame[at - 2]);
  for (auto& tag : headers.tags) {
    if (!is_tag(headers.ethertype) || frame.size() < at + kVlanTagBytes) break;
    tag = VlanTag{headers.ethertype == kEthertypeVlan ? prm::SteVlan::CVLAN : prm::SteVlan::SVLAN,
                  load_be16(&frame[at])};
    headers.ethertype = load_be16(&frame[at + 2]);
    at += kVlanTagBytes;
  }
  headers.facts = network_facts(frame, at, headers.ethertype);
  return headers;
}

/// Of what is in a tunnel; of nothing when there is none.
Headers inner_headers_of(Bytes frame) {
  const auto inside = find_inside(frame);
  if (!inside) return {};
  Headers headers;
  if (inside->ethertype == kEthertypeFrame) {
    headers = headers_of(inside->bytes);
  } else {
    headers.bytes = inside->bytes;
    headers.ethertype = inside->ethertype;
    headers.facts = network_facts(inside->bytes, 0, inside->ethertype);
  }
  headers.tunnel_network = inside->network;
  return headers;
}

std::uint32_t l3_type(const Headers& headers) noexcept {
  if (headers.is_ipv4()) return prm::number(prm::SteL3::IPV4);
  return headers.is_ipv6() ? prm::number(prm::SteL3::IPV6) : 0U;
}

std::uint32_t l4_type(const Headers& headers) noexcept {
  if (!headers.facts.has_l4()) return 0;
  return prm::number(headers.facts.l4 == FrameFacts::L4::Tcp ? prm::SteL4::TCP : prm::SteL4::UDP);
}

template <class L>
void put_first_tag(const Headers& headers, const prm::View<L>& tag) {
  if (!headers.tags[0]) return;
  put<"first_vlan_qualifier">(tag, prm::number(headers.tags[0]->qualifier));
  put<"first_priority">(tag, headers.tags[0]->tci >> kVlanPriorityShift);
  put<"first_cfi">(tag, headers.tags[0]->tci >> 12 & 1);
  put<"first_vlan_id">(tag, headers.tags[0]->tci & kVlanIdMask);
}

/// What the tags by source, by destination and of a tunnel have alike.
template <class L>
void put_kind(const Headers& headers, const prm::View<L>& tag) {
  put<"l3_ethertype">(tag, headers.ethertype);
  put<"ip_fragmented">(tag, headers.is_fragment() ? 1 : 0);
  put<"tcp_syn">(tag, headers.tcp_flags() >> 1 & 1);
  put<"l3_type">(tag, l3_type(headers));
  put<"l4_type">(tag, l4_type(headers));
  put_first_tag(headers, tag);
}

template <class L>
void put_link(const Headers& headers, const PacketSource& from, const prm::View<L>& tag) {
  put_kind(headers, tag);
  put<"functional_lb">(tag, from.is_own ? 1 : 0);
  if (!headers.tags[1]) return;
  put<"second_vlan_qualifier">(tag, prm::number(headers.tags[1]->qualifier));
  put<"second_priority">(tag, headers.tags[1]->tci >> kVlanPriorityShift);
  put<"second_cfi">(tag, headers.tags[1]->tci >> 12 & 1);
  put<"second_vlan_id">(tag, headers.tags[1]->tci & kVlanIdMask);
}

void fill_source(const Headers& headers, const PacketSource& from, SteTag& raw) {
  if (!headers.has_link) return;
  const auto tag = prm::View<prm::ste_eth_l2_src>::at(raw);
  put<"smac_47_16">(tag, be32(headers.bytes, kMacBytes));
  put<"smac_15_0">(tag, load_be16(&headers.bytes[kMacBytes + 4]));
  put_link(headers, from, tag);
}

void fill_destination(const Headers& headers, const PacketSource& from, SteTag& raw) {
  if (!headers.has_link) return;
  const auto tag = prm::View<prm::ste_eth_l2_dst>::at(raw);
  put<"dmac_47_16">(tag, be32(headers.bytes, 0));
  put<"dmac_15_0">(tag, load_be16(&headers.bytes[4]));
  put_link(headers, from, tag);
}

void fill_both(const Headers& headers, const PacketSource& from, SteTag& raw) {
  if (!headers.has_link) return;
  const auto tag = prm::View<prm::ste_eth_l2_src_dst>::at(raw);
  put<"dmac_47_16">(tag, be32(headers.bytes, 0));
  put<"dmac_15_0">(tag, load_be16(&headers.bytes[4]));
  put<"smac_47_32">(tag, load_be16(&headers.bytes[kMacBytes]));
  put<"smac_31_0">(tag, be32(headers.bytes, kMacBytes + 2));
  put<"functional_lb">(tag, from.is_own ? 1 : 0);
  put<"l3_type">(tag, l3_type(headers));
  put_first_tag(headers, tag);
}

void fill_in_tunnel(const Headers& headers, SteTag& raw) {
  if (!headers.has_link) return;
  const auto tag = prm::View<prm::ste_eth_l2_tnl>::at(raw);
  put<"dmac_47_16">(tag, be32(headers.bytes, 0));
  put<"dmac_15_0">(tag, load_be16(&headers.bytes[4]));
  put<"l2_tunneling_network_id">(tag, headers.tunnel_network << 8);
  put_kind(headers, tag);
}

template <class L>
void put_tcp_flags(std::uint32_t flags, const prm::View<L>& tag) {
  put<"tcp_ns">(tag, flags >> 8 & 1);
  put<"tcp_cwr">(tag, flags >> 7 & 1);
  put<"tcp_ece">(tag, flags >> 6 & 1);
  put<"tcp_urg">(tag, flags >> 5 & 1);
  put<"tcp_ack">(tag, flags >> 4 & 1);
  put<"tcp_psh">(tag, flags >> 3 & 1);
  put<"tcp_rst">(tag, flags >> 2 & 1);
  put<"tcp_syn">(tag, flags >> 1 & 1);
  put<"tcp_fin">(tag, flags & 1);
}

void fill_ipv4(const Headers& headers, SteTag& raw) {
  if (!headers.is_ipv4()) return;
  const auto tag = prm::View<prm::ste_eth_l3_ipv4_5_tuple>::at(raw);
  const auto ip = headers.ipv4();
  put<"destination_address">(tag, ip.get<"daddr">());
  put<"source_address">(tag, ip.get<"saddr">());
  put<"fragmented">(tag, headers.is_fragment() ? 1 : 0);
  put<"first_fragment">(tag, headers.is_fragment() && ip.get<"frag_off">() == 0 ? 1 : 0);
  put<"dscp">(tag, ip.get<"tos">() >> 2);
  put<"ecn">(tag, ip.get<"tos">() & 3);
  put<"protocol">(tag, ip.get<"protocol">());
  put_tcp_flags(headers.tcp_flags(), tag);
  if (!headers.facts.has_l4()) return;
  put<"source_port">(tag, load_be16(&headers.bytes[headers.facts.l4_at]));
  put<"destination_port">(tag, load_be16(&headers.bytes[headers.facts.l4_at + 2]));
}

/// The rest of the header.
void fill_ipv4_rest(const Headers& headers, SteTag& raw) {
  if (!headers.is_ipv4()) return;
  const auto tag = prm::View<prm::ste_eth_l3_ipv4_misc>::at(raw);
  const auto ip = headers.ipv4();
  put<"version">(tag, ip.get<"version">());
  put<"ihl">(tag, ip.get<"ihl">());
  put<"total_length">(tag, ip.get<"tot_len">());
  put<"identification">(tag, ip.get<"id">());
  put<"flags">(tag, ip.get<"dont_fragment">() << 1 | ip.get<"more_fragments">());
  put<"fragment_offset">(tag, ip.get<"frag_off">());
  put<"time_to_live">(tag, ip.get<"ttl">());
  put<"checksum">(tag, ip.get<"check">());
}

template <prm::Name Address>
void fill_ipv6(const Headers& headers, SteTag& raw) {
  if (headers.is_ipv6()) std::ranges::copy(headers.ipv6().bytes<Address>(), raw.begin());
}

/// The transport, and of IPv6 what is no address.
void fill_transport(const Headers& headers, SteTag& raw) {
  const auto tag = prm::View<prm::ste_eth_l4>::at(raw);
  put<"fragmented">(tag, headers.is_fragment() ? 1 : 0);
  if (headers.is_ipv6()) {
    const auto ip = headers.ipv6();
    put<"ipv6_version">(tag, ip.get<"version">());
    put<"ipv6_payload_length">(tag, ip.get<"payload_len">());
    put<"ipv6_hop_limit">(tag, ip.get<"hop_limit">());
    put<"flow_label">(tag, ip.get<"flow_label">());
    put<"protocol">(tag, ip.get<"next_header">());
    put<"dscp">(tag, ip.get<"traffic_class">() >> 2);
    put<"ecn">(tag, ip.get<"traffic_class">() & 3);
  } else if (headers.is_ipv4()) {
    const auto ip = headers.ipv4();
    put<"first_fragment">(tag, headers.is_fragment() && ip.get<"frag_off">() == 0 ? 1 : 0);
    put<"protocol">(tag, ip.get<"protocol">());
    put<"dscp">(tag, ip.get<"tos">() >> 2);
    put<"ecn">(tag, ip.get<"tos">() & 3);
  }
  if (!headers.facts.has_l4()) return;
  put<"src_port">(tag, load_be16(&headers.bytes[headers.facts.l4_at]));
  put<"dst_port">(tag, load_be16(&headers.bytes[headers.facts.l4_at + 2]));
  put_tcp_flags(headers.tcp_flags(), tag);
  if (headers.facts.l4 == FrameFacts::L4::Tcp)
    put<"tcp_data_offset">(tag, tcp_header_bytes(headers.bytes, headers.facts) / 4);
}

void fill_transport_rest(const Headers& headers, SteTag& raw) {
  if (!headers.facts.has_l4()) return;
  const auto tag = prm::View<prm::ste_eth_l4_misc>::at(raw);
  const Bytes segment = headers.bytes.subspan(headers.facts.l4_at);
  if (headers.facts.l4 == FrameFacts::L4::Udp) {
    put<"checksum">(tag, load_be16(&segment[kUdpCheck]));
    put<"length">(tag, load_be16(&segment[kUdpLength]));
    return;
  }
  put<"checksum">(tag, load_be16(&segment[tcp::kCheck]));
  put<"seq_num">(tag, be32(segment, tcp::kSequence));
  put<"ack_num">(tag, be32(segment, tcp::kSequence + 4));
  put<"window_size">(tag, load_be16(&segment[kTcpWindowAt]));
  put<"urgent_pointer">(tag, load_be16(&segment[kTcpUrgentAt]));
}

void fill_mpls(const Headers& headers, SteTag& raw) {
  const bool is_mpls =
      headers.ethertype == kEthertypeMpls || headers.ethertype == kEthertypeMplsMulticast;
  const std::size_t at = headers.facts.l3_at;
  if (!is_mpls || headers.bytes.size() < at + kMplsBytes) return;
  const auto tag = prm::View<prm::ste_mpls>::at(raw);
  const std::uint32_t label = be32(headers.bytes, at);
  put<"mpls0_label">(tag, label >> 12);
  put<"mpls0_exp">(tag, label >> 9 & 7);
  put<"mpls0_s_bos">(tag, label >> 8 & 1);
  put<"mpls0_ttl">(tag, label & 0xff);
  put<"mpls0_s_bit">(tag, label >> 8 & 1);
  put<"mpls0_qualifier">(tag, 1);
}

/// GRE's options stand in the order of their flags (RFC 2784, RFC 2890).
void fill_gre(const Headers& headers, SteTag& raw) {
  const FrameFacts& facts = headers.facts;
  const std::uint32_t protocol = headers.is_ipv4()   ? headers.ipv4().get<"protocol">()
                                 : headers.is_ipv6() ? headers.ipv6().get<"next_header">()
                                                     : 0U;
  if (protocol != kProtocolGre || headers.is_fragment() || facts.end < facts.l4_at + kGreBytes)
    return;
  const Bytes gre = headers.bytes.subspan(facts.l4_at, facts.end - facts.l4_at);
  const auto tag = prm::View<prm::ste_gre>::at(raw);
  std::ranges::copy(gre.first(kGreBytes), raw.begin());
  const std::size_t key_at = kGreBytes + (tag.get<"gre_c_present">() != 0 ? kGreKeyBytes : 0);
  if (tag.get<"gre_k_present">() == 0 || gre.size() < key_at + kGreKeyBytes) return;
  put<"gre_key_h">(tag, be32(gre, key_at) >> 8);
  put<"gre_key_l">(tag, be32(gre, key_at) & 0xff);
}

void fill_registers(std::span<const std::uint32_t, 4> registers, SteTag& raw) {
  for (std::size_t i = 0; i < registers.size(); ++i)
    prm::detail::store_dword(&raw[i * 4], registers[i]);
}

void fill_origin(const PacketSource& from, SteTag& raw) {
  const auto tag = prm::View<prm::ste_src_gvmi_qp>::at(raw);
  put<"functional_lb">(tag, from.is_own ? 1 : 0);
  put<"source_qp">(tag, from.sqn);
}

enum class Part : std::uint8_t { Outer, Inner };
enum class What : std::uint8_t {
  Source,
  Destination,
  Both,
  InTunnel,
  Ipv4,
  Ipv4Rest,
  Ipv6Source,
  Ipv6Destination,
  Transport,
  TransportRest,
  Mpls,
  Gre,
};
struct Kind {
  SteLookup lookup;
  What what;
  Part part;
};

constexpr std::array kKinds{
    Kind{SteLookup::ETHL2_SRC_O, What::Source, Part::Outer},
    Kind{SteLookup::ETHL2_SRC_D, What::Source, Part::Outer},
    Kind{SteLookup::ETHL2_SRC_I, What::Source, Part::Inner},
    Kind{SteLookup::ETHL2_DST_O, What::Destination, Part::Outer},
    Kind{SteLookup::ETHL2_DST_D, What::Destination, Part::Outer},
    Kind{SteLookup::ETHL2_DST_I, What::Destination, Part::Inner},
    Kind{SteLookup::ETHL2_SRC_DST_O, What::Both, Part::Outer},
    Kind{SteLookup::ETHL2_SRC_DST_D, What::Both, Part::Outer},
    Kind{SteLookup::ETHL2_SRC_DST_I, What::Both, Part::Inner},
    Kind{SteLookup::ETHL2_TUNNELING_I, What::InTunnel, Part::Inner},
    Kind{SteLookup::ETHL3_IPV4_5_TUPLE_O, What::Ipv4, Part::Outer},
    Kind{SteLookup::ETHL3_IPV4_5_TUPLE_D, What::Ipv4, Part::Outer},
    Kind{SteLookup::ETHL3_IPV4_5_TUPLE_I, What::Ipv4, Part::Inner},
    Kind{SteLookup::ETHL3_IPV4_MISC_O, What::Ipv4Rest, Part::Outer},
    Kind{SteLookup::ETHL3_IPV4_MISC_D, What::Ipv4Rest, Part::Outer},
    Kind{SteLookup::ETHL3_IPV4_MISC_I, What::Ipv4Rest, Part::Inner},
    Kind{SteLookup::ETHL3_IPV6_SRC_O, What::Ipv6Source, Part::Outer},
    Kind{SteLookup::ETHL3_IPV6_SRC_D, What::Ipv6Source, Part::Outer},
    Kind{SteLookup::ETHL3_IPV6_SRC_I, What::Ipv6Source, Part::Inner},
    Kind{SteLookup::ETHL3_IPV6_DST_O, What::Ipv6Destination, Part::Outer},
    Kind{SteLookup::ETHL3_IPV6_DST_D, What::Ipv6Destination, Part::Outer},
    Kind{SteLookup::ETHL3_IPV6_DST_I, What::Ipv6Destination, Part::Inner},
    Kind{SteLookup::ETHL4_O, What::Transport, Part::Outer},
    Kind{SteLookup::ETHL4_D, What::Transport, Part::Outer},
    Kind{SteLookup::ETHL4_I, What::Transport, Part::Inner},
    Kind{SteLookup::ETHL4_MISC_O, What::TransportRest, Part::Outer},
    Kind{SteLookup::ETHL4_MISC_D, What::TransportRest, Part::Outer},
    Kind{SteLookup::ETHL4_MISC_I, What::TransportRest, Part::Inner},
    Kind{SteLookup::MPLS_FIRST_O, What::Mpls, Part::Outer},
    Kind{SteLookup::MPLS_FIRST_D, What::Mpls, Part::Outer},
    Kind{SteLookup::MPLS_FIRST_I, What::Mpls, Part::Inner},
    Kind{SteLookup::GRE, What::Gre, Part::Outer},
};

SteTag tag_of_headers(const Kind& kind, const LookedAt& packet) {
  const Headers headers =
      kind.part == Part::Outer ? headers_of(packet.frame) : inner_headers_of(packet.frame);
  SteTag raw{};
  switch (kind.what) {
    case What::Source:
      fill_source(headers, packet.from, raw);
      break;
    case What::Destination:
      fill_destination(headers, packet.from, raw);
      break;
    case What::Both:
      fill_both(headers, packet.from, raw);
      break;
    case What::InTunnel:
      fill_in_tunnel(headers, raw);
      break;
    case What::Ipv4:
      fill_ipv4(headers, raw);
      break;
    case What::Ipv4Rest:
      fill_ipv4_rest(headers, raw);
      break;
    case What::Ipv6Source:
      fill_ipv6<"saddr">(headers, raw);
      break;
    case What::Ipv6Destination:
      fill_ipv6<"daddr">(headers, raw);
      break;
    case What::Transport:
      fill_transport(headers, raw);
      break;
    case What::TransportRest:
      fill_transport_rest(headers, raw);
      break;
    case What::Mpls:
      fill_mpls(headers, raw);
      break;
    case What::Gre:
      fill_gre(headers, raw);
      break;
  }
  return raw;
}

}  // namespace

std::optional<SteTag> lookup_tag(SteLookup lookup, const LookedAt& packet) {
  SteTag raw{};
  const std::span<const std::uint32_t, 8> c(packet.registers.c);
  switch (lookup) {
    case SteLookup::NOP:
      return raw;
    case SteLookup::SRC_GVMI_AND_QP:
      fill_origin(packet.from, raw);
      return raw;
    case SteLookup::GENERAL_PURPOSE:
      prm::detail::store_dword(raw.data(), packet.registers.a);
      return raw;
    case SteLookup::STEERING_REGISTERS_0:
      fill_registers(c.first<4>(), raw);
      return raw;
    case SteLookup::STEERING_REGISTERS_1:
      fill_registers(c.last<4>(), raw);
      return raw;
    default:
      break;
  }
  const auto kind = std::ranges::find(kKinds, lookup, &Kind::lookup);
  if (kind == kKinds.end()) return std::nullopt;
  return tag_of_headers(*kind, packet);
}

/// CRC-32 without the inversions before and after, which libdeflate makes, as big-endian bytes
/// (dr_crc32_slice8_calc of dr_crc32.c).
std::uint32_t hash_index(const SteTag& tag, std::uint16_t byte_mask, std::uint32_t entries) {
  if (entries <= 1) return 0;
  SteTag masked{};
  for (std::size_t i = 0; i < masked.size(); ++i)
    if ((byte_mask >> (masked.size() - 1 - i) & 1) != 0) masked[i] = tag[i];
  const std::uint32_t crc = ~libdeflate_crc32(0xffffffff, masked.data(), masked.size());
  return cells::be32(crc) & (entries - 1);
}

}  // namespace portcullis::model
