// SPDX-License-Identifier: BSD-3-Clause
#include "model/steering/modify_header.hpp"

#include <algorithm>
#include <array>

#include "model/ethernet/frame_facts.hpp"
#include "model/steering/frame_bits.hpp"
#include "model/transport/headers.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

using prm::HeaderField;

struct NamedPlace {
  HeaderField field;
  FieldPlace place;
};

// A field of two kinds of header has two places. TCP: struct tcphdr of include/uapi/linux/tcp.h;
// its flags are nine bits, as tcp_flags of fte_match_set_lyr_2_4.
// clang-format off
constexpr std::array kPlaces{
    NamedPlace{HeaderField::OUT_DMAC_47_16, {Layer::Ethernet, 0, 32}},
    NamedPlace{HeaderField::OUT_DMAC_15_0, {Layer::Ethernet, 32, 16}},
    NamedPlace{HeaderField::OUT_SMAC_47_16, {Layer::Ethernet, kSourceMacBit, 32}},
    NamedPlace{HeaderField::OUT_SMAC_15_0, {Layer::Ethernet, kSourceMacBit + 32, 16}},
    NamedPlace{HeaderField::OUT_FIRST_VID, {Layer::Tag, 4, 12}},
    NamedPlace{HeaderField::OUT_ETHERTYPE, {Layer::Ethertype, 0, 16}},
    NamedPlace{HeaderField::OUT_IP_DSCP, {Layer::Ipv4, kBitOf<"tos", ipv4_header>, kDscpBits}},
    NamedPlace{HeaderField::OUT_IP_DSCP, {Layer::Ipv6, kV6Class, kDscpBits}},
    NamedPlace{HeaderField::OUT_IP_TTL, {Layer::Ipv4, kBitOf<"ttl", ipv4_header>, 8}},
    NamedPlace{HeaderField::OUT_IPV6_HOPLIMIT, {Layer::Ipv6, kBitOf<"hop_limit", ipv6_header>, 8}},
    NamedPlace{HeaderField::OUT_SIPV4, {Layer::Ipv4, kBitOf<"saddr", ipv4_header>, 32}},
    NamedPlace{HeaderField::OUT_DIPV4, {Layer::Ipv4, kBitOf<"daddr", ipv4_header>, 32}},
    NamedPlace{HeaderField::OUT_SIPV6_127_96, {Layer::Ipv6, kV6Source, 32}},
    NamedPlace{HeaderField::OUT_SIPV6_95_64, {Layer::Ipv6, kV6Source + 32, 32}},
    NamedPlace{HeaderField::OUT_SIPV6_63_32, {Layer::Ipv6, kV6Source + 64, 32}},
    NamedPlace{HeaderField::OUT_SIPV6_31_0, {Layer::Ipv6, kV6Source + 96, 32}},
    NamedPlace{HeaderField::OUT_DIPV6_127_96, {Layer::Ipv6, kV6Dest, 32}},
    NamedPlace{HeaderField::OUT_DIPV6_95_64, {Layer::Ipv6, kV6Dest + 32, 32}},
    NamedPlace{HeaderField::OUT_DIPV6_63_32, {Layer::Ipv6, kV6Dest + 64, 32}},
    NamedPlace{HeaderField::OUT_DIPV6_31_0, {Layer::Ipv6, kV6Dest + 96, 32}},
    NamedPlace{HeaderField::OUT_TCP_SPORT, {Layer::Tcp, 0, 16}},
    NamedPlace{HeaderField::OUT_TCP_DPORT, {Layer::Tcp, 16, 16}},
    NamedPlace{HeaderField::OUT_TCP_SEQ_NUM, {Layer::Tcp, tcp::kSequence * 8, 32}},
    NamedPlace{HeaderField::OUT_TCP_ACK_NUM, {Layer::Tcp, tcp::kSequence * 8 + 32, 32}},
    NamedPlace{HeaderField::OUT_TCP_FLAGS, {Layer::Tcp, tcp::kFlags * 8 - 1, 9}},
    NamedPlace{HeaderField::OUT_UDP_SPORT, {Layer::Udp, kBitOf<"source", udp_header>, 16}},
    NamedPlace{HeaderField::OUT_UDP_DPORT, {Layer::Udp, kBitOf<"dest", udp_header>, 16}},
};
// clang-format on

/// Bits of a field that is offered, otherwise 0.
unsigned width_of(HeaderField field) {
  const auto found = std::ranges::find(kPlaces, field, &NamedPlace::field);
  return found == kPlaces.end() ? 0 : found->place.width;
}

std::optional<FrameBits> find_field(HeaderField field, std::span<const std::byte> frame) {
  for (const NamedPlace& named : kPlaces) {
    if (named.field != field) continue;
    if (const auto bits = find_bits(named.place, frame)) return bits;
  }
  return std::nullopt;
}

/// `length` bits of a field, from its bit `offset` on.
FrameBits part_of(FrameBits field, unsigned offset, unsigned length) {
  return {field.at + field.width - offset - length, length};
}

void change(std::span<std::byte> frame, const HeaderAction& action) {
  const auto field = find_field(action.field, frame);
  if (!field) return;
  const FrameBits part = part_of(*field, action.offset, action.length);
  if (action.change == prm::HeaderChange::SET) return store_bits(frame, part, action.data);
  if (action.change == prm::HeaderChange::ADD)
    return store_bits(frame, part, load_bits(frame, part) + action.data);
  const auto source = find_field(action.source, frame);
  if (source)
    store_bits(frame, part,
               load_bits(frame, part_of(*source, action.source_offset, action.length)));
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
  const ChecksumKeeper keeper(frame);
  for (const HeaderAction& action : actions) change(frame, action);
}

}  // namespace portcullis::model
