// SPDX-License-Identifier: BSD-3-Clause
//
// failover-check as its users meet it: text, JSON, refusals and exit statuses.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/shm.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "tools/failover_check/commands.hpp"
#include "tools/failover_check/late_command.hpp"
#include "tools/failover_check/spin_run.hpp"

namespace portcullis::tools::failover_check {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Console {
  std::ostringstream out, err;
  std::atomic<bool> stop{false};
  Streams io{out, err, stop};
};

ExploreCommand explore_command(const char* model) {
  ExploreCommand command;
  command.model = model;
  command.search.threads = 1;
  return command;
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ExploreProgram, UnsafeModel_PrintsTheRunAndSaysSoInItsStatus) {
  Console console;
  EXPECT_EQ(run_explore(explore_command("blind-fadd"), console.io), kExitRefuted);
  EXPECT_THAT(console.out.str(), HasSubstr("blind-fadd: refuted (at-most-once)"));
  EXPECT_THAT(console.out.str(), HasSubstr("  1  client 0: post FADD"));
}

/// A host on either side of a switch, 40 Gb/s, a delay of 1 us.
std::string fabric_of_one_switch() {
  std::string path = ::testing::TempDir() + "failover_late.json";
  std::ofstream(path) << R"({"nodes": [{"name": "a", "kind": "host"}, {"name": "s"},
      {"name": "b", "kind": "host"}], "defaults": {"delay": 0.125, "xon": 0.5},
      "links": [{"from": "a", "to": "s", "both_ways": true},
                {"from": "s", "to": "b", "both_ways": true}],
      "routes": {"s": {"a": ["a"], "b": ["b"]}}})";
  return path;
}

TEST(LateProgram, PrintsTheNumberAndWhereItComesFrom) {
  Console console;
  LateCommand command;
  command.fabric.file = fabric_of_one_switch();
  command.client.after_us = 67'000;
  EXPECT_EQ(run_late(command, console.io), kExitFine);
  EXPECT_EQ(console.out.str(), "0\n");
  EXPECT_THAT(console.err.str(),
              HasSubstr("us after it was sent, in any priority, if hosts take what "
                        "arrives and senders heed a PAUSE after 0 us; who "
                        "gives up 67000 us after its last one has none out"));
}

TEST(LateProgram, MoreThanAreTried_AreToldToBeMore) {
  Console console;
  LateCommand command;
  command.fabric.file = fabric_of_one_switch();
  command.client.packets = 8;
  EXPECT_EQ(run_late(command, console.io), kExitFine);
  EXPECT_EQ(console.out.str(), "8\n");
  EXPECT_THAT(console.err.str(), HasSubstr("--late takes up to 7: what holds with so many is not "
                                           "shown to hold with all"));
}

TEST(LateProgram, FabricWithoutRoutes_IsRefused) {
  Console console;
  LateCommand command;
  command.fabric.file = ::testing::TempDir() + "failover_no_routes.json";
  std::ofstream(command.fabric.file) << R"({"nodes": [{"name": "a"}]})";
  EXPECT_EQ(run_late(command, console.io), kExitBad);
  EXPECT_THAT(console.out.str(), ::testing::IsEmpty());
  EXPECT_THAT(console.err.str(), HasSubstr("the routes of the fabric are accepted"));
}

TEST(ExploreProgram, SafeModel_SaysSoWithItsEstimate) {
  Console console;
  EXPECT_EQ(run_explore(explore_command("log-fenced"), console.io), kExitFine);
  EXPECT_THAT(console.out.str(), StartsWith("estimate: exactly"));
  EXPECT_THAT(console.out.str(), HasSubstr("log-fenced: safe"));
  EXPECT_THAT(console.out.str(), HasSubstr("progress: every client comes to its end"));
  EXPECT_THAT(console.out.str(), HasSubstr("not followed: 4 states in which a client has no"));
}

