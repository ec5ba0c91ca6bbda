// SPDX-License-Identifier: BSD-3-Clause
//
// What a bench program leaves behind: the table on the screen, and files under names that no shell
// has to quote.
#include "bench/common/report.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace portcullis::bench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::UnorderedElementsAre;

Series series_of(std::string name, std::string picture, bool is_virtual,
                 std::initializer_list<std::uint64_t> samples) {
  Series series{std::move(name), std::move(picture), is_virtual, {}};
  for (const std::uint64_t sample : samples) series.latency.record(sample);
  return series;
}

/// A directory of its own that goes away.
class BenchReport : public testing::Test {
 public:
  ~BenchReport() override { std::filesystem::remove_all(directory_); }

 protected:
  BenchReport()
      : directory_(std::filesystem::temp_directory_path() /
                   ("bench-report-" + std::to_string(getpid()))) {}

  [[nodiscard]] std::string directory() const { return directory_.string(); }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      names.push_back(entry.path().filename().string());
    return names;
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ostringstream all;
    all << std::ifstream(directory_ / name).rdbuf();
    return all.str();
  }

 private:
  std::filesystem::path directory_;
};

TEST_F(BenchReport, Table_SaysOneValueOfAVirtualSeriesAndNoSamplesOfAnEmptyOne) {
  Report report;
  report.add(series_of("a/clock:virtual", "", true, {1'500'000, 1'500'000}));
  report.add(series_of("a/clock:wall", "", false, {1'000, 3'000}));
  report.add(series_of("censored", "", false, {}));
  EXPECT_THAT(report.table(), AllOf(HasSubstr("1.5 ms  deterministic, one value; 2 runs"),
                                    HasSubstr("3 us"), HasSubstr("no samples")));
}

TEST_F(BenchReport, VirtualSeriesWithTwoValues_IsNotCalledDeterministic) {
  Report report;
  report.add(series_of("a/clock:virtual", "", true, {1, 2}));
  EXPECT_THAT(report.table(), Not(HasSubstr("deterministic")));
}

TEST_F(BenchReport, Percentile_StandsOnlyOverSamplesEnoughForIt) {
  Series series = series_of("a", "", false, {});
  for (std::uint64_t i = 1; i <= 99; ++i) series.latency.record(i);
  Report few;
  few.add(series);
  EXPECT_THAT(few.table(), MatchesRegex(".*\na +50 ns +90 ns +- +- +99 ns +99\n"));
  series.latency.record(100);
  Report enough;
  enough.add(series);
  EXPECT_THAT(enough.table(), MatchesRegex(".*\na +50 ns +90 ns +99 ns +- +100 ns +100\n"));
}

TEST_F(BenchReport, SeriesOfTheSameName_IsMoreSamples) {
  Report report;
  report.add(series_of("a", "", false, {1}));
  report.add(series_of("a", "", false, {2, 3}));
  ASSERT_EQ(report.series().size(), 1U);
  EXPECT_EQ(report.series().front().latency.count(), 3U);
}

TEST_F(BenchReport, Files_HaveOneTextASeriesAndOnePictureAGroup) {
  Report report;
  report.add(series_of("revoke/plan:seed/clock:wall", "idle, wall clock", false, {1'000}));
  report.add(series_of("revoke/plan:legacy/clock:wall", "idle, wall clock", false, {2'000}));
  report.add(series_of("revoke/plan:seed/clock:virtual", "idle, virtual clock", true, {0}));
  ASSERT_TRUE(report.write(directory(), "revoke_bench", "title", "subtitle"));
  EXPECT_THAT(names(), UnorderedElementsAre("revoke.plan-seed.clock-wall.hgrm",
                                            "revoke.plan-legacy.clock-wall.hgrm",
                                            "revoke.plan-seed.clock-virtual.hgrm",
                                            "revoke_bench.idle-wall-clock.svg",
                                            "revoke_bench.idle-virtual-clock.svg"));
  EXPECT_THAT(text("revoke_bench.idle-wall-clock.svg"),
              AllOf(HasSubstr("revoke/plan:seed/clock:wall"), HasSubstr("plan:legacy"),
                    Not(HasSubstr("virtual")), HasSubstr("subtitle")));
  EXPECT_THAT(text("revoke.plan-seed.clock-wall.hgrm"),
              HasSubstr("Series         = revoke/plan:seed/clock:wall]"));
}

TEST_F(BenchReport, FileThatCannotBeWritten_IsNamedAndTheOthersAreThere) {
  Report report;
  report.add(series_of("a", "", false, {1'000}));
  report.add(series_of("b", "", false, {2'000}));
  std::filesystem::create_directories(directory() + "/a.hgrm");  // no file can have this name now

  const auto written = report.write(directory(), "revoke_bench", "title", "subtitle");

  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().text, HasSubstr("a.hgrm"));
  EXPECT_THAT(names(), UnorderedElementsAre("a.hgrm", "b.hgrm", "revoke_bench.svg"));
}

TEST_F(BenchReport, NothingMeasured_HasNoTable) {
  Report report;
  report.add_failure({"a", "interrupted"});
  EXPECT_EQ(report.table(), "");
}

TEST_F(BenchReport, DirectoryThatCannotBeMade_IsAnErrorThatNamesIt) {
  const auto made = make_directory("/proc/nowhere/results");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().text, HasSubstr("/proc/nowhere/results"));
}

}  // namespace
}  // namespace portcullis::bench
