// SPDX-License-Identifier: BSD-3-Clause
//
// Packet pacing by commands and doorbells, on the model's virtual clock: what a function offers,
// and what leaves a queue by when.
#include <gtest/gtest.h>

#include <algorithm>

#include "prm/ethernet_commands.hpp"
#include "prm/pacing_commands.hpp"
#include "prm/port_commands.hpp"
#include "tests/model/mini_driver.hpp"
#include "tests/model/small_send_queue.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;
using prm::SqState;

constexpr std::uint16_t kPort = 8;
constexpr std::uint32_t kEntry = 5;
/// A frame of 60 bytes and its FCS are 512 bits: a millisecond at this rate.
constexpr std::uint32_t kKbps = 512;

class Pacing : public ::testing::Test {
 protected:
  Pacing() { driver_.bring_up(); }

  CommandStatus set_rate(std::uint32_t index, std::uint32_t kbps, std::uint32_t burst_bytes = 0) {
    auto in = command<prm::set_pp_rate_limit_in>(Opcode::SET_PP_RATE_LIMIT);
    in.put<"rate_limit_index">(index).put<"ctx.rate_limit">(kbps);
    in.put<"ctx.burst_upper_bound">(burst_bytes);
    return driver_.run<prm::set_pp_rate_limit_out>(in).status;
  }
  static void post(SmallSendQueue& queue, int frames) {
    for (int i = 0; i < frames; ++i) queue.post(kPort);
  }
  /// Frames that left by then, of all queues.
  [[nodiscard]] std::uint64_t sent_after(std::uint64_t ns) {
    driver_.pass(ns);
    return driver_.model().counters().frames_sent;
  }
  static prm::Buffer<prm::qos_cap> page_of(MiniDriver& driver) {
    auto in = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
    in.put<"op_mod">(prm::cap_op_mod(prm::CapType::QOS, prm::CapMode::GET_CUR));
    const Answer answer = driver.run<prm::query_hca_cap_out>(in);
    prm::Buffer<prm::qos_cap> page;
    const auto bytes = answer.as<prm::query_hca_cap_out>().bytes<"capability">();
    std::copy_n(bytes.begin(), prm::qos_cap::bytes, page.all().begin());
    return page;
  }

  MiniDriver driver_{Options{.behaviours = {"eth-offloads"}}};
};

/// mlx5_init_rl_table of mlx5/core/rl.c says of it: 127 rates, from 0 to 97656 Mbps, as of cards.
TEST_F(Pacing, Page_OffersRatesAndNoTrees) {
  const auto page = page_of(driver_);
  EXPECT_EQ(page.get<"packet_pacing">(), 1U);
  EXPECT_EQ(page.get<"packet_pacing_uid">(), 1U);
  EXPECT_EQ(page.get<"packet_pacing_rate_table_size">() - 1, 127U);
  EXPECT_EQ(page.get<"packet_pacing_min_rate">() >> 10, 0U);
  EXPECT_EQ(page.get<"packet_pacing_max_rate">() >> 10, 97656U);
  EXPECT_EQ(page.get<"nic_sq_scheduling">() + page.get<"esw_scheduling">(), 0U);
}

TEST_F(Pacing, VirtualFunction_HasRatesToo) {
  MiniDriver driver{Options{.behaviours = {"eth-offloads"}, .virtual_function = true}};
  driver.bring_up();
  EXPECT_EQ(page_of(driver).get<"packet_pacing">(), 1U);
}

TEST_F(Pacing, FunctionWithoutThePage_HasNoEntries) {
  MiniDriver plain;
  plain.bring_up();
  auto in = command<prm::set_pp_rate_limit_in>(Opcode::SET_PP_RATE_LIMIT);
  in.set<"rate_limit_index", 1>().set<"ctx.rate_limit", 100>();
  EXPECT_EQ(plain.run<prm::set_pp_rate_limit_out>(in).status, CommandStatus::IX_ERR);
}

TEST_F(Pacing, QueueMadeWithARate_SendsAFrameAMillisecond) {
  ASSERT_EQ(set_rate(kEntry, kKbps), CommandStatus::OK);
  SmallSendQueue queue(driver_, kEntry);
  post(queue, 4);
  EXPECT_EQ(sent_after(kNsPerMs / 2), 1U);
  EXPECT_EQ(sent_after(kNsPerMs), 2U);
  EXPECT_EQ(sent_after(kNsPerMs), 3U);
  EXPECT_EQ(sent_after(kNsPerMs), 4U);
}

