// SPDX-License-Identifier: BSD-3-Clause
//
// Frames of a port. RoCEv2: Ethernet, perhaps with a VLAN tag, IPv4 or IPv6, UDP to port 4791, BTH,
// the extended header of the opcode, payload, pad, ICRC. InfiniBand: LRH, GRH where the path has
// one, then the same from the BTH on, and a VCRC. A FrameTemplate is what stays the same for every
// packet of a queue pair; a frame is a copy of it with the packet's own fields filled in, built
// where the wire keeps it. What comes from the wire is untrusted: decode() checks every length,
// version and checksum before it gives a Packet out, and compares the ICRC last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tl/expected.hpp>

#include "model/port_settings.hpp"
#include "model/port_type.hpp"
#include "model/transport/headers.hpp"
#include "model/transport/opcode.hpp"

namespace portcullis::model {

[[nodiscard]] bool is_ipv4_mapped(const Gid& gid) noexcept;

inline constexpr std::size_t kMaxMtuBytes = 4096;
/// Longest frame this model sends or accepts; a multiple of a cache line.
inline constexpr std::size_t kMaxFrameBytes = 10240;
static_assert(kEthernetBytes + udp_header::bytes > lrh::bytes + kVcrcBytes);  // RoCEv2 is longer
static_assert(kMaxFrameBytes >= kEthernetBytes + kVlanTagBytes + ipv6_header::bytes +
                                    udp_header::bytes + bth::bytes + xrceth::bytes + reth::bytes +
                                    kImmDtBytes + kMaxMtuBytes + kIcrcBytes);

/// Where the frames of a queue pair go and what their headers say: the address path of its context
/// and the source from the RoCE address table, or the port's LID and GID.
struct Path {
  PortType port_type = PortType::Ethernet;
  std::uint8_t transport = transport_bits::kRc;
  std::uint16_t source_lid = 0, dest_lid = 0;  // InfiniBand, as the next three
  std::uint8_t service_level = 0;
  std::uint8_t virtual_lane = 0;
  bool has_grh = false;        // the GIDs are source_ip and dest_ip
  Gid source_ip{}, dest_ip{};  // both IPv4-mapped, or both not
  Mac source_mac{}, dest_mac{};
  std::optional<std::uint16_t> tag;  // 802.1Q: priority, DEI and VLAN id
  std::uint8_t priority = 0;         // Ethernet; in the tag, where there is one
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint32_t flow_label = 0;  // IPv6; 20 bits
  std::uint16_t udp_sport = 0;
  std::uint16_t pkey = kDefaultPkey;
  std::uint32_t dest_qpn = 0;  // 24 bits
};

/// The packet's own part.
struct PacketHeader {
  BthOpcode opcode = BthOpcode::Acknowledge;
  bool solicited = false;
  bool ack_request = false;
  std::uint32_t psn = 0;
  // RETH, where the opcode has one
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint32_t dma_length = 0;
  // AETH, where the opcode has one
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;
  std::uint32_t immediate = 0;  // where the opcode has it, as the WQE has it: opaque, big-endian
  // atomics: va and rkey as in the RETH
  std::uint64_t swap_add = 0;
  std::uint64_t compare = 0;
  std::uint64_t original = 0;  // in an ATOMIC Acknowledge
  std::uint32_t q_key = 0;     // DETH, as the next
  std::uint32_t source_qpn = 0;
  std::uint32_t xrc_srqn = 0;  // XRCETH
};

class FrameTemplate {
 public:
  FrameTemplate() = default;
  explicit FrameTemplate(const Path& path);

  /// Bytes before the payload of a frame with this opcode: where to put the payload.
  [[nodiscard]] std::size_t payload_offset(BthOpcode opcode) const noexcept {
    return bth_offset_ + info_of(opcode).header_bytes;
  }
  /// Whether a RoCEv2 packet between these addresses is the peer's: from where frames go, to where
  /// they come from.
  [[nodiscard]] bool is_way_back(const Gid& source, const Gid& dest) const noexcept;
  /// The VLAN that frames go to; 0: none.
  [[nodiscard]] std::uint16_t vlan_id() const noexcept {
    return ip_offset_ == kEthernetBytes ? std::uint16_t{0} : tagged_vlan_id();
  }
  /// Completes the frame whose payload of `payload_bytes` already stands at payload_offset(); pads,
  /// sums and returns its length. `frame` must hold kMaxFrameBytes, the payload at most 4096.
  [[nodiscard]] std::size_t finish(std::span<std::byte> frame, const PacketHeader& header,
                                   std::size_t payload_bytes) const noexcept;

 private:
  static constexpr std::size_t kLongest =
      kEthernetBytes + kVlanTagBytes + ipv6_header::bytes + udp_header::bytes + bth::bytes;
  static_assert(kLongest >= lrh::bytes + grh::bytes + bth::bytes);

