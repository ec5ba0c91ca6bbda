// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/frame.hpp"

#include <algorithm>
#include <cstring>

#include "model/transport/checksum.hpp"
#include "model/transport/icrc.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

constexpr std::array<std::uint8_t, 12> kIpv4MappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::size_t kIhlDwords = ipv4_header::bytes / 4;

std::uint32_t ipv4_of(const Gid& gid) noexcept {
  return std::uint32_t{gid[12]} << 24 | std::uint32_t{gid[13]} << 16 | std::uint32_t{gid[14]} << 8 |
         gid[15];
}

/// For values that their type or a mask already holds to the field's width.
template <prm::Name Path, class L>
void put(const prm::View<L>& view, std::uint64_t value) noexcept {
  static_cast<void>(view.template try_set<Path>(value));
}

std::size_t put_ipv4(std::span<std::byte> bytes, const Path& path) {
  const auto ip = prm::View<ipv4_header>::at(bytes);
  ip.set<"version", 4>();
  ip.set<"ihl", kIhlDwords>();
  ip.set<"dont_fragment", 1>();
  ip.set<"protocol", kProtocolUdp>();
  put<"tos">(ip, path.traffic_class);
  put<"ttl">(ip, path.hop_limit);
  put<"saddr">(ip, ipv4_of(path.source_ip));
  put<"daddr">(ip, ipv4_of(path.dest_ip));
  return ipv4_header::bytes;
}

std::size_t put_ipv6(std::span<std::byte> bytes, const Path& path) {
  const auto ip = prm::View<ipv6_header>::at(bytes);
  ip.set<"version", 6>();
  ip.set<"next_header", kProtocolUdp>();
  put<"traffic_class">(ip, path.traffic_class);
  put<"hop_limit">(ip, path.hop_limit);
  put<"flow_label">(ip, path.flow_label & 0xfffff);
  std::memcpy(ip.bytes<"saddr">().data(), path.source_ip.data(), path.source_ip.size());
  std::memcpy(ip.bytes<"daddr">().data(), path.dest_ip.data(), path.dest_ip.size());
  return ipv6_header::bytes;
}

void put_atomic(std::span<std::byte> frame, std::size_t at, const PacketHeader& header) noexcept {
  const auto a = prm::View<atomic_eth>::at(frame, at);
  a.put<"va">(header.va);
  a.put<"rkey">(header.rkey);
  put<"swap_add_h">(a, header.swap_add >> 32);
  put<"swap_add_l">(a, header.swap_add & 0xffffffff);
  put<"compare_h">(a, header.compare >> 32);
  put<"compare_l">(a, header.compare & 0xffffffff);
}

}  // namespace

bool is_ipv4_mapped(const Gid& gid) noexcept {
  return std::equal(kIpv4MappedPrefix.begin(), kIpv4MappedPrefix.end(), gid.begin());
}

FrameTemplate::FrameTemplate(const Path& path)
    : port_type_(path.port_type), transport_(path.transport) {
  if (port_type_ == PortType::InfiniBand) {
    build_infiniband(path);
  } else {
    build_roce(path);
  }
  const auto base = prm::View<bth>::at(std::span<std::byte>(bytes_), bth_offset_);
  // The path is MIGRATED, which a packet says by MigReq = 1; soft-RoCE sends 0 and looks at
  // neither.
  base.set<"mig", 1>();
  put<"pkey">(base, path.pkey);
  put<"qpn">(base, path.dest_qpn & 0xffffff);
}

void FrameTemplate::build_roce(const Path& path) {
  const std::span<std::byte> bytes(bytes_);
  std::memcpy(bytes_.data(), path.dest_mac.data(), path.dest_mac.size());
  std::memcpy(bytes_.data() + path.dest_mac.size(), path.source_mac.data(), path.source_mac.size());
  if (path.tag) {
    store_be16(bytes_.data() + kEthernetBytes - 2, kEthertypeVlan);
    store_be16(bytes_.data() + kEthernetBytes, *path.tag);
    ip_offset_ = kEthernetBytes + kVlanTagBytes;
  }
  const bool ipv4 = is_ipv4_mapped(path.dest_ip);
  store_be16(bytes_.data() + ip_offset_ - 2, ipv4 ? kEthertypeIpv4 : kEthertypeIpv6);
  const auto ip = bytes.subspan(ip_offset_);
  ip_bytes_ = static_cast<std::uint8_t>(ipv4 ? put_ipv4(ip, path) : put_ipv6(ip, path));
  if (ipv4) ipv4_sum_ = static_cast<std::uint32_t>(ones_sum(ip.first(ipv4_header::bytes)));
  const auto udp = prm::View<udp_header>::at(ip, ip_bytes_);
  udp.set<"dest", kRoceUdpPort>();
  put<"source">(udp, path.udp_sport);
  bth_offset_ = static_cast<std::uint8_t>(ip_offset_ + ip_bytes_ + udp_header::bytes);
}

// The addresses of the headers, not those of the path: an answer needs the headers anyway.
bool FrameTemplate::is_way_back(const Gid& source, const Gid& dest) const noexcept {
  const bool ipv4 = ip_bytes_ == ipv4_header::bytes;
  if (ipv4 != is_ipv4_mapped(source) || ipv4 != is_ipv4_mapped(dest)) return false;
  const std::size_t bytes = ipv4 ? 4 : source.size();
  constexpr std::size_t kIpv4At = prm::place<ipv4_header, "saddr">.offset / 8;
  constexpr std::size_t kIpv6At = prm::place<ipv6_header, "saddr">.offset / 8;
  const std::byte* const own = bytes_.data() + ip_offset_ + (ipv4 ? kIpv4At : kIpv6At);
  return std::memcmp(own, dest.data() + dest.size() - bytes, bytes) == 0 &&
         std::memcmp(own + bytes, source.data() + source.size() - bytes, bytes) == 0;
}

