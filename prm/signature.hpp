// SPDX-License-Identifier: BSD-3-Clause
//
// Signatures of the command interface: one byte that makes the exclusive-or of what it covers 0xff.
// Sources: xor8_buf, calc_block_sig, set_signature, verify_block_sig and verify_signature of
// mlx5/core/cmd.c. Blocks are signed only where cmdif_checksum is not 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "prm/cmd_interface.hpp"
#include "prm/view.hpp"

namespace portcullis::prm {

[[nodiscard]] std::uint8_t xor8(std::span<const std::byte> bytes) noexcept;

/// Who will own the entry once it is handed over. cmd_queue_entry.ownership is signed too, but is
/// written last, with release order.
enum class EntryOwner : std::uint8_t { Software = 0, Hardware = 1 };

/// Writes cmd_queue_entry.signature over the other 63 bytes as they stand, with ownership as
/// `owner`.
void sign_entry(View<cmd_queue_entry> entry, EntryOwner owner) noexcept;
/// Of an entry that came back: ownership counts as set or as clear. Linux's verify_signature wants
/// it clear; a ConnectX-4 (firmware 14.12.1220) signs before it clears it (trace in
/// tests/prm/golden).
[[nodiscard]] bool entry_signature_is_valid(ConstView<cmd_queue_entry> entry) noexcept;

/// Writes cmd_if_box.ctrl_signature (over everything after the data) and signature (over all).
void sign_block(View<cmd_if_box> block) noexcept;
/// Both signatures.
[[nodiscard]] bool block_signature_is_valid(ConstView<cmd_if_box> block) noexcept;

}  // namespace portcullis::prm
