// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of a receive queue: of a queue pair, of an RQ, of a queue that several share. Entries
// of one stride, each as many data segments as it holds, ended before by a segment with the invalid
// lkey (mlx5_ib_post_recv of mlx5_ib/wr.c). Nothing in them is trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/dma.hpp"
#include "model/queue_pages.hpp"
#include "model/verdict.hpp"

namespace portcullis::model {

/// One segment of a receive WQE.
struct ReceivePiece {
  std::uint32_t bytes = 0;
  std::uint32_t lkey = 0;
  std::uint64_t va = 0;
};

struct ReceiveRing {
  QueuePages pages = {};
  std::uint32_t stride = 0;   // bytes
  std::uint32_t entries = 0;  // a power of two, or 0: none

  /// A segment never straddles two pages, a WQE may.
  [[nodiscard]] Iova segment(std::uint16_t index, std::uint32_t byte) const noexcept {
    return pages.at(std::uint64_t{index & (entries - 1)} * stride + byte);
  }
  /// The data segments of WQE `index`, those from `first_byte` of it on. False: not reachable by
  /// DMA.
  [[nodiscard]] bool read(Dma& dma, std::uint16_t index, std::uint32_t first_byte,
                          std::vector<ReceivePiece>& pieces) const;
};

/// Sizes and places as rqc.wq, rmpc.wq and xrc_srqc state them.
struct RingShape {
  static constexpr std::uint32_t kLogMaxEntries = 15;

  std::uint32_t log_stride = 0;
  std::uint32_t min_log_stride = 0;  // for what every WQE of this kind begins with
  std::uint32_t log_entries = 0;
  std::uint32_t log_page_size = 0;
  std::uint32_t page_offset = 0;
  Iova record = 0;  // the doorbell record, which must be aligned
};
/// `pas` is the list behind the context.
Verdict lay_out(const RingShape& shape, std::span<const std::byte> pas, ReceiveRing& ring);

}  // namespace portcullis::model
