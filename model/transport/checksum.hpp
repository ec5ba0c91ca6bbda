// SPDX-License-Identifier: BSD-3-Clause
//
// The Internet checksum (RFC 1071) and big-endian 16-bit words, as IPv4 and UDP headers need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/cells.hpp"

namespace portcullis::model {

[[nodiscard]] inline std::uint16_t load_be16(const std::byte* at) noexcept {
  std::uint16_t raw;
  std::memcpy(&raw, at, sizeof raw);
  return cells::be16(raw);
}

inline void store_be16(std::byte* at, std::uint16_t value) noexcept {
  const std::uint16_t raw = cells::be16(value);
  std::memcpy(at, &raw, sizeof raw);
}

/// One's complement sum of big-endian words, not folded; an odd last byte counts as its high half.
[[nodiscard]] inline std::uint64_t ones_sum(std::span<const std::byte> bytes) noexcept {
  std::uint64_t sum = 0;
  std::size_t i = 0;
  for (; i + 2 <= bytes.size(); i += 2) sum += load_be16(bytes.data() + i);
  if (i < bytes.size()) sum += std::to_integer<std::uint64_t>(bytes[i]) << 8;
  return sum;
}

[[nodiscard]] inline std::uint16_t fold_sum(std::uint64_t sum) noexcept {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

}  // namespace portcullis::model
