// SPDX-License-Identifier: BSD-3-Clause
//
// --report: one file that needs nothing else, and says what the program says.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "base/svg_parts.hpp"
#include "tests/pfc/console.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

using portcullis::testing::Outcome;
using portcullis::testing::run_pfc_deadlock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Reported {
  Outcome outcome;
  std::string page;
};

Reported reported(const std::string& name, std::vector<std::string> arguments) {
  const std::string file = ::testing::TempDir() + "pfc_report_" + name + ".html";
  arguments.insert(arguments.end(), {"--report", file});
  Reported found{run_pfc_deadlock(arguments), ""};
  std::ifstream in(file);
  found.page.assign(std::istreambuf_iterator<char>(in), {});
  return found;
}

/// Nothing is fetched and nothing is run; the one address is the name of SVG.
::testing::Matcher<const std::string&> stands_alone() {
  return AllOf(HasSubstr("<!DOCTYPE html>"), HasSubstr("</html>"), Not(HasSubstr("<script")),
               Not(HasSubstr("<link")), Not(HasSubstr("<img")), Not(HasSubstr("src=")),
               Not(HasSubstr("<?xml")), Not(HasSubstr("href=")), Not(HasSubstr("@import")));
}

TEST(Report, OfAFluidRun_HasItsVerdictCycleAndFigures) {
  const auto [outcome, page] =
      reported("fluid", {"fluid", "ring-3", "--set", "d=0.125", "--discipline", "fifo", "--until",
                         "20", "--format", "json"});
  EXPECT_EQ(outcome.status, kExitLocked);
  EXPECT_THAT(page, stands_alone());
  const std::string verdict = outcome.err.substr(0, outcome.err.find('\n'));
  EXPECT_THAT(verdict, HasSubstr("deadlock at t = "));
  EXPECT_THAT(page, HasSubstr(svg::escape(verdict)));
  EXPECT_THAT(page, HasSubstr("marker-end=\"url(#waits)\""));
  EXPECT_THAT(page, HasSubstr("Not looked at"));
  const double most = nlohmann::json::parse(outcome.out).at("peak").at("1-2").get<double>();
  EXPECT_THAT(page, HasSubstr(fmt::format("<td class=t>1-2</td><td>{:.6g} KB</td>", most * 40)));
  EXPECT_THAT(page, HasSubstr("time, 1 is 8 us"));
}

TEST(Report, OfARunWithoutADeadlock_HasNoRedLinks) {
  const auto [outcome, page] = reported("calm", {"fluid", "seed-2", "--until", "5"});
  EXPECT_THAT(page, HasSubstr("no deadlock by t = 5"));
  EXPECT_THAT(page, Not(HasSubstr("url(#waits)")));
  EXPECT_THAT(page, HasSubstr("up to 40 us"));
}

TEST(Report, OfPackets_HasWhatThePacketsDid) {
  const auto [outcome, page] =
      reported("packet", {"packet", "ring-3", "--set", "d=0.125", "--until", "100"});
  EXPECT_EQ(outcome.status, kExitLocked);
  EXPECT_THAT(page, stands_alone());
  EXPECT_THAT(page, HasSubstr(svg::escape(outcome.out.substr(0, outcome.out.find('\n')))));
  EXPECT_THAT(page, HasSubstr("Hosts take what arrives"));
  EXPECT_THAT(page, HasSubstr("<svg"));
}

TEST(Report, OfACycle_NamesWhoWaits) {
  const auto [outcome, page] = reported("cbd", {"cbd", "ring:4,2"});
  EXPECT_EQ(outcome.status, kExitCycle);
  EXPECT_THAT(page, stands_alone());
  EXPECT_THAT(page,
              HasSubstr("<td class=t>sw0-sw1</td><td>sw1-sw2</td><td>0</td><td>flow f0</td>"));
  EXPECT_THAT(page, HasSubstr("(--fail)"));
}

TEST(Report, OfFailures_SaysHowMany) {
  const auto [outcome, page] =
      reported("failures", {"cbd", "leaf-spine:4,2,1", "--fail", "2", "--reaction", "converged"});
  EXPECT_EQ(outcome.status, kExitCycle);
  EXPECT_THAT(page, HasSubstr("12 of 66 sets of 2 failed cables"));
  EXPECT_THAT(page, HasSubstr("other than 2 cables"));
}

