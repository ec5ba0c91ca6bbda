// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/icrc.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "model/transport/headers.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

// CRC-32 of eight 0xff bytes, the masked LRH: the complement of 0xdebb20e3 in rxe_icrc_hdr, because
// libdeflate takes and gives the finished value.
constexpr std::uint32_t kMaskedLrhCrc = 0x2144df1c;

// Short packets are masked and summed in one piece; of long ones only the headers are copied.
constexpr std::size_t kScratchBytes = 256;

void mask_ipv4(std::span<std::byte> packet) {
  const auto ip = prm::View<ipv4_header>::at(packet);
  ip.set<"tos", 0xff>();
  ip.set<"ttl", 0xff>();
  ip.set<"check", 0xffff>();
}

void mask_ipv6(std::span<std::byte> packet) {
  const auto ip = prm::View<ipv6_header>::at(packet);
  ip.set<"traffic_class", 0xff>();
  ip.set<"flow_label", 0xfffff>();
  ip.set<"hop_limit", 0xff>();
}

}  // namespace

std::uint32_t compute_icrc(std::span<const std::byte> packet, std::size_t ip_bytes) noexcept {
  std::array<std::byte, kScratchBytes> scratch;
  const std::size_t headers = ip_bytes + udp_header::bytes + bth::bytes;
  const std::size_t copied = packet.size() <= kScratchBytes ? packet.size() : headers;
  std::memcpy(scratch.data(), packet.data(), copied);

  const std::span<std::byte> masked(scratch.data(), copied);
  if (ip_bytes == ipv4_header::bytes) {
    mask_ipv4(masked);
  } else {
    mask_ipv6(masked);
  }
  prm::View<udp_header>::at(masked, ip_bytes).set<"check", 0xffff>();
  const auto base = prm::View<bth>::at(masked, ip_bytes + udp_header::bytes);
  base.set<"fecn", 1>();
  base.set<"becn", 1>();
  base.set<"resv6a", 0x3f>();

  const std::uint32_t crc = libdeflate_crc32(kMaskedLrhCrc, scratch.data(), copied);
  if (copied == packet.size()) return crc;
  return libdeflate_crc32(crc, packet.data() + copied, packet.size() - copied);
}

}  // namespace portcullis::model
