// SPDX-License-Identifier: BSD-3-Clause
//
// What a user of trace-diff and trace-import meets: exit statuses, texts, JSON.
#include "tools/trace/programs.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/trace/command_bytes.hpp"

namespace portcullis::tools::trace {
namespace {

using ::testing::AllOf;
using testing::command_of;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// A folder that goes when the test does.
class Programs : public ::testing::Test {
 public:
  Programs() {
    std::string name = (std::filesystem::temp_directory_path() / "trace-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Programs() override { std::filesystem::remove_all(folder_); }

 protected:
  std::string file(const std::string& name, const std::string& text) {
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  std::string recording(const std::string& name, const char* pages) {
    const auto command = command_of("01070000 00000001 00000000 00000000",
                                    std::string("00000000 00000000 00000000 ") + pages);
    return file(name,
                portcullis::trace::trace_header("a test") + portcullis::trace::trace_text(command));
  }

 private:
  std::filesystem::path folder_;
};

Outcome diff(std::vector<std::string_view> arguments) { return trace_diff(arguments); }
Outcome import(std::vector<std::string_view> arguments) { return trace_import(arguments); }

TEST_F(Programs, SameRecordings_AreStatus0) {
  const std::string a = recording("a", "00000006");
  const Outcome outcome = diff({a, a});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("1 commands are the same, 0 differ"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(Programs, DifferentRecordings_AreStatus1AndNameTheField) {
  const std::string a = recording("a", "00000006");
  const std::string b = recording("b", "00000008");
  const Outcome outcome = diff({a, b});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, "--- " + a + ": 1 commands, a test\n+++ " + b +
                             ": 1 commands, a test\n"
                             "      1     1  QUERY_PAGES 0x107 op_mod 0x1\n"
                             "                 out.num_pages  0x6 -> 0x8\n"
                             "0 commands are the same, 1 differ, 0 only in " +
                             a + ", 0 only in " + b + "\n");
}

TEST_F(Programs, IgnoredField_MakesThemTheSame) {
  const std::string a = recording("a", "00000006");
  const std::string b = recording("b", "00000008");
  EXPECT_EQ(diff({"--ignore", "out.num_pages", a, b}).status, 0);
  EXPECT_EQ(diff({a, b, "--ignore=QUERY_PAGES:out.*"}).status, 0);
  EXPECT_EQ(diff({"--ignore", "out.other", a, b}).status, 1);
}

TEST_F(Programs, IgnoredFieldThatNeitherHas_IsTold) {
  const std::string a = recording("a", "00000006");
  const std::string b = recording("b", "00000008");
  EXPECT_EQ(diff({"--ignore", "out.numpages", "--ignore", "out.num_*", a, b}).err,
            "trace-diff: --ignore \"out.numpages\": neither recording has such a field\n");
  EXPECT_EQ(diff({"--ignore=time_ns", "--ignore=QUERY_PAGES:out.*", a, b}).err, "");
}

TEST_F(Programs, CommandOfOneSide_IsMarked) {
  const std::string a = recording("a", "00000006");
  const std::string empty = file("empty", portcullis::trace::trace_header("nothing"));
  EXPECT_THAT(diff({a, empty}).out, HasSubstr("\n-     1        QUERY_PAGES 0x107 op_mod 0x1\n"));
  EXPECT_THAT(diff({empty, a}).out, HasSubstr("\n+           1  QUERY_PAGES 0x107 op_mod 0x1\n"));
}

TEST_F(Programs, Json_HasEveryDifference) {
  const std::string a = recording("a", "00000006");
  const std::string b = recording("b", "00000008");
  const Outcome outcome = diff({"--json", a, b});
  EXPECT_EQ(outcome.status, 1);
  const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["a"]["file"], a);
  EXPECT_EQ(json["b"]["commands"], 1);
  EXPECT_EQ(json["different"], 1);
  const auto& difference = json["differences"][0];
  EXPECT_EQ(difference["command"], "QUERY_PAGES 0x107 op_mod 0x1");
  EXPECT_EQ(difference["a"], 1);
  EXPECT_EQ(difference["fields"][0]["field"], "out.num_pages");
  EXPECT_EQ(difference["fields"][0]["b"], "0x8");
}

TEST_F(Programs, JsonOfANameThatIsNoUtf8_IsStillJson) {
  const std::string a = recording("\xff", "00000006");
  EXPECT_FALSE(nlohmann::json::parse(diff({"--json", a, a}).out, nullptr, false).is_discarded());
}

TEST_F(Programs, BadFile_IsStatus2AndOneLine) {
  const std::string a = recording("a", "00000006");
  const Outcome absent = diff({a, "/nowhere/b"});
  EXPECT_EQ(absent.status, 2);
  EXPECT_EQ(absent.err, "trace-diff: /nowhere/b: No such file or directory\n");
  EXPECT_THAT(absent.out, IsEmpty());
  const Outcome other = diff({a, file("b", "hello\n")});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, AllOf(HasSubstr("b:1: begins with \"hello\""), EndsWith("\n")));
  EXPECT_EQ(diff({a, "/"}).status, 2);
}

TEST(TraceDiff, BadArguments_AreStatus2AndSayWhatIsAccepted) {
  EXPECT_EQ(diff({}).status, 2);
  EXPECT_THAT(diff({}).err, HasSubstr("two recordings expected"));
  EXPECT_EQ(diff({"a", "b", "c"}).status, 2);
  EXPECT_THAT(diff({"--colour", "a", "b"}).err,
              AllOf(HasSubstr("no option \"--colour\""), HasSubstr("--ignore FIELD")));
  EXPECT_THAT(diff({"a", "b", "--ignore"}).err, HasSubstr("--ignore FIELD expected"));
}

TEST(TraceDiff, Help_SaysHowAndWhat) {
  const Outcome outcome = diff({"--help"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("usage: trace-diff"), HasSubstr("--ignore"),
                                 HasSubstr("exit status")));
}

TEST(TraceDiff, ListOfWhatIsIgnored_GrowsAndGoes) {
  EXPECT_THAT(diff({"--list-ignored"}).out, AllOf(HasSubstr("time_ns"), HasSubstr("*.qpn")));
  EXPECT_THAT(diff({"--list-ignored", "--ignore", "in.mine"}).out, HasSubstr("in.mine"));
  EXPECT_THAT(diff({"--list-ignored", "--strict"}).out, Not(HasSubstr("time_ns")));
}

constexpr const char* kLog =
    "mlx5_core 0000:03:00.0: cmd[0]: dump command ENABLE_HCA(0x104) INPUT\n"
    "cmd[0]: 000: 07000000 00000010 00000000 00000000\n"
    "cmd[0]: 010: 01040000 00000000 00000000 00000000\n"
    "cmd[0]: 020: 00000000 00000000 00000000 00000000\n"
    "cmd[0]: 030: 00000000 00000000 0000000c 01fd0001\n"
    "mlx5_core 0000:03:00.0: cmd[0]: end dump\n";

TEST_F(Programs, ImportedLog_IsARecording) {
  const Outcome outcome = import({file("dmesg.txt", kLog)});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("portcullis-trace 1\nsource mlx5_core"),
                                 HasSubstr("\ncommand 1 ENABLE_HCA 0x104 op_mod 0x0\n")));
  EXPECT_THAT(outcome.err, HasSubstr("dmesg.txt:1: warning: ENABLE_HCA (0x104): INPUT without"));
  const std::string trace = file("card.trace", outcome.out);
  EXPECT_EQ(diff({trace, trace}).status, 0);
}

TEST_F(Programs, LogWithoutCommands_IsStatus2) {
  const Outcome outcome = import({file("dmesg.txt", "hello\n")});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("no dump of a command in 1 lines"));
}

TEST_F(Programs, DeviceThatTheLogHasNot_IsStatus2) {
  const Outcome outcome = import({"--device=0000:04:00.0", file("dmesg.txt", kLog)});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("0000:04:00.0"), HasSubstr("0000:03:00.0")));
  EXPECT_EQ(import({"--device", "0000:04:00.0", file("dmesg.txt", kLog)}).err, outcome.err);
}

TEST(TraceImport, BadArguments_AreStatus2) {
  EXPECT_THAT(import({"--device"}).err, HasSubstr("--device DEVICE expected"));
  EXPECT_THAT(import({"--colour"}).err, HasSubstr("no option \"--colour\""));
  EXPECT_THAT(import({"a", "b"}).err, HasSubstr("\"b\" is a second file"));
  EXPECT_EQ(import({"/nowhere/log"}).status, 2);
}

TEST(TraceImport, Help_SaysHowToGetALog) {
  EXPECT_THAT(import({"--help"}).out,
              AllOf(StartsWith("usage: trace-import"), HasSubstr("dyndbg"), HasSubstr("dmesg |")));
}

}  // namespace
}  // namespace portcullis::tools::trace
