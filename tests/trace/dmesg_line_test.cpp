// SPDX-License-Identifier: BSD-3-Clause
//
// Lines of kernel logs, as different loggers and kernels print them.
#include "trace/dmesg_line.hpp"

#include <gtest/gtest.h>

namespace portcullis::trace {
namespace {

constexpr std::string_view kMessages[] = {
    ("mlx5_core 0000:03:00.0: dump_command:888:(pid 87): cmd[3]: dump command QUERY_PAGES(0x107) "
     "INPUT"),
    ("[   12.345678] mlx5_core 0000:03:00.0: dump_command:888:(pid 87): cmd[3]: dump command "
     "QUERY_PAGES(0x107) INPUT"),
    "<7>[   12.345678] mlx5_core 0000:03:00.0: cmd[3]: dump command QUERY_PAGES(0x107) INPUT",
    "[   12.345678][  T123] mlx5_core 0000:03:00.0: cmd[3]: dump command QUERY_PAGES(0x107) INPUT",
    ("Nov 21 05:00:00 host kernel: [   12.345678] mlx5_core 0000:03:00.0: cmd[3]: dump command "
     "QUERY_PAGES(0x107) INPUT"),
    ("2025-11-21T05:00:00.000000+00:00 host kernel: mlx5_core 0000:03:00.0: cmd[3]: dump command "
     "QUERY_PAGES(0x107) INPUT"),
    ("[  +0.000004] [87] mlx5_core:dump_command:888: mlx5_core 0000:03:00.0: cmd[3]: dump command "
     "QUERY_PAGES(0x107) INPUT"),
};

class LogHeaderTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(LogHeaderTest, IsFoundBehindWhateverStandsBeforeIt) {
  const LogLine line = read_log_line(GetParam());
  const auto* header = std::get_if<DumpHeader>(&line.what);
  ASSERT_NE(header, nullptr);
  EXPECT_EQ(header->opcode, 0x107);
  EXPECT_TRUE(header->is_input);
  EXPECT_FALSE(header->data_only);
  EXPECT_EQ(line.device, "0000:03:00.0");
  EXPECT_EQ(line.slot, 3u);
}

INSTANTIATE_TEST_SUITE_P(LogLine, LogHeaderTest, ::testing::ValuesIn(kMessages));

TEST(LogLine, HeaderOfAnOpcodeThatTheKernelHasNoNameFor_HasItsNumber) {
  const LogLine line = read_log_line(
      "mlx5_core 0000:02:00.0: 0000:02:00.0:dump_command:587:(pid 87): dump command unknown "
      "command opcode(0x10a) OUTPUT");
  const auto* header = std::get_if<DumpHeader>(&line.what);
  ASSERT_NE(header, nullptr);
  EXPECT_EQ(header->opcode, 0x10a);
  EXPECT_FALSE(header->is_input);
  EXPECT_EQ(line.slot, std::nullopt);
}

TEST(LogLine, DataOnlyHeader_IsKnownAsSuch) {
  const LogLine line = read_log_line("cmd[0]: dump command data ALLOC_PD(0x800) OUTPUT");
  const auto* header = std::get_if<DumpHeader>(&line.what);
  ASSERT_NE(header, nullptr);
  EXPECT_TRUE(header->data_only);
}

constexpr std::string_view kRows[] = {
    "[   12.345678] cmd[3]: 1a0: 01040000 00000000 00000000 00000007",
    "cmd[3]: 1a0: 01040000 00000000 00000000 00000007   ",
    "[  +0.000004] mlx5_core:dump_buf:330: cmd[3]: 1a0: 01040000 00000000 00000000 00000007",
    "[  +0.000004] 1a0: 01040000 00000000 00000000 00000007",
};

class LogRowTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(LogRowTest, HasItsOffsetAndBytes) {
  const LogLine line = read_log_line(GetParam());
  const auto* row = std::get_if<HexRow>(&line.what);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->offset, 0x1a0u);
  EXPECT_EQ(row->bytes.front(), std::byte{1});
  EXPECT_EQ(row->bytes.back(), std::byte{7});
}

INSTANTIATE_TEST_SUITE_P(LogLine, LogRowTest, ::testing::ValuesIn(kRows));

constexpr std::string_view kDamagedRows[] = {
    "cmd[3]: 1a0: 01040000 00000000 00000000 0000000",
    "cmd[3]: 1a0: 01040000 00000000",
    "cmd[3]: 1a0: 01040000 0000000g 00000000 00000007",
    "cmd[3]: 1a0: 01040000 00000000 00000000 00000007 00000007",
    "cmd[3]: 1a1: 01040000 00000000 00000000 00000007",
    "1a0: 0104",
};

class DamagedRowTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(DamagedRowTest, IsSeenAsDamaged) {
  EXPECT_TRUE(std::holds_alternative<DamagedRow>(read_log_line(GetParam()).what));
}

INSTANTIATE_TEST_SUITE_P(LogLine, DamagedRowTest, ::testing::ValuesIn(kDamagedRows));

constexpr std::string_view kOthers[] = {
    "",
    "[",
    "<",
    "[   12.345678]",
    "cmd[",
    "cmd[99]: hello",
    "mlx5_core ",
    "mlx5_core 0000:02:00.0: firmware version: 14.12.1220",
    "mlx5_core 0000:02:00.0: wait_func:736:(pid 194): err 0, delivery status no errors(0)",
    "EDAC MC: Ver: 3.0.0",
    "writing 0xzz to command doorbell",
    "command completed. ret 0x0",
};

class OtherLineTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(OtherLineTest, IsOfNoInterest) {
  EXPECT_TRUE(std::holds_alternative<std::monostate>(read_log_line(GetParam()).what));
}

INSTANTIATE_TEST_SUITE_P(LogLine, OtherLineTest, ::testing::ValuesIn(kOthers));

TEST(LogLine, HeaderThatIsCut_IsSeenAsDamaged) {
  EXPECT_TRUE(std::holds_alternative<DamagedHeader>(
      read_log_line("cmd[0]: dump command QUERY_PAGES(0x107) INP").what));
  EXPECT_TRUE(
      std::holds_alternative<DamagedHeader>(read_log_line("cmd[0]: dump command QUERY_PA").what));
}

TEST(LogLine, DoorbellAndCompletion_HaveTheirNumbers) {
  const auto doorbell = read_log_line("writing 0x80000000 to command doorbell").what;
  EXPECT_EQ(std::get<Doorbell>(doorbell).slots, 0x80000000u);
  const auto completed =
      read_log_line("command completed. ret 0x0, delivery status token error(0x2)").what;
  EXPECT_EQ(std::get<Completed>(completed).delivery_status, 2);
  EXPECT_TRUE(std::holds_alternative<DumpEnd>(read_log_line("cmd[0]: end dump").what));
}

struct Time {
  std::string_view line;
  LogTime::Kind kind;
  std::uint64_t ns;
};

class LogTimeTest : public ::testing::TestWithParam<Time> {};

TEST_P(LogTimeTest, IsThatOfTheFirstBracket) {
  const LogTime time = read_log_line(GetParam().line).time;
  EXPECT_EQ(time.kind, GetParam().kind);
  EXPECT_EQ(time.ns, GetParam().ns);
}

constexpr Time kTimes[] = {
    {"[   12.345678] x", LogTime::Kind::SinceBoot, 12'345'678'000},
    {"[100000.000001] x", LogTime::Kind::SinceBoot, 100'000'000'001'000},
    {"[    1.000002 <    0.000012>] x", LogTime::Kind::SinceBoot, 1'000'002'000},
    {"[  +0.023976] x", LogTime::Kind::SinceLine, 23'976'000},
    {"[  +0.023976] [7] x", LogTime::Kind::SinceLine, 23'976'000},
    {"[Nov21 05:00] x", LogTime::Kind::Date, 0},
    {"[Fri Nov 21 05:00:00 2025] x", LogTime::Kind::Date, 0},
    {"[99999999999999999999.1] x", LogTime::Kind::Date, 0},
    {"x [   12.345678]", LogTime::Kind::None, 0},
};
INSTANTIATE_TEST_SUITE_P(LogLine, LogTimeTest, ::testing::ValuesIn(kTimes));

}  // namespace
}  // namespace portcullis::trace
