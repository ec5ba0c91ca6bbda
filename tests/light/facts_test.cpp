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

TEST(Facts, OfPlansBeforeTheFourthVersion_HaveNothingInView) {
  auto json = nlohmann::json::parse(to_json(testing::light_of("model", "plans")));
  json["version"] = 3;
  for (auto& plan : json["plans"]) plan.erase("watched");
  for (auto& plan : json["plans"]) plan.erase("client_uncertainty_ns");
  for (auto& plan : json["plans"]) plan.erase("late_ns");
  const auto old = facts_from_json(json.dump(), "a");
  ASSERT_TRUE(old) << old.error().text;
  EXPECT_EQ(testing::of(*old, "contract").answer, Answer::Confirmed);
  EXPECT_EQ(testing::of(*old, "unchanged").answer, Answer::Undecided);
  json["version"] = 4;
  EXPECT_FALSE(facts_from_json(json.dump(), "a"));
}

TEST(Facts, OfManyBytes_AreRefused) {
  const auto many = facts_from_json(std::string(kMostFactsBytes + 1, ' '), "a");
  ASSERT_FALSE(many);
  EXPECT_THAT(many.error().text, HasSubstr("at most 8388608"));
}

TEST(Facts, OfAnotherVersionOrShape_AreRefusedWithTheMember) {
  const auto newer = facts_from_json(R"({"version": 6})", "b: facts.json");
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().text, "b: facts.json: version 6; 1 to 5 are accepted");
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
                      Hostile{"\"writes\": 0", "\"writes\": NaN", "no JSON from byte "},
                      Hostile{"\"writes\": 0", "\"writes\": \"many\"", "number"},
                      Hostile{"\"writes\": 0", "\"\\u001b[2J\": -1", "?[2J: -1"},
                      Hostile{"\"version\": 5", "\"version\": 2.0", "version: 2.0; a whole"},
                      Hostile{"\"plans\": []", "\"plans\": {}", "array"},
                      Hostile{"\"plans\": []", "\"plans\": [[[[[[[[[[]]]]]]]]]]", "deeper"}));

// ---- Facts that cannot all be so ----------------------------------------------------------------

/// A run of everything that any device could have left.
Facts plain_facts() {
  const PlanFact plan{.plan = "seed",
                      .revokes = 3,
                      .torn_down = 2,
                      .as_promised = 2,
                      .median_ns = 5,
                      .most_ns = 6,
                      .failed_clients = 1,
                      .status = 12,
                      .client_median_ns = 9,
                      .watched = 3};
  Facts facts;
  for (const char* const step : {"audit", "plans", "floor", "peer"})
    facts.steps.push_back({.name = step, .state = "done", .why = {}});
  facts.commands = {{.command = "2ERR_QP",
                     .answered = 2,
                     .least_ns = 1,
                     .median_ns = 2,
                     .p99_ns = 0,
                     .most_ns = 3}};
  facts.plans = {plan};
  facts.floor = {.is_run = true, .points = 7, .mechanism = "budget"};
  facts.audits = {{.plan = "umr",
                   .verdict = "held",
                   .fences = 9,
                   .under_load = 8,
                   .watched = 9,
                   .look_median_ns = 4,
                   .look_most_ns = 4}};
  facts.peer = {.is_run = true,
                .leases = 12,
                .reached = 11,
                .ended = 10,
                .posted_late = 4,
                .perhaps_late = 6,
                .plans = {plan},
                .floor = {.is_run = true, .points = 8, .mechanism = "nak"}};
  facts.crash_dumps = {{.step = "end", .state = "none", .why = "held"}};
  return facts;
}

TEST(Facts, ThatCanAllBeSo_AreRead) {
  const auto read = facts_from_json(to_json(plain_facts()), "f");
  EXPECT_TRUE(read) << read.error().text;
}

struct Contradiction {
  const char* name;
  void (*make)(Facts& facts);
  const char* said;
};

class ContradictingFacts : public ::testing::TestWithParam<Contradiction> {};

TEST_P(ContradictingFacts, AreRefusedWithBothSides) {
  Facts facts = plain_facts();
  GetParam().make(facts);
  const auto read = facts_from_json(to_json(facts), "f");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().text, std::string("f: ") + GetParam().said);
}

