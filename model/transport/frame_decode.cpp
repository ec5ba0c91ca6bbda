// SPDX-License-Identifier: BSD-3-Clause
//
// The checks a received frame passes before anything believes it, outermost header first.
#include <cstring>

#include "model/transport/checksum.hpp"
#include "model/transport/frame.hpp"
#include "model/transport/frame_parts.hpp"
#include "model/transport/icrc.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

/// Where the IP header ended and what it said.
struct IpLayer {
  std::size_t header_bytes = 0;
  std::span<const std::byte> datagram;  // from the UDP header to the end the IP length gives
};
template <class T>
using Checked = tl::expected<T, FrameFault>;

tl::unexpected<FrameFault> reject(FrameFault fault) { return tl::unexpected<FrameFault>(fault); }

void map_ipv4(Gid& gid, std::span<const std::byte> address) noexcept {
  gid.fill(0);
  gid[10] = gid[11] = 0xff;
  std::memcpy(gid.data() + 12, address.data(), 4);
}

Checked<IpLayer> decode_ipv4(std::span<const std::byte> bytes, Packet& packet) noexcept {
  if (bytes.size() < ipv4_header::bytes) return reject(FrameFault::TooShort);
  const auto ip = prm::ConstView<ipv4_header>::at(bytes);
  // A RoCEv2 packet has no IP options (ihl 5): the ICRC is defined for a header of 20 bytes.
  if (ip.get<"version">() != 4 || ip.get<"ihl">() != ipv4_header::bytes / 4)
    return reject(FrameFault::IpVersion);
  if (fold_sum(ones_sum(bytes.first(ipv4_header::bytes))) != 0xffff)
    return reject(FrameFault::IpChecksum);
  if (ip.get<"more_fragments">() != 0 || ip.get<"frag_off">() != 0)
    return reject(FrameFault::Fragment);
  if (ip.get<"protocol">() != kProtocolUdp) return reject(FrameFault::NotUdp);
  const std::size_t total = ip.get<"tot_len">();
  if (total < ipv4_header::bytes + udp_header::bytes || total > bytes.size())
    return reject(FrameFault::TooShort);
  constexpr std::size_t kSource = prm::place<ipv4_header, "saddr">.offset / 8;
  constexpr std::size_t kDest = prm::place<ipv4_header, "daddr">.offset / 8;
  map_ipv4(packet.source_ip, bytes.subspan(kSource, 4));
  map_ipv4(packet.dest_ip, bytes.subspan(kDest, 4));
  return IpLayer{ipv4_header::bytes, bytes.subspan(ipv4_header::bytes, total - ipv4_header::bytes)};
}

Checked<IpLayer> decode_ipv6(std::span<const std::byte> bytes, Packet& packet) noexcept {
  if (bytes.size() < ipv6_header::bytes) return reject(FrameFault::TooShort);
  const auto ip = prm::ConstView<ipv6_header>::at(bytes);
  if (ip.get<"version">() != 6) return reject(FrameFault::IpVersion);
  if (ip.get<"next_header">() != kProtocolUdp) return reject(FrameFault::NotUdp);
  const std::size_t payload = ip.get<"payload_len">();
  if (payload < udp_header::bytes || payload > bytes.size() - ipv6_header::bytes)
    return reject(FrameFault::TooShort);
  std::memcpy(packet.source_ip.data(), ip.bytes<"saddr">().data(), packet.source_ip.size());
  std::memcpy(packet.dest_ip.data(), ip.bytes<"daddr">().data(), packet.dest_ip.size());
  return IpLayer{ipv6_header::bytes, bytes.subspan(ipv6_header::bytes, payload)};
}

/// RoCEv2 senders leave the UDP checksum 0; one that is there must be right (RFC 768, RFC 8200).
bool udp_checksum_is_right(const IpLayer& ip, std::span<const std::byte> ip_bytes) noexcept {
  const bool ipv4 = ip.header_bytes == ipv4_header::bytes;
  const std::size_t addresses = ipv4 ? 8 : 32;
  const auto pseudo = ip_bytes.subspan(ip.header_bytes - addresses, addresses);
  const std::uint64_t sum =
      ones_sum(pseudo) + ones_sum(ip.datagram) + kProtocolUdp + ip.datagram.size();
  return fold_sum(sum) == 0xffff;
}

