// SPDX-License-Identifier: BSD-3-Clause
//
// The fence under an adversary: nothing is touched after an outcome, and whatever is broken on
// purpose is found.
#include "proof/adversary/proof.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <numeric>
#include <set>
#include <string_view>

#include "tools/fence_proof/report.hpp"

namespace portcullis::proof::adversary {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tools::fence_proof::describe;

ProofOptions options(std::uint64_t runs, Mutant mutant = Mutant::None) {
  return {.runs = runs, .plans = provable_plans(), .mutant = mutant};
}

TEST(FenceProof, EveryPlanUnderTheAdversary_NothingIsTouchedAfterItsOutcome) {
  const auto report = prove(options(120));
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->violations, 0u) << describe(*report->first);
  EXPECT_TRUE(report->is_shown()) << describe(*report);
  const OperationCounts& posted = report->posted;
  const auto operations = std::accumulate(posted.begin(), posted.end(), std::uint64_t{0});
  EXPECT_GE(operations, 300u * report->runs);
  EXPECT_GT(report->touched, operations);
}

TEST(FenceProof, Receives_NoOperationWaitsForRoom) {
  const auto report = prove(options(20));
  ASSERT_TRUE(report) << report.error().text;
  for (std::size_t i = 0; i < kOperations.size(); ++i)
    EXPECT_GT(2 * report->succeeded[i], report->posted[i]) << kOperations[i].name;
}

TEST(FenceProof, CommandsThatSucceed_EveryRevokeIsTornDown) {
  for (const lease::Plan& plan : provable_plans()) {
    const auto result = run({.seed = 48, .plan = plan});
    ASSERT_TRUE(result) << result.error().text;
    EXPECT_GE(result->torn_down, 2u) << plan.full_name();
    EXPECT_EQ(result->fenced, 0u) << plan.full_name();
  }
}

TEST(FenceProof, LeasesGrantedTogether_AreTakenBackByEveryPlan) {
  for (const lease::Plan& plan : provable_plans()) {
    const RunSpec spec{.seed = 17, .plan = plan};
    ASSERT_TRUE(are_together(spec));
    const auto result = run(spec);
    ASSERT_TRUE(result) << result.error().text;
    EXPECT_GE(result->torn_down, 2u) << plan.full_name();
    EXPECT_FALSE(result->violation) << plan.full_name();
  }
}

TEST(FenceProof, PlansWithAnEntryFromTheGrant_EveryOutcomeHasIt) {
  for (const char* name : {"allow-replace", "allow-modify", "underlay"}) {
    const auto result = run({.seed = 48, .plan = lease::parse_plan(name).value()});
    ASSERT_TRUE(result) << result.error().text;
    EXPECT_EQ(result->steered, result->torn_down) << name;
  }
}

TEST(FenceProof, PlanSeed_WithItsDropEntryAndWithout) {
  const auto report = prove({.runs = 20, .plans = {lease::seed_plan()}});
  ASSERT_TRUE(report) << report.error().text;
  const PlanTally& seed = report->plans.front();
  EXPECT_GT(seed.steered, 10u);
  EXPECT_GT(seed.torn_down + seed.fenced - seed.steered, 10u);
}

TEST(FenceProof, CommandsThatFail_FenceAndProveTheMemoryAllTheSame) {
  const auto report =
      prove({.runs = 1, .first_seed = 5, .plans = {lease::seed_plan()}, .mutant = Mutant::None});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->plans.front().fenced, 1u);
  EXPECT_EQ(report->plans.front().unproved, 0u);
  EXPECT_EQ(report->violations, 0u);
}

TEST(FenceProof, RegionsThatCannotBeUnmapped_AreUnprovedAndNothingElseIs) {
  const auto report = prove(options(360));
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->violations, 0u) << describe(*report->first);
  std::uint64_t unproved = 0;
  for (const PlanTally& plan : report->plans) unproved += plan.unproved;
  EXPECT_GT(unproved, 0u);
  EXPECT_THAT(describe(*report),
              HasSubstr("what became of " + std::to_string(unproved) + " regions"));
}

TEST(FenceProof, RevokesThatJoin_AreAnsweredWhenTheOutcomeStands) {
  const auto report = prove({.runs = 20, .plans = {lease::access_flags_plan()}});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_GT(report->joined, 0u);
  EXPECT_EQ(report->violations, 0u) << describe(*report->first);
}

TEST(FenceProof, NeighboursThatReachOver_FindNothingOfTheNextTenant) {
  const auto report = prove({.runs = 60, .plans = {lease::indirect_plan()}});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_GT(report->reached_over, 0u);
  EXPECT_EQ(report->violations, 0u) << describe(*report->first);
}

TEST(FenceProof, LeasesDrained_NothingIsTouchedAfterTheirOutcomes) {
  const auto report = prove(options(160));
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_GT(report->drained, 10u);
  EXPECT_EQ(report->violations, 0u) << describe(*report->first);
  EXPECT_THAT(describe(*report), HasSubstr(std::to_string(report->drained) + " leases ended by"));
}

