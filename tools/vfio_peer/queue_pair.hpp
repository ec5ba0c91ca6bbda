// SPDX-License-Identifier: BSD-3-Clause
//
// Completion queues and RC queue pairs by raw DevX commands, in umems, and the RDMA WRITEs on them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "prm/cqe.hpp"
#include "tools/vfio_peer/device.hpp"
#include "tools/vfio_peer/port.hpp"

namespace portcullis::tools::vfio_peer {

/// One completion of a requester.
struct Completion {
  prm::WcStatus status = prm::WcStatus::SUCCESS;
  std::uint16_t wqe = 0;  // index of its WQE
};

class CompletionQueue {
 public:
  static constexpr std::uint32_t kLogEntries = 7;

  [[nodiscard]] static Result<std::unique_ptr<CompletionQueue>> create(Device& device,
                                                                       std::uint32_t eqn);
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  [[nodiscard]] std::uint32_t number() const noexcept { return cqn_; }
  [[nodiscard]] std::optional<Completion> poll();
  /// Timeout when none comes within `timeout_ms`. Serves the provider's events meanwhile.
  [[nodiscard]] Result<Completion> wait(std::uint32_t timeout_ms);
  /// Asks for an event at the next completion; `event` counts those that came.
  void arm(std::uint32_t event) const noexcept;

 private:
  explicit CompletionQueue(Device& device);
  [[nodiscard]] std::byte* record(std::size_t dword) const noexcept;

  Device* device_;
  Memory memory_;  // the entries, then the doorbell record
  Owned<mlx5dv_devx_umem> umem_;
  std::uint32_t cqn_ = 0;
  std::uint32_t consumer_ = 0;
};

/// What an RDMA WRITE moves.
struct Write {
  std::uint64_t from = 0;
  std::uint32_t lkey = 0;
  std::uint64_t to = 0;
  std::uint32_t rkey = 0;
  std::uint32_t bytes = 0;
};

class QueuePair {
 public:
  static constexpr std::uint32_t kLogBlocks = 6;
  // 4.096 us * 2^12 = 16.8 ms, four times: silence is noticed after 67 ms.
  static constexpr std::uint32_t kAckTimeout = 12;
  static constexpr std::uint32_t kRetryCount = 3;

  /// In RESET. `completions` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<QueuePair>> create(
      Device& device, const CompletionQueue& completions);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  [[nodiscard]] std::uint32_t number() const noexcept { return qpn_; }
  /// RESET to RTS, answering and sending to `remote` of the same port.
  [[nodiscard]] Result<void> connect(const Port& port, std::uint32_t remote);
  /// 2ERR_QP.
  [[nodiscard]] Result<void> to_error();
  /// 2RST_QP.
  [[nodiscard]] Result<void> to_reset();
  /// Posts a signaled WRITE; the caller leaves room.
  void post(const Write& write);

 private:
  explicit QueuePair(Device& device);
  [[nodiscard]] Result<void> receive_from(const Port& port, std::uint32_t remote);
  [[nodiscard]] Result<void> send_to();

  Device* device_;
  Memory memory_;  // the send queue, then the doorbell record
  Owned<mlx5dv_devx_umem> umem_;
  std::uint32_t qpn_ = 0;
  std::uint16_t producer_ = 0;
};

}  // namespace portcullis::tools::vfio_peer
