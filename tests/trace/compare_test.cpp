// SPDX-License-Identifier: BSD-3-Clause
//
// Two recordings side by side: which commands belong together, which fields differ, which
// differences count.
#include "trace/compare.hpp"

#include <gmock/gmock.h>

#include "tests/trace/command_bytes.hpp"

namespace portcullis::trace {

void PrintTo(const FieldDifference& difference, std::ostream* out) {
  *out << difference.field << ": " << difference.a << " -> " << difference.b;
}

namespace {

using ::testing::AllOf;
using testing::command_of;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using trace::TraceCommand;

auto differs(const char* field, const char* a, const char* b) {
  return AllOf(Field(&FieldDifference::field, field), Field(&FieldDifference::a, a),
               Field(&FieldDifference::b, b));
}

Recording recording_of(std::vector<TraceCommand> commands) {
  for (std::size_t i = 0; i < commands.size(); ++i) commands[i].sequence = i + 1;
  return {"a test", std::move(commands)};
}

TraceCommand enable() { return command_of("01040000 00000000", "00000000 00000000 00000000"); }
TraceCommand query_pages(const char* pages) {
  return command_of("01070000 00000001 00000000 00000000",
                    std::string("00000000 00000000 00000000 ") + pages);
}
TraceCommand create_mkey(const std::string& pd_dword, const std::string& qpn_dword) {
  return command_of(
      "02000000 00000000 00000000 00000000 00000000 " + qpn_dword + " 00000000 " + pd_dword,
      "00000000 00000000 00000042 00000000");
}

// ---- alignment ----

TEST(Compare, SameRecordings_AreTheSame) {
  const Recording recording = recording_of({enable(), query_pages("00000006")});
  const Comparison comparison = compare(recording, recording, Rules{});
  EXPECT_TRUE(comparison.is_same());
  EXPECT_EQ(comparison.same, 2u);
}

TEST(Compare, EmptyRecordings_AreTheSame) {
  EXPECT_TRUE(compare(recording_of({}), recording_of({}), Rules{}).is_same());
}

TEST(Compare, CommandsOfOneSide_StandWhereTheyWere) {
  const Recording a = recording_of({enable(), query_pages("00000006")});
  const Recording b = recording_of({create_mkey("00000001", "00000000"), enable()});
  const Comparison comparison = compare(a, b, Rules::usual());
  ASSERT_EQ(comparison.steps.size(), 3u);
  EXPECT_EQ(comparison.steps[0].a, std::nullopt);
  EXPECT_EQ(comparison.steps[0].b, 0u);
  EXPECT_EQ(comparison.steps[1].a, 0u);
  EXPECT_EQ(comparison.steps[1].b, 1u);
  EXPECT_EQ(comparison.steps[2].a, 1u);
  EXPECT_EQ(comparison.steps[2].b, std::nullopt);
  EXPECT_EQ(comparison.only_a, 1u);
  EXPECT_EQ(comparison.only_b, 1u);
  EXPECT_EQ(comparison.same, 1u);
  EXPECT_FALSE(comparison.is_same());
}

TEST(Compare, OtherOpMod_IsAnotherCommand) {
  const Recording a = recording_of({command_of("01070000 00000001", "")});
  const Recording b = recording_of({command_of("01070000 00000002", "")});
  EXPECT_EQ(compare(a, b, Rules{}).only_a, 1u);
}

TEST(Compare, OtherRegister_IsAnotherCommand) {
  const Recording a = recording_of({command_of("08050000 00000001 00005003 00000000", "")});
  const Recording b = recording_of({command_of("08050000 00000001 00005006 00000000", "")});
  const Comparison comparison = compare(a, b, Rules{});
  EXPECT_EQ(comparison.only_a, 1u);
  EXPECT_EQ(comparison.only_b, 1u);
  EXPECT_EQ(identity(a.commands[0]), "ACCESS_REG 0x805 op_mod 0x1 register_id 0x5003");
}

TEST(Compare, QpOfAnotherService_IsAnotherCommand) {
  TraceCommand rc = command_of("05000000", "");
  rc.in.bytes.resize(272);
  TraceCommand ud = rc;
  ud.in.bytes[25] = std::byte{2};  // qpc.st, the second byte of the QP context
  EXPECT_EQ(identity(ud), "CREATE_QP 0x500 op_mod 0x0 qpc.st 0x2");
  EXPECT_EQ(compare(recording_of({rc}), recording_of({ud}), Rules{}).only_a, 1u);
}

TEST(Compare, EventQueues_AreAlignedByWhetherTheyTakeEvents) {
  TraceCommand completions = command_of("03010000", "");
  completions.in.bytes.resize(272);
  TraceCommand events = completions;
  events.in.bytes[95] = std::byte{4};  // inside event_bitmask
  const Comparison comparison =
      compare(recording_of({events, completions}), recording_of({completions}), Rules{});
  EXPECT_EQ(comparison.only_a, 1u);
  EXPECT_EQ(comparison.same, 1u);
}

// ---- fields ----

TEST(CompareFields, ValueThatDiffers_IsNamedWithBothValues) {
  EXPECT_THAT(compare_fields(query_pages("00000006"), query_pages("00000008"), Rules{}),
              ElementsAre(differs("out.num_pages", "0x6", "0x8")));
}

TEST(CompareFields, FieldOfOneSide_IsZeroOnTheOther) {
  EXPECT_THAT(compare_fields(query_pages("00000000"), query_pages("00000008"), Rules{}),
              ElementsAre(differs("out.num_pages", "0x0", "0x8")));
}

TEST(CompareFields, Verdict_IsCompared) {
  const TraceCommand ok = enable();
  const TraceCommand failed = command_of("01040000 00000000", "03000000 0000002a 00000000");
  EXPECT_THAT(compare_fields(ok, failed, Rules{}),
              ElementsAre(differs("status", "0x0", "0x3"), differs("syndrome", "0x0", "0x2a")));
}

TEST(CompareFields, AnswerThatNeverCame_IsADifferenceOfDeliveryAlone) {
  TraceCommand lost = query_pages("00000006");
  lost.answer = trace::TraceAnswer::None;
  lost.out.bytes.clear();
  EXPECT_THAT(compare_fields(query_pages("00000006"), lost, Rules{}),
              ElementsAre(differs("delivery", "OK 0x0", "none")));
}

TEST(CompareFields, AnswerThatTheSourceDoesNotShow_IsNoDifference) {
  TraceCommand unknown = query_pages("00000006");
  unknown.answer = trace::TraceAnswer::Unknown;
  unknown.out.bytes.clear();
  EXPECT_THAT(compare_fields(query_pages("00000006"), unknown, Rules{}), IsEmpty());
}

TEST(CompareFields, BytesThatTheSourceDoesNotShow_AreNoDifference) {
  TraceCommand gap = query_pages("00000000");
  gap.out.gaps = {{12, 4}};
  EXPECT_THAT(compare_fields(query_pages("00000006"), gap, Rules{}), IsEmpty());
  EXPECT_THAT(compare_fields(gap, query_pages("00000006"), Rules{}), IsEmpty());
}

TEST(CompareFields, PageAddresses_CountButTheirValuesDoNotAsARule) {
  const TraceCommand a = command_of("01080000 00000001 00000000 00000001 00000007 ab122000", "");
  const TraceCommand b = command_of("01080000 00000001 00000000 00000001 00000007 ab123000", "");
  const TraceCommand two =
      command_of("01080000 00000001 00000000 00000002 00000007 ab123000 00000007 ab124000", "");
  EXPECT_THAT(compare_fields(a, b, Rules::usual()), IsEmpty());
  EXPECT_THAT(compare_fields(a, b, Rules{}),
              ElementsAre(differs("in.pas[0]", "0x7ab122000", "0x7ab123000")));
  EXPECT_THAT(
      compare_fields(a, two, Rules::usual()),
      ElementsAre(differs("in_length", "24", "32"), differs("in.input_num_entries", "0x1", "0x2"),
                  differs("in.pas.count", "1", "2")));
}

TEST(CompareFields, SlotAndTime_DoNotCountAsARule) {
  TraceCommand a = enable();
  TraceCommand b = enable();
  a.slot = 0;
  b.slot = 5;
  a.time_ns = 1;
  b.time_ns = 2;
  EXPECT_THAT(compare_fields(a, b, Rules::usual()), IsEmpty());
  EXPECT_THAT(compare_fields(a, b, Rules{}),
              ElementsAre(differs("slot", "0", "5"), differs("time_ns", "1", "2")));
}

TEST(CompareFields, UnknownOpcode_IsComparedByDword) {
  EXPECT_THAT(compare_fields(command_of("beef0000 00000000 00000001 00000002", ""),
                             command_of("beef0000 00000000 00000001 00000003", ""), Rules{}),
              ElementsAre(differs("in.dword[0x0c]", "0x2", "0x3")));
}

// ---- rules ----

TEST(Rules, ObjectNumbers_DifferOnlyWhereJustOneIsAllOnes) {
  const TraceCommand first = create_mkey("00000001", "00000000");
  const TraceCommand second = create_mkey("00000002", "00000100");
  EXPECT_THAT(compare_fields(first, second, Rules::usual()), IsEmpty());
  const TraceCommand any_qp = create_mkey("00000002", "ffffff00");
  EXPECT_THAT(compare_fields(second, any_qp, Rules::usual()),
              ElementsAre(differs("in.memory_key_mkey_entry.qpn", "0x1", "0xffffff")));
  EXPECT_THAT(compare_fields(any_qp, any_qp, Rules::usual()), IsEmpty());
}

TEST(Rules, IgnoredPattern_MayNameTheCommand) {
  Rules rules;
  rules.ignored = {"QUERY_PAGES:out.*"};
  EXPECT_THAT(compare_fields(query_pages("00000006"), query_pages("00000008"), rules), IsEmpty());
  rules.ignored = {"MANAGE_PAGES:out.*"};
  EXPECT_FALSE(compare_fields(query_pages("00000006"), query_pages("00000008"), rules).empty());
}

struct Match {
  const char* pattern;
  const char* text;
  bool matches;
};

class MatchTest : public ::testing::TestWithParam<Match> {};

TEST_P(MatchTest, IsAsAShellHasIt) {
  EXPECT_EQ(matches(GetParam().pattern, GetParam().text), GetParam().matches)
      << GetParam().pattern << " " << GetParam().text;
}

constexpr Match kMatches[] = {
    {"in.pd", "in.pd", true},
    {"in.pd", "in.pdx", false},
    {"in.pd", "in.p", false},
    {"*", "", true},
    {"", "", true},
    {"", "x", false},
    {"in.*.pd", "in.qpc.pd", true},
    {"in.*.pd", "in.pd", false},
    {"*.pas[*]", "in.pas[3]", true},
    {"*.pas[*]", "in.pas.count", false},
    {"in.p?", "in.pd", true},
    {"in.p?", "in.p", false},
    {"*a*b*c", "xaxbxbxc", true},
    {"*a*b*c", "xaxbxbx", false},
    {"**d", "pd", true},
    {"in.*", "in.", true},
};
INSTANTIATE_TEST_SUITE_P(Rules, MatchTest, ::testing::ValuesIn(kMatches));

}  // namespace
}  // namespace portcullis::trace
