// SPDX-License-Identifier: BSD-3-Clause
//
// Commands that Linux sent, encoded again through the layouts: the bytes must be the same. Source
// of the bytes: golden/trace.hpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "prm/enums.hpp"
#include "prm/eqe.hpp"
#include "prm/hca_commands.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/signature.hpp"
#include "tests/prm/golden/trace.hpp"

namespace portcullis::prm {
namespace {

using testing::hex_of;
using testing::TracedCommand;

/// A queue entry as Linux fills it: input inline, output inline, signed, handed over.
Buffer<cmd_queue_entry> entry_of(std::span<const std::byte> input, std::size_t output_bytes,
                                 std::uint8_t token) {
  Buffer<cmd_queue_entry> entry;
  entry.set<"type", kPciCmdXport>().put<"input_length">(input.size());
  entry.put<"output_length">(output_bytes).put<"token">(token);
  std::ranges::copy(input.first(kCmdInlineBytes),
                    entry.bytes<"command_input_inline_data">().begin());
  sign_entry(entry.view(), EntryOwner::Hardware);
  entry.set<"ownership", 1>();
  return entry;
}

TEST(GoldenEntry, EnableHca_IsByteForByteLinux) {
  const TracedCommand linux_sent{{0x00, "07000000 00000010 00000000 00000000"},
                                 {0x10, "01040000 00000000 00000000 00000000"},
                                 {0x30, "00000000 00000000 00000010 01fd0001"}};
  Buffer<enable_hca_in> in;
  in.set<"opcode", Opcode::ENABLE_HCA>();
  // Linux offered 16 bytes of output then; enable_hca_out of 6.1 has 12.
  constexpr std::size_t kOutputBytes = 16;
  EXPECT_EQ(hex_of(entry_of(in.all(), kOutputBytes, 1).all()), hex_of(linux_sent.entry()));
}

TEST(GoldenEntry, SetIssi_IsByteForByteLinux) {
  const TracedCommand linux_sent{{0x00, "07000000 00000010 00000000 00000000"},
                                 {0x10, "010b0000 00000000 00000001 00000000"},
                                 {0x30, "00000000 00000000 00000010 03f10001"}};
  Buffer<set_issi_in> in;
  in.set<"opcode", Opcode::SET_ISSI>().set<"current_issi", kIssi>();
  EXPECT_EQ(hex_of(entry_of(in.all(), set_issi_out::bytes, 3).all()), hex_of(linux_sent.entry()));
}

TEST(GoldenEntry, QueryPagesForBoot_IsByteForByteLinux) {
  const TracedCommand linux_sent{{0x00, "07000000 00000010 00000000 00000000"},
                                 {0x10, "01070000 00000001 00000000 00000000"},
                                 {0x30, "00000000 00000000 00000010 04fa0001"}};
  Buffer<query_pages_in> in;
  in.set<"opcode", Opcode::QUERY_PAGES>().put<"op_mod">(QueryPagesOpMod::BOOT_PAGES);
  EXPECT_EQ(hex_of(entry_of(in.all(), query_pages_out::bytes, 4).all()),
            hex_of(linux_sent.entry()));
}

TEST(GoldenEntry, InitHca_IsByteForByteLinux) {
  const TracedCommand linux_sent{{0x00, "07000000 00000010 00000000 00000000"},
                                 {0x10, "01020000 00000000 00000000 00000000"},
                                 {0x30, "00000000 00000000 00000010 0cf60001"}};
  Buffer<init_hca_in> in;
  in.set<"opcode", Opcode::INIT_HCA>();
  // Linux sends 16 bytes here: its struct ends before sw_owner_id.
  const auto sent = std::span<const std::byte>(in.all()).first(kCmdInlineBytes);
  EXPECT_EQ(hex_of(entry_of(sent, init_hca_out::bytes, 12).all()), hex_of(linux_sent.entry()));
}

TEST(GoldenEntry, AllocUar_IsByteForByteLinux) {
  const TracedCommand linux_sent{{0x00, "07000000 00000010 00000000 00000000"},
                                 {0x10, "08020000 00000000 00000000 00000000"},
                                 {0x30, "00000000 00000000 00000010 18eb0001"}};
  Buffer<alloc_uar_in> in;
  in.set<"opcode", Opcode::ALLOC_UAR>();
  EXPECT_EQ(hex_of(entry_of(in.all(), alloc_uar_out::bytes, 0x18).all()),
            hex_of(linux_sent.entry()));
}

TEST(GoldenEntry, ManagePagesForBoot_PointsAtItsMailbox) {
  const TracedCommand linux_sent{{0x00, "07000000 00000040 00000007 ab0e8000"},
                                 {0x10, "01080000 00000001 00000000 00000006"},
                                 {0x30, "00000000 00000000 00000010 05800001"}};
  constexpr std::uint64_t kMailbox = 0x7ab0e8000;
  Buffer<manage_pages_in> in;
  in.set<"opcode", Opcode::MANAGE_PAGES>().put<"op_mod">(ManagePagesOpMod::ALLOCATION_SUCCESS);
  in.put<"input_num_entries">(6);
  auto entry = entry_of(in.all(), manage_pages_in::bytes, 5);
  entry.put<"input_length">(manage_pages_in::bytes + 6 * sizeof(std::uint64_t));
  entry.put<"input_mailbox_pointer_63_32">(kMailbox >> 32);
  entry.put<"input_mailbox_pointer_31_9">((kMailbox & 0xffffffff) >> 9);
  sign_entry(entry.view(), EntryOwner::Hardware);
  EXPECT_EQ(hex_of(entry.all()), hex_of(linux_sent.entry()));
}

TEST(GoldenEntry, HostEndianness_IsWrittenThroughAccessRegister) {
  const TracedCommand linux_sent{{0x10, "08050000 00000000 00007004 00000000"}};
  Buffer<access_register_in> in;
  in.set<"opcode", Opcode::ACCESS_REG>().put<"op_mod">(AccessRegisterOpMod::WRITE);
  in.put<"register_id">(RegisterId::HOST_ENDIANNESS);
  EXPECT_EQ(hex_of(in.all()), hex_of(linux_sent.input<access_register_in>().all()));
  // 0x20 bytes in all: the command, then the register.
  EXPECT_EQ(access_register_in::bytes + register_host_endianness::bytes, 0x20u);
}

TEST(GoldenInput, QueryHcaCapOfRoceNow_HasLinuxsOpMod) {
  const TracedCommand linux_sent{{0x10, "01000000 00000009 00000000 00000000"}};
  Buffer<query_hca_cap_in> in;
  in.set<"opcode", Opcode::QUERY_HCA_CAP>();
  in.put<"op_mod">(cap_op_mod(CapType::ROCE, CapMode::GET_CUR));
  EXPECT_EQ(hex_of(in.all()), hex_of(linux_sent.input<query_hca_cap_in>().all()));
}

struct EqOfLinux {
  const char* what;
  TracedCommand sent;
  std::uint32_t log_eq_size, intr, log_page_size;
  std::vector<EventType> events;
};

class GoldenCreateEq : public ::testing::TestWithParam<EqOfLinux> {};

TEST_P(GoldenCreateEq, Input_IsByteForByteLinux) {
  Buffer<create_eq_in> in;
  in.set<"opcode", Opcode::CREATE_EQ>();
  in.put<"eq_context_entry.log_eq_size">(GetParam().log_eq_size);
  in.put<"eq_context_entry.uar_page">(0x10).put<"eq_context_entry.intr">(GetParam().intr);
  in.put<"eq_context_entry.log_page_size">(GetParam().log_page_size);
  std::ranges::for_each(GetParam().events,
                        [&in](EventType type) { enable_event(in.bytes<"event_bitmask">(), type); });
  EXPECT_EQ(hex_of(in.all()), hex_of(GetParam().sent.input<create_eq_in>().all()));
}

INSTANTIATE_TEST_SUITE_P(
    Linux, GoldenCreateEq,
    ::testing::Values(EqOfLinux{"commands",
                                {{0x10, "03010000 00000000 00000000 00000000"},
                                 {0x40, "00000000 00000000 00000000 08000010"},
                                 {0x50, "00000000 00000001 02000000 00000000"},
                                 {0x80, "00000000 00000000 00000000 00000400"}},
                                8,
                                1,
                                2,
                                {EventType::CMD}},
                      EqOfLinux{"pages",
                                {{0x10, "03010000 00000000 00000000 00000000"},
                                 {0x40, "00000000 00000000 00000000 08000010"},
                                 {0x50, "00000000 00000000 02000000 00000000"},
                                 {0x80, "00000000 00000000 00000000 00000800"}},
                                8,
                                0,
                                2,
                                {EventType::PAGE_REQUEST}},
                      EqOfLinux{"async",
                                {{0x10, "03010000 00000000 00000000 00000000"},
                                 {0x40, "00000000 00000000 00000000 09000010"},
                                 {0x50, "00000000 00000002 03000000 00000000"},
                                 {0x80, "00000000 00000000 00000000 001f02be"}},
                                9,
                                2,
                                3,
                                {EventType::PATH_MIG, EventType::COMM_EST, EventType::SQ_DRAINED,
                                 EventType::CQ_ERROR, EventType::WQ_CATAS_ERROR,
                                 EventType::PATH_MIG_FAILED, EventType::PORT_CHANGE,
                                 EventType::WQ_INVAL_REQ_ERROR, EventType::WQ_ACCESS_ERROR,
                                 EventType::SRQ_CATAS_ERROR, EventType::SRQ_LAST_WQE,
                                 EventType::SRQ_RQ_LIMIT}},
                      EqOfLinux{"completions",
                                {{0x10, "03010000 00000000 00000000 00000000"},
                                 {0x40, "00000000 00000000 00000000 0b000010"},
                                 {0x50, "00000000 00000003 05000000 00000000"}},
                                11,
                                3,
                                5,
                                {}}),
    [](const auto& info) { return std::string(info.param.what); });

}  // namespace
}  // namespace portcullis::prm
