// SPDX-License-Identifier: BSD-3-Clause
#include "model/ethernet/rss_hash.hpp"

#include <algorithm>

#include "prm/ethernet_wqe.hpp"

namespace portcullis::model {
namespace {

using FrameBytes = std::span<const std::byte>;

constexpr std::size_t kPortBytes = 2;
constexpr std::size_t kLongestInput = std::size_t{2} * (16 + kPortBytes);
static_assert(kLongestInput + 4 <= RssRule::kKeyBytes);

bool selects(const RssRule& rule, prm::RxHashField field) noexcept {
  return (rule.fields & prm::number(field)) != 0;
}

/// What is hashed, in its order.
struct Input {
  std::array<std::byte, kLongestInput> bytes{};
  std::size_t count = 0;

  void add(std::byte one) noexcept { bytes[count++] = one; }
  void add(FrameBytes some) noexcept {
    std::ranges::for_each(some, [this](std::byte b) { add(b); });
  }
  /// A pair of fields, `both` being source and destination.
  void add_pair(FrameBytes both, bool source, bool dest, bool is_symmetric) noexcept {
    const std::size_t half = both.size() / 2;
    if (is_symmetric && source && dest) {
      for (std::size_t i = 0; i < half; ++i) add(both[i] | both[half + i]);
      for (std::size_t i = 0; i < half; ++i) add(both[i] ^ both[half + i]);
      return;
    }
    if (source) add(both.first(half));
    if (dest) add(both.subspan(half));
  }
  [[nodiscard]] FrameBytes all() const noexcept { return FrameBytes(bytes).first(count); }
};

std::uint32_t inverted_xor8(FrameBytes input) noexcept {
  std::byte sum{};
  for (const std::byte one : input) sum ^= one;
  std::uint32_t turned = 0;
  for (unsigned bit = 0; bit < 8; ++bit)
    turned |= (std::to_integer<std::uint32_t>(sum) >> bit & 1) << (7 - bit);
  return turned;
}

}  // namespace

RssRule rss_rule(prm::ConstView<prm::tirc> context) noexcept {
  RssRule rule;
  rule.function = prm::RxHashFn{static_cast<std::uint8_t>(context.get<"rx_hash_fn">())};
  rule.is_symmetric = context.get<"rx_hash_symmetric">() != 0;
  const bool is_ipv6 = context.get<"rx_hash_field_selector_outer.l3_prot_type">() ==
                       prm::number(prm::RxHashL3::IPV6);
  const bool is_udp =
      context.get<"rx_hash_field_selector_outer.l4_prot_type">() == prm::number(prm::RxHashL4::UDP);
  rule.l3 = is_ipv6 ? FrameFacts::L3::Ipv6 : FrameFacts::L3::Ipv4;
  rule.l4 = is_udp ? FrameFacts::L4::Udp : FrameFacts::L4::Tcp;
  rule.fields = context.get<"rx_hash_field_selector_outer.selected_fields">();
  std::ranges::copy(context.bytes<"rx_hash_toeplitz_key">(), rule.key.begin());
  return rule;
}

std::uint32_t toeplitz(FrameBytes key, FrameBytes input) noexcept {
  std::uint64_t window = 0;  // 64 bits of the key, the hash's 32 and those that come next
  for (std::size_t i = 0; i < 8; ++i)
    window = window << 8 | (i < key.size() ? std::to_integer<std::uint64_t>(key[i]) : 0);
  std::uint32_t hash = 0;
  std::size_t next = 8;
  for (const std::byte one : input) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      if ((one >> (7 - bit) & std::byte{1}) != std::byte{0})
        hash ^= static_cast<std::uint32_t>(window << bit >> 32);
    }
    window = window << 8 | (next < key.size() ? std::to_integer<std::uint64_t>(key[next]) : 0);
    ++next;
  }
  return hash;
}

RssHash rss_hash(FrameBytes frame, const FrameFacts& facts, const RssRule& rule) noexcept {
  using prm::RxHashField;
  if (rule.function == prm::RxHashFn::NONE || facts.l3 != rule.l3) return {};
  Input input;
  const bool source = selects(rule, RxHashField::SRC_IP), dest = selects(rule, RxHashField::DST_IP);
  input.add_pair(addresses_of(frame, facts), source, dest, rule.is_symmetric);
  auto ip = prm::CqeRssIp::NONE;
  if (source || dest)
    ip = facts.l3 == FrameFacts::L3::Ipv4 ? prm::CqeRssIp::IPV4 : prm::CqeRssIp::IPV6;
  auto l4 = prm::CqeRssL4::NONE;
  const bool sport = selects(rule, RxHashField::L4_SPORT),
             dport = selects(rule, RxHashField::L4_DPORT);
  if (facts.l4 == rule.l4 && facts.has_l4() && (sport || dport)) {
    input.add_pair(frame.subspan(facts.l4_at, 2 * kPortBytes), sport, dport, rule.is_symmetric);
    l4 = facts.l4 == FrameFacts::L4::Tcp ? prm::CqeRssL4::TCP : prm::CqeRssL4::UDP;
  }
  const bool is_toeplitz = rule.function == prm::RxHashFn::TOEPLITZ;
  return {is_toeplitz ? toeplitz(rule.key, input.all()) : inverted_xor8(input.all()),
          prm::rss_hash_type(ip, l4)};
}

}  // namespace portcullis::model
