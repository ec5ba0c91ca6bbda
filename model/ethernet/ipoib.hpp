// SPDX-License-Identifier: BSD-3-Clause
//
// IP over InfiniBand as the offloads of Ethernet see it: the same IP packet in the same place
// behind an Ethernet header, so that checksums, segments, hashes and flow rules have one mechanism.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/transport/headers.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

/// A type as Ethernet has it, then two reserved bytes (RFC 4391, section 6).
inline constexpr std::size_t kIpoibHeaderBytes = 4;
/// How far in front of a datagram's payload the Ethernet frame begins.
inline constexpr std::size_t kIpoibShift = kEthernetBytes - kIpoibHeaderBytes;

/// `frame` has the payload of a datagram from kIpoibShift on. Its IPoIB header, of at least
/// kIpoibHeaderBytes, becomes an Ethernet header whose addresses are zero. What is not IP has the
/// type 0 there, for nothing else is looked behind: InfiniBand has no tags. Returns the header.
inline std::uint32_t make_ethernet(std::span<std::byte> frame) noexcept {
  const std::uint32_t header = prm::detail::load_dword(&frame[kIpoibShift]);
  const auto type = static_cast<std::uint16_t>(header >> 16);
  std::ranges::fill(frame.first(kEthernetBytes), std::byte{0});
  if (type == kEthertypeIpv4 || type == kEthertypeIpv6) {
    frame[kEthernetBytes - 2] = static_cast<std::byte>(type >> 8);
    frame[kEthernetBytes - 1] = static_cast<std::byte>(type);
  }
  return header;
}
/// The other way, with the header as it was.
inline void make_ipoib(std::span<std::byte> frame, std::uint32_t header) noexcept {
  prm::detail::store_dword(&frame[kIpoibShift], header);
}

/// On its way to a receive queue.
struct IpoibDatagram {
  std::span<const std::byte> bytes;  // what the queue takes: 40 bytes for the GRH, then the payload
  std::span<const std::byte> frame;  // the Ethernet frame for it
  std::uint32_t qpn = 0;             // whose it is
  std::uint32_t flags_rqpn = 0;      // see prm::flags_rqpn()
  std::uint16_t slid = 0;
  bool is_solicited = false;
  bool is_of_group = false;
};

}  // namespace portcullis::model
