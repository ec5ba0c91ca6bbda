// SPDX-License-Identifier: BSD-3-Clause
#include "model/steering/header_rewrite.hpp"

#include <algorithm>
#include <array>

#include "model/ethernet/frame_facts.hpp"
#include "model/steering/frame_bits.hpp"
#include "model/transport/checksum.hpp"
#include "model/transport/headers.hpp"
#include "prm/enums.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

using prm::SteField;

constexpr unsigned kFieldBits = 64;

/// What of a field stands where in a frame.
struct Piece {
  SteField field;
  unsigned low;  // its lowest bit
  FieldPlace place;
};

constexpr unsigned kV4Tos = kBitOf<"tos", ipv4_header>;

// dr_ste_v0_action_modify_field_arr of dr_ste_v0.c. The lower half of L2_2 is a whole tag there.
// clang-format off
constexpr std::array kPieces{
    Piece{SteField::L2_0, 16, {Layer::Ethernet, 0, 32}},
    Piece{SteField::L2_0, 0, {Layer::Ethernet, 32, 16}},
    Piece{SteField::L2_1, 16, {Layer::Ethernet, kSourceMacBit, 32}},
    Piece{SteField::L2_1, 0, {Layer::Ethernet, kSourceMacBit + 32, 16}},
    Piece{SteField::L2_2, 32, {Layer::Ethertype, 0, 16}},
    Piece{SteField::L2_2, 0, {Layer::Tag, 0, 16}},
    Piece{SteField::L3_0, 32, {Layer::Ipv4, kBitOf<"daddr", ipv4_header>, 32}},
    Piece{SteField::L3_0, 0, {Layer::Ipv4, kBitOf<"saddr", ipv4_header>, 32}},
    Piece{SteField::L3_0, 32, {Layer::Ipv6, kV6Dest, 32}},
    Piece{SteField::L3_0, 0, {Layer::Ipv6, kV6Dest + 32, 32}},
    Piece{SteField::L3_1, 0, {Layer::Ipv4, kV4Tos, kDscpBits}},
    Piece{SteField::L3_1, 6, {Layer::Ipv4, kV4Tos + kDscpBits, 2}},
    Piece{SteField::L3_1, 8, {Layer::Ipv4, kBitOf<"ttl", ipv4_header>, 8}},
    Piece{SteField::L3_1, 0, {Layer::Ipv6, kV6Class, kDscpBits}},
    Piece{SteField::L3_1, 6, {Layer::Ipv6, kV6Class + kDscpBits, 2}},
    Piece{SteField::L3_1, 8, {Layer::Ipv6, kBitOf<"hop_limit", ipv6_header>, 8}},
    Piece{SteField::L3_2, 32, {Layer::Ipv6, kV6Dest + 64, 32}},
    Piece{SteField::L3_2, 0, {Layer::Ipv6, kV6Dest + 96, 32}},
    Piece{SteField::L3_3, 32, {Layer::Ipv6, kV6Source, 32}},
    Piece{SteField::L3_3, 0, {Layer::Ipv6, kV6Source + 32, 32}},
    Piece{SteField::L3_4, 32, {Layer::Ipv6, kV6Source + 64, 32}},
    Piece{SteField::L3_4, 0, {Layer::Ipv6, kV6Source + 96, 32}},
    Piece{SteField::L4_0, 0, {Layer::Tcp, 0, 16}},
    Piece{SteField::L4_0, 16, {Layer::Tcp, 16, 16}},
    Piece{SteField::L4_0, 48, {Layer::Tcp, tcp::kFlags * 8 - 1, 9}},
    Piece{SteField::L4_0, 0, {Layer::Udp, kBitOf<"source", udp_header>, 16}},
    Piece{SteField::L4_0, 16, {Layer::Udp, kBitOf<"dest", udp_header>, 16}},
    Piece{SteField::L4_1, 32, {Layer::Tcp, tcp::kSequence * 8, 32}},
    Piece{SteField::L4_1, 0, {Layer::Tcp, tcp::kSequence * 8 + 32, 32}},
};
// clang-format on

/// Of L2_2: which kind of tag (dr_ste_v0_set_action_decap_l3_list).
constexpr unsigned kTagKindLow = 48;
constexpr std::uint64_t kTagKindMask = 3;

/// A field that is two registers: its upper half and its lower one.
struct RegisterPair {
  std::uint32_t* upper = nullptr;
  std::uint32_t* lower = nullptr;
};

RegisterPair registers_of(SteField field, SteeringRegisters& registers) {
  auto& c = registers.c;
  switch (field) {
    case SteField::REG_0:
      return {&c[0], &c[1]};
    case SteField::REG_1:
      return {&c[2], &c[3]};
    case SteField::REG_2:
      return {&c[4], &c[5]};
    case SteField::REG_3:
      return {&c[6], &c[7]};
    case SteField::METADATA:
      return {&registers.b, &registers.a};
    default:
      return {};
  }
}

constexpr std::uint64_t mask_of(unsigned low, unsigned width) {
  return (width >= kFieldBits ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1) << low;
}

/// A frame and registers as fields.
class Fields {
 public:
  Fields(std::span<std::byte> frame, SteeringRegisters& registers)
      : frame_(frame), registers_(&registers) {}

