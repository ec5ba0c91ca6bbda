// SPDX-License-Identifier: BSD-3-Clause
//
// The reset that loads the firmware again, as a driver's commands see it: who is asked, who is
// answered when, and what is left.
#include <gtest/gtest.h>

#include <vector>

#include "model/firmware_reset.hpp"
#include "prm/management_registers.hpp"
#include "prm/object_commands.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;
using prm::ResetState;

constexpr std::uint32_t kStarterSlot = 1;  // 0 is that of every other command

template <class L>
std::vector<std::byte> access(prm::ManagementRegisterId id, prm::AccessRegisterOpMod op_mod,
                              const prm::Buffer<L>& data) {
  auto in = command<prm::access_register_in>(Opcode::ACCESS_REG);
  in.template put<"op_mod">(op_mod).template put<"register_id">(prm::number(id));
  std::vector<std::byte> message(in.all().begin(), in.all().end());
  message.insert(message.end(), data.all().begin(), data.all().end());
  return message;
}

prm::Buffer<prm::mfrl_reg> level(prm::ResetLevel reset_level) {
  prm::Buffer<prm::mfrl_reg> data;
  data.put<"reset_level">(reset_level);
  return data;
}

constexpr std::size_t kOutBytes = prm::access_register_out::bytes + prm::mfrl_reg::bytes;

Answer mfrl(MiniDriver& driver, prm::AccessRegisterOpMod op_mod,
            const prm::Buffer<prm::mfrl_reg>& data) {
  return driver.execute(access(prm::ManagementRegisterId::MFRL, op_mod, data), kOutBytes);
}

Answer write(MiniDriver& driver, const prm::Buffer<prm::mfrl_reg>& data) {
  return mfrl(driver, prm::AccessRegisterOpMod::WRITE, data);
}

prm::Buffer<prm::mfrl_reg> read(MiniDriver& driver) {
  const Answer answer = mfrl(driver, prm::AccessRegisterOpMod::READ, {});
  EXPECT_TRUE(answer.ok());
  prm::Buffer<prm::mfrl_reg> data;
  std::ranges::copy(std::span(answer.out).subspan(prm::access_register_out::bytes),
                    data.all().begin());
  return data;
}

std::uint64_t state(MiniDriver& driver) { return read(driver).get<"reset_state">(); }

/// SET_HCA_CAP as handle_hca_cap of mlx5/core/main.c does, then everything up to INIT_HCA.
void bring_up_to_hear(MiniDriver& driver) {
  driver.bring_up_to_boot_pages();
  auto query = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
  query.put<"op_mod">(prm::cap_op_mod(prm::CapType::GENERAL, prm::CapMode::GET_CUR));
  const Answer now = driver.run<prm::query_hca_cap_out>(query);
  auto set = command<prm::set_hca_cap_in>(Opcode::SET_HCA_CAP);
  set.put<"op_mod">(prm::cap_op_mod(prm::CapType::GENERAL));
  std::ranges::copy(now.as<prm::query_hca_cap_out>().bytes<"capability">(),
                    set.bytes<"capability">().begin());
  prm::View<prm::cmd_hca_cap>::at(set.bytes<"capability">())
      .set<"pci_sync_for_fw_update_event", 1>();
  ASSERT_TRUE(driver.run<prm::set_hca_cap_out>(set).ok());
  ASSERT_TRUE(driver.give_pages(driver.pages_wanted(prm::QueryPagesOpMod::INIT_PAGES)).ok());
  ASSERT_TRUE(driver.run<prm::init_hca_out>(command<prm::init_hca_in>(Opcode::INIT_HCA)).ok());
}

class FirmwareResets : public ::testing::Test {
 protected:
  FirmwareResets() { bring_up_to_hear(driver_); }

  /// The command that starts, which is not answered yet.
  Posted start() {
    auto data = level(prm::ResetLevel::RESET_LEVEL3);
    data.set<"pci_sync_for_fw_update_start", 1>();
    Posted posted = driver_.lay_out(
        kStarterSlot,
        access(prm::ManagementRegisterId::MFRL, prm::AccessRegisterOpMod::WRITE, data), kOutBytes);
    driver_.hand_over(posted);
    driver_.ring(kStarterSlot);
    driver_.pass(kNsPerMs);
    return posted;
  }
  Answer respond(std::uint32_t response) {
    auto data = level(prm::ResetLevel::RESET_LEVEL3);
    static_cast<void>(
        prm::View<prm::mfrl_reg>::at(data.all()).try_set<"pci_sync_for_fw_update_resp">(response));
    return write(driver_, data);
  }
  void prepare_fast_teardown() {
    auto in = command<prm::teardown_hca_in>(Opcode::TEARDOWN_HCA);
    in.put<"profile">(prm::TeardownProfile::PREPARE_FAST_TEARDOWN);
    ASSERT_TRUE(driver_.run<prm::teardown_hca_out>(in).ok());
  }
  /// mlx5_set_nic_state: the rest of the register stays.
  void set_interface(prm::NicInterface interface) {
    const std::uint32_t now = driver_.registers().get<"cmdq_addr_l_sz">();
    driver_.registers().write<"cmdq_addr_l_sz">(
        prm::cmdq_addr_l_sz(prm::cmdq_addr_l(now), prm::number(interface)));
    driver_.pass(kNsPerMs);
  }

