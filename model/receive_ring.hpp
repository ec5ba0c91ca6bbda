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
#include "model/umem.hpp"
#include "model/verdict.hpp"
#include "prm/view.hpp"

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
  static constexpr std::uint32_t kLogMaxStride = 9;  // max_wqe_sz_rq of the capabilities

  std::uint32_t log_stride = 0;
  std::uint32_t min_log_stride = 0;  // for what every WQE of this kind begins with
  std::uint32_t log_entries = 0;
  std::uint32_t log_page_size = 0;
  std::uint32_t page_offset = 0;
  Iova record = 0;     // the doorbell record, which must be aligned; in a umem the offset in it
  UmemUse umems = {};  // what of it lies in one
  std::uint64_t umem_offset = 0;  // of the queue
  // One is named and not said to be valid: a field in the wrong place.
  bool names_other_umem = false;

  /// As a context says in its `wq`: rqc, sqc or rmpc.
  template <class Context>
  [[nodiscard]] static RingShape of(prm::ConstView<Context> c, std::uint32_t min_log_stride) {
    RingShape shape{.log_stride = c.template get<"wq.log_wq_stride">(),
                    .min_log_stride = min_log_stride,
                    .log_entries = c.template get<"wq.log_wq_sz">(),
                    .log_page_size = c.template get<"wq.log_wq_pg_sz">(),
                    .page_offset = c.template get<"wq.page_offset">(),
                    .record = c.template get<"wq.dbr_addr">(),
                    .umem_offset = c.template get<"wq.wq_umem_offset">()};
    if (c.template get<"wq.wq_umem_valid">() != 0)
      shape.umems.queue = static_cast<std::uint32_t>(c.template get<"wq.wq_umem_id">());
    if (c.template get<"wq.dbr_umem_valid">() != 0)
      shape.umems.record = static_cast<std::uint32_t>(c.template get<"wq.dbr_umem_id">());
    shape.names_other_umem =
        (!shape.umems.queue && (c.template get<"wq.wq_umem_id">() | shape.umem_offset) != 0) ||
        (!shape.umems.record && c.template get<"wq.dbr_umem_id">() != 0);
    return shape;
  }
};
/// `pas` is the list behind the context, `umems` where such are, `record` where the doorbell record
/// is.
Verdict lay_out(const RingShape& shape, std::span<const std::byte> pas, const UmemTable* umems,
                ReceiveRing& ring, Iova& record);

}  // namespace portcullis::model
