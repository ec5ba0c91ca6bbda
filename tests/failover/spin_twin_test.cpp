// SPDX-License-Identifier: BSD-3-Clause
//
// SPIN, a checker that nobody here wrote, counts the states and transitions of the Promela twin:
// the two writings of the rules agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>
#include <vector>

#include "failover/protocols/text.hpp"
#include "failover/spin/promela.hpp"
#include "tests/failover/support.hpp"
#include "tools/failover_check/commands.hpp"
#include "tools/failover_check/spin_run.hpp"

namespace portcullis::failover {
namespace {

using testing::machine_of;
using testing::ModelBounds;
using tools::failover_check::run_program;
using tools::failover_check::ScratchFolder;

std::uint64_t number_before(const std::string& text, const std::string& what) {
  std::smatch match;
  std::regex_search(text, match, std::regex("([0-9]+) " + what));
  return std::stoull(match[1]);
}

struct Twin {
  const char* name;
  const char* model;
  ModelBounds bounds;
};

TEST(Promela, OfAModelWhoseNameEndsAComment_SaysNoMoreThanItsName) {
  Scenario scenario = make_model("blind-write", {}).value();
  scenario.is_monitored = false;
  scenario.name = "a */ int x; /* b\\";
  const std::string text = promela(compile(scenario).value()).value();
  EXPECT_EQ(text.substr(0, text.find('\n')), "/* a __ int x; __ b_: 1 clients; generated */");
}

class SpinTwin : public ::testing::TestWithParam<Twin> {};

/// What SPIN and the explorer count for one machine.
struct Counted {
  std::uint64_t states = 0, transitions = 0;
  friend bool operator==(const Counted&, const Counted&) = default;
};

/// What SPIN's verifier prints about it.
std::string judged_by_spin(const Machine& machine) {
  const auto folder = ScratchFolder::create().value();
  EXPECT_TRUE(
      tools::failover_check::write_file(folder.path() + "/model.pml", promela(machine).value()));
  EXPECT_EQ(run_program({"spin", "-a", "model.pml"}, folder.path()).value().status, 0);
  EXPECT_EQ(
      run_program({"gcc", "-O1", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"}, folder.path())
          .value()
          .status,
      0);
  return run_program({"./pan", "-m100000", "-w20"}, folder.path()).value().out;
}

Counted by_spin(const Machine& machine) {
  const std::string out = judged_by_spin(machine);
  // SPIN counts the step into the initial state, too.
  return {number_before(out, "states, stored"), number_before(out, "transitions") - 1};
}

Counted by_us(const Machine& machine) {
  const Exploration explored = explore(machine, {}).value();
  return {explored.states, explored.transitions};
}

TEST_P(SpinTwin, Spin_CountsTheSameStatesAndTransitions) {
  ModelBounds bounds = GetParam().bounds;
  bounds.is_monitored = false;
  const Machine machine = machine_of(GetParam().model, bounds);
  EXPECT_EQ(by_spin(machine), by_us(machine));
}

INSTANTIATE_TEST_SUITE_P(
    Models, SpinTwin,
    ::testing::Values(
        Twin{"BlindFadd", "blind-fadd", {.clients = 2, .duplicates = 1}},
        Twin{"Lease", "lease", {.clients = 2, .environment = Environment::Reuse}},
        Twin{"RecordWithPromptReceiver",
             "probe-record-prompt",
             {.clients = 2, .environment = Environment::OtherWriters}},
        Twin{"DeduplicatingLog", "log-dedup", {.operations = 2, .environment = Environment::Aba}},
        Twin{"LeaseWithADyingNic",
             "lease",
             {.duplicates = 1, .environment = Environment::Reuse, .deaths = 2}},
        Twin{"TokenWithADyingNic", "psn-token-fenced", {.clients = 2, .deaths = 1}},
        Twin{"ReceiptBefore", "receipt-before", {.clients = 2, .environment = Environment::Aba}},
        Twin{"HelpByCas", "tagged-help-cas", {.clients = 2, .operations = 2, .late = 0}}),
    [](const auto& info) { return info.param.name; });

class SpinTwinOfAFile : public ::testing::TestWithParam<const char*> {};

ProtocolText ready(const std::string& name) {
  const std::string path = PORTCULLIS_PROTOCOLS + ("/ready/" + name + ".json");
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return read_protocol(text.str(), path).value();
}

TEST_P(SpinTwinOfAFile, Spin_CountsTheSameStatesAndTransitions) {
  Scenario scenario = ready(GetParam()).environments.back().scenario;
  scenario.is_monitored = false;
  scenario.limits.duplicates = 1;
  scenario.limits.deaths = 1;
  const Machine machine = compile(scenario).value();
  EXPECT_EQ(by_spin(machine), by_us(machine));
}

INSTANTIATE_TEST_SUITE_P(Files, SpinTwinOfAFile,
                         ::testing::Values("receive-counter", "write-imm-chain",
                                           "batch-transfer-unfenced"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// What no model or ready file has: a look into whoever's slot, a register that nobody filled, a
/// wait for a request that was flushed, a fence ordered twice.
constexpr std::string_view kUnusual = R"({
  "protocol": "unusual", "clients": 2, "own_cells": 1, "bounds": {"late": 1, "timeouts": 2},
  "work_requests": [
    {"name": "take", "opcode": "CAS", "qp": 0, "cell": {"shared": 0}, "operand": {"own_tag": 1},
     "compare": 0},
    {"name": "look", "opcode": "READ", "qp": 0, "cell": {"owner_slot": 0}},
    {"name": "note", "opcode": "WRITE", "qp": 1, "cell": {"owner_slot": 0},
     "operand": "register-sequence"}],
  "steps": [
    {"test": "equals-register", "else": "end"},
    {"probe": {"shared": 0}, "keep": true},
    {"post": "take"}, {"post": "look"},
    {"await": "take", "keep": true, "on_timeout": "flushed"},
    {"label": "flushed", "await": "look", "on_timeout": "fence"},
    {"label": "fence", "fence": 0}, {"await_fence": 0}, {"fence": 0},
    {"probe": {"owner_slot": 0}, "is": {"equals": 1}, "then": "end", "else": "note"},
    {"label": "note", "post": "note"},
    {"await": "note", "on_timeout": "end"},
    {"label": "end", "end": true}]})";

TEST(SpinTwinOfAText, WithUnusualSteps_CountsTheSameStatesAndTransitions) {
  Scenario scenario = read_protocol(kUnusual, "unusual").value().in("").value();
  scenario.is_monitored = false;
  const Machine machine = compile(scenario).value();
  EXPECT_EQ(by_spin(machine), by_us(machine));
}

/// Awaits out of the order of the QP: what a later completion leaves behind neither times out nor
/// is flushed.
constexpr std::string_view kLaterFirst = R"({
  "protocol": "later-first", "own_cells": 3, "bounds": {"late": 2, "timeouts": 2},
  "work_requests": [
    {"name": "one", "opcode": "WRITE", "cell": {"own": 0}, "operand": 1},
    {"name": "add", "opcode": "FADD", "cell": {"shared": 0}, "operand": 1},
    {"name": "two", "opcode": "SEND"},
    {"name": "three", "opcode": "WRITE", "cell": {"own": 1}, "operand": 1, "packets": 2},
    {"name": "again", "opcode": "WRITE", "qp": 1, "cell": {"own": 0}, "operand": 2}],
  "steps": [
    {"post": "one"}, {"post": "add"}, {"post": "two"}, {"post": "three"},
    {"await": "two", "on_timeout": "one"},
    {"await": "three", "on_timeout": "one"},
    {"label": "one", "await": "one", "then": "add", "on_timeout": "again"},
    {"label": "again", "post": "again"}, {"await": "again", "on_timeout": "add"},
    {"label": "add", "await": "add", "on_timeout": "end"},
    {"label": "end", "end": true}]})";

TEST(SpinTwinOfAText, WithAwaitsOutOfOrder_CountsTheSameStatesAndTransitions) {
  Scenario scenario = read_protocol(kLaterFirst, "later-first").value().in("").value();
  scenario.is_monitored = false;
  scenario.limits.duplicates = 1;
  const Machine machine = compile(scenario).value();
  EXPECT_EQ(by_spin(machine), by_us(machine));
}

/// Files as a user may write them: with arrivals, answers that are kept, READs and a history, and
/// without.
class DrawnFile {
 public:
  explicit DrawnFile(unsigned seed) : draw_(seed) {}