  MiniDriver driver_;
};

TEST_F(FirmwareResets, Register_OffersTheResetByThePciLinkAlone) {
  const auto now = read(driver_);
  EXPECT_EQ(now.get<"reset_level">(), 8U);
  EXPECT_EQ(now.get<"reset_type">(), 1U);
  EXPECT_EQ(now.get<"reset_state">(), prm::number(ResetState::IDLE));
}

TEST_F(FirmwareResets, LivePatch_IsRefused) {
  EXPECT_EQ(write(driver_, level(prm::ResetLevel::RESET_LEVEL0)).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(FirmwareResets, ResetWithoutAQuestion_IsRefused) {
  EXPECT_EQ(write(driver_, level(prm::ResetLevel::RESET_LEVEL3)).status,
            CommandStatus::BAD_PARAM_ERR);
}

/// Where mlx5_ifc_mcam_access_reg_bits of Linux 6.12 has mfrl, and mlx5_ifc_mcam_enhanced_
/// features_bits of 6.1 reset_state.
TEST_F(FirmwareResets, Register_IsListed) {
  const Answer answer =
      driver_.execute(access(prm::ManagementRegisterId::MCAM, prm::AccessRegisterOpMod::READ,
                             prm::Buffer<prm::mcam_reg>{}),
                      prm::access_register_out::bytes + prm::mcam_reg::bytes);
  ASSERT_TRUE(answer.ok());
  const auto data =
      prm::ConstView<prm::mcam_reg>::at(std::span(answer.out), prm::access_register_out::bytes);
  const auto registers = data.bytes<"mng_access_reg_cap_mask">();
  EXPECT_EQ(registers[0x57 / 8] >> (7 - 0x57 % 8) & std::byte{1}, std::byte{1});
  const auto features = data.bytes<"mng_feature_cap_mask">();
  EXPECT_EQ(features[0x6a / 8], std::byte{1} << (7 - 0x6a % 8));
}

TEST_F(FirmwareResets, OtherGroupsOfRegisters_AreEmpty) {
  prm::Buffer<prm::mcam_reg> asked;
  asked.set<"access_reg_group", 2>();
  const Answer answer = driver_.execute(
      access(prm::ManagementRegisterId::MCAM, prm::AccessRegisterOpMod::READ, asked),
      prm::access_register_out::bytes + prm::mcam_reg::bytes);
  const auto data =
      prm::ConstView<prm::mcam_reg>::at(std::span(answer.out), prm::access_register_out::bytes);
  const auto registers = data.bytes<"mng_access_reg_cap_mask">();
  EXPECT_EQ(std::ranges::count(registers, std::byte{0}), 16);
}

TEST_F(FirmwareResets, Start_AsksTheDriverAndIsNotAnsweredBefore) {
  EventQueue events(driver_, {prm::EventType::GENERAL_EVENT});
  const Posted starter = start();
  const auto event = events.poll();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->as<prm::mlx5_eqe_sync_fw_update>().get<"sync_rst_state">(),
            prm::number(prm::SyncResetState::RESET_REQUEST));
  EXPECT_FALSE(driver_.is_answered(starter));
  EXPECT_EQ(state(driver_), prm::number(ResetState::IN_NEGOTIATION));
}

TEST_F(FirmwareResets, Agreed_StartIsAnsweredBeforeTheResetIsSaidToBeNow) {
  EventQueue events(driver_, {prm::EventType::GENERAL_EVENT});
  const Posted starter = start();
  static_cast<void>(events.poll());
  EXPECT_TRUE(respond(prm::kResetAgreed).ok());
  EXPECT_TRUE(driver_.await(starter, FirmwareReset::kNowNs / 2).ok());
  EXPECT_FALSE(events.poll().has_value());
  driver_.pass(FirmwareReset::kNowNs);
  const auto event = events.poll();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->as<prm::mlx5_eqe_sync_fw_update>().get<"sync_rst_state">(),
            prm::number(prm::SyncResetState::RESET_NOW));
  EXPECT_EQ(state(driver_), prm::number(ResetState::RESET_IN_PROGRESS));
}

TEST_F(FirmwareResets, Refused_StartFailsAndTheStateSaysWhy) {
  EventQueue events(driver_, {prm::EventType::GENERAL_EVENT});
  const Posted starter = start();
  EXPECT_TRUE(respond(prm::kResetRefused).ok());
  EXPECT_EQ(driver_.await(starter).status, CommandStatus::BAD_SYS_STATE_ERR);
  EXPECT_EQ(state(driver_), prm::number(ResetState::NACK));
  static_cast<void>(events.poll());
  EXPECT_FALSE(events.poll().has_value());
}

