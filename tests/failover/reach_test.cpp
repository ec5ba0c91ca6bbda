// SPDX-License-Identifier: BSD-3-Clause
//
// What a protocol says and no run does: held against all states and steps, one after the other, and
// as a user of `check` is told of it.
#include "failover/explore/reach.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "failover/protocols/text.hpp"
#include "tests/failover/support.hpp"
#include "tools/failover_check/commands.hpp"
#include "tools/failover_check/spin_run.hpp"

namespace portcullis::failover {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::machine_of;
using testing::ModelBounds;
using ::testing::Not;

// ---- Against all states

using Seen = std::set<std::tuple<Unreached::Part, unsigned, unsigned>>;  // part, step, client

Seen seen_in(const Machine& machine) {
  Seen seen;
  for (const AnyState& state : testing::reachable(machine)) {
    for (unsigned client = 0; client < machine.clients.size(); ++client)
      seen.insert({Unreached::Part::Client,
                   static_cast<unsigned>(state.get(machine.fields[client].pc)), client});
    for (const auto& step : testing::steps_of(machine, state, Action::Receive))
      seen.insert({Unreached::Part::Receiver, step.label.number, step.label.client});
    for (const auto& step : testing::steps_of(machine, state, Action::Write))
      seen.insert({Unreached::Part::Others, step.label.number, 0});
  }
  return seen;
}

/// Of clients that are alike: nobody's, or everybody's.
std::vector<Unreached> missing_in(const Machine& machine) {
  const Seen seen = seen_in(machine);
  const Scenario& s = machine.scenario;
  std::vector<Unreached> missing;
  const auto look = [&](Unreached::Part part, std::size_t steps) {
    for (unsigned step = 0; step < steps; ++step)
      if (!seen.contains({part, step, 0})) missing.push_back({part, step, {}});
  };
  look(Unreached::Part::Client, s.program.size());
  look(Unreached::Part::Receiver, s.receiver.size());
  look(Unreached::Part::Others, s.environment.size());
  return missing;
}

struct Sample {
  const char* name;
  const char* model;
  ModelBounds bounds;
};

class UnreachedSteps : public ::testing::TestWithParam<Sample> {
 protected:
  Machine machine_ = machine_of(GetParam().model, GetParam().bounds);
};

TEST_P(UnreachedSteps, AreThoseThatNoStateHas) {
  EXPECT_EQ(explore(machine_, {}).value().unreached, missing_in(machine_));
  ExploreOptions whole;
  whole.collapses = false;
  EXPECT_EQ(explore(machine_, whole).value().unreached, missing_in(machine_));
}

TEST_P(UnreachedSteps, AreTheSameInThreeThreadsAndByFingerprints) {
  ExploreOptions options;
  options.threads = 3;
  options.shares_from = 0;
  EXPECT_EQ(explore(machine_, options).value().unreached, missing_in(machine_));
  options.set = SetKind::Fingerprint;
  EXPECT_EQ(explore(machine_, options).value().unreached, missing_in(machine_));
}

TEST_P(UnreachedSteps, AreTheSameInClassesOfAlikeStates) {
  ExploreOptions options;
  options.uses_symmetry = true;
  EXPECT_EQ(explore(machine_, options).value().unreached, missing_in(machine_));
}

INSTANTIATE_TEST_SUITE_P(
    Models, UnreachedSteps,
    ::testing::Values(
        Sample{"OneClient", "log-fenced", {.is_monitored = false}},
        Sample{"EnoughTimeouts", "log-fenced", {.timeouts = 2, .is_monitored = false}},
        Sample{"NoTimeout", "psn-token-fenced", {.clients = 2, .timeouts = 0}},
        Sample{"Receiver", "probe-record-fenced", {.clients = 2, .is_monitored = false}},
        Sample{"Others",
               "tagged-cas",
               {.clients = 2, .environment = Environment::Aba, .is_monitored = false}},
        Sample{"Reuse",
               "lease",
               {.clients = 2, .environment = Environment::Reuse, .is_monitored = false}},
        Sample{"Tags",
               "tagged-help-cas",
               {.clients = 2, .late = 0, .timeouts = 0, .is_monitored = false}}),
    [](const auto& info) { return info.param.name; });

TEST(UnreachedSteps, OfASearchThatEndsEarly_AreNotTold) {
  ExploreOptions options;
  options.state_limit = 10;
  EXPECT_THAT(explore(machine_of("lease", {.clients = 2}), options).value().unreached, IsEmpty());
  EXPECT_THAT(explore(machine_of("blind-fadd"), {}).value().unreached, IsEmpty());  // refuted
}

/// Posts, waits; `handler` takes what did not complete.
std::string text_of(const std::string& operand, const std::string& rest) {
  return R"({"protocol": "p", "clients": 2, "own_cells": 1,
 "work_requests": [{"name": "W", "opcode": "CAS", "cell": {"shared": 0},
   "compare": 0, "operand": )" +
         operand + R"(}],
 "steps": [
  {"post": "W"},
  {"await": "W", "is": {"equals": )" +
         rest;
}

Exploration explored(const std::string& text) {
  return explore(compile(read_protocol(text, "p").value().in("").value()).value(), {}).value();
}

TEST(UnreachedSteps, OfOneClientAlone_NameIt) {
  // Client 1 alone can find the tag of client 0: nobody else swaps it in.
  const std::string text = text_of(
      R"({"own_tag": 1})",
      fmt::format(R"({}}}, "keep": true, "then": "found", "else": "end", "on_timeout": "end"}},
  {{"label": "found", "report": "unknown"}},
  {{"label": "end", "end": true}}]}})",
                  tag_of(0, 1)));
  const Unreached of_client_0{Unreached::Part::Client, 2, 0};
  EXPECT_THAT(explored(text).unreached, ElementsAre(of_client_0));
}

