// SPDX-License-Identifier: BSD-3-Clause
#include "tools/failover_check/packet.hpp"

#include <algorithm>

#include "model/transport/headers.hpp"
#include "model/transport/opcode.hpp"
#include "prm/view.hpp"
#include "tools/failover_check/request_packet.hpp"

namespace portcullis::tools::failover_check {
namespace {

using namespace model;

std::string text_of(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes) text.push_back(std::to_integer<char>(byte));
  return text;
}

/// Part of a frame: what was captured of it, and how much it had.
struct Piece {
  Bytes bytes;
  std::uint64_t on_wire = 0;

  [[nodiscard]] bool has(std::size_t count) const { return bytes.size() >= count; }
  /// What follows `count` bytes that were captured.
  [[nodiscard]] Piece behind(std::size_t count) const {
    return {bytes.subspan(count), on_wire < count ? 0 : on_wire - count};
  }
  /// Where a header says how long it is; what a NIC is to cut up has none.
  [[nodiscard]] Piece limited(std::uint64_t count) const {
    if (count == 0) return *this;
    return {bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), count))),
            std::min(on_wire, count)};
  }
};

/// A header of `count` bytes is not there: it was not captured, or the packet is none.
Look lacks(const Piece& piece, std::size_t count) { return {std::nullopt, piece.on_wire >= count}; }
constexpr Look kOther{};

/// What is known of a packet on the way to its transport header.
struct Layers {
  std::uint64_t type = 0;  // EtherType of `piece`; then the protocol of it
  Piece piece;
  std::string from, to;
};
/// The next layer, or what the frame is.
struct Step {
  std::optional<Layers> next;
  Look look;
};
Step stop(Look look) { return {std::nullopt, std::move(look)}; }

// tcpdump.org/linktypes.html; 12 and 14 are what some systems write for raw IP.
constexpr std::uint32_t kEthernet = 1, kRaw = 101, kRawIpv4 = 228, kRawIpv6 = 229;
constexpr std::uint32_t kRawBsd = 12, kRawOpenBsd = 14;
constexpr std::uint32_t kCooked = 113, kCooked2 = 276;  // LINKTYPE_LINUX_SLL, .._SLL2

/// What `tcpdump -i any` puts in the place of a link layer (struct sll_header, sll2_header of
/// pcap/sll.h): where its EtherType is and where the type of the device.
struct CookedLayout {
  std::size_t bytes, protocol, device;
};
constexpr CookedLayout kCookedLayout{16, 14, 2}, kCooked2Layout{20, 0, 8};

Step cooked(const Piece& frame, const CookedLayout& layout) {
  // Of these devices the protocol is no EtherType, says LINKTYPE_LINUX_SLL.
  constexpr std::uint64_t kNoEtherType[] = {770, 803, 824};  // FRAD, radiotap, netlink
  if (!frame.has(layout.bytes)) return stop(lacks(frame, layout.bytes));
  const std::uint64_t device = big(frame.bytes.subspan(layout.device, 2));
  if (std::ranges::find(kNoEtherType, device) != std::end(kNoEtherType)) return stop(kOther);
  const std::uint64_t type = big(frame.bytes.subspan(layout.protocol, 2));
  return {Layers{type, frame.behind(layout.bytes), {}, {}}, {}};
}

Step raw(const Piece& frame) {
  if (!frame.has(1)) return stop(lacks(frame, 1));
  const unsigned version = std::to_integer<unsigned>(frame.bytes[0]) >> 4U;
  if (version != 4 && version != 6) return stop(kOther);
  return {Layers{version == 4 ? kEthertypeIpv4 : kEthertypeIpv6, frame, {}, {}}, {}};
}

Step link_layer(std::uint32_t link_type, const Piece& frame) {
  switch (link_type) {
    case kEthernet:
      if (!frame.has(kEthernetBytes)) return stop(lacks(frame, kEthernetBytes));
      return {Layers{big(frame.bytes.subspan(kEthernetBytes - 2, 2)),
                     frame.behind(kEthernetBytes),
                     {},
                     {}},
              {}};
    case kCooked:
      return cooked(frame, kCookedLayout);
    case kCooked2:
      return cooked(frame, kCooked2Layout);
    default:
      return raw(frame);
  }
}

Step vlan_tags(Layers layers) {
  constexpr std::uint64_t kVlans[] = {0x8100, 0x88a8, 0x9100};  // ETH_P_8021Q, 8021AD, QINQ1
  constexpr std::size_t kTagBytes = 4;
  while (std::ranges::find(kVlans, layers.type) != std::end(kVlans)) {
    if (!layers.piece.has(kTagBytes)) return stop(lacks(layers.piece, kTagBytes));
    layers.type = big(layers.piece.bytes.subspan(2, 2));
    layers.piece = layers.piece.behind(kTagBytes);
  }
  return {std::move(layers), {}};
}

