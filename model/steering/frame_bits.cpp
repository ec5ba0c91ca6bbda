// SPDX-License-Identifier: BSD-3-Clause
#include "model/steering/frame_bits.hpp"

#include "model/ethernet/frame_facts.hpp"
#include "model/ethernet/offloads.hpp"
#include "model/transport/checksum.hpp"
#include "model/transport/headers.hpp"
#include "prm/ethernet_wqe.hpp"

namespace portcullis::model {
namespace {

std::optional<std::size_t> byte_of(Layer layer, const FrameFacts& facts,
                                   std::span<const std::byte> frame) {
  if (frame.size() < kEthernetBytes) return std::nullopt;
  const std::uint16_t first = load_be16(&frame[2 * kMacBytes]);
  switch (layer) {
    case Layer::Ethernet:
      return 0;
    case Layer::Tag:
      if ((first != kEthertypeVlan && first != kEthertypeSvlan) ||
          frame.size() < kEthernetBytes + kVlanTagBytes)
        return std::nullopt;
      return kEthernetBytes;
    case Layer::Ethertype:
      return facts.l3_at - 2;
    case Layer::Ipv4:
      return facts.l3 == FrameFacts::L3::Ipv4 ? std::optional(facts.l3_at) : std::nullopt;
    case Layer::Ipv6:
      return facts.l3 == FrameFacts::L3::Ipv6 ? std::optional(facts.l3_at) : std::nullopt;
    case Layer::Tcp:
      return facts.l4 == FrameFacts::L4::Tcp ? std::optional(facts.l4_at) : std::nullopt;
    case Layer::Udp:
      return facts.l4 == FrameFacts::L4::Udp ? std::optional(facts.l4_at) : std::nullopt;
  }
  return std::nullopt;
}

/// As flags of fill_checksums().
std::uint8_t right_checksums(std::span<const std::byte> frame) {
  const FrameFacts facts = facts_of(frame);
  const bool is_none =
      facts.l4 == FrameFacts::L4::Udp && load_be16(&frame[facts.l4_at + kUdpCheck]) == 0;
  const bool l4_right = is_transport_right(frame, facts) && !is_none;
  return static_cast<std::uint8_t>((facts.l3_ok ? prm::kEthL3Csum : 0) |
                                   (l4_right ? prm::kEthL4Csum : 0));
}

}  // namespace

std::optional<FrameBits> find_bits(const FieldPlace& place, std::span<const std::byte> frame) {
  const auto byte = byte_of(place.layer, facts_of(frame), frame);
  if (!byte) return std::nullopt;
  return FrameBits{*byte * 8 + place.bit, place.width};
}

std::uint32_t load_bits(std::span<const std::byte> frame, FrameBits bits) {
  std::uint32_t value = 0;
  for (std::size_t bit = bits.at; bit < bits.at + bits.width; ++bit)
    value = value << 1 | (std::to_integer<std::uint32_t>(frame[bit / 8]) >> (7 - bit % 8) & 1);
  return value;
}

void store_bits(std::span<std::byte> frame, FrameBits bits, std::uint32_t value) {
  for (unsigned i = 0; i < bits.width; ++i) {
    const std::size_t bit = bits.at + bits.width - 1 - i;
    const auto mask = std::byte{1} << static_cast<int>(7 - bit % 8);
    std::byte& at = frame[bit / 8];
    at = (value >> i & 1) != 0 ? at | mask : at & ~mask;
  }
}

ChecksumKeeper::ChecksumKeeper(std::span<std::byte> frame)
    : frame_(frame), right_(right_checksums(frame)) {}

ChecksumKeeper::~ChecksumKeeper() { fill_checksums(frame_, right_); }

}  // namespace portcullis::model