Checked<void> decode_udp(const IpLayer& ip, std::span<const std::byte> ip_bytes,
                         Packet& packet) noexcept {
  const auto udp = prm::ConstView<udp_header>::at(ip.datagram);
  if (udp.get<"dest">() != kRoceUdpPort) return reject(FrameFault::NotRoce);
  if (udp.get<"len">() != ip.datagram.size()) return reject(FrameFault::UdpLength);
  if (udp.get<"check">() != 0 && !udp_checksum_is_right(ip, ip_bytes))
    return reject(FrameFault::UdpChecksum);
  packet.udp_sport = static_cast<std::uint16_t>(udp.get<"source">());
  return {};
}

/// Where the network header begins; 0: the frame is cut short. One tag is stepped over: mlx5_ib's
/// address table has no room for two of them.
std::size_t network_at(std::span<const std::byte> frame) noexcept {
  if (frame.size() < kEthernetBytes) return 0;
  if (load_be16(frame.data() + kEthernetBytes - 2) != kEthertypeVlan) return kEthernetBytes;
  constexpr std::size_t kTagged = kEthernetBytes + kVlanTagBytes;
  return frame.size() < kTagged ? 0 : kTagged;
}

std::optional<std::size_t> roce_bth_offset(std::span<const std::byte> frame) noexcept {
  const std::size_t at = network_at(frame);
  if (at == 0) return std::nullopt;
  const std::uint16_t ethertype = load_be16(frame.data() + at - 2);
  if (ethertype != kEthertypeIpv4 && ethertype != kEthertypeIpv6) return std::nullopt;
  return at + udp_header::bytes +
         (ethertype == kEthertypeIpv4 ? ipv4_header::bytes : ipv6_header::bytes);
}

bool icrc_is_right(std::span<const std::byte> ip_bytes, std::size_t ip_header_bytes) noexcept {
  std::uint32_t carried;
  std::memcpy(&carried, ip_bytes.data() + ip_bytes.size() - kIcrcBytes, sizeof carried);
  return carried == compute_icrc(ip_bytes.first(ip_bytes.size() - kIcrcBytes), ip_header_bytes);
}

}  // namespace

tl::expected<void, FrameFault> decode_transport(std::span<const std::byte> bytes,
                                                Packet& packet) noexcept {
  if (bytes.size() < bth::bytes + kIcrcBytes) return reject(FrameFault::TooShort);
  const auto base = prm::ConstView<bth>::at(bytes);
  if (base.get<"tver">() != 0) return reject(FrameFault::BthVersion);
  packet.opcode = static_cast<std::uint8_t>(base.get<"opcode">());
  const OpcodeInfo& info = packet.info();
  if (!info.known()) return reject(FrameFault::Opcode);
  packet.pad = static_cast<std::uint8_t>(base.get<"pad">());
  if (bytes.size() < info.header_bytes + packet.pad + kIcrcBytes) return reject(FrameFault::Length);
  packet.payload =
      bytes.subspan(info.header_bytes, bytes.size() - info.header_bytes - packet.pad - kIcrcBytes);
  if (!info.has_payload && (!packet.payload.empty() || packet.pad != 0))
    return reject(FrameFault::Length);
  // Payload and pad make whole words. Which part is pad, the DMA length says, to the responder.
  if ((packet.payload.size() + packet.pad) % 4 != 0 || packet.payload.size() > kMaxMtuBytes)
    return reject(FrameFault::Length);
  packet.solicited = base.get<"se">() != 0;
  packet.ack_request = base.get<"ack">() != 0;
  packet.pkey = static_cast<std::uint16_t>(base.get<"pkey">());
  packet.dest_qpn = base.get<"qpn">();
  packet.psn = base.get<"psn">();
  if (info.has_xrceth)
    packet.xrc_srqn = prm::ConstView<xrceth>::at(bytes, bth::bytes).get<"srqn">();
  if (info.has_reth) {
    const auto r = prm::ConstView<reth>::at(bytes, info.extended_at);
    packet.va = r.get<"va">();
    packet.rkey = r.get<"rkey">();
    packet.dma_length = r.get<"len">();
  }
  if (info.has_aeth) {
    const auto a = prm::ConstView<aeth>::at(bytes, info.extended_at);
    packet.syndrome = static_cast<std::uint8_t>(a.get<"syndrome">());
    packet.msn = a.get<"msn">();
  }
  if (info.has_deth) {
    const auto d = prm::ConstView<deth>::at(bytes, info.extended_at);
    packet.q_key = d.get<"q_key">();
    packet.source_qpn = d.get<"source_qpn">();
  }
  if (info.has_atomic) {
    const auto a = prm::ConstView<atomic_eth>::at(bytes, info.extended_at);
    packet.va = a.get<"va">();
    packet.rkey = a.get<"rkey">();
    packet.swap_add = std::uint64_t{a.get<"swap_add_h">()} << 32 | a.get<"swap_add_l">();
    packet.compare = std::uint64_t{a.get<"compare_h">()} << 32 | a.get<"compare_l">();
  }
  if (info.has_original)
    packet.original =
        prm::ConstView<atomic_ack_eth>::at(bytes, info.extended_at + aeth::bytes).get<"original">();
  if (info.has_immediate || info.has_invalidate)
    packet.immediate = prm::detail::load_dword(bytes.data() + info.header_bytes - kImmDtBytes);
  return {};
}

