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
      : first_(pages.empty() ? 0 : pages.front()),
        start_(std::uint64_t{page_offset} << (12 + log_page_size) >> 6),
        shift_(12 + log_page_size),
        pages_(std::move(pages)) {}

  /// A queue that starts at byte `start` of pages of 1 << `shift` bytes.
  [[nodiscard]] static QueuePages from_byte(std::vector<Iova> pages, std::uint32_t shift,
                                            std::uint64_t start) {
    QueuePages queue(std::move(pages), shift - 12, 0);
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
    const std::uint64_t page = position >> shift_;
    const Iova in_page = position & ((std::uint64_t{1} << shift_) - 1);
    return (page == 0 ? first_ : pages_[page]) + in_page;
  }
  /// Each page is aligned to the smallest size. To its own it need not be: connectx.lua of Snabb
  /// takes memory aligned to 4 KiB and calls it a page of 16 (create_eq), 64 (create_cq, create_rq)
  /// or 256 KiB (create_sq).
  [[nodiscard]] bool aligned() const noexcept {
    for (const Iova page : pages_)
      if (page % kPageBytes != 0) return false;
    return true;
  }
  [[nodiscard]] std::size_t count() const noexcept { return pages_.size(); }

 private:
  Iova first_ = 0;  // beside the rest: most queues have one page
  std::uint64_t start_ = 0;
  std::uint32_t shift_ = 12;
  std::vector<Iova> pages_;
};

}  // namespace portcullis::model
