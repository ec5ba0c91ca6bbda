// SPDX-License-Identifier: BSD-3-Clause
//
// How long commands take, in which order they end, and every fault that a test can inject.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "prm/signature.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::DeliveryStatus;
using prm::Opcode;
using Kind = CommandFaultRule::Kind;

constexpr std::uint16_t kAllocPd = prm::number(Opcode::ALLOC_PD);

Answer alloc_pd(MiniDriver& driver) {
  return driver.run<prm::alloc_pd_out>(command<prm::alloc_pd_in>(Opcode::ALLOC_PD));
}

/// Virtual time from doorbell to answer.
std::uint64_t time_of(MiniDriver& driver, Opcode opcode) {
  auto in = command<prm::destroy_mkey_in>(opcode);
  const Posted posted = driver.lay_out(0, in.all(), prm::destroy_mkey_out::bytes);
  driver.hand_over(posted);
  const std::uint64_t before = driver.device().clock.now_ns();
  driver.ring(0);
  EXPECT_TRUE(driver.await(posted).returned);
  return driver.device().clock.now_ns() - before;
}

/// PD numbers by slot, of one ALLOC_PD in each of eight slots rung together: the order they ran in.
std::vector<std::uint32_t> order_of(std::uint64_t seed) {
  MiniDriver driver({.seed = seed});
  driver.bring_up();
  std::vector<Posted> posted;
  for (std::uint32_t slot = 0; slot < 8; ++slot)
    posted.push_back(driver.lay_out(slot, command<prm::alloc_pd_in>(Opcode::ALLOC_PD).all(),
                                    prm::alloc_pd_out::bytes));
  for (const Posted& p : posted) driver.hand_over(p);
  driver.ring_vector(0xff);
  std::vector<std::uint32_t> order;
  for (const Posted& p : posted)
    order.push_back(driver.await(p).as<prm::alloc_pd_out>().get<"pd">());
  return order;
}

TEST(CommandTiming, Instant_TakesNoDeviceTime) {
  MiniDriver driver;
  driver.bring_up();
  EXPECT_EQ(time_of(driver, Opcode::DESTROY_MKEY), 0U);
}

