// SPDX-License-Identifier: BSD-3-Clause
//
// What a slot of the lease table stands for outside the table: the objects of one lease, and the
// fence while one runs on it, alone or in a batch. The handles of PD, key and QP are released once
// the grant is through, so that nothing but a plan ever takes them back; what is left here keeps
// their memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/dma_memory.hpp"
#include "lease/fence.hpp"
#include "lease/fence_target.hpp"
#include "lease/region_store.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/queue_pair.hpp"

namespace portcullis::lease {

/// A fence that has begun, with the slots it runs on. Whoever waits for it shares it, since it may
/// end in any call that lets it go on.
struct RunningFence {
  Fence fence;
  std::vector<std::uint32_t> slots;
  std::vector<Verdict> verdicts = {};  // of the slots' order, once it has ended
  bool has_ended = false;
};

struct Holding {
  TenantId tenant = 0;
  FenceTarget target;
  std::optional<DmaMemory> region;
  std::optional<pmd::QueuePair> qp;
  std::shared_ptr<RunningFence> fence;
  pmd::CompletionQueue* receives = nullptr;  // where they complete; null: it was granted without
  bool has_flow_entry = false;               // put there, or perhaps, when the lease was granted
  /// From the fence on, how long the QP number may not come back: what the client's retry budget
  /// allows it to send, in the longest reading of the standard.
  std::uint64_t quarantine_ns = 0;

  /// Tells the objects what the device does not hold any more.
  void confirm(StepMask done) noexcept {
    if (!qp) return;
    if ((done & bit(Step::ResetQp)) != 0) qp->confirm_reset();
    if ((done & bit(Step::DestroyQp)) != 0) qp->confirm_destroyed();
  }
};

}  // namespace portcullis::lease
