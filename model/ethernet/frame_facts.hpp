// SPDX-License-Identifier: BSD-3-Clause
//
// What the parser of a port sees in an Ethernet frame: tag, network and transport header, and
// whether what they sum up and say of lengths is right. Nothing of a frame is believed; a header
// that is cut short is no header. IPv6 extension headers are not looked behind, and of a fragment
// there is no transport header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace portcullis::model {

inline constexpr std::uint16_t kEthertypeSvlan = 0x88a8;  // ETH_P_8021AD
inline constexpr std::size_t kMacBytes = 6;

struct FrameFacts {
  enum class L3 : std::uint8_t { None, Ipv4, Ipv6 };
  enum class L4 : std::uint8_t { None, Tcp, Udp };

  std::optional<std::uint16_t> tag;  // of an 802.1Q tag right behind the addresses
  L3 l3 = L3::None;
  L4 l4 = L4::None;
  bool l3_ok = false;  // the length fits the frame and, of IPv4, the header's checksum is right
  std::size_t l3_at = 0;
  std::size_t l4_at = 0;
  std::size_t end = 0;  // of the IP packet: what stands behind it is padding

  [[nodiscard]] bool has_l4() const noexcept { return l4 != L4::None; }
};

[[nodiscard]] FrameFacts facts_of(std::span<const std::byte> frame) noexcept;
/// Of what begins at `l3_at` with a header of that ethertype, whatever stands before it.
[[nodiscard]] FrameFacts network_facts(std::span<const std::byte> frame, std::size_t l3_at,
                                       std::uint16_t ethertype) noexcept;

/// Source, then destination, as they stand in the frame; empty without a network header.
[[nodiscard]] std::span<const std::byte> addresses_of(std::span<const std::byte> frame,
                                                      const FrameFacts& facts) noexcept;
/// One's complement sum of pseudo header and transport segment (RFC 793, RFC 8200). has_l4() holds.
[[nodiscard]] std::uint16_t transport_sum(std::span<const std::byte> frame,
                                          const FrameFacts& facts) noexcept;
/// The transport checksum is right; a UDP one of 0 over IPv4 is none, and right.
[[nodiscard]] bool is_transport_right(std::span<const std::byte> frame,
                                      const FrameFacts& facts) noexcept;

/// Bytes of a TCP header, as it says itself: has_l4() and L4::Tcp hold.
[[nodiscard]] std::size_t tcp_header_bytes(std::span<const std::byte> frame,
                                           const FrameFacts& facts) noexcept;

/// Where stands what in a TCP header (struct tcphdr of include/uapi/linux/tcp.h).
namespace tcp {
inline constexpr std::size_t kSequence = 4;
inline constexpr std::size_t kDataOffset = 12;
inline constexpr std::size_t kFlags = 13;
inline constexpr std::size_t kCheck = 16;
inline constexpr std::size_t kLeastBytes = 20;
inline constexpr std::byte kFin{0x01};
inline constexpr std::byte kPsh{0x08};
inline constexpr std::byte kAck{0x10};
inline constexpr std::byte kCwr{0x80};
}  // namespace tcp
inline constexpr std::size_t kUdpCheck = 6;  // struct udphdr of include/uapi/linux/udp.h
inline constexpr std::size_t kUdpLength = 4;

}  // namespace portcullis::model