  [[nodiscard]] std::uint8_t number_of(BthOpcode opcode) const noexcept {
    return static_cast<std::uint8_t>(transport_ | static_cast<std::uint8_t>(opcode));
  }
  [[nodiscard]] const OpcodeInfo& info_of(BthOpcode opcode) const noexcept {
    return opcode_info(number_of(opcode));
  }
  [[nodiscard]] std::uint16_t tagged_vlan_id() const noexcept;
  void build_roce(const Path& path);
  void build_infiniband(const Path& path);
  /// `end` is where the pad ended; the frame's length.
  std::size_t close_roce(std::span<std::byte> frame, std::size_t end) const noexcept;
  std::size_t close_infiniband(std::span<std::byte> frame, std::size_t end) const noexcept;

  // Before the bytes, so that a frame over IPv4 needs one cache line of this.
  std::uint32_t ipv4_sum_ = 0;  // one's complement sum of the header but tot_len and check
  std::uint8_t bth_offset_ = kEthernetBytes + ipv4_header::bytes + udp_header::bytes;
  std::uint8_t ip_offset_ = kEthernetBytes;
  std::uint8_t ip_bytes_ = ipv4_header::bytes;
  PortType port_type_ = PortType::Ethernet;
  bool has_grh_ = false;
  std::uint8_t transport_ = transport_bits::kRc;
  std::array<std::byte, kLongest> bytes_{};
};

/// Why a frame is not a packet. Each drops it in silence, as a NIC does.
enum class FrameFault : std::uint8_t {
  TooShort,     // a header or the length it announces goes past the end of the frame
  NotIp,        // ethertype
  IpVersion,    // version or header length
  IpChecksum,   // IPv4 header checksum
  Fragment,     // IPv4 fragments are never RoCE
  NotUdp,       // next protocol
  NotRoce,      // UDP destination port
  UdpLength,    // disagrees with the IP length
  UdpChecksum,  // present and wrong
  BthVersion,   // TVer is not 0
  Opcode,       // reserved, or of a service that the port has not
  Length,       // no room for the opcode's headers, pad and ICRC; a payload where none belongs
  Icrc,         // the invariant CRC is wrong
  LinkHeader,   // LRH: version, next header, or a length that is not the frame's
  Grh,          // version, next header, or a length that is not the frame's
  Vcrc,         // the variant CRC is wrong
};
[[nodiscard]] const char* name_of(FrameFault fault) noexcept;

/// One received packet. Refers to the frame it was decoded from.
struct Packet {
  Mac source_mac{}, dest_mac{};
  Gid source_ip{}, dest_ip{};
  std::optional<std::uint16_t> tag;  // as in Path
  std::uint16_t udp_sport = 0;
  std::uint16_t source_lid = 0, dest_lid = 0;  // InfiniBand, as the next three
  std::uint8_t service_level = 0;
  std::uint8_t virtual_lane = 0;
  bool has_grh = false;
  std::uint8_t opcode = 0;  // known to opcode_info()
  bool solicited = false;
  bool ack_request = false;
  std::uint8_t pad = 0;
  std::uint16_t pkey = 0;
  std::uint32_t dest_qpn = 0;
  std::uint32_t psn = 0;
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint32_t dma_length = 0;
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;
  std::uint32_t immediate = 0;
  std::uint64_t swap_add = 0;
  std::uint64_t compare = 0;
  std::uint64_t original = 0;
  std::uint32_t q_key = 0;
  std::uint32_t source_qpn = 0;
  std::uint32_t xrc_srqn = 0;
  std::span<const std::byte> payload;  // without pad
  std::span<const std::byte> network;  // IP header or GRH; empty: none

  /// 0: none. A tag of VLAN 0 has a priority alone (802.1Q), and is as good as none.
  [[nodiscard]] std::uint16_t vlan_id() const noexcept { return tag.value_or(0) & kVlanIdMask; }
  [[nodiscard]] const OpcodeInfo& info() const noexcept { return opcode_info(opcode); }
  [[nodiscard]] std::uint8_t transport() const noexcept { return opcode & transport_bits::kMask; }
  [[nodiscard]] BthOpcode operation() const noexcept {
    return BthOpcode{static_cast<std::uint8_t>(opcode & ~transport_bits::kMask)};
  }
};

/// An Ethernet frame.
[[nodiscard]] tl::expected<Packet, FrameFault> decode(std::span<const std::byte> frame) noexcept;
/// A frame of an InfiniBand link, from the LRH to the VCRC.
[[nodiscard]] tl::expected<Packet, FrameFault> decode_infiniband(
    std::span<const std::byte> frame) noexcept;

/// What a fault rule can ask of a frame, without any of decode()'s checks but lengths; nothing when
/// it is not RoCEv2, on an InfiniBand link not a packet of the transport layer.
struct FrameLabel {
  std::uint8_t opcode = 0;
  std::uint32_t dest_qpn = 0;
  std::uint32_t psn = 0;
};
[[nodiscard]] std::optional<FrameLabel> peek(std::span<const std::byte> frame,
                                             PortType port_type = PortType::Ethernet) noexcept;

/// Breaks the ICRC of a frame, for fault injection; a frame too short to have one stays as it is.
/// An InfiniBand frame keeps a VCRC that is right: only the receiver's end to end check finds it.
void corrupt_icrc(std::span<std::byte> frame, PortType port_type = PortType::Ethernet) noexcept;

}  // namespace portcullis::model
