// SPDX-License-Identifier: BSD-3-Clause
//
// Histories of programs that ran: which are linearizable, and what is said of those that are not.
#include "failover/explore/whole_history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tools/failover_check/history_command.hpp"

namespace portcullis::failover {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// An operation of one word as the file has it; without `to` it was not answered.
std::string operation(const std::string& name, const std::string& from, const std::string& to,
                      const std::string& word) {
  return R"({"name": ")" + name + R"(", "from": )" + from + (to.empty() ? "" : R"(, "to": )" + to) +
         R"(, "words": [)" + word + "]}";
}
std::string file_of(const std::string& operations) {
  return R"({"operations": [)" + operations + "]}";
}
const std::string kWriteOne = R"({"cell": "a", "do": "write", "value": 1})";
const std::string kReadNone = R"({"cell": "a", "do": "read", "answer": 0})";
const std::string kReadOne = R"({"cell": "a", "do": "read", "answer": 1})";

HistoryVerdict verdict_of(const std::string& operations) {
  return judge_history(read_history(file_of(operations), "h").value()).value();
}
std::string refusal(const std::string& text) {
  const auto read = read_history(text, "h");
  return read ? "" : read.error().text;
}

TEST(WholeHistory, ReadAfterAWriteThatFindsIt_IsLinearizable) {
  const auto verdict =
      verdict_of(operation("w", "1", "2", kWriteOne) + "," + operation("r", "3", "4", kReadOne));
  EXPECT_EQ(verdict.parts, 1U);
  EXPECT_THAT(verdict.unordered, IsEmpty());
}

TEST(WholeHistory, ReadAfterAWriteThatMissesIt_IsNamed) {
  const auto verdict =
      verdict_of(operation("w", "1", "2", kWriteOne) + "," + operation("r", "3", "4", kReadNone));
  ASSERT_THAT(verdict.unordered, SizeIs(1));
  EXPECT_THAT(verdict.unordered[0].cells, ElementsAre("a"));
  EXPECT_EQ(verdict.unordered[0].placed, 1U);
  EXPECT_THAT(verdict.unordered[0].stuck, ElementsAre("r"));
}

TEST(WholeHistory, ReadBesideAWriteThatMissesIt_IsLinearizable) {
  EXPECT_THAT(
      verdict_of(operation("w", "1", "4", kWriteOne) + "," + operation("r", "3", "5", kReadNone))
          .unordered,
      IsEmpty());
}

TEST(WholeHistory, WriteWithoutAnAnswer_MayComeLateOrNever) {
  const std::string write = operation("w", "1", "", kWriteOne) + ",";
  EXPECT_THAT(verdict_of(write + operation("r", "3", "4", kReadNone) + "," +
                         operation("s", "5", "6", kReadOne))
                  .unordered,
              IsEmpty());
  EXPECT_THAT(verdict_of(write + operation("r", "3", "4", kReadNone)).unordered, IsEmpty());
}

TEST(WholeHistory, WriteThatComesAndGoesAgain_IsNone) {
  EXPECT_THAT(
      verdict_of(operation("w", "1", "", kWriteOne) + "," + operation("r", "3", "4", kReadOne) +
                 "," + operation("s", "5", "6", kReadNone))
          .unordered,
      SizeIs(1));
}

TEST(WholeHistory, CasAndAddAnswerWhatWasThere) {
  const std::string cas = R"({"cell": "a", "do": "cas", "compare": 0, "value": 7, "answer": 0})";
  const std::string add = R"({"cell": "a", "do": "add", "value": 2, "answer": 7})";
  EXPECT_THAT(verdict_of(operation("c", "1", "9", cas) + "," + operation("d", "2", "3", add) + "," +
                         operation("e", "4", "5", R"({"cell": "a", "do": "read", "answer": 9})"))
                  .unordered,
              IsEmpty());
}

TEST(WholeHistory, WordsOfOneOperation_ChangeAtOnce) {
  const std::string both = kWriteOne + R"(, {"cell": "b", "do": "write", "value": 1})";
  const std::string reads = kReadOne + R"(, {"cell": "b", "do": "read", "answer": 0})";
  const auto verdict =
      verdict_of(operation("w", "1", "9", both) + "," + operation("r", "2", "3", reads));
  ASSERT_THAT(verdict.unordered, SizeIs(1));
  EXPECT_THAT(verdict.unordered[0].cells, ElementsAre("a", "b"));
}

TEST(WholeHistory, CellsThatNothingJoins_AreJudgedApart) {
  const std::string other = R"({"cell": "b", "do": "read", "answer": 5})";
  const auto verdict =
      verdict_of(operation("w", "1", "2", kWriteOne) + "," + operation("r", "3", "4", other));
  EXPECT_EQ(verdict.parts, 2U);
  ASSERT_THAT(verdict.unordered, SizeIs(1));
  EXPECT_THAT(verdict.unordered[0].cells, ElementsAre("b"));
}

TEST(WholeHistory, OrdersBeyondTheSteps_AreNoVerdict) {
  std::string operations = operation("r", "90", "91", kReadOne);
  for (int i = 0; i < 20; ++i)
    operations += "," + operation("a", "1", "", R"({"cell": "a", "do": "add", "value": 2})");
  const auto verdict = judge_history(read_history(file_of(operations), "h").value(), 1'000);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, Errc::OutOfResources);
  EXPECT_THAT(verdict.error().text, HasSubstr("more than 1000 steps"));
}

TEST(WholeHistory, LongOneOfOneCell_IsJudged) {
  std::string operations = operation("0", "0", "1", R"({"cell": "a", "do": "read", "answer": 0})");
  for (int i = 1; i < 2'000; ++i)
    operations +=
        "," + operation(std::to_string(i), std::to_string(2 * i), std::to_string(2 * i + 3),
                        R"({"cell": "a", "do": "add", "value": 1})");
  operations +=
      "," + operation("end", "9000", "9000", R"({"cell": "a", "do": "read", "answer": 1999})");
  EXPECT_THAT(verdict_of(operations).unordered, IsEmpty());
}

TEST(WholeHistory, BadFile_IsOneLineThatNamesTheField) {
  EXPECT_THAT(refusal("{}"), HasSubstr("no \"operations\""));
  EXPECT_THAT(refusal(file_of(operation("w", "2", "1", kWriteOne))),
              HasSubstr("h:1: operations[0].to: 1; 2 or more"));
  EXPECT_THAT(refusal(file_of(operation("w", "1", "2", R"({"cell": "a", "do": "swap"})"))),
              HasSubstr("do: \"swap\"; one of read, write, add, cas is accepted"));
  EXPECT_THAT(refusal(file_of(operation("w", "1", "2", ""))), HasSubstr("no word"));
  EXPECT_THAT(refusal(file_of(operation("w", "-1", "2", kWriteOne))),
              HasSubstr("from: -1; a whole number"));
}

// ---- failover-check history --------------------------------------------------------------------

struct Ran {
  int status = 0;
  std::string out, err;
};
Ran run_history(const std::string& text) {
  const std::string path = ::testing::TempDir() + "whole_history.json";
  std::ofstream(path) << text;
  std::ostringstream out, err;
  const std::atomic<bool> stop{false};
  const int status = tools::failover_check::run_history({.path = path}, {out, err, stop});
  std::filesystem::remove(path);
  return {status, out.str(), err.str()};
}

TEST(HistoryCommand, LinearizableFile_HasStatusZero) {
  const Ran ran = run_history(file_of(operation("w", "1", "2", kWriteOne)));
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "1 operations on 1 cells in 1 parts: linearizable\n");
}

TEST(HistoryCommand, FileThatIsNot_HasStatusOneAndSaysWhere) {
  const Ran ran = run_history(
      file_of(operation("w", "1", "2", kWriteOne) + "," + operation("r", "3", "4", kReadNone)));
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out,
              HasSubstr("not linearizable: a: 1 of 2 operations can be ordered; then one of: r"));
}

TEST(HistoryCommand, BadFile_HasStatusTwo) {
  const Ran ran = run_history("[]");
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("whole_history.json:1: "));
}

}  // namespace
}  // namespace portcullis::failover
