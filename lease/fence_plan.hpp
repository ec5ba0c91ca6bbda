// SPDX-License-Identifier: BSD-3-Clause
//
// Fence plans as data: which steps in which order. What the peer sees depends on the order alone: a
// QP in error answers with silence, and the requester spends its retry budget (status 12); a QP
// that still answers when the key is gone sends a remote-access NAK (status 10) in one round trip.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "lease/fence_step.hpp"

namespace portcullis::lease {

struct PlanStep {
  Step step = Step::ErrorQp;
  /// Wait before it, so that the QP answers what meets the dead key: linger_ms or until its
  /// access-error event, whichever comes first. Left out when DESTROY_MKEY failed.
  bool after_linger = false;
};

struct Plan {
  std::string_view name;
  std::span<const PlanStep> steps;
  /// PENDING_DESTROY and the sweep follow; otherwise the plan destroys everything itself.
  bool has_grace = true;
  Origin origin = Origin::Revoke;  // recorded when it fences

  [[nodiscard]] bool has(Step step) const noexcept;
};

/// 2ERR_QP, DESTROY_MKEY, DROP entry: silence.
[[nodiscard]] const Plan& seed_plan() noexcept;
/// DESTROY_MKEY, linger, 2ERR_QP: a remote-access NAK.
[[nodiscard]] const Plan& nak_first_plan() noexcept;
/// The synchronous path, which also undoes a failed grant: silence.
[[nodiscard]] const Plan& legacy_plan() noexcept;

[[nodiscard]] std::span<const Plan> plans() noexcept;
/// "seed, nak-first, legacy".
[[nodiscard]] std::string plan_names();
/// InvalidArgument names the value and the accepted ones.
[[nodiscard]] Result<Plan> parse_plan(std::string_view text);

/// The deferred phase before and after the QP's quarantine in RESET.
[[nodiscard]] std::span<const Step> reset_phase() noexcept;
[[nodiscard]] std::span<const Step> destroy_phase() noexcept;

/// True for a step whose failure does not change the outcome.
[[nodiscard]] constexpr bool is_best_effort(Step step) noexcept {
  return step == Step::InstallDrop;
}
/// True for a step that may only follow when every one before it that may not fail has succeeded:
/// what it gives back could still be in use otherwise.
[[nodiscard]] constexpr bool gives_back(Step step) noexcept {
  return step == Step::ResetQp || step == Step::DestroyQp || step == Step::DeallocPd ||
         step == Step::UnmapRegion;
}

}  // namespace portcullis::lease