TEST(CommandTiming, ConnectX5_SharesTheMeasuredSumsEvenly) {
  MiniDriver driver({.timing = "cx5-16.35.4506"});
  driver.bring_up();
  EXPECT_EQ(time_of(driver, Opcode::QP_2ERR), 750 * kNsPerUs);
  EXPECT_EQ(time_of(driver, Opcode::DESTROY_MKEY), 750 * kNsPerUs);
  EXPECT_EQ(time_of(driver, Opcode::SET_FLOW_TABLE_ENTRY), 10'500 * kNsPerUs);
}

TEST(CommandTiming, SlotsRungTogether_WorkSideBySide) {
  MiniDriver driver({.timing = "cx5-16.35.4506"});
  driver.bring_up();
  const auto in = command<prm::alloc_pd_in>(Opcode::ALLOC_PD);
  const Posted a = driver.lay_out(1, in.all(), prm::alloc_pd_out::bytes);
  const Posted b = driver.lay_out(2, in.all(), prm::alloc_pd_out::bytes);
  driver.hand_over(a);
  driver.hand_over(b);
  const std::uint64_t before = driver.device().clock.now_ns();
  driver.ring_vector(6);
  EXPECT_TRUE(driver.await(a).ok());
  EXPECT_TRUE(driver.await(b).ok());
  EXPECT_EQ(driver.device().clock.now_ns() - before, 750 * kNsPerUs);
}

TEST(CommandTiming, CommandInFlight_IsCounted) {
  MiniDriver driver({.timing = "cx5-16.35.4506"});
  driver.bring_up();
  const Posted posted = driver.lay_out(1, command<prm::alloc_pd_in>(Opcode::ALLOC_PD).all(),
                                       prm::alloc_pd_out::bytes);
  driver.hand_over(posted);
  driver.ring(1);
  driver.pass(1);
  EXPECT_EQ(driver.model().census().commands_in_flight, 1U);
  EXPECT_EQ(driver.model().census().pds, 0U);
  EXPECT_TRUE(driver.await(posted).ok());
  EXPECT_EQ(driver.model().census().commands_in_flight, 0U);
}

TEST(CommandOrder, SameSeed_SameOrder) { EXPECT_EQ(order_of(3), order_of(3)); }

TEST(CommandOrder, SomeSeed_IsNotProgramOrder) {
  const std::vector<std::uint32_t> one = order_of(3);
  const std::vector<std::uint32_t> two = order_of(4);
  EXPECT_NE(one, two);
  EXPECT_FALSE(std::ranges::is_sorted(one) && std::ranges::is_sorted(two));
}

class CommandFault : public ::testing::Test {
 protected:
  CommandFault() { driver_.bring_up(); }
  std::uint64_t pds() { return driver_.model().census().pds; }
  MiniDriver driver_;
};

TEST_F(CommandFault, Status_IsAnsweredAndNothingIsDone) {
  driver_.model().inject({.opcode = kAllocPd, .status = 0x0f, .syndrome = 0xabc});
  const Answer answer = alloc_pd(driver_);
  EXPECT_EQ(answer.status, CommandStatus::NO_RES_ERR);
  EXPECT_EQ(answer.syndrome, 0xabcU);
  EXPECT_EQ(pds(), 0U);
  EXPECT_TRUE(alloc_pd(driver_).ok());
}

TEST_F(CommandFault, StatusAfter_IsAnsweredAndTheWorkIsDone) {
  driver_.model().inject({.opcode = kAllocPd, .kind = Kind::StatusAfter, .status = 1});
  EXPECT_EQ(alloc_pd(driver_).status, CommandStatus::INT_ERR);
  EXPECT_EQ(pds(), 1U);
}

TEST_F(CommandFault, Delivery_GivesTheSlotBackUndone) {
  driver_.model().inject({.opcode = kAllocPd, .kind = Kind::DeliveryStatus, .status = 6});
  EXPECT_EQ(alloc_pd(driver_).delivery, DeliveryStatus::FW_ERR);
  EXPECT_EQ(pds(), 0U);
}

TEST_F(CommandFault, NeverReturns_KeepsTheSlotAndTheOthersWork) {
  driver_.model().inject({.opcode = kAllocPd, .kind = Kind::NeverReturns});
  const auto in = command<prm::alloc_pd_in>(Opcode::ALLOC_PD);
  const Posted lost = driver_.lay_out(4, in.all(), prm::alloc_pd_out::bytes);
  driver_.hand_over(lost);
  driver_.ring(4);
  EXPECT_FALSE(driver_.await(lost).returned);
  EXPECT_TRUE(alloc_pd(driver_).ok());
  EXPECT_EQ(driver_.model().census().commands_in_flight, 1U);
}

TEST_F(CommandFault, Delay_ComesOnTop) {
  driver_.model().inject(
      {.opcode = prm::number(Opcode::DESTROY_MKEY), .kind = Kind::Delay, .delay_ns = 5000});
  EXPECT_EQ(time_of(driver_, Opcode::DESTROY_MKEY), 5000U);
}

TEST_F(CommandFault, BadSignature_SpoilsTheEntry) {
  driver_.model().inject({.opcode = kAllocPd, .kind = Kind::BadSignature});
  const Posted posted = driver_.lay_out(0, command<prm::alloc_pd_in>(Opcode::ALLOC_PD).all(),
                                        prm::alloc_pd_out::bytes);
  driver_.hand_over(posted);
  driver_.ring(0);
  EXPECT_TRUE(driver_.await(posted).ok());
  EXPECT_FALSE(prm::entry_signature_is_valid(posted.view()));
}

TEST_F(CommandFault, BadSignature_SpoilsABlock) {
  driver_.model().inject({.kind = Kind::BadSignature});
  const Posted posted =
      driver_.lay_out(0, command<prm::query_adapter_in>(Opcode::QUERY_ADAPTER).all(),
                      prm::query_adapter_out::bytes);
  driver_.hand_over(posted);
  driver_.ring(0);
  EXPECT_TRUE(driver_.await(posted).ok());
  EXPECT_FALSE(prm::block_signature_is_valid(posted.out_block(0)));
}

TEST_F(CommandFault, Nth_MeetsThatOneAlone) {
  driver_.model().inject({.opcode = kAllocPd, .status = 1, .nth = 3});
  EXPECT_TRUE(alloc_pd(driver_).ok());
  EXPECT_NE(driver_.alloc_uar(), 0U);
  EXPECT_TRUE(alloc_pd(driver_).ok());
  EXPECT_EQ(alloc_pd(driver_).status, CommandStatus::INT_ERR);
  EXPECT_TRUE(alloc_pd(driver_).ok());
}

TEST_F(CommandFault, Repeat_MeetsEveryOneFromThenOn) {
  driver_.model().inject({.opcode = kAllocPd, .status = 1, .nth = 2, .repeat = true});
  EXPECT_TRUE(alloc_pd(driver_).ok());
  EXPECT_EQ(alloc_pd(driver_).status, CommandStatus::INT_ERR);
  EXPECT_EQ(alloc_pd(driver_).status, CommandStatus::INT_ERR);
}

TEST_F(CommandFault, TwoRulesForOneOpcode_AreMetOneAfterTheOther) {
  driver_.model().inject({.opcode = kAllocPd, .status = 1});
  driver_.model().inject({.opcode = kAllocPd, .status = 3});
  EXPECT_EQ(alloc_pd(driver_).status, CommandStatus::INT_ERR);
  EXPECT_EQ(alloc_pd(driver_).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(alloc_pd(driver_).ok());
}

TEST_F(CommandFault, OpcodeZero_MeetsTheNextCommandWhateverItIs) {
  driver_.model().inject({.status = 1});
  EXPECT_EQ(alloc_pd(driver_).status, CommandStatus::INT_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