  [[nodiscard]] bool has(SteField field) const {
    return registers_of(field, *registers_).upper != nullptr ||
           std::ranges::find(kPieces, field, &Piece::field) != kPieces.end();
  }
  [[nodiscard]] std::uint64_t load(SteField field) const {
    if (const RegisterPair pair = registers_of(field, *registers_); pair.upper != nullptr)
      return std::uint64_t{*pair.upper} << 32 | *pair.lower;
    std::uint64_t value = 0;
    for (const Piece& piece : kPieces) {
      if (piece.field != field) continue;
      if (const auto bits = find_bits(piece.place, frame_))
        value |= std::uint64_t{load_bits(frame_, *bits)} << piece.low;
    }
    return value;
  }
  /// Pieces that `touched` says nothing of stay as they are.
  void store(SteField field, std::uint64_t value, std::uint64_t touched) {
    if (const RegisterPair pair = registers_of(field, *registers_); pair.upper != nullptr) {
      *pair.upper = static_cast<std::uint32_t>(value >> 32);
      *pair.lower = static_cast<std::uint32_t>(value);
      return;
    }
    for (const Piece& piece : kPieces) {
      if (piece.field != field || (touched & mask_of(piece.low, piece.place.width)) == 0) continue;
      if (const auto bits = find_bits(piece.place, frame_))
        store_bits(frame_, *bits, static_cast<std::uint32_t>(value >> piece.low));
    }
    if (field == SteField::L2_2) store_tag_kind(value, touched);
  }

 private:
  void store_tag_kind(std::uint64_t value, std::uint64_t touched) {
    constexpr FieldPlace kTag{Layer::Tag, 0, 16};
    const std::uint64_t kind = value >> kTagKindLow & kTagKindMask;
    const auto bits = find_bits(kTag, frame_);
    if ((touched & kTagKindMask << kTagKindLow) == 0 || !bits) return;
    if (kind == prm::number(prm::SteVlan::SVLAN))
      store_be16(&frame_[bits->at / 8 - 2], kEthertypeSvlan);
    if (kind == prm::number(prm::SteVlan::CVLAN))
      store_be16(&frame_[bits->at / 8 - 2], kEthertypeVlan);
  }

  std::span<std::byte> frame_;
  SteeringRegisters* registers_;
};

SteField field_at(std::uint32_t code) { return SteField{static_cast<std::uint8_t>(code)}; }

/// `length` bits of `value` into a field, from bit `low` on.
void replace(Fields& fields, SteField field, unsigned low, unsigned length, std::uint64_t value) {
  const std::uint64_t mask = mask_of(low, length);
  fields.store(field, (fields.load(field) & ~mask) | (value << low & mask), mask);
}

/// "length = (length == 32) ? 0 : length" (dr_ste_v0_set_action_set).
bool set_or_add(Fields& fields, std::span<const std::byte, kRewriteBytes> raw, bool adds) {
  const prm::ConstView<prm::dr_action_hw_set> action(raw);
  const SteField field = field_at(action.get<"destination_field_code">());
  const unsigned low = action.get<"destination_left_shifter">();
  const unsigned told = action.get<"destination_length">();
  const unsigned length = told == 0 ? 32 : told;
  if (!fields.has(field) || low + length > kFieldBits) return false;
  const std::uint64_t old = adds ? fields.load(field) >> low : 0;
  replace(fields, field, low, length, old + action.get<"inline_data">());
  return true;
}

/// Its length has six bits and is whole (dr_ste_v0_set_action_copy).
bool copy(Fields& fields, std::span<const std::byte, kRewriteBytes> raw) {
  const prm::ConstView<prm::dr_action_hw_copy> action(raw);
  const SteField field = field_at(action.get<"destination_field_code">());
  const SteField source = field_at(action.get<"source_field_code">());
  const unsigned low = action.get<"destination_left_shifter">();
  const unsigned source_low = action.get<"source_left_shifter">();
  const unsigned length = action.get<"destination_length">();
  if (!fields.has(field) || !fields.has(source) || length == 0 || low + length > kFieldBits ||
      source_low + length > kFieldBits)
    return false;
  replace(fields, field, low, length, fields.load(source) >> source_low);
  return true;
}

bool apply(Fields& fields, std::span<const std::byte, kRewriteBytes> raw) {
  using prm::SteRewrite;
  const prm::ConstView<prm::dr_action_hw_set> action(raw);
  switch (SteRewrite{static_cast<std::uint8_t>(action.get<"opcode">())}) {
    case SteRewrite::SET:
      return set_or_add(fields, raw, /*adds=*/false);
    case SteRewrite::ADD:
      return set_or_add(fields, raw, /*adds=*/true);
    case SteRewrite::COPY:
      return copy(fields, raw);
  }
  return std::ranges::all_of(raw, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

bool rewrite_headers(std::span<std::byte> frame, SteeringRegisters& registers,
                     std::span<const std::byte> list) {
  const ChecksumKeeper keeper(frame);
  Fields fields(frame, registers);
  for (; list.size() >= kRewriteBytes; list = list.subspan(kRewriteBytes))
    if (!apply(fields, list.first<kRewriteBytes>())) return false;
  return true;
}

}  // namespace portcullis::model
