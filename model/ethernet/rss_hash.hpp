// SPDX-License-Identifier: BSD-3-Clause
//
// The hash by which a TIR spreads frames over the queues of a table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/ethernet/frame_facts.hpp"
#include "prm/ethernet_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

/// What a tirc says of it.
struct RssRule {
  static constexpr std::size_t kKeyBytes = 40;

  prm::RxHashFn function = prm::RxHashFn::NONE;
  bool is_symmetric = false;
  FrameFacts::L3 l3 = FrameFacts::L3::Ipv4;  // of other frames nothing is hashed
  FrameFacts::L4 l4 = FrameFacts::L4::Tcp;   // of others no ports
  std::uint32_t fields = 0;                  // prm::RxHashField, or-ed
  std::array<std::byte, kKeyBytes> key{};
};
[[nodiscard]] RssRule rss_rule(prm::ConstView<prm::tirc> context) noexcept;

struct RssHash {
  std::uint32_t value = 0;
  std::uint8_t type = 0;  // rss_hash_type of the completion
};
/// Toeplitz over source address, destination address, source port, destination port, those of them
/// that are selected. Symmetric: in place of source and destination their OR and their XOR, which
/// RXH_XFRM_SYM_OR_XOR of linux/ethtool.h describes and mlx5e_get_rxfh says of rx_hash_symmetric.
/// INVERTED_XOR8 is the XOR of all those bytes with its bits in reverse order
/// (mlx5e_calc_indir_rqns turns the table's indices likewise); a hypothesis beyond that.
[[nodiscard]] RssHash rss_hash(std::span<const std::byte> frame, const FrameFacts& facts,
                               const RssRule& rule) noexcept;

/// The hash of Microsoft's receive side scaling; `key` has four bytes more than `input` at least.
[[nodiscard]] std::uint32_t toeplitz(std::span<const std::byte> key,
                                     std::span<const std::byte> input) noexcept;

}  // namespace portcullis::model
