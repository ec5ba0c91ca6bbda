// SPDX-License-Identifier: BSD-3-Clause
//
// Protocols as text: the built-in ones are files that give the same states, the ready ones have the
// verdicts that docs/failover.md states, and what a file has not is named with its line.
#include "failover/protocols/text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "failover/explore/verdict.hpp"
#include "failover/protocols/table.hpp"
#include "tests/failover/support.hpp"

namespace portcullis::failover {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string file_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(PORTCULLIS_PROTOCOLS + ("/" + path)).rdbuf();
  return text.str();
}

std::string plain_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

constexpr Environment kAll[] = {Environment::Quiet, Environment::Reuse, Environment::OtherWriters,
                                Environment::Aba};

ProtocolText built_in(const ModelInfo& model) {
  ProtocolText text{
      std::string(model.name), std::string(model.idea), std::string(model.assumption), {}};
  for (const Environment environment : kAll) {
    Parameters parameters = raised_to_model(model, {});
    parameters.environment = environment;
    text.environments.push_back({name_of(environment), make_model(model.name, parameters).value()});
  }
  return text;
}

std::vector<std::string> counts_of(const ProtocolText& text) {
  std::vector<std::string> counts;
  for (const NamedScenario& one : text.environments) {
    const Exploration e = explore(compile(one.scenario).value(), {}).value();
    counts.push_back(fmt::format("{} {} {} {} {} {}", one.environment, name_of(e.violation),
                                 e.states, e.transitions, e.depth, e.stuck));
  }
  return counts;
}

class BuiltIn : public ::testing::TestWithParam<ModelInfo> {};

TEST_P(BuiltIn, File_IsWhatTheModelWrites) {
  EXPECT_EQ(file_of("protocols/" + std::string(GetParam().name) + ".json"),
            write_protocol(built_in(GetParam())));
}

