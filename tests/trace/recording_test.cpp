// SPDX-License-Identifier: BSD-3-Clause
//
// Recordings as text: what is written is read again, and damaged text is refused with its line.
#include "trace/recording.hpp"

#include <gmock/gmock.h>

#include "tests/trace/command_bytes.hpp"

namespace portcullis::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using trace::parse_recording;
using trace::Recording;
using trace::to_text;
using trace::TraceAnswer;

/// One command of each kind that the format knows.
Recording sample() {
  Recording recording{"a test", {}};
  trace::TraceCommand pages = command_of("01080000 00000001 00000000 00000001 00000007 ab122000",
                                         "00000000 00000000 00000000 00000000");
  pages.slot = 31;
  pages.time_ns = 18'446'744'073'709'551'615u;
  pages.notes = {"first", "second"};
  trace::TraceCommand undelivered = command_of("01040000 00000000 00000000 00000000", "");
  undelivered.sequence = 2;
  undelivered.delivery_status = 0x10;
  trace::TraceCommand lost = command_of("beef0000 00000002 00000000 12345678", "");
  lost.sequence = 3;
  lost.answer = TraceAnswer::None;
  trace::TraceCommand cut = command_of("02020000", "03000000 0000002a 00000000 000000");
  cut.sequence = 7;
  cut.answer = TraceAnswer::Unknown;
  cut.in.bytes.resize(40);
  cut.in.gaps = {{4, 16}, {24, 16}};
  recording.commands = {pages, undelivered, lost, cut};
  return recording;
}

TEST(Recording, Text_IsReadAgainAsItWas) {
  const std::string text = to_text(sample());
  const auto again = parse_recording(text, "x.trace");
  ASSERT_TRUE(again.has_value()) << again.error().text;
  EXPECT_EQ(to_text(*again), text);
  EXPECT_EQ(again->source, "a test");
  EXPECT_EQ(again->commands[0].slot, 31u);
  EXPECT_EQ(again->commands[0].time_ns, 18'446'744'073'709'551'615u);
  EXPECT_THAT(again->commands[0].notes, ElementsAre("first", "second"));
  EXPECT_EQ(again->commands[1].delivery_status, 0x10);
  EXPECT_EQ(again->commands[2].answer, TraceAnswer::None);
  EXPECT_EQ(again->commands[3].in.bytes, sample().commands[3].in.bytes);
  EXPECT_TRUE(again->commands[3].in.is_unknown(24, 1));
  EXPECT_FALSE(again->commands[3].in.is_unknown(20, 4));
}

TEST(Recording, Command_ReadsAsADocumentedBlock) {
  trace::TraceCommand command =
      command_of("01070000 00000001 00000000 00000000", "00000000 00000000 00000000 00000006");
  command.sequence = 4;
  command.slot = 0;
  command.time_ns = 9'670'000;
  EXPECT_EQ(trace::trace_text(command),
            "\ncommand 4 QUERY_PAGES 0x107 op_mod 0x1\n"
            "slot 0\n"
            "time_ns 9670000\n"
            "delivery OK 0x0\n"
            "status OK 0x0\n"
            "syndrome 0x0\n"
            "in_length 16\n"
            "in_hex 0x000: 01070000 00000001 00000000 00000000\n"
            "out_length 16\n"
            "out.num_pages 0x6\n"
            "out_hex 0x000: 00000000 00000000 00000000 00000006\n"
            "end\n");
}

TEST(Recording, CommandThatWasNotDelivered_HasNoStatus) {
  const std::string text = trace::trace_text(sample().commands[1]);
  EXPECT_THAT(text, HasSubstr("delivery CMD_DESCR_ERR 0x10\n"));
  EXPECT_THAT(text, Not(HasSubstr("\nstatus")));
}

TEST(Recording, FailedCommand_HasItsStatusByName) {
  const auto command = command_of("02020000 00000000 00ffffff 00000000", "03000000 0000002a");
  EXPECT_THAT(trace::trace_text(command), HasSubstr("status BAD_PARAM_ERR 0x3\nsyndrome 0x2a\n"));
}

TEST(Recording, FieldInAGap_IsNotShown) {
  auto command = command_of("01080000 00000001 00000000 00000001", "");
  command.in.gaps = {{12, 4}};
  EXPECT_THAT(trace::trace_text(command), Not(HasSubstr("input_num_entries")));
}

TEST(Recording, NoteWithALineFeed_StaysOneLine) {
  auto command = command_of("01040000", "");
  command.notes = {"two\nend"};
  EXPECT_THAT(trace::trace_text(command), HasSubstr("note two end\n"));
}

TEST(Recording, CommandsInOrderOfAnswers_AreSortedByIssue) {
  Recording recording = sample();
  std::swap(recording.commands[0], recording.commands[2]);
  const auto again = parse_recording(to_text(recording), "x.trace");
  ASSERT_TRUE(again.has_value()) << again.error().text;
  EXPECT_EQ(to_text(*again), to_text(sample()));
}

TEST(Recording, CommentsEmptyLinesAndCarriageReturns_MeanNothing) {
  const auto recording = parse_recording(
      "portcullis-trace 1\r\n# why\r\ncommand 1 ENABLE_HCA 0x104 op_mod 0x0\r\n\r\n# inside\r\n"
      "delivery OK 0x0\r\nin_length 4\r\nin_hex 0x000: 01040000\r\nout_length 0\r\nend\r\n",
      "x.trace");
  ASSERT_TRUE(recording.has_value()) << recording.error().text;
  EXPECT_EQ(recording->commands.size(), 1u);
}

struct Damage {
  const char* what;
  const char* lines;    // behind "portcullis-trace 1"
  const char* message;  // how the error begins behind "x.trace:"
  const char* accepted;
};

