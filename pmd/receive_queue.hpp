// SPDX-License-Identifier: BSD-3-Clause
//
// The receive queue of one QP: a ring of WQEs of equal size, each a list of data segments, and the
// receive half of the doorbell record. It has no doorbell: the device reads the record when it runs
// out of what it knows of (mlx5_post_recv of rdma-core). WQEs complete in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/cells.hpp"
#include "base/result.hpp"
#include "pmd/work_request.hpp"
#include "prm/doorbell.hpp"
#include "prm/view.hpp"
#include "prm/wqe.hpp"

namespace portcullis::pmd {

class ReceiveQueue {
 public:
  /// qpc.log_rq_stride has three bits and counts from one segment.
  static constexpr std::uint32_t kMostLogPieces = 5;
  /// What a completion is checked against.
  struct Posted {
    std::uint64_t wr_id = 0;
    std::uint64_t bytes = 0;  // room for a message
  };

  /// `ring` holds 2^log_size WQEs of 2^log_pieces segments; `record` is a doorbell record. Both
  /// must outlive the queue.
  ReceiveQueue(std::span<std::byte> ring, std::byte* record, std::uint32_t log_size,
               std::uint32_t log_pieces);
  ReceiveQueue(const ReceiveQueue&) = delete;
  ReceiveQueue& operator=(const ReceiveQueue&) = delete;

  /// Room for one message, in the order of `pieces`; those of 0 bytes are left out. Busy when the
  /// queue is full, InvalidArgument for more pieces than a WQE holds or one of 2 GiB or more.
  [[nodiscard]] Result<void> post(std::span<const GatherEntry> pieces, std::uint64_t wr_id);
  [[nodiscard]] Result<void> post(const GatherEntry& piece, std::uint64_t wr_id) {
    return post(std::span(&piece, 1), wr_id);
  }
  /// Hands everything posted to the device.
  void ring() noexcept {
    cells::store_release<std::uint32_t>(record_, cells::be32(prm::rq_producer_index(head_)));
  }
  /// The oldest WQE, done; null when `wqe_counter` names another, or none is outstanding.
  [[nodiscard]] const Posted* complete(std::uint16_t wqe_counter) noexcept {
    if (tail_ == head_ || ((wqe_counter ^ tail_) & mask_) != 0) return nullptr;
    return &posted_[tail_++ & mask_];
  }

  [[nodiscard]] std::uint32_t outstanding() const noexcept { return head_ - tail_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return mask_ + 1; }
  [[nodiscard]] std::uint32_t log_size() const noexcept { return log_size_; }
  [[nodiscard]] std::uint32_t log_pieces() const noexcept { return log_pieces_; }
  /// After 2RST_QP: empty, as the device takes it up from RESET.
  void reset() noexcept;

 private:
  std::byte* ring_;
  std::byte* record_;
  std::uint32_t log_size_;
  std::uint32_t log_pieces_;
  std::uint32_t mask_;
  std::uint32_t head_ = 0;  // run on through 32 bits; the device counts in the low 16
  std::uint32_t tail_ = 0;
  std::unique_ptr<Posted[]> posted_;
};

}  // namespace portcullis::pmd
