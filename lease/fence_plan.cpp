// SPDX-License-Identifier: BSD-3-Clause
#include "lease/fence_plan.hpp"

#include <algorithm>
#include <array>

namespace portcullis::lease {
namespace {

constexpr std::array kSeedSteps{PlanStep{Step::ErrorQp}, PlanStep{Step::DestroyMkey},
                                PlanStep{Step::InstallDrop}};
constexpr std::array kNakFirstSteps{PlanStep{Step::DestroyMkey},
                                    PlanStep{Step::ErrorQp, /*after_linger=*/true}};
constexpr std::array kLegacySteps{PlanStep{Step::ErrorQp},   PlanStep{Step::DestroyMkey},
                                  PlanStep{Step::ResetQp},   PlanStep{Step::DestroyQp},
                                  PlanStep{Step::DeallocPd}, PlanStep{Step::UnmapRegion}};

constexpr std::array kPlans{
    Plan{"seed", kSeedSteps, true, Origin::Revoke},
    Plan{"nak-first", kNakFirstSteps, true, Origin::Revoke},
    Plan{"legacy", kLegacySteps, false, Origin::Legacy},
};

constexpr std::array kResetPhase{Step::RemoveDrop, Step::ResetQp};
constexpr std::array kDestroyPhase{Step::DestroyQp, Step::DeallocPd, Step::UnmapRegion};

}  // namespace

bool Plan::has(Step step) const noexcept {
  return std::any_of(steps.begin(), steps.end(),
                     [step](const PlanStep& planned) { return planned.step == step; });
}

const Plan& seed_plan() noexcept { return kPlans[0]; }
const Plan& nak_first_plan() noexcept { return kPlans[1]; }
const Plan& legacy_plan() noexcept { return kPlans[2]; }
std::span<const Plan> plans() noexcept { return kPlans; }

std::string plan_names() {
  std::string text;
  for (const Plan& plan : kPlans) {
    if (!text.empty()) text += ", ";
    text += plan.name;
  }
  return text;
}

Result<Plan> parse_plan(std::string_view text) {
  const auto* found = std::find_if(kPlans.begin(), kPlans.end(),
                                   [text](const Plan& plan) { return plan.name == text; });
  if (found == kPlans.end())
    return fail(Errc::InvalidArgument,
                "fence plan '" + std::string(text) + "'; accepted are " + plan_names());
  return *found;
}

std::span<const Step> reset_phase() noexcept { return kResetPhase; }
std::span<const Step> destroy_phase() noexcept { return kDestroyPhase; }

}  // namespace portcullis::lease
