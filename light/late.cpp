// SPDX-License-Identifier: BSD-3-Clause
#include "light/late.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.hpp"
#include "lease/fence_plan.hpp"

namespace portcullis::light {
namespace {

KeyStep key_step_of(const lease::PlanStep& step) {
  if (step.step == lease::Step::DestroyMkey) return KeyStep::Destroy;
  if (step.step == lease::Step::FreeKey) return KeyStep::Umr;
  return step.step == lease::Step::DestroyTenantKey ? KeyStep::DestroyAll : KeyStep::None;
}

/// A name that is no plan's has no key step.
void take_plan(const std::string& name, LateRegions& late) {
  const auto plan = lease::parse_plan(name);
  if (!plan) return;
  for (const lease::PlanStep& step : plan->steps) {
    late.key_step = key_step_of(step);
    if (late.key_step != KeyStep::None) return;
    late.is_silenced_first |= step.step == lease::Step::ErrorQp;
  }
}

/// Plans and floors alike. Each revoke that was not TornDown may have been among the late ones.
template <class Fact>
LateRegions late_of(const Fact& fact, const std::string& where, const std::string& plan,
                    std::uint64_t revokes) {
  LateRegions late{.where = where, .late = fact.served_late};
  const std::uint64_t others = revokes - std::min(revokes, fact.torn_down);
  late.surely_torn_down = late.late - std::min(late.late, others);
  late.last_change_ns = fact.last_change_ns;
  late.late_ns = fact.late_ns;
  take_plan(plan, late);
  return late;
}

void add(const PlanFact& plan, std::string_view beside, std::vector<LateRegions>& to) {
  if (plan.served_late == 0) return;
  to.push_back(late_of(plan, fmt::format("plan {}{}", plan.plan, beside), plan.plan, plan.revokes));
  to.back().regions = plan.watched;
}

/// Each of its clients is revoked by plan seed.
void add(const FloorFact& floor, const std::string& where, std::vector<LateRegions>& to) {
  if (floor.served_late == 0) return;
  const std::uint64_t revokes = floor.points + floor.other_endings;
  to.push_back(late_of(floor, where, "seed", revokes));
  to.back().regions = revokes;
}

}  // namespace

bool LateRegions::is_served(std::uint64_t path_ns) const noexcept {
  constexpr std::uint64_t kPacketNs = 200 * kNsPerUs;
  return late_ns > std::max(kPacketNs, 2 * path_ns);
}

std::vector<LateRegions> late_regions(const Facts& facts) {
  constexpr std::string_view kAtPeer = " with a client on another host";
  std::vector<LateRegions> all;
  for (const PlanFact& plan : facts.plans) add(plan, "", all);
  add(facts.floor, "step floor", all);
  const auto here = static_cast<std::ptrdiff_t>(all.size());
  for (const PlanFact& plan : facts.peer.plans) add(plan, kAtPeer, all);
  add(facts.peer.floor, fmt::format("the floor{}", kAtPeer), all);
  std::for_each(all.begin() + here, all.end(), [](LateRegions& late) { late.is_at_peer = true; });
  return all;
}

std::string text_of(const LateRegions& late) {
  return fmt::format("{}: {} of {} regions changed after the outcome", late.where, late.late,
                     late.regions);
}

}  // namespace portcullis::light