TEST(Report, OfFailuresOfSomeData_SaysWhatWasNotLookedAt) {
  const auto [outcome, page] = reported("some", {"cbd", "leaf-spine:4,2,1", "--fail", "2", "--most",
                                                 "5", "--traffic", "routes", "--priority", "0"});
  EXPECT_THAT(page, HasSubstr("Only the sets that were drawn were looked at"));
  EXPECT_THAT(page, HasSubstr("Only the paths of routes were looked at"));
  EXPECT_THAT(page, HasSubstr("Only priority 0 was asked for"));
}

TEST(Report, OfMessagesAlone_HasNoCurveOfFlows) {
  const auto [outcome, page] =
      reported("messages", {"packet", "leaf-spine:2,1,2", "--until", "200", "--workload",
                            "incast:3,200000", "--quanta", "1"});
  EXPECT_EQ(outcome.status, kExitDone) << outcome.err;
  EXPECT_THAT(page, stands_alone());
  EXPECT_THAT(page, Not(HasSubstr("data delivered")));
  EXPECT_THAT(page, HasSubstr("data in each ingress"));
  EXPECT_THAT(page, HasSubstr("Messages are told above"));
  EXPECT_THAT(page, HasSubstr("on 12 links: no deadlock was looked for there"));
}

TEST(Report, OfABound_HasItAndWhatOneRunShows) {
  const auto [outcome, page] = reported("bound", {"residence", "seed-2", "--until", "5"});
  EXPECT_EQ(outcome.status, kExitDone);
  EXPECT_THAT(page, stands_alone());
  EXPECT_THAT(page, HasSubstr(svg::escape(outcome.err.substr(0, outcome.err.find('\n')))));
  EXPECT_THAT(page, HasSubstr("The run that was observed"));
  EXPECT_THAT(page, HasSubstr("data that is none of the flows has no bound"));
  EXPECT_THAT(page, Not(HasSubstr("url(#waits)")));
}

TEST(Report, OfACircleWithoutABound_ShowsIt) {
  const auto [outcome, page] = reported("no_bound", {"residence", "ring-3", "--until", "20"});
  EXPECT_EQ(outcome.status, kExitNoBound);
  EXPECT_THAT(page, stands_alone());
  EXPECT_THAT(page, HasSubstr("no bound: "));
  EXPECT_THAT(page, HasSubstr("marker-end=\"url(#waits)\""));
  EXPECT_THAT(page, HasSubstr("<td class=t>f</td><td>none</td>"));
}

TEST(Report, OfASweep_HasItsMapAndCells) {
  const auto [outcome, page] =
      reported("sweep", {"sweep", "ring-3", "--vary", "d=0.125,0.25", "--runs", "3"});
  EXPECT_EQ(outcome.status, kExitDone) << outcome.err;
  EXPECT_THAT(page, stands_alone());
  EXPECT_THAT(page, HasSubstr("6 of 6 runs lock, in 2 cells"));
  EXPECT_THAT(page, HasSubstr("<td class=t>d = 0.125</td><td>3</td><td>0</td><td>3</td>"));
  EXPECT_THAT(page, HasSubstr("Each run was given up at 400 us"));
  EXPECT_THAT(page, HasSubstr("<svg"));
}

TEST(Report, InTheFileOfAnotherOutput_IsRefused) {
  const std::string file = ::testing::TempDir() + "pfc_report_twice.html";
  const std::string same = ::testing::TempDir() + "./pfc_report_twice.html";
  const std::vector<std::vector<std::string>> commands{
      {"fluid", "seed-2", "--svg", file, "--report", same},
      {"fluid", "seed-2", "--svg", file, "--phase", same},
      {"packet", "seed-2", "--until", "5", "--svg", file, "--report", same},
      {"sweep", "seed-1", "--vary", "d=1", "--svg", file, "--report", same},
      {"cbd", "ring-3", "--advise", "rewrites", "--advice", file, "--report", same}};
  for (const auto& command : commands) {
    const Outcome outcome = run_pfc_deadlock(command);
    EXPECT_EQ(outcome.status, kExitBad) << command.front();
    EXPECT_THAT(outcome.err, HasSubstr("is written there; two files are accepted"));
  }
}

