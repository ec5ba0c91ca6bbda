// SPDX-License-Identifier: BSD-3-Clause
//
// Chains of mailbox blocks: 512 bytes each behind the 16 that stand in the queue entry. A block may
// be wrong in as many ways as delivery status has values (struct mlx5_cmd_prot_block of device.h,
// deliv_status_to_str of mlx5/core/cmd.c); a chain is walked to the length that the entry says and
// no further, so a loop in it ends at a wrong block number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/dma.hpp"
#include "prm/cmd_interface.hpp"
#include "prm/status.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

/// Longest input and output: a CREATE_MKEY of 2^25 addresses, 128 GiB in pages of 4 KiB. Linux
/// hands over the list of whatever a program registers at once (reg_create of mlx5_ib/mr.c); where
/// a card says no is not known here. A guest has to have the blocks, so what it can make the model
/// keep for a command is less than its memory.
inline constexpr std::size_t kLongestMessage = std::size_t{1} << 28;

enum class Direction : std::uint8_t { Input, Output };

struct Chain {
  Direction direction = Direction::Input;
  Iova first = 0;          // as the entry has it, low bits included
  std::size_t length = 0;  // of the whole message
  std::uint8_t token = 0;
  bool verify_signatures = false;  // of input blocks; output blocks are the device's to sign
};

/// The chain that a queue entry names.
[[nodiscard]] Chain chain_of(prm::ConstView<prm::cmd_queue_entry> entry, Direction direction,
                             bool verify_signatures);

/// Walks the chain and appends its block addresses to `blocks`, and, when `data` is given, the
/// bytes behind the inline part to it.
[[nodiscard]] prm::DeliveryStatus walk(Dma& dma, const Chain& chain, std::vector<Iova>& blocks,
                                       std::vector<std::byte>* data);

/// How to sign output: not at all without cmdif_checksum, wrongly on demand.
enum class Signing : std::uint8_t { None, Right, Wrong };

/// Writes `data`, what follows the inline part, into the blocks. False when one is not reachable.
[[nodiscard]] bool write_chain(Dma& dma, std::span<const Iova> blocks,
                               std::span<const std::byte> data, Signing signing);

}  // namespace portcullis::model