TEST(ExploreProgram, ModelWhoseClientMayGiveUp_SaysSoInItsStatusAndShowsHow) {
  Console console;
  EXPECT_EQ(run_explore(explore_command("lease"), console.io), kExitGivesUp);
  EXPECT_THAT(console.out.str(), HasSubstr("lease: gives-up\n"));
  EXPECT_THAT(console.out.str(), HasSubstr("client 0: report operation 0 unknown"));
}

TEST(ExploreProgram, ModelThatADyingNicDeceives_IsRefuted) {
  Console console;
  ExploreCommand command = explore_command("blind-write");
  command.search.parameters.limits.deaths = 1;
  EXPECT_EQ(run_explore(command, console.io), kExitRefuted);
  EXPECT_THAT(console.out.str(), HasSubstr("dies before it is in memory"));
}

TEST(CheckProgram, MoreClientsThanTheJudgeOfAHistoryCanTry_AreRefused) {
  const auto folder = ScratchFolder::create().value();
  ExploreCommand command = explore_command("");
  command.path = folder.path() + "/p.json";
  ASSERT_TRUE(write_file(command.path, R"({"protocol": "p", "judge": {"history": true},
    "work_requests": [{"name": "W", "opcode": "WRITE", "operand": 1}],
    "steps": [{"post": "W"}, {"await": "W", "on_timeout": "z"}, {"label": "z", "end": true}]})"));
  command.search.environment.clear();
  command.given.clients = 8;
  Console console;
  EXPECT_EQ(run_explore(command, console.io), kExitBad);
  EXPECT_THAT(console.err.str(), HasSubstr("p.json: with \"history\" clients x (operations + 2)"));
}

TEST(ExploreProgram, Json_IsOneObject) {
  Console console;
  ExploreCommand command = explore_command("lease-early");
  command.search.environment = "reuse";
  command.search.is_json = true;
  EXPECT_EQ(run_explore(command, console.io), kExitRefuted);
  const auto object = nlohmann::json::parse(console.out.str());
  EXPECT_EQ(object["verdict"], "refuted");
  EXPECT_EQ(object["violation"], "ghost-write");
  EXPECT_EQ(object["trace"].size(), object["depth"].get<std::size_t>());
}

TEST(ExploreProgram, Fingerprints_GiveTheBoundAndASecondSeed) {
  Console console;
  ExploreCommand command = explore_command("log-fenced");
  command.search.set = "fingerprint";
  EXPECT_EQ(run_explore(command, console.io), kExitFine);
  EXPECT_THAT(console.out.str(), HasSubstr("expected omissions at most"));
  EXPECT_THAT(console.out.str(), HasSubstr("a second hash seed counts the same"));
}

TEST(ExploreProgram, ModelThatCannotFit_IsRefusedWithTheEstimateBeforeItStarts) {
  Console console;
  ExploreCommand command = explore_command("lease");
  command.search.parameters.clients = 8;
  EXPECT_EQ(run_explore(command, console.io), kExitBad);
  EXPECT_THAT(console.err.str(), HasSubstr("needs about"));
  EXPECT_THAT(console.err.str(), HasSubstr("are accepted; --memory-gb N runs until N are used"));
  EXPECT_EQ(console.out.str(), "");
}

TEST(ExploreProgram, ModelThatOutgrowsTheMemoryGiven_StopsWithWhatItHasAndTheEstimate) {
  Console console;
  ExploreCommand command = explore_command("tagged-help-cas");
  command.search.parameters.clients = 3;
  command.search.memory_gb = 0.002;
  EXPECT_EQ(run_explore(command, console.io), kExitStopped);
  EXPECT_THAT(console.out.str(), HasSubstr("tagged-help-cas: memory-limit\n"));
  EXPECT_THAT(console.out.str(), HasSubstr("stopped where the memory ended; estimated were about"));
  EXPECT_THAT(console.out.str(), HasSubstr("some were drawn and looked for"));
}

TEST(ExploreProgram, SearchThatEndsEarly_SaysNullOfWhetherSomeRunGivesUp) {
  Console console;
  ExploreCommand command = explore_command("tagged-help-cas");
  command.search.parameters.clients = 3;
  command.search.memory_gb = 0.002;
  command.search.is_json = true;
  EXPECT_EQ(run_explore(command, console.io), kExitStopped);
  EXPECT_THAT(console.out.str(), HasSubstr("\"gives_up\": null"));
}

