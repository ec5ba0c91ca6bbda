// SPDX-License-Identifier: BSD-3-Clause
//
// Signatures of the command interface: one byte that makes the exclusive-or of what it covers 0xff.
// Sources: xor8_buf, calc_block_sig, set_signature, verify_block_sig and verify_signature of
// mlx5/core/cmd.c. Blocks are signed only where cmdif_checksum is not 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "prm/cmd_interface.hpp"
#include "prm/view.hpp"

namespace portcullis::prm {

/// The exclusive-or of a word's bytes.
[[nodiscard]] constexpr std::uint8_t fold_xor(std::uint64_t word) noexcept {
  word ^= word >> 32;
  word ^= word >> 16;
  word ^= word >> 8;
  return static_cast<std::uint8_t>(word);
}

[[nodiscard]] std::uint8_t xor8(std::span<const std::byte> bytes) noexcept;

/// The same of a queue entry, eight bytes at a time: every command pays for two of these.
[[nodiscard]] inline std::uint8_t xor8_of_entry(ConstView<cmd_queue_entry> entry) noexcept {
  std::array<std::uint64_t, cmd_queue_entry::bytes / sizeof(std::uint64_t)> w;
  std::memcpy(w.data(), entry.all().data(), cmd_queue_entry::bytes);
  return fold_xor((w[0] ^ w[1]) ^ (w[2] ^ w[3]) ^ (w[4] ^ w[5]) ^ (w[6] ^ w[7]));
}

/// Who will own the entry once it is handed over. cmd_queue_entry.ownership is signed too, but is
/// written last, with release order.
enum class EntryOwner : std::uint8_t { Software = 0, Hardware = 1 };

/// Writes cmd_queue_entry.signature over the other 63 bytes as they stand, with ownership as
/// `owner`.
inline void sign_entry(View<cmd_queue_entry> entry, EntryOwner owner) noexcept {
  constexpr std::size_t kSignature = place<cmd_queue_entry, "signature">.offset / 8;
  constexpr std::size_t kOwnership = place<cmd_queue_entry, "ownership">.offset / 8;
  const auto bytes = entry.all();
  // Ownership is the lowest bit of its byte, so it enters the sum as the number it is.
  const unsigned others = xor8_of_entry(entry) ^ std::to_integer<unsigned>(bytes[kSignature]) ^
                          (std::to_integer<unsigned>(bytes[kOwnership]) & 1);
  bytes[kSignature] = static_cast<std::byte>(~(others ^ static_cast<unsigned>(owner)));
}
/// Of an entry that came back: ownership counts as set or as clear. Linux's verify_signature wants
/// it clear; a ConnectX-4 (firmware 14.12.1220) signs before it clears it (trace in
/// tests/prm/golden).
[[nodiscard]] inline bool entry_signature_is_valid(ConstView<cmd_queue_entry> entry) noexcept {
  constexpr unsigned kOwnership = 1;
  return (xor8_of_entry(entry) | kOwnership) == 0xff;
}

/// Writes cmd_if_box.ctrl_signature (over everything after the data) and signature (over all).
void sign_block(View<cmd_if_box> block) noexcept;
/// Both signatures.
[[nodiscard]] bool block_signature_is_valid(ConstView<cmd_if_box> block) noexcept;

}  // namespace portcullis::prm
