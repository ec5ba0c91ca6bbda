// SPDX-License-Identifier: BSD-3-Clause
//
// The audit of a plan on the model: clean where the hardware keeps its promises, and not clean
// where it breaks the one that a plan rests on.
#include "proof/audit.hpp"

#include <gtest/gtest.h>

#include <string>

namespace portcullis::proof {
namespace {

/// Memory is touched 20 us after the key check, so WRITEs are under way at every fence.
constexpr const char* kPending = "model,execution=stepped,behaviour=data-path-ns=20000";

PlanAudit run(const std::string& device, const std::string& plan) {
  AuditOptions options;
  options.fences = 32;
  return audit(attach::parse_device(device).value(), lease::parse_plan(plan).value(), options)
      .value();
}

class EveryPlan : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryPlan, OnHardwareThatKeepsItsPromises_HoldsUnderLoad) {
  const PlanAudit found = run(kPending, GetParam());
  EXPECT_TRUE(found.holds());
  EXPECT_EQ(found.fences, 32u);
  EXPECT_GE(found.under_load, 16u);
}

INSTANTIATE_TEST_SUITE_P(Plans, EveryPlan,
                         ::testing::Values("seed", "nak-first", "legacy", "umr", "access-flags",
                                           "drop-only", "indirect", "seed+overlap"));

TEST(Audit, KeyDestroyedWhileDmaIsPending_BytesChangedAfterTheOutcome) {
  const PlanAudit found = run(std::string(kPending) + "+a1-off", "seed");
  EXPECT_GT(found.changed, 0u);
  EXPECT_FALSE(found.holds());
}

/// These plans linger behind the key step, so a write that is 20 us late has landed long before the
/// outcome, and is late all the same.
TEST(Audit, LateWriteBetweenTheAnswerForTheKeyAndTheOutcome_IsFound) {
  const std::string late = std::string(kPending) + "+a1-off+a6-off";
  EXPECT_GT(run(late, "nak-first").changed, 0u);
  EXPECT_GT(run(late, "indirect").changed, 0u);
  EXPECT_GT(run(std::string(kPending) + "+a2-off", "umr").changed, 0u);
}

TEST(Audit, ComparesFromTheAnswerForTheKey_OrFromTheOutcomeOfAPlanThatTakesNone) {
  const PlanAudit seed = run(kPending, "seed");
  EXPECT_EQ(seed.watched, 32u);
  EXPECT_EQ(seed.from_answer, 32u);
  const PlanAudit drop_only = run(kPending, "drop-only");
  EXPECT_EQ(drop_only.watched, 32u);
  EXPECT_EQ(drop_only.from_answer, 0u);
  EXPECT_EQ(run(kPending, "legacy").watched, 0u);
}

TEST(Audit, WritesFarApart_FewFencesMeetOneThatIsOutstanding) {
  AuditOptions options;
  options.fences = 32;
  options.interval_ns = 100'000;
  const auto far = audit(attach::parse_device(kPending).value(),
                         lease::parse_plan("nak-first").value(), options);
  ASSERT_TRUE(far) << far.error().text;
  EXPECT_LE(far->under_load, 4u);
}

TEST(Audit, TenantsKeyDestroyedWhileDmaIsPending_BytesChangedAfterTheOutcome) {
  EXPECT_TRUE(run(std::string(kPending) + "+a1-off", "indirect+overlap").holds());
  EXPECT_GT(run(std::string(kPending) + "+a6-off", "indirect+overlap").changed, 0u);
}

}  // namespace
}  // namespace portcullis::proof
