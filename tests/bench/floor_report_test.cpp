// SPDX-License-Identifier: BSD-3-Clause
//
// What floor_bench says of a series: verdicts of what was run, and none of what was not.
#include "bench/common/floor_report.hpp"

#include <gmock/gmock.h>

namespace portcullis::bench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int kRetryExceeded = 12;

FloorRun failed_after(std::uint64_t ns) {
  return {.outcome_ns = 1'500'000, .failure_ns = ns, .status = kRetryExceeded};
}

TEST(FloorFindings, NoRuns_MeetNothing) {
  const FloorFindings findings;
  EXPECT_FALSE(findings.is_met(kNsPerSecond));
}

TEST(FloorFindings, OneCensoredRun_MeetsNothing) {
  FloorFindings findings;
  findings.add(failed_after(1));
  findings.add({});
  EXPECT_FALSE(findings.is_met(kNsPerSecond));
}

TEST(FloorReport, SeriesThatWasNotMeasured_HasItsReasonAndNoVerdict) {
  FloorReport report;
  FloorFindings& findings = report["floor/plan:seed"];
  findings.add(failed_after(1'000));
  findings.not_measured = "before any revoke: a WRITE failed";

  EXPECT_THAT(describe("floor/plan:seed", findings),
              AllOf(HasSubstr("not measured, 1 ended runs: before any revoke: a WRITE failed"),
                    Not(HasSubstr("met"))));
  EXPECT_THAT(report.points(), IsEmpty());
}

TEST(FloorReport, BytesThatChangedBeforeASeriesFailed_AreToldAllTheSame) {
  FloorReport report;
  FloorFindings& findings = report["floor/plan:seed"];
  findings.add({.last_change_ns = 2'000'000, .is_served = true});
  findings.not_measured = "interrupted";

  EXPECT_THAT(describe("floor/plan:seed", findings), HasSubstr("BYTES CHANGED AFTER THE OUTCOME"));
  EXPECT_TRUE(report.is_served_after_fence());
}

}  // namespace
}  // namespace portcullis::bench
