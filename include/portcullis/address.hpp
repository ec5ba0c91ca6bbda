// SPDX-License-Identifier: BSD-3-Clause
//
// The two addresses of a RoCE port: a GID, which for RoCEv2 is its IPv6 address or its IPv4 address
// in the v4-mapped form ::ffff:a.b.c.d, and a MAC.
//
// Example, leases.cpp:
//   PORTCULLIS_TRY_ASSIGN(const Gid gid, Gid::parse("192.0.2.7"));
//   PORTCULLIS_TRY_ASSIGN(const Mac mac, Mac::parse("02:00:00:00:00:07"));
//   std::cout << gid.text() << " is at " << mac.text() << '\n';
#pragma once

#include <portcullis/export.hpp>
#include <portcullis/result.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace portcullis {
/// The MAC of a port, or of the router on the way to it.
struct PORTCULLIS_API Mac {
  std::array<std::uint8_t, 6> octets{};  // in the order of the text

  /// "02:00:00:00:00:01". InvalidArgument names the text and what is accepted.
  [[nodiscard]] static Result<Mac> parse(std::string_view text);
  [[nodiscard]] std::string text() const;  ///< What parse() reads back.
  /// As an unsigned number of 48 bits.
  [[nodiscard]] constexpr std::uint64_t number() const noexcept {
    std::uint64_t value = 0;
    for (const std::uint8_t octet : octets) value = value << 8 | octet;
    return value;
  }
  /// One station's, so that something can be there: neither a group's nor all zeroes.
  [[nodiscard]] constexpr bool is_unicast() const noexcept {
    return (octets[0] & 1) == 0 && number() != 0;
  }
  bool operator==(const Mac&) const = default;  ///< The same octets.
};
/// The RoCE address of a port.
struct PORTCULLIS_API Gid {
  std::array<std::byte, 16> bytes{};  // network order
  /// a.b.c.d in the v4-mapped form.
  [[nodiscard]] static constexpr Gid from_ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c,
                                               std::uint8_t d) noexcept {
    Gid gid;
    gid.bytes[10] = gid.bytes[11] = std::byte{0xff};
    gid.bytes[12] = std::byte{a};
    gid.bytes[13] = std::byte{b};
    gid.bytes[14] = std::byte{c};
    gid.bytes[15] = std::byte{d};
    return gid;
  }
  /// fe80::/64 and the EUI-64 of a MAC, as Linux makes the first GID of a port (addrconf_addr_eui48
  /// of net/addrconf.h).
  [[nodiscard]] static Gid link_local(const Mac& mac) noexcept;
  /// "192.0.2.1", "fe80::1" or "::ffff:192.0.2.1". InvalidArgument names the text.
  [[nodiscard]] static Result<Gid> parse(std::string_view text);
  [[nodiscard]] std::string text() const;  ///< What parse() reads back.
  /// ::ffff:0:0/96.
  [[nodiscard]] constexpr bool is_ipv4() const noexcept {
    return std::all_of(bytes.begin(), bytes.begin() + 10,
                       [](std::byte b) { return b == std::byte{0}; }) &&
           bytes[10] == std::byte{0xff} && bytes[11] == std::byte{0xff};
  }
  /// One host's: neither unspecified nor multicast, nor what IPv4 keeps below 1.0.0.0 and from
  /// 224.0.0.0 on.
  [[nodiscard]] constexpr bool is_unicast() const noexcept {
    if (is_ipv4()) return bytes[12] != std::byte{0} && bytes[12] < std::byte{224};
    return bytes[0] != std::byte{0xff} && *this != Gid{};
  }
  bool operator==(const Gid&) const = default;  ///< The same bytes.
};

}  // namespace portcullis
