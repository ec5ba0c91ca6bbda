// SPDX-License-Identifier: BSD-3-Clause
//
// Addresses of the card's own that entries of a program lead to and that are no entries: what
// capabilities and answers of commands say (flow_table_nic_cap, create_tir_out,
// flow_table_context, sampler_obj). Where a card has them is not published; drivers hand on what
// they were told. Each is a multiple of 64, as DR_STE_SET of miss_address_31_6 wants it, and below
// what SwIcm has.
#pragma once

#include <cstdint>

#include "prm/view.hpp"

namespace portcullis::model::icm {

inline constexpr std::uint64_t kStep = 64;
inline constexpr std::uint64_t kRxDrop = std::uint64_t{1} << 35;
inline constexpr std::uint64_t kTxDrop = kRxDrop + kStep;
inline constexpr std::uint64_t kTxAllow = kTxDrop + kStep;

// By number: an area of each kind of object.
inline constexpr std::uint64_t kObjects = 1 << 24;
inline constexpr std::uint64_t kTirsAt = std::uint64_t{1} << 32;
inline constexpr std::uint64_t kTablesAt = std::uint64_t{2} << 32;
inline constexpr std::uint64_t kSamplersAt = std::uint64_t{3} << 32;

[[nodiscard]] constexpr std::uint64_t address_of(std::uint64_t area, std::uint32_t id) noexcept {
  return area + id * kStep;
}
/// Whether `address` is that of an object of `area`, whose number it then says.
[[nodiscard]] constexpr bool is_in(std::uint64_t area, std::uint64_t address,
                                   std::uint32_t& id) noexcept {
  if (address < area || address - area >= kObjects * kStep || address % kStep != 0) return false;
  id = static_cast<std::uint32_t>((address - area) / kStep);
  return true;
}

/// Into the answer to a command that made an object.
template <class Out>
void put_address(const prm::View<Out>& out, std::uint64_t address) noexcept {
  static_cast<void>(out.template try_set<"icm_address_63_40">(address >> 40));
  static_cast<void>(out.template try_set<"icm_address_39_32">(address >> 32 & 0xff));
  static_cast<void>(out.template try_set<"icm_address_31_0">(address & 0xffffffff));
}

}  // namespace portcullis::model::icm