TEST(Outputs, ThatWouldOverwriteWhatIsRead_AreRefused) {
  const std::string fabric = ::testing::TempDir() + "pfc_outputs_input.json";
  const std::string link = ::testing::TempDir() + "pfc_outputs_link.json";
  const std::string messages = ::testing::TempDir() + "pfc_outputs_messages.csv";
  const std::string same = ::testing::TempDir() + "./pfc_outputs_input.json";
  const std::string text = run_pfc_deadlock({"topology", "ring:4,2", "--json"}).out;
  std::ofstream(fabric) << text;
  std::ofstream(messages) << "from,to,bytes,start_us\nhost0,host1,1000,0\n";
  std::filesystem::remove(link);
  std::filesystem::create_hard_link(fabric, link);
  const std::vector<std::vector<std::string>> commands{
      {"fluid", fabric, "--svg", same},
      {"fluid", fabric, "--phase", fabric},
      {"fluid", fabric, "--report", link},
      {"packet", fabric, "--until", "5", "--svg", fabric},
      {"packet", fabric, "--until", "5", "--report", same},
      {"packet", fabric, "--until", "5", "--workload", messages, "--svg", messages},
      {"packet", fabric, "--until", "5", "--workload", "cdf:" + messages + ",0.5", "--report",
       messages},
      {"sweep", fabric, "--vary", "d=1", "--svg", fabric},
      {"sweep", fabric, "--vary", "d=1", "--report", fabric},
      {"residence", fabric, "--report", same},
      {"cbd", fabric, "--report", fabric},
      {"cbd", fabric, "--fail", "1", "--report", fabric},
      {"cbd", fabric, "--advise", "lossy", "--advice", same}};
  for (const auto& command : commands) {
    const Outcome outcome = run_pfc_deadlock(command);
    EXPECT_EQ(outcome.status, kExitBad) << command.front();
    EXPECT_THAT(outcome.err, HasSubstr("; another file is accepted")) << command.front();
    EXPECT_THAT(outcome.out, IsEmpty()) << command.front();
  }
  std::ifstream file(fabric);
  const std::string left{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(left, text);
}

TEST(Report, OfAFluidRunWithDelays_CountsNothingOnTheWireAsArrived) {
  const auto [outcome, page] =
      reported("delayed", {"fluid", "ring-3", "--set", "d=0.125", "--until", "5"});
  EXPECT_THAT(page, HasSubstr("<th>sent over its last link</th>"));
  EXPECT_THAT(page, Not(HasSubstr("arrived")));
}

TEST(Report, NamesFromOutside_StayText) {
  const std::string file = ::testing::TempDir() + "pfc_report_names.json";
  std::ofstream(file) << R"({"name": "<b>x</b>", "nodes": [{"name": "<i>", "kind": "host"},
      {"name": "s"}, {"name": "h", "kind": "host"}],
      "links": [{"from": "<i>", "to": "s"}, {"from": "s", "to": "h"}],
      "flows": [{"name": "<u>", "path": ["<i>", "s", "h"]}]})";
  const auto [outcome, page] = reported("names", {"fluid", file, "--until", "2"});
  EXPECT_EQ(outcome.status, kExitDone) << outcome.err;
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<b>")), Not(HasSubstr("<i>")), Not(HasSubstr("<u>"))));
  EXPECT_THAT(page, HasSubstr("&lt;u&gt;"));
}

TEST(Report, FileThatCannotBeWritten_IsOneLine) {
  const Outcome outcome =
      run_pfc_deadlock({"cbd", "ring:4,2", "--report", "/nowhere/at/all/report.html"});
  EXPECT_EQ(outcome.status, kExitBad);
  EXPECT_THAT(outcome.err, HasSubstr("/nowhere/at/all/report.html"));
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1);
}

}  // namespace
}  // namespace portcullis::tools::pfc_deadlock
