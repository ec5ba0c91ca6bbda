// SPDX-License-Identifier: BSD-3-Clause
//
// Who is fenced next and how many at once: the order of those that wait, who left meanwhile, who
// may not be parted, and what the pace of the last ones says of the next.
#include "lease/fence_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/clock.hpp"

namespace portcullis::lease {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kMs = kNsPerMs;

class FenceQueueTest : public ::testing::Test {
 protected:
  static std::vector<Lease> leases(std::uint32_t first, std::uint32_t count) {
    std::vector<Lease> made;
    for (std::uint32_t slot = first; slot < first + count; ++slot) made.push_back({slot, 1, slot});
    return made;
  }
  std::vector<std::uint32_t> take(std::size_t most) {
    return queue.take(
        most, [this](const Lease& lease) { return !gone.contains(lease.slot); },
        [this](std::uint32_t a, std::uint32_t b) { return tied.contains(a) && tied.contains(b); });
  }

  FenceQueue queue;
  std::set<std::uint32_t> gone;
  std::set<std::uint32_t> tied;
};

TEST_F(FenceQueueTest, Batches_InTheirOrderAndNeverMixed) {
  queue.add(seed_plan(), leases(0, 3));
  queue.add(nak_first_plan(), leases(3, 2));
  EXPECT_EQ(queue.size(), 5u);
  EXPECT_THAT(take(2), ElementsAre(0, 1));
  EXPECT_THAT(take(2), ElementsAre(2));
  EXPECT_EQ(queue.plan().name, nak_first_plan().name);
  EXPECT_THAT(take(9), ElementsAre(3, 4));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.size(), 0u);
}

TEST_F(FenceQueueTest, WhoLeftMeanwhile_IsPassedOver) {
  queue.add(seed_plan(), leases(0, 5));
  gone = {0, 2, 3};
  EXPECT_THAT(take(2), ElementsAre(1, 4));
  EXPECT_THAT(take(2), IsEmpty());
  EXPECT_TRUE(queue.empty());
}

TEST_F(FenceQueueTest, WhoAsksAgainAndAgain_IsCountedOnce) {
  queue.add(seed_plan(), leases(0, 3));
  for (int i = 0; i < 5; ++i) {
    queue.leave();
    queue.drop_gone([](const Lease& lease) { return lease.slot != 0; });
    queue.add(seed_plan(), leases(0, 1));
    EXPECT_EQ(queue.size(), 3u);
  }
  EXPECT_THAT(take(9), ElementsAre(1, 2));
  EXPECT_THAT(take(9), ElementsAre(0));
  gone = {0};
  EXPECT_THAT(take(9), IsEmpty());
  EXPECT_EQ(queue.size(), 0u);
}

TEST_F(FenceQueueTest, WhoMayNotBeParted_GoesBeyondTheMost) {
  queue.add(indirect_plan(), leases(0, 6));
  tied = {1, 2, 3};
  EXPECT_THAT(take(2), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(take(2), ElementsAre(4, 5));
}

TEST_F(FenceQueueTest, Nobody_LeavesItEmpty) {
  queue.add(seed_plan(), {});
  EXPECT_TRUE(queue.empty());
  EXPECT_THAT(take(1), IsEmpty());
}

TEST(FencePace, NothingKnown_TheFirstSize) { EXPECT_EQ(FencePace(8, 256).size_for(kMs), 8u); }

TEST(FencePace, SlowDevice_AsManyAsFitAndOneAtLeast) {
  FencePace pace(8, 256);
  pace.note(8, 80 * kMs);
  EXPECT_EQ(pace.size_for(30 * kMs), 3u);
  EXPECT_EQ(pace.size_for(0), 1u);
}

TEST(FencePace, FastDevice_FourTimesAsManyUpToTheMost) {
  FencePace pace(8, 100);
  pace.note(8, 0);
  EXPECT_EQ(pace.size_for(20 * kMs), 32u);
  pace.note(32, 1);
  EXPECT_EQ(pace.size_for(20 * kMs), 100u);
}

TEST(FencePace, OneAlone_SaysLittleOfMany) {
  FencePace pace(256, 1024);
  pace.note(1, 2 * kMs);
  EXPECT_EQ(pace.size_for(200 * kMs), 256u);
}

TEST(FencePace, SlowOnce_FastAgainByAndBy) {
  FencePace pace(8, 8);
  pace.note(8, 800 * kMs);
  for (int i = 0; i < 40; ++i) pace.note(1, 1 * kMs);
  EXPECT_GE(pace.size_for(20 * kMs), 8u);
}

}  // namespace
}  // namespace portcullis::lease
