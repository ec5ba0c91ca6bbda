// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock cbd as its users call it: status, output, and one line for every mistake.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "pfc/cbd/generators.hpp"
#include "pfc/topology_json.hpp"
#include "tests/pfc/console.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

using pfc::Topology;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using portcullis::testing::Outcome;
using portcullis::testing::run_pfc_deadlock;

TEST(CbdCommand, RingOfTwo_IsACycleAndAStatus) {
  const Outcome outcome = run_pfc_deadlock({"cbd", "ring:4,2"});
  EXPECT_EQ(outcome.status, kExitCycle);
  EXPECT_THAT(outcome.out, HasSubstr("sw0-sw1 waits for sw1-sw2   (flow f0)"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST(CbdCommand, Clos_IsFreeOfCycles) {
  const Outcome outcome = run_pfc_deadlock({"cbd", "fat-tree:4"});
  EXPECT_EQ(outcome.status, kExitDone);
  EXPECT_THAT(outcome.out, HasSubstr("cannot deadlock"));
}

TEST(CbdCommand, BuiltInRing_IsBrokenByOneTurn) {
  const Outcome outcome = run_pfc_deadlock({"cbd", "seed-1", "--format", "json"});
  const auto json = nlohmann::json::parse(outcome.out);
  const auto& component = json.at("priorities").at(0).at("components").at(0);
  EXPECT_EQ(component.at("shortest_cycle").size(), 4u);
  EXPECT_EQ(component.at("breaks").at("turns").at("changes").size(), 1u);
}

TEST(CbdCommand, Failures_AreSweptAndCounted) {
  const Outcome outcome =
      run_pfc_deadlock({"cbd", "leaf-spine:4,2,1", "--fail", "2", "--reaction", "converged"});
  EXPECT_EQ(outcome.status, kExitCycle);
  EXPECT_THAT(outcome.out, HasSubstr("12 of 66 sets of 2 failed cables"));
}

TEST(CbdCommand, FailuresOfAFabricThatLocks_AreNoReasonToCallItFree) {
  const Outcome outcome = run_pfc_deadlock({"cbd", "ring-3", "--fail", "1"});
  EXPECT_EQ(outcome.status, kExitCycle);
  EXPECT_THAT(outcome.out, HasSubstr("with all cables: "));
  // Two flows are enough for the circle, so only the third may lose its cable.
  EXPECT_THAT(outcome.out, HasSubstr("1 of 7 sets of 1 failed cables"));
  EXPECT_THAT(outcome.out, HasSubstr("without host-h-2: "));
}

TEST(CbdCommand, FailuresOfAClos_AreRoutedUpAndDownUnlessToldOtherwise) {
  const Outcome usual = run_pfc_deadlock({"cbd", "leaf-spine:4,2,1", "--fail", "1"});
  EXPECT_EQ(usual.status, kExitDone);
  EXPECT_THAT(usual.out, HasSubstr("0 of 12 sets of 1 failed cables (all there are, routing "
                                   "valley-free)"));
  EXPECT_THAT(usual.out, HasSubstr("what has lost its way down is dropped"));
  const Outcome local =
      run_pfc_deadlock({"cbd", "leaf-spine:4,2,1", "--fail", "1", "--reaction", "local"});
  EXPECT_EQ(local.status, kExitCycle);
  EXPECT_THAT(local.out, HasSubstr("8 of 12"));
  EXPECT_THAT(local.out, HasSubstr("nothing prevents loops"));
}

TEST(CbdCommand, NothingToLookAt_IsNoCleanBill) {
  for (const auto& [arguments, answer] : std::map<std::vector<std::string>, std::string>{
           {{"leaf-spine:2,2,1", "--traffic", "flows"}, "no flow of priority 0 to analyse"},
           {{"leaf-spine:2,2,1", "--traffic", "flows", "--fail", "1"}, "no flow of priority 0"},
           {{"ring:4,2", "--traffic", "routes"}, "no routes to analyse"},
           {{"ring:4,2", "--priority", "5"}, "no flow of priority 5 and no routes to analyse"},
           {{"ring:4,2", "--priority", "5", "--fail", "1"}, "no flow of priority 5"}}) {
    std::vector<std::string> all{"cbd"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome outcome = run_pfc_deadlock(all);
    EXPECT_EQ(outcome.status, kExitBad);
    EXPECT_THAT(outcome.err, HasSubstr(answer));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST(CbdCommand, FailuresAsCsv_HaveARowEach) {
  const Outcome outcome =
      run_pfc_deadlock({"cbd", "leaf-spine:2,2,1", "--fail", "1", "--format", "csv"});
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1 + 1 + 6);  // and the intact fabric
}

TEST(CbdCommand, ScenarioThatIsNone_IsNamed) {
  for (const auto& [name, answer] : std::map<std::string, std::string>{
           {"ring:4", "ring:SWITCHES,SPAN with whole numbers is accepted"},
           {"ring:4,x", "ring:SWITCHES,SPAN"},
           {"fat-tree:5", "5 ports; an even number"},
           {"torus:3", "no scenario \"torus:3\"; seed-1, seed-2, seed-3, seed-4, ring-3, leaf-"},
           {"nothing", "nothing"}}) {
    const Outcome outcome = run_pfc_deadlock({"cbd", name});
    EXPECT_EQ(outcome.status, kExitBad);
    EXPECT_THAT(outcome.err, HasSubstr(answer));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1);
  }
}

TEST(CbdCommand, MoreFailuresThanCables_AreRefused) {
  const Outcome outcome = run_pfc_deadlock({"cbd", "leaf-spine:2,1,1", "--fail", "9"});
  EXPECT_EQ(outcome.status, kExitBad);
  EXPECT_THAT(outcome.err, HasSubstr("9 cables to fail at a time; 1 to 4"));
}

TEST(CbdCommand, CtrlC_EndsASweep) {
  EXPECT_EQ(run_pfc_deadlock({"cbd", "leaf-spine:4,2,1", "--fail", "2"}, true).status,
            kExitInterrupted);
}

TEST(CbdCommand, AdviceToReroute_IsAFileThatIsFreeOfCycles) {
  const std::string file = ::testing::TempDir() + "cbd_reroute.json";
  const Outcome advised =
      run_pfc_deadlock({"cbd", "dragonfly:5,2,2", "--advise", "reroute", "--advice", file});
  EXPECT_EQ(advised.status, kExitCycle);
  EXPECT_THAT(advised.err, HasSubstr("destinations, a path of their own for 0 flows; what arrived "
                                     "still does; read back, data that begins in priority 0"));
  const Outcome judged = run_pfc_deadlock({"cbd", file});
  EXPECT_EQ(judged.status, kExitDone);
  EXPECT_THAT(judged.out, HasSubstr("cannot deadlock"));
}

TEST(CbdCommand, AdviceThatOutgrowsATtl_SaysWhichSuffices) {
  const std::string fabric = ::testing::TempDir() + "cbd_ttl.json";
  const std::string file = ::testing::TempDir() + "cbd_ttl_advice.json";
  Topology ring = *pfc::cbd::ring(6, 2);
  for (pfc::Flow& flow : ring.flows) flow.ttl = 4;
  std::ofstream(fabric) << pfc::to_json(ring);
  const Outcome advised =
      run_pfc_deadlock({"cbd", fabric, "--advise", "reroute", "--advice", file});
  EXPECT_EQ(advised.status, kExitCycle);
  EXPECT_THAT(advised.err, HasSubstr("what arrived still does, but for 1 flows whose ttl no longer "
                                     "suffices; read back"));
  EXPECT_THAT(advised.err, HasSubstr("its ttl, 4, no longer suffices; 6 does\n"));
}

TEST(CbdCommand, AdviceThatIsNotFound_SaysWhatThatProves) {
  const std::string file = ::testing::TempDir() + "cbd_no_reroute.json";
  const Outcome outcome =
      run_pfc_deadlock({"cbd", "seed-1", "--advise", "reroute", "--advice", file});
  EXPECT_EQ(outcome.status, kExitBad);
  EXPECT_THAT(outcome.err, HasSubstr("which does not prove that there are none"));
}

TEST(CbdCommand, ReportAndAdviceOfOneFile_AreRefusedBeforeEitherIsWritten) {
  const std::string file = ::testing::TempDir() + "one-file-for-both";
  const Outcome outcome =
      run_pfc_deadlock({"cbd", "ring-3", "--advise", "lossy", "--advice", file, "--report",
                        ::testing::TempDir() + "./one-file-for-both"});
  EXPECT_EQ(outcome.status, kExitBad);
  EXPECT_THAT(outcome.err, HasSubstr("two files are accepted"));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(CbdCommand, Help_NamesEveryStatus) {
  const Outcome outcome = run_pfc_deadlock({"cbd", "--help"});
  EXPECT_EQ(outcome.status, kExitDone);
  EXPECT_THAT(outcome.out,
              HasSubstr("exit status: 0 no cycle, nor after any failure that was looked at; 1 a"));
}

}  // namespace
}  // namespace portcullis::tools::pfc_deadlock
