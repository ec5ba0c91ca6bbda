// SPDX-License-Identifier: BSD-3-Clause
#include "lease/fence_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace portcullis::lease {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

std::vector<Step> steps_of(const Plan& plan) {
  std::vector<Step> steps;
  for (const PlanStep& planned : plan.steps) steps.push_back(planned.step);
  return steps;
}

TEST(FencePlan, Seed_ErrorThenKeyThenDrop) {
  EXPECT_THAT(steps_of(seed_plan()),
              ElementsAre(Step::ErrorQp, Step::DestroyMkey, Step::InstallDrop));
  EXPECT_TRUE(seed_plan().has_grace);
}

TEST(FencePlan, NakFirst_KeyThenLingerThenError) {
  EXPECT_THAT(steps_of(nak_first_plan()), ElementsAre(Step::DestroyMkey, Step::ErrorQp));
  EXPECT_FALSE(nak_first_plan().steps[0].after_linger);
  EXPECT_TRUE(nak_first_plan().steps[1].after_linger);
}

TEST(FencePlan, Indirect_TenantsKeyOrElseOnesOwnThenLingerThenError) {
  EXPECT_THAT(steps_of(indirect_plan()),
              ElementsAre(Step::DestroyTenantKey, Step::DestroyMkey, Step::ErrorQp));
  EXPECT_TRUE(indirect_plan().steps[1].is_fallback);
  EXPECT_TRUE(indirect_plan().steps[2].after_linger);
}

TEST(FencePlan, Legacy_EverythingDestroyedAtOnce) {
  EXPECT_THAT(
      steps_of(legacy_plan()),
      ElementsAre(Step::ErrorQp, Step::DestroyMkey, Step::RemoveDrop, Step::ResetQp,
                  Step::DestroyQp, Step::DestroyTenantKey, Step::DeallocPd, Step::UnmapRegion));
  EXPECT_FALSE(legacy_plan().has_grace);
  EXPECT_EQ(legacy_plan().origin, Origin::Legacy);
}

TEST(FencePlan, EveryName_ParsesToItsPlan) {
  EXPECT_EQ(parse_plan("seed")->name, "seed");
  EXPECT_EQ(parse_plan("nak-first")->name, "nak-first");
  EXPECT_EQ(parse_plan("legacy")->name, "legacy");
  EXPECT_EQ(parse_plan("umr")->name, "umr");
  EXPECT_EQ(parse_plan("access-flags")->name, "access-flags");
  EXPECT_EQ(parse_plan("drop-only")->name, "drop-only");
  EXPECT_EQ(parse_plan("indirect")->name, "indirect");
}

TEST(FencePlan, OfANicThatItsKernelKeeps_AllButWhatNeedsAnUnmapUnderALiveKey) {
  std::vector<std::string> names = names_of_plans(/*is_kept=*/false);
  EXPECT_EQ(std::erase(names, "drop-only"), 1u);
  EXPECT_EQ(names_of_plans(/*is_kept=*/true), names);
  const auto refused = check_for_kept_nic(drop_only_plan());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::Unsupported);
  EXPECT_THAT(refused.error().text, StartsWith("plan drop-only proves the memory by an unmap"));
}

TEST(FencePlan, EntryPlans_AreSeedWithAnotherEntry) {
  EXPECT_EQ(parse_plan("allow-replace")->entry, steering::EntryPlan::AllowReplace);
  EXPECT_EQ(parse_plan("allow-modify+overlap")->entry, steering::EntryPlan::AllowModify);
  EXPECT_EQ(steps_of(*parse_plan("allow-replace")), steps_of(seed_plan()));
  EXPECT_EQ(parse_plan("allow-modify")->best_outcome(), Outcome::TornDown);
  EXPECT_EQ(seed_plan().entry, steering::EntryPlan::AtRevoke);
}

