// SPDX-License-Identifier: BSD-3-Clause
//
// Reserved bits of a layout: a device refuses a command that sets one, so a driver that wrote a
// field in the wrong place gets an error.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "prm/layout.hpp"

namespace portcullis::model {

/// Sets the bits of `mask` that some member of the list names. `base` in bits.
template <std::size_t N>
constexpr void mark_named(std::array<unsigned char, N>& mask, const prm::Member* members,
                          std::size_t count, unsigned base) {
  for (std::size_t i = 0; i < count; ++i) {
    const prm::Member& m = members[i];
    if (m.kind == prm::MemberKind::Reserved) continue;
    if (m.kind == prm::MemberKind::Nested) {
      mark_named(mask, m.nested, m.nested_count, base + m.offset);
      continue;
    }
    for (unsigned bit = base + m.offset; bit < base + m.offset + m.width; ++bit)
      mask[bit / 8] = static_cast<unsigned char>(mask[bit / 8] | 0x80U >> bit % 8);
  }
}

template <class L>
[[nodiscard]] constexpr std::array<unsigned char, L::bytes> reserved_mask() {
  std::array<unsigned char, L::bytes> mask{};
  mark_named(mask, L::members.data(), L::members.size(), 0);
  for (unsigned char& byte : mask) byte = static_cast<unsigned char>(~byte);
  return mask;
}

/// True when every reserved bit of `bytes` is zero.
template <class L>
[[nodiscard]] bool reserved_bits_clear(std::span<const std::byte, L::bytes> bytes) {
  static const std::array<unsigned char, L::bytes> mask = reserved_mask<L>();
  unsigned set = 0;
  for (std::size_t i = 0; i < L::bytes; ++i) set |= std::to_integer<unsigned>(bytes[i]) & mask[i];
  return set == 0;
}

}  // namespace portcullis::model
