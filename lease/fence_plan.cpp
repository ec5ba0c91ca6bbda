// SPDX-License-Identifier: BSD-3-Clause
#include "lease/fence_plan.hpp"

#include <fmt/format.h>

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

constexpr Plan kSeed{.name = "seed", .steps = kSeedSteps};
constexpr Plan kNakFirst{.name = "nak-first", .steps = kNakFirstSteps};
constexpr Plan kLegacy{
    .name = "legacy", .steps = kLegacySteps, .has_grace = false, .origin = Origin::Legacy};
constexpr Plan kUmr{.name = "umr", .steps = kUmrSteps};
constexpr Plan kAccessFlags{.name = "access-flags", .steps = kAccessFlagsSteps};
constexpr Plan kDropOnly{.name = "drop-only", .steps = kDropOnlySteps};
constexpr Plan kIndirect{.name = "indirect", .steps = kIndirectSteps};
constexpr std::array kPlans{kSeed, kNakFirst, kLegacy, kUmr, kAccessFlags, kDropOnly, kIndirect};
constexpr std::array kEntryPlans{
    Plan{.name = "allow-replace", .steps = kSeedSteps, .entry = steering::EntryPlan::AllowReplace},
    Plan{.name = "allow-modify", .steps = kSeedSteps, .entry = steering::EntryPlan::AllowModify},
    Plan{.name = "underlay", .steps = kSeedSteps, .entry = steering::EntryPlan::Underlay},
};

constexpr std::array kLadder{
    PlanStep{.step = Step::ErrorQp, .rung = Rung::QpNotInError},
    PlanStep{.step = Step::ClearRights, .rung = Rung::QpHasRights},
    PlanStep{.step = Step::UnmapRegion, .rung = Rung::Unproved},
    PlanStep{.step = Step::BusMasterOff, .rung = Rung::UnprovedMayReset},
    PlanStep{.step = Step::ResetFunction, .rung = Rung::BusMasterIsOff},
};
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

StepMask Plan::best_effort() const noexcept { return best_effort_steps(has_grace); }

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
    return fail(Errc::InvalidArgument,
                fmt::format("fence plan '{}{}': it has one step, which nothing can overlap", name,
                            kOverlap));
  Plan together = *this;
  together.overlaps = true;
  return together;
}

Result<void> check_for_kept_nic(const Plan& plan) {
  if (plan.has(Step::DestroyMkey) || plan.has(Step::FreeKey) || plan.has(Step::DestroyTenantKey))
    return {};
  return fail(
      Errc::Unsupported,
      fmt::format("plan {} proves the memory by an unmap under a live key, which a NIC that its "
                  "kernel driver keeps refuses; a plan that takes the key is accepted",
                  plan.full_name()));
}

std::vector<std::string> names_of_plans(bool is_kept) {
  std::vector<std::string> names;
  for (const Plan& plan : plans())
    if (!is_kept || check_for_kept_nic(plan)) names.emplace_back(plan.name);
  return names;
}

const Plan& seed_plan() noexcept { return kSeed; }
const Plan& nak_first_plan() noexcept { return kNakFirst; }
const Plan& legacy_plan() noexcept { return kLegacy; }
const Plan& umr_plan() noexcept { return kUmr; }
const Plan& access_flags_plan() noexcept { return kAccessFlags; }
const Plan& drop_only_plan() noexcept { return kDropOnly; }
const Plan& indirect_plan() noexcept { return kIndirect; }
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
  return fail(Errc::InvalidArgument,
              fmt::format("fence plan '{}'; accepted are {}; all but drop-only also with {}", text,
                          plan_names(), kOverlap));
}

std::span<const PlanStep> ladder() noexcept { return kLadder; }
std::span<const Step> reset_phase() noexcept { return kResetPhase; }
std::span<const Step> destroy_phase() noexcept { return kDestroyPhase; }

}  // namespace portcullis::lease
