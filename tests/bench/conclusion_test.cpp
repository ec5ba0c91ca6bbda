// SPDX-License-Identifier: BSD-3-Clause
//
// The ten lines at the end of ./dev bench, sentence by sentence, against files as the bench
// programs write them.
#include "bench/common/conclusion.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "bench/common/interrupt.hpp"
#include "bench/common/suite.hpp"
#include "program/signals.hpp"

namespace portcullis::bench {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr double kMs = 1e6;

std::string results(const std::vector<std::string>& entries,
                    const std::string& timing = "cx5-16.35.4506",
                    const std::string& emulated = "yes: not NIC latency") {
  return fmt::format(R"({{"context": {{"device": "vfio 0000:03:00.0 fw 16.35.4506",
  "timing": "{}", "emulated": "{}", "caches": []}}, "benchmarks": [{}]}})",
                     timing, emulated, fmt::join(entries, ",\n"));
}

struct FloorEntry {
  const char* plan;
  double told_ns;
  int status = 12;
  int count = 3;
  int censored = 0;
  int watched = 1;
  int served = 0;
  const char* clock = "virtual";
};

std::string entry(const FloorEntry& of) {
  return fmt::format(
      R"({{"name": "floor/plan:{}/timeout:14/retry:7/clock:{}/iterations:3/manual_time",
  "run_type": "iteration", "p50": {}, "max": {}, "count": {}, "status": {}, "censored": {},
  "watched": {}, "changed_after_outcome": {}}})",
      of.plan, of.clock, of.told_ns, of.told_ns, of.count, of.status, of.censored, of.watched,
      of.served);
}

std::string revoke_entry(const char* plan, int leases, const char* mode, const char* load,
                         double p50, double max) {
  return fmt::format(
      R"({{"name": "revoke/plan:{}/leases:{}/mode:{}/load:{}/clock:virtual/iterations:3",
  "run_type": "iteration", "p50": {}, "max": {}, "count": 3}})",
      plan, leases, mode, load, p50, max);
}

std::string failed_entry(const char* name, const char* why) {
  return fmt::format(R"({{"name": "{}/iterations:3/manual_time", "run_type": "iteration",
  "error_occurred": true, "error_message": "{}", "real_time": 0.0}})",
                     name, why);
}

BenchRun run_of(const char* program, const std::string& text, int status = 0) {
  return {program, status, parse_results(text, std::string(program) + ".json")};
}

const std::string floor_results = results({entry({"seed", 537 * kMs}), entry({"legacy", 537 * kMs}),
                                           entry({"nak-first", 0.75 * kMs, 10})});
const std::string revoke_results =
    results({revoke_entry("seed", 1, "serial", "none", 1.5e6, 1.5e6),
             revoke_entry("nak-first", 1, "serial", "none", 50e6, 50e6),
             revoke_entry("seed", 1, "serial", "write", 1.5e6, 1.5e6),
             revoke_entry("nak-first", 1, "serial", "write", 1.5e6, 1.5e6),
             revoke_entry("seed", 1024, "serial", "none", 1540e6, 1540e6),
             revoke_entry("seed", 1024, "batched", "none", 770e6, 770e6),
             revoke_entry("legacy", 1024, "batched", "none", 1e9, 1.28e9)});

TEST(Conclusion, WholeRun_IsTenLinesAtMost) {
  const Conclusion told = conclude(
      {run_of("floor_bench", floor_results), run_of("revoke_bench", revoke_results)}, "results");
  EXPECT_THAT(
      told.lines,
      ElementsAre("conclusion: timing=cx5-16.35.4506, emulated, not NIC latency",
                  "a revoke takes while its client writes: seed, nak-first 1.5 ms; while nobody "
                  "writes: nak-first 50 ms",
                  "1 s contract (one call, every outcome within 1 s): 1 lease met by all 2 plans; "
                  "1024 leases met by 1 of 2 plans, NOT by legacy (1.28 s)",
                  "a client that ignores it finds out (timeout 14, retry 7; virtual clock, the "
                  "wire takes no time): seed, legacy 537 ms, "
                  "status 12; nak-first 750 us, status 10",
                  "sub-second property (it finds out within 1 s): met by all 3 plans",
                  "2000 ms budget (it finds out within that): met by all 3 plans",
                  "no byte changed after an outcome, in 9 watched runs",
                  "all 10 series were measured", "files: results"));
  EXPECT_LE(told.lines.size(), Conclusion::kMostLines);
  EXPECT_EQ(told.status, 0);
}