TEST_P(BuiltIn, File_GivesTheSameStatesInEachEnvironment) {
  const std::string path = "protocols/" + std::string(GetParam().name) + ".json";
  EXPECT_EQ(counts_of(read_protocol(file_of(path), path).value()), counts_of(built_in(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Models, BuiltIn, ::testing::ValuesIn(models()),
                         [](const auto& info) { return plain_name(std::string(info.param.name)); });

struct ReadyRow {
  const char* file;
  const char* environment;
  const char* verdict;
  const char* violation;
};

class Ready : public ::testing::TestWithParam<ReadyRow> {};

TEST_P(Ready, Verdict_IsTheDocumentedOne) {
  const std::string path = fmt::format("ready/{}.json", GetParam().file);
  const ProtocolText text = read_protocol(file_of(path), path).value();
  const Machine machine = compile(text.in(GetParam().environment).value()).value();
  const Judged judged = judge_protocol(machine, {}).value();
  EXPECT_STREQ(name_of(judged.verdict()), GetParam().verdict);
  EXPECT_STREQ(name_of(judged.explored.violation), GetParam().violation);
}

TEST_P(Ready, WrittenAgain_IsTheSameMachine) {
  const std::string path = fmt::format("ready/{}.json", GetParam().file);
  const ProtocolText text = read_protocol(file_of(path), path).value();
  EXPECT_EQ(counts_of(read_protocol(write_protocol(text), "again").value()), counts_of(text));
}

INSTANTIATE_TEST_SUITE_P(
    Files, Ready,
    ::testing::Values(ReadyRow{"write-imm-chain", "quiet", "refuted", "duplicate-notification"},
                      ReadyRow{"write-imm-chain", "reuse", "refuted", "ghost-write"},
                      ReadyRow{"receive-counter", "quiet", "safe", "none"},
                      ReadyRow{"receive-counter", "reuse", "safe", "none"},
                      ReadyRow{"receive-counter-unfenced", "reuse", "refuted",
                               "duplicate-notification"},
                      ReadyRow{"credit-ring", "polled", "safe", "none"},
                      ReadyRow{"credit-ring-unfenced", "polled", "refuted", "at-most-once"},
                      ReadyRow{"cas-lock", "quiet", "gives-up", "none"},
                      ReadyRow{"cas-lock", "lease", "refuted", "assertion"},
                      ReadyRow{"batch-transfer", "reuse", "gives-up", "none"},
                      ReadyRow{"batch-transfer-unfenced", "reuse", "refuted", "ghost-write"},
                      ReadyRow{"same-address", "quiet", "refuted", "placement-order"}),
    [](const auto& info) {
      return plain_name(fmt::format("{}_{}", info.param.file, info.param.environment));
    });

TEST(ReadyModels, ReceiverThatIsBehindWhenAsked_BreaksTheCounter) {
  const std::string text = file_of("ready/receive-counter.json");
  const ProtocolText prompt = read_protocol(text, "prompt").value();
  Scenario slow = prompt.in("quiet").value();
  for (Instruction& i : slow.program) i.after_receiver = false;
  EXPECT_EQ(explore(compile(slow).value(), {}).value().violation, Violation::DuplicateNotification);
}

constexpr std::string_view kGood = R"({
  "protocol": "p", "own_cells": 1,
  "work_requests": [
    {"name": "W", "opcode": "WRITE", "cell": {"own": 0}, "operand": 1},
    {"name": "V", "opcode": "WRITE", "cell": {"own": 0}, "operand": 2}
  ],
  "steps": [
    {"label": "a", "post": "W"},
    {"await": "W", "on_timeout": "z"},
    {"label": "y", "post": "V", "then": "z"},
    {"label": "z", "end": true}
  ],
  "environments": {"quiet": {},
    "busy": {"others": [{"name": "o", "cell": {"own": 0}, "becomes": 3}]}}
})";

TEST(ProtocolText, WithoutABlemish_IsRead) {
  const ProtocolText text = read_protocol(kGood, "p.json").value();
  EXPECT_EQ(text.name, "p");
  EXPECT_EQ(text.environments.size(), 2U);
  EXPECT_THAT(text.in("loud").error().text,
              HasSubstr("'loud' is none of p's, accepted are quiet, busy"));
}

struct Slip {
  const char* name;
  const char* from;
  const char* to;
  const char* says;
};

class RefusedText : public ::testing::TestWithParam<Slip> {};

TEST_P(RefusedText, OneLine_NamesFileLineAndField) {
  std::string text(kGood);
  const std::size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string_view(GetParam().from).size(), GetParam().to);
  const auto refused = read_protocol(text, "p.json");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().text, StartsWith("p.json:"));
  EXPECT_THAT(refused.error().text, HasSubstr(GetParam().says));
  EXPECT_EQ(refused.error().text.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Slips, RefusedText,
    ::testing::Values(
        Slip{"UnknownField", "\"own_cells\"", "\"own_cels\"", "p.json:2: own_cels: no such field"},
        Slip{"NoSteps", "\"steps\"", "\"$schema\"", "p.json:1: no \"steps\""},
        Slip{"UnknownOpcode", "\"WRITE\"", "\"WIRTE\"", "WIRTE\"; one of WRITE, READ"},
        Slip{"CellOutside", "\"own\": 0}", "\"own\": 1}", "p.json:4: work_requests[0].cell.own"},
        Slip{"NoOperand", ", \"operand\": 1", "", "no \"operand\""},
        Slip{"RequestThatIsNot", "\"post\": \"W\"", "\"post\": \"X\"",
             "p.json:8: steps[0].post: \"X\"; one of W, V is accepted"},
        Slip{"LabelThatIsNot", "\"on_timeout\": \"z\"", "\"on_timeout\": \"q\"",
             "p.json:9: steps[1].on_timeout: \"q\"; one of the labels a, y, z is accepted"},
        Slip{"LabelTwice", "\"label\": \"y\"", "\"label\": \"a\"", "a label that no earlier"},
        Slip{"TwoVerbs", "\"post\": \"W\"", "\"post\": \"W\", \"fence\": 0", "a second of them"},
        Slip{"NoVerb", "\"post\": \"V\", ", "", "none of post, await"},
        Slip{"StepWithoutEnd", "\"then\": \"z\"", "\"then\": \"y\"",
             "p.json:10: steps[2]: no step from here on leads to an end"},
        Slip{"PostedTwice", "\"then\": \"z\"", "\"then\": \"a\"", "W can be posted twice"},
        Slip{"AwaitedBeforePosted", "\"await\": \"W\"", "\"await\": \"V\"",
             "not posted on every way"},
        Slip{"QuestionWithoutElse", "\"await\": \"W\"", "\"await\": \"W\", \"is\": {\"equals\": 1}",
             "without \"else\""},
        Slip{"FieldThatSaysNothing", "\"then\": \"z\"", "\"then\": \"z\", \"else\": \"a\"",
             "says nothing in such a step"},
        Slip{"NameTwice", "\"name\": \"V\"", "\"name\": \"W\"", "a name that no other has"},
        Slip{"NoEnvironment", "\"quiet\": {}", "\"quiet\": {\"recever\": []}",
             "no such field; accepted are receiver, others, budget"},
        Slip{"TooManyClients", "\"own_cells\": 1", "\"own_cells\": 1, \"clients\": 9",
             "from 0 to 8"},
        Slip{"TagBeyondItsRange", "\"label\": \"y\", \"post\": \"V\"",
             "\"test\": {\"own_tag\": 4294967297}, \"else\": \"z\"", "from 0 to 1000"},
        Slip{"AssertionOfNothing", "\"label\": \"y\", \"post\": \"V\"", "\"assert\": {\"own\": 0}",
             "p.json:10: steps[2]: an assertion that holds"},
        Slip{"RequestThatIsNeverPosted", "\"label\": \"y\", \"post\": \"V\"",
             "\"label\": \"y\", \"fence\": 0", "p.json:5: work_requests[1]: no step posts it"},
        Slip{"PostedWhereOneTimedOut", "\"on_timeout\": \"z\"", "\"on_timeout\": \"y\"",
             "p.json:10: steps[2]: V can be posted on QP 0 after W timed out there"},
        Slip{"AwaitedAfterItCompleted", R"("label": "y", "post": "V", "then": "z")",
             R"("await": "W", "on_timeout": "z"}, {"post": "V", "then": "z")",
             "p.json:10: steps[2]: W can be awaited again after it has completed"},
        Slip{"NameOfNothing", "\"name\": \"V\"", "\"name\": \"\"", "a name with characters"},
        Slip{"NameWithALine", "\"name\": \"V\"", "\"name\": \"V\\nW\"", "a control character"},
        Slip{"EnvironmentWithALine", "\"quiet\": {}", "\"qui\\net\": {}", "a control character"},
        Slip{"ProtocolWithAnEscape", "\"p\"", "\"\\u001b[2J\"", "a control character"},
        Slip{"NumberForAName", "\"post\": \"W\"", "\"post\": 5", "5; one of W, V is accepted"}),
    [](const auto& info) { return info.param.name; });

