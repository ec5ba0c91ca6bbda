// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/work_queues.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "pmd/queue_memory.hpp"

namespace portcullis::pmd {
namespace {

std::size_t send_bytes(const WorkQueueSizes& sizes) noexcept {
  return sizes.log_send_blocks ? prm::kSendWqeBlockBytes << *sizes.log_send_blocks : 0;
}

std::size_t receive_bytes(const WorkQueueSizes& sizes) noexcept {
  return sizes.log_receives
             ? prm::kWqeOctowordBytes << (*sizes.log_receives + sizes.log_receive_pieces)
             : 0;
}

/// A receive queue is at least a basic block, because the device finds the send queue right behind
/// it: it gets more WQEs than asked for (mlx5_calc_rq_size of rdma-core, set_rq_size of mlx5_ib).
WorkQueueSizes whole_blocks(WorkQueueSizes sizes) noexcept {
  while (sizes.log_receives && receive_bytes(sizes) < prm::kSendWqeBlockBytes)
    ++*sizes.log_receives;
  return sizes;
}

}  // namespace

Result<std::unique_ptr<WorkQueues>> WorkQueues::create(DmaArena& arena,
                                                       std::span<std::byte> uar_page,
                                                       const WorkQueueSizes& asked) {
  const WorkQueueSizes sizes = whole_blocks(asked);
  const std::size_t bytes = send_bytes(sizes) + receive_bytes(sizes);
  if (bytes > DmaArena::kBlockBytes)
    return fail(Errc::InvalidArgument, "queues of " + std::to_string(bytes) +
                                           " bytes together; at most " +
                                           std::to_string(DmaArena::kBlockBytes));
  // Without either queue CREATE_QP names a page all the same: the one that the doorbell record lies
  // in, for a page each is most of what a lease takes. That the device looks for nothing there is a
  // hypothesis for RC; create_xrc_tgt_qp of mlx5_ib/qp.c has neither queue, and names no page.
  DmaBuffer memory;
  if (bytes != 0) {
    PORTCULLIS_TRY_ASSIGN(memory, allocate_queue(arena, bytes));
  }
  PORTCULLIS_TRY_ASSIGN(DmaBuffer record, arena.allocate(prm::kDoorbellRecordBytes));
  return std::unique_ptr<WorkQueues>(
      new WorkQueues(std::move(memory), std::move(record), uar_page, sizes));
}

WorkQueues::WorkQueues(DmaBuffer memory, DmaBuffer record, std::span<std::byte> uar_page,
                       const WorkQueueSizes& sizes)
    : memory_(std::move(memory)),
      record_(std::move(record)),
      send_(memory_.bytes().subspan(receive_bytes(sizes), send_bytes(sizes)), record_.data(),
            uar_page, sizes.log_send_blocks) {
  if (sizes.log_receives)
    receive_ =
        std::make_unique<ReceiveQueue>(memory_.bytes().first(receive_bytes(sizes)), record_.data(),
                                       *sizes.log_receives, sizes.log_receive_pieces);
}

void WorkQueues::reset() noexcept {
  send_.reset();
  if (receive_) receive_->reset();
}

void WorkQueues::quarantine() noexcept {
  memory_.quarantine();
  record_.quarantine();
}

}  // namespace portcullis::pmd
