// SPDX-License-Identifier: BSD-3-Clause
//
// Queue pairs that are each their own peer, on one UAR and one completion queue, with a region that
// all of them read, write and receive into: what measures the data path by opcode, size and number
// of QPs. Frames leave and come back through the port as any others.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"
#include "proof/session.hpp"

namespace portcullis::bench {

/// What is measured: an opcode with a size.
struct Operation {
  const char* name;
  prm::WqeOpcode opcode;
  std::uint32_t bytes;
  bool is_inline = false;

  /// The peer must have posted a receive.
  [[nodiscard]] bool is_received() const noexcept {
    return opcode == prm::WqeOpcode::SEND || opcode == prm::WqeOpcode::RDMA_WRITE_IMM;
  }
};

class Lanes {
 public:
  /// Most of an operation's bytes.
  static constexpr std::uint32_t kMostBytes = 1 << 20;
  static constexpr std::uint32_t kMostInFlight = 64;  // a QP

  /// `count` QPs, with room for `in_flight` requests each, up to kMostInFlight, and as many
  /// receives.
  [[nodiscard]] static Result<std::unique_ptr<Lanes>> create(proof::Session& session,
                                                             std::uint32_t count,
                                                             std::uint32_t in_flight);

  [[nodiscard]] std::size_t size() const noexcept { return qps_.size(); }
  /// On QP `lane`, without its doorbell; a receive for it is posted and handed over first.
  [[nodiscard]] Result<void> post(std::size_t lane, const Operation& operation, std::uint64_t wr_id,
                                  bool is_signaled);
  void ring(std::size_t lane) noexcept { qps_[lane].ring(); }
  /// The next completion of a request, or none; those of receives are passed over. An error for a
  /// request that failed.
  [[nodiscard]] Result<std::optional<pmd::Completion>> poll(std::uint64_t until_ns);
  /// Waits for one.
  [[nodiscard]] Result<pmd::Completion> wait();

 private:
  Lanes(proof::Session& session, DmaMemory region, pmd::ProtectionDomain pd, pmd::MemoryKey key,
        pmd::CompletionQueue cq)
      : session_(&session),
        region_(std::move(region)),
        pd_(std::move(pd)),
        key_(std::move(key)),
        cq_(std::move(cq)) {}

  [[nodiscard]] Result<void> add(std::uint32_t log_requests);

  proof::Session* session_;
  DmaMemory region_;  // the near half, then the far half
  pmd::ProtectionDomain pd_;
  pmd::MemoryKey key_;
  pmd::CompletionQueue cq_;
  std::vector<pmd::QueuePair> qps_;
};

}  // namespace portcullis::bench