TEST(Conclusion, PlanBetweenTheLimits_MissesOnlyTheProperty) {
  const auto told = conclude(
      {run_of("floor_bench", results({entry({"seed", 1400 * kMs}), entry({"legacy", 537 * kMs})}))},
      "r");
  EXPECT_THAT(told.lines, Contains("sub-second property (it finds out within 1 s): met by 1 of 2 "
                                   "plans, NOT by seed (1.4 s)"));
  EXPECT_THAT(told.lines,
              Contains("2000 ms budget (it finds out within that): met by all 2 plans"));
}

TEST(Conclusion, PlanBeyondTheBudget_MissesBoth) {
  const auto told = conclude({run_of("floor_bench", results({entry({"seed", 4295 * kMs})}))}, "r");
  EXPECT_THAT(told.lines, Contains(EndsWith("(it finds out within 1 s): met by 0 of 1 plan, NOT by "
                                            "seed (4.29 s)")));
  EXPECT_THAT(told.lines, Contains(EndsWith("within that): met by 0 of 1 plan, NOT by seed (4.29 "
                                            "s)")));
}

TEST(Conclusion, LimitItself_IsMetAndANanosecondMoreIsNot) {
  const auto told = conclude(
      {run_of("floor_bench", results({entry({"seed", 1e9}), entry({"umr", 1e9 + 1})}))}, "r");
  EXPECT_THAT(told.lines, Contains(HasSubstr("met by 1 of 2 plans, NOT by umr")));
}

TEST(Conclusion, OneClockThatMisses_MissesThoughTheOtherIsTheTimeTold) {
  const auto told =
      conclude({run_of("floor_bench",
                       results({entry({"seed", 537 * kMs}),
                                entry({.plan = "seed", .told_ns = 1200 * kMs, .clock = "wall"})}))},
               "r");
  EXPECT_THAT(told.lines, Contains(HasSubstr("takes no time): seed 537 ms")));
  EXPECT_THAT(told.lines,
              Contains(HasSubstr("within 1 s): met by 0 of 1 plan, NOT by seed (1.2 s")));
}

TEST(Conclusion, WallClockAlone_IsNotCalledVirtual) {
  const auto told = conclude(
      {run_of("floor_bench", results({entry({.plan = "seed", .told_ns = kMs, .clock = "wall"})}))},
      "r");
  EXPECT_THAT(told.lines,
              Contains("a client that ignores it finds out (timeout 14, retry 7): seed 1 "
                       "ms, status 12"));
}

TEST(Conclusion, CensoredRuns_MeetNothingAndAreCounted) {
  const auto told = conclude(
      {run_of("floor_bench",
              results({entry({.plan = "seed", .told_ns = 0, .count = 0, .censored = 3}),
                       entry({.plan = "umr", .told_ns = kMs, .count = 2, .censored = 1})}))},
      "r");
  EXPECT_THAT(told.lines,
              Contains(HasSubstr("seed not before the deadline in 3 of 3 runs; umr 1 ms, "
                                 "status 12, not before the deadline in 1 of 3 runs")));
  EXPECT_THAT(told.lines, Contains(HasSubstr("2000 ms budget (it finds out within that): met by 0 "
                                             "of 2 plans")));
}

TEST(Conclusion, BytesAfterAnOutcome_AreLoudAndTheStatus) {
  const auto told = conclude(
      {run_of("floor_bench", results({entry({.plan = "seed", .told_ns = kMs, .served = 2})}), 2)},
      "r");
  EXPECT_THAT(told.lines,
              Contains("BYTES CHANGED AFTER AN OUTCOME in 2 runs: the fence is no fence"));
  EXPECT_EQ(told.status, 2);
}

