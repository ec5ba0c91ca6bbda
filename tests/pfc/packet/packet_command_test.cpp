// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock packet as its users call it: status, output, and one line for every mistake.
#include "tools/pfc_deadlock/command.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/pfc/console.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using portcullis::testing::Outcome;

Outcome call(std::vector<std::string> arguments, bool is_stopped = false) {
  arguments.insert(arguments.begin(), "packet");
  return portcullis::testing::run_pfc_deadlock(arguments, is_stopped);
}

TEST(PacketCommand, ThirdFlow_IsADeadlockWithItsCycle) {
  const Outcome outcome = call({"ring-3", "--set", "d=0.125", "--until", "1000"});
  EXPECT_EQ(outcome.status, kExitLocked);
  EXPECT_THAT(outcome.out, HasSubstr("DEADLOCK at "));
  EXPECT_THAT(outcome.out, HasSubstr("  1-2 waits for 2-3\n"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST(PacketCommand, TwoFlowsWithoutDelay_Live) {
  EXPECT_THAT(call({"seed-1", "--until", "200"}).out, HasSubstr("no deadlock"));
}

TEST(PacketCommand, GeneratedRingWithASetting_Locks) {
  EXPECT_THAT(call({"ring:4,2", "--set", "d=0.25", "--until", "200"}).out, HasSubstr("DEADLOCK"));
}

TEST(PacketCommand, OptionsInFront_LeaveTheScenarioAlone) {
  EXPECT_THAT(call({"--limit", "h=0.1", "--set", "d=0.125", "ring-3", "--until", "10"}).out,
              HasSubstr("no deadlock"));
}

TEST(PacketCommand, Json_HoldsFlowsAndResidence) {
  const auto json =
      nlohmann::json::parse(call({"seed-1", "--until", "200", "--format", "json"}).out);
  EXPECT_TRUE(json.at("deadlock").is_null());
  EXPECT_GT(json.at("flows").at(0).at("delivered"), 3000);
  EXPECT_GT(json.at("flows").at(0).at("residence_ns").at("p99"), 0);
}

TEST(PacketCommand, Csv_HasARowForEverySample) {
  const Outcome outcome = call({"seed-1", "--until", "10", "--format", "csv", "--sample", "1"});
  EXPECT_THAT(outcome.out, StartsWith("t,delivered.f,delivered.g,ingress."));
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1 + 11);
}

TEST(PacketCommand, Watchdog_KeepsARingGoing) {
  const Outcome outcome = call({"ring-3", "--set", "d=0.125", "--until", "1000", "--watchdog",
                                "drop", "--detect-ms", "0.4", "--restore-ms", "0.2"});
  EXPECT_THAT(outcome.out, HasSubstr("the watchdog took "));
  EXPECT_THAT(outcome.out, HasSubstr("discarded by the watchdog"));
}

TEST(PacketCommand, QuantaOfALockedRing_AreSaidAgainAndChangeNothing) {
  const Outcome outcome =
      call({"ring-3", "--set", "d=0.125", "--until", "1000", "--quanta", "2000"});
  EXPECT_THAT(outcome.out, HasSubstr("DEADLOCK at "));
  EXPECT_THAT(outcome.out, HasSubstr("PAUSE was said again "));
}

TEST(PacketCommand, QuantaThatRunOut_AreNamedAsNotLookedAt) {
  const Outcome outcome = call(
      {"ring-3", "--set", "d=0.125", "--until", "100", "--quanta", "10", "--refresh-quanta", "20"});
  EXPECT_THAT(outcome.out, HasSubstr("PAUSE may run out before it is said again on "));
  EXPECT_THAT(outcome.out, HasSubstr("no deadlock"));
}

TEST(PacketCommand, DcqcnOfTwoFlowsIntoOneLink_MarksAndSlowsThem) {
  const auto json =
      nlohmann::json::parse(call({"seed-2", "--until", "2000", "--dcqcn", "--format", "json"}).out);
  const auto& flow = json.at("flows").at(0);
  EXPECT_GT(flow.at("marked").get<int>(), 0);
  EXPECT_GT(flow.at("cnps").get<int>(), 0);
  EXPECT_LT(flow.at("rate_gbps").get<double>(), 40);
}

TEST(PacketCommand, Workload_IsToldAsPercentilesOfCompletionTimes) {
  const std::vector<std::string> run = {"leaf-spine:4,2,4", "--until",     "2000",
                                        "--workload",       "storage:0.4", "--dcqcn"};
  const Outcome outcome = call(run);
  EXPECT_EQ(outcome.status, kExitDone);
  EXPECT_THAT(outcome.out, HasSubstr("all sizes: "));
  EXPECT_THAT(outcome.out, HasSubstr("p99 "));
  std::vector<std::string> as_json = run;
  as_json.insert(as_json.end(), {"--format", "json"});
  const auto json = nlohmann::json::parse(call(as_json).out).at("messages");
  EXPECT_GE(json.at("by_size").at(0).at("slowdown").at("p50").get<double>(), 1);
  EXPECT_GT(json.at("by_size").at(0).at("took_us").at("p99").get<double>(), 0);
}

TEST(PacketCommand, StormOfOneHost_StopsWhatGoesThere) {
  const auto json = nlohmann::json::parse(
      call({"ring:4,2", "--until", "100", "--storm", "host1=0:", "--format", "json"}).out);
  EXPECT_EQ(json.at("flows").at(3).at("delivered").get<int>(), 0);
}

TEST(PacketCommand, RateLimitOfTheThirdFlow_CountsInPackets) {
  const auto json = nlohmann::json::parse(
      call({"ring-3", "--until", "100", "--limit", "h=0.1", "--format", "json"}).out);
  EXPECT_NEAR(json.at("flows").at(2).at("sent").get<double>(), 400, 2);
}

TEST(PacketCommand, Mistakes_AreOneLineEach) {
  const std::map<std::vector<std::string>, std::string> mistakes = {
      {{"seed-1"}, "--until is required"},
      {{"seed-1", "--until", "0"}, "--until 0 --sample 0; times up to"},
      {{"seed-1", "--until", "1e300"}, "(86400 s)"},
      {{"seed-1", "--until", "1", "--sample", "-1"}, "--sample -1"},
      {{"seed-1", "--until", "10", "--sample", "1e-12", "--svg", "x.svg"}, "1e+13 rows"},
      {{"nothing", "--until", "1"}, "\"nothing\""},
      {{"seed-1", "--until", "1", "--limit", "x=1"}, "no flow \"x\""},
      {{"seed-1", "--until", "1", "--limit", "f=0"}, "a rate above 0"},
      {{"seed-1", "--until", "1", "--limit", "f"}, "FLOW=RATE"},
      {{"seed-1", "--until", "1", "--packet-bytes", "0"}, "packets of 0 bytes"},
      {{"fat-tree:4", "--until", "1"}, "no flows to simulate"},
      {{"seed-1", "--until", "1", "--watchdog", "bark"}, "bark"},
      {{"seed-1", "--until", "1", "--quanta", "0"}, "--quanta"},
      {{"seed-1", "--until", "1", "--quanta", "65536"}, "--quanta"},
      {{"seed-1", "--until", "1", "--refresh-quanta", "5"}, "without --quanta"},
      {{"seed-1", "--until", "1", "--storm", "s1=0:1"}, "--storm \"s1=0:1\""},
      {{"ring:4,2", "--until", "1", "--storm", "sw0=0:1"}, "no host"},
      {{"seed-1", "--until", "1", "--size", "f=1.5"}, "whole bytes"},
      {{"seed-1", "--until", "1", "--schedule", "3=0"}, "shares above 0"},
      {{"seed-1", "--until", "1", "--schedule", "9=1"}, "--schedule"},
      {{"seed-1", "--until", "1", "--ecn", "200,100,0.1"}, "KMIN,KMAX,PMAX"},
      {{"leaf-spine:2,1,2", "--until", "1", "--workload", "incast:4,1000"}, "5 are needed"},
      {{"leaf-spine:2,1,2", "--until", "1", "--workload", "web-search:2"}, "a load of 2"},
      {{"leaf-spine:2,1,2", "--until", "1", "--workload", "cats:2"}, "--workload \"cats:2\""},
      {{"leaf-spine:2,1,2", "--until", "1", "--workload", "cdf:/nowhere,0.5"}, "/nowhere"},
      {{"seed-1", "--until", "1", "--ecn", "5"}, "KMIN,KMAX,PMAX"},
      {{"seed-1", "--until", "1", "--dcqcn", "--dcqcn-set", "gain=0"}, "a gain above 0"},
      {{"seed-1", "--until", "1", "--dcqcn", "--dcqcn-set", "timer-us=0"}, "1 us to 1000 s"},
      {{"seed-1", "--until", "1", "--dcqcn", "--dcqcn-set", "speed=1"}, "no \"speed\""},
      {{"seed-1", "--until", "1", "--dcqcn-set", "gain=1"}, "--dcqcn is needed"},
      {{"seed-1", "--until", "1", "--watchdog-port", "1-2=bite"}, "LINK=ACTION"},
      {{"seed-1", "--until", "1", "--svg", "/nowhere/x.svg"}, "/nowhere/x.svg"}};
  for (const auto& [arguments, answer] : mistakes) {
    const Outcome outcome = call(arguments);
    EXPECT_EQ(outcome.status, kExitBad);
    EXPECT_THAT(outcome.err, HasSubstr(answer));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1);
  }
}

/// Locks at 21.25; the watchdog looks at a pause for 12.5.
TEST(PacketCommand, LockThatTheWatchdogEnded_IsToldAndIsNoDeadlockAtTheEnd) {
  std::vector<std::string> arguments{"ring-3", "--set",        "d=0.125", "--until",
                                     "190",    "--watchdog",   "drop",    "--detect-ms",
                                     "0.1",    "--restore-ms", "0.05"};
  const Outcome ended = call(arguments);
  EXPECT_EQ(ended.status, kExitDone);
  EXPECT_THAT(ended.out,
              HasSubstr("no deadlock at the end\nthe watchdog ended a deadlock that began "
                        "at 21.25 (170 us): priority 0, 7 gates that could not open by "
                        "themselves\n  1-2 waited for 2-3\n"));
  EXPECT_THAT(ended.out, Not(HasSubstr("DEADLOCK")));
  arguments.insert(arguments.end(), {"--format", "json"});
  const auto json = nlohmann::json::parse(call(arguments).out);
  EXPECT_TRUE(json.at("deadlock").is_null());
  EXPECT_EQ(json.at("ended_deadlock").at("time"), 21.25);
  EXPECT_EQ(json.at("ended_deadlock").at("cycle").size(), 4u);
}

TEST(PacketCommand, LockThatTheWatchdogHasYetToEnd_IsADeadlock) {
  std::vector<std::string> arguments{"ring-3", "--set", "d=0.125", "--until", "30"};
  arguments.insert(arguments.end(), {"--watchdog", "drop", "--detect-ms", "0.1"});
  const Outcome locked = call(arguments);
  EXPECT_EQ(locked.status, kExitLocked);
  EXPECT_THAT(locked.out, HasSubstr("DEADLOCK at 21.25"));
  arguments.insert(arguments.end(), {"--format", "json"});
  const auto json = nlohmann::json::parse(call(arguments).out);
  EXPECT_EQ(json.at("deadlock").at("time"), 21.25);
  EXPECT_TRUE(json.at("ended_deadlock").is_null());
}

TEST(PacketCommand, WatchdogThatOnlyAlerts_EndsNothing) {
  const Outcome locked = call({"ring-3", "--set", "d=0.125", "--until", "200", "--watchdog",
                               "alert", "--detect-ms", "0.1", "--restore-ms", "0.05"});
  EXPECT_EQ(locked.status, kExitLocked);
  EXPECT_THAT(locked.out, HasSubstr("DEADLOCK at 21.25"));
}

TEST(PacketCommand, CtrlC_PrintsWhatThereIs) {
  const Outcome outcome = call({"seed-1", "--until", "1000000"}, true);
  EXPECT_EQ(outcome.status, kExitInterrupted);
  EXPECT_THAT(outcome.out, HasSubstr("stopped"));
}

}  // namespace
}  // namespace portcullis::tools::pfc_deadlock
