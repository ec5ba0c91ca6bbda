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
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/dma_memory.hpp"
#include "lease/fence.hpp"
#include "lease/fence_target.hpp"
#include "lease/region_store.hpp"
#include "lease/step_table.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/queue_pair.hpp"
#include "prm/numbers.hpp"

namespace portcullis::lease {

class FenceQueue;

/// A fence that has begun, with the slots it runs on. Whoever waits for it shares it, since it may
/// end in any call that lets it go on.
struct RunningFence {
  RunningFence(Fence the_fence, std::vector<std::uint32_t> the_slots)
      : fence(std::move(the_fence)), slots(std::move(the_slots)) {}

  Fence fence;
  std::vector<std::uint32_t> slots;
  std::unordered_map<prm::QpNumber, std::size_t> by_qpn = {};  // which of the slots
  std::uint64_t busy_ns = 0;                                   // in calls that let it go on
  bool is_midway = false;                                      // the device has a command of it
  bool is_late = false;  // ran out of time while somebody waited for it
  bool has_ended = false;
};

/// Leases that were granted together share a protection domain and the indirect key that their
/// peers use. The key goes with the last lease that is ACTIVE, the domain with the last slot.
struct Group {
  std::uint32_t id = 0;
  std::uint32_t members = 0;  // slots that are not FREE again
  std::uint32_t active = 0;   // that nobody has begun to revoke
  bool is_key_gone = false;
  std::vector<prm::Rkey> entries = {};  // keys that the tenant's key names, while it is there
};

struct Holding {
  TenantId tenant = 0;
  FenceTarget target;
  std::shared_ptr<Group> group;  // null: granted alone
  std::optional<DmaMemory> region;
  std::optional<pmd::QueuePair> qp;
  std::shared_ptr<RunningFence> fence;
  FenceQueue* waits_in = nullptr;            // REVOKING, and its fence has not begun
  pmd::CompletionQueue* receives = nullptr;  // where they complete; null: it was granted without
  /// From the fence on, how long the QP number may not come back (lease/number_rest.hpp).
  std::uint64_t quarantine_ns = 0;

  /// The sweep has nothing to do there: the object is gone, or others of the group still need it.
  [[nodiscard]] bool is_left_out(Step step) const noexcept {
    if (target.is_absent(step)) return true;
    if (!group || !row(step).is_shared) return false;
    return group->members > 1 || (step == Step::DestroyTenantKey && group->is_key_gone);
  }
  /// Tells the objects what the device does not hold any more.
  void confirm(StepMask done) noexcept {
    if (!qp) return;
    if ((done & bit(Step::ResetQp)) != 0) qp->confirm_reset();
    if ((done & bit(Step::DestroyQp)) != 0) qp->confirm_destroyed();
  }
};

}  // namespace portcullis::lease
