// SPDX-License-Identifier: BSD-3-Clause
//
// States waiting to be expanded, without the bytes that none of them uses: filled once, taken once,
// in blocks that are freed as soon as they are taken, so that a level never lies in memory twice.
#pragma once

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

  void push(const State<kWords>& state) {
    if (last_ == kBlock) {
      blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_bytes()));
      last_ = 0;
    }
    // All words: what is too much the next state overwrites.
    std::memcpy(blocks_.back().get() + last_++ * state_bytes_, state.words.data(), sizeof state);
    ++size_;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return blocks_.size() * block_bytes(); }

  /// Takes the last block: calls visit for each of its states. False when there is none.
  template <class Visit>
  bool take_block(Visit&& visit) {
    if (blocks_.empty()) return false;
    const std::size_t count = last_;
    const std::unique_ptr<char[]> block = std::move(blocks_.back());
    blocks_.pop_back();
    last_ = kBlock;
    size_ -= count;
    for (std::size_t i = 0; i < count; ++i) {
      State<kWords> state;
      std::memcpy(state.words.data(), block.get() + i * state_bytes_, sizeof state);
      state.words[kWords - 1] &= last_mask_;
      visit(state);
    }
    return true;
  }

  friend void swap(Frontier& a, Frontier& b) noexcept {
    std::swap(a.blocks_, b.blocks_);
    std::swap(a.last_, b.last_);
    std::swap(a.size_, b.size_);
  }

 private:
  [[nodiscard]] std::size_t block_bytes() const noexcept {
    return kBlock * state_bytes_ + sizeof(State<kWords>);
  }

  std::size_t state_bytes_;
  std::uint64_t last_mask_;  // of the last word's bytes that are kept
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t last_ = kBlock;  // states of the last block
  std::size_t size_ = 0;
};

}  // namespace portcullis::failover
