// SPDX-License-Identifier: BSD-3-Clause
//
// Facts come back from text as they were, and whatever are none are one line.
#include "light/facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/light/quick_run.hpp"

namespace portcullis::light {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Facts, AsJson_ComeBackAsTheyWere) {
  const Facts facts = testing::light_of("model,timing=cx5-16.35.4506,behaviour=data-path-ns=1000");
  const std::string text = to_json(facts);
  const auto back = facts_from_json(text, "facts.json");
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(to_json(*back), text);
  EXPECT_THAT(back->audits, Not(IsEmpty()));
}

/// What was not asked then was not run.
TEST(Facts, OfTheFirstVersion_AreRead) {
  auto json = nlohmann::json::parse(to_json(testing::light_of("model", "loopback")));
  json["version"] = 1;
  json.erase("reach");
  json.erase("peer");
  json.erase("crash_dumps");
  json["device"].erase("is_virtual_function");
  json["floor"].erase("value");
  const auto old = facts_from_json(json.dump(), "a");
  ASSERT_TRUE(old) << old.error().text;
  EXPECT_TRUE(old->loopback.short_write);
  EXPECT_EQ(testing::of(*old, "forced-loopback").answer, Answer::NotRun);
}

TEST(Facts, OfManyBytes_AreRefused) {
  const auto many = facts_from_json(std::string(kMostFactsBytes + 1, ' '), "a");
  ASSERT_FALSE(many);
  EXPECT_THAT(many.error().text, HasSubstr("at most 8388608"));
}

TEST(Facts, OfAnotherVersionOrShape_AreRefusedWithTheMember) {
  const auto newer = facts_from_json(R"({"version": 4})", "b: facts.json");
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().text, "b: facts.json: version 4; 1 to 3 are accepted");
  EXPECT_FALSE(facts_from_json(R"({"version": 0})", "b"));
  const auto without = facts_from_json(R"({"version": 1})", "b: facts.json");
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().text, AllOf(HasSubstr("device"), Not(HasSubstr("\n"))));
  EXPECT_FALSE(facts_from_json("[]", "b"));
  EXPECT_FALSE(facts_from_json("{", "b"));
}

struct Hostile {
  const char* from;
  const char* to;
  const char* said;
};

class HostileFacts : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileFacts, AreRefusedInOneLineWithTheMember) {
  std::string text = to_json(Facts{});
  const std::string from = GetParam().from;
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos);
  const auto read = facts_from_json(text.replace(at, from.size(), GetParam().to), "facts.json");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text, AllOf(HasSubstr("facts.json: "), HasSubstr(GetParam().said),
                                       Not(HasSubstr("\n")), Not(HasSubstr("\033"))));
}

INSTANTIATE_TEST_SUITE_P(
    Members, HostileFacts,
    ::testing::Values(Hostile{"\"writes\": 0", "\"writes\": -1", "writes: -1; a whole number"},
                      Hostile{"\"writes\": 0", "\"writes\": 1e300", "writes: 1e+300; a whole"},
                      Hostile{"\"writes\": 0", "\"writes\": 1.5", "writes: 1.5; a whole number"},
                      Hostile{"\"writes\": 0", "\"writes\": 18446744073709551616", "writes: "},
                      Hostile{"\"writes\": 0", "\"writes\": NaN", "parse error"},
                      Hostile{"\"writes\": 0", "\"writes\": \"many\"", "number"},
                      Hostile{"\"writes\": 0", "\"\\u001b[2J\": -1", "?[2J: -1"},
                      Hostile{"\"version\": 3", "\"version\": 2.0", "version: 2.0; a whole"},
                      Hostile{"\"plans\": []", "\"plans\": {}", "array"},
                      Hostile{"\"plans\": []", "\"plans\": [[[[[[[[[[]]]]]]]]]]", "deeper"}));

TEST(HostileFacts, OfAMillionBrackets_AreOneLine) {
  const auto read = facts_from_json(std::string(1'000'000, '['), "facts.json");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text, Not(HasSubstr("\n")));
}

/// Nothing of a stranger's moves the cursor of who looks at it, or makes a line that looks like
/// ours.
TEST(HostileFacts, WordsWithControlCharacters_AreReadAsPlainOnes) {
  Facts facts;
  facts.device.firmware = "1\033[2J\nconfirmed  A1";
  facts.steps = {{.name = "audit",
                  .state = "failed",
                  .why = "\xc2\x9b"
                         "2J\r\x7f"}};
  facts.plans = {{.plan = "seed", .status = -1}};
  const auto read = facts_from_json(to_json(facts), "facts.json");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->device.firmware, "1?[2J?confirmed  A1");
  EXPECT_EQ(read->steps.front().why, "??2J??");
  EXPECT_EQ(read->plans.front().status, -1);
}

}  // namespace
}  // namespace portcullis::light
