// SPDX-License-Identifier: BSD-3-Clause
#include "model/ethernet/offloads.hpp"

#include "model/ethernet/frame_facts.hpp"
#include "model/transport/checksum.hpp"
#include "model/transport/headers.hpp"
#include "prm/ethernet_wqe.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

/// The lengths of the network header that say what `frame` has; false without one.
bool put_ip_length(std::span<std::byte> frame, const FrameFacts& facts, std::uint32_t number) {
  if (facts.l3 == FrameFacts::L3::Ipv4) {
    const auto ip = prm::View<ipv4_header>::at(frame, facts.l3_at);
    const std::uint32_t id = ip.get<"id">() + number;
    ip.put<"id">(static_cast<std::uint16_t>(id));
    ip.put<"tot_len">(static_cast<std::uint16_t>(frame.size() - facts.l3_at));
  } else if (facts.l3 == FrameFacts::L3::Ipv6) {
    const auto ip = prm::View<ipv6_header>::at(frame, facts.l3_at);
    ip.put<"payload_len">(static_cast<std::uint16_t>(frame.size() - facts.l4_at));
  }
  return facts.l3 != FrameFacts::L3::None;
}

void put_tcp(std::span<std::byte> header, const Segment& segment) {
  const std::uint32_t sequence = std::uint32_t{load_be16(&header[tcp::kSequence])} << 16 |
                                 load_be16(&header[tcp::kSequence + 2]);
  const std::uint32_t now = sequence + segment.offset;
  store_be16(&header[tcp::kSequence], static_cast<std::uint16_t>(now >> 16));
  store_be16(&header[tcp::kSequence + 2], static_cast<std::uint16_t>(now));
  if (!segment.is_last) header[tcp::kFlags] &= ~(tcp::kFin | tcp::kPsh);
  if (segment.number != 0) header[tcp::kFlags] &= ~tcp::kCwr;
}

}  // namespace

void fill_checksums(std::span<std::byte> frame, std::uint8_t cs_flags) noexcept {
  const FrameFacts facts = facts_of(frame);
  if ((cs_flags & prm::kEthL3Csum) != 0 && facts.l3 == FrameFacts::L3::Ipv4) {
    const auto header = frame.subspan(facts.l3_at, facts.l4_at - facts.l3_at);
    const auto ip = prm::View<ipv4_header>::at(header);
    ip.set<"check", 0>();
    ip.put<"check">(static_cast<std::uint16_t>(~fold_sum(ones_sum(header))));
  }
  if ((cs_flags & prm::kEthL4Csum) == 0 || !facts.has_l4()) return;
  const bool is_udp = facts.l4 == FrameFacts::L4::Udp;
  std::byte* const check = &frame[facts.l4_at + (is_udp ? kUdpCheck : tcp::kCheck)];
  store_be16(check, 0);
  const auto sum = static_cast<std::uint16_t>(~transport_sum(frame, facts));
  // In UDP 0 would say that there is none (RFC 768).
  store_be16(check, is_udp && sum == 0 ? std::uint16_t{0xffff} : sum);
}

bool put_lengths(std::span<std::byte> frame, std::uint32_t number) noexcept {
  // The whole may be longer than its length field holds, so that is put right before it is read.
  if (!put_ip_length(frame, facts_of(frame), number)) return false;
  const FrameFacts facts = facts_of(frame);
  if (facts.l4 == FrameFacts::L4::Udp)
    store_be16(&frame[facts.l4_at + kUdpLength],
               static_cast<std::uint16_t>(frame.size() - facts.l4_at));
  return true;
}

bool make_segment(std::span<std::byte> frame, std::size_t header_bytes,
                  const Segment& segment) noexcept {
  if (!put_lengths(frame, segment.number)) return false;
  const FrameFacts facts = facts_of(frame);
  if (!facts.has_l4()) return false;
  const bool is_udp = facts.l4 == FrameFacts::L4::Udp;
  const std::size_t l4_bytes = is_udp ? udp_header::bytes : tcp_header_bytes(frame, facts);
  if (facts.l4_at + l4_bytes != header_bytes) return false;
  if (!is_udp) put_tcp(frame.subspan(facts.l4_at, l4_bytes), segment);
  return true;
}

}  // namespace portcullis::model
