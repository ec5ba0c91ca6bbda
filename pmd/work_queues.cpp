// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/work_queues.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "pmd/queue_memory.hpp"

namespace portcullis::pmd {
namespace {

std::size_t send_bytes(const WorkQueueSizes& sizes) noexcept {
  return prm::kSendWqeBlockBytes << sizes.log_send_blocks;
}

/// Whole basic blocks, so that the send queue behind it stays aligned (mlx5_calc_rq_size).
std::size_t receive_bytes(const WorkQueueSizes& sizes) noexcept {
  if (!sizes.log_receives) return 0;
  const std::size_t bytes = prm::kWqeOctowordBytes
                            << (*sizes.log_receives + sizes.log_receive_pieces);
  return std::max(bytes, prm::kSendWqeBlockBytes);
}

}  // namespace

Result<std::unique_ptr<WorkQueues>> WorkQueues::create(DmaArena& arena,
                                                       std::span<std::byte> uar_page,
                                                       const WorkQueueSizes& sizes) {
  const std::size_t bytes = send_bytes(sizes) + receive_bytes(sizes);
  if (bytes > DmaArena::kBlockBytes)
    return fail(Errc::InvalidArgument, "queues of " + std::to_string(bytes) +
                                           " bytes together; at most " +
                                           std::to_string(DmaArena::kBlockBytes));
  PORTCULLIS_TRY_ASSIGN(DmaBuffer memory, allocate_queue(arena, bytes));
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
    receive_.emplace(memory_.bytes().first(receive_bytes(sizes)), record_.data(),
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
