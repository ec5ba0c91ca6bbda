// SPDX-License-Identifier: BSD-3-Clause
//
// Lengths of commands as drivers that ran on cards send them: Linux's VFIO selftest driver takes 12
// bytes of INIT_HCA, Snabb's connectx.lua announces the offset of the last dword that it reads or
// writes, and cuts registers and lists there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "prm/flow_commands.hpp"
#include "prm/port_registers.hpp"
#include "prm/receive_commands.hpp"
#include "tests/model/flow_commands.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;

constexpr std::size_t kVerdictBytes = 8;  // status and syndrome
constexpr std::byte kUntouched{0xcc};

/// Of every opcode that there may be, with all fields zero; TEARDOWN_HCA and DISABLE_HCA are last.
std::vector<Answer> answers_of_every_opcode(std::size_t out_bytes) {
  MiniDriver driver;
  driver.bring_up();
  std::vector<Answer> answers;
  std::vector<std::byte> in(prm::set_hca_cap_in::bytes);
  const auto header = prm::View<prm::cmd_in>::at(in);
  constexpr std::uint32_t kFirst = prm::number(Opcode::DISABLE_HCA) + 1, kOpcodes = 0x1000;
  for (std::uint32_t i = 0; i < kOpcodes; ++i) {
    header.put<"opcode">(static_cast<std::uint16_t>((kFirst + i) % kOpcodes));
    answers.push_back(driver.execute(in, out_bytes));
  }
  return answers;
}

MATCHER(IsOfOutputLength, "") { return arg.status == CommandStatus::BAD_OUTP_LEN_ERR; }

TEST(CommandLength, RoomForTheVerdictAlone_NoCommandIsRefusedForIt) {
  EXPECT_THAT(answers_of_every_opcode(kVerdictBytes),
              ::testing::Not(::testing::Contains(IsOfOutputLength())));
}

TEST(CommandLength, InitHcaWithTwelveBytesOfOutput_Initialises) {
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  ASSERT_TRUE(driver.give_pages(driver.pages_wanted(prm::QueryPagesOpMod::INIT_PAGES)).ok());
  EXPECT_TRUE(driver.execute(command<prm::init_hca_in>(Opcode::INIT_HCA).all(), 12).ok());
}

/// struct golan_cmd_set_hca_cap_mbox_in of iPXE's golan.h ends there.
TEST(CommandLength, CapabilitiesOfTheFirst256Bytes_AreTaken) {
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  auto in = command<prm::set_hca_cap_in>(Opcode::SET_HCA_CAP);
  constexpr std::size_t kHeaderBytes = 16, kPageBytes = 256;
  EXPECT_EQ(driver.execute(in.all().first(kHeaderBytes + kPageBytes - 4), kVerdictBytes).status,
            CommandStatus::BAD_INP_LEN_ERR);
  EXPECT_TRUE(driver.execute(in.all().first(kHeaderBytes + kPageBytes), kVerdictBytes).ok());
}

/// golan_set_hca_cap of iPXE's golan.c writes log_max_qp into the byte before it.
TEST(CommandLength, ReservedBitsOfTheCapabilities_AreLookedOver) {
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  auto in = command<prm::set_hca_cap_in>(Opcode::SET_HCA_CAP);
  constexpr std::size_t kBeforeLogMaxQp = prm::place<prm::cmd_hca_cap, "log_max_qp">.offset / 8 - 1;
  in.bytes<"capability">()[kBeforeLogMaxQp] = std::byte{1};
  EXPECT_TRUE(driver.execute(in.all(), kVerdictBytes).ok());
}

class CommandLengthAfterBringUp : public ::testing::Test {
 protected:
  CommandLengthAfterBringUp() { driver_.bring_up(); }

  /// A register's data behind the header of ACCESS_REG.
  static std::vector<std::byte> access(prm::RegisterId id, prm::AccessRegisterOpMod op,
                                       std::span<const std::byte> data) {
    auto header = command<prm::access_register_in>(Opcode::ACCESS_REG);
    header.put<"register_id">(id).put<"op_mod">(op);
    std::vector<std::byte> in(header.all().begin(), header.all().end());
    in.insert(in.end(), data.begin(), data.end());
    return in;
  }
  template <class L>
  static prm::Buffer<L> of_port_1() {
    prm::Buffer<L> reg;
    reg.template set<"local_port", 1>();
    return reg;
  }

  MiniDriver driver_;
};

/// struct golan_modify_qp_mbox_in of iPXE's golan.h ends with the context.
TEST_F(CommandLengthAfterBringUp, TransitionThatEndsWithItsContext_IsRead) {
  constexpr std::size_t kBytes = 256;
  auto in = command<prm::rst2init_qp_in>(Opcode::RST2INIT_QP);
  in.set<"qpn", 0xabcdef>();
  EXPECT_EQ(driver_.execute(in.all().first(kBytes - 4), kVerdictBytes).status,
            CommandStatus::BAD_INP_LEN_ERR);
  EXPECT_EQ(driver_.execute(in.all().first(kBytes), kVerdictBytes).status,
            CommandStatus::BAD_RES_ERR);
}

