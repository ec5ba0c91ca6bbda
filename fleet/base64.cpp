// SPDX-License-Identifier: BSD-3-Clause
#include "fleet/base64.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace portcullis::fleet {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

tl::unexpected<Error> malformed(std::string_view text) {
  return fail(Errc::Malformed, fmt::format("\"{}\" is no base64; RFC 4648 with padding is accepted",
                                           text.substr(0, 40)));
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view some = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < some.size() ? static_cast<std::uint8_t>(some[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= some.size() ? kAlphabet[bits >> (18 - 6 * i) & 0x3f] : '=';
  }
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return malformed(text);
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes;
  std::uint32_t bits = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_padding = at >= text.size() - padding;
    const std::size_t value = is_padding ? 0 : kAlphabet.find(text[at]);
    if (value == std::string_view::npos) return malformed(text);
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (at % 4 != 3) continue;
    for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(bits >> shift & 0xff);
    bits = 0;
  }
  for (; padding > 0; --padding) {  // what padding stands for is zero
    if (bytes.back() != '\0') return malformed(text);
    bytes.pop_back();
  }
  if (to_base64(bytes) != text) return malformed(text);  // bits behind the last byte
  return bytes;
}

}  // namespace portcullis::fleet