TEST(Conclusion, BytesAfterAnOutcomeOfAProgramThatEndedWell_AreTheStatusAllTheSame) {
  const auto told = conclude(
      {run_of("floor_bench", results({entry({.plan = "seed", .told_ns = kMs, .served = 2})}), 0)},
      "r");
  EXPECT_EQ(told.status, Conclusion::kServedAfterFence);
}

TEST(Conclusion, RegionNobodyCouldLookAt_IsNotCalledUnchanged) {
  const auto told = conclude(
      {run_of("floor_bench", results({entry({.plan = "legacy", .told_ns = kMs, .watched = 0})}))},
      "r");
  EXPECT_THAT(told.lines, Contains("whether bytes changed after an outcome: nobody could look"));
}

TEST(Conclusion, SeriesWithoutResult_IsNamedAndNotConcludedFrom) {
  const auto told = conclude(
      {run_of(
          "floor_bench",
          results({entry({"seed", kMs}),
                   failed_entry("floor/plan:umr/timeout:14/retry:7/clock:virtual", "too late")}),
          kSomeNotMeasuredStatus)},
      "r");
  EXPECT_THAT(told.lines, Contains("not measured: floor/plan:umr/timeout:14/retry:7/clock:virtual "
                                   "(too late)"));
  EXPECT_THAT(told.lines, Contains(HasSubstr("met by its one plan")));
  EXPECT_EQ(told.status, 3);
}

TEST(Conclusion, SeriesWhoseTimesAreNone_MeetsNothingAndIsNamed) {
  const auto told = conclude(
      {run_of("revoke_bench", results({revoke_entry("seed", 1, "serial", "write", 2e6, -5)}))},
      "r");
  EXPECT_THAT(told.lines, Contains("how long a revoke takes: not measured"));
  EXPECT_THAT(told.lines, Contains(HasSubstr("(its p50 and max are no times)")));
  EXPECT_EQ(told.status, 3);
}

TEST(Conclusion, NobodyWrites_IsSaidWithoutAGap) {
  const auto told = conclude(
      {run_of("revoke_bench", results({revoke_entry("seed", 1, "serial", "none", 2e6, 2e6)}))},
      "r");
  EXPECT_THAT(told.lines, Contains("a revoke takes while nobody writes: seed 2 ms"));
}

TEST(Conclusion, ManyFailures_AreCountedBehindTheFirstThree) {
  const auto told = conclude(
      {run_of("floor_bench",
              results({failed_entry("a", "x"), failed_entry("b", "x"), failed_entry("c", "x"),
                       failed_entry("d", "x"), failed_entry("e", "x")}),
              kSomeNotMeasuredStatus)},
      "r");
  EXPECT_THAT(told.lines, Contains("not measured: a (x); b (x); c (x); and 2 more, named above"));
  EXPECT_THAT(told.lines, Contains("when a client finds out: not measured"));
}

TEST(Conclusion, ProgramThatDied_IsNamedWithItsStatus) {
  const auto told = conclude({run_of("floor_bench", floor_results),
                              {"revoke_bench", 139, fail(Errc::NotFound, "it left no results")}},
                             "r");
  EXPECT_THAT(told.lines, Contains("not measured: revoke_bench (status 139)"));
  EXPECT_THAT(told.lines, Not(Contains(StartsWith("a revoke takes"))));
  EXPECT_EQ(told.status, 3);
}

TEST(Conclusion, FileThatIsNotThere_IsNamed) {
  const auto told =
      conclude({{"floor_bench", 0, fail(Errc::System, "r/floor_bench.json: No such file")}}, "r");
  EXPECT_THAT(
      told.lines,
      ElementsAre("conclusion: none, for want of results of floor_bench and revoke_bench",
                  "not measured: floor_bench (r/floor_bench.json: No such file)", "files: r"));
  EXPECT_EQ(told.status, 3);
}

