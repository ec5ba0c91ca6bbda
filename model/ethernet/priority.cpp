// SPDX-License-Identifier: BSD-3-Clause
#include "model/ethernet/priority.hpp"

#include "model/transport/checksum.hpp"
#include "model/transport/headers.hpp"

namespace portcullis::model {
namespace {

constexpr std::size_t kTypeAt = kEthernetBytes - 2;

/// The six bits that begin the traffic class of an IP header at `at`.
std::uint8_t dscp_at(std::span<const std::byte> frame, std::size_t at, bool is_ipv6) noexcept {
  constexpr unsigned kEcnBits = 2;
  const std::uint16_t word = load_be16(&frame[at]);
  const unsigned traffic_class = is_ipv6 ? word >> 4 & 0xff : word & 0xff;
  return static_cast<std::uint8_t>(traffic_class >> kEcnBits);
}

}  // namespace

std::uint8_t priority_of(std::span<const std::byte> frame, const PortSettings& port,
                         std::uint8_t otherwise) noexcept {
  if (frame.size() < kEthernetBytes + kVlanTagBytes) return otherwise;
  const bool is_tagged = load_be16(&frame[kTypeAt]) == kEthertypeVlan;
  if (port.trust != PortSettings::kTrustDscp)
    return is_tagged
               ? static_cast<std::uint8_t>(load_be16(&frame[kEthernetBytes]) >> kVlanPriorityShift)
               : otherwise;
  const std::size_t type_at = kTypeAt + (is_tagged ? kVlanTagBytes : 0);
  const std::uint16_t type = load_be16(&frame[type_at]);
  const bool is_ipv6 = type == kEthertypeIpv6;
  if ((type != kEthertypeIpv4 && !is_ipv6) || frame.size() < type_at + 4) return otherwise;
  return port.dscp_priority[dscp_at(frame, type_at + 2, is_ipv6)];
}

}  // namespace portcullis::model