TEST(ExploreProgram, Interrupted_PrintsWhatWasReached) {
  Console console;
  console.stop = true;
  EXPECT_EQ(run_explore(explore_command("lease"), console.io), kExitStopped);
  EXPECT_THAT(console.out.str(), HasSubstr("lease: interrupted"));
}

TEST(ExploreProgram, Chart_IsWritten) {
  const auto folder = ScratchFolder::create().value();
  Console console;
  ExploreCommand command = explore_command("blind-fadd");
  command.svg_path = folder.path() + "/chart.svg";
  EXPECT_EQ(run_explore(command, console.io), kExitRefuted);
  EXPECT_THAT(contents(command.svg_path), HasSubstr("<svg xmlns="));
}

struct Refused {
  const char* name;
  void (*spoil)(ExploreCommand& command);
  const char* text;
};

class ExploreRefuses : public ::testing::TestWithParam<Refused> {};

TEST_P(ExploreRefuses, OneLineThatNamesTheValue) {
  Console console;
  ExploreCommand command = explore_command("lease");
  GetParam().spoil(command);
  EXPECT_EQ(run_explore(command, console.io), kExitBad);
  const std::string text = console.err.str();
  EXPECT_THAT(text, HasSubstr(GetParam().text));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, ExploreRefuses,
    ::testing::Values(
        Refused{"Model", [](ExploreCommand& c) { c.model = "x"; }, "model 'x' is unknown"},
        Refused{"Environment", [](ExploreCommand& c) { c.search.environment = "x"; },
                "environment 'x' is unknown"},
        Refused{"Set", [](ExploreCommand& c) { c.search.set = "x"; },
                "set is 'x', accepted are exact, fingerprint"},
        Refused{"Threads", [](ExploreCommand& c) { c.search.threads = 0; },
                "threads is 0, accepted are 1 to 16"},
        Refused{"Late", [](ExploreCommand& c) { c.search.parameters.limits.late = 8; },
                "late is 8, accepted are 0 to 7"},
        Refused{"Memory", [](ExploreCommand& c) { c.search.memory_gb = -1; }, "memory-gb is -1"},
        Refused{"EndlessMemory", [](ExploreCommand& c) { c.search.memory_gb = HUGE_VAL; },
                "memory-gb is inf, accepted are 0 (all there is) to 1000000"},
        Refused{"Chart", [](ExploreCommand& c) { c.promela_path = "/nowhere/x.pml"; },
                "has monitors"}),
    [](const auto& info) { return info.param.name; });

TEST(ExploreProgram, ClientsThatMeet_AreCountedForTheEstimateWhereTheyAreFew) {
  Console console;
  ExploreCommand command = explore_command("tagged-help-cas");
  command.search.parameters.clients = 2;
  command.counts_only = true;
  EXPECT_EQ(run_explore(command, console.io), kExitFine);
  EXPECT_THAT(console.out.str(), StartsWith("estimate: exactly 1.27e+04 states"));
  EXPECT_THAT(console.out.str(), HasSubstr("12665 states"));
}

TEST(ExploreProgram, EstimateOfStatesThatWereDrawn_SaysSo) {
  Console console;
  ExploreCommand command = explore_command("lease");
  command.search.parameters.clients = 2;
  command.counts_only = true;
  EXPECT_EQ(run_explore(command, console.io), kExitFine);
  EXPECT_THAT(console.out.str(), HasSubstr("some were drawn and looked for)"));
}

TEST(ProtocolsProgram, Text_SaysWhatSafeLeavesOpen) {
  Console console;
  ListCommand command;
  command.search.threads = 1;
  command.search.parameters.limits.late = 0;
  EXPECT_EQ(run_protocols(command, console.io), kExitFine);
  EXPECT_THAT(console.out.str(),
              HasSubstr("cut: end states in which a client has no timeout left"));
}

