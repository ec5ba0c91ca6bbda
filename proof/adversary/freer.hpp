// SPDX-License-Identifier: BSD-3-Clause
//
// The UMR queue as the lease code sees it in a run: what ProofChannel is to commands.
#pragma once

#include <cstdint>

#include "lease/key_freer.hpp"
#include "pmd/umr_queue.hpp"
#include "proof/adversary/deceit.hpp"

namespace portcullis::proof::adversary {

class ProofFreer final : public lease::KeyFreer {
 public:
  /// Both must outlive it.
  ProofFreer(pmd::UmrQueue& queue, Deceit& deceit) noexcept : queue_(&queue), deceit_(&deceit) {}

  [[nodiscard]] Result<void> free_key(prm::Rkey key, std::uint64_t deadline_ns) override;

 private:
  [[nodiscard]] Result<void> answer(prm::Rkey key, std::uint64_t deadline_ns);

  pmd::UmrQueue* queue_;
  Deceit* deceit_;
};

}  // namespace portcullis::proof::adversary
