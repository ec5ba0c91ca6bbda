// SPDX-License-Identifier: BSD-3-Clause
//
// A chain of mailbox blocks: what of a command's input or output does not fit its queue entry. A
// block is 576 bytes on a 1 KiB boundary, 512 of them data (struct mlx5_cmd_prot_block of Linux).
// Each chain keeps enough blocks for kReadyBytes and borrows the rest for the length of one
// command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "prm/enums.hpp"

namespace portcullis::pmd {

class MailboxChain {
 public:
  static constexpr std::size_t kReadyBlocks = 8;
  static constexpr std::size_t kReadyBytes =
      prm::kCmdInlineBytes + kReadyBlocks * prm::kCmdDataBlockBytes;

  /// `arena` must outlive the chain.
  [[nodiscard]] static Result<MailboxChain> create(DmaArena& arena);

  /// Links the blocks for a message of `bytes` (its first 16 stay in the entry) with zeroed data
  /// under `token`. OutOfResources when blocks must be borrowed and cannot.
  [[nodiscard]] Result<void> prepare(std::size_t bytes, std::uint8_t token);
  /// Copies `rest`, the message after its first 16 bytes, into the blocks.
  void write(std::span<const std::byte> rest) noexcept;
  void read(std::span<std::byte> rest) const noexcept;
  /// Signs every linked block (calc_block_sig of Linux).
  void sign() noexcept;
  /// True when every linked block's two signatures hold (verify_block_sig).
  [[nodiscard]] bool is_signature_good() const noexcept;
  /// What the entry points at; 0 when no block is linked.
  [[nodiscard]] Iova first() const noexcept { return linked_ == 0 ? 0 : block_iova(0); }
  /// Gives borrowed blocks back.
  void release() noexcept;
  /// The device may still write: the memory never returns to the arena.
  void quarantine() noexcept;

 private:
  static constexpr std::size_t kBlockStride = prm::kMailboxAlignmentBytes;
  static constexpr std::size_t kBorrowedBlocks = 64;  // in one allocation

  explicit MailboxChain(DmaArena& arena, DmaBuffer ready) noexcept
      : arena_(&arena), ready_(std::move(ready)) {}
  [[nodiscard]] std::byte* block(std::size_t index) const noexcept;
  [[nodiscard]] Iova block_iova(std::size_t index) const noexcept;

  DmaArena* arena_;
  DmaBuffer ready_;
  std::vector<DmaBuffer> borrowed_;
  std::size_t linked_ = 0;
};

}  // namespace portcullis::pmd
