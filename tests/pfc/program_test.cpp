// SPDX-License-Identifier: BSD-3-Clause
//
// What a user of pfc-deadlock meets: exit statuses, columns, digits, one line for each mistake.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "program/standard_streams.hpp"
#include "tests/pfc/console.hpp"
#include "tools/pfc_deadlock/command.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using portcullis::testing::Outcome;
using portcullis::testing::run_pfc_deadlock;

/// A file that goes when the test does.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    std::string name = (std::filesystem::temp_directory_path() / "pfc-XXXXXX.json").string();
    const int file = ::mkstemps(name.data(), 5);
    EXPECT_GE(file, 0);
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(PfcDeadlock, WithoutArguments_ShowsHelpAndFails) {
  const Outcome outcome = run_pfc_deadlock({});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, StartsWith("usage: pfc-deadlock COMMAND"));
}

TEST(PfcDeadlock, Help_ListsCommandsAndScenarios) {
  const Outcome outcome = run_pfc_deadlock({"--help"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("  fluid "), HasSubstr("  topology "),
                                 HasSubstr("  seed-4 "), HasSubstr("  ring-3 ")));
}

TEST(PfcDeadlock, UnknownCommand_ListsTheKnown) {
  const Outcome outcome = run_pfc_deadlock({"melt"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, StartsWith("pfc-deadlock: no command \"melt\"; fluid, "));
}

TEST(PfcDeadlock, HelpOfPacket_HasTheStatusOfARunThatLocks) {
  EXPECT_THAT(run_pfc_deadlock({"packet", "--help"}).out,
              HasSubstr("0 nothing is locked at the end of this run, 1 something"));
  EXPECT_EQ(run_pfc_deadlock({"packet", "ring-3", "--set", "d=0.125", "--until", "100"}).status, 1);
}

TEST(PfcDeadlock, EveryCommand_HasHelp) {
  for (const Command& command : commands()) {
    const Outcome outcome = run_pfc_deadlock({std::string(command.name), "--help"});
    EXPECT_EQ(outcome.status, 0) << command.name;
    EXPECT_THAT(outcome.out, HasSubstr("Usage: ")) << command.name;
  }
}

TEST(Fluid, Csv_HasTheSeedsColumnsAndTwelveDigits) {
  const Outcome outcome = run_pfc_deadlock({"fluid", "seed-1", "--at", "1,10"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out,
              StartsWith("t,S_f1,S_f2,S_f3,S_f4,S_g1,S_g2,S_g3,S_g4\n"
                         "1,1,0.61803398875,0.61803398875,0.38196601125,1,0.61803398875,"));
  EXPECT_EQ(outcome.err, "no deadlock by t = 10\n");
}

TEST(Fluid, HostsWithDelayOrRate_HaveACurveOfTheirOwn) {
  EXPECT_THAT(run_pfc_deadlock({"fluid", "seed-3", "--at", "1"}).out,
              StartsWith("t,S_f0,S_f1,S_f2,S_g0,"));
  EXPECT_THAT(run_pfc_deadlock({"fluid", "seed-4", "--at", "1"}).out,
              StartsWith("t,S_f0,S_f1,S_f2,S_g1,S_g2"));
}

TEST(Fluid, Json_CarriesDeadlockAndCycle) {
  const Outcome outcome = run_pfc_deadlock({"fluid", "ring-3", "--set", "d=0.125", "--discipline",
                                            "fifo", "--at", "20", "--format", "json"});
  const auto found = nlohmann::json::parse(outcome.out);
  EXPECT_NEAR(found["deadlock"]["time"].get<double>(), 14.302, 1e-3);
  EXPECT_EQ(found["deadlock"]["cycle"].size(), 4u);
  EXPECT_EQ(found["rows"].size(), 1u);
  EXPECT_EQ(found["rows"][0].size(), found["columns"].size());
  EXPECT_THAT(outcome.err, HasSubstr("1-2 waits for 2-3"));
}

TEST(Fluid, Readings_DifferWhereTheSeedIsOpen) {
  const std::string a = run_pfc_deadlock({"fluid", "seed-3", "--at", "2.5,3.5"}).out;
  const std::string b =
      run_pfc_deadlock({"fluid", "seed-3", "--at", "2.5,3.5", "--start", "B"}).out;
  const std::string c =
      run_pfc_deadlock({"fluid", "seed-3", "--at", "2.5,3.5", "--start", "C"}).out;
  EXPECT_NE(a, b);
  EXPECT_NE(b, c);
}

TEST(Fluid, LiteralReading_LeavesOpenWhatThePrintLeavesOpen) {
  // Section 4 has no equation for S_f^2: as printed f never leaves.
  EXPECT_EQ(run_pfc_deadlock({"fluid", "seed-4", "--at", "10", "--reading", "literal"}).out,
            "t,S_f0,S_f1,S_f2,S_g1,S_g2\n10,1,1,0,10,10\n");
}

TEST(Fluid, LiteralReadingOfSection1_StuttersNearTheSolution) {
  const Outcome outcome = run_pfc_deadlock(
      {"fluid", "seed-1", "--at", "10", "--reading", "literal", "--format", "json"});
  const auto row = nlohmann::json::parse(outcome.out)["rows"][0];
  EXPECT_NEAR(row[2].get<double>(), 5.49604820371, 5e-3);
  EXPECT_NE(row[2].get<double>(), 5.49604820371);
}

TEST(Fluid, Mistakes_AreOneLine) {
  const struct {
    std::vector<std::string> arguments;
    std::string text;
  } mistakes[] = {
      {{"fluid", "seed-7"},
       "pfc-deadlock fluid: no scenario \"seed-7\"; seed-1, seed-2, seed-3, seed-4, ring-3, "
       "leaf-spine:LEAVES,SPINES,HOSTS, fat-tree:PORTS, ring:SWITCHES,SPAN, "
       "jellyfish:SWITCHES,PORTS,SEED and dragonfly:GROUPS,ROUTERS,GLOBAL are accepted; so is "
       "a file that ends in .json, and - for standard input\n"},
      {{"fluid", "seed-1", "--at", "1,x"},
       "pfc-deadlock fluid: --at \"1,x\"; times from 0 on with commas between are accepted\n"},
      {{"fluid", "seed-1", "--set", "theta=0"},
       "pfc-deadlock fluid: setting \"theta=0\": links[0].xoff: 0; a number above 0, or "
       "\"unlimited\", is accepted\n"},
      {{"fluid", "ring-3", "--set", "d=0.125", "--set", "rate.f=unlimited"},
       "pfc-deadlock fluid: setting \"rate.f=unlimited\": flows[0].rate: unlimited; 0, or 1e-50 "
       "to 1e+50, is accepted\n"},
      {{"fluid", "seed-1", "--set", "xoff.1-2=unlimited", "--set", "xon.1-2=0"},
       "pfc-deadlock fluid: setting \"xon.1-2=0\": links[2].xon: 0; above 0 and at most xoff, "
       "unlimited, is accepted\n"},
      {{"fluid", "seed-1", "--set", "d=1e-9"},
       "pfc-deadlock fluid: a delay of 1e-09 takes 2e+10 steps up to t = 10; a delay of 0 or of "
       "2e-06 and more, a smaller time or a larger max_events is accepted\n"},
      {{"fluid", "seed-1", "--at", "5", "--until", "4"},
       "pfc-deadlock fluid: --at 5; at most --until, 4, is accepted\n"},
      {{"fluid", "seed-1", "--until", "-5"},
       "pfc-deadlock fluid: --until -5; a time from 0 on is accepted\n"},
      {{"fluid", "ring-3", "--reading", "literal"},
       "pfc-deadlock fluid: the literal reading is of the equations of seed-1 to seed-4\n"},
      {{"fluid", "leaf-spine:2,2,1"},
       "pfc-deadlock fluid: no flows to solve for; a topology with flows is accepted\n"},
      {{"topology", "none.json"},
       "pfc-deadlock topology: none.json cannot be read: No such file or directory\n"},
  };
  for (const auto& [arguments, text] : mistakes) {
    const Outcome outcome = run_pfc_deadlock(arguments);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.err, text);
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST(Fluid, FileWithAMistake_IsNamedWithItsLine) {
  const TemporaryFile file("{\"nodes\": [{\"name\": \"a\"},\n  {\"name\": \"a\"}]}");
  EXPECT_EQ(run_pfc_deadlock({"fluid", file.path()}).err,
            "pfc-deadlock fluid: " + file.path() +
                ":2: nodes[1].name: \"a\" is the name of one before already; names differ\n");
}

TEST(Residence, LinksWithoutDelay_AreToldBesideTheBound) {
  EXPECT_THAT(
      run_pfc_deadlock({"residence", "seed-2", "--until", "0"}).err,
      HasSubstr("links have delay 0: what cables and pipelines take there is in no figure"));
  EXPECT_THAT(run_pfc_deadlock({"residence", "ring-3", "--set", "d=0.125", "--until", "0"}).err,
              Not(HasSubstr("delay 0")));
}

TEST(Fluid, DelayAndProportionalShare_SayWhatTheDigitsAreWorth) {
  EXPECT_THAT(run_pfc_deadlock({"fluid", "seed-3", "--at", "20001"}).err,
              HasSubstr("and past t = 20000 none is guaranteed"));
  EXPECT_THAT(run_pfc_deadlock({"fluid", "seed-3", "--at", "50"}).err,
              ::testing::MatchesRegex("no deadlock by t = 50\nwith steps twice as long the curves "
                                      "differ by .*e-1[0-9] \\(t = .*\\): digits beyond that mean "
                                      "nothing\n"));
}

TEST(Fluid, OnAKnifeEdge_SaysThatRoundingDecides) {
  const Outcome outcome = run_pfc_deadlock(
      {"fluid", "ring-3", "--discipline", "fifo", "--until", "100", "--format", "json"});
  EXPECT_THAT(outcome.err,
              HasSubstr("on a knife edge: with starts up to 1e-09 later the curves differ by "));
  EXPECT_THAT(outcome.err, HasSubstr("rounding decides, compare distributions (sweep)"));
  EXPECT_GT(nlohmann::json::parse(outcome.out)["later_starts_differ_by"].get<double>(), 1);
  // Starts alone do not tell here: it locks at a step's end, and steps end at the times asked for.
  EXPECT_THAT(run_pfc_deadlock({"fluid", "ring-3", "--tie", "closed", "--until", "200"}).err,
              HasSubstr("on a knife edge: "));
}

TEST(Fluid, OffEveryKnifeEdgeWithoutDelayOrUnderFifo_ThereIsNothingToSayOfDigits) {
  EXPECT_EQ(run_pfc_deadlock({"fluid", "seed-3", "--at", "2001", "--discipline", "fifo"}).err,
            "no deadlock by t = 2001\n");
  EXPECT_EQ(run_pfc_deadlock({"fluid", "seed-1", "--at", "50"}).err, "no deadlock by t = 50\n");
}

TEST(Fluid, GrowingErrors_AreToldByASecondRun) {
  // Swings grow until the ring locks, and so does what one run's rounding makes of them.
  const Outcome outcome = run_pfc_deadlock(
      {"fluid", "ring-3", "--set", "d=0.125", "--until", "60", "--format", "json"});
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_GT(json["longer_steps_differ_by"].get<double>(), 1e-7);
  EXPECT_THAT(outcome.err, HasSubstr("with steps twice as long the curves differ by"));
}

/// One flow with two ways, b and c.
constexpr const char* kTwoWays =
    R"({"nodes": [{"name": "h", "kind": "host"}, {"name": "a"}, {"name": "b"}, {"name": "c"},
                    {"name": "d"}],
          "links": [{"from": "h", "to": "a"}, {"from": "a", "to": "b"}, {"from": "a", "to": "c"},
                    {"from": "b", "to": "d"}, {"from": "c", "to": "d"}],
          "routes": {"a": {"d": ["b", "c"]}, "b": {"d": ["d"]}, "c": {"d": ["d"]}},
          "flows": [{"name": "f", "from": "h", "to": "d"}]})";