TEST(FenceProof, KernelThatAnswersForTheDevice_ProvesNothingByThat) {
  const auto report = prove(options(160));
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_GT(report->faked, 10u);
  EXPECT_EQ(report->violations, 0u) << describe(*report->first);
  EXPECT_THAT(describe(*report), HasSubstr(std::to_string(report->faked) + " commands of fences"));
}

TEST(FenceProof, KernelThatIsBelieved_TheRegionIsTouchedAfterTornDown) {
  const auto report =
      prove({.runs = 40, .plans = {lease::seed_plan()}, .mutant = Mutant::FakeBelieved});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_GT(report->violations, 5u);
  EXPECT_GT(report->plans.front().torn_down, 5u);
}

TEST(FenceProof, RestOfANumber_IsNowGraceAndNowTheRetryBudget) {
  const auto report = prove(options(20));
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_GT(report->long_grace, 0u);
  EXPECT_LT(report->long_grace, report->runs);
}

TEST(FenceProof, GraceLeftOut_TheQpIsResetEarlyInEveryRun) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto result = run({.seed = seed, .mutant = Mutant::NoGrace});
    ASSERT_TRUE(result && result->objection) << seed;
    EXPECT_EQ(result->objection->kind, Violation::Kind::ResetEarly) << seed;
  }
}

TEST(FenceProof, RetryBudgetLeftOut_TheNumberComesBackEarlyWhereGraceIsShorter) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RunSpec spec{.seed = seed, .mutant = Mutant::NoQuarantine};
    const auto result = run(spec);
    ASSERT_TRUE(result) << result.error().text;
    EXPECT_EQ(result->objection.has_value(), !outlasts_budget(spec)) << seed;
  }
}

TEST(FenceProof, Shown_SaysWhatLuckItNeedsAndWhatNobodyLookedAt) {
  const auto report = prove(options(120));
  ASSERT_TRUE(report) << report.error().text;
  const std::string text = describe(*report);
  EXPECT_THAT(text, HasSubstr("luck that he is not granted"));
  EXPECT_THAT(text, HasSubstr("at once in plan legacy, which has no rest"));
  EXPECT_THAT(text, HasSubstr("nobody looked at\n  - a card"));
}

TEST(FenceProof, Threads_ComeToTheSameAsOne) {
  ProofOptions two = options(20);
  two.jobs = 2;
  const auto alone = prove(options(20));
  const auto together = prove(two);
  ASSERT_TRUE(alone && together);
  EXPECT_EQ(alone->touched, together->touched);
  EXPECT_EQ(alone->occupied, together->occupied);
}

TEST(FenceProof, Stopped_TellsHowFarItCameAndShowsNothing) {
  const std::atomic<bool> stop = true;
  ProofOptions stopped = options(10);
  stopped.stop = &stop;
  const auto report = prove(stopped);
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->runs, 0u);
  EXPECT_FALSE(report->is_shown());
  EXPECT_THAT(describe(*report), HasSubstr("NOT SHOWN: stopped after 0 of 10 runs"));
}

class EachMutant : public ::testing::TestWithParam<MutantInfo> {
 protected:
  static Result<ProofReport> hunt() {
    ProofOptions hunt = options(1000, GetParam().mutant);
    hunt.plans = plans_for(GetParam());
    hunt.stops_at_first = true;
    return prove(hunt);
  }
};

TEST_P(EachMutant, IsFoundAndToldWithSeedAndStep) {
  const auto report = hunt();
  ASSERT_TRUE(report) << report.error().text;
  ASSERT_TRUE(report->first.has_value());
  EXPECT_FALSE(report->is_shown());
  const std::string text = describe(*report->first);
  EXPECT_THAT(text, HasSubstr("seed " + std::to_string(report->first->spec.seed)));
  EXPECT_THAT(text, HasSubstr("at step "));
  EXPECT_THAT(text, HasSubstr("--mutant=" + std::string(GetParam().name)));
}

TEST_P(EachMutant, ItsSmallestRunShowsTheSameAgain) {
  const auto report = hunt();
  ASSERT_TRUE(report && report->first);
  const Finding smallest = shrink(*report->first);
  EXPECT_LE(smallest.spec.operations, report->first->spec.operations);
  const auto again = run(smallest.spec);
  ASSERT_TRUE(again && again->violation);
  EXPECT_EQ(*again->violation, smallest.violation);
}

INSTANTIATE_TEST_SUITE_P(Mutants, EachMutant, ::testing::ValuesIn(mutants()), [](const auto& info) {
  std::string name(info.param.name);
  std::erase(name, '-');
  return name;
});

/// The old client's READs and atomics leave no stamp behind, and are seen all the same.
TEST(FenceProof, KeyByteKept_IsFoundByReadsAloneAndByAtomicsAlone) {
  for (const Mutant mutant : {Mutant::KeyByteKeptRead, Mutant::KeyByteKeptAtomic}) {
    std::set<Violation::Kind> kinds;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const auto result = run({.seed = seed, .plan = lease::nak_first_plan(), .mutant = mutant});
      ASSERT_TRUE(result) << result.error().text;
      if (result->violation) kinds.insert(result->violation->kind);
    }
    EXPECT_THAT(kinds, ElementsAre(Violation::Kind::UnaskedRead)) << name(mutant);
  }
}