/// The good text with one part in the place of another.
std::string with(std::string_view from, std::string_view to) {
  std::string text(kGood);
  return text.replace(text.find(from), from.size(), to);
}

TEST(ProtocolText, QueuePairOutOfItsOrder_IsRefused) {
  std::string text = with(R"("post": "V")", R"("post": "?")");
  for (const std::string_view from : {R"("post": "W")", R"("await": "W")"})
    text.replace(text.find(from) + from.size() - 2, 1, "V");
  text.replace(text.find('?'), 1, "W");
  EXPECT_THAT(read_protocol(text, "p.json").error().text,
              HasSubstr("V can be posted without W, which stands before it on QP 0"));
}

/// With a history, and W and V as two attempts at one operation.
std::string with_history() {
  std::string text = with(R"("protocol": "p",)", R"("judge": {"history": true}, "protocol": "p",)");
  return text.replace(text.find(R"("operand": 2)"), 12, R"("operand": 1)");
}

struct Unlike {
  const char* name;
  const char* from;
  const char* to;
  const char* says;
};

class HistoryOfUnlikeAttempts : public ::testing::TestWithParam<Unlike> {};

TEST_P(HistoryOfUnlikeAttempts, IsRefusedWithFileLineAndField) {
  std::string text = with_history();
  const std::size_t second = text.find(R"("name": "V")");
  text.replace(text.find(GetParam().from, second), std::string_view(GetParam().from).size(),
               GetParam().to);
  EXPECT_THAT(read_protocol(text, "p.json").error().text, StartsWith(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, HistoryOfUnlikeAttempts,
    ::testing::Values(Unlike{"Opcode", R"("WRITE")", R"("WRITE_WITH_IMM")",
                             "p.json:5: work_requests[1].opcode: with \"history\""},
                      Unlike{"Cell", R"({"own": 0})", R"({"shared": 0})",
                             "p.json:5: work_requests[1].cell: with \"history\""},
                      Unlike{"Operand", R"("operand": 1)", R"("operand": 2)",
                             "p.json:5: work_requests[1].operand: with \"history\""}),
    [](const auto& info) { return info.param.name; });

TEST(ProtocolText, HistoryThatTheJudgeCannotTry_IsRefused) {
  const std::string one = with_history();
  std::string many = one;
  many.insert(many.find(R"("protocol")"), R"("clients": 3, )");
  EXPECT_THAT(read_protocol(many, "p.json").error().text, HasSubstr("budget is 9, at most 8"));
  EXPECT_TRUE(read_protocol(one, "p.json").has_value());
  const std::string twice = R"("quiet": {"receiver": [{"consume": 1, "cell": 0},
                                                      {"consume": 1, "cell": 0}]})";
  std::string receiver = one;
  receiver.replace(receiver.find(R"("quiet": {})"), 11, twice);
  EXPECT_THAT(read_protocol(receiver, "p.json").error().text, HasSubstr("one \"consume\""));
}