std::uint16_t FrameTemplate::tagged_vlan_id() const noexcept {
  return load_be16(bytes_.data() + kEthernetBytes) & kVlanIdMask;
}

std::size_t FrameTemplate::finish(std::span<std::byte> frame, const PacketHeader& header,
                                  std::size_t payload_bytes) const noexcept {
  const OpcodeInfo& info = info_of(header.opcode);
  const std::size_t bth_at = bth_offset_;
  std::memcpy(frame.data(), bytes_.data(), bth_at + bth::bytes);

  const std::size_t pad = (4 - payload_bytes % 4) % 4;
  const std::size_t end = bth_at + info.header_bytes + payload_bytes + pad;
  std::fill_n(frame.begin() + static_cast<std::ptrdiff_t>(end - pad), pad, std::byte{0});

  const auto base = prm::View<bth>::at(frame, bth_at);
  put<"opcode">(base, number_of(header.opcode));
  put<"se">(base, header.solicited ? 1 : 0);
  put<"pad">(base, pad);
  put<"ack">(base, header.ack_request ? 1 : 0);
  put<"psn">(base, header.psn & kPsnMask);
  const std::size_t extended_at = bth_at + info.extended_at;
  // Words with a reserved byte are written whole: the room is that of an earlier frame.
  if (info.has_xrceth)
    prm::detail::store_dword(frame.data() + bth_at + bth::bytes, header.xrc_srqn & 0xffffff);
  if (info.has_reth) {
    const auto r = prm::View<reth>::at(frame, extended_at);
    put<"va">(r, header.va);
    put<"rkey">(r, header.rkey);
    put<"len">(r, header.dma_length);
  }
  if (info.has_aeth) {
    const auto a = prm::View<aeth>::at(frame, extended_at);
    put<"syndrome">(a, header.syndrome);
    put<"msn">(a, header.msn & 0xffffff);
  }
  if (info.has_deth) {
    const std::size_t source_at = extended_at + prm::place<deth, "source_qpn">.offset / 8 / 4 * 4;
    prm::View<deth>::at(frame, extended_at).put<"q_key">(header.q_key);
    prm::detail::store_dword(frame.data() + source_at, header.source_qpn & 0xffffff);
  }
  if (info.has_atomic) put_atomic(frame, extended_at, header);
  if (info.has_original)
    prm::View<atomic_ack_eth>::at(frame, extended_at + aeth::bytes)
        .put<"original">(header.original);
  if (info.has_immediate || info.has_invalidate)
    prm::detail::store_dword(frame.data() + bth_at + info.header_bytes - kImmDtBytes,
                             header.immediate);
  return port_type_ == PortType::InfiniBand ? close_infiniband(frame, end) : close_roce(frame, end);
}

std::size_t FrameTemplate::close_roce(std::span<std::byte> frame, std::size_t end) const noexcept {
  const std::size_t total = end + kIcrcBytes;
  const auto udp_len = static_cast<std::uint16_t>(total - ip_offset_ - ip_bytes_);
  if (ip_bytes_ == ipv4_header::bytes) {
    const auto tot_len = static_cast<std::uint16_t>(total - ip_offset_);
    store_be16(frame.data() + ip_offset_ + prm::place<ipv4_header, "tot_len">.offset / 8, tot_len);
    store_be16(frame.data() + ip_offset_ + prm::place<ipv4_header, "check">.offset / 8,
               static_cast<std::uint16_t>(~fold_sum(ipv4_sum_ + tot_len)));
  } else {
    store_be16(frame.data() + ip_offset_ + prm::place<ipv6_header, "payload_len">.offset / 8,
               udp_len);
  }
  store_be16(frame.data() + ip_offset_ + ip_bytes_ + prm::place<udp_header, "len">.offset / 8,
             udp_len);
  const std::uint32_t icrc = compute_icrc(frame.subspan(ip_offset_, end - ip_offset_), ip_bytes_);
  std::memcpy(frame.data() + end, &icrc, sizeof icrc);  // little-endian, as the host
  return total;
}

const char* name_of(FrameFault fault) noexcept {
  switch (fault) {
    case FrameFault::TooShort:
      return "too short";
    case FrameFault::NotIp:
      return "not IP";
    case FrameFault::IpVersion:
      return "IP version or header length";
    case FrameFault::IpChecksum:
      return "IPv4 header checksum";
    case FrameFault::Fragment:
      return "IPv4 fragment";
    case FrameFault::NotUdp:
      return "not UDP";
    case FrameFault::NotRoce:
      return "not the RoCEv2 port";
    case FrameFault::UdpLength:
      return "UDP length";
    case FrameFault::UdpChecksum:
      return "UDP checksum";
    case FrameFault::BthVersion:
      return "BTH version";
    case FrameFault::Opcode:
      return "BTH opcode";
    case FrameFault::Length:
      return "payload length";
    case FrameFault::Icrc:
      return "ICRC";
    case FrameFault::LinkHeader:
      return "LRH";
    case FrameFault::Grh:
      return "GRH";
    case FrameFault::Vcrc:
      return "VCRC";
  }
  return "unknown";
}

}  // namespace portcullis::model