  std::string text() {
    const std::size_t count = 1 + below(3);
    std::string requests, posts, awaits;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = "\"r" + std::to_string(i) + "\"";
      requests += (i == 0 ? "" : ",\n    ") + request(name, i);
      posts += "{\"post\": " + name + "}, ";
      awaits += await(name);
    }
    return R"({"protocol": "drawn", "own_cells": 2, "operations": )" + std::to_string(count) +
           pick({R"(, "judge": {"history": true})", "", R"(, "clients": 2)"}) +
           R"(, "bounds": {"late": )" + pick({"0", "1", "2"}) + R"(, "duplicates": )" +
           pick({"0", "0", "1"}) + R"(, "deaths": )" + pick({"0", "0", "1"}) + "},\n" +
           R"(  "work_requests": [)" + requests + R"(],
  "steps": [)" +
           posts + awaits + look() + R"({"label": "end", "end": true}],
  "environments": {"e": {"receiver": [)" +
           receiver() + R"(], "others": [)" + others() + R"(], "budget": 1}}})";
  }

 private:
  std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(draw_);
  }
  std::string pick(const std::vector<std::string>& all) { return all[below(all.size())]; }
  std::string cell() { return pick({R"({"shared": 0})", R"({"own": 0})", R"({"own": 1})"}); }