TEST(ProtocolText, HistoryBesideWhatTheJudgeDoesNotKnow_IsRefused) {
  const std::string text = with_history();
  std::string record = text;
  record.insert(record.find(R"("name": "W")"), R"("record": 0, )");
  EXPECT_THAT(read_protocol(record, "p.json").error().text, HasSubstr("W has \"record\""));
  std::string uncounted = text;
  uncounted.insert(uncounted.find(R"("name": "W")"), R"("counted": false, )");
  EXPECT_THAT(read_protocol(uncounted, "p.json").error().text,
              HasSubstr("all that changes cells counts: W does not"));
  std::string set = text;
  set.replace(set.find(R"("quiet": {})"), 11, R"("quiet": {"receiver": [{"set": 3, "cell": 0}]})");
  EXPECT_THAT(read_protocol(set, "p.json").error().text, HasSubstr("and not \"set\""));
}

TEST(ProtocolText, HistoryOfAnOperationThatIsToldTwice_IsRefused) {
  std::string text = with_history();
  const std::string end = R"({"label": "z", "end": true})";
  text.replace(text.find(end), end.size(), R"({"label": "z", "report": "done"}, {"report": "done"},
                                              {"end": true})");
  EXPECT_THAT(read_protocol(text, "p.json").error().text,
              HasSubstr("an operation is reported once"));
}

TEST(ProtocolText, HistoryOfAnOperationWithoutARequestThatCounts_IsRefused) {
  std::string text = with_history();
  for (const std::string_view name : {R"("name": "W")", R"("name": "V")"})
    text.insert(text.find(name), R"("counted": false, )");
  EXPECT_THAT(read_protocol(text, "p.json").error().text,
              HasSubstr("a work request that counts, and 0 has none"));
}