INSTANTIATE_TEST_SUITE_P(
    Of, ContradictingFacts,
    ::testing::Values(
        Contradiction{"Plan", [](Facts& facts) { facts.plans[0].torn_down = 4; },
                      "plan seed: torn_down 4; at most revokes, 3, is accepted"},
        Contradiction{"Median", [](Facts& facts) { facts.plans[0].median_ns = 7; },
                      "plan seed: median_ns 7; at most most_ns, 6, is accepted"},
        Contradiction{"Watched", [](Facts& facts) { facts.plans[0].watched = 4; },
                      "plan seed: watched 4; at most revokes, 3, is accepted"},
        Contradiction{"ServedLate",
                      [](Facts& facts) {
                        facts.plans[0].watched = 1;
                        facts.plans[0].served_late = 2;
                      },
                      "plan seed: served_late 2; at most watched, 1, is accepted"},
        Contradiction{"Promised", [](Facts& facts) { facts.plans[0].torn_down = 0; },
                      "plan seed: as_promised 2; as many as torn_down, 0, are accepted"},
        Contradiction{"Fences64",
                      [](Facts& facts) { facts.audits[0].fences = 18446744073709551615U; },
                      "fences: 18446744073709551615; at most 1099511627776 is accepted"},
        Contradiction{"Time",
                      [](Facts& facts) { facts.commands[0].most_ns = 9223372036854775808U; },
                      "most_ns: 9223372036854775808; at most 1000000000000000 is accepted"},
        Contradiction{"Executed", [](Facts& facts) { facts.audits[0].executed = 10; },
                      "audit umr: executed 10; at most fences, 9, is accepted"},
        Contradiction{"MedianOfNone",
                      [](Facts& facts) { facts.loopback.median_ns = facts.loopback.most_ns = 7; },
                      "loopback: median_ns 7 of writes 0; none is accepted"},
        Contradiction{"TwoMechanisms",
                      [](Facts& facts) {
                        facts.floor.mechanism = "cache plus budget";
                        facts.floor.explanation = "fixed total";
                      },
                      "floor: explanation \"fixed total\" beside mechanism \"cache plus "
                      "budget\""},
        Contradiction{"Command", [](Facts& facts) { facts.commands[0].least_ns = 3; },
                      "2ERR_QP: least_ns 3; at most median_ns, 2, is accepted"},
        Contradiction{"Reached", [](Facts& facts) { facts.peer.reached = 13; },
                      "peer: reached 13; at most leases, 12, is accepted"},
        Contradiction{"PostedLate", [](Facts& facts) { facts.peer.posted_late = 99; },
                      "peer: posted_late 99; at most ended, 10, is accepted"},
        Contradiction{"PerhapsLate", [](Facts& facts) { facts.peer.perhaps_late = 7; },
                      "peer: perhaps_late 7; at most ended less posted_late, 6, is accepted"},
        Contradiction{"Points", [](Facts& facts) { facts.peer.floor.points = 9; },
                      "peer: floor: points 9; at most reached and in no plan, 8, is accepted"},
        Contradiction{"Held", [](Facts& facts) { facts.audits[0].late_writes = 1; },
                      "audit umr: verdict \"held\" beside fences with late writes or reads"},
        Contradiction{"Fences", [](Facts& facts) { facts.audits[0].under_load = 10; },
                      "audit umr: under_load 10; at most fences, 9, is accepted"},
        Contradiction{"Verdict", [](Facts& facts) { facts.audits[0].verdict = "fine"; },
                      "audit umr: verdict: \"fine\"; accepted: \"held\" \"broken\" \"no "
                      "evidence\""},
        Contradiction{"HeldOfNone",
                      [](Facts& facts) { facts.audits[0] = {.plan = "umr", .verdict = "held"}; },
                      "audit umr: verdict \"held\" of no fence"},
        Contradiction{"BrokenByNothing", [](Facts& facts) { facts.audits[0].verdict = "broken"; },
                      "audit umr: verdict \"broken\" and nothing that was late"},
        Contradiction{"Twice", [](Facts& facts) { facts.audits.push_back(facts.audits[0]); },
                      "audits: \"umr\" a second time; once is accepted"},
        Contradiction{"NotRun", [](Facts& facts) { facts.steps[0].state = "not run"; },
                      "audit: facts of a step that was not run; none are accepted"},
        Contradiction{"NotAsked", [](Facts& facts) { facts.steps.pop_back(); },
                      "peer: facts of a step that was not run; none are accepted"},
        Contradiction{"NoPoint", [](Facts& facts) { facts.floor.points = 0; },
                      "floor: no point; one or more are accepted"},
        Contradiction{"BudgetThatDoesNotFit",
                      [](Facts& facts) { facts.floor.explanation = "fixed total"; },
                      "floor: mechanism \"budget\" beside budget_fits false"},
        Contradiction{"State", [](Facts& facts) { facts.steps[0].state = "half"; },
                      "step audit: \"half\"; accepted: \"done\" \"failed\" \"not run\""},
        Contradiction{"Mechanism", [](Facts& facts) { facts.floor.mechanism = "x"; },
                      "floor: mechanism: \"x\"; accepted: \"budget\" \"budget without the last "
                      "timeout\" \"minimum timeout, budget\" \"minimum total, budget\" \"fixed "
                      "total\" \"cache plus budget\" \"nak\" \"censored\" \"undecided\""},
        Contradiction{"Dump", [](Facts& facts) { facts.crash_dumps[0].state = ""; },
                      "crash dump behind step end: \"\"; accepted: \"whole\" \"part\" \"none\""}),
    [](const auto& one) { return one.param.name; });

TEST(HostileFacts, OfANumberWithoutEnd_AreAShortLine) {
  const auto read = facts_from_json("{\"version\": " + std::string(1'000'000, '9') + "}", "f");
  ASSERT_FALSE(read);
  EXPECT_LE(read.error().text.size(), 200u);
}

TEST(HostileFacts, OfAnotherType_AreRefusedWithThePlace) {
  std::string text = to_json(plain_facts());
  const std::string good = "\"revokes\": 3";
  const auto read =
      facts_from_json(text.replace(text.find(good), good.size(), "\"revokes\": []"), "f");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text, HasSubstr("/revokes)"));
}

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
  facts.steps.push_back({.name = "plans", .state = "done", .why = {}});
  facts.plans = {{.plan = "seed", .status = -1}};
  const auto read = facts_from_json(to_json(facts), "facts.json");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->device.firmware, "1?[2J?confirmed  A1");
  EXPECT_EQ(read->steps.front().why, "??2J??");
  EXPECT_EQ(read->plans.front().status, -1);
}

}  // namespace
}  // namespace portcullis::light
