// SPDX-License-Identifier: BSD-3-Clause
//
// fence-audit on the model: clean where the hardware keeps its promises, and not clean where it
// breaks the one that a plan rests on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tools/fence_audit/audit.hpp"
#include "tools/fence_audit/options.hpp"
#include "tools/fence_audit/report.hpp"

namespace portcullis::tools::fence_audit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Memory is touched 20 us after the key check, so WRITEs are under way at every fence.
constexpr const char* kPending = "model,execution=stepped,behaviour=data-path-ns=20000";

PlanAudit run(const std::string& device, const std::string& plan) {
  Options options;
  options.fences = 32;
  return audit(attach::parse_device(device).value(), lease::parse_plan(plan).value(), options)
      .value();
}

std::string refusal(const char* argument) {
  const std::array<const char*, 2> arguments{"fence-audit", argument};
  const auto options = parse_options(2, arguments.data());
  return options ? std::string() : options.error().text;
}

class EveryPlan : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryPlan, OnHardwareThatKeepsItsPromises_HoldsUnderLoad) {
  const PlanAudit found = run(kPending, GetParam());
  EXPECT_TRUE(found.holds()) << text_of(found);
  EXPECT_EQ(found.fences, 32u);
  EXPECT_GE(found.under_load, 16u);
}

INSTANTIATE_TEST_SUITE_P(Plans, EveryPlan,
                         ::testing::Values("seed", "nak-first", "legacy", "umr", "access-flags",
                                           "drop-only", "indirect", "seed+overlap"));

TEST(FenceAudit, KeyDestroyedWhileDmaIsPending_BytesChangedAfterTheOutcome) {
  const PlanAudit found = run(std::string(kPending) + "+a1-off", "seed");
  EXPECT_GT(found.changed, 0u);
  EXPECT_FALSE(found.holds());
  EXPECT_EQ(verdict_of({found}), "the fence did not hold");
  EXPECT_THAT(json_of("model", {found}), HasSubstr("\"holds\": false"));
}

/// These plans linger behind the key step, so a write that is 20 us late has landed long before the
/// outcome, and is late all the same.
TEST(FenceAudit, LateWriteBetweenTheAnswerForTheKeyAndTheOutcome_IsFound) {
  const std::string late = std::string(kPending) + "+a1-off+a6-off";
  EXPECT_GT(run(late, "nak-first").changed, 0u);
  EXPECT_GT(run(late, "indirect").changed, 0u);
  EXPECT_GT(run(std::string(kPending) + "+a2-off", "umr").changed, 0u);
}

TEST(FenceAudit, ComparesFromTheAnswerForTheKey_OrFromTheOutcomeOfAPlanThatTakesNone) {
  const PlanAudit seed = run(kPending, "seed");
  EXPECT_EQ(seed.watched, 32u);
  EXPECT_EQ(seed.from_answer, 32u);
  const PlanAudit drop_only = run(kPending, "drop-only");
  EXPECT_EQ(drop_only.watched, 32u);
  EXPECT_EQ(drop_only.from_answer, 0u);
  EXPECT_EQ(run(kPending, "legacy").watched, 0u);
}

TEST(FenceAudit, WritesFarApart_FewFencesMeetOneThatIsOutstanding) {
  Options options;
  options.fences = 32;
  options.interval_ns = 100'000;
  const auto far = audit(attach::parse_device(kPending).value(),
                         lease::parse_plan("nak-first").value(), options);
  ASSERT_TRUE(far) << far.error().text;
  EXPECT_LE(far->under_load, 4u);
  EXPECT_THAT(text_of(*far), HasSubstr("32 fences, " + std::to_string(far->under_load) +
                                       " with a WRITE outstanding when the key was to go"));
}

TEST(FenceAudit, TenantsKeyDestroyedWhileDmaIsPending_BytesChangedAfterTheOutcome) {
  EXPECT_TRUE(run(std::string(kPending) + "+a1-off", "indirect+overlap").holds());
  EXPECT_GT(run(std::string(kPending) + "+a6-off", "indirect+overlap").changed, 0u);
}

TEST(FenceAudit, Json_OneObjectForEachPlan) {
  const std::string json = json_of("model", {run(kPending, "seed"), run(kPending, "umr")});
  EXPECT_THAT(json, HasSubstr("\"verdict\": \"the fence held\""));
  EXPECT_THAT(
      json,
      HasSubstr("\"plan\": \"umr\", \"load\": \"loopback\", \"holds\": true, \"fences\": 32"));
  EXPECT_THAT(json, HasSubstr("\"TornDown, memory proved by UMR\": 32"));
}

TEST(FenceAudit, BadArguments_OneLineWithTheValueAndWhatIsAccepted) {
  EXPECT_THAT(refusal("--plan=x"), HasSubstr("fence plan 'x'; accepted are seed"));
  EXPECT_THAT(refusal("--fences=0"), HasSubstr("0"));
  EXPECT_THAT(refusal("--leases=9999"), HasSubstr("9999"));
  EXPECT_THAT(refusal("--address=192.0.2.1"), HasSubstr("--address requires --listen"));
  EXPECT_THAT(refusal("--interval-ns=0"), HasSubstr("0"));
  EXPECT_THAT(refusal("--speed"), HasSubstr("--help"));
  EXPECT_THAT(refusal("--speed"), Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace portcullis::tools::fence_audit
