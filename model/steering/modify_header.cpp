// SPDX-License-Identifier: BSD-3-Clause
#include "model/steering/modify_header.hpp"

#include <algorithm>
#include <array>

#include "model/ethernet/frame_facts.hpp"
#include "model/ethernet/offloads.hpp"
#include "model/transport/checksum.hpp"
#include "model/transport/headers.hpp"
#include "prm/ethernet_wqe.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

using prm::HeaderField;

/// Where a field's bits are counted from.
enum class Layer : std::uint8_t { Ethernet, Tag, Ethertype, Ipv4, Ipv6, Tcp, Udp };

struct FieldPlace {
  HeaderField field;
  Layer layer;
  unsigned bit;
  unsigned width;
};

template <prm::Name Member, class Header>
constexpr unsigned kBitOf = prm::place<Header, Member>.offset;

constexpr unsigned kSourceMacBit = kMacBytes * 8;
constexpr unsigned kV6Source = kBitOf<"saddr", ipv6_header>;
constexpr unsigned kV6Dest = kBitOf<"daddr", ipv6_header>;
constexpr unsigned kV6Class = kBitOf<"traffic_class", ipv6_header>;
constexpr unsigned kDscpBits = 6;  // the upper ones of tos and of the traffic class (RFC 2474)

// A field of two kinds of header has two places. TCP: struct tcphdr of include/uapi/linux/tcp.h;
// its flags are nine bits, as tcp_flags of fte_match_set_lyr_2_4.
// clang-format off
constexpr std::array kPlaces{
    FieldPlace{HeaderField::OUT_DMAC_47_16, Layer::Ethernet, 0, 32},
    FieldPlace{HeaderField::OUT_DMAC_15_0, Layer::Ethernet, 32, 16},
    FieldPlace{HeaderField::OUT_SMAC_47_16, Layer::Ethernet, kSourceMacBit, 32},
    FieldPlace{HeaderField::OUT_SMAC_15_0, Layer::Ethernet, kSourceMacBit + 32, 16},
    FieldPlace{HeaderField::OUT_FIRST_VID, Layer::Tag, 4, 12},
    FieldPlace{HeaderField::OUT_ETHERTYPE, Layer::Ethertype, 0, 16},
    FieldPlace{HeaderField::OUT_IP_DSCP, Layer::Ipv4, kBitOf<"tos", ipv4_header>, kDscpBits},
    FieldPlace{HeaderField::OUT_IP_DSCP, Layer::Ipv6, kV6Class, kDscpBits},
    FieldPlace{HeaderField::OUT_IP_TTL, Layer::Ipv4, kBitOf<"ttl", ipv4_header>, 8},
    FieldPlace{HeaderField::OUT_IPV6_HOPLIMIT, Layer::Ipv6, kBitOf<"hop_limit", ipv6_header>, 8},
    FieldPlace{HeaderField::OUT_SIPV4, Layer::Ipv4, kBitOf<"saddr", ipv4_header>, 32},
    FieldPlace{HeaderField::OUT_DIPV4, Layer::Ipv4, kBitOf<"daddr", ipv4_header>, 32},
    FieldPlace{HeaderField::OUT_SIPV6_127_96, Layer::Ipv6, kV6Source, 32},
    FieldPlace{HeaderField::OUT_SIPV6_95_64, Layer::Ipv6, kV6Source + 32, 32},
    FieldPlace{HeaderField::OUT_SIPV6_63_32, Layer::Ipv6, kV6Source + 64, 32},
    FieldPlace{HeaderField::OUT_SIPV6_31_0, Layer::Ipv6, kV6Source + 96, 32},
    FieldPlace{HeaderField::OUT_DIPV6_127_96, Layer::Ipv6, kV6Dest, 32},
    FieldPlace{HeaderField::OUT_DIPV6_95_64, Layer::Ipv6, kV6Dest + 32, 32},
    FieldPlace{HeaderField::OUT_DIPV6_63_32, Layer::Ipv6, kV6Dest + 64, 32},
    FieldPlace{HeaderField::OUT_DIPV6_31_0, Layer::Ipv6, kV6Dest + 96, 32},
    FieldPlace{HeaderField::OUT_TCP_SPORT, Layer::Tcp, 0, 16},
    FieldPlace{HeaderField::OUT_TCP_DPORT, Layer::Tcp, 16, 16},
    FieldPlace{HeaderField::OUT_TCP_SEQ_NUM, Layer::Tcp, tcp::kSequence * 8, 32},
    FieldPlace{HeaderField::OUT_TCP_ACK_NUM, Layer::Tcp, tcp::kSequence * 8 + 32, 32},
    FieldPlace{HeaderField::OUT_TCP_FLAGS, Layer::Tcp, tcp::kFlags * 8 - 1, 9},
    FieldPlace{HeaderField::OUT_UDP_SPORT, Layer::Udp, kBitOf<"source", udp_header>, 16},
    FieldPlace{HeaderField::OUT_UDP_DPORT, Layer::Udp, kBitOf<"dest", udp_header>, 16},
};
// clang-format on

/// Bits of a field that is offered, otherwise 0.
unsigned width_of(HeaderField field) {
  const auto found = std::ranges::find(kPlaces, field, &FieldPlace::field);
  return found == kPlaces.end() ? 0 : found->width;
}

