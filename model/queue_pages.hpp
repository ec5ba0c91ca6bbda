// SPDX-License-Identifier: BSD-3-Clause
//
// A queue's memory as a context describes it: pages of one size (log_page_size counts from 4 KiB,
// MLX5_ADAPTER_PAGE_SHIFT), the queue starting at page_offset 64ths of a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/device.hpp"

namespace portcullis::model {

class QueuePages {
 public:
  QueuePages() = default;
  QueuePages(std::vector<Iova> pages, std::uint32_t log_page_size, std::uint32_t page_offset)
      : pages_(std::move(pages)),
        shift_(12 + log_page_size),
        start_(std::uint64_t{page_offset} << shift_ >> 6) {}

  /// A queue that starts at byte `start` of pages of 1 << `shift` bytes.
  [[nodiscard]] static QueuePages from_byte(std::vector<Iova> pages, std::uint32_t shift,
                                            std::uint64_t start) {
    QueuePages queue;
    queue.pages_ = std::move(pages);
    queue.shift_ = shift;
    queue.start_ = start;
    return queue;
  }

  /// Pages that a queue of `bytes` takes.
  [[nodiscard]] static std::uint64_t needed(std::uint64_t bytes, std::uint32_t log_page_size,
                                            std::uint32_t page_offset) noexcept {
    const std::uint32_t shift = 12 + log_page_size;
    const std::uint64_t start = std::uint64_t{page_offset} << shift >> 6;
    return (start + bytes + (std::uint64_t{1} << shift) - 1) >> shift;
  }

  /// `offset` must lie in the queue.
  [[nodiscard]] Iova at(std::uint64_t offset) const noexcept {
    const std::uint64_t position = start_ + offset;
    return pages_[position >> shift_] + (position & ((std::uint64_t{1} << shift_) - 1));
  }
  /// False when a page is not aligned to its size.
  [[nodiscard]] bool aligned() const noexcept {
    for (const Iova page : pages_)
      if ((page & ((std::uint64_t{1} << shift_) - 1)) != 0) return false;
    return true;
  }
  [[nodiscard]] std::size_t count() const noexcept { return pages_.size(); }

 private:
  std::vector<Iova> pages_;
  std::uint32_t shift_ = 12;
  std::uint64_t start_ = 0;
};

}  // namespace portcullis::model