TEST_F(FirmwareResets, Refused_AnotherMayBeStarted) {
  const EventQueue events(driver_, {prm::EventType::GENERAL_EVENT});
  const Posted first = start();
  ASSERT_TRUE(respond(prm::kResetRefused).ok());
  static_cast<void>(driver_.await(first));
  const Posted second = start();
  ASSERT_TRUE(respond(prm::kResetAgreed).ok());
  EXPECT_TRUE(driver_.await(second).ok());
}

TEST_F(FirmwareResets, DriverThatSaysNothing_StartFailsInTheEnd) {
  const EventQueue events(driver_, {prm::EventType::GENERAL_EVENT});
  const Posted starter = start();
  driver_.pass(FirmwareReset::kPatienceNs);
  EXPECT_EQ(driver_.await(starter).status, CommandStatus::BAD_SYS_STATE_ERR);
  EXPECT_EQ(state(driver_), prm::number(ResetState::NEG_TIMEOUT));
}

TEST_F(FirmwareResets, SecondStart_IsRefusedAndTheFirstGoesOn) {
  const EventQueue events(driver_, {prm::EventType::GENERAL_EVENT});
  const Posted starter = start();
  auto data = level(prm::ResetLevel::RESET_LEVEL3);
  data.set<"pci_sync_for_fw_update_start", 1>();
  EXPECT_EQ(write(driver_, data).status, CommandStatus::BAD_SYS_STATE_ERR);
  EXPECT_FALSE(driver_.is_answered(starter));
  EXPECT_TRUE(respond(prm::kResetAgreed).ok());
  EXPECT_TRUE(driver_.await(starter).ok());
}

TEST_F(FirmwareResets, AnswerThatNobodyAskedFor_IsRefused) {
  EXPECT_EQ(respond(prm::kResetAgreed).status, CommandStatus::BAD_SYS_STATE_ERR);
  EXPECT_EQ(state(driver_), prm::number(ResetState::IDLE));
}

TEST_F(FirmwareResets, NobodyWhoHears_StartIsRefused) {
  const Posted starter = start();
  EXPECT_EQ(driver_.await(starter).status, CommandStatus::BAD_SYS_STATE_ERR);
}

TEST_F(FirmwareResets, FunctionResetWhileItWaits_BeginsAnew) {
  const EventQueue events(driver_, {prm::EventType::GENERAL_EVENT});
  static_cast<void>(start());
  ASSERT_TRUE(respond(prm::kResetAgreed).ok());
  prepare_fast_teardown();
  set_interface(prm::NicInterface::DISABLED);
  ASSERT_TRUE(driver_.device().function->reset().has_value());
  bring_up_to_hear(driver_);
  EXPECT_EQ(state(driver_), prm::number(ResetState::IDLE));
}

TEST_F(FirmwareResets, FastTeardown_GoesOnUntilTheInterfaceIsDisabled) {
  ASSERT_NE(driver_.alloc_pd(), 0U);
  prepare_fast_teardown();
  EXPECT_EQ(driver_.model().census().pds, 1U);
  set_interface(prm::NicInterface::DISABLED);
  EXPECT_EQ(driver_.model().census().objects(), 0U);
  EXPECT_EQ(driver_.model().census().pages, 0U);
  EXPECT_EQ(driver_.model().counters().objects_at_teardown, 1U);
}

TEST_F(FirmwareResets, FastTeardown_LeavesAFunctionThatCanBeEnabledAgain) {
  prepare_fast_teardown();
  set_interface(prm::NicInterface::DISABLED);
  driver_.bring_up();
  EXPECT_NE(driver_.alloc_pd(), 0U);
}

TEST_F(FirmwareResets, InterfaceDisabledWithoutATeardown_KeepsItsObjects) {
  ASSERT_NE(driver_.alloc_pd(), 0U);
  set_interface(prm::NicInterface::DISABLED);
  EXPECT_EQ(driver_.model().census().pds, 1U);
}

TEST(FirmwareReset, DriverThatDidNotAskToHear_StartIsRefused) {
  MiniDriver driver;
  driver.bring_up();
  const EventQueue events(driver, {prm::EventType::GENERAL_EVENT});
  auto data = level(prm::ResetLevel::RESET_LEVEL3);
  data.set<"pci_sync_for_fw_update_start", 1>();
  EXPECT_EQ(write(driver, data).status, CommandStatus::BAD_PARAM_ERR);
}

TEST(FirmwareReset, VirtualFunction_HasNoSuchRegister) {
  MiniDriver driver({.virtual_function = true});
  driver.bring_up();
  EXPECT_EQ(mfrl(driver, prm::AccessRegisterOpMod::READ, {}).status, CommandStatus::BAD_PARAM_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
