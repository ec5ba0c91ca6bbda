// SPDX-License-Identifier: BSD-3-Clause
//
// The queues of one QP and their memory: one piece of the arena with the receive queue in front and
// the send queue behind it (rq.offset and sq.offset of _create_kernel_qp, mlx5_ib/qp.c), and one
// doorbell record for both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "pmd/receive_queue.hpp"
#include "pmd/send_queue.hpp"

namespace portcullis::pmd {

struct WorkQueueSizes {
  std::optional<std::uint32_t> log_send_blocks = 0;  // none: no send queue
  std::optional<std::uint32_t> log_receives;         // none: no receive queue
  std::uint32_t log_receive_pieces = 0;
};

class WorkQueues {
 public:
  [[nodiscard]] static Result<std::unique_ptr<WorkQueues>> create(DmaArena& arena,
                                                                  std::span<std::byte> uar_page,
                                                                  const WorkQueueSizes& asked);
  WorkQueues(const WorkQueues&) = delete;
  WorkQueues& operator=(const WorkQueues&) = delete;

  [[nodiscard]] SendQueue& send() noexcept { return send_; }
  [[nodiscard]] const SendQueue& send() const noexcept { return send_; }
  /// Null when the QP has none.
  [[nodiscard]] ReceiveQueue* receive() noexcept { return receive_.get(); }
  /// Most completions that can be outstanding: in error every WQE has one.
  [[nodiscard]] std::uint32_t completions() const noexcept {
    return send_.size_blocks() + (receive_ ? receive_->size() : 0);
  }
  /// Of the page that the queues begin.
  [[nodiscard]] Iova iova() const noexcept {
    return (bytes() != 0 ? memory_.iova() : record_.iova()) & ~Iova{kPageBytes - 1};
  }
  [[nodiscard]] Iova record_iova() const noexcept { return record_.iova(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return memory_.bytes().size(); }
  /// After 2RST_QP.
  void reset() noexcept;
  /// The device may use the memory for ever: it is never given back.
  void quarantine() noexcept;

 private:
  WorkQueues(DmaBuffer memory, DmaBuffer record, std::span<std::byte> uar_page,
             const WorkQueueSizes& sizes);

  DmaBuffer memory_;
  DmaBuffer record_;
  SendQueue send_;
  // Apart, for most QPs of a lease server have none, and a lease is to take little.
  std::unique_ptr<ReceiveQueue> receive_;
};

}  // namespace portcullis::pmd