TEST(FencePlan, UnknownName_OneLineWithTheAcceptedOnes) {
  const auto plan = parse_plan("naked");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Errc::InvalidArgument);
  EXPECT_EQ(
      plan.error().text,
      "fence plan 'naked'; accepted are seed, nak-first, legacy, umr, access-flags, drop-only, "
      "indirect, allow-replace, allow-modify, underlay; all but drop-only also with +overlap");
}

TEST(FencePlan, Overlap_SameStepsIssuedTogetherAndNamedSo) {
  const auto plan = parse_plan("nak-first+overlap");
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->overlaps);
  EXPECT_EQ(plan->full_name(), "nak-first+overlap");
  EXPECT_THAT(steps_of(*plan), ElementsAre(Step::DestroyMkey, Step::ErrorQp));
}

TEST(FencePlan, OverlapOfOneStep_Refused) {
  const auto plan = parse_plan("drop-only+overlap");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().text,
            "fence plan 'drop-only+overlap': it has one step, which nothing can overlap");
}

TEST(FencePlan, OverlapAlone_Refused) { EXPECT_FALSE(parse_plan("+overlap")); }

TEST(FencePlan, DropOnly_AloneMayNeverAnswerTornDown) {
  std::vector<std::string_view> may_tear_down;
  for (const Plan& plan : plans())
    if (plan.best_outcome() == Outcome::TornDown) may_tear_down.push_back(plan.name);
  EXPECT_THAT(may_tear_down,
              ElementsAre("seed", "nak-first", "legacy", "umr", "access-flags", "indirect"));
}

TEST(FencePlan, KeyWithoutTheQpOrQpWithoutTheKey_MayNeverAnswerTornDown) {
  for (const Step alone : {Step::ErrorQp, Step::DestroyMkey}) {
    const PlanStep step{alone};
    EXPECT_EQ((Plan{.name = "one", .steps = {&step, 1}}.best_outcome()), Outcome::Fenced);
  }
}

TEST(FencePlan, SeedForMany_EveryKeyBeforeAnyQp) {
  const auto order = seed_plan().order_for(2);
  EXPECT_EQ(order[0].step, Step::DestroyMkey);
  EXPECT_EQ(order[1].step, Step::ErrorQp);
  EXPECT_EQ(order[2].step, Step::InstallDrop);
}

TEST(FencePlan, Phases_ResetThenDestroy) {
  EXPECT_THAT(reset_phase(), ElementsAre(Step::RemoveDrop, Step::ResetQp));
  EXPECT_THAT(destroy_phase(),
              ElementsAre(Step::DestroyQp, Step::DestroyMkey, Step::DestroyTenantKey,
                          Step::DeallocPd, Step::UnmapRegion));
}

TEST(FenceStep, BitsOfTheSeedPlan_ZeroOneTwo) {
  EXPECT_EQ(bit(Step::ErrorQp), 1);
  EXPECT_EQ(bit(Step::DestroyMkey), 2);
  EXPECT_EQ(bit(Step::InstallDrop), 4);
}

TEST(FenceStep, OutcomeCodes_AsOnTheWire) {
  EXPECT_EQ(static_cast<int>(Outcome::TornDown), 0);
  EXPECT_EQ(static_cast<int>(Outcome::Fenced), 1);
  EXPECT_EQ(static_cast<int>(Outcome::NotFound), 2);
}

TEST(FenceStep, MaskOfTwo_NamesOfBoth) {
  EXPECT_EQ(names(bit(Step::ErrorQp) | bit(Step::DestroyMkey)), "2ERR_QP|DESTROY_MKEY");
  EXPECT_EQ(names(0), "none");
}

TEST(Verdict, DegradedTornDown_DescribedInOneLine) {
  const Verdict verdict{.outcome = Outcome::TornDown,
                        .steering = SteeringState::Degraded,
                        .proof = Proof::Mkey,
                        .failed_mask = bit(Step::InstallDrop)};
  EXPECT_EQ(describe(verdict),
            "outcome=TornDown failed=SET_FLOW_TABLE_ENTRY steering=degraded memory=proved by "
            "DESTROY_MKEY");
}

}  // namespace
}  // namespace portcullis::lease
