// SPDX-License-Identifier: BSD-3-Clause
#include <portcullis/fence_plan.hpp>

#include "front/lease_values.hpp"
#include "front/one_line.hpp"
#include "lease/fence_plan.hpp"
#include "lease/fence_step.hpp"

namespace portcullis {

Result<FencePlan> FencePlan::parse(std::string_view name) {
  PORTCULLIS_TRY_ASSIGN(const lease::Plan plan, in_one_line(lease::parse_plan(name)));
  return FencePlan(plan.full_name());
}

std::vector<FencePlan> FencePlan::all() {
  std::vector<FencePlan> all;
  for (const auto list : {lease::plans(), lease::entry_plans()})
    for (const lease::Plan& plan : list) all.push_back(FencePlan(plan.full_name()));
  return all;
}

std::string FencePlan::steps() const {
  std::string text;
  for (const lease::PlanStep& planned : plan_of(*this).order_for(1))
    text += (text.empty() ? "" : ", ") + std::string(lease::name(planned.step));
  return text;
}

bool FencePlan::can_tear_down() const {
  return plan_of(*this).best_outcome() == lease::Outcome::TornDown;
}

bool FencePlan::is_for_any_lease() const {
  return plan_of(*this).entry == steering::EntryPlan::AtRevoke;
}

}  // namespace portcullis