TEST(ProtocolText, ListsBeyondTheirLength_AreRefusedBeforeTheyAreReadThrough) {
  std::string steps;
  for (int i = 0; i < 100'000; ++i) steps += R"({"label": "a", "fence": 0},)";
  const std::string text = with(R"({"label": "a", "post": "W"},)", steps);
  EXPECT_THAT(read_protocol(text, "p.json").error().text,
              HasSubstr("steps: 100003 items; at most 250 are accepted"));
  std::string others;
  for (int i = 0; i < 300; ++i) others += R"({"name": "o", "cell": {"own": 0}, "becomes": 3},)";
  const std::string busy = R"({"name": "o", "cell": {"own": 0}, "becomes": 3})";
  EXPECT_THAT(read_protocol(with(busy, others + busy), "p.json").error().text,
              HasSubstr("environments.busy.others: 301 items; at most 60 are accepted"));
}

/// What memory may hold in the end, of a text in which a register's word is added or written.
std::set<Word> words_in_memory(const std::string& request) {
  const std::string text = R"({"protocol": "p", "initial": 4294967301, "work_requests": [)" +
                           request + R"(], "steps": [{"probe": {"shared": 0}, "keep": true},
    {"post": "R"}, {"await": "R", "on_timeout": "z"}, {"label": "z", "end": true}]})";
  const Machine machine = compile(read_protocol(text, "p").value().in("").value()).value();
  std::set<Word> words;
  for (const AnyState& state : testing::reachable(machine))
    words.insert(machine.words.at(state.get(machine.shared[0])));
  return words;
}

TEST(ProtocolText, RegisterThatIsAddedOrWrittenAsASequence_MakesWordsThatTheMachineHas) {
  EXPECT_EQ(words_in_memory(R"({"name": "R", "opcode": "FADD", "operand": "register"})"),
            (std::set<Word>{4294967301, 8589934602}));
  EXPECT_EQ(words_in_memory(R"({"name": "R", "opcode": "WRITE", "operand": "register-sequence"})"),
            (std::set<Word>{4294967301, 5}));
}

TEST(ProtocolText, TagThatNamesOneClient_HasNoSymmetry) {
  const std::string text = R"({"protocol": "p", "clients": 2, "work_requests": [
    {"name": "R", "opcode": "CAS", "operand": {"own_tag": 1}, "compare": 4294967297}],
    "steps": [{"post": "R"}, {"await": "R", "on_timeout": "z"}, {"label": "z", "end": true}]})";
  const Machine machine = compile(read_protocol(text, "p").value().in("").value()).value();
  EXPECT_TRUE(explore(machine, {}).has_value());
  ExploreOptions alike;
  alike.uses_symmetry = true;
  EXPECT_THAT(explore(machine, alike).error().text,
              HasSubstr("symmetry with a word that is one client's tag"));
}

/// A FADD of client 0's tag, and a client that asserts where it finds `tag` of its own.
Machine adds_a_tag_and_asks_for(unsigned tag) {
  const std::string text = R"({"protocol": "p", "clients": 2, "own_cells": 1, "work_requests": [
    {"name": "R", "opcode": "FADD", "operand": 4294967297, "record": 0}],
    "steps": [{"post": "R"}, {"query_psn": "R", "then": "look", "else": "z"},
      {"label": "look", "probe": {"shared": 0}, "is": {"own_tag": )" +
                           std::to_string(tag) + R"(}, "then": "ck", "else": "z"},
      {"label": "ck", "assert": {"own": 0}, "is": {"equals": 0}, "then": "z"},
      {"label": "z", "end": true}]})";
  return compile(read_protocol(text, "p").value().in("").value()).value();
}

TEST(ProtocolText, OwnTagThatIsAskedForWhereNoRequestMakesOne_HasNoSymmetry) {
  ExploreOptions alike;
  alike.uses_symmetry = true;
  EXPECT_EQ(explore(adds_a_tag_and_asks_for(1), {}).value().violation, Violation::Assertion);
  EXPECT_THAT(explore(adds_a_tag_and_asks_for(1), alike).error().text,
              HasSubstr("symmetry with a word that is one client's tag"));
}

