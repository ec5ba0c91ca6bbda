// SPDX-License-Identifier: BSD-3-Clause
//
// Kernel logs become recordings: whole logs exactly, damaged ones as far as they go.
#include "trace/dmesg_import.hpp"

#include <gmock/gmock.h>

#include <random>

#include "tests/trace/command_bytes.hpp"
#include "tests/trace/kernel_log.hpp"

namespace portcullis::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using trace::import_log;
using trace::ImportedLog;
using trace::to_text;
using trace::TraceAnswer;
using trace::TraceCommand;

ImportedLog imported(const std::string& log, std::string_view device = "") {
  auto result = import_log(log, "dmesg.txt", device);
  EXPECT_TRUE(result.has_value()) << result.error().text;
  return std::move(result).value_or(ImportedLog{});
}

TraceCommand query_pages(unsigned slot) {
  TraceCommand command =
      command_of("01070000 00000001 00000000 00000000", "00000000 00000000 00000000 00000006");
  command.slot = slot;
  return command;
}

/// ALLOC_PD, that any slot may run beside the other.
TraceCommand alloc_pd(unsigned slot) {
  TraceCommand command =
      command_of("08000000 00000000 00000000 00000000", "00000000 00000000 00000123 00000000");
  command.slot = slot;
  command.sequence = 2;
  return command;
}

/// Commands with messages of many lengths, around the inline bytes and the ends of blocks.
std::vector<TraceCommand> commands_of_many_lengths() {
  std::vector<TraceCommand> commands;
  std::mt19937 random(1);
  for (const std::size_t length :
       {8u, 12u, 16u, 17u, 32u, 272u, 528u, 529u, 1040u, 4112u, 100'000u}) {
    TraceCommand command;
    command.sequence = commands.size() + 1;
    command.slot = static_cast<std::uint32_t>(commands.size()) % 32;
    command.answer = TraceAnswer::Given;
    command.delivery_status = static_cast<std::uint8_t>(commands.size() % 3);
    command.in.bytes.resize(length);
    command.out.bytes.resize(commands.size() % 2 == 0 ? 16 : length);
    for (std::byte& b : command.in.bytes) b = static_cast<std::byte>(random());
    for (std::byte& b : command.out.bytes) b = static_cast<std::byte>(random());
    commands.push_back(command);
  }
  return commands;
}

std::string without_times(ImportedLog log) {
  for (TraceCommand& command : log.recording.commands) command.time_ns.reset();
  log.recording.source.clear();
  return to_text(log.recording);
}

TEST(ImportLog, WholeDumps_GiveBackEveryByte) {
  const auto commands = commands_of_many_lengths();
  std::string log;
  for (const TraceCommand& command : commands) log += KernelLog().text(command);
  const ImportedLog got = imported(log);
  EXPECT_THAT(got.warnings, IsEmpty());
  EXPECT_EQ(without_times(got), to_text({"", commands}));
}

TEST(ImportLog, CommandsOnTwoSlots_AreToldApartLineByLine) {
  const KernelLog log;
  const TraceCommand first = query_pages(0);
  const TraceCommand second = alloc_pd(5);
  std::string text;
  const auto a = log.dump(first, true);
  const auto b = log.dump(second, true);
  const auto c = log.dump(second, false);
  const auto d = log.dump(first, false);
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(c.size(), d.size());
  for (std::size_t i = 0; i < a.size(); ++i) text += a[i] + b[i];
  for (std::size_t i = 0; i < c.size(); ++i) text += c[i] + d[i];
  const ImportedLog got = imported(text);
  EXPECT_THAT(got.warnings, IsEmpty());
  EXPECT_EQ(without_times(got), to_text({"", {first, second}}));
}

TEST(ImportLog, SameSlotOfTwoDevices_IsToldApartByTheOffsets) {
  const auto a = KernelLog({.device = "0000:03:00.0"}).dump(query_pages(0), true);
  const auto b = KernelLog({.device = "0000:03:00.1"}).dump(alloc_pd(0), true);
  // The second function begins when the first is two rows ahead.
  std::string text = a[0] + a[1] + a[2] + a[3] + b[0] + b[1];
  for (std::size_t i = 4; i < a.size(); ++i) text += b[i - 2] + a[i];
  for (std::size_t i = a.size() - 2; i < b.size(); ++i) text += b[i];
  EXPECT_EQ(imported(text, "0000:03:00.0").recording.commands[0].in.bytes, query_pages(0).in.bytes);
  EXPECT_EQ(imported(text, "0000:03:00.1").recording.commands[0].in.bytes, alloc_pd(0).in.bytes);
}

TEST(ImportLog, SeveralDevices_MustBeChosenFrom) {
  const std::string text = KernelLog({.device = "0000:03:00.0"}).text(query_pages(0)) +
                           KernelLog({.device = "0000:03:00.1"}).text(alloc_pd(0));
  const auto refused = import_log(text, "dmesg.txt", "");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().text,
              AllOf(HasSubstr("--device"), HasSubstr("0000:03:00.0, 0000:03:00.1")));
  const auto absent = import_log(text, "dmesg.txt", "0000:04:00.0");
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code, Errc::NotFound);
  const ImportedLog chosen = imported(text, "0000:03:00.1");
  ASSERT_THAT(chosen.recording.commands, SizeIs(1));
  EXPECT_EQ(chosen.recording.commands[0].sequence, 1u);
  EXPECT_EQ(chosen.recording.commands[0].opcode(), prm::Opcode::ALLOC_PD);
}

