// SPDX-License-Identifier: BSD-3-Clause
//
// What may stand after behaviour=, and what is said of it.
#include "model/behaviours.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "model/model.hpp"

namespace portcullis::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Behaviours, NoWord_EverythingIsOff) {
  const auto chosen = find_behaviours({}, "instant");
  ASSERT_TRUE(chosen.has_value());
  EXPECT_FALSE(chosen->page_starved);
  EXPECT_FALSE(chosen->slow_init_ms.has_value());
  EXPECT_EQ(chosen->names, "none");
}

TEST(Behaviours, Words_AreSetAndNamedInTheTablesOrder) {
  const auto chosen = find_behaviours({"never-ready", "slow-init=20", "page-starved"}, "instant");
  ASSERT_TRUE(chosen.has_value());
  EXPECT_TRUE(chosen->page_starved);
  EXPECT_TRUE(chosen->never_ready);
  EXPECT_EQ(chosen->slow_init_ms, 20u);
  EXPECT_EQ(chosen->names, "page-starved+slow-init=20+never-ready");
}

TEST(Behaviours, NumberWithoutValue_TakesItsPreset) {
  EXPECT_EQ(find_behaviours({"slow-init"}, "instant")->slow_init_ms, 3000u);
}

TEST(Behaviours, Times_TakeAUnitAndAreNamedInTheLargestThatIsExact) {
  const auto ns_of = [](const char* word) { return find_behaviours({word}, "instant")->a1_off_ns; };
  EXPECT_EQ(ns_of("a1-off"), 0u);
  EXPECT_EQ(ns_of("a1-off=100ns"), 100u);
  EXPECT_EQ(ns_of("a1-off=1us"), 1'000u);
  EXPECT_EQ(ns_of("a1-off=60000ms"), 60'000'000'000u);
  EXPECT_EQ(find_behaviours({"a1-off=10000ns"}, "instant")->names, "a1-off=10us");
  EXPECT_EQ(find_behaviours({"a1-off"}, "instant")->names, "a1-off");
}

TEST(Behaviours, Off_TakesBackWhatAnEarlierWordSet) {
  const auto chosen =
      find_behaviours({"slow-init=20", "page-starved", "slow-init=off", "page-starved=off"}, "");
  ASSERT_TRUE(chosen.has_value());
  EXPECT_FALSE(chosen->slow_init_ms.has_value());
  EXPECT_FALSE(chosen->page_starved);
}

struct RefusedWord {
  const char* word;
  const char* text;
};

struct BehaviourRefusalTest : ::testing::TestWithParam<RefusedWord> {};

TEST_P(BehaviourRefusalTest, NamesTheWordAndWhatIsAccepted) {
  const auto refused = find_behaviours({"page-starved", GetParam().word}, "instant");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::InvalidArgument);
  EXPECT_THAT(refused.error().text, StartsWith(GetParam().text));
}

constexpr const char* kSlowInit = "accepted: slow-init=1-600000 (ms), slow-init=off";
constexpr const char* kLoss = "accepted: loss=0-1, loss=off";
constexpr const char* kA1Off =
    "accepted: a1-off[=TIME] (1ns to 60000ms, as in 100ns, 1us, 2ms), a1-off=off";
constexpr const char* kPageStarved = "accepted: page-starved, page-starved=off";

INSTANTIATE_TEST_SUITE_P(
    Words, BehaviourRefusalTest,
    ::testing::Values(RefusedWord{"magic", "unknown behaviour 'magic'; accepted: page-starved, "},
                      RefusedWord{"", "unknown behaviour ''; accepted: "},
                      RefusedWord{"magic=1", "unknown behaviour 'magic'; accepted: "}));

struct BehaviourValueTest : ::testing::TestWithParam<RefusedWord> {};

TEST_P(BehaviourValueTest, NamesTheValueAndWhatIsAccepted) {
  const auto refused = find_behaviours({GetParam().word}, "instant");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().text,
            "behaviour '" + std::string(GetParam().word) + "'; " + GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Values, BehaviourValueTest,
    ::testing::Values(RefusedWord{"slow-init=", kSlowInit}, RefusedWord{"slow-init=0", kSlowInit},
                      RefusedWord{"slow-init=600001", kSlowInit},
                      RefusedWord{"slow-init=-1", kSlowInit},
                      RefusedWord{"slow-init=3s", kSlowInit},
                      RefusedWord{"slow-init=99999999999999999999", kSlowInit},
                      RefusedWord{"a1-off=", kA1Off}, RefusedWord{"a1-off=1", kA1Off},
                      RefusedWord{"a1-off=0ns", kA1Off}, RefusedWord{"a1-off=us", kA1Off},
                      RefusedWord{"a1-off=1.5us", kA1Off}, RefusedWord{"a1-off=60001ms", kA1Off},
                      RefusedWord{"a1-off=18446744073709551615ms", kA1Off},
                      RefusedWord{"page-starved=1", kPageStarved}, RefusedWord{"loss", kLoss},
                      RefusedWord{"loss=", kLoss}, RefusedWord{"loss=1.1", kLoss},
                      RefusedWord{"loss=-0.1", kLoss}, RefusedWord{"loss=nan", kLoss},
                      RefusedWord{"loss=10%", kLoss}, RefusedWord{"page-starved=", kPageStarved}));

TEST(Behaviours, Shares_AreNamedAsShortAsTheyAreExact) {
  const auto chosen = find_behaviours({"corrupt=1e-3", "loss=0.10", "duplicate=1"}, "instant");
  ASSERT_TRUE(chosen.has_value());
  EXPECT_EQ(chosen->loss, 0.1);
  EXPECT_EQ(chosen->names, "loss=0.1+duplicate=1+corrupt=0.001");
}

TEST(Behaviours, ShareTakenBack_IsNotNamed) {
  EXPECT_EQ(find_behaviours({"loss=0.1", "loss=off"}, "instant")->names, "none");
}

TEST(Behaviours, Help_HasALineForEveryOne) {
  const std::string help = behaviour_help();
  for (const std::string_view name : behaviour_names())
    EXPECT_THAT(help, HasSubstr("  " + std::string(name)));
  EXPECT_EQ(static_cast<std::size_t>(std::count(help.begin(), help.end(), '\n')),
            behaviour_names().size());
}

TEST(Behaviours, InForce_SaysWhatAModelOfTheseOptionsHas) {
  EXPECT_EQ(behaviours_in_force({.behaviours = {"slow-init"}}).value(), "slow-init=3000");
  EXPECT_THAT(behaviours_in_force({.behaviours = {"magic"}}).error().text,
              AllOf(HasSubstr("magic"), Not(HasSubstr("\n"))));
}

}  // namespace
}  // namespace portcullis::model
