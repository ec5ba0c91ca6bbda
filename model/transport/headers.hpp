// SPDX-License-Identifier: BSD-3-Clause
//
// What a RoCEv2 frame is made of, in the idiom of prm/layout.hpp: these headers travel on the wire,
// not on the programming interface, so they stand here. Sources:
// drivers/infiniband/sw/rxe/rxe_hdr.h (BTH, RETH, AETH, DETH, IETH, ImmDt masks, rxe_atmeth,
// rxe_atmack), include/uapi/linux/{ip,ipv6,udp}.h, and for InfiniBand's own link and network layer
// include/rdma/ib_hdrs.h (IB_LVER_SHIFT .., IB_GRH_NEXT_HDR) and struct ib_unpacked_lrh and _grh
// of include/rdma/ib_pack.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "prm/layout.hpp"

namespace portcullis::model {

using prm::Bytes;
using prm::Field;
using prm::Layout;
using prm::Reserved;

// One member a line, in wire order.
// clang-format off
struct ipv4_header : Layout<"ipv4_header", 0xa0,
    Field<"version", 0x0, 0x4>,
    Field<"ihl", 0x4, 0x4>,
    Field<"tos", 0x8, 0x8>,
    Field<"tot_len", 0x10, 0x10>,
    Field<"id", 0x20, 0x10>,
    Reserved<0x30, 0x1>,
    Field<"dont_fragment", 0x31, 0x1>,
    Field<"more_fragments", 0x32, 0x1>,
    Field<"frag_off", 0x33, 0xd>,
    Field<"ttl", 0x40, 0x8>,
    Field<"protocol", 0x48, 0x8>,
    Field<"check", 0x50, 0x10>,
    Field<"saddr", 0x60, 0x20>,
    Field<"daddr", 0x80, 0x20>> {};

struct ipv6_header : Layout<"ipv6_header", 0x140,
    Field<"version", 0x0, 0x4>,
    Field<"traffic_class", 0x4, 0x8>,
    Field<"flow_label", 0xc, 0x14>,
    Field<"payload_len", 0x20, 0x10>,
    Field<"next_header", 0x30, 0x8>,
    Field<"hop_limit", 0x38, 0x8>,
    Bytes<"saddr", 0x40, 0x80>,
    Bytes<"daddr", 0xc0, 0x80>> {};

struct udp_header : Layout<"udp_header", 0x40,
    Field<"source", 0x0, 0x10>,
    Field<"dest", 0x10, 0x10>,
    Field<"len", 0x20, 0x10>,
    Field<"check", 0x30, 0x10>> {};

struct bth : Layout<"bth", 0x60,
    Field<"opcode", 0x0, 0x8>,
    Field<"se", 0x8, 0x1>,
    Field<"mig", 0x9, 0x1>,
    Field<"pad", 0xa, 0x2>,
    Field<"tver", 0xc, 0x4>,
    Field<"pkey", 0x10, 0x10>,
    Field<"fecn", 0x20, 0x1>,
    Field<"becn", 0x21, 0x1>,
    Field<"resv6a", 0x22, 0x6>,
    Field<"qpn", 0x28, 0x18>,
    Field<"ack", 0x40, 0x1>,
    Field<"resv7", 0x41, 0x7>,
    Field<"psn", 0x48, 0x18>> {};

struct reth : Layout<"reth", 0x80,
    Field<"va", 0x0, 0x40>,
    Field<"rkey", 0x40, 0x20>,
    Field<"len", 0x60, 0x20>> {};

struct aeth : Layout<"aeth", 0x20,
    Field<"syndrome", 0x0, 0x8>,
    Field<"msn", 0x8, 0x18>> {};

struct deth : Layout<"deth", 0x40,
    Field<"q_key", 0x0, 0x20>,
    Reserved<0x20, 0x8>,
    Field<"source_qpn", 0x28, 0x18>> {};

/// On XRC in every request, before any other header of the opcode: the BTH names the connection,
/// this whom the message is for (xrceth_srqn of the rdma_rxe patches for XRC, linux-rdma of 2021).
struct xrceth : Layout<"xrceth", 0x20,
    Reserved<0x0, 0x8>,
    Field<"srqn", 0x8, 0x18>> {};

/// Only dword aligned from swap_add on, so its 64-bit fields are halves.
struct atomic_eth : Layout<"atomic_eth", 0xe0,
    Field<"va", 0x0, 0x40>,
    Field<"rkey", 0x40, 0x20>,
    Field<"swap_add_h", 0x60, 0x20>,
    Field<"swap_add_l", 0x80, 0x20>,
    Field<"compare_h", 0xa0, 0x20>,
    Field<"compare_l", 0xc0, 0x20>> {};

struct atomic_ack_eth : Layout<"atomic_ack_eth", 0x40,
    Field<"original", 0x0, 0x40>> {};

/// First header of every InfiniBand frame.
struct lrh : Layout<"lrh", 0x40,
    Field<"vl", 0x0, 0x4>,
    Field<"lver", 0x4, 0x4>,
    Field<"sl", 0x8, 0x4>,
    Reserved<0xc, 0x2>,
    Field<"lnh", 0xe, 0x2>,
    Field<"dlid", 0x10, 0x10>,
    Reserved<0x20, 0x5>,
    Field<"pkt_len", 0x25, 0xb>,  // dwords from here to the end of the ICRC
    Field<"slid", 0x30, 0x10>> {};

struct grh : Layout<"grh", 0x140,
    Field<"ip_version", 0x0, 0x4>,
    Field<"traffic_class", 0x4, 0x8>,
    Field<"flow_label", 0xc, 0x14>,
    Field<"payload_length", 0x20, 0x10>,  // bytes from the BTH to the end of the ICRC
    Field<"next_header", 0x30, 0x8>,
    Field<"hop_limit", 0x38, 0x8>,
    Bytes<"source_gid", 0x40, 0x80>,
    Bytes<"destination_gid", 0xc0, 0x80>> {};
// clang-format on

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kVlanTagBytes = 4;  // VLAN_HLEN, linux/if_vlan.h
inline constexpr std::size_t kIcrcBytes = 4;
inline constexpr std::size_t kVcrcBytes = 2;
inline constexpr std::size_t kImmDtBytes = 4;
inline constexpr std::size_t kIethBytes = 4;

inline constexpr std::uint16_t kEthertypeIpv4 = 0x0800;  // ETH_P_IP
inline constexpr std::uint16_t kEthertypeIpv6 = 0x86dd;  // ETH_P_IPV6
inline constexpr std::uint16_t kEthertypeVlan = 0x8100;  // ETH_P_8021Q
inline constexpr std::uint16_t kVlanIdMask = 0x0fff;     // VLAN_VID_MASK, linux/if_vlan.h
inline constexpr unsigned kVlanPriorityShift = 13;       // VLAN_PRIO_SHIFT
inline constexpr std::uint8_t kProtocolUdp = 17;         // IPPROTO_UDP
inline constexpr std::uint16_t kRoceUdpPort = 4791;    // ROCE_V2_UDP_DPORT, include/rdma/ib_verbs.h
inline constexpr std::uint32_t kLnhBth = 2;            // IB_LNH_IBA_LOCAL, ib_pack.h
inline constexpr std::uint32_t kLnhGrh = 3;            // IB_LNH_IBA_GLOBAL
inline constexpr std::uint8_t kManagementLane = 15;    // qib_make_ud_req of hw/qib/qib_ud.c
inline constexpr std::uint32_t kGrhVersion = 6;        // IB_GRH_VERSION, ib_hdrs.h
inline constexpr std::uint32_t kGrhNextHeader = 0x1b;  // IB_GRH_NEXT_HDR
inline constexpr std::uint32_t kPsnMask = 0xffffff;    // BTH_PSN_MASK

/// AETH syndromes, enum aeth_syndrome of rxe_hdr.h.
namespace syndrome {
inline constexpr std::uint8_t kTypeMask = 0xe0;
inline constexpr std::uint8_t kAck = 0x00;
inline constexpr std::uint8_t kRnrNak = 0x20;
inline constexpr std::uint8_t kNak = 0x60;
inline constexpr std::uint8_t kAckUnlimited = 0x1f;
inline constexpr std::uint8_t kNakPsnSequenceError = 0x60;
inline constexpr std::uint8_t kNakInvalidRequest = 0x61;
inline constexpr std::uint8_t kNakRemoteAccessError = 0x62;
inline constexpr std::uint8_t kNakRemoteOperationalError = 0x63;
}  // namespace syndrome

/// Distance from PSN b to PSN a, in [-2^23, 2^23): psn_compare of rxe_verbs.h.
[[nodiscard]] constexpr std::int32_t psn_distance(std::uint32_t a, std::uint32_t b) noexcept {
  return static_cast<std::int32_t>((a - b) << 8) >> 8;
}
[[nodiscard]] constexpr std::uint32_t psn_add(std::uint32_t psn, std::uint32_t n) noexcept {
  return (psn + n) & kPsnMask;
}

}  // namespace portcullis::model