TEST(ExitStatus, OfARunThatLocks_IsOne) {
  // Two flows live, and a third locks them: HotNets 2016, cases 2 and 3.
  const std::vector<std::vector<std::string>> runs{{"fluid", "--discipline", "fifo"}, {"packet"}};
  for (std::vector<std::string> run : runs) {
    run.insert(run.begin() + 1, {"seed-1", "--set", "d=0.125", "--until", "60"});
    EXPECT_EQ(run_pfc_deadlock(run).status, kExitDone) << run[0];
    run[1] = "ring-3";
    EXPECT_EQ(run_pfc_deadlock(run).status, kExitLocked) << run[0];
  }
}

TEST(Fluid, FlowsWhoseNamesEndInDigits_HaveColumnsOfTheirOwn) {
  // Hop 10 of f, and the host of f1.
  const TemporaryFile file([] {
    std::string nodes = R"({"name": "n0", "kind": "host"})";
    std::string links;
    std::string path = R"("n0")";
    for (int i = 1; i <= 12; ++i) {
      nodes += fmt::format(R"(,{{"name": "n{}"{}}})", i, i == 12 ? R"(,"kind": "host")" : "");
      links += fmt::format(R"({}{{"from": "n{}", "to": "n{}", "delay": 0.1}})", i > 1 ? "," : "",
                           i - 1, i);
      path += fmt::format(R"(,"n{}")", i);
    }
    return fmt::format(R"({{"nodes": [{0}], "links": [{1}],
        "flows": [{{"name": "f", "path": [{2}]}}, {{"name": "f1", "path": [{2}]}}]}})",
                       nodes, links, path);
  }());
  const Outcome outcome = run_pfc_deadlock({"fluid", file.path(), "--at", "1"});
  EXPECT_THAT(outcome.out, HasSubstr(",S_f10,S_f11,S_f12,S_f1.0,S_f1.1,"));
}