std::ostream& operator<<(std::ostream& out, const Damage& damage) { return out << damage.what; }

class DamagedRecordingTest : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedRecordingTest, IsRefusedWithItsLineAndWhatIsAccepted) {
  const auto refused =
      parse_recording(std::string("portcullis-trace 1\n") + GetParam().lines, "x.trace");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::Malformed);
  EXPECT_THAT(refused.error().text, StartsWith(std::string("x.trace:") + GetParam().message));
  EXPECT_THAT(refused.error().text, HasSubstr(GetParam().accepted));
  EXPECT_THAT(refused.error().text, Not(HasSubstr("\n")));
}

#define PORTCULLIS_BEGIN "command 1 ENABLE_HCA 0x104 op_mod 0x0\n"
constexpr Damage kDamages[] = {
    {"WordBetweenCommands", "hello\n", "2: \"hello\"", "command"},
    {"CommandWithoutNumber", "command x ENABLE_HCA 0x104\n", "2:", "command NUMBER"},
    {"OpcodeTooLarge", "command 1 ENABLE_HCA 0x10000 op_mod 0x0\n", "2:", "0xOPCODE"},
    {"UnknownKey", PORTCULLIS_BEGIN "colour red\n", "3: \"colour red\"", "delivery"},
    {"UnknownMessageKey", PORTCULLIS_BEGIN "in_colour red\n", "3: \"colour\"", "in_hex"},
    {"SlotTooLarge", PORTCULLIS_BEGIN "slot 32\n", "3: slot \"32\"", "0 to 31"},
    {"TimeThatIsNoNumber", PORTCULLIS_BEGIN "time_ns -4\n", "3: time_ns \"-4\"", "a number"},
    {"DeliveryWithoutNumber", PORTCULLIS_BEGIN "delivery OK\n", "3: delivery \"OK\"", "none"},
    {"LengthTooLong", PORTCULLIS_BEGIN "in_length 4294967295\n", "3: length", "2097152"},
    {"LengthTwice", PORTCULLIS_BEGIN "in_length 4\nin_length 4\n", "4: a second length", ""},
    {"HexBeforeLength", PORTCULLIS_BEGIN "in_hex 0x000: 00\n", "3: hex before", "length"},
    {"HexBehindTheEnd", PORTCULLIS_BEGIN "in_length 4\nin_hex 0x002: 010203\n", "4: hex", "4"},
    {"HexFarBehindTheEnd", PORTCULLIS_BEGIN "in_length 4\nin_hex 0xffffffffffffffff: 01\n",
     "4: hex", "4"},
    {"HexWithoutColon", PORTCULLIS_BEGIN "in_length 4\nin_hex 0x000 01\n", "4:", "0xOFFSET:"},
    {"HexOfHalfAByte", PORTCULLIS_BEGIN "in_length 4\nin_hex 0x000: 010\n", "4:", "hexadecimal"},
    {"HexWithALetter", PORTCULLIS_BEGIN "in_length 4\nin_hex 0x000: 0104zz\n", "4:", "hexadecimal"},
    {"HexWithoutBytes", PORTCULLIS_BEGIN "in_length 4\nin_hex 0x000:\n", "4:", "1 to 32 bytes"},
    {"GapBehindTheEnd", PORTCULLIS_BEGIN "in_length 4\nin_unknown 0x2 3\n", "4: unknown", "4"},
    {"GapOfNothing", PORTCULLIS_BEGIN "in_length 4\nin_unknown 0x2 0\n", "4: unknown", "inside"},
    {"GapOutOfOrder", PORTCULLIS_BEGIN "in_length 8\nin_unknown 0x4 2\nin_unknown 0x0 2\n",
     "5: unknown", "behind the one before"},
    {"EndWithoutOutput", PORTCULLIS_BEGIN "in_length 0\nend\n", "4: command 1 ends", "out_length"},
    {"CutInACommand", PORTCULLIS_BEGIN "in_length 0\n", "3: command 1 has no end", "cut"},
    {"OpcodeUnlikeItsBytes",
     PORTCULLIS_BEGIN "in_length 2\nin_hex 0x000: 0105\nout_length 0\nend\n", "6: command 1 is",
     "0x105"},
    {"TwoOfOneNumber",
     "command 1 UNKNOWN 0x000 op_mod 0x0\nin_length 0\nout_length 0\nend\n"
     "command 1 UNKNOWN 0x000 op_mod 0x0\nin_length 0\nout_length 0\nend\n",
     "9: two commands", "1"},
};
#undef PORTCULLIS_BEGIN

INSTANTIATE_TEST_SUITE_P(Recording, DamagedRecordingTest, ::testing::ValuesIn(kDamages),
                         [](const auto& info) { return std::string(info.param.what); });

TEST(Recording, OtherFile_IsRefusedWithTheFirstLineItShouldHave) {
  const auto refused = parse_recording("\x1b[31mELF", "a.out");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().text,
            "a.out:1: begins with \"?[31mELF\"; \"portcullis-trace 1\" expected, as trace-import "
            "and --trace write it");
  EXPECT_FALSE(parse_recording("", "empty").has_value());
}

TEST(Recording, ManyLongMessages_AreRefusedBeforeTheyAreHeld) {
  std::string text = "portcullis-trace 1\n";
  for (int i = 1; i <= 65; ++i)
    text += "command " + std::to_string(i) +
            " UNKNOWN 0x000 op_mod 0x0\nin_length 2097152\nout_length 2097152\nend\n";
  const auto refused = parse_recording(text, "x.trace");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().text, HasSubstr("268435456"));
}

}  // namespace
}  // namespace portcullis::testing
