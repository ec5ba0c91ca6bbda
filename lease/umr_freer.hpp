// SPDX-License-Identifier: BSD-3-Clause
//
// Keys freed through the driver's UMR queue, for plan umr. A queue in error refuses, and the plan
// falls back to DESTROY_MKEY: recovering it takes commands for which a fence has no time, so that
// is for whoever owns the queue.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "lease/key_freer.hpp"
#include "pmd/umr_queue.hpp"

namespace portcullis::lease {

class UmrFreer final : public KeyFreer {
 public:
  /// `queue` must outlive it.
  explicit UmrFreer(pmd::UmrQueue& queue) noexcept : queue_(&queue) {}
  [[nodiscard]] Result<void> free_key(prm::Rkey key, std::uint64_t deadline_ns) override {
    return queue_->free_key(key, deadline_ns);
  }

 private:
  pmd::UmrQueue* queue_;
};

}  // namespace portcullis::lease