TEST(ProtocolText, TagThatOnlyASumIs_HasNoSymmetry) {
  const std::string text = R"({"protocol": "p", "clients": 2, "own_cells": 1, "work_requests": [
    {"name": "half", "opcode": "FADD", "operand": 2147483648},
    {"name": "tag", "opcode": "WRITE", "cell": {"own": 0}, "operand": {"own_tag": 1}}],
    "steps": [{"post": "half"}, {"post": "tag"}, {"await": "half", "on_timeout": "z"},
      {"probe": {"shared": 0}, "is": {"own_tag": 0}, "then": "z", "else": "z"},
      {"label": "z", "end": true}]})";
  const Machine machine = compile(read_protocol(text, "p").value().in("").value()).value();
  ExploreOptions alike;
  alike.uses_symmetry = true;
  EXPECT_THAT(explore(machine, alike).error().text,
              HasSubstr("symmetry with a word that is one client's tag"));
}

TEST(ProtocolText, OwnTagThatNoWordIs_LeavesTheClientsAlike) {
  ExploreOptions alike;
  alike.uses_symmetry = true;
  EXPECT_EQ(explore(adds_a_tag_and_asks_for(7), alike).value().violation,
            explore(adds_a_tag_and_asks_for(7), {}).value().violation);
}

/// Three WRITEs on one QP; the second one is awaited first, then as `awaits` says.
Judged judged_where_the_second_completed_and(const std::string& awaits) {
  const std::string text = R"({"protocol": "later-first", "own_cells": 3, "operations": 3,
    "bounds": {"late": 1, "timeouts": 1},
    "work_requests": [
      {"name": "one", "opcode": "WRITE", "operation": 0, "cell": {"own": 0}, "operand": 1},
      {"name": "two", "opcode": "WRITE", "operation": 1, "cell": {"own": 1}, "operand": 1},
      {"name": "three", "opcode": "WRITE", "operation": 2, "cell": {"own": 2}, "operand": 1},
      {"name": "again", "opcode": "WRITE", "operation": 0, "qp": 1, "cell": {"own": 0},
       "operand": 1}],
    "steps": [{"post": "one"}, {"post": "two"}, {"post": "three"},
      {"await": "two", "on_timeout": "end"},)" +
                           awaits + R"(
      {"label": "repost", "post": "again"}, {"await": "again", "then": "tell"},
      {"label": "tell", "report": "done", "operation": 0},
      {"report": "done", "operation": 1}, {"label": "end", "end": true}]})";
  const Scenario scenario = read_protocol(text, "p").value().in("").value();
  return judge_protocol(compile(scenario).value(), {}).value();
}

TEST(ProtocolText, WriteThatALaterCompletionLeftBehind_NeverTimesOut) {
  const Judged judged = judged_where_the_second_completed_and(
      R"({"await": "one", "then": "tell", "on_timeout": "repost"},)");
  EXPECT_EQ(judged.explored.violation, Violation::None);
  EXPECT_EQ(judged.verdict(), Verdict::Safe);
}

TEST(ProtocolText, WriteThatALaterCompletionLeftBehind_IsNotFlushedWhenItsQueuePairFails) {
  const Judged judged = judged_where_the_second_completed_and(
      R"({"await": "three", "then": "look", "on_timeout": "look"},
         {"label": "look", "await": "one", "then": "tell", "on_timeout": "repost"},)");
  EXPECT_EQ(judged.explored.violation, Violation::None);
}

TEST(ProtocolText, WriteBehindTheOneThatCompleted_TimesOut) {
  const Judged judged = judged_where_the_second_completed_and(
      R"({"await": "three", "then": "tell", "on_timeout": "spoil"},
         {"label": "spoil", "assert": {"own": 2}, "is": {"equals": 1}, "then": "tell"},)");
  EXPECT_EQ(judged.explored.violation, Violation::Assertion);
}

TEST(ProtocolText, ThatIsNoJson_IsRefusedWithItsLine) {
  EXPECT_THAT(read_protocol("{\n  \"protocol\": ", "p.json").error().text, StartsWith("p.json:2:"));
}

}  // namespace
}  // namespace portcullis::failover
