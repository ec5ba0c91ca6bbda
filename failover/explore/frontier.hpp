// SPDX-License-Identifier: BSD-3-Clause
//
// States waiting to be expanded: filled once, taken once, in blocks that are freed as soon as
// they are taken, so that a level never lies in memory twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace portcullis::failover {

template <class T>
class Frontier {
 public:
  static constexpr std::size_t kBlock = 4096;

  void push(const T& value) {
    if (last_ == kBlock) {
      blocks_.push_back(std::make_unique_for_overwrite<T[]>(kBlock));
      last_ = 0;
    }
    blocks_.back()[last_++] = value;
    ++size_;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return blocks_.size() * kBlock * sizeof(T); }

  /// Takes the last block: calls visit for each of its elements. False when there is none.
  template <class Visit>
  bool take_block(Visit&& visit) {
    if (blocks_.empty()) return false;
    const std::size_t count = last_;
    const std::unique_ptr<T[]> block = std::move(blocks_.back());
    blocks_.pop_back();
    last_ = kBlock;
    size_ -= count;
    for (std::size_t i = 0; i < count; ++i) visit(block[i]);
    return true;
  }

 private:
  std::vector<std::unique_ptr<T[]>> blocks_;
  std::size_t last_ = kBlock;  // elements of the last block
  std::size_t size_ = 0;
};

}  // namespace portcullis::failover
