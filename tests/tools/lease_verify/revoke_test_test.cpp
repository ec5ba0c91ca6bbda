// SPDX-License-Identifier: BSD-3-Clause
//
// The client that goes on through a revoke: what it reports of last success, first failure and
// budget.
#include "tools/lease_verify/revoke_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/lease_verify/memory_requester.hpp"

namespace portcullis::tools::lease_verify {
namespace {

using portcullis::testing::MemoryRequester;
using ::testing::Contains;
using ::testing::HasSubstr;

/// Succeeds `good` times, then fails so after `silence_ns`.
void revoke_after(MemoryRequester& requester, std::size_t good, WorkResult failure,
                  std::uint64_t silence_ns) {
  requester.verdict = [&requester, good, failure, silence_ns,
                       done = std::size_t{0}](const Operation& /*operation*/) mutable {
    if (++done <= good) return WorkResult{};
    requester.now_ns += silence_ns;
    return failure;
  };
}

TEST(Budget, IsSendsTimesTimeout) {
  const Budget budget{.timeout = 14, .retry = 6};

  EXPECT_EQ(budget.least_ns(), 469'762'048U);
  EXPECT_EQ(budget.most_ns(), 1'879'048'192U);
  EXPECT_EQ(budget.least_text(), "(6 + 1) x 4.096 us x 2^14 = 469.762 ms");
}

TEST(Budget, LongestThereIs_DoesNotOverflow) {
  EXPECT_EQ((Budget{.timeout = 31, .retry = 7}.most_ns()), 32 * (std::uint64_t{4096} << 31));
}

TEST(RevokeTest, SilenceAfterTenWrites_TimesAreOfTheTenthAndTheEleventh) {
  MemoryRequester requester;
  revoke_after(requester, 10, {prm::WcStatus::RETRY_EXC_ERR, 0x81}, 470'000'000);
  const std::uint64_t start_ns = requester.now_ns;

  const auto seen = watch_revoke(requester, MemoryRequester::grant(), {});

  EXPECT_EQ(seen->succeeded, 10U);
  EXPECT_EQ(seen->last_success_ns - start_ns, 10 * MemoryRequester::kOperationNs);
  EXPECT_EQ(seen->failed_post_ns, seen->last_success_ns);
  EXPECT_EQ(seen->first_failure_ns - seen->failed_post_ns,
            470'000'000 + MemoryRequester::kOperationNs);
  EXPECT_EQ(seen->failure->status, prm::WcStatus::RETRY_EXC_ERR);
  EXPECT_EQ(seen->failure->vendor_syndrome, 0x81U);
}

TEST(RevokeTest, ToldToStopWhileAnOperationHasNoAnswer_EndsWithinASecond) {
  MemoryRequester requester;
  requester.silent_from = 3;
  RevokeTestOptions options;
  const std::uint64_t stop_ns = requester.now_ns + 50 * kNsPerMs;
  options.stop = [&requester, stop_ns] { return requester.now_ns >= stop_ns; };

  const auto seen = watch_revoke(requester, MemoryRequester::grant(), options);

  EXPECT_EQ(seen.error().code, Errc::Busy);
  EXPECT_LT(requester.now_ns, stop_ns + kNsPerSecond);
}

TEST(RevokeTest, EachWriteCarriesTheNextNumber) {
  MemoryRequester requester;
  revoke_after(requester, 10, {prm::WcStatus::REM_ACCESS_ERR, 0}, 0);

  ASSERT_TRUE(watch_revoke(requester, MemoryRequester::grant(), {}));

  EXPECT_EQ(requester.region[0], std::byte{10});
}

TEST(RevokeTest, NoRevokeWithinTheLimit_IsSaidAndNothingIsLeftUnderWay) {
  MemoryRequester requester;

  const auto seen = watch_revoke(requester, MemoryRequester::grant(), {.depth = 4, .limit_ms = 1});

  EXPECT_FALSE(seen->failure);
  EXPECT_EQ(seen->succeeded, requester.posted.size());
  EXPECT_THAT(seen->lines({14, 6}, Op::Write), Contains(HasSubstr("not revoked in this time")));
}

TEST(RevokeTest, QpThatNeverTells_EndsPastItsBudget) {
  MemoryRequester requester;
  requester.silent_from = 3;
  auto grant = MemoryRequester::grant();
  grant.retry = 7;

  const auto seen = watch_revoke(requester, grant, {});

  EXPECT_EQ(seen.error().code, Errc::Timeout);
  EXPECT_THAT(seen.error().text, HasSubstr("soft-RoCE takes retry 7 for ever"));
}

TEST(RevokeTest, OperationThatIsNotGranted_IsRefused) {
  MemoryRequester requester;
  auto grant = MemoryRequester::grant();
  grant.access = {.remote_write = true};

  const auto seen = watch_revoke(requester, grant, {.op = Op::FetchAdd});

  EXPECT_EQ(seen.error().text, "FETCH_ADD is not granted; the lease allows write");
  EXPECT_TRUE(requester.posted.empty());
}

TEST(RevokeTest, DepthBeyondTheBuffer_IsRefused) {
  MemoryRequester requester;

  EXPECT_FALSE(watch_revoke(requester, MemoryRequester::grant(), {.depth = 0}));
  EXPECT_FALSE(watch_revoke(requester, MemoryRequester::grant(), {.depth = 1 << 20}));
}

TEST(RevokeReport, SaysWhatStatusAndBudgetMean) {
  RevokeObservation seen;
  seen.succeeded = 5;
  seen.started_ns = 1'000'000;
  seen.last_success_ns = 3'000'000;
  seen.failed_post_ns = 3'000'000;
  seen.first_failure_ns = 480'000'000;
  seen.failure = WorkResult{prm::WcStatus::RETRY_EXC_ERR, 0x81};

  const auto lines = seen.lines({14, 6}, Op::Write);

  EXPECT_THAT(lines, Contains(HasSubstr("last success   at 2.000 ms")));
  EXPECT_THAT(lines, Contains(HasSubstr("first failure  at 479.000 ms, 477.000 ms after it was")));
  EXPECT_THAT(lines, Contains(HasSubstr("12 IBV_WC_RETRY_EXC_ERR, vendor syndrome 0x81")));
  EXPECT_THAT(lines, Contains(HasSubstr("fell silent")));
  EXPECT_THAT(lines, Contains(HasSubstr("(6 + 1) x 4.096 us x 2^14 = 469.762 ms")));
  EXPECT_THAT(lines, Contains(HasSubstr("1879.048 ms")));
}

RevokeObservation told_after(std::uint64_t ns) {
  RevokeObservation seen;
  seen.succeeded = 5;
  seen.last_success_ns = 3'000'000;
  seen.first_failure_ns = 3'000'000 + ns;
  seen.failure = WorkResult{prm::WcStatus::RETRY_EXC_ERR, 0};
  return seen;
}

TEST(RevokeVerdict, BothLimits_AreMetToTheNanosecondAndNoLonger) {
  EXPECT_EQ(told_after(1'000'000'000).verdict(),
            "sub-second property met, 2000 ms budget met: 1000.000 ms from the last success");
  EXPECT_THAT(told_after(1'000'000'001).verdict(),
              HasSubstr("sub-second property NOT met, 2000 ms budget met"));
  EXPECT_THAT(told_after(2'000'000'000).verdict(), HasSubstr("2000 ms budget met"));
  EXPECT_THAT(told_after(2'000'000'001).verdict(),
              HasSubstr("sub-second property NOT met, 2000 ms budget NOT met"));
}

TEST(RevokeVerdict, NoFailure_IsNoVerdict) {
  RevokeObservation seen;
  seen.succeeded = 5;
  EXPECT_EQ(seen.verdict(), "none: no failure was seen");
  EXPECT_FALSE(seen.is_met(kRegressionBudgetNs));
}

TEST(RevokeVerdict, NothingThatSucceeded_IsNoVerdict) {
  RevokeObservation seen = told_after(1);
  seen.succeeded = 0;
  EXPECT_EQ(seen.verdict(), "none: nothing succeeded before the failure");
  EXPECT_FALSE(seen.is_met(kRegressionBudgetNs));
}

TEST(RevokeVerdict, StandsInTheLinesAndInTheJson) {
  const RevokeObservation seen = told_after(1'500'000'000);
  EXPECT_THAT(
      seen.lines({14, 6}, Op::Write),
      Contains("verdict        sub-second property NOT met, 2000 ms budget met: 1500.000 ms "
               "from the last success"));
  const auto json = nlohmann::json::parse(seen.json({14, 6}, Op::Write));
  EXPECT_EQ(json["told_after_ns"], 1'500'000'000);
  EXPECT_EQ(json["sub_second_met"], false);
  EXPECT_EQ(json["budget_met"], true);
}

TEST(RevokeReport, JsonHasStatusAndTimes) {
  RevokeObservation seen;
  seen.first_failure_ns = 480'000'000;
  seen.failure = WorkResult{prm::WcStatus::REM_ACCESS_ERR, 0};

  const auto json = nlohmann::json::parse(seen.json({8, 6}, Op::Write));

  EXPECT_EQ(json["status"], 10);
  EXPECT_EQ(json["first_failure_ns"], 480'000'000);
  EXPECT_EQ(json["least_budget_ns"], 7'340'032);
}

TEST(RevokeReport, JsonWithoutFailure_HasNoStatus) {
  EXPECT_FALSE(
      nlohmann::json::parse(RevokeObservation{}.json({8, 6}, Op::Write)).contains("status"));
}

}  // namespace
}  // namespace portcullis::tools::lease_verify