Checked<Packet> decode(std::span<const std::byte> frame) noexcept {
  const std::size_t at = network_at(frame);
  if (at == 0) return reject(FrameFault::TooShort);
  Packet packet;
  if (at != kEthernetBytes) packet.tag = load_be16(frame.data() + kEthernetBytes);
  std::memcpy(packet.dest_mac.data(), frame.data(), packet.dest_mac.size());
  std::memcpy(packet.source_mac.data(), frame.data() + 6, packet.source_mac.size());
  const std::uint16_t ethertype = load_be16(frame.data() + at - 2);
  if (ethertype != kEthertypeIpv4 && ethertype != kEthertypeIpv6) return reject(FrameFault::NotIp);

  const auto rest = frame.subspan(at);
  const Checked<IpLayer> ip =
      ethertype == kEthertypeIpv4 ? decode_ipv4(rest, packet) : decode_ipv6(rest, packet);
  if (!ip) return reject(ip.error());
  const auto ip_bytes = rest.first(ip->header_bytes + ip->datagram.size());
  packet.network = rest.first(ip->header_bytes);
  if (const auto udp = decode_udp(*ip, ip_bytes, packet); !udp) return reject(udp.error());
  const auto transport = decode_transport(ip->datagram.subspan(udp_header::bytes), packet);
  if (!transport) return reject(transport.error());
  if (!icrc_is_right(ip_bytes, ip->header_bytes)) return reject(FrameFault::Icrc);
  return packet;
}

std::optional<FrameLabel> peek(std::span<const std::byte> frame, PortType port_type) noexcept {
  const auto at =
      port_type == PortType::InfiniBand ? infiniband_bth_offset(frame) : roce_bth_offset(frame);
  if (!at || frame.size() < *at + bth::bytes) return std::nullopt;
  const auto base = prm::ConstView<bth>::at(frame, *at);
  return FrameLabel{static_cast<std::uint8_t>(base.get<"opcode">()), base.get<"qpn">(),
                    base.get<"psn">()};
}

void corrupt_icrc(std::span<std::byte> frame, PortType port_type) noexcept {
  if (port_type == PortType::InfiniBand) {
    if (frame.size() < lrh::bytes + kIcrcBytes + kVcrcBytes) return;
    frame[frame.size() - kVcrcBytes - 1] ^= std::byte{0xff};
    const std::uint16_t vcrc = compute_vcrc(frame.first(frame.size() - kVcrcBytes));
    std::memcpy(frame.data() + frame.size() - kVcrcBytes, &vcrc, sizeof vcrc);
    return;
  }
  if (frame.size() < kEthernetBytes + kIcrcBytes) return;
  frame.back() ^= std::byte{0xff};
}

}  // namespace portcullis::model