TEST_F(CommandLengthAfterBringUp, OutputInsideTheEntry_CutThereAndNothingBehindItTouched) {
  const auto in = command<prm::alloc_pd_in>(Opcode::ALLOC_PD);
  Posted posted = driver_.lay_out(0, in.all(), kVerdictBytes + 3);
  std::ranges::fill(posted.view().bytes<"command_output_inline_data">(), kUntouched);
  driver_.hand_over(posted);
  driver_.ring(0);
  ASSERT_TRUE(driver_.await(posted).ok());
  const auto out = posted.view().bytes<"command_output_inline_data">();
  EXPECT_NE(out[kVerdictBytes + 2], kUntouched);  // the PD's middle byte
  EXPECT_THAT(out.subspan(kVerdictBytes + 3), ::testing::Each(kUntouched));
}

TEST_F(CommandLengthAfterBringUp, OutputInAMailbox_CutThereAndNothingBehindItTouched) {
  constexpr std::size_t kInBlock = 8;
  const auto in = access(prm::RegisterId::PTYS, prm::AccessRegisterOpMod::READ,
                         of_port_1<prm::ptys_reg>().all());
  Posted posted = driver_.lay_out(0, in, prm::kCmdInlineBytes + kInBlock);
  std::ranges::fill(posted.out_block(0).bytes<"mailbox_data">(), kUntouched);
  driver_.hand_over(posted);
  driver_.ring(0);
  ASSERT_TRUE(driver_.await(posted).ok());
  const auto block = posted.out_block(0).bytes<"mailbox_data">();
  EXPECT_EQ(block[1], std::byte{1});  // local_port
  EXPECT_THAT(block.subspan(kInBlock), ::testing::Each(kUntouched));
}

TEST_F(CommandLengthAfterBringUp, RegisterWrittenWithoutRoomForIt_IsWritten) {
  auto mtu = of_port_1<prm::pmtu_reg>();
  mtu.set<"admin_mtu", 9000>();
  ASSERT_TRUE(
      driver_
          .execute(access(prm::RegisterId::PMTU, prm::AccessRegisterOpMod::WRITE, mtu.all()),
                   prm::access_register_out::bytes)
          .ok());
  const Answer now = driver_.execute(access(prm::RegisterId::PMTU, prm::AccessRegisterOpMod::READ,
                                            of_port_1<prm::pmtu_reg>().all()),
                                     prm::access_register_out::bytes + prm::pmtu_reg::bytes);
  EXPECT_EQ(prm::ConstView<prm::pmtu_reg>::at(std::span(now.out), prm::access_register_out::bytes)
                .get<"oper_mtu">(),
            9000U);
}

TEST_F(CommandLengthAfterBringUp, RegisterReadWithTheDwordThatNamesThePort_IsRead) {
  const auto in = access(prm::RegisterId::PAOS, prm::AccessRegisterOpMod::READ,
                         of_port_1<prm::paos_reg>().all().first<4>());
  const Answer answer = driver_.execute(in, prm::access_register_out::bytes + prm::paos_reg::bytes);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(
      prm::ConstView<prm::paos_reg>::at(std::span(answer.out), prm::access_register_out::bytes)
          .get<"admin_status">(),
      prm::number(prm::PortStatus::UP));
}

TEST_F(CommandLengthAfterBringUp, LastDestinationOfAnEntryCutBehindItsName_IsTaken) {
  const auto table =
      driver_.run<prm::create_flow_table_out>(table_command(prm::FlowTableType::RDMA_RX, 1));
  const auto next =
      driver_.run<prm::create_flow_table_out>(table_command(prm::FlowTableType::RDMA_RX, 1, 1));
  const Place place{prm::FlowTableType::RDMA_RX,
                    table.as<prm::create_flow_table_out>().get<"table_id">()};
  const auto group = driver_.run<prm::create_flow_group_out>(group_command(place, 0, 1, {}));
  const auto entry = forwarding(
      entry_command(place, group.as<prm::create_flow_group_out>().get<"group_id">(), 0, {}));
  const auto to = destination(prm::FlowDestination::FLOW_TABLE,
                              next.as<prm::create_flow_table_out>().get<"table_id">());
  std::vector<std::byte> in(entry.all().begin(), entry.all().end());
  in.insert(in.end(), to.begin(), to.begin() + 4);
  EXPECT_TRUE(driver_.execute(in, prm::set_fte_out::bytes).ok());
}

/// struct mcx_cmd_create_flow_table_in and _mb_in of OpenBSD's if_mcx.c have 60 bytes.
TEST_F(CommandLengthAfterBringUp, FlowTableWithoutRootsOfItsOwner_IsCreated) {
  const auto in = table_command(prm::FlowTableType::NIC_RX, 5);
  EXPECT_TRUE(driver_.execute(in.all().first(60), prm::create_flow_table_out::bytes).ok());
}

TEST_F(CommandLengthAfterBringUp, ListLongerThanItsRoom_IsCut) {
  auto in = command<prm::query_flow_counter_in>(Opcode::QUERY_FLOW_COUNTER);
  const auto counter = driver_.run<prm::alloc_flow_counter_out>(
      command<prm::alloc_flow_counter_in>(Opcode::ALLOC_FLOW_COUNTER));
  in.put<"flow_counter_id">(counter.as<prm::alloc_flow_counter_out>().get<"flow_counter_id">());
  EXPECT_TRUE(driver_.execute(in.all(), prm::query_flow_counter_out::bytes + 5).ok());
}

}  // namespace
}  // namespace portcullis::model::testing
