// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock cbd as its users call it: status, output, and one line for every mistake.
#include "tools/pfc_deadlock/cbd_command.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/pfc/console.hpp"
#include "tools/pfc_deadlock/command.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

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

TEST(CbdCommand, FailuresAsCsv_HaveARowEach) {
  const Outcome outcome =
      run_pfc_deadlock({"cbd", "leaf-spine:2,2,1", "--fail", "1", "--format", "csv"});
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1 + 6);
}

TEST(CbdCommand, ScenarioThatIsNone_IsNamed) {
  for (const auto& [name, answer] : std::map<std::string, std::string>{
           {"ring:4", "ring:SWITCHES,SPAN with whole numbers is accepted"},
           {"ring:4,x", "ring:SWITCHES,SPAN"},
           {"fat-tree:5", "5 ports; an even number"},
           {"torus:3", "leaf-spine:, fat-tree: and ring: are generated"},
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

TEST(CbdCommand, Help_NamesEveryStatus) {
  const Outcome outcome = run_pfc_deadlock({"cbd", "--help"});
  EXPECT_EQ(outcome.status, kExitDone);
  EXPECT_THAT(outcome.out, HasSubstr("exit status: 0 no cycle, 1 a cycle"));
}

}  // namespace
}  // namespace portcullis::tools::pfc_deadlock
