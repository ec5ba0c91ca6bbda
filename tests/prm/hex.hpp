// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes as traces print them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis::testing {

/// "01040000 00000000": pairs of hex digits, blanks between them as you like.
[[nodiscard]] inline std::vector<std::byte> bytes_of(std::string_view hex) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::vector<std::byte> bytes;
  unsigned nibbles = 0, value = 0;
  for (const char c : hex) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) continue;
    value = value << 4 | static_cast<unsigned>(digit);
    if (++nibbles % 2 == 0) bytes.push_back(static_cast<std::byte>(value & 0xff));
  }
  return bytes;
}

/// The other way, a blank after each dword, so that a failed comparison can be read.
[[nodiscard]] inline std::string hex_of(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i != 0 && i % 4 == 0) hex += ' ';
    hex += kDigits[std::to_integer<unsigned>(bytes[i] >> 4)];
    hex += kDigits[std::to_integer<unsigned>(bytes[i] & std::byte{0xf})];
  }
  return hex;
}

}  // namespace portcullis::testing
