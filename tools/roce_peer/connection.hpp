// SPDX-License-Identifier: BSD-3-Clause
//
// One end of an RC connection on our own driver: a QP with both queues, and memory that it sends
// from and receives into. What lease-verify has on libibverbs, and what ping-pong needs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"
#include "service/served_port.hpp"
#include "tools/lease_verify/requester.hpp"

namespace portcullis::tools::roce_peer {

class Connection final : public lease_verify::Requester {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
  static constexpr std::uint32_t kMtu = 1024;

  /// A QP in INIT, from `first_psn` on. `port` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<Connection>> create(service::ServedPort& port,
                                                                  std::uint32_t first_psn);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] service::exchange::Request request() const override;
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] Result<void> connect(const service::exchange::Grant& grant) override;
  [[nodiscard]] std::span<std::byte> buffer() noexcept override { return memory_.bytes(); }
  [[nodiscard]] Result<void> post(const lease_verify::Operation& operation) override;
  [[nodiscard]] Result<std::optional<lease_verify::WorkResult>> wait(
      std::uint64_t until_ns) override;
  [[nodiscard]] Clock clock() const override { return port_->clock(); }

  // Messages.
  [[nodiscard]] Result<void> post_send(std::size_t offset, std::size_t bytes);
  [[nodiscard]] Result<void> post_receive(std::size_t offset, std::size_t bytes);
  /// As wait(), of sends and receives, whole.
  [[nodiscard]] Result<std::optional<pmd::Completion>> wait_for_any(std::uint64_t until_ns);

 private:
  Connection(service::ServedPort& port, std::uint32_t first_psn, DmaMemory memory,
             pmd::ProtectionDomain pd, pmd::MemoryKey key, pmd::CompletionQueue cq,
             pmd::QueuePair qp)
      : port_(&port),
        first_psn_(first_psn),
        memory_(std::move(memory)),
        pd_(std::move(pd)),
        key_(std::move(key)),
        cq_(std::move(cq)),
        qp_(std::move(qp)) {}
  [[nodiscard]] pmd::GatherEntry piece(std::size_t offset, std::size_t bytes) const noexcept;

  service::ServedPort* port_;
  std::uint32_t first_psn_;
  DmaMemory memory_;
  pmd::ProtectionDomain pd_;
  pmd::MemoryKey key_;
  pmd::CompletionQueue cq_;
  pmd::QueuePair qp_;
  prm::Rkey rkey_{};
};

}  // namespace portcullis::tools::roce_peer