TEST_F(Pacing, Burst_LeavesAtOnce) {
  ASSERT_EQ(set_rate(kEntry, kKbps, 3 * 64), CommandStatus::OK);
  SmallSendQueue queue(driver_, kEntry);
  post(queue, 4);
  EXPECT_EQ(sent_after(kNsPerMs / 2), 3U);
  EXPECT_EQ(sent_after(kNsPerMs), 4U);
}

TEST_F(Pacing, QueueWithoutARate_IsNotHeldUpByOneThatHasOne) {
  ASSERT_EQ(set_rate(kEntry, kKbps), CommandStatus::OK);
  SmallSendQueue paced(driver_, kEntry);
  SmallSendQueue other(driver_);
  post(paced, 4);
  post(other, 4);
  EXPECT_EQ(sent_after(kNsPerMs / 2), 5U);
}

TEST_F(Pacing, RateTakenFromAQueueThatWaits_LetsItGo) {
  ASSERT_EQ(set_rate(kEntry, 1), CommandStatus::OK);
  SmallSendQueue queue(driver_, kEntry);
  post(queue, 4);
  ASSERT_EQ(sent_after(kNsPerMs / 2), 1U);
  ASSERT_TRUE(queue.change_rate(0).ok());
  EXPECT_EQ(sent_after(kNsPerMs / 2), 4U);
}

TEST_F(Pacing, RateGivenToAQueueThatIsReady_HoldsFromThenOn) {
  ASSERT_EQ(set_rate(kEntry, kKbps), CommandStatus::OK);
  SmallSendQueue queue(driver_);
  post(queue, 4);
  ASSERT_EQ(sent_after(kNsPerMs / 2), 4U);
  ASSERT_TRUE(queue.change_rate(kEntry).ok());
  post(queue, 4);
  EXPECT_EQ(sent_after(kNsPerMs / 2), 5U);
  EXPECT_EQ(sent_after(kNsPerMs), 6U);
}

/// mlx5e_set_sq_maxrate frees the entry before it tells the queue.
TEST_F(Pacing, EntryFreedUnderAQueueThatWaits_LetsItGo) {
  ASSERT_EQ(set_rate(kEntry, 1), CommandStatus::OK);
  SmallSendQueue queue(driver_, kEntry);
  post(queue, 4);
  ASSERT_EQ(sent_after(kNsPerMs / 2), 1U);
  ASSERT_EQ(set_rate(kEntry, 0), CommandStatus::OK);
  EXPECT_EQ(sent_after(kNsPerMs / 2), 4U);
}

/// mlx5e_health_sq_to_ready names no rate.
TEST_F(Pacing, QueueThatWasReset_KeepsItsRate) {
  ASSERT_EQ(set_rate(kEntry, kKbps), CommandStatus::OK);
  SmallSendQueue queue(driver_, kEntry);
  ASSERT_TRUE(queue.modify(SqState::RDY, SqState::RST).ok());
  ASSERT_TRUE(queue.modify(SqState::RST, SqState::RDY).ok());
  post(queue, 4);
  EXPECT_EQ(sent_after(kNsPerMs / 2), 1U);
}

TEST_F(Pacing, QueueThatNamesNoEntryOfTheTable_IsRefused) {
  SmallSendQueue queue(driver_);
  EXPECT_EQ(queue.change_rate(128).status, CommandStatus::IX_ERR);
  EXPECT_TRUE(queue.change_rate(127).ok());
}

TEST_F(Pacing, QueueThatIsDestroyedWhileItWaits_SendsNothingMore) {
  ASSERT_EQ(set_rate(kEntry, kKbps), CommandStatus::OK);
  SmallSendQueue queue(driver_, kEntry);
  post(queue, 4);
  ASSERT_EQ(sent_after(kNsPerMs / 2), 1U);
  auto in = command<prm::destroy_sq_in>(Opcode::DESTROY_SQ);
  ASSERT_TRUE(driver_.run<prm::destroy_sq_out>(in.put<"sqn">(queue.number())).ok());
  EXPECT_EQ(sent_after(5 * kNsPerMs), 1U);
}

}  // namespace
}  // namespace portcullis::model::testing