Step ipv4(const Piece& ip) {
  constexpr std::size_t kWord = 4;
  if (!ip.has(ipv4_header::bytes)) return stop(lacks(ip, ipv4_header::bytes));
  const auto header = prm::ConstView<ipv4_header>::at(ip.bytes);
  const std::size_t bytes = header.get<"ihl">() * kWord;  // options are part of it
  // A later fragment has no transport header.
  if (header.get<"version">() != 4 || bytes < ipv4_header::bytes || header.get<"frag_off">() != 0)
    return stop(kOther);
  const Piece packet = ip.limited(header.get<"tot_len">());
  if (!packet.has(bytes)) return stop(lacks(packet, bytes));
  return {Layers{header.get<"protocol">(), packet.behind(bytes), text_of(ip.bytes.subspan(12, 4)),
                 text_of(ip.bytes.subspan(16, 4))},
          {}};
}

/// Past the extension headers of RFC 8200 that may stand before UDP.
Step extensions(Layers layers) {
  constexpr std::uint64_t kHopByHop = 0, kRouting = 43, kFragment = 44, kDestination = 60;
  constexpr std::size_t kLeastBytes = 8;
  while (layers.type == kHopByHop || layers.type == kRouting || layers.type == kFragment ||
         layers.type == kDestination) {
    const Bytes header = layers.piece.bytes;
    if (!layers.piece.has(kLeastBytes)) return stop(lacks(layers.piece, kLeastBytes));
    constexpr std::uint64_t kOffset = 0xfff8;
    if (layers.type == kFragment && (big(header.subspan(2, 2)) & kOffset) != 0) return stop(kOther);
    const std::size_t bytes = layers.type == kFragment
                                  ? kLeastBytes
                                  : (std::to_integer<std::size_t>(header[1]) + 1) * kLeastBytes;
    if (!layers.piece.has(bytes)) return stop(lacks(layers.piece, bytes));
    layers.type = std::to_integer<std::uint64_t>(header[0]);
    layers.piece = layers.piece.behind(bytes);
  }
  return {std::move(layers), {}};
}

Step ipv6(const Piece& ip) {
  if (!ip.has(ipv6_header::bytes)) return stop(lacks(ip, ipv6_header::bytes));
  const auto header = prm::ConstView<ipv6_header>::at(ip.bytes);
  if (header.get<"version">() != 6) return stop(kOther);
  const Piece payload = ip.behind(ipv6_header::bytes).limited(header.get<"payload_len">());
  return extensions({header.get<"next_header">(), payload, text_of(ip.bytes.subspan(8, 16)),
                     text_of(ip.bytes.subspan(24, 16))});
}

Step network(const Layers& layers) {
  if (layers.type == kEthertypeIpv4) return ipv4(layers.piece);
  if (layers.type == kEthertypeIpv6) return ipv6(layers.piece);
  return stop(kOther);
}

Look transport(const Layers& layers) {
  if (layers.type != kProtocolUdp) return kOther;
  if (!layers.piece.has(udp_header::bytes)) return lacks(layers.piece, udp_header::bytes);
  const auto header = prm::ConstView<udp_header>::at(layers.piece.bytes);
  if (header.get<"dest">() != kRoceUdpPort) return kOther;
  const Piece packet = layers.piece.limited(header.get<"len">());
  if (!packet.has(udp_header::bytes + bth::bytes))
    return lacks(packet, udp_header::bytes + bth::bytes);
  const Piece from_bth = packet.behind(udp_header::bytes);
  Seen seen{layers.from, layers.to, 0, 0, 0, {from_bth.bytes, from_bth.on_wire}};
  const auto base = prm::ConstView<bth>::at(seen.packet.transport);
  seen.opcode = static_cast<std::uint8_t>(base.get<"opcode">());
  const bool is_reliable = (seen.opcode & transport_bits::kMask) == transport_bits::kRc;
  if (!is_reliable || !info_of(seen.opcode).known()) return kOther;
  seen.qpn = static_cast<std::uint32_t>(base.get<"qpn">());
  seen.psn = static_cast<std::uint32_t>(base.get<"psn">());
  return {std::move(seen), false};
}

}  // namespace

std::uint64_t big(Bytes bytes) noexcept {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint64_t>(byte);
  return value;
}

bool is_link_type_read(std::uint32_t link_type) noexcept {
  constexpr std::uint32_t kRead[] = {kEthernet, kRaw,        kRawIpv4, kRawIpv6,
                                     kRawBsd,   kRawOpenBsd, kCooked,  kCooked2};
  return std::ranges::find(kRead, link_type) != std::end(kRead);
}
const char* link_types_read() noexcept {
  return "Ethernet (1), raw IP (101, 12, 14, 228, 229), Linux cooked (113, 276)";
}

Look look_at(const CapturedFrame& frame) {
  Step step = link_layer(frame.link_type, {frame.bytes, frame.wire_bytes});
  if (step.next) step = vlan_tags(std::move(*step.next));
  if (step.next) step = network(*step.next);
  return step.next ? transport(*step.next) : step.look;
}

}  // namespace portcullis::tools::failover_check