TEST(UnreachedSteps, AreDescribedByWhereTheyStandAndWhatTheyDo) {
  const Scenario scenario = make_model("lease", {.environment = Environment::Reuse}).value();
  EXPECT_EQ(describe(scenario, {Unreached::Part::Client, 0, {}}), "steps[0], post WRITE");
  EXPECT_EQ(describe(scenario, {Unreached::Part::Receiver, 0, 1}),
            "receiver[0] of client 1, await_arrival");
}

// ---- As a user is told

using tools::failover_check::ExploreCommand;
using tools::failover_check::ScratchFolder;

/// One WRITE whose handler of a timeout asserts, behind a fence, and a receiver that waits for a
/// word; {0} is a timeout's bound, {1} the word.
constexpr const char* kProtocol =
    R"({{"protocol": "p", "own_cells": 1, "bounds": {{"timeouts": {0}}},
 "work_requests": [{{"name": "W", "opcode": "WRITE", "cell": {{"own": 0}}, "operand": 1}}],
 "steps": [
  {{"post": "W"}},
  {{"await": "W", "then": "end", "on_timeout": "late"}},
  {{"label": "late", "fence": 0}},
  {{"await_fence": 0}},
  {{"assert": {{"own": 0}}, "is": {{"equals": 1}}, "then": "end"}},
  {{"label": "end", "end": true}}],
 "environments": {{"polled": {{"receiver": [
  {{"await_word": {1}, "cell": 0}},
  {{"consume": 1, "cell": 0}}]}}}}}})";

class CheckOfAText : public ::testing::Test {
 protected:
  int check(const std::string& text) {
    EXPECT_TRUE(tools::failover_check::write_file(command_.path, text));
    return tools::failover_check::run_explore(command_, {out_, err_, stop_});
  }
  void SetUp() override {
    command_.path = folder_.path() + "/p.json";
    command_.search.threads = 1;
    command_.search.environment.clear();
  }
  ScratchFolder folder_ = ScratchFolder::create().value();
  ExploreCommand command_;
  std::ostringstream out_, err_;
  std::atomic<bool> stop_{false};
};

TEST_F(CheckOfAText, StepsThatNoRunReaches_AreToldWithFileAndLine) {
  EXPECT_EQ(check(fmt::format(kProtocol, 0, 2)), tools::failover_check::kExitFine);
  EXPECT_THAT(out_.str(), HasSubstr("  never reached with late 1, duplicates 0, timeouts 0, deaths "
                                    "0, so not verified:\n"));
  for (const char* line :
       {":6: steps[2], fence 0\n", ":7: steps[3], await_fence 0\n", ":8: steps[4], assert\n",
        ":11: receiver[0], await_word 2\n", ":12: receiver[1], consume 1\n"})
    EXPECT_THAT(out_.str(), HasSubstr("    " + command_.path + line));
}

TEST_F(CheckOfAText, ProtocolOfWhichAllIsReached_SaysNothingOfIt) {
  EXPECT_EQ(check(fmt::format(kProtocol, 1, 1)), tools::failover_check::kExitRefuted);
  EXPECT_THAT(out_.str(), HasSubstr("refuted (assertion)"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("never reached")));
}

TEST_F(CheckOfAText, AllStepsAskedFor_IsStatusFiveUntilTheBoundsReachThem) {
  command_.wants_all_steps = true;
  EXPECT_EQ(check(fmt::format(kProtocol, 0, 1)), tools::failover_check::kExitUnreached);
  std::string harmless = fmt::format(kProtocol, 1, 1);
  const std::string assertion = R"({"assert": {"own": 0}, "is": {"equals": 1}, "then": "end"})";
  harmless.replace(harmless.find(assertion), assertion.size(),
                   R"({"report": "unknown", "then": "end"})");
  EXPECT_EQ(check(harmless), tools::failover_check::kExitGivesUp);
}

TEST_F(CheckOfAText, StepThatNoOtherLeadsTo_IsToldToBeSuch) {
  std::string text = fmt::format(kProtocol, 1, 1);
  const std::string handler = R"("on_timeout": "late")";
  text.replace(text.find(handler), handler.size(), R"("on_timeout": "end")");
  EXPECT_EQ(check(text), tools::failover_check::kExitFine);
  EXPECT_THAT(out_.str(), HasSubstr(":8: steps[4], assert; no other step leads there\n"));
}

TEST_F(CheckOfAText, JsonHasWhatIsNotReached) {
  command_.search.is_json = true;
  EXPECT_EQ(check(fmt::format(kProtocol, 1, 2)), tools::failover_check::kExitRefuted);
  EXPECT_TRUE(nlohmann::json::parse(out_.str())["unreached"].is_null());
  out_.str("");
  EXPECT_EQ(check(fmt::format(kProtocol, 0, 2)), tools::failover_check::kExitFine);
  const auto unreached = nlohmann::json::parse(out_.str())["unreached"];
  EXPECT_EQ(unreached.size(), 5U);
  EXPECT_EQ(unreached[3].dump(),
            R"({"client":null,"item":0,"list":"receiver","what":"receiver[0], await_word 2"})");
}

}  // namespace
}  // namespace portcullis::failover
