// SPDX-License-Identifier: BSD-3-Clause
//
// Two connected queue pairs of one function and a word that the first may write through the second:
// what a self-test asks whether packets still arrive, and a bench how fast.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/context.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"
#include "prm/numbers.hpp"
#include "steering/drop_rule.hpp"

namespace portcullis::steering {

/// To RTS, each the other's peer, with the right to be written to: 67 ms, and seven retries.
[[nodiscard]] Result<void> connect_pair(pmd::QueuePair& requester, pmd::QueuePair& responder,
                                        const pmd::RocePath& path,
                                        prm::QpcMtu mtu = prm::QpcMtu::MTU_1024);

class LoopbackPair {
 public:
  struct Options {
    std::optional<prm::QpcMtu> mtu = {};  // none: 1024, or less where the port's frames are short
    bool key_names_qp = false;            // mkc.qpn is the responder's number
  };
  /// `path` leads from the port to itself. `context` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<LoopbackPair>> create(const pmd::Context& context,
                                                                    const pmd::RocePath& path,
                                                                    const Options& options);
  [[nodiscard]] static Result<std::unique_ptr<LoopbackPair>> create(const pmd::Context& context,
                                                                    const pmd::RocePath& path) {
    return create(context, path, {});
  }
  /// The responder, as an entry at `index` names it.
  [[nodiscard]] DropTarget target(std::uint32_t index) const noexcept;
  /// Posts a WRITE of `value` in one packet, and does not wait.
  [[nodiscard]] Result<void> post(std::uint64_t value);
  /// Posts a WRITE of `bytes`, at most the region's 16 KiB: several packets of the path's MTU.
  [[nodiscard]] Result<void> post_bytes(std::uint32_t bytes);
  /// How the oldest WRITE ended; none while it has not ended `within_ns`.
  [[nodiscard]] Result<std::optional<prm::WcStatus>> outcome(std::uint64_t within_ns);
  /// For whoever posts and polls by itself: WRITEs of requester(), from address 0 on under rkey().
  [[nodiscard]] pmd::QueuePair& requester() noexcept { return requester_; }
  [[nodiscard]] pmd::CompletionQueue& cq() noexcept { return cq_; }
  [[nodiscard]] prm::Rkey rkey() const noexcept { return key_.rkey(); }
  /// The word, as the CPU sees it.
  [[nodiscard]] std::uint64_t word() const noexcept;

 private:
  LoopbackPair(const pmd::Context& context, const pmd::RocePath& path, DmaMemory region,
               pmd::ProtectionDomain pd, pmd::MemoryKey key, pmd::CompletionQueue cq,
               pmd::QueuePair requester, pmd::QueuePair responder);

  const pmd::Context* context_;
  pmd::RocePath path_;
  DmaMemory region_;
  pmd::ProtectionDomain pd_;
  pmd::MemoryKey key_;
  pmd::CompletionQueue cq_;
  pmd::QueuePair requester_;
  pmd::QueuePair responder_;
};

}  // namespace portcullis::steering
