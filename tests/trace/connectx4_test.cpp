// SPDX-License-Identifier: BSD-3-Clause
//
// The log of a real ConnectX-4 that somebody else published (see the head of data/*.log), imported:
// what is known of that card must stand in the recording under the kernel's names.
#include <gmock/gmock.h>

#include "prm/enums.hpp"
#include "tests/trace/command_bytes.hpp"
#include "trace/compare.hpp"
#include "trace/dmesg_import.hpp"

namespace portcullis::testing {
namespace {

using prm::Opcode;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using trace::ImportedLog;
using trace::TraceCommand;

constexpr std::string_view kData = PORTCULLIS_TRACE_DATA;

ImportedLog log_of_the_card() {
  auto log = trace::import_log(text_of_file(std::filesystem::path(kData) / "connectx4_bringup.log"),
                               "connectx4_bringup.log", "");
  EXPECT_TRUE(log.has_value()) << log.error().text;
  return std::move(log).value_or(ImportedLog{});
}

/// The first command like that; an empty one when there is none.
TraceCommand first(const ImportedLog& log, Opcode opcode, std::uint16_t op_mod) {
  for (const TraceCommand& command : log.recording.commands)
    if (command.opcode() == opcode && command.op_mod() == op_mod) return command;
  return {};
}

TEST(ConnectX4Log, BringUp_IsTheKernelsListOfCommands) {
  std::vector<std::string> titles;
  const ImportedLog log = log_of_the_card();
  for (const TraceCommand& command : log.recording.commands)
    titles.push_back(trace::identity(command));
  EXPECT_THAT(
      titles,
      ElementsAre("ENABLE_HCA 0x104 op_mod 0x0", "QUERY_ISSI 0x10a op_mod 0x0",
                  "SET_ISSI 0x10b op_mod 0x0", "QUERY_PAGES 0x107 op_mod 0x1",
                  "MANAGE_PAGES 0x108 op_mod 0x1", "ACCESS_REG 0x805 op_mod 0x0 register_id 0x7004",
                  "QUERY_HCA_CAP 0x100 op_mod 0x0", "QUERY_HCA_CAP 0x100 op_mod 0x1",
                  "QUERY_PAGES 0x107 op_mod 0x2", "MANAGE_PAGES 0x108 op_mod 0x1",
                  "CREATE_EQ 0x301 op_mod 0x0 with events"));
}

TEST(ConnectX4Log, EveryCommand_SucceededOnTheSlotThatItsDoorbellRang) {
  const ImportedLog log = log_of_the_card();
  std::vector<std::uint32_t> slots;
  for (const TraceCommand& command : log.recording.commands) {
    slots.push_back(command.slot.value_or(99));
    EXPECT_EQ(command.answer, trace::TraceAnswer::Given);
    EXPECT_EQ(command.delivery_status, 0);
    EXPECT_EQ(command.status(), 0);
  }
  EXPECT_THAT(slots, ElementsAre(0, 0, 0, 0, 31, 0, 0, 0, 0, 31, 0));
}

TEST(ConnectX4Log, Pages_AreSixForBootAnd12868ForInit) {
  const ImportedLog log = log_of_the_card();
  const auto boot = prm::number(prm::QueryPagesOpMod::BOOT_PAGES);
  const auto init = prm::number(prm::QueryPagesOpMod::INIT_PAGES);
  EXPECT_EQ(out_field(first(log, Opcode::QUERY_PAGES, boot), "num_pages"), "0x6");
  EXPECT_EQ(out_field(first(log, Opcode::QUERY_PAGES, init), "num_pages"), "0x3244");
  const TraceCommand& given = log.recording.commands.at(9);
  EXPECT_EQ(given.in.bytes.size(), 102'960u);
  EXPECT_EQ(in_field(given, "input_num_entries"), "0x3244");
  EXPECT_EQ(in_field(given, "pas.count"), "12868");
  EXPECT_EQ(in_field(given, "pas[0]"), "0x7ab122000");
  EXPECT_EQ(in_field(given, "pas[63]"), "0x7ab1a5000");
}

struct Capability {
  const char* field;
  const char* max;
  const char* current;
};

std::ostream& operator<<(std::ostream& out, const Capability& c) { return out << c.field; }

class ConnectX4CapabilityTest : public ::testing::TestWithParam<Capability> {};

TEST_P(ConnectX4CapabilityTest, IsWhatTheCardIsKnownToHave) {
  const ImportedLog log = log_of_the_card();
  const std::string name = std::string("capability.cmd_hca_cap.") + GetParam().field;
  EXPECT_EQ(out_field(first(log, Opcode::QUERY_HCA_CAP, 0), name), GetParam().max);
  EXPECT_EQ(out_field(first(log, Opcode::QUERY_HCA_CAP, 1), name), GetParam().current);
}

constexpr Capability kCapabilities[] = {
    {"log_max_qp", "0x17", "0xe"},
    {"log_max_mkey", "0x18", "0x18"},
    {"log_max_cq", "0x18", "0x18"},
    {"log_max_eq", "0x8", "0x8"},
    {"local_ca_ack_delay", "0x10", "0x10"},
    {"cmdif_checksum", "0x3", "0x0"},
    {"port_type", "0x1", "0x1"},
    {"xrc", "0x1", "0x1"},
    {"roce", "0x1", "0x1"},
    {"atomic", "0x1", "0x1"},
    {"pg", "0x0", "0x0"},
    {"uar_4k", "0x0", "0x0"},
    {"log_bf_reg_size", "0x9", "0x9"},
    {"log_max_msg", "0x1e", "0x1e"},
};
INSTANTIATE_TEST_SUITE_P(ConnectX4Log, ConnectX4CapabilityTest, ::testing::ValuesIn(kCapabilities),
                         [](const auto& info) { return std::string(info.param.field); });

TEST(ConnectX4Log, FirstEventQueue_TakesCommandCompletions) {
  const TraceCommand eq = log_of_the_card().recording.commands.back();
  EXPECT_EQ(in_field(eq, "eq_context_entry.uar_page"), "0x10");
  EXPECT_EQ(in_field(eq, "eq_context_entry.log_eq_size"), "0x8");
  EXPECT_EQ(in_field(eq, "event_bitmask[0x04]"), "0x400");  // MLX5_EVENT_TYPE_CMD is 0x0a
  EXPECT_EQ(out_field(eq, "eq_number"), "0x10");            // "eqn 16", as Linux logged later
}

TEST(ConnectX4Log, BytesThatTheKernelDidNotDump_AreGapsAndWarnedOf) {
  const ImportedLog log = log_of_the_card();
  EXPECT_THAT(log.warnings, SizeIs(6));
  EXPECT_TRUE(log.recording.commands.at(4).in.is_unknown(16, 48));
  EXPECT_FALSE(log.recording.commands.at(4).in.is_unknown(0, 16));
}

TEST(ConnectX4Log, Recording_IsTheOneThatIsKept) {
  EXPECT_EQ(trace::to_text(log_of_the_card().recording),
            text_of_file(std::filesystem::path(kData) / "connectx4_bringup.trace"));
}

}  // namespace
}  // namespace portcullis::testing
