// SPDX-License-Identifier: BSD-3-Clause
//
// What of a lease a fence and a sweep name to the device.
#pragma once

#include <cstdint>

#include "base/dma_memory.hpp"
#include "lease/fence_step.hpp"
#include "pmd/gid.hpp"
#include "prm/numbers.hpp"
#include "steering/drop_rule.hpp"

namespace portcullis::lease {

struct FenceTarget {
  std::uint32_t slot = 0;
  prm::QpNumber qpn{};
  prm::MkeyIndex mkey_index{};
  prm::Rkey key{};  // with its variant, as a UMR names it; a secret
  prm::PdNumber pdn{};
  /// Leases that were granted together have a group, and in common what a shared step acts on.
  std::uint32_t group = 0;  // 0: alone
  prm::MkeyIndex tenant_mkey_index{};
  DmaMemory* region = nullptr;
  pmd::Gid client = {};                // where its packets come from
  std::uint16_t client_udp_sport = 0;  // as RoCE chooses it for these two QP numbers
  steering::EntryPlan entry = steering::EntryPlan::AtRevoke;  // as the grant prepared it
  /// Steps with nothing to act on: a failed grant never made the object. They count as done.
  StepMask absent = bit(Step::DestroyTenantKey) | bit(Step::RemoveDrop);
  /// Steps that cannot be taken: the object may exist, but the device never answered its number.
  /// They fail.
  StepMask unknown = 0;

  /// There is, or may be, what `steps` take back.
  void note_made(StepMask steps) noexcept { absent = static_cast<StepMask>(absent & ~steps); }
  [[nodiscard]] bool is_absent(Step step) const noexcept { return (absent & bit(step)) != 0; }
  [[nodiscard]] bool is_unknown(Step step) const noexcept { return (unknown & bit(step)) != 0; }
  [[nodiscard]] steering::DropTarget drop_target() const noexcept {
    return {.slot = slot,
            .qpn = qpn,
            .client = client,
            .client_udp_sport = client_udp_sport,
            .entry = entry};
  }
};

}  // namespace portcullis::lease