TEST(ImportLog, MissingOutput_LeavesTheCommandWithoutAnswer) {
  std::string text;
  for (const std::string& line : KernelLog().dump(query_pages(2), true)) text += line;
  const ImportedLog got = imported(text);
  ASSERT_THAT(got.recording.commands, SizeIs(1));
  EXPECT_EQ(got.recording.commands[0].answer, TraceAnswer::Unknown);
  EXPECT_THAT(got.recording.commands[0].out.bytes, IsEmpty());
  EXPECT_THAT(got.recording.commands[0].notes, ElementsAre("OUTPUT: not in the log"));
  EXPECT_THAT(got.warnings,
              ElementsAre("dmesg.txt:2: warning: QUERY_PAGES (0x107): INPUT without OUTPUT"));
}

TEST(ImportLog, SlotUsedAgainWithoutOutput_LeavesTheFirstWithoutAnswer) {
  std::string text;
  for (const std::string& line : KernelLog().dump(query_pages(2), true)) text += line;
  TraceCommand second = alloc_pd(2);
  const ImportedLog got = imported(text + KernelLog().text(second));
  ASSERT_THAT(got.recording.commands, SizeIs(2));
  EXPECT_THAT(got.recording.commands[0].notes, ElementsAre("OUTPUT: not in the log"));
  EXPECT_EQ(got.recording.commands[1].out.bytes, second.out.bytes);
  EXPECT_THAT(got.warnings, SizeIs(1));
}

TEST(ImportLog, MissingInput_IsTakenFromTheEntryOfTheOutput) {
  std::string text;
  for (const std::string& line : KernelLog().dump(query_pages(2), false)) text += line;
  const ImportedLog got = imported(text);
  ASSERT_THAT(got.recording.commands, SizeIs(1));
  EXPECT_EQ(got.recording.commands[0].in.bytes, query_pages(2).in.bytes);
  EXPECT_EQ(got.recording.commands[0].out.bytes, query_pages(2).out.bytes);
  EXPECT_THAT(got.recording.commands[0].notes, ElementsAre("INPUT: not in the log"));
  EXPECT_THAT(got.warnings, SizeIs(1));
}

TEST(ImportLog, DamagedRow_BecomesAGapAndTwoWarnings) {
  TraceCommand command = query_pages(0);
  command.in.bytes.resize(64, std::byte{7});
  std::string text = KernelLog().text(command);
  const std::string row = "cmd[0]: 050: ";
  text.erase(text.find(row) + row.size() + 5, 4);
  const ImportedLog got = imported(text);
  ASSERT_THAT(got.recording.commands, SizeIs(1));
  const trace::TraceMessage& in = got.recording.commands[0].in;
  ASSERT_THAT(in.gaps, SizeIs(1));
  EXPECT_EQ(in.gaps[0].offset, 32u);
  EXPECT_EQ(in.gaps[0].length, 16u);
  EXPECT_EQ(in.bytes[48], std::byte{7});
  EXPECT_THAT(got.warnings, ElementsAre(HasSubstr("row 0x050 is damaged"),
                                        HasSubstr("16 of 64 bytes are not in the log")));
}

TEST(ImportLog, CutLog_KeepsWhatItHas) {
  TraceCommand command = query_pages(0);
  command.in.bytes.resize(200, std::byte{7});
  std::string text = KernelLog().text(command);
  text.resize(text.find("cmd[0]: 080: ") + 20);
  const ImportedLog got = imported(text);
  ASSERT_THAT(got.recording.commands, SizeIs(1));
  EXPECT_EQ(got.recording.commands[0].in.bytes.size(), 200u);
  EXPECT_TRUE(got.recording.commands[0].in.is_unknown(80, 120));
  EXPECT_FALSE(got.recording.commands[0].in.is_unknown(0, 80));
  EXPECT_THAT(got.warnings, SizeIs(3));
}

