// SPDX-License-Identifier: BSD-3-Clause
//
// What a slot of the lease table stands for outside the table: the objects of one lease, and the
// fence while one runs. The handles of PD, key and QP are released once the grant is through, so
// that nothing but a plan ever takes them back; what is left here keeps their memory.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dma_memory.hpp"
#include "lease/fence.hpp"
#include "lease/fence_target.hpp"
#include "pmd/queue_pair.hpp"

namespace portcullis::lease {

struct Tenant {
  FenceTarget target;
  std::optional<DmaMemory> region;
  std::optional<pmd::QueuePair> qp;
  std::optional<Fence> fence;
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
