// SPDX-License-Identifier: BSD-3-Clause
//
// States waiting to be expanded, without the bytes that none of them uses, each with a byte about
// the step that led there: filled once, taken once, in blocks that go back to the kernel as soon as
// they are taken, so that a level never lies in memory twice.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "failover/semantics/packed.hpp"

namespace portcullis::failover {

template <unsigned kWords>
class Frontier {
 public:
  static constexpr std::size_t kBlock = 2048;

  /// For states of which only the first `state_bytes` are ever other than 0.
  explicit Frontier(std::size_t state_bytes)
      : state_bytes_(state_bytes),
        last_mask_(~std::uint64_t{0} >> 8 * (sizeof(State<kWords>) - state_bytes)) {}

  /// False when the kernel has no memory for it.
  [[nodiscard]] bool push(const State<kWords>& state, std::uint8_t step) {
    if (last_ == kBlock) {
      Block block = map_block();
      if (block == nullptr) return false;
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
  [[nodiscard]] std::uint64_t bytes() const noexcept { return blocks_.size() * block_bytes(); }

  /// Takes the last block: calls visit(state, step) for each of its states. False when there is
  /// none.
  template <class Visit>
  bool take_block(Visit&& visit) {
    if (blocks_.empty()) return false;
    const std::size_t count = last_;
    const Block block = std::move(blocks_.back());
    blocks_.pop_back();
    last_ = kBlock;
    size_ -= count;
    for (std::size_t i = 0; i < count; ++i) {
      State<kWords> state;
      const char* const entry = block.get() + i * entry_bytes();
      std::memcpy(state.words.data(), entry, sizeof state);
      state.words[kWords - 1] &= last_mask_;
      visit(state, static_cast<std::uint8_t>(entry[state_bytes_]));
    }
    return true;
  }

  friend void swap(Frontier& a, Frontier& b) noexcept {
    std::swap(a.blocks_, b.blocks_);
    std::swap(a.last_, b.last_);
    std::swap(a.size_, b.size_);
  }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(char* block) const noexcept { ::munmap(block, bytes); }
  };
  using Block = std::unique_ptr<char[], Unmap>;

  [[nodiscard]] Block map_block() const {
    void* block =
        ::mmap(nullptr, block_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return Block(block == MAP_FAILED ? nullptr : static_cast<char*>(block), Unmap{block_bytes()});
  }
  [[nodiscard]] std::size_t entry_bytes() const noexcept { return state_bytes_ + 1; }
  [[nodiscard]] std::size_t block_bytes() const noexcept {
    return kBlock * entry_bytes() + sizeof(State<kWords>);
  }

  std::size_t state_bytes_;
  std::uint64_t last_mask_;  // of the last word's bytes that are kept
  std::vector<Block> blocks_;
  std::size_t last_ = kBlock;  // states of the last block
  std::size_t size_ = 0;
};

}  // namespace portcullis::failover
