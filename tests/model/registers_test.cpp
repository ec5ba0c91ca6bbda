// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cells.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kAllOnes = 0xffffffff;

TEST(Registers, PowerOn_ShowsRevisionAndQueueSizes) {
  const MiniDriver driver;
  EXPECT_EQ(driver.registers().get<"fw_rev">(), 35U << 16 | 16U);
  EXPECT_EQ(driver.registers().get<"cmdif_rev_fw_sub">(), 5U << 16 | 4506U);
  const auto sizes = driver.registers().get<"cmdq_addr_l_sz">();
  EXPECT_EQ(prm::log_cmdq_size(sizes), 5U);
  EXPECT_EQ(prm::log_cmdq_stride(sizes), 6U);
  EXPECT_EQ(driver.device().bar.size(), std::size_t{32} << 20);
}

TEST(Registers, Initializing_ClearsOnlyWhenTheModelIsStepped) {
  MiniDriver driver;
  EXPECT_EQ(driver.registers().get<"initializing">(), prm::kInitializing);
  driver.pass(1);
  EXPECT_EQ(driver.registers().get<"initializing">(), 0U);
}

TEST(Registers, SlowInit_TakesThreeSeconds) {
  MiniDriver driver({.behaviours = {"slow-init"}});
  driver.pass(3 * kNsPerSecond - 1);
  EXPECT_EQ(driver.registers().get<"initializing">(), prm::kInitializing);
  driver.pass(1);
  driver.pass(1);
  EXPECT_EQ(driver.registers().get<"initializing">(), 0U);
}

TEST(Registers, NeverReady_StaysInitializing) {
  MiniDriver driver({.behaviours = {"never-ready"}});
  driver.pass(3600 * kNsPerSecond);
  EXPECT_EQ(driver.registers().get<"initializing">(), prm::kInitializing);
}

TEST(Registers, CmdifRev6_IsShown) {
  const MiniDriver driver({.behaviours = {"cmdif-rev-6"}});
  EXPECT_EQ(driver.registers().get<"cmdif_rev_fw_sub">() >> 16, 6U);
}

