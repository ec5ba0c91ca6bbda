// SPDX-License-Identifier: BSD-3-Clause
//
// The audit of a plan on the model: clean where the hardware keeps its promises, and not clean
// where it breaks the one that a plan rests on.
#include "proof/audit.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proof/stream.hpp"

namespace portcullis::proof {
namespace {

/// Memory is touched 20 us after the key check, so packets are on their way at every fence.
constexpr const char* kPending = "model,execution=stepped,behaviour=data-path-ns=20000";

PlanAudit run(const std::string& device, const std::string& plan, std::uint64_t fences = 32) {
  AuditOptions options;
  options.fences = fences;
  return audit(attach::parse_device(device).value(), lease::parse_plan(plan).value(), options)
      .value();
}

class EveryPlan : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryPlan, OnHardwareThatKeepsItsPromises_HoldsUnderLoad) {
  const PlanAudit found = run(kPending, GetParam());
  EXPECT_TRUE(found.holds());
  EXPECT_EQ(found.verdict(), AuditVerdict::Held);
  EXPECT_EQ(found.fences, 32u);
  EXPECT_GE(found.under_load, 24u);  // behind 2ERR_QP no READ is answered
}

INSTANTIATE_TEST_SUITE_P(Plans, EveryPlan,
                         ::testing::Values("seed", "nak-first", "umr", "indirect", "seed+overlap"));

/// Commands take milliseconds of its clock, WRITEs none: however many are posted, it goes on.
TEST(Audit, ModelWhoseWritesTakeNoTime_ComesToItsEnd) {
  const PlanAudit found = run("model,timing=cx5-16.35.4506", "umr", 16);
  EXPECT_TRUE(found.holds());
  EXPECT_EQ(found.fences, 16u);
}

/// Which takes the key by its ladder, when the pages are out of reach.
TEST(Audit, DropOnly_HoldsAndIsWatchedFromTheOutcome) {
  const PlanAudit found = run(kPending, "drop-only");
  EXPECT_TRUE(found.holds());
  EXPECT_EQ(found.watched, 32u);
  EXPECT_EQ(found.from_answer, 0u);
}

struct Late {
  const char* behaviour;
  const char* plan;
};

class LateDma : public ::testing::TestWithParam<Late> {};

TEST_P(LateDma, IsFoundInAThousandFences) {
  const PlanAudit found =
      run(std::string("model,execution=stepped,behaviour=") + GetParam().behaviour, GetParam().plan,
          64);
  EXPECT_GT(found.changed, 0u);
  EXPECT_EQ(found.verdict(), AuditVerdict::Broken);
  EXPECT_EQ(found.foreign, 0u);
}

/// Plans that linger behind the key step answer long after the late DMA is over, and are found too.
INSTANTIATE_TEST_SUITE_P(Promises, LateDma,
                         ::testing::Values(Late{"a1-off=100ns", "seed"}, Late{"a1-off=1us", "seed"},
                                           Late{"a1-off=10us", "seed"},
                                           Late{"a1-off=100ns", "nak-first"},
                                           Late{"a1-off=10us", "nak-first"},
                                           Late{"a2-off+data-path-ns=100", "umr"},
                                           Late{"a6-off+data-path-ns=100", "indirect"},
                                           Late{"a6-off+data-path-ns=20000", "indirect+overlap"}));

/// The direct keys below an indirect one are not what is taken first.
TEST(Audit, PromiseThatThePlanDoesNotRestOn_Holds) {
  EXPECT_TRUE(run("model,behaviour=a1-off=20us", "indirect+overlap").holds());
}

/// It serves nothing but the page that was written last: a fence under a load that always moves on,
/// or reads in between, would never meet it.
TEST(Audit, KeyThatADispatchCacheKeeps_IsFound) {
  const PlanAudit found =
      run("model,execution=stepped,behaviour=data-path-ns=1000+dispatch-cache=2000+"
          "dispatch-cache-keeps-key",
          "seed");
  EXPECT_GT(found.changed + found.executed, 0u);
  EXPECT_EQ(found.verdict(), AuditVerdict::Broken);
}

TEST(Audit, ReadsServedLate_AreFoundInWhatTheClientGot) {
  const PlanAudit found = run(std::string(kPending) + "+read-untracked", "nak-first");
  EXPECT_GT(found.read_late, 0u);
  EXPECT_EQ(found.changed, 0u);
  EXPECT_EQ(found.verdict(), AuditVerdict::Broken);
}

/// Of leases that share a key, too: there WRITEs of the others would be waited for as long.
TEST(Audit, ReadsServedLateThroughASharedKey_AreFound) {
  const PlanAudit found = run(std::string(kPending) + "+read-untracked", "indirect", 64);
  EXPECT_GT(found.read_late, 0u);
  EXPECT_EQ(found.verdict(), AuditVerdict::Broken);
}

TEST(Audit, ReadsServedLate_AreFoundInAThousandFencesOfAMicrosecond) {
  EXPECT_GT(run("model,behaviour=a1-off=1us", "nak-first", 64).read_late, 0u);
}

/// Its memory is given back at once, so of WRITEs that are late nothing would be seen.
TEST(Audit, Legacy_IsNotWatchedAndHasNoEvidence) {
  const PlanAudit found = run(kPending, "legacy");
  EXPECT_TRUE(found.holds());
  EXPECT_EQ(found.watched, 0u);
  EXPECT_EQ(found.verdict(), AuditVerdict::NoEvidence);
}

/// RTS2RTS took the rights before: whatever was on its way was refused, and the key went later.
TEST(Audit, AccessFlags_HoldsWithoutEvidence) {
  EXPECT_EQ(run(kPending, "access-flags").verdict(), AuditVerdict::NoEvidence);
}

TEST(Audit, ComparesFromTheAnswerForTheKey) {
  const PlanAudit seed = run(kPending, "seed");
  EXPECT_EQ(seed.watched, 32u);
  EXPECT_EQ(seed.from_answer, 32u);
}

/// By then 2ERR_QP has been answered, and nothing that was on its way is left.
TEST(Audit, NothingOnItsWayWhenTheKeyGoes_NoEvidence) {
  const PlanAudit found =
      run("model,execution=stepped,timing=cx5-16.35.4506,behaviour=data-path-ns=1000", "seed", 8);
  EXPECT_TRUE(found.holds());
  EXPECT_EQ(found.under_load, 0u);
  EXPECT_EQ(found.verdict(), AuditVerdict::NoEvidence);
}

TEST(Audit, Stopped_SaysWhatTheFencesBeforeCameTo) {
  AuditOptions options;
  options.fences = 1'000'000;
  std::uint64_t told = 0;
  options.on_fence = [&told](const std::string&, const FenceRecord&) { ++told; };
  options.stop = [&told] { return told >= 8; };
  const auto found =
      audit(attach::parse_device(kPending).value(), lease::parse_plan("seed").value(), options);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(found->fences, 8u);
  EXPECT_EQ(found->watched, 8u);
  EXPECT_EQ(found->verdict(), AuditVerdict::Held);
}

TEST(Audit, StoppedWhileClientsBegin_HasNoFenceAndNoEvidence) {
  AuditOptions options;
  options.stop = [asked = 0]() mutable { return ++asked > 2; };
  const auto found =
      audit(attach::parse_device(kPending).value(), lease::parse_plan("seed").value(), options);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(found->fences, 0u);
  EXPECT_EQ(found->verdict(), AuditVerdict::NoEvidence);
}

TEST(Audit, EachFence_IsToldWithWhatWasInFlight) {
  std::vector<FenceRecord> records;
  AuditOptions options;
  options.fences = 8;
  options.on_fence = [&records](const std::string& /*plan*/, const FenceRecord& record) {
    records.push_back(record);
  };
  const auto found = audit(attach::parse_device(kPending).value(),
                           lease::parse_plan("nak-first").value(), options);
  ASSERT_TRUE(found) << found.error().text;
  ASSERT_EQ(records.size(), 8u);
  EXPECT_EQ(records.back().number, 8u);
  EXPECT_GT(records[0].in_flight_at_command, 0u);
  EXPECT_LE(records[0].in_flight_at_command, Stream::kRingBytes);
  EXPECT_GT(records[0].landed_by_answer, 0u);
  EXPECT_EQ(records[3].in_flight_at_command, 0u);  // every fourth only reads
  EXPECT_GT(records[3].reads_at_command, 0u);
  EXPECT_GT(records[3].reads_served, 0u);
  EXPECT_EQ(found->load.in_flight_at_command.count(), 8u);
}

}  // namespace
}  // namespace portcullis::proof