  std::string request(const std::string& name, std::size_t number) {
    return R"({"name": )" + name + R"(, "operation": )" + std::to_string(number) + R"(, "qp": )" +
           pick({"0", "1"}) + R"(, "cell": )" + cell() + R"(, "opcode": )" +
           pick({R"("READ")", R"("READ")", R"("SEND")", R"("WRITE", "operand": 1)",
                 R"("WRITE_WITH_IMM", "operand": 2)", R"("FADD", "operand": 1)",
                 R"("CAS", "operand": 2, "compare": 0)"}) +
           "}";
  }
  std::string await(const std::string& name) {
    return R"({"await": )" + name + R"(, "keep": true)" + pick({"", R"(, "on_timeout": "end")"}) +
           "}, ";
  }
  std::string look() {
    return pick({"", R"({"probe": {"shared": 0}, "keep": true}, )",
                 R"({"test": {"equals": 1}, "else": "end"}, )"});
  }
  std::string receiver() {
    return pick({"", R"({"await_arrival": true})",
                 R"({"await_arrival": true}, {"consume": 1, "cell": 0})",
                 R"({"await_word": 1, "cell": 1}, {"reuse": 0, "cell": 1})"});
  }
  std::string others() {
    return pick({"", "", R"({"name": "o", "cell": {"shared": 0}, "becomes": 2})",
                 R"({"name": "o", "cell": {"own": 0}, "when": 0, "becomes": 0})"});
  }

  std::mt19937 draw_;
};

class SpinTwinOfADrawnFile : public ::testing::TestWithParam<unsigned> {};

TEST_P(SpinTwinOfADrawnFile, Spin_CountsTheSameStatesAndTransitions) {
  const std::string text = DrawnFile(GetParam()).text();
  const auto read = read_protocol(text, "drawn");
  ASSERT_TRUE(read.has_value()) << read.error().text << "\n" << text;
  Scenario scenario = read->environments.front().scenario;
  scenario.is_monitored = scenario.has_history = false;
  const Machine machine = compile(scenario).value();
  EXPECT_EQ(by_spin(machine), by_us(machine)) << text;
}

INSTANTIATE_TEST_SUITE_P(Seeds, SpinTwinOfADrawnFile, ::testing::Range(0U, 16U));

/// What the smallest files leave out: a message, a second word, a question to the register.
constexpr std::string_view kSmallest[] = {
    R"({"protocol": "no arrival", "own_cells": 1,
        "work_requests": [{"name": "w", "opcode": "WRITE", "cell": {"own": 0}, "operand": 1}],
        "steps": [{"post": "w"}, {"await": "w"}, {"end": true}],
        "environments": {"e": {"receiver": [{"await_arrival": true},
                                            {"consume": 1, "cell": 0}]}}})",
    R"({"protocol": "one word", "work_requests": [{"name": "r", "opcode": "READ"}],
        "steps": [{"post": "r"}, {"await": "r", "keep": true},
                  {"probe": {"shared": 0}, "keep": true, "is": {"equals": 0}, "else": "end"},
                  {"label": "end", "end": true}]})",
    R"({"protocol": "kept", "work_requests": [{"name": "r", "opcode": "READ"}],
        "steps": [{"post": "r"}, {"await": "r", "keep": true}, {"report": "done"}, {"end": true}],
        "environments": {"e": {"others": [{"name": "o", "cell": {"shared": 0}, "becomes": 2}],
                               "budget": 1}}})"};

class SpinTwinOfASmallFile : public ::testing::TestWithParam<std::string_view> {};

TEST_P(SpinTwinOfASmallFile, Spin_CountsTheSameStatesAndTransitions) {
  Scenario scenario = read_protocol(GetParam(), "small").value().environments.front().scenario;
  scenario.is_monitored = false;
  const Machine machine = compile(scenario).value();
  EXPECT_EQ(by_spin(machine), by_us(machine));
}

INSTANTIATE_TEST_SUITE_P(Files, SpinTwinOfASmallFile, ::testing::ValuesIn(kSmallest));

std::string lock_judged_by_spin(const char* environment) {
  Scenario scenario = ready("cas-lock").in(environment).value();
  scenario.is_monitored = false;
  return judged_by_spin(compile(scenario).value());
}

TEST(Promela, AssertionOfAFile_IsJudgedBySpinAsByUs) {
  EXPECT_NE(lock_judged_by_spin("lease").find("assertion violated"), std::string::npos);
  const std::string quiet = lock_judged_by_spin("quiet");
  EXPECT_EQ(quiet.find("assertion violated"), std::string::npos);
  EXPECT_NE(quiet.find("errors: 0"), std::string::npos);
}

TEST(Promela, OfAMonitoredMachine_IsRefused) {
  EXPECT_NE(promela(machine_of("blind-fadd")).error().text.find("has monitors"), std::string::npos);
}

}  // namespace
}  // namespace portcullis::failover
