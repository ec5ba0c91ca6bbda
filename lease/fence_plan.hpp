// SPDX-License-Identifier: BSD-3-Clause
//
// Fence plans as data: which steps in which order. What the peer sees depends on the order alone: a
// QP in error answers with silence, and the requester spends its retry budget (status 12); a QP
// that still answers when the key is gone sends a remote-access NAK (status 10) in one round trip.
//
//   plan          steps                                       answers            the peer sees
//   seed          2ERR_QP, DESTROY_MKEY, DROP entry           TornDown, Fenced   silence
//   nak-first     DESTROY_MKEY, linger, 2ERR_QP               TornDown, Fenced   NAK, status 10
//   legacy        2ERR_QP, DESTROY_MKEY, then everything      TornDown, Fenced   silence
//                 is destroyed; no GRACE
//   umr           UMR (DESTROY_MKEY if that fails), linger,   TornDown, Fenced   NAK, status 10
//                 2ERR_QP
//   indirect      DESTROY_MKEY of the key by which all        TornDown, Fenced   NAK, status 10
//                 leases of the tenant are reached (of
//                 their own if that fails), linger,
//                 2ERR_QP
//   access-flags  RTS2RTS without rights, linger,             TornDown, Fenced   NAK, status 9
//                 DESTROY_MKEY, 2ERR_QP
//   drop-only     DROP entry; the ladder does the rest        Fenced             silence
//
// Three plans take the steps of seed and have the entry stand from the grant on, as ALLOW:
// allow-replace deletes it and sets a DROP, allow-modify modifies it to DROP (the floor document,
// section 5, option b);
// underlay has it in a table of the QP's own and makes it forward to nowhere (option c).
//
// With "+overlap" the commands are issued together; what the peer sees is a matter of luck then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "lease/fence_step.hpp"
#include "lease/step_table.hpp"
#include "steering/drop_rule.hpp"

namespace portcullis::lease {

/// When a step of the ladder is taken, for a lease that is not TornDown by then.
enum class Rung : std::uint8_t {
  None,          // it is of the plan, and no rung
  QpNotInError,  // 2ERR_QP has not succeeded
  QpHasRights,   // the same, and the QP still has rights: in error it refuses RTS2RTS, needs none
  Unproved,      // the memory is not proved out of reach
  UnprovedMayReset,  // the same, and the function may be reset for it
  BusMasterIsOff,
};

struct PlanStep {
  Step step = Step::ErrorQp;
  /// Wait before it, so that the QP answers what meets the dead key: linger_ms or until its
  /// access-error event, whichever comes first. Left out when nothing before it made the QP refuse.
  bool after_linger = false;
  /// Left out when a step before it has proved the memory.
  bool is_fallback = false;
  /// Of the ladder, behind the plan.
  Rung rung = Rung::None;

  [[nodiscard]] bool is_rung() const noexcept { return rung != Rung::None; }
};

struct Plan {
  std::string_view name;  // without "+overlap"
  std::span<const PlanStep> steps;
  /// PENDING_DESTROY and the sweep follow; otherwise the plan destroys everything itself.
  bool has_grace = true;
  Origin origin = Origin::Revoke;  // recorded when it fences
  bool overlaps = false;           // commands are issued together
  /// How the entry of its DROP step comes about. What that takes at the grant is done where this is
  /// the plan of the manager's options.
  steering::EntryPlan entry = steering::EntryPlan::AtRevoke;

  [[nodiscard]] bool has(Step step) const noexcept;
  /// The best it may answer: TornDown only for a plan that silences the QP and kills the key.
  [[nodiscard]] Outcome best_outcome() const noexcept;
  /// Steps whose failure alone does not change the outcome: nothing rests on them, or the sweep
  /// takes them again.
  [[nodiscard]] StepMask best_effort() const noexcept;
  /// Made for leases that were granted together.
  [[nodiscard]] bool is_for_groups() const noexcept {
    return steps.front().step == Step::DestroyTenantKey;
  }
  /// "nak-first+overlap".
  [[nodiscard]] std::string full_name() const;
  /// The steps in their order for so many leases: of a batch no QP is silenced before every key is
  /// dead; where commands overlap, what a plan falls back to comes last.
  [[nodiscard]] std::vector<PlanStep> order_for(std::size_t leases) const;
  /// The same plan with its commands issued together. InvalidArgument where there is only one.
  [[nodiscard]] Result<Plan> overlapped() const;
};

[[nodiscard]] const Plan& seed_plan() noexcept;
[[nodiscard]] const Plan& nak_first_plan() noexcept;
/// Also undoes a failed grant.
[[nodiscard]] const Plan& legacy_plan() noexcept;
[[nodiscard]] const Plan& umr_plan() noexcept;
[[nodiscard]] const Plan& access_flags_plan() noexcept;
/// For leases granted together; what has no key of its tenant loses its own.
[[nodiscard]] const Plan& indirect_plan() noexcept;
[[nodiscard]] const Plan& drop_only_plan() noexcept;

/// Where its kernel driver keeps the NIC (docs/devx.md). Unsupported for a plan whose only proof is
/// an unmap under a live key: the device refuses to give up memory that a key lies in.
[[nodiscard]] Result<void> check_for_kept_nic(const Plan& plan);

/// Names of the plans that differ in their steps; of a kept NIC those that are to be had there.
[[nodiscard]] std::vector<std::string> names_of_plans(bool is_kept);

/// Those that differ in their steps.
[[nodiscard]] std::span<const Plan> plans() noexcept;
/// Those that are seed with an entry that stands from the grant on.
[[nodiscard]] std::span<const Plan> entry_plans() noexcept;
/// "seed, nak-first, legacy, ..": all of both.
[[nodiscard]] std::string plan_names();
/// NAME or NAME+overlap. InvalidArgument names the value and the accepted ones.
[[nodiscard]] Result<Plan> parse_plan(std::string_view text);

/// What follows a plan for a lease that is not TornDown by it: rungs 2 to 4 of lease/fence.hpp.
[[nodiscard]] std::span<const PlanStep> ladder() noexcept;
/// The deferred phase before and after the QP's quarantine in RESET.
[[nodiscard]] std::span<const Step> reset_phase() noexcept;
[[nodiscard]] std::span<const Step> destroy_phase() noexcept;

}  // namespace portcullis::lease
