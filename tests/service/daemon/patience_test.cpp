// SPDX-License-Identifier: BSD-3-Clause
//
// An end that gets on is waited for, one that stands still is not.
#include "service/daemon/patience.hpp"

#include <gtest/gtest.h>

namespace portcullis::service::daemon {
namespace {

class PatienceTest : public testing::Test {
 protected:
  static std::uint64_t now(const void* test) noexcept {
    return static_cast<const PatienceTest*>(test)->now_ns;
  }
  /// Whether it is over where so many are left after so many seconds more.
  bool is_over_after(std::uint64_t seconds, std::size_t left) {
    now_ns += seconds * kNsPerSecond;
    return patience.is_over(left);
  }

  std::uint64_t now_ns = 5 * kNsPerSecond;
  Patience patience{{.still_ns = 10 * kNsPerSecond, .most_ns = 60 * kNsPerSecond},
                    Clock::simulated(&PatienceTest::now, this)};
};

TEST_F(PatienceTest, EndThatGetsOn_IsWaitedForLongerThanOneThatDoesNot) {
  EXPECT_FALSE(is_over_after(9, 300));
  EXPECT_FALSE(is_over_after(9, 200));
  EXPECT_FALSE(is_over_after(9, 100));
}

TEST_F(PatienceTest, EndThatStandsStill_IsOver) {
  EXPECT_FALSE(is_over_after(1, 300));
  EXPECT_FALSE(is_over_after(9, 300));
  EXPECT_TRUE(is_over_after(1, 300));
}

TEST_F(PatienceTest, EndThatHasMoreAndMoreLeft_StandsStill) {
  EXPECT_FALSE(is_over_after(1, 300));
  EXPECT_FALSE(is_over_after(5, 400));
  EXPECT_TRUE(is_over_after(5, 350));
}

TEST_F(PatienceTest, EndThatGetsOnSlowly_IsOverInTheEnd) {
  EXPECT_FALSE(is_over_after(9, 6));
  EXPECT_FALSE(is_over_after(9, 5));
  EXPECT_FALSE(is_over_after(9, 4));
  EXPECT_FALSE(is_over_after(9, 3));
  EXPECT_FALSE(is_over_after(9, 2));
  EXPECT_FALSE(is_over_after(9, 1));
  EXPECT_TRUE(is_over_after(9, 0));
}

}  // namespace
}  // namespace portcullis::service::daemon
