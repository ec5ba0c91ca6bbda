// SPDX-License-Identifier: BSD-3-Clause
//
// The fence under an adversary: nothing is touched after an outcome, and whatever is broken on
// purpose is found.
#include "tools/fence_proof/proof.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/fence_proof/report.hpp"

namespace portcullis::fence_proof {
namespace {

using ::testing::HasSubstr;

ProofOptions options(std::uint64_t runs, Mutant mutant = Mutant::None) {
  return {.runs = runs, .plans = provable_plans(), .mutant = mutant};
}

TEST(FenceProof, EveryPlanUnderTheAdversary_NothingIsTouchedAfterItsOutcome) {
  const auto report = prove(options(120));
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->violations, 0u) << describe(*report->first);
  EXPECT_TRUE(report->is_shown()) << describe(*report);
  EXPECT_GE(report->operations, 300u * report->runs);
  EXPECT_GT(report->touched, report->operations);
}

TEST(FenceProof, CommandsThatSucceed_EveryRevokeIsTornDown) {
  const auto report = prove(options(7));
  ASSERT_TRUE(report) << report.error().text;
  for (const PlanTally& plan : report->plans) {
    EXPECT_EQ(plan.torn_down, 2 * plan.runs) << plan.plan;
    EXPECT_EQ(plan.fenced, 0u) << plan.plan;
  }
}

TEST(FenceProof, CommandsThatFail_FenceAndProveTheMemoryAllTheSame) {
  const auto report =
      prove({.runs = 1, .first_seed = 8, .plans = {lease::seed_plan()}, .mutant = Mutant::None});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->plans.front().fenced, 1u);
  EXPECT_EQ(report->plans.front().unproved, 0u);
  EXPECT_EQ(report->violations, 0u);
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

class EachMutant : public ::testing::TestWithParam<MutantInfo> {
 protected:
  static Result<ProofReport> hunt() {
    ProofOptions hunt = options(1000, GetParam().mutant);
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
  EXPECT_LT(smallest.spec.holds, 300u);
  const auto again = run(smallest.spec);
  ASSERT_TRUE(again && again->violation);
  EXPECT_EQ(again->violation->step, smallest.violation.step);
}

INSTANTIATE_TEST_SUITE_P(Mutants, EachMutant, ::testing::ValuesIn(mutants()), [](const auto& info) {
  std::string name(info.param.name);
  std::erase(name, '-');
  return name;
});

TEST(FenceProof, PromiseA1Broken_ByAPlanThatWaitsForTheKey_WriteAfterTheOutcome) {
  const auto report = prove({.runs = 40, .plans = {lease::seed_plan()}, .mutant = Mutant::A1Off});
  ASSERT_TRUE(report && report->first);
  EXPECT_EQ(report->first->violation.kind, Violation::Kind::WriteAfterOutcome);
}

TEST(ParseMutant, UnknownName_NamesItAndThoseAccepted) {
  const auto refused = parse_mutant("a9-off");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("'a9-off'; one of none, no-mkey-step"));
}

}  // namespace
}  // namespace portcullis::fence_proof
