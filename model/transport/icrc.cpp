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

/// CRC of one byte by the reflected polynomial of the VCRC.
consteval std::array<std::uint16_t, 256> make_vcrc_table() {
  constexpr std::uint32_t kPolynomial = 0xd008;
  std::array<std::uint16_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ kPolynomial : crc >> 1;
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}
constexpr std::array<std::uint16_t, 256> kVcrcTable = make_vcrc_table();

/// Row k: what a byte comes to when k zero bytes follow it, so that eight bytes are looked up at
/// once ("slicing-by-8": Kounavis and Berry, "A Systematic Approach to Building High Performance
/// Software-based CRC Generators", 2005).
using VcrcSlices = std::array<std::array<std::uint16_t, 256>, 8>;
constexpr VcrcSlices make_vcrc_slices() {
  VcrcSlices slices{kVcrcTable};
  for (std::size_t row = 1; row < slices.size(); ++row)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint16_t before = slices[row - 1][byte];
      slices[row][byte] = static_cast<std::uint16_t>(kVcrcTable[before & 0xff] ^ before >> 8);
    }
  return slices;
}
constexpr VcrcSlices kVcrcSlices = make_vcrc_slices();

/// CRC-32 of `masked`, the packet's first bytes, and of the rest as it stands.
std::uint32_t sum_with_masked(std::uint32_t crc, std::span<const std::byte> masked,
                              std::span<const std::byte> packet) noexcept {
  crc = libdeflate_crc32(crc, masked.data(), masked.size());
  const auto rest = packet.subspan(masked.size());
  return rest.empty() ? crc : libdeflate_crc32(crc, rest.data(), rest.size());
}

void mask_bth(std::span<std::byte> packet, std::size_t at) {
  const auto base = prm::View<bth>::at(packet, at);
  base.set<"fecn", 1>();
  base.set<"becn", 1>();
  base.set<"resv6a", 0x3f>();
}

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
  mask_bth(masked, ip_bytes + udp_header::bytes);
  return sum_with_masked(kMaskedLrhCrc, masked, packet);
}

std::uint32_t compute_infiniband_icrc(std::span<const std::byte> packet, bool has_grh) noexcept {
  std::array<std::byte, lrh::bytes + grh::bytes + bth::bytes> scratch;
  const std::size_t bth_at = lrh::bytes + (has_grh ? grh::bytes : 0);
  const std::span<std::byte> masked(scratch.data(), bth_at + bth::bytes);
  std::ranges::copy(packet.first(masked.size()), masked.begin());
  if (has_grh) {
    std::ranges::fill(masked.first(lrh::bytes), std::byte{0xff});
    const auto global = prm::View<grh>::at(masked, lrh::bytes);
    global.set<"traffic_class", 0xff>();
    global.set<"flow_label", 0xfffff>();
    global.set<"hop_limit", 0xff>();
  } else {
    prm::View<lrh>::at(masked).set<"vl", 0xf>();
  }
  mask_bth(masked, bth_at);
  return sum_with_masked(0, masked, packet);
}

std::uint16_t compute_vcrc(std::span<const std::byte> packet) noexcept {
  std::uint32_t crc = 0xffff;
  for (; packet.size() >= kVcrcSlices.size(); packet = packet.subspan(kVcrcSlices.size())) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < kVcrcSlices.size(); ++i) {
      // The first two bytes meet what came before.
      const std::uint32_t byte = std::to_integer<std::uint32_t>(packet[i]) ^ (crc & 0xff);
      next ^= kVcrcSlices[kVcrcSlices.size() - 1 - i][byte];
      crc >>= 8;
    }
    crc = next;
  }
  for (const std::byte byte : packet)
    crc = kVcrcTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff] ^ crc >> 8;
  return static_cast<std::uint16_t>(~crc);
}

}  // namespace portcullis::model
