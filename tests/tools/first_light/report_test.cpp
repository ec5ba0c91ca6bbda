// SPDX-License-Identifier: BSD-3-Clause
//
// What is printed follows from what was found, and so does the exit status.
#include "tools/first_light/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/light/quick_run.hpp"
#include "tools/first_light/page.hpp"

namespace portcullis::tools::first_light {
namespace {

using light::testing::light_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Status, FollowsWhatWasFound) {
  EXPECT_EQ(status_of(light_of("model", "loopback,key")), kExitWhole);
  EXPECT_EQ(status_of(light_of("model,behaviour=a1-off=1us", "audit")), kExitRefuted);
  EXPECT_EQ(status_of(light_of("model,behaviour=internal-error=9", "key,audit")), kExitNotWhole);
  EXPECT_EQ(status_of(light_of("model,behaviour=cmdif-rev-6", "key,audit")), kExitNothing);
  EXPECT_EQ(status_of({}), kExitNothing);
}

TEST(Text, RefutedPromise_IsAWarning) {
  EXPECT_THAT(conclusions_text(light_of("model,behaviour=a1-off=1us", "audit")),
              AllOf(HasSubstr("refuted    A1"), HasSubstr("do not lease memory")));
  EXPECT_THAT(conclusions_text(light_of("model", "audit")), Not(HasSubstr("do not lease")));
}

TEST(Text, OfAModel_SaysThatItIsNoCard) {
  const auto facts = light_of("model", "bring-up");
  EXPECT_THAT(device_line(facts.device), HasSubstr("emulated, not a card"));
  EXPECT_THAT(conclusions_text(facts), HasSubstr("nothing of this is about a card"));
}

TEST(Text, CommandThatNobodyWaitsFor_HasNoTimeOfTheDevice) {
  light::Facts facts = light_of("model,timing=cx5-16.35.4506", "bring-up");
  const auto pages =
      std::ranges::find(facts.commands, "MANAGE_PAGES", &light::CommandFact::command);
  ASSERT_NE(pages, facts.commands.end());
  EXPECT_GT(pages->answered, 0U);
  EXPECT_EQ(pages->most_ns, 0U);
  pages->most_ns = 5'000'000'000;  // as bundles had it that were made before
  EXPECT_THAT(figures_text(facts),
              AllOf(HasSubstr("nobody waits for its answer"), Not(HasSubstr("5.00 s"))));
  EXPECT_THAT(page_of(facts), Not(HasSubstr(">MANAGE_PAGES</text>")));
}

TEST(Text, CacheWhoseTimeANakHides_IsSaidToBeAssumed) {
  const auto hidden = light_of("model,behaviour=dispatch-cache=700", "plans");
  EXPECT_THAT(conclusions_text(hidden), HasSubstr("assumed: a model of this bundle"));
  EXPECT_THAT(page_of(hidden), HasSubstr("serves for 500 ms"));
  const auto silent = light_of("model", "plans");
  EXPECT_THAT(conclusions_text(silent), Not(HasSubstr("assumed")));
  EXPECT_THAT(page_of(silent), Not(HasSubstr("500 ms")));
}

TEST(Page, WordsOfADevice_AreNoMarkup) {
  light::Facts facts;
  facts.device.firmware = "<script>alert(1)</script>";
  facts.steps = {{.name = "key", .state = "failed", .why = "<img src=x>"}};
  facts.commands = {{.command = "<b>", .answered = 1, .least_ns = 1, .median_ns = 2, .most_ns = 3}};
  EXPECT_THAT(page_of(facts), AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<img")),
                                    Not(HasSubstr("<b>\"")), HasSubstr("&lt;script&gt;")));
}

TEST(Page, OfARun_HasEveryHypothesisAndNeedsNoNetwork) {
  const auto facts = light_of("model,timing=cx5-16.35.4506,behaviour=data-path-ns=1000");
  const std::string page = page_of(facts);
  for (const auto& each : light::conclude(facts)) EXPECT_THAT(page, HasSubstr(each.sentence));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("src=")), Not(HasSubstr("href=")), Not(HasSubstr("url(")),
                          Not(HasSubstr("<script"))));
}

}  // namespace
}  // namespace portcullis::tools::first_light