TEST(ProtocolsProgram, Json_HasProtocolEnvironmentVerdictDepthStates) {
  Console console;
  ListCommand command;
  command.search.is_json = true;
  command.search.threads = 1;
  command.search.parameters.limits.late = 0;
  EXPECT_EQ(run_protocols(command, console.io), kExitFine);
  const auto rows = nlohmann::json::parse(console.out.str());
  EXPECT_EQ(rows.size(), failover::models().size() * 4);
  EXPECT_EQ(rows[0]["protocol"], "blind-read");
  EXPECT_EQ(rows[0]["environment"], "quiet");
  EXPECT_EQ(rows[0]["verdict"], "safe");
  EXPECT_TRUE(rows[0].contains("depth"));
  EXPECT_TRUE(rows[0].contains("states"));
  EXPECT_EQ(rows[0]["not_judged"].dump(), "[]");
  EXPECT_TRUE(rows[0].contains("stuck_states"));
}

TEST(PoliciesProgram, EveryTable_IsPrintedWithItsRun) {
  Console console;
  ListCommand command;
  command.model = "fadd-quiet";
  EXPECT_EQ(run_policies(command, console.io), kExitFine);
  EXPECT_THAT(console.out.str(), HasSubstr("2 tables, all refuted"));
  EXPECT_THAT(console.out.str(), HasSubstr("table R:"));
  EXPECT_THAT(console.out.str(), HasSubstr("table -:"));
}

TEST(PoliciesProgram, Interrupted_SaysSo) {
  Console console;
  console.stop = true;
  EXPECT_EQ(run_policies({}, console.io), kExitStopped);
  EXPECT_THAT(console.err.str(), HasSubstr("stopped before all models were explored"));
}

TEST(PoliciesProgram, UnknownModel_IsRefused) {
  Console console;
  ListCommand command;
  command.model = "x";
  EXPECT_EQ(run_policies(command, console.io), kExitBad);
  EXPECT_THAT(console.err.str(), HasSubstr("policy model 'x' is unknown"));
}

constexpr const char* kDump = R"({"regions": [{"rkey": 1, "environment": "quiet"}],
    "work_requests": [
      {"wr_id": 5, "opcode": "IBV_WR_ATOMIC_FETCH_AND_ADD", "rkey": 1, "remote_addr": 0,
       "compare_add": 1},
      {"wr_id": 5, "opcode": "IBV_WR_RDMA_WRITE", "rkey": 1, "remote_addr": 8, "length": 8,
       "status": "IBV_WC_RETRY_EXC_ERR"},
      {"wr_id": 6, "opcode": "IBV_WR_BIND_MW", "status": "IBV_WC_MW_BIND_ERR"},
      {"wr_id": 7, "opcode": "IBV_WR_RDMA_WRITE", "rkey": 1, "remote_addr": 16, "length": 8,
       "status": "IBV_WC_SUCCESS"}]})";

nlohmann::json advice_as_json(const ScratchFolder& folder) {
  ListCommand command;
  command.path = folder.path() + "/dump.json";
  command.svg_dir = folder.path();
  command.search.is_json = true;
  EXPECT_TRUE(write_file(command.path, kDump));
  Console console;
  EXPECT_EQ(run_classify(command, console.io), kExitFine);
  return nlohmann::json::parse(console.out.str());
}

ImportCommand import_of(const std::string& path) {
  return {.path = path,
          .captured_at = "sender",
          .environment = "quiet",
          .consumer = "polls",
          .sender = {}};
}

TEST(ImportProgram, WhatItCannotTake_IsOneLineAndStatusTwo) {
  ImportCommand nowhere = import_of("/nowhere.pcap");
  Console missing;
  EXPECT_EQ(run_import(nowhere, missing.io), kExitBad);
  EXPECT_THAT(missing.err.str(), HasSubstr("/nowhere.pcap cannot be read"));
  nowhere.captured_at = "responder";
  Console place;
  EXPECT_EQ(run_import(nowhere, place.io), kExitBad);
  EXPECT_THAT(place.err.str(), HasSubstr("'responder', accepted are sender, elsewhere"));
}

