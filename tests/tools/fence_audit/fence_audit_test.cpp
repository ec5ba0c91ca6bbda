// SPDX-License-Identifier: BSD-3-Clause
//
// What fence-audit makes of an audit in words and JSON, and of bad arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "proof/audit.hpp"
#include "tools/fence_audit/options.hpp"
#include "tools/fence_audit/report.hpp"

namespace portcullis::tools::fence_audit {
namespace {

using proof::PlanAudit;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Memory is touched 20 us after the key check, so packets are on their way at every fence.
constexpr const char* kPending = "model,execution=stepped,behaviour=data-path-ns=20000";

PlanAudit run(const std::string& device, const std::string& plan) {
  Options options;
  options.audit.fences = 32;
  return proof::audit(attach::parse_device(device).value(), lease::parse_plan(plan).value(),
                      options.audit)
      .value();
}

std::string refusal(const char* argument) {
  const std::array<const char*, 2> arguments{"fence-audit", argument};
  const auto options = parse_options(2, arguments.data());
  return options ? std::string() : options.error().text;
}

TEST(FenceAudit, BytesChangedAfterTheOutcome_TheFenceDidNotHold) {
  const PlanAudit found = run(std::string(kPending) + "+a1-off", "seed");
  EXPECT_EQ(verdict_of({found}), "the fence did not hold");
  EXPECT_THAT(json_of("model", {found}), HasSubstr("\"verdict\": \"broken\""));
}

TEST(FenceAudit, Text_SaysHowManyFencesMetPacketsAndHowMuchWasInFlight) {
  const std::string text = text_of(run(kPending, "nak-first"));
  EXPECT_THAT(text, HasSubstr("32 fences, 32 (100.0 %) met packets of their key"));
  EXPECT_THAT(text, HasSubstr("WRITEs not in memory at the command"));
  EXPECT_THAT(text, HasSubstr("between the polls of the thread that fences"));
}

TEST(FenceAudit, TooFewFencesMetPackets_NoEvidenceAndNeverThatTheFenceHeld) {
  PlanAudit thin = run(kPending, "nak-first");
  thin.under_load = 15;
  EXPECT_EQ(verdict({thin}), proof::AuditVerdict::NoEvidence);
  EXPECT_EQ(verdict_of({thin}),
            "no evidence: nothing was late, but fewer than half of the fences met packets of their "
            "key: nak-first (15 of 32)");
  EXPECT_THAT(text_of(thin), HasSubstr("none  nak-first"));
  thin.under_load = 16;
  EXPECT_EQ(verdict_of({thin}), "the fence held");
}

TEST(FenceAudit, OnePlanWithoutEvidence_NoneForAll_UnlessOneIsBroken) {
  const PlanAudit full = run(kPending, "nak-first");
  PlanAudit thin = full;
  thin.under_load = 0;
  PlanAudit broken = thin;
  broken.read_late = 1;
  EXPECT_EQ(verdict({full, thin}), proof::AuditVerdict::NoEvidence);
  EXPECT_EQ(verdict({full, thin, broken}), proof::AuditVerdict::Broken);
  EXPECT_EQ(verdict({}), proof::AuditVerdict::NoEvidence);
}

TEST(FenceAudit, Json_OneObjectForEachPlan) {
  const std::string json = json_of("model", {run(kPending, "seed"), run(kPending, "umr")});
  EXPECT_THAT(json, HasSubstr("\"verdict\": \"the fence held\""));
  EXPECT_THAT(
      json,
      HasSubstr(
          "\"plan\": \"umr\", \"load\": \"loopback\", \"verdict\": \"held\", \"fences\": 32"));
  EXPECT_THAT(json, HasSubstr("\"TornDown, memory proved by UMR\": 32"));
  EXPECT_THAT(json, HasSubstr("\"bytes_in_flight_at_command\": {\"p50\": "));
}

TEST(FenceAudit, PerFenceLine_HasAsManyFieldsAsItsHeader) {
  const std::string line = line_of("seed", {.number = 7, .is_watched = true, .late_writes = 1024});
  EXPECT_EQ(std::ranges::count(line, ','), std::ranges::count(lines_header(), ','));
  EXPECT_THAT(line, StartsWith("seed,7,1,0,"));
}

TEST(FenceAudit, BadArguments_OneLineWithTheValueAndWhatIsAccepted) {
  EXPECT_THAT(refusal("--plan=x"), HasSubstr("fence plan 'x'; accepted are seed"));
  EXPECT_THAT(refusal("--fences=0"), HasSubstr("0"));
  EXPECT_THAT(refusal("--leases=9999"), HasSubstr("9999"));
  EXPECT_THAT(refusal("--address=192.0.2.1"), HasSubstr("--address requires --listen"));
  EXPECT_THAT(refusal("--per-fence"), HasSubstr("--per-fence"));
  EXPECT_THAT(refusal("--speed"), HasSubstr("--help"));
  EXPECT_THAT(refusal("--speed"), Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace portcullis::tools::fence_audit
