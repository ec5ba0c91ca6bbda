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

namespace portcullis::model {

/// A type as Ethernet has it, then two reserved bytes (RFC 4391, section 6).
inline constexpr std::size_t kIpoibHeaderBytes = 4;
/// How far in front of a datagram's payload the Ethernet frame begins.
inline constexpr std::size_t kIpoibShift = kEthernetBytes - kIpoibHeaderBytes;

/// `frame` has the payload of a datagram from kIpoibShift on. Its IPoIB header, of at least
/// kIpoibHeaderBytes, becomes an Ethernet header whose addresses are zero.
inline void make_ethernet(std::span<std::byte> frame) noexcept {
  const std::byte high = frame[kIpoibShift];
  const std::byte low = frame[kIpoibShift + 1];
  std::ranges::fill(frame.first(kEthernetBytes - 2), std::byte{0});
  frame[kEthernetBytes - 2] = high;
  frame[kEthernetBytes - 1] = low;
}
/// The other way.
inline void make_ipoib(std::span<std::byte> frame) noexcept {
  frame[kIpoibShift] = frame[kEthernetBytes - 2];
  frame[kIpoibShift + 1] = frame[kEthernetBytes - 1];
  frame[kEthernetBytes - 2] = frame[kEthernetBytes - 1] = std::byte{0};
}

/// On its way to a receive queue.
struct IpoibDatagram {
  std::span<const std::byte> bytes;  // what the queue takes: 40 bytes for the GRH, then the payload
  std::span<const std::byte> frame;  // the Ethernet frame for it
  std::uint32_t qpn = 0;             // whose it is
  std::uint32_t flags_rqpn = 0;      // see prm::flags_rqpn()
  std::uint16_t slid = 0;
};

}  // namespace portcullis::model
