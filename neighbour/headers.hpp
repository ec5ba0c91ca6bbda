// SPDX-License-Identifier: BSD-3-Clause
//
// Headers of what hosts ask each other on a link, in the idiom of prm/layout.hpp: they travel on
// the wire, not on the programming interface, so they stand here. Sources: struct ethhdr, arphdr,
// iphdr, icmphdr, ipv6hdr and icmp6hdr of include/uapi/linux, struct nd_msg and nd_opt_hdr of
// include/net/ndisc.h; tests/neighbour holds them against frames that scapy built.
#pragma once

#include <cstddef>
#include <cstdint>

#include "prm/layout.hpp"

namespace portcullis::neighbour {

using prm::Bytes;
using prm::Field;
using prm::Layout;
using prm::Reserved;

// One member a line, in wire order.
// clang-format off
/// What an ethertype follows, or a tag and then an ethertype.
struct ethernet_addresses : Layout<"ethernet_addresses", 0x60,
    Bytes<"h_dest", 0x0, 0x30>,
    Bytes<"h_source", 0x30, 0x30>> {};

/// struct vlan_hdr of include/linux/if_vlan.h, with the ethertype before it.
struct vlan_tag : Layout<"vlan_tag", 0x20,
    Field<"h_proto", 0x0, 0x10>,
    Field<"pcp", 0x10, 0x3>,
    Field<"dei", 0x13, 0x1>,
    Field<"vid", 0x14, 0xc>> {};

/// For IPv4 over Ethernet.
struct arp_packet : Layout<"arp_packet", 0xe0,
    Field<"ar_hrd", 0x0, 0x10>,
    Field<"ar_pro", 0x10, 0x10>,
    Field<"ar_hln", 0x20, 0x8>,
    Field<"ar_pln", 0x28, 0x8>,
    Field<"ar_op", 0x30, 0x10>,
    Bytes<"ar_sha", 0x40, 0x30>,
    Bytes<"ar_sip", 0x70, 0x20>,
    Bytes<"ar_tha", 0x90, 0x30>,
    Bytes<"ar_tip", 0xc0, 0x20>> {};

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
    Bytes<"saddr", 0x60, 0x20>,
    Bytes<"daddr", 0x80, 0x20>> {};

struct ipv6_header : Layout<"ipv6_header", 0x140,
    Field<"version", 0x0, 0x4>,
    Field<"traffic_class", 0x4, 0x8>,
    Field<"flow_label", 0xc, 0x14>,
    Field<"payload_len", 0x20, 0x10>,
    Field<"next_header", 0x30, 0x8>,
    Field<"hop_limit", 0x38, 0x8>,
    Bytes<"saddr", 0x40, 0x80>,
    Bytes<"daddr", 0xc0, 0x80>> {};

/// Of ICMP and ICMPv6 alike; of an echo the last four bytes are identifier and sequence number.
struct icmp_header : Layout<"icmp_header", 0x40,
    Field<"type", 0x0, 0x8>,
    Field<"code", 0x8, 0x8>,
    Field<"checksum", 0x10, 0x10>,
    Bytes<"rest", 0x20, 0x20>> {};

/// A solicitation has the three flags reserved.
struct nd_msg : Layout<"nd_msg", 0xc0,
    Field<"icmp6_type", 0x0, 0x8>,
    Field<"icmp6_code", 0x8, 0x8>,
    Field<"icmp6_cksum", 0x10, 0x10>,
    Field<"router", 0x20, 0x1>,
    Field<"solicited", 0x21, 0x1>,
    Field<"override", 0x22, 0x1>,
    Reserved<0x23, 0x1d>,
    Bytes<"target", 0x40, 0x80>> {};

/// A link-layer address option; others are passed over by their length, in units of 8 bytes.
struct nd_link_option : Layout<"nd_link_option", 0x40,
    Field<"nd_opt_type", 0x0, 0x8>,
    Field<"nd_opt_len", 0x8, 0x8>,
    Bytes<"address", 0x10, 0x30>> {};
// clang-format on

inline constexpr std::uint16_t kEthertypeIpv4 = 0x0800;  // ETH_P_IP, if_ether.h
inline constexpr std::uint16_t kEthertypeArp = 0x0806;   // ETH_P_ARP
inline constexpr std::uint16_t kEthertypeVlan = 0x8100;  // ETH_P_8021Q
inline constexpr std::uint16_t kEthertypeIpv6 = 0x86dd;  // ETH_P_IPV6
inline constexpr std::uint8_t kProtocolIcmp = 1;         // IPPROTO_ICMP, in.h
inline constexpr std::uint8_t kProtocolIcmpv6 = 58;      // IPPROTO_ICMPV6
inline constexpr std::size_t kLeastFrameBytes = 60;      // ETH_ZLEN

inline constexpr std::uint16_t kArpEthernet = 1;  // ARPHRD_ETHER, if_arp.h
enum class ArpOp : std::uint16_t { REQUEST = 1, REPLY = 2 };

inline constexpr std::uint8_t kEcho = 8;       // ICMP_ECHO, icmp.h
inline constexpr std::uint8_t kEchoReply = 0;  // ICMP_ECHOREPLY
inline constexpr std::uint8_t kEcho6 = 128;    // ICMPV6_ECHO_REQUEST, icmpv6.h
inline constexpr std::uint8_t kEchoReply6 = 129;
inline constexpr std::uint8_t kSolicitation = 135;   // NDISC_NEIGHBOUR_SOLICITATION, ndisc.h
inline constexpr std::uint8_t kAdvertisement = 136;  // NDISC_NEIGHBOUR_ADVERTISEMENT
inline constexpr std::uint8_t kNdHopLimit = 255;     // what no router lets through (RFC 4861, 7.1)
inline constexpr std::uint8_t kSourceLink = 1;       // ND_OPT_SOURCE_LL_ADDR
inline constexpr std::uint8_t kTargetLink = 2;       // ND_OPT_TARGET_LL_ADDR

}  // namespace portcullis::neighbour