TEST(ImportLog, EntryThatStillBelongsToTheDevice_WasGivenUp) {
  TraceCommand command = query_pages(4);
  command.answer = TraceAnswer::None;
  const ImportedLog got = imported(KernelLog().text(command));
  ASSERT_THAT(got.recording.commands, SizeIs(1));
  EXPECT_EQ(got.recording.commands[0].answer, TraceAnswer::None);
  EXPECT_EQ(got.recording.commands[0].time_ns, std::nullopt);
  EXPECT_THAT(got.recording.commands[0].notes, ElementsAre(HasSubstr("gave it up")));
}

TEST(ImportLog, DataOnlyDump_TakesLengthsFromTheLayoutsAndStatusFromTheCompletion) {
  TraceCommand command =
      command_of("01040000 00000000 00000000 00000000", "03000000 0000002a 00000000");
  command.slot = 1;
  command.delivery_status = 2;
  const ImportedLog got = imported(KernelLog({.data_only = true}).text(command));
  ASSERT_THAT(got.recording.commands, SizeIs(1));
  EXPECT_EQ(got.recording.commands[0].in.bytes, command.in.bytes);
  EXPECT_EQ(got.recording.commands[0].out.bytes, command.out.bytes);
  EXPECT_EQ(got.recording.commands[0].answer, TraceAnswer::Given);
  EXPECT_EQ(got.recording.commands[0].delivery_status, 2);
  EXPECT_THAT(got.warnings, IsEmpty());
}

TEST(ImportLog, RowsBeforeTheFirstHeader_AreCountedOnce) {
  const std::string text =
      "cmd[0]: 000: 00000000 00000000 00000000 00000000\n"
      "cmd[0]: 010: 00000000 00000000 00000000 00000000\n" +
      KernelLog().text(query_pages(0));
  EXPECT_THAT(imported(text).warnings,
              ElementsAre("dmesg.txt:1: warning: 2 rows of hex from here on belong to no dump"));
}

TEST(ImportLog, LengthThatNothingBears_IsNotBelieved) {
  std::string text = KernelLog().text(query_pages(0));
  const std::string row = "cmd[0]: 000: 07000000 ";
  text.replace(text.find(row) + row.size(), 8, "ffffffff");
  const ImportedLog got = imported(text);
  EXPECT_EQ(got.recording.commands[0].in.bytes.size(), 16u);
  EXPECT_THAT(got.warnings, Contains(HasSubstr("4294967295 bytes announced")));
}

TEST(ImportLog, NoCommandAtAll_IsAnErrorThatSaysWhatIsExpected) {
  const auto refused = import_log("hello\nworld\n", "dmesg.txt", "");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::Malformed);
  EXPECT_THAT(refused.error().text,
              AllOf(HasSubstr("2 lines"), HasSubstr("dump command ENABLE_HCA(0x104) INPUT")));
}

TEST(ImportLog, ManyProblems_AreCountedBehindTheFirst) {
  std::string text = KernelLog().text(query_pages(0));
  for (int i = 0; i < 1000; ++i) text += "cmd[0]: dump command cut\n";
  const auto got = imported(text);
  EXPECT_THAT(got.warnings, SizeIs(trace::kMostWarnings + 1));
  EXPECT_EQ(got.warnings.back(), "dmesg.txt: and 950 more like these");
}

// ---- time ----

/// The log with times of its own for the doorbell and for the output.
std::string timed(std::string_view doorbell, std::string_view output) {
  std::string text = KernelLog().text(query_pages(0));
  const std::string usual = "[   12.345678]";
  const std::size_t rung = text.rfind(usual, text.find("writing 0x1"));
  text.replace(rung, usual.size(), doorbell);
  const std::size_t answered = text.rfind(usual, text.find("OUTPUT"));
  text.replace(answered, usual.size(), output);
  return text;
}

TEST(ImportLog, Time_IsFromTheDoorbellToTheOutput) {
  // The lines in between say 12.345678 and begin nothing.
  EXPECT_EQ(imported(timed("[   12.300000]", "[   12.345679]")).recording.commands[0].time_ns,
            45'679'000u);
}

TEST(ImportLog, TimeThatRunsBackwards_IsLeftOut) {
  EXPECT_EQ(imported(timed("[   12.400000]", "[   12.345679]")).recording.commands[0].time_ns,
            std::nullopt);
}

TEST(ImportLog, DateBetweenDoorbellAndOutput_LeavesTheTimeOut) {
  EXPECT_EQ(imported(timed("[   12.300000]", "[Nov21 05:00]")).recording.commands[0].time_ns,
            std::nullopt);
}

}  // namespace
}  // namespace portcullis::testing