TEST(Fluid, RoutedFlowWithSeveralNextHops_IsSplitAndSaysSo) {
  const TemporaryFile file(kTwoWays);
  const std::string note = "flow f: split over 2 ways (ECMP): h>a>b>d, h>a>c>d\n";
  const Outcome fluid = run_pfc_deadlock({"fluid", file.path(), "--at", "4"});
  EXPECT_THAT(fluid.err, HasSubstr(note));
  EXPECT_THAT(fluid.out, HasSubstr("\n4,2,2,2,2,2,2\n"));  // a half over each
  EXPECT_THAT(run_pfc_deadlock({"packet", file.path(), "--until", "1"}).err, HasSubstr(note));
  EXPECT_THAT(run_pfc_deadlock({"sweep", file.path(), "--vary", "d=0", "--runs", "1"}).err,
              HasSubstr(note));
  EXPECT_THAT(run_pfc_deadlock({"cbd", file.path(), "--traffic", "flows"}).out,
              HasSubstr("4 dependencies"));
}

TEST(Fluid, RoutedFlowToldToTakeTheFirst_SaysSo) {
  const TemporaryFile file(kTwoWays);
  const std::string note =
      "flow f: several next hops are offered (ECMP); this run takes the first of each";
  EXPECT_THAT(run_pfc_deadlock({"fluid", file.path(), "--ecmp", "first"}).err, HasSubstr(note));
  EXPECT_THAT(run_pfc_deadlock({"packet", file.path(), "--ecmp", "first", "--until", "1"}).err,
              HasSubstr(note));
}

TEST(Packet, LimitOfASplitFlow_IsThatOfItsPartsTogether) {
  const TemporaryFile file(kTwoWays);
  const Outcome outcome =
      run_pfc_deadlock({"packet", file.path(), "--until", "100", "--limit", "f=0.5"});
  EXPECT_THAT(outcome.out, HasSubstr("f/1          1001 sent"));
  EXPECT_THAT(outcome.out, HasSubstr("f/2          1000 sent"));
}

TEST(Fluid, StoppedRun_HasTheStatusOfASignal) {
  EXPECT_EQ(run_pfc_deadlock({"fluid", "seed-1", "--until", "1000"}, true).status, 130);
}

TEST(Sweep, Csv_HasACellALine) {
  const std::vector<std::string> arguments = {"sweep",   "ring-3",      "--vary", "d=0.0625,0.125",
                                              "--vary",  "theta=1:2:3", "--runs", "4",
                                              "--until", "30"};
  const Outcome outcome = run_pfc_deadlock(arguments);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out,
              StartsWith("d,theta,runs,undecided,deadlocks,share,first,p10,median,p90\n"
                         "0.0625,1,4,0,"));
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 7);
}

