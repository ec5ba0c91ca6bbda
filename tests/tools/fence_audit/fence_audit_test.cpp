// SPDX-License-Identifier: BSD-3-Clause
//
// What fence-audit makes of an audit in words and JSON, and of bad arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

/// Memory is touched 20 us after the key check, so WRITEs are under way at every fence.
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
  EXPECT_THAT(json_of("model", {found}), HasSubstr("\"holds\": false"));
}

TEST(FenceAudit, Text_SaysHowManyFencesMetAWriteThatWasOutstanding) {
  const PlanAudit found = run(kPending, "nak-first");
  EXPECT_THAT(text_of(found), HasSubstr("32 fences, " + std::to_string(found.under_load) +
                                        " with a WRITE outstanding when the key was to go"));
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
