// SPDX-License-Identifier: BSD-3-Clause
//
// Frames as hexadecimal digits, which is how frames.py prints them and how a difference is seen.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis::testing {

inline std::vector<std::byte> frame_of(std::string_view digits) {
  std::vector<std::byte> frame(digits.size() / 2);
  for (std::size_t i = 0; i < frame.size(); ++i) {
    std::uint8_t value = 0;
    std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, value, 16);
    frame[i] = std::byte{value};
  }
  return frame;
}

inline std::string digits_of(std::span<const std::byte> frame) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (const std::byte each : frame) {
    digits += kDigits[std::to_integer<std::size_t>(each >> 4)];
    digits += kDigits[std::to_integer<std::size_t>(each & std::byte{15})];
  }
  return digits;
}

}  // namespace portcullis::testing
