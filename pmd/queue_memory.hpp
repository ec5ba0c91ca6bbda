// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of a CQ or of the queues of a QP: one piece of the arena, contiguous and aligned to
// its size, so that a context describes it as a single page.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/dma_memory.hpp"
#include "base/result.hpp"

namespace portcullis::pmd {

/// cqc.log_page_size and qpc.log_page_size count from 4 KiB (MLX5_ADAPTER_PAGE_SHIFT).
[[nodiscard]] constexpr std::uint32_t log_page_size(std::size_t queue_bytes) noexcept {
  constexpr std::uint32_t kAdapterPageShift = 12;
  return static_cast<std::uint32_t>(std::countr_zero(std::max(queue_bytes, kPageBytes))) -
         kAdapterPageShift;
}

/// At least a page.
[[nodiscard]] inline Result<DmaBuffer> allocate_queue(DmaArena& arena, std::size_t bytes) {
  return arena.allocate(std::max(bytes, kPageBytes));
}

}  // namespace portcullis::pmd