std::optional<std::size_t> byte_of(Layer layer, const FrameFacts& facts,
                                   std::span<const std::byte> frame) {
  if (frame.size() < kEthernetBytes) return std::nullopt;
  const std::uint16_t first = load_be16(&frame[2 * kMacBytes]);
  switch (layer) {
    case Layer::Ethernet:
      return 0;
    case Layer::Tag:
      if ((first != kEthertypeVlan && first != kEthertypeSvlan) ||
          frame.size() < kEthernetBytes + kVlanTagBytes)
        return std::nullopt;
      return kEthernetBytes;
    case Layer::Ethertype:
      return facts.l3_at - 2;
    case Layer::Ipv4:
      return facts.l3 == FrameFacts::L3::Ipv4 ? std::optional(facts.l3_at) : std::nullopt;
    case Layer::Ipv6:
      return facts.l3 == FrameFacts::L3::Ipv6 ? std::optional(facts.l3_at) : std::nullopt;
    case Layer::Tcp:
      return facts.l4 == FrameFacts::L4::Tcp ? std::optional(facts.l4_at) : std::nullopt;
    case Layer::Udp:
      return facts.l4 == FrameFacts::L4::Udp ? std::optional(facts.l4_at) : std::nullopt;
  }
  return std::nullopt;
}

/// The bits of a field of one frame, from the frame's first bit.
struct Bits {
  std::size_t at = 0;
  unsigned width = 0;
};

std::optional<Bits> find_field(HeaderField field, std::span<const std::byte> frame) {
  const FrameFacts facts = facts_of(frame);
  for (const FieldPlace& place : kPlaces) {
    if (place.field != field) continue;
    const auto byte = byte_of(place.layer, facts, frame);
    if (byte) return Bits{*byte * 8 + place.bit, place.width};
  }
  return std::nullopt;
}

std::uint32_t load_bits(std::span<const std::byte> frame, Bits bits) {
  std::uint32_t value = 0;
  for (std::size_t bit = bits.at; bit < bits.at + bits.width; ++bit)
    value = value << 1 | (std::to_integer<std::uint32_t>(frame[bit / 8]) >> (7 - bit % 8) & 1);
  return value;
}

void store_bits(std::span<std::byte> frame, Bits bits, std::uint32_t value) {
  for (unsigned i = 0; i < bits.width; ++i) {
    const std::size_t bit = bits.at + bits.width - 1 - i;
    const auto mask = std::byte{1} << static_cast<int>(7 - bit % 8);
    std::byte& at = frame[bit / 8];
    at = (value >> i & 1) != 0 ? at | mask : at & ~mask;
  }
}

/// `length` bits of a field, from its bit `offset` on.
Bits part_of(Bits field, unsigned offset, unsigned length) {
  return {field.at + field.width - offset - length, length};
}

void change(std::span<std::byte> frame, const HeaderAction& action) {
  const auto field = find_field(action.field, frame);
  if (!field) return;
  const Bits part = part_of(*field, action.offset, action.length);
  if (action.change == prm::HeaderChange::SET) return store_bits(frame, part, action.data);
  if (action.change == prm::HeaderChange::ADD)
    return store_bits(frame, part, load_bits(frame, part) + action.data);
  const auto source = find_field(action.source, frame);
  if (source)
    store_bits(frame, part,
               load_bits(frame, part_of(*source, action.source_offset, action.length)));
}

/// What stays right when headers change, as flags of fill_checksums().
std::uint8_t right_checksums(std::span<const std::byte> frame) {
  const FrameFacts facts = facts_of(frame);
  const bool is_none =
      facts.l4 == FrameFacts::L4::Udp && load_be16(&frame[facts.l4_at + kUdpCheck]) == 0;
  const bool l4_right = is_transport_right(frame, facts) && !is_none;
  return static_cast<std::uint8_t>((facts.l3_ok ? prm::kEthL3Csum : 0) |
                                   (l4_right ? prm::kEthL4Csum : 0));
}

bool fits(HeaderField field, unsigned offset, unsigned length) {
  return offset + length <= width_of(field);
}

/// "length is num of bits to be written, zero means length of 32" (offload_pedit_fields).
unsigned bits_of(std::uint32_t length) { return length == 0 ? 32 : length; }

}  // namespace

std::optional<HeaderAction> read_header_action(
    std::span<const std::byte, prm::set_action_in::bytes> raw) {
  const prm::ConstView<prm::set_action_in> set(raw);
  HeaderAction action;
  action.change = prm::HeaderChange{static_cast<std::uint8_t>(set.get<"action_type">())};
  action.field = HeaderField{static_cast<std::uint16_t>(set.get<"field">())};
  switch (action.change) {
    case prm::HeaderChange::SET:
      action.offset = set.get<"offset">();
      action.length = bits_of(set.get<"length">());
      action.data = set.get<"data">();
      break;
    case prm::HeaderChange::ADD:
      // To the whole field. Where a length may stand Linux writes 0; flow_dv_convert_modify_action
      // of DPDK's mlx5_flow_dv.c writes one, which the header reserves.
      action.length = width_of(action.field);
      action.data = set.get<"data">();
      break;
    case prm::HeaderChange::COPY: {
      const prm::ConstView<prm::copy_action_in> copy(raw);
      action.source = action.field;
      action.source_offset = copy.get<"src_offset">();
      action.field = HeaderField{static_cast<std::uint16_t>(copy.get<"dst_field">())};
      action.offset = copy.get<"dst_offset">();
      action.length = bits_of(copy.get<"length">());
      if (!fits(action.source, action.source_offset, action.length)) return std::nullopt;
      break;
    }
    default:
      return std::nullopt;
  }
  if (action.length == 0 || !fits(action.field, action.offset, action.length)) return std::nullopt;
  return action;
}

void change_headers(std::span<std::byte> frame, std::span<const HeaderAction> actions) {
  const std::uint8_t right = right_checksums(frame);
  for (const HeaderAction& action : actions) change(frame, action);
  fill_checksums(frame, right);
}

}  // namespace portcullis::model
