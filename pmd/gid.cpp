// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/gid.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

#include "base/json.hpp"

namespace portcullis {

Result<Mac> Mac::parse(std::string_view text) {
  const auto refused = [&] {
    return fail(Errc::InvalidArgument, "MAC '" + one_line(std::string(text)) +
                                           "'; accepted: six octets as in 02:00:00:00:00:01");
  };
  Mac mac;
  constexpr std::size_t kTextBytes = 17;
  if (text.size() != kTextBytes) return refused();
  for (std::size_t i = 0; i < mac.octets.size(); ++i) {
    const char* at = text.data() + i * 3;
    const auto [end, error] = std::from_chars(at, at + 2, mac.octets[i], 16);
    if (error != std::errc() || end != at + 2) return refused();
    if (i + 1 < mac.octets.size() && *end != ':') return refused();
  }
  return mac;
}

std::string Mac::text() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t octet : octets) {
    if (!text.empty()) text += ':';
    text += kDigits[octet >> 4];
    text += kDigits[octet & 0xf];
  }
  return text;
}

Gid Gid::link_local(const Mac& mac) noexcept {
  constexpr std::uint8_t kUniversalLocal = 2;
  const auto& o = mac.octets;
  const std::array<std::uint8_t, 16> raw = {0xfe, 0x80, 0,    0,    0,    0,    0,    0,
                                            0,    o[1], o[2], 0xff, 0xfe, o[3], o[4], o[5]};
  Gid gid;
  std::memcpy(gid.bytes.data(), raw.data(), raw.size());
  gid.bytes[8] = std::byte{o[0]} ^ std::byte{kUniversalLocal};
  return gid;
}

Result<Gid> Gid::parse(std::string_view text) {
  const std::string copy(text);
  const bool is_whole = copy.find('\0') == std::string::npos;  // inet_pton reads no further
  Gid gid;
  if (is_whole && inet_pton(AF_INET6, copy.c_str(), gid.bytes.data()) == 1) return gid;
  std::array<std::uint8_t, 4> v4{};
  if (is_whole && inet_pton(AF_INET, copy.c_str(), v4.data()) == 1)
    return from_ipv4(v4[0], v4[1], v4[2], v4[3]);
  return fail(
      Errc::InvalidArgument,
      "GID '" + one_line(copy) + "'; accepted: an IPv4 or IPv6 address as in 192.0.2.1 or fe80::1");
}

std::string Gid::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_ipv4()) return inet_ntop(AF_INET, bytes.data() + 12, text.data(), text.size());
  return inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
}

}  // namespace portcullis