TEST(Sweep, PacketsWithoutOffsets_LockWhenPacketSaysSo) {
  const auto swept = nlohmann::json::parse(
      run_pfc_deadlock({"sweep", "ring-3", "--engine", "packet", "--vary", "d=0.125", "--runs", "2",
                        "--offsets", "0", "--until", "200", "--quanta", "3000", "--format", "json"})
          .out);
  const auto run =
      nlohmann::json::parse(run_pfc_deadlock({"packet", "ring-3", "--set", "d=0.125", "--until",
                                              "200", "--quanta", "3000", "--format", "json"})
                                .out);
  const double time = run.at("deadlock").at("time");
  EXPECT_EQ(swept.at("cells").at(0).at("times"), nlohmann::json({time, time}));
}

TEST(Sweep, LockThatTheWatchdogEnds_IsNoDeadlock) {
  const std::vector<std::string> watchdog = {"--until",     "400",  "--watchdog",   "drop",
                                             "--detect-ms", "0.05", "--restore-ms", "0.02",
                                             "--format",    "json"};
  std::vector<std::string> sweep = {"sweep",   "ring-3", "--engine", "packet",    "--vary",
                                    "d=0.125", "--runs", "1",        "--offsets", "0"};
  std::vector<std::string> packet = {"packet", "ring-3", "--set", "d=0.125"};
  sweep.insert(sweep.end(), watchdog.begin(), watchdog.end());
  packet.insert(packet.end(), watchdog.begin(), watchdog.end());
  const auto run = nlohmann::json::parse(run_pfc_deadlock(packet).out);
  EXPECT_TRUE(run.contains("ended_deadlock"));
  const auto swept = nlohmann::json::parse(run_pfc_deadlock(sweep).out);
  EXPECT_EQ(swept.at("cells").at(0).at("times"), nlohmann::json::array());
}

TEST(Sweep, PacketOptionsOfTheFluidEngine_AreRefused) {
  EXPECT_THAT(
      run_pfc_deadlock({"sweep", "ring-3", "--vary", "d=1", "--runs", "1", "--quanta", "9"}).err,
      HasSubstr("without --engine packet"));
}

TEST(Sweep, PausesThatMayRunOut_AreNoAnswerAboutDeadlocks) {
  EXPECT_THAT(run_pfc_deadlock({"sweep", "ring-3", "--engine", "packet", "--vary", "d=1", "--runs",
                                "1", "--quanta", "10", "--refresh-quanta", "20"})
                  .err,
              HasSubstr("PAUSE may run out on"));
}

TEST(Sweep, Stopped_SaysHowFarItCameAndDrawsNothing) {
  const TemporaryFile map("as it was");
  const Outcome outcome = run_pfc_deadlock(
      {"sweep", "ring-3", "--vary", "d=1", "--runs", "3", "--svg", map.path()}, true);
  EXPECT_EQ(outcome.status, 130);
  EXPECT_THAT(outcome.out, HasSubstr("\n1,0,0,0,,,,,\n"));
  EXPECT_EQ(outcome.err, "pfc-deadlock sweep: stopped after 0 of 3 runs; no map is written\n");
  std::ifstream kept(map.path());
  std::string text;
  std::getline(kept, text);
  EXPECT_EQ(text, "as it was");
}

TEST(Sweep, OneSettingVariedTwice_IsRefused) {
  const Outcome outcome = run_pfc_deadlock({"sweep", "ring-3", "--vary", "d=1", "--vary", "d=2"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err,
            "pfc-deadlock sweep: --vary d twice; one list of its values is accepted\n");
}

TEST(Sweep, Mistakes_AreOneLine) {
  EXPECT_THAT(run_pfc_deadlock({"sweep", "ring-3", "--vary", "d=1:2"}).err,
              StartsWith("pfc-deadlock sweep: --vary \"d=1:2\"; NAME=FROM:TO:COUNT or"));
  EXPECT_EQ(run_pfc_deadlock({"sweep", "ring-3", "--vary", "d=-1", "--runs", "1"}).err,
            "pfc-deadlock sweep: setting \"d=-1\": links[0].delay: -1; 0 or more is accepted\n");
  EXPECT_THAT(run_pfc_deadlock({"sweep", "ring-3", "--vary", "d=1", "--runs", "4000000000"}).err,
              StartsWith("pfc-deadlock sweep: 4000000000 runs in each cell; 1 or more, and "));
  EXPECT_THAT(run_pfc_deadlock({"sweep", "ring-3", "--vary", "d=1", "--runs", "0"}).err,
              StartsWith("pfc-deadlock sweep: 0 runs in each cell"));
  EXPECT_THAT(run_pfc_deadlock({"sweep", "ring-3", "--vary", "d=1", "--threads", "5000"}).err,
              StartsWith("pfc-deadlock sweep: 5000 threads; 1 to 1024"));
  EXPECT_THAT(run_pfc_deadlock({"sweep", "ring-3", "--vary", "d=1", "--offsets", "nan"}).err,
              StartsWith("pfc-deadlock sweep: offsets nan;"));
}

/// Names as they come, no delays, and next hops to choose from.
constexpr const char* kAwkward = R"({"name": "x", "nodes": [{"name": "h,1", "kind": "host"},
    {"name": "s"}, {"name": "t"}, {"name": "h2", "kind": "host"}], "links": [
    {"from": "h,1", "to": "s"}, {"from": "s", "to": "h2"}, {"from": "s", "to": "t"},
    {"from": "t", "to": "h2"}],
    "flows": [{"name": "f, or \"g\"", "path": ["h,1", "s", "h2"]}]})";

