// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/mailbox.hpp"

#include <algorithm>
#include <utility>

#include "base/dma_bytes.hpp"
#include "prm/cmd_interface.hpp"
#include "prm/signature.hpp"
#include "prm/view.hpp"

namespace portcullis::pmd {
namespace {

using Box = prm::cmd_if_box;

constexpr std::size_t kDataBytes = prm::place<Box, "mailbox_data">.width / 8;

[[nodiscard]] constexpr std::size_t blocks_for(std::size_t message_bytes) {
  const std::size_t rest = message_bytes - std::min(message_bytes, prm::kCmdInlineBytes);
  return (rest + kDataBytes - 1) / kDataBytes;
}

static_assert(kDataBytes == prm::kCmdDataBlockBytes);

}  // namespace

Result<MailboxChain> MailboxChain::create(DmaArena& arena) {
  PORTCULLIS_TRY_ASSIGN(DmaBuffer ready, arena.allocate(kReadyBlocks * kBlockStride));
  return MailboxChain(arena, std::move(ready));
}

std::byte* MailboxChain::block(std::size_t index) const noexcept {
  if (index < kReadyBlocks) return ready_.data() + index * kBlockStride;
  const std::size_t beyond = index - kReadyBlocks;
  return borrowed_[beyond / kBorrowedBlocks].data() + beyond % kBorrowedBlocks * kBlockStride;
}

Iova MailboxChain::block_iova(std::size_t index) const noexcept {
  if (index < kReadyBlocks) return ready_.iova() + index * kBlockStride;
  const std::size_t beyond = index - kReadyBlocks;
  return borrowed_[beyond / kBorrowedBlocks].iova() + beyond % kBorrowedBlocks * kBlockStride;
}

Result<void> MailboxChain::prepare(std::size_t bytes, std::uint8_t token) {
  const std::size_t blocks = blocks_for(bytes);
  while (kReadyBlocks + borrowed_.size() * kBorrowedBlocks < blocks) {
    PORTCULLIS_TRY_ASSIGN(DmaBuffer more, arena_->allocate(kBorrowedBlocks * kBlockStride));
    borrowed_.push_back(std::move(more));
  }
  linked_ = blocks;
  for (std::size_t i = 0; i < blocks; ++i) {
    const Iova next = i + 1 < blocks ? block_iova(i + 1) : 0;
    prm::Buffer<Box> box;
    box.put<"next_pointer_63_32">(next >> 32)
        .put<"next_pointer_31_10">((next & 0xffff'ffff) / kBlockStride)
        .put<"block_number">(i)
        .put<"token">(token);
    dma_copy(block(i), box.all().data(), Box::bytes);
  }
  return {};
}

void MailboxChain::write(std::span<const std::byte> rest) noexcept {
  for (std::size_t i = 0; !rest.empty(); ++i) {
    const std::size_t part = std::min(rest.size(), kDataBytes);
    dma_copy(block(i), rest.data(), part);
    rest = rest.subspan(part);
  }
}

void MailboxChain::read(std::span<std::byte> rest) const noexcept {
  for (std::size_t i = 0; !rest.empty(); ++i) {
    const std::size_t part = std::min(rest.size(), kDataBytes);
    dma_copy(rest.data(), block(i), part);
    rest = rest.subspan(part);
  }
}

void MailboxChain::sign() noexcept {
  for (std::size_t i = 0; i < linked_; ++i)
    prm::sign_block(prm::View<Box>::at({block(i), Box::bytes}));
}

bool MailboxChain::is_signature_good() const noexcept {
  for (std::size_t i = 0; i < linked_; ++i) {
    if (!prm::block_signature_is_valid(prm::ConstView<Box>::at({block(i), Box::bytes})))
      return false;
  }
  return true;
}

void MailboxChain::release() noexcept { borrowed_.clear(); }

void MailboxChain::quarantine() noexcept {
  ready_.quarantine();
  for (DmaBuffer& buffer : borrowed_) buffer.quarantine();
}

}  // namespace portcullis::pmd