TEST(Conclusion, InterruptedProgram_IsToldOfWithWhatItHas) {
  const auto told =
      conclude({run_of("floor_bench",
                       results({entry({"seed", kMs}), failed_entry("a", "interrupted"),
                                failed_entry("b", "interrupted")}),
                       program::kInterruptedStatus)},
               "r");
  EXPECT_THAT(told.lines, Contains("not measured: floor_bench (interrupted, 2 of its series)"));
  EXPECT_THAT(told.lines, Contains(HasSubstr("seed 1 ms, status 12")));
  EXPECT_EQ(told.status, 3);
}

TEST(Conclusion, ManyCallsInTurn_AreNoMatterOfTheContract) {
  const auto told = conclude(
      {run_of("revoke_bench", results({revoke_entry("seed", 1024, "serial", "none", 2e9, 2e9)}))},
      "r");
  EXPECT_THAT(told.lines, Not(Contains(HasSubstr("contract"))));
}

TEST(Conclusion, SecondRunOfAProgram_IsNotConcludedFrom) {
  const auto told =
      conclude({run_of("floor_bench", floor_results),
                run_of("floor_bench", results({entry({"seed", 9000 * kMs})}, "instant"))},
               "r");
  EXPECT_THAT(told.lines, Contains(HasSubstr("cx5-16.35.4506")));
  EXPECT_THAT(told.lines, Not(Contains(HasSubstr("9 s"))));
}

TEST(Conclusion, DifferentDevices_AreBothNamed) {
  const auto told =
      conclude({run_of("floor_bench", floor_results),
                run_of("revoke_bench",
                       results({revoke_entry("seed", 1, "serial", "write", 1, 1)}, "instant"))},
               "r");
  EXPECT_EQ(told.lines.front(),
            "conclusion: timing=cx5-16.35.4506, emulated, not NIC latency; a revoke's time: "
            "timing=instant, emulated, not NIC latency");
}

TEST(Conclusion, Card_IsCalledByItsNameAndNotEmulated) {
  const auto told =
      conclude({run_of("floor_bench", results({entry({"seed", kMs})}, "hardware", "no"))}, "r");
  EXPECT_EQ(told.lines.front(), "conclusion: vfio 0000:03:00.0 fw 16.35.4506");
}

TEST(Conclusion, WallClock_TellsMedianAndLongest) {
  const auto told = conclude(
      {run_of("revoke_bench", results({revoke_entry("seed", 1, "serial", "write", 2e6, 5e6)}))},
      "r");
  EXPECT_THAT(told.lines, Contains("a revoke takes while its client writes: seed 2 ms (longest 5 "
                                   "ms)"));
}

TEST(Results, MeansOverRepetitions_AreLeftOut) {
  const auto file = parse_results(
      R"({"context": {"timing": "", "emulated": ""}, "benchmarks": [
  {"name": "a/iterations:3", "run_type": "iteration"},
  {"name": "a_mean", "run_type": "aggregate"}]})",
      "f");
  ASSERT_TRUE(file);
  EXPECT_THAT(file->series, SizeIs(1));
}

TEST(Conclusion, FileWithoutASeries_IsNotWhole) {
  const auto told = conclude({run_of("floor_bench", results({}))}, "r");
  EXPECT_THAT(told.lines, Contains("not measured: there is no series in the files"));
  EXPECT_EQ(told.status, 3);
}

TEST(Results, ResultsOfAnotherProgram_AreAnErrorThatNamesIt) {
  const auto file = parse_results(R"({"context": {"date": ""}, "benchmarks": []})", "x.json");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().text, AllOf(StartsWith("x.json: "), HasSubstr("what they ran on")));
}

TEST(Results, HalfAFile_IsAnErrorThatNamesIt) {
  const auto file = parse_results(R"({"context": {}, "benchmarks": [)", "results/a.json");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().text, StartsWith("results/a.json:1: "));
}

TEST(Results, OtherJson_IsAnErrorThatNamesIt) {
  const auto file = parse_results("[1, 2]", "results/a.json");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().text, HasSubstr("results/a.json"));
}

}  // namespace
}  // namespace portcullis::bench