TEST(Residence, UncongestedPathWithoutDelays_TakesWhatItsLinksTake) {
  const std::string file = ::testing::TempDir() + "pfc_awkward.json";
  std::ofstream(file) << kAwkward;
  const Outcome outcome = run_pfc_deadlock({"residence", file, "--until", "20"});
  EXPECT_THAT(outcome.err, HasSubstr("up to 160 us, 0.4 us at most"));
  EXPECT_THAT(outcome.out, HasSubstr("0.4,0.4,0.4,0.4,0,0\n"));
}

TEST(Names, WithCommasAndQuotes_AreOneFieldOfEveryCsv) {
  const std::string file = ::testing::TempDir() + "pfc_awkward.json";
  std::ofstream(file) << kAwkward;
  EXPECT_THAT(run_pfc_deadlock({"residence", file}).out, HasSubstr("\n\"f, or \"\"g\"\"\","));
  EXPECT_THAT(run_pfc_deadlock({"fluid", file, "--at", "1"}).out,
              HasSubstr("t,\"S_f, or \"\"g\"\""));
  EXPECT_THAT(run_pfc_deadlock({"packet", file, "--until", "9", "--format", "csv"}).out,
              HasSubstr("t,\"delivered.f, or \"\"g\"\"\""));
}

/// The bound that `residence` gives, in microseconds; nothing for null.
std::optional<double> bound_us(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "residence");
  arguments.insert(arguments.end(), {"--format", "json"});
  const auto json = nlohmann::json::parse(run_pfc_deadlock(arguments).out);
  return json["bound_us"].is_null() ? std::nullopt : std::optional(json["bound_us"].get<double>());
}

TEST(Residence, Verdict_IsABoundAndAStatus) {
  const Outcome outcome = run_pfc_deadlock({"residence", "seed-2"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, StartsWith("flow,bound_us,transit_us,median_us,p99_us,longest_us,"));
  EXPECT_THAT(outcome.err,
              AllOf(StartsWith("bound: a packet of 1000 bytes arrives at most "),
                    HasSubstr("whatever packets of that size are sent and when, in priority 0 "
                              "alone, if hosts take what arrives; "),
                    HasSubstr("in the one run that was observed, up to 400 us, 16.4 us at most")));
}

TEST(Residence, RoutesWithoutAPriority_AreBoundedInAnyAndSaidToBe) {
  const std::string path = ::testing::TempDir() + "residence_of_any_priority.json";
  std::ofstream(path) << run_pfc_deadlock({"topology", "leaf-spine:2,1,1", "--json"}).out;
  const Outcome any = run_pfc_deadlock({"residence", path});
  EXPECT_THAT(any.err, AllOf(HasSubstr("sent and when, in any priority, if"),
                             HasSubstr("any of the 8 may hold the links: --priorities, or")));
  const Outcome some = run_pfc_deadlock({"residence", path, "--priorities", "3,4"});
  EXPECT_THAT(some.err, AllOf(HasSubstr("sent and when, in priorities 3, 4 alone, if"),
                              Not(HasSubstr("may hold the links"))));
  EXPECT_LT(bound_us({path, "--priorities", "3,4"}), bound_us({path}));
  const Outcome bad = run_pfc_deadlock({"residence", path, "--priorities", "9"});
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.err, HasSubstr("priorities[0]: 9; 0 to 7 is accepted"));
}