TEST(ImportProgram, EmptyCapture_IsADumpWithoutRequests) {
  const auto folder = ScratchFolder::create().value();
  const std::string header("\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\xff\xff\0\0\1\0\0\0", 24);
  ASSERT_TRUE(write_file(folder.path() + "/c.pcap", header));
  Console console;
  EXPECT_EQ(run_import(import_of(folder.path() + "/c.pcap"), console.io), kExitFine);
  EXPECT_EQ(nlohmann::json::parse(console.out.str())["work_requests"].size(), 0U);
}

TEST(ClassifyProgram, Dump_BecomesAdvice) {
  const auto folder = ScratchFolder::create().value();
  const auto advice = advice_as_json(folder);
  EXPECT_EQ(advice[0]["advice"], "never");
  EXPECT_EQ(advice[0]["line"], 3);
  EXPECT_EQ(advice[2]["advice"], "no-advice");
  EXPECT_EQ(advice[2]["reason"], "BIND_MW is not modelled");
  EXPECT_EQ(advice[3]["reason"], "completed: nothing to repeat");
}

TEST(ClassifyProgram, Interrupted_SaysThatThereIsNoAdvice) {
  const auto folder = ScratchFolder::create().value();
  ListCommand command;
  command.path = folder.path() + "/dump.json";
  ASSERT_TRUE(write_file(command.path, kDump));
  Console console;
  console.stop = true;
  EXPECT_EQ(run_classify(command, console.io), kExitStopped);
  EXPECT_EQ(console.out.str(), "");
  EXPECT_THAT(console.err.str(), HasSubstr("no advice is printed"));
}

TEST(ClassifyProgram, Conditions_AreDataInTheJson) {
  const auto folder = ScratchFolder::create().value();
  const auto advice = advice_as_json(folder);
  EXPECT_EQ(advice[1]["advice"], "only-if");
  EXPECT_EQ(advice[1]["one_of"].dump(), R"([["fence-done"],["nothing-later"]])");
  EXPECT_EQ(advice[1]["conditions"].dump(), R"([{"condition":"source-unchanged"}])");
}

TEST(ClassifyProgram, RequestsWithOneWrId_GetAChartEach) {
  const auto folder = ScratchFolder::create().value();
  (void)advice_as_json(folder);
  EXPECT_THAT(contents(folder.path() + "/request-0-wr-5.svg"), HasSubstr("<svg xmlns="));
  EXPECT_THAT(contents(folder.path() + "/request-1-wr-5.svg"), HasSubstr("<svg xmlns="));
}

TEST(ClassifyProgram, BufferThatMayNotBeReused_GetsAChartAndARun) {
  const auto folder = ScratchFolder::create().value();
  ListCommand command;
  command.path = folder.path() + "/dump.json";
  command.svg_dir = folder.path();
  ASSERT_TRUE(write_file(command.path, R"({"regions": [{"rkey": 1, "environment": "quiet"}],
"work_requests": [{"wr_id": 5, "opcode": "IBV_WR_RDMA_READ", "rkey": 1}]})"));
  Console console;
  EXPECT_EQ(run_classify(command, console.io), kExitFine);
  EXPECT_THAT(console.out.str(), HasSubstr("  its buffer: only-if completion-polled\n"));
  EXPECT_THAT(console.out.str(), HasSubstr("writes the answer of READ[0] into the buffer\n"));
  EXPECT_THAT(contents(folder.path() + "/request-0-wr-5-buffer.svg"), HasSubstr("<svg xmlns="));
}

TEST(ClassifyProgram, MissingFile_IsRefusedByName) {
  Console console;
  ListCommand command;
  command.path = "/nowhere/dump.json";
  EXPECT_EQ(run_classify(command, console.io), kExitBad);
  EXPECT_THAT(console.err.str(), HasSubstr("/nowhere/dump.json cannot be read"));
}

