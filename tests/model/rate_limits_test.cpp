// SPDX-License-Identifier: BSD-3-Clause
//
// The table of rates by itself, and when a paced queue's frames may leave.
#include "model/ethernet/rate_limits.hpp"

#include <gtest/gtest.h>

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;

Verdict set(RateLimits& limits, std::uint32_t index, std::uint32_t kbps,
            std::uint32_t entries = RateLimits::kEntries) {
  prm::Buffer<prm::set_pp_rate_limit_in> in;
  in.put<"rate_limit_index">(index).put<"ctx.rate_limit">(kbps);
  in.set<"ctx.burst_upper_bound", 3000>();
  return limits.set(prm::ConstView<prm::set_pp_rate_limit_in>{in.all()}, entries);
}

TEST(RateTable, EntryThatIsSet_HasItsRateAndBurst) {
  RateLimits limits;
  ASSERT_TRUE(set(limits, 127, 100).ok());
  EXPECT_EQ(limits.at(127).kbps, 100U);
  EXPECT_EQ(limits.at(127).burst_bytes, 3000U);
}

TEST(RateTable, RateOfZero_FreesTheEntry) {
  RateLimits limits;
  ASSERT_TRUE(set(limits, 1, 100).ok());
  ASSERT_TRUE(set(limits, 1, 0).ok());
  EXPECT_EQ(limits.at(1).kbps, 0U);
  EXPECT_EQ(limits.at(1).burst_bytes, 0U);
}

TEST(RateTable, EntryZeroAndWhatIsPastTheTable_AreNoIndex) {
  RateLimits limits;
  EXPECT_EQ(set(limits, 0, 100).status, CommandStatus::IX_ERR);
  EXPECT_EQ(set(limits, 128, 100).status, CommandStatus::IX_ERR);
  EXPECT_EQ(set(limits, 16, 100, 16).status, CommandStatus::IX_ERR);
}

TEST(RateTable, RateAboveTheMost_IsBadParam) {
  RateLimits limits;
  EXPECT_EQ(set(limits, 1, RateLimits::kMostKbps + 1).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(set(limits, 1, RateLimits::kMostKbps).ok());
}

TEST(RateTable, QueueMayNameEntryZeroEvenWhereThereIsNoTable) {
  EXPECT_TRUE(RateLimits::check(0, 0).ok());
  EXPECT_EQ(RateLimits::check(1, 0).status, CommandStatus::IX_ERR);
}

// 121 bytes and the FCS are 1000 bits: a millisecond at 1000 kbit/s.
constexpr std::uint64_t kFrame = 121;
constexpr std::uint64_t kStepNs = 1'000'000;
constexpr RateLimit kMegabit{.kbps = 1000};

TEST(QueuePace, NextFrame_WaitsForTheTimeOfTheOneBefore) {
  QueuePace pace;
  EXPECT_EQ(pace.wait_until_ns(kMegabit, kFrame, 5), 0U);
  pace.spend(kMegabit, kFrame, 5);
  EXPECT_EQ(pace.wait_until_ns(kMegabit, kFrame, 5), 5 + kStepNs);
  EXPECT_EQ(pace.wait_until_ns(kMegabit, kFrame, 5 + kStepNs), 0U);
}

TEST(QueuePace, QueueThatWasIdle_SavesNothingUp) {
  QueuePace pace;
  pace.spend(kMegabit, kFrame, 0);
  pace.spend(kMegabit, kFrame, 50 * kStepNs);
  EXPECT_EQ(pace.wait_until_ns(kMegabit, kFrame, 50 * kStepNs), 51 * kStepNs);
}

TEST(QueuePace, QueueThatIsWokenLate_KeepsItsRate) {
  QueuePace pace;
  pace.spend(kMegabit, kFrame, 0);
  ASSERT_EQ(pace.wait_until_ns(kMegabit, kFrame, 0), kStepNs);
  pace.spend(kMegabit, kFrame, 4 * kStepNs);
  EXPECT_EQ(pace.wait_until_ns(kMegabit, kFrame, 4 * kStepNs), 0U);
  pace.spend(kMegabit, kFrame, 4 * kStepNs);
  EXPECT_EQ(pace.wait_until_ns(kMegabit, kFrame, 2 * kStepNs), 3 * kStepNs);
}

TEST(QueuePace, QueueThatIsWokenMuchTooLate_DoesNotMakeUpForIt) {
  QueuePace pace;
  pace.spend(kMegabit, kFrame, 0);
  ASSERT_EQ(pace.wait_until_ns(kMegabit, kFrame, 0), kStepNs);
  pace.spend(kMegabit, kFrame, 50 * kStepNs);
  EXPECT_EQ(pace.wait_until_ns(kMegabit, kFrame, 50 * kStepNs), 51 * kStepNs);
}

TEST(QueuePace, Burst_LeavesAtOnceAndIsPaidFor) {
  const RateLimit limit{.kbps = 1000, .burst_bytes = 3 * (kFrame + 4)};
  QueuePace pace;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(pace.wait_until_ns(limit, kFrame, 0), 0U);
    pace.spend(limit, kFrame, 0);
  }
  EXPECT_EQ(pace.wait_until_ns(limit, kFrame, 0), kStepNs);
}

// 7 kbit/s: one frame's time is no whole number of nanoseconds.
TEST(QueuePace, RateThatDividesNothing_DoesNotDrift) {
  const RateLimit limit{.kbps = 7};
  QueuePace pace;
  std::uint64_t now_ns = 0;
  for (int i = 0; i < 7; ++i) {
    pace.spend(limit, kFrame, now_ns);
    now_ns = pace.wait_until_ns(limit, kFrame, now_ns);
  }
  EXPECT_EQ(now_ns, 1000 * kStepNs);
}

TEST(QueuePace, NoLimit_NeverWaits) {
  QueuePace pace;
  pace.spend({}, kFrame, 0);
  EXPECT_EQ(pace.wait_until_ns({}, kFrame, 0), 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
