// SPDX-License-Identifier: BSD-3-Clause
#include "lease/fence_plan.hpp"

#include <algorithm>
#include <array>

namespace portcullis::lease {
namespace {

constexpr std::string_view kOverlap = "+overlap";

constexpr std::array kSeedSteps{PlanStep{Step::ErrorQp}, PlanStep{Step::DestroyMkey},
                                PlanStep{Step::InstallDrop}};
constexpr std::array kNakFirstSteps{PlanStep{Step::DestroyMkey},
                                    PlanStep{Step::ErrorQp, /*after_linger=*/true}};
// An entry that stands from the grant on may be the QP's own root, so it goes before the QP.
constexpr std::array kLegacySteps{PlanStep{Step::ErrorQp},    PlanStep{Step::DestroyMkey},
                                  PlanStep{Step::RemoveDrop}, PlanStep{Step::ResetQp},
                                  PlanStep{Step::DestroyQp},  PlanStep{Step::DestroyTenantKey},
                                  PlanStep{Step::DeallocPd},  PlanStep{Step::UnmapRegion}};
constexpr std::array kUmrSteps{
    PlanStep{Step::FreeKey},
    PlanStep{Step::DestroyMkey, /*after_linger=*/false, /*is_fallback=*/true},
    PlanStep{Step::ErrorQp, /*after_linger=*/true}};
constexpr std::array kAccessFlagsSteps{PlanStep{Step::ClearRights},
                                       PlanStep{Step::DestroyMkey, /*after_linger=*/true},
                                       PlanStep{Step::ErrorQp}};
constexpr std::array kIndirectSteps{
    PlanStep{Step::DestroyTenantKey},
    PlanStep{Step::DestroyMkey, /*after_linger=*/false, /*is_fallback=*/true},
    PlanStep{Step::ErrorQp, /*after_linger=*/true}};
constexpr std::array kDropOnlySteps{PlanStep{Step::InstallDrop}};

constexpr std::array kPlans{
    Plan{"seed", kSeedSteps},
    Plan{"nak-first", kNakFirstSteps},
    Plan{"legacy", kLegacySteps, false, Origin::Legacy},
    Plan{"umr", kUmrSteps},
    Plan{"access-flags", kAccessFlagsSteps},
    Plan{"drop-only", kDropOnlySteps},
    Plan{"indirect", kIndirectSteps},
};
constexpr std::array kEntryPlans{
    Plan{.name = "allow-replace", .steps = kSeedSteps, .entry = steering::EntryPlan::AllowReplace},
    Plan{.name = "allow-modify", .steps = kSeedSteps, .entry = steering::EntryPlan::AllowModify},
    Plan{.name = "underlay", .steps = kSeedSteps, .entry = steering::EntryPlan::Underlay},
};

constexpr PlanStep rung(Step step) noexcept { return {.step = step, .is_rung = true}; }
constexpr std::array kLadder{rung(Step::ErrorQp), rung(Step::ClearRights), rung(Step::UnmapRegion),
                             rung(Step::BusMasterOff), rung(Step::ResetFunction)};
constexpr std::array kResetPhase{Step::RemoveDrop, Step::ResetQp};
constexpr std::array kDestroyPhase{Step::DestroyQp, Step::DestroyMkey, Step::DestroyTenantKey,
                                   Step::DeallocPd, Step::UnmapRegion};

}  // namespace

bool Plan::has(Step step) const noexcept {
  return std::any_of(steps.begin(), steps.end(),
                     [step](const PlanStep& planned) { return planned.step == step; });
}

Outcome Plan::best_outcome() const noexcept {
  return has(Step::ErrorQp) && has(Step::DestroyMkey) ? Outcome::TornDown : Outcome::Fenced;
}

StepMask Plan::best_effort() const noexcept {
  constexpr StepMask kAlways = bit(Step::InstallDrop) | bit(Step::ClearRights) | bit(Step::FreeKey);
  constexpr StepMask kSweptToo = kAlways | bit(Step::DestroyTenantKey);
  return has_grace ? kSweptToo : kAlways;
}

std::string Plan::full_name() const {
  std::string text(name);
  if (overlaps) text += kOverlap;
  return text;
}

std::vector<PlanStep> Plan::order_for(std::size_t leases) const {
  std::vector<PlanStep> order(steps.begin(), steps.end());
  const auto key = std::find_if(order.begin(), order.end(), [](const PlanStep& planned) {
    return planned.step == Step::DestroyMkey;
  });
  if (leases > 1 && key != order.end() && order.front().step == Step::ErrorQp)
    std::rotate(order.begin(), key, key + 1);
  if (overlaps)
    std::stable_partition(order.begin(), order.end(),
                          [](const PlanStep& planned) { return !planned.is_fallback; });
  return order;
}

Result<Plan> Plan::overlapped() const {
  if (steps.size() < 2)
    return fail(Errc::InvalidArgument, "fence plan '" + std::string(name) + std::string(kOverlap) +
                                           "': it has one step, which nothing can overlap");
  Plan together = *this;
  together.overlaps = true;
  return together;
}

const Plan& seed_plan() noexcept { return kPlans[0]; }
const Plan& nak_first_plan() noexcept { return kPlans[1]; }
const Plan& legacy_plan() noexcept { return kPlans[2]; }
const Plan& umr_plan() noexcept { return kPlans[3]; }
const Plan& access_flags_plan() noexcept { return kPlans[4]; }
const Plan& drop_only_plan() noexcept { return kPlans[5]; }
const Plan& indirect_plan() noexcept { return kPlans[6]; }
std::span<const Plan> plans() noexcept { return kPlans; }
std::span<const Plan> entry_plans() noexcept { return kEntryPlans; }

std::string plan_names() {
  std::string text;
  for (const auto list : {plans(), entry_plans()})
    for (const Plan& plan : list) text += (text.empty() ? "" : ", ") + std::string(plan.name);
  return text;
}

Result<Plan> parse_plan(std::string_view text) {
  std::string_view name = text;
  const bool overlaps = name.ends_with(kOverlap);
  if (overlaps) name.remove_suffix(kOverlap.size());
  for (const auto list : {plans(), entry_plans()})
    for (const Plan& plan : list)
      if (plan.name == name) return overlaps ? plan.overlapped() : plan;
  return fail(Errc::InvalidArgument, "fence plan '" + std::string(text) + "'; accepted are " +
                                         plan_names() + "; all but drop-only also with " +
                                         std::string(kOverlap));
}

std::span<const PlanStep> ladder() noexcept { return kLadder; }
std::span<const Step> reset_phase() noexcept { return kResetPhase; }
std::span<const Step> destroy_phase() noexcept { return kDestroyPhase; }

}  // namespace portcullis::lease
