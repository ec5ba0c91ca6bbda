// SPDX-License-Identifier: BSD-3-Clause
//
// Receive WQEs as they stand in guest memory, and what becomes of those that no message used.
// A WQE is as many data segments as its stride holds, ended before by a segment with the invalid
// lkey (mlx5_ib_post_recv of mlx5_ib/wr.c). Nothing in them is trusted.
#pragma once

#include <cstdint>
#include <vector>

#include "model/dma.hpp"
#include "model/queue_pages.hpp"
#include "prm/cqe.hpp"

namespace portcullis::model {

struct Engine;
struct Qp;
struct WqeError;

/// Where the receive WQEs of a queue pair lie: in front of its send queue.
struct ReceiveQueueMemory {
  QueuePages pages;
  std::uint32_t stride = 0;   // bytes
  std::uint32_t entries = 0;  // a power of two, or 0: none

  /// A segment never straddles two pages, a WQE may.
  [[nodiscard]] Iova segment(std::uint16_t index, std::uint32_t byte) const noexcept {
    return pages.at(std::uint64_t{index & (entries - 1)} * stride + byte);
  }
};

/// One segment of a receive WQE.
struct ReceivePiece {
  std::uint32_t bytes = 0;
  std::uint32_t lkey = 0;
  std::uint64_t va = 0;
};

/// Whose CQ a receive completes on, and by which index the driver finds its queue.
struct ReceiveOwner {
  std::uint32_t cqn = 0;
  std::uint32_t user_index = 0;
};

enum class ReceiveFault : std::uint8_t {
  None,
  Empty,       // nothing is posted
  Unreadable,  // queue or doorbell record is not reachable by DMA
};

/// The oldest receive WQE that is posted and not consumed, to qp.receive.pieces. Of a shared queue
/// it is the QP's from then on.
[[nodiscard]] ReceiveFault read_receive_wqe(const Engine& engine, Qp& qp);
/// Consumes it: its index, for the completion.
[[nodiscard]] std::uint16_t consume_receive(Qp& qp) noexcept;
/// Consumes it with an error completion.
void fail_receive(const Engine& engine, Qp& qp, const WqeError& error);
/// Completes one that was consumed before, with an error.
void fail_consumed(const Engine& engine, const Qp& qp, const ReceiveOwner& owner,
                   std::uint16_t index, const WqeError& error);
/// Consumes all that are posted with flush errors.
void flush_receives(const Engine& engine, Qp& qp);

}  // namespace portcullis::model