TEST(Residence, SmallerPackets_AreAskedForAndSaid) {
  const Outcome outcome = run_pfc_deadlock(
      {"residence", "seed-2", "--set", "gap=0.2", "--least-bytes", "500", "--until", "0"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, AllOf(StartsWith("bound: a packet of 500 to 1000 bytes arrives at most"),
                                 HasSubstr("whatever packets of such sizes are sent and when")));
  const Outcome refused = run_pfc_deadlock({"residence", "seed-2", "--least-bytes", "1001"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("a smallest packet of 1001 bytes; at most the largest, 1000"));
}

TEST(Residence, CircleThatMayLock_HasNoBoundWhateverTheRunShows) {
  // With these starts it never locks; with others it does.
  const Outcome outcome =
      run_pfc_deadlock({"residence", "seed-1", "--set", "d=1", "--until", "20"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, AllOf(StartsWith("no bound: 1-2 waits for 2-3, 2-3 waits for 3-4, "),
                                 HasSubstr("nothing keeps that circle from locking"),
                                 HasSubstr("--watchdog-ms may give one")));
}

TEST(Residence, Bound_IsNeverBelowWhatItsOwnTableShows) {
  for (const char* scenario : {"seed-2", "seed-3", "seed-4"})
    for (const char* setting : {"d=0", "d=0.5", "d=3", "d=5000", "theta=2", "start.g=1.3"}) {
      const Outcome outcome = run_pfc_deadlock(
          {"residence", scenario, "--set", setting, "--format", "json", "--until", "60"});
      const auto json = nlohmann::json::parse(outcome.out);
      ASSERT_TRUE(json["bound_us"].is_number()) << scenario << ' ' << setting;
      for (const auto& flow : json["flows"])
        for (const char* figure : {"bound_us", "transit_us", "longest_us", "oldest_inside_us"})
          EXPECT_LE(flow[figure].is_null() ? 0 : flow[figure].get<double>(),
                    json["bound_us"].get<double>())
              << scenario << ' ' << setting << ' ' << figure;
    }
}

TEST(Residence, Watchdog_IsInTheBoundWithAllThatComesOnTop) {
  // A packet run with a watchdog of 200 ms showed 200.093 ms.
  EXPECT_EQ(bound_us({"ring-3", "--set", "d=0.125"}), std::nullopt);
  EXPECT_GT(bound_us({"ring-3", "--set", "d=0.125", "--watchdog-ms", "200"}).value_or(0), 200'093);
}

TEST(Residence, LargerPackets_TakeLonger) {
  EXPECT_GT(bound_us({"seed-2", "--packet-bytes", "9000"}).value_or(0),
            bound_us({"seed-2", "--packet-bytes", "1000"}).value_or(1e9));
}

TEST(Residence, MixedBuffer_HasNoBound) {
  const Outcome outcome = run_pfc_deadlock({"residence", "seed-2", "--discipline", "proportional"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, StartsWith("no bound: in buffers that mix what they hold"));
  EXPECT_THAT(outcome.out, HasSubstr("\nf,,"));
}

TEST(Residence, ThresholdsFarBelowAPacket_AreNoContradiction) {
  const Outcome outcome =
      run_pfc_deadlock({"residence", "seed-2", "--set", "theta=1e-40", "--until", "1"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err,
              HasSubstr("in the one run that was observed, up to 8 us, 0.4 us at most"));
}

TEST(Residence, BoundOfAWatchdog_IsNotWithdrawnForAFluidThatHasNone) {
  // The run locks at 114 us, and a watchdog of 0.1 us would have ended that.
  for (const char* until : {"50", "1000"})
    EXPECT_EQ(run_pfc_deadlock({"residence", "ring-3", "--set", "d=0.125", "--watchdog-ms",
                                "0.0001", "--until", until})
                  .status,
              0)
        << until;
}

/// Two hosts that send to a third over one switch; of links and the switch what is given.
std::string two_into_one(const std::string& defaults, const std::string& of_switch) {
  return R"({"defaults": {"capacity": 1, "delay": 0.125, )" + defaults +
         R"(}, "nodes": [{"name": "a", "kind": "host"}, {"name": "b", "kind": "host"},
         {"name": "c", "kind": "host"}, {"name": "s")" +
         of_switch + R"(}], "links": [{"from": "a", "to": "s", "both_ways": true},
         {"from": "b", "to": "s", "both_ways": true}, {"from": "s", "to": "c", "both_ways": true}],
         "flows": [{"name": "f", "path": ["a", "s", "c"]},
         {"name": "g", "path": ["b", "s", "c"]}]})";
}

TEST(Residence, BoundOfALossyClass_IsNotWithdrawnForAFluidThatLosesNothing) {
  const TemporaryFile buffers(two_into_one(R"("xoff": "unlimited", "buffer": 2)", ""));
  const TemporaryFile shared(
      two_into_one(R"("xoff": "unlimited")", R"(, "shared_buffer": 3, "alpha": 0)"));
  const Outcome of_links = run_pfc_deadlock({"residence", buffers.path()});
  EXPECT_EQ(of_links.status, 0);
  EXPECT_THAT(of_links.err, HasSubstr("no run was observed (the fluid, which loses nothing, held "
                                      "more than the buffer of a-s)"));
  const Outcome of_switch = run_pfc_deadlock({"residence", shared.path()});
  EXPECT_EQ(of_switch.status, 0);
  EXPECT_THAT(of_switch.err, HasSubstr("may have held more than the shared buffer of s)"));
}

TEST(Residence, LossyClassThatHasRoom_IsObserved) {
  const TemporaryFile file(two_into_one(R"("xoff": "unlimited", "buffer": 2)", ""));
  EXPECT_THAT(run_pfc_deadlock({"residence", file.path(), "--until", "3"}).err,
              HasSubstr("in the one run that was observed, up to 24 us, 13.8994 us at most"));
}

TEST(Residence, RoutesWithoutFlows_AreBoundedAndNotObserved) {
  const Outcome outcome = run_pfc_deadlock({"residence", "leaf-spine:2,2,1"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("no run was observed (no flows)"));
  EXPECT_THAT(outcome.out, HasSubstr("\n(any that routes permit),"));
}

TEST(Import, Edges_BecomeAFabricThatCbdReads) {
  const TemporaryFile edges("node_a,node_b\na,b\nb,c\nc,a\n");
  const Outcome imported = run_pfc_deadlock({"import", "edges", edges.path()});
  EXPECT_EQ(imported.status, 0);
  EXPECT_THAT(imported.err, HasSubstr("not in these files: delays (0 here)"));
  const TemporaryFile fabric(imported.out);
  EXPECT_EQ(run_pfc_deadlock({"topology", fabric.path(), "--json"}).status, 0);
  EXPECT_EQ(run_pfc_deadlock({"import", "edges", edges.path(), edges.path()}).status, 2);
}

TEST(Import, ShortestPaths_AreRoutesThatCbdLooksAt) {
  const TemporaryFile edges("node_a,node_b\nh1,a\na,b\nb,h2\n");
  const TemporaryFile bare(run_pfc_deadlock({"import", "edges", edges.path()}).out);
  EXPECT_EQ(run_pfc_deadlock({"cbd", bare.path()}).status, 2);  // no routes, nothing to look at
  const Outcome imported =
      run_pfc_deadlock({"import", "edges", edges.path(), "--shortest-paths", "--host", "a"});
  EXPECT_THAT(imported.err, HasSubstr("which is a guess"));
  EXPECT_EQ(run_pfc_deadlock({"import", "edges", edges.path(), "--host", "c"}).status, 2);
  EXPECT_EQ(run_pfc_deadlock({"import", "edges", edges.path(), "--priority", "3"}).status, 2);
  const TemporaryFile fabric(
      run_pfc_deadlock({"import", "edges", edges.path(), "--shortest-paths"}).out);
  EXPECT_EQ(run_pfc_deadlock({"cbd", fabric.path()}).status, 0);
}

TEST(Import, ShortestPathsOfOneSwitch_LeadToItsHosts) {
  const TemporaryFile edges("node_a,node_b\nh1,a\nh2,a\nh3,a\n");
  const TemporaryFile fabric(
      run_pfc_deadlock({"import", "edges", edges.path(), "--shortest-paths"}).out);
  const Outcome judged = run_pfc_deadlock({"cbd", fabric.path()});
  EXPECT_EQ(judged.status, 0) << judged.err;
  EXPECT_THAT(judged.out, HasSubstr("no cycle: the routes to 3 destinations"));
}

TEST(Cbd, Advice_IsAFabricThatDoesNotLock) {
  for (const char* kind : {"rewrites", "lossy"}) {
    const TemporaryFile advice("");
    const Outcome advised = run_pfc_deadlock(
        {"cbd", "ring-3", "--set", "d=0.125", "--advise", kind, "--advice", advice.path()});
    EXPECT_EQ(advised.status, 1);  // of the fabric that was given
    EXPECT_THAT(advised.err, HasSubstr("data that begins in priority 0 (--traffic all) has no "
                                       "cycle"));
    EXPECT_THAT(advised.err, ::testing::Not(HasSubstr("not all data")));
    const Outcome judged = run_pfc_deadlock({"cbd", advice.path()});
    EXPECT_EQ(judged.status, 0) << judged.out << judged.err;
    const Outcome simulated = run_pfc_deadlock({"packet", advice.path(), "--until", "300"});
    EXPECT_EQ(simulated.status, 0) << simulated.err;
    EXPECT_THAT(simulated.out, ::testing::Not(HasSubstr("DEADLOCK")));
  }
  EXPECT_THAT(run_pfc_deadlock({"packet", "ring-3", "--set", "d=0.125", "--until", "300"}).out,
              HasSubstr("DEADLOCK"));
  EXPECT_EQ(run_pfc_deadlock({"cbd", "ring-3", "--advise", "rewrites"}).status, 2);
}

/// A ring of three with a host at each, what the tests add behind it.
std::string ring_of_three(const std::string& more) {
  std::string text = R"({"name": "ring", "nodes": [)";
  std::string links;
  for (int i = 0; i < 3; ++i) {
    text += fmt::format(R"({}{{"name": "s{}"}}, {{"name": "h{}", "kind": "host"}})",
                        i == 0 ? "" : ", ", i, i);
    links += fmt::format(R"({0}{{"from": "s{1}", "to": "s{2}", "both_ways": true}},
{{"from": "h{1}", "to": "s{1}", "both_ways": true}})",
                         i == 0 ? "" : ", ", i, (i + 1) % 3);
  }
  return text + R"(], "links": [)" + links + "], " + more + "}";
}

TEST(Cbd, AdviceForOnePriority_DoesNotSpeakOfTheOthers) {
  std::string flows = R"("flows": [)";
  for (int i = 0; i < 3; ++i)
    for (int priority = 0; priority < 2; ++priority)
      flows += fmt::format(
          R"({}{{"name": "f{}{}", "path": ["h{}", "s{}", "s{}", "s{}", "h{}"], "priority": {}}})",
          i + priority == 0 ? "" : ", ", i, priority, i, i, (i + 1) % 3, (i + 2) % 3, (i + 2) % 3,
          priority);
  const TemporaryFile two(ring_of_three(flows + "]"));
  const TemporaryFile advice("");
  const Outcome advised = run_pfc_deadlock(
      {"cbd", two.path(), "--priority", "0", "--advise", "rewrites", "--advice", advice.path()});
  EXPECT_THAT(advised.err,
              HasSubstr("data that begins in priority 0 (--traffic all) has no cycle"));
  EXPECT_THAT(advised.err, HasSubstr("not all data in it is free of cycles"));
  EXPECT_EQ(run_pfc_deadlock({"cbd", advice.path()}).status, 1);
}

/// Data begins in 0, has 1 from the first turn on, and goes round in that.
TEST(Cbd, PriorityThatDataComesToHave_IsAskedForByItsBuffers) {
  std::string routes = R"("routes": {)";
  std::string rewrites = R"("rewrites": [)";
  for (int i = 0; i < 3; ++i) {
    const int next = (i + 1) % 3;
    const int after = (i + 2) % 3;
    routes += fmt::format(R"({0}"s{1}": {{"h{1}": ["h{1}"], "h{2}": ["s{2}"], "h{3}": ["s{2}"]}})",
                          i == 0 ? "" : ", ", i, next, after);
    rewrites +=
        fmt::format(R"({0}{{"from": "h{1}-s{1}", "to": "s{1}-s{2}", "was": 0, "becomes": 1}})",
                    i == 0 ? "" : ", ", i, next);
  }
  const TemporaryFile fabric(ring_of_three(routes + "}, " + rewrites + "]"));
  EXPECT_EQ(run_pfc_deadlock({"cbd", fabric.path()}).status, 1);
  const Outcome one = run_pfc_deadlock({"cbd", fabric.path(), "--priority", "1"});
  EXPECT_EQ(one.status, 1) << one.out;
  EXPECT_THAT(one.out, HasSubstr("cycles through priority 1 alone"));
  EXPECT_EQ(run_pfc_deadlock({"cbd", fabric.path(), "--priority", "0"}).status, 0);
  const Outcome failed = run_pfc_deadlock(
      {"cbd", fabric.path(), "--priority", "1", "--fail", "1", "--reaction", "as-given"});
  EXPECT_THAT(failed.out, ::testing::Not(HasSubstr("with all cables: no cycle")));
}

TEST(Cbd, PriorityThatNoDataComesToHave_IsNothingToLookAt) {
  const TemporaryFile advice("");
  static_cast<void>(
      run_pfc_deadlock({"cbd", "ring-3", "--advise", "rewrites", "--advice", advice.path()}));
  const Outcome outcome =
      run_pfc_deadlock({"cbd", advice.path(), "--priority", "7", "--traffic", "flows"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("no data comes to have priority 7"));
}

TEST(Cbd, RewrittenPriorities_AreRefusedByWhoDoesNotKnowThem) {
  const TemporaryFile advice("");
  static_cast<void>(
      run_pfc_deadlock({"cbd", "ring-3", "--advise", "rewrites", "--advice", advice.path()}));
  const Outcome outcome = run_pfc_deadlock({"fluid", advice.path(), "--until", "1"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("priorities that are rewritten on the way"));
}

TEST(Topology, LinkThatNeverPauses_IsReadBackAsOne) {
  const Outcome lossy =
      run_pfc_deadlock({"topology", "ring-3", "--set", "xoff.1-2=unlimited", "--json"});
  EXPECT_THAT(lossy.out, HasSubstr("\"to\":\"2\",\"xoff\":\"unlimited\"}"));
  const TemporaryFile file(lossy.out);
  EXPECT_EQ(run_pfc_deadlock({"cbd", file.path()}).status, 0);
  EXPECT_EQ(run_pfc_deadlock({"cbd", "ring-3"}).status, 1);
}

/// As main() ends with it.
int status_of(const std::vector<std::string>& arguments) {
  return program::run_main("pfc-deadlock", [&] { return run_pfc_deadlock(arguments).status; });
}

TEST(Program, FileThatTakesNothingAfterTheWork_IsLostOutput) {
  const std::vector<std::vector<std::string>> runs = {
      {"fluid", "seed-2", "--until", "1", "--svg", "/dev/full"},
      {"fluid", "seed-2", "--until", "1", "--phase", "/dev/full"},
      {"fluid", "seed-2", "--until", "1", "--report", "/dev/full"},
      {"packet", "seed-2", "--until", "1", "--svg", "/dev/full"},
      {"packet", "seed-2", "--until", "1", "--report", "/dev/full"},
      {"residence", "seed-2", "--until", "0", "--report", "/dev/full"},
      {"sweep", "seed-2", "--vary", "d=0.1", "--runs", "1", "--until", "1", "--svg", "/dev/full"},
      {"cbd", "seed-2", "--report", "/dev/full"},
      {"cbd", "ring-3", "--advise", "rewrites", "--advice", "/dev/full"}};
  for (const auto& arguments : runs)
    EXPECT_EQ(status_of(arguments), program::kExitOutputLost) << arguments[0] << arguments.back();
}

TEST(Program, FileThatCannotBeWritten_IsRefusedBeforeTheWork) {
  const std::vector<std::vector<std::string>> runs = {
      {"fluid", "seed-2", "--phase", "/nowhere/x"},
      {"packet", "seed-2", "--until", "1", "--report", "/nowhere/x"},
      {"residence", "seed-2", "--report", "/nowhere/x"},
      {"cbd", "ring-3", "--advise", "rewrites", "--advice", "/nowhere/x"}};
  for (const auto& arguments : runs) {
    const Outcome outcome = run_pfc_deadlock(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments[0];
    EXPECT_THAT(outcome.out, IsEmpty()) << arguments[0];
    EXPECT_THAT(outcome.err, HasSubstr(" /nowhere/x cannot be written: ")) << arguments[0];
  }
}

TEST(Packet, CapacityBeyondPicoseconds_IsRefused) {
  const Outcome outcome =
      run_pfc_deadlock({"packet", "seed-2", "--set", "capacity=1e50", "--until", "1"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("link host-f-1: capacity 1e+50 sends 84 bytes in less than a "
                                     "picosecond; at most "));
}

TEST(Topology, Json_IsTheSameScenarioAgain) {
  const TemporaryFile file(run_pfc_deadlock({"topology", "seed-3", "--json"}).out);
  EXPECT_EQ(run_pfc_deadlock({"fluid", file.path(), "--at", "1,7.5"}).out,
            run_pfc_deadlock({"fluid", "seed-3", "--at", "1,7.5"}).out);
}

TEST(Topology, OfAGeneratedFabric_HasItsRoutesToStartFrom) {
  const TemporaryFile file(run_pfc_deadlock({"topology", "leaf-spine:2,2,1", "--json"}).out);
  EXPECT_EQ(run_pfc_deadlock({"cbd", file.path(), "--format", "csv"}).out,
            run_pfc_deadlock({"cbd", "leaf-spine:2,2,1", "--format", "csv"}).out);
}

TEST(Topology, Svg_NamesNodesAndFlows) {
  const Outcome outcome = run_pfc_deadlock({"topology", "seed-1", "--svg"});
  EXPECT_THAT(outcome.out, AllOf(StartsWith("<?xml"), HasSubstr(">host-g</text>"),
                                 HasSubstr("f: host-f &gt; 1 &gt; 2 &gt; 3 &gt; 4")));
}

}  // namespace
}  // namespace portcullis::tools::pfc_deadlock
