// SPDX-License-Identifier: BSD-3-Clause
//
// States waiting to be expanded, without the bytes that none of them uses, each with a byte about
// the step that led there: filled once, taken once, in blocks that are filled again or go back to
// the kernel as soon as they are taken, so that a level never lies in memory twice.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "failover/explore/budget.hpp"
#include "failover/semantics/packed.hpp"

namespace portcullis::failover {

struct UnmapBlock {
  std::size_t bytes = 0;
  void operator()(char* block) const noexcept { ::munmap(block, bytes); }
};
/// Whole pages.
using FrontierBlock = std::unique_ptr<char[], UnmapBlock>;
/// Blocks that were taken, for those to be filled: fewer calls to the kernel, fewer page faults.
/// Of one worker, which fills one frontier while it takes another.
using SpareBlocks = std::vector<FrontierBlock>;

template <unsigned kWords>
class Frontier {
 public:
  /// For states of which only the first `state_bytes` are ever other than 0. `spare` must outlive
  /// it, and what it is swapped with must share it. So must `budget`, which is asked for each
  /// block.
  Frontier(std::size_t state_bytes, SpareBlocks& spare, Budget& budget)
      : state_bytes_(state_bytes),
        last_mask_(~std::uint64_t{0} >> 8 * (sizeof(State<kWords>) - state_bytes)),
        block_bytes_((kAboutStates * entry_bytes() + kPage - 1) / kPage * kPage),
        // Writing and reading an entry touches all of a state's words.
        most_((block_bytes_ - sizeof(State<kWords>)) / entry_bytes()),
        last_(most_),
        spare_(&spare),
        budget_(&budget) {}

  /// False when there is no memory for it.
  [[nodiscard]] bool push(const State<kWords>& state, std::uint8_t step) {
    if (last_ == most_) {
      if (!budget_->take(block_bytes_)) return false;
      FrontierBlock block = empty_block();
      if (block == nullptr) {
        budget_->give_back(block_bytes_);
        return false;
      }
      blocks_.push_back(std::move(block));
      last_ = 0;
    }
    // All words: what is too much the next state overwrites.
    char* const entry = blocks_.back().get() + last_++ * entry_bytes();
    std::memcpy(entry, state.words.data(), sizeof state);
    entry[state_bytes_] = static_cast<char>(step);
    ++size_;
    return true;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return blocks_.size() * block_bytes_; }

  /// Takes the last block: calls visit(state, step) for each of its states. False when there is
  /// none.
  template <class Visit>
  bool take_block(Visit&& visit) {
    if (blocks_.empty()) return false;
    const std::size_t count = last_;
    FrontierBlock block = std::move(blocks_.back());
    blocks_.pop_back();
    budget_->give_back(block_bytes_);
    last_ = most_;
    size_ -= count;
    for (std::size_t i = 0; i < count; ++i) {
      State<kWords> state;
      const char* const entry = block.get() + i * entry_bytes();
      std::memcpy(state.words.data(), entry, sizeof state);
      state.words[kWords - 1] &= last_mask_;
      visit(state, static_cast<std::uint8_t>(entry[state_bytes_]));
    }
    if (spare_->size() < kMostSpare) spare_->push_back(std::move(block));
    return true;
  }

  friend void swap(Frontier& a, Frontier& b) noexcept {
    std::swap(a.blocks_, b.blocks_);
    std::swap(a.last_, b.last_);
    std::swap(a.size_, b.size_);
  }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kAboutStates = 2048;  // in a block
  static constexpr std::size_t kMostSpare = 16;

  [[nodiscard]] FrontierBlock empty_block() const {
    if (!spare_->empty()) {
      FrontierBlock block = std::move(spare_->back());
      spare_->pop_back();
      return block;
    }
    void* block =
        ::mmap(nullptr, block_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return FrontierBlock(block == MAP_FAILED ? nullptr : static_cast<char*>(block),
                         UnmapBlock{block_bytes_});
  }
  [[nodiscard]] std::size_t entry_bytes() const noexcept { return state_bytes_ + 1; }

  std::size_t state_bytes_;
  std::uint64_t last_mask_;  // of the last word's bytes that are kept
  std::size_t block_bytes_;
  std::size_t most_;  // states of a block
  std::vector<FrontierBlock> blocks_;
  std::size_t last_;  // states of the last block
  std::size_t size_ = 0;
  SpareBlocks* spare_;
  Budget* budget_;
};

}  // namespace portcullis::failover