TEST(Registers, QueueAddress_IsKeptAndItsSizesComeBack) {
  MiniDriver driver;
  driver.registers().write<"cmdq_addr_h">(0x12);
  driver.registers().write<"cmdq_addr_l_sz">(0x345'6000);
  driver.pass(1);
  EXPECT_EQ(driver.registers().get<"cmdq_addr_h">(), 0x12U);
  EXPECT_EQ(driver.registers().get<"cmdq_addr_l_sz">(), 0x345'6056U);
}

TEST(Registers, StoreToAReadOnlyRegister_DoesNotLast) {
  MiniDriver driver;
  cells::ring<std::uint32_t>(driver.registers().cell<"fw_rev">(), kAllOnes);
  driver.pass(kNsPerMs);
  driver.pass(1);
  EXPECT_EQ(driver.registers().get<"fw_rev">(), 35U << 16 | 16U);
}

TEST(Registers, HealthCounterAndTimer_Move) {
  MiniDriver driver;
  driver.pass(kNsPerMs);
  const auto counter = driver.registers().get<"health_counter">();
  const auto timer = driver.registers().get<"internal_timer_l">();
  driver.pass(kNsPerSecond);
  EXPECT_NE(driver.registers().get<"health_counter">(), counter);
  EXPECT_EQ(driver.registers().get<"internal_timer_l">() - timer, 156'250'000U);
}

TEST(Registers, FrozenHealthCounter_StandsStillWhileTheTimerRuns) {
  MiniDriver driver;
  driver.pass(kNsPerSecond);
  driver.model().freeze_health_counter();
  const auto counter = driver.registers().get<"health_counter">();
  const auto timer = driver.registers().get<"internal_timer_l">();
  driver.pass(10 * kNsPerSecond);
  EXPECT_EQ(driver.registers().get<"health_counter">(), counter);
  EXPECT_NE(driver.registers().get<"internal_timer_l">(), timer);
}

TEST(Registers, HealthSyndrome_AsksForResetAndCommandsAreStillAnswered) {
  MiniDriver driver;
  driver.program_queue();
  driver.model().set_health_syndrome(prm::number(prm::HealthSyndrome::FW_INTERNAL_ERR));
  EXPECT_EQ(driver.registers().get<"health.synd">(), 1U);
  EXPECT_EQ(driver.registers().get<"health.rfr_severity">() & prm::kRfr, prm::kRfr);
  EXPECT_TRUE(driver.enable().ok());
}

TEST(Registers, InternalErrorAtTheSecondFence_NothingIsAnsweredFromThereOnUntilAReset) {
  MiniDriver driver({.behaviours = {"internal-error=2"}});
  driver.bring_up();
  const auto fence = command<prm::qp_2err_in>(prm::Opcode::QP_2ERR);
  const auto query = command<prm::query_issi_in>(prm::Opcode::QUERY_ISSI);
  const Posted first = driver.lay_out(0, fence.all(), prm::qp_2err_out::bytes);
  driver.hand_over(first);
  driver.ring(0);
  EXPECT_TRUE(driver.await(first).returned);
  EXPECT_EQ(driver.registers().get<"health.synd">(), 0U);

  const Posted second = driver.lay_out(1, fence.all(), prm::qp_2err_out::bytes);
  driver.hand_over(second);
  driver.ring(1);
  EXPECT_FALSE(driver.await(second).returned);
  EXPECT_EQ(driver.registers().get<"health.synd">(),
            prm::number(prm::HealthSyndrome::FW_INTERNAL_ERR));
  const Posted later = driver.lay_out(2, query.all(), prm::query_issi_out::bytes);
  driver.hand_over(later);
  driver.ring(2);
  EXPECT_FALSE(driver.await(later).returned);

  ASSERT_TRUE(driver.device().function->reset().has_value());
  driver.pass(kNsPerSecond);
  driver.bring_up();
  EXPECT_EQ(driver.registers().get<"health.synd">(), 0U);
}

TEST(Registers, SurpriseRemoval_ReadsAllOnesForEver) {
  MiniDriver driver;
  driver.bring_up();
  const std::uint32_t uar = driver.alloc_uar();
  driver.model().surprise_remove();
  driver.registers().write<"cmd_dbell">(1);
  driver.pass(kNsPerSecond);
  EXPECT_EQ(driver.registers().get<"cmd_dbell">(), kAllOnes);
  EXPECT_EQ(driver.registers().get<"health_counter">(), kAllOnes);
  EXPECT_EQ(driver.device().bar[std::size_t{uar} * kPageBytes], std::byte{0xff});
  EXPECT_EQ(driver.device().function->reset().error().code, Errc::DeviceGone);
  EXPECT_EQ(driver.model().census().objects(), 0U);
}

TEST(Registers, SurpriseRemoval_AnswersNothing) {
  MiniDriver driver;
  driver.program_queue();
  const auto in = command<prm::enable_hca_in>(prm::Opcode::ENABLE_HCA);
  const Posted posted = driver.lay_out(0, in.all(), prm::enable_hca_out::bytes);
  driver.hand_over(posted);
  driver.model().surprise_remove();
  driver.ring(0);
  EXPECT_FALSE(driver.await(posted).returned);
}

TEST(Function, Ids_AreThoseOfAConnectX5) {
  MiniDriver pf;
  MiniDriver vf({.virtual_function = true});
  EXPECT_EQ(pf.device().function->vendor_id(), 0x15b3);
  EXPECT_EQ(pf.device().function->device_id(), 0x1017);
  EXPECT_EQ(vf.device().function->device_id(), 0x1018);
}

TEST(Function, Reset_ReturnsEverythingToPowerOn) {
  MiniDriver driver;
  driver.bring_up();
  static_cast<void>(driver.alloc_uar());
  driver.model().set_health_syndrome(1);
  ASSERT_TRUE(driver.device().function->reset().has_value());
  EXPECT_EQ(driver.registers().get<"initializing">(), prm::kInitializing);
  EXPECT_EQ(driver.registers().get<"cmdq_addr_h">(), 0U);
  EXPECT_EQ(driver.registers().get<"health.synd">(), 0U);
  EXPECT_EQ(driver.model().census().objects(), 0U);
  EXPECT_EQ(driver.model().census().pages, 0U);
}

TEST(Function, Reset_CanBeFollowedByAnotherBringUp) {
  MiniDriver driver;
  driver.bring_up();
  ASSERT_TRUE(driver.device().function->reset().has_value());
  driver.bring_up();
  EXPECT_NE(driver.alloc_uar(), 0U);
}

TEST(Function, Reset_ForgetsACommandInFlight) {
  MiniDriver driver({.timing = "cx5-16.35.4506"});
  driver.program_queue();
  const auto in = command<prm::enable_hca_in>(prm::Opcode::ENABLE_HCA);
  const Posted posted = driver.lay_out(0, in.all(), prm::enable_hca_out::bytes);
  driver.hand_over(posted);
  driver.ring(0);
  driver.pass(kNsPerUs);
  EXPECT_EQ(driver.model().census().commands_in_flight, 1U);
  ASSERT_TRUE(driver.device().function->reset().has_value());
  ASSERT_TRUE(driver.device().function->set_bus_master(true).has_value());
  EXPECT_FALSE(driver.await(posted).returned);
  EXPECT_EQ(driver.model().census().commands_in_flight, 0U);
}

TEST(ModelCreate, UnknownTiming_NamesItAndThoseAccepted) {
  const auto error = Model::create({.timing = "fast"}).error();
  EXPECT_EQ(error.code, Errc::InvalidArgument);
  EXPECT_EQ(error.text, "unknown timing 'fast'; accepted: instant, cx5-16.35.4506");
}

TEST(ModelCreate, UnknownBehaviour_NamesItAndThoseAccepted) {
  const auto error = Model::create({.behaviours = {"slow-init", "magic"}}).error();
  EXPECT_EQ(error.code, Errc::InvalidArgument);
  EXPECT_THAT(error.text, ::testing::StartsWith("unknown behaviour 'magic'; accepted: "));
  EXPECT_THAT(error.text, ::testing::HasSubstr("page-starved"));
}

TEST(ModelCreate, Description_SaysTimingAndWhatIsAssumed) {
  const MiniDriver driver({.timing = "cx5-16.35.4506", .behaviours = {"slow-init"}});
  EXPECT_THAT(driver.device().description, ::testing::StartsWith("model (timing=cx5-16.35.4506: "));
  EXPECT_THAT(driver.device().description, ::testing::HasSubstr("assumed"));
  EXPECT_THAT(driver.device().description,
              ::testing::HasSubstr("behaviours=slow-init=3000+rdma-rx-in-path+"));
}

}  // namespace
}  // namespace portcullis::model::testing