TEST(ClassifyProgram, FileThatFailsToBeRead_IsNotTakenForAnEmptyOne) {
  const auto read = read_file("/proc/self/mem");  // nothing is at its address 0
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().text, HasSubstr("/proc/self/mem cannot be read"));
}

TEST(ClassifyProgram, Folder_IsRefusedByName) {
  Console console;
  ListCommand command;
  command.path = "/";
  EXPECT_EQ(run_classify(command, console.io), kExitBad);
  EXPECT_THAT(console.err.str(), HasSubstr("/ cannot be read"));
}

TEST(ProtocolsProgram, BoundThatIsRefused_IsAllThatIsPrinted) {
  Console console;
  ListCommand command;
  command.search.parameters.clients = 99;
  EXPECT_EQ(run_protocols(command, console.io), kExitBad);
  EXPECT_EQ(console.out.str(), "");
  EXPECT_THAT(console.err.str(), HasSubstr("clients is 99, accepted are 1 to 8"));
}

// ---- Which models are measured against SPIN

std::uint64_t states_of(std::string_view model, unsigned clients, unsigned operations,
                        unsigned duplicates) {
  failover::Parameters parameters;
  parameters.clients = clients;
  parameters.operations = operations;
  parameters.limits = {1, duplicates, 1};
  parameters.is_monitored = false;
  auto scenario = failover::make_model(model, parameters).value();
  return failover::explore(failover::compile(std::move(scenario)).value(), {}).value().states;
}

/// The rule of spin_bench.cpp, over all models.
std::vector<std::string> models_whose_clients_meet() {
  std::vector<std::string> chosen;
  for (const failover::ModelInfo& model : failover::models()) {
    const std::uint64_t one = states_of(model.name, 1, 1, 0);
    if (states_of(model.name, 2, 1, 0) == one * one) continue;
    for (const auto& [clients, operations, duplicates] :
         {std::tuple{2U, 1U, 1U}, std::tuple{2U, 2U, 0U}, std::tuple{3U, 1U, 0U}}) {
      if (states_of(model.name, clients, operations, duplicates) <= 100'000) continue;
      chosen.push_back(fmt::format("{} {} {} {}", model.name, clients, operations, duplicates));
      break;
    }
  }
  return chosen;
}

TEST(BenchProgram, Models_AreThoseWhoseClientsMeetAndOneMore) {
  std::vector<std::string> measured;
  for (const BenchModel& m : bench_models())
    measured.push_back(fmt::format("{} {} {} {}", m.model, m.clients, m.operations, m.duplicates));
  ASSERT_EQ(measured.back(), "lease 2 1 1");
  measured.pop_back();
  EXPECT_THAT(measured, ::testing::UnorderedElementsAreArray(models_whose_clients_meet()));
}

TEST(RunProgram, ProgramThatIsNotThere_IsRefusedByName) {
  const auto folder = ScratchFolder::create().value();
  EXPECT_EQ(run_program({"no-such-program"}, folder.path()).error().text,
            "no-such-program: No such file or directory, accepted is an installed program");
}

TEST(RunProgram, OutputErrorsAndStatus_AreThoseOfTheProgram) {
  const auto folder = ScratchFolder::create().value();
  const auto run = run_program({"sh", "-c", "pwd; echo no >&2; exit 3"}, folder.path()).value();
  EXPECT_EQ(run.out, folder.path() + "\n");
  EXPECT_EQ(run.err, "no\n");
  EXPECT_EQ(run.status, 3);
}

TEST(RunProgram, SharedMemoryLeftBehind_IsRemoved) {
  const auto folder = ScratchFolder::create().value();

  const auto run = run_program({"ipcmk", "-M", "4096"}, folder.path()).value();

  ASSERT_EQ(run.status, 0);
  const int id = std::stoi(run.out.substr(run.out.find(": ") + 2));  // "Shared memory id: 7"
  shmid_ds segment{};
  EXPECT_EQ(shmctl(id, IPC_STAT, &segment), -1);
}

}  // namespace
}  // namespace portcullis::tools::failover_check