TEST(FenceProof, PromiseA1Broken_ByAPlanThatWaitsForTheKey_WriteAfterTheOutcome) {
  const auto report = prove({.runs = 40, .plans = {lease::seed_plan()}, .mutant = Mutant::A1Off});
  ASSERT_TRUE(report && report->first);
  EXPECT_EQ(report->first->violation.kind, Violation::Kind::WriteAfterOutcome);
}

TEST(FenceProof, PromiseA1Broken_AKeyThatAUmrFreedIsNotTouched) {
  const auto report = prove({.runs = 40, .plans = {lease::umr_plan()}, .mutant = Mutant::A1Off});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->violations, 0u) << describe(*report->first);
  EXPECT_GT(report->plans.front().torn_down, report->runs);
}

TEST(FenceProof, PromiseA2Broken_APlanThatSendsDestroyMkeyDoesNotRestOnIt) {
  const auto report = prove({.runs = 40, .plans = {lease::seed_plan()}, .mutant = Mutant::A2Off});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->violations, 0u) << describe(*report->first);
}

/// With luck in PSNs a stale packet comes into the region of the tenant that follows, and that is
/// all: the region of the lease that was fenced is out of its reach, whatever the plan.
TEST(FenceProof, StalePacketsWithTheExpectedPsn_NeverReachTheFencedRegion) {
  const std::array cases{RunSpec{.plan = lease::legacy_plan(), .mutant = Mutant::LegacyReuse},
                         RunSpec{.plan = lease::seed_plan(), .mutant = Mutant::NumberReusedEarly}};
  for (RunSpec spec : cases) {
    std::set<Violation::Kind> kinds;
    for (spec.seed = 1; spec.seed <= 60; ++spec.seed) {
      const auto result = run(spec);
      ASSERT_TRUE(result) << result.error().text;
      if (result->violation) kinds.insert(result->violation->kind);
      EXPECT_EQ(result->late, 0u) << spec.seed;
    }
    EXPECT_THAT(kinds, ElementsAre(Violation::Kind::ForeignWrite)) << spec.plan.name;
  }
}

/// Where nothing is held the old client has heard of nothing when its number is another's, and goes
/// on from the PSN where it was. Both first PSNs are near the wrap in this run.
TEST(FenceProof, OldClientWithNothingUnderWay_IsNotLuckyWithItsNextSends) {
  const auto result = run({.seed = 1515, .plan = lease::nak_first_plan(), .holds = 0});
  ASSERT_TRUE(result) << result.error().text;
  EXPECT_FALSE(result->violation);
}

TEST(ProvablePlans, EachThatMayAnswerTornDownAndItsOverlap) {
  std::vector<std::string> names;
  for (const lease::Plan& plan : provable_plans()) names.push_back(plan.full_name());
  EXPECT_THAT(names, ElementsAre("seed", "seed+overlap", "nak-first", "nak-first+overlap", "legacy",
                                 "legacy+overlap", "umr", "umr+overlap", "access-flags",
                                 "access-flags+overlap", "indirect", "indirect+overlap",
                                 "allow-replace", "allow-replace+overlap", "allow-modify",
                                 "allow-modify+overlap", "underlay", "underlay+overlap"));
}

TEST(ProvablePlans, TheOneLeftOutNeverAnswersTornDown) {
  std::set<std::string_view> left_out;
  for (const auto list : {lease::plans(), lease::entry_plans()})
    for (const lease::Plan& plan : list) left_out.insert(plan.name);
  for (const lease::Plan& plan : provable_plans()) left_out.erase(plan.name);
  EXPECT_THAT(left_out, ElementsAre("drop-only"));
  EXPECT_EQ(lease::drop_only_plan().best_outcome(), lease::Outcome::Fenced);
}

TEST(DescribeFinding, NamesAllThatTheRunIsAFunctionOf) {
  const Finding finding{
      {.seed = 7,
       .plan = lease::umr_plan().overlapped().value(),
       .mutant = Mutant::A2Off,
       .operations = 12,
       .holds = 5},
      {.kind = Violation::Kind::WriteAfterOutcome, .owner = 1, .step = 99, .at_ns = 1'500'000}};
  EXPECT_EQ(describe(finding, "./proof"),
            "seed 7, plan umr+overlap, 12 operations, 5 steps held at most: the device wrote the "
            "region of lease 1 after its outcome, at step 99, 1.500000 ms\n"
            "  again: ./proof --runs=1 --seed=7 --plan=umr+overlap --mutant=a2-off "
            "--operations=12 --holds=5");
}

TEST(ParseMutant, UnknownName_NamesItAndThoseAccepted) {
  const auto refused = parse_mutant("a9-off");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("'a9-off'; one of none, no-mkey-step"));
}

}  // namespace
}  // namespace portcullis::proof::adversary
