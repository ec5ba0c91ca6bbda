// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/strangers.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace portcullis::service::daemon {
namespace {

class StrangersTest : public testing::Test {
 protected:
  /// As the port does it.
  void comes(const std::string& host) {
    if (const auto oldest = strangers.in_the_way_of(host)) strangers.remove(*oldest);
    strangers.add(host, next++);
  }
  void come(const std::string& host, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) comes(host);
  }

  Strangers strangers;
  ConnectionId next = 1;
};

TEST_F(StrangersTest, OneHostAlone_HasItsShareAndLosesItsOldest) {
  come("a", Strangers::kMostOfHost);
  EXPECT_EQ(strangers.in_the_way_of("a"), ConnectionId{1});
  EXPECT_EQ(strangers.in_the_way_of("b"), std::nullopt);
  come("a", 1000);
  EXPECT_EQ(strangers.size(), Strangers::kMostOfHost);
  EXPECT_EQ(strangers.in_the_way_of("a"), ConnectionId{1001});
}

TEST_F(StrangersTest, EveryPlaceTaken_TheHostWithMostLosesItsOldest) {
  comes("quiet");
  for (int i = 0; i < 100; ++i) come("loud" + std::to_string(i % 8), 16);
  EXPECT_EQ(strangers.size(), Strangers::kMost);
  EXPECT_NE(strangers.in_the_way_of("new"), ConnectionId{1});
}

TEST_F(StrangersTest, WhoIsNoStrangerAnyMore_LeavesItsPlace) {
  come("a", Strangers::kMostOfHost);
  strangers.remove(1);
  strangers.remove(1);
  EXPECT_EQ(strangers.in_the_way_of("a"), std::nullopt);
  EXPECT_EQ(strangers.size(), Strangers::kMostOfHost - 1);
}

TEST_F(StrangersTest, MoreInASecondThanAHostMay_TheRestWaitsForTheNext) {
  for (std::uint32_t i = 0; i < Strangers::kMostASecond; ++i)
    EXPECT_TRUE(strangers.may_begin("a", kNsPerSecond + i));
  EXPECT_FALSE(strangers.may_begin("a", 2 * kNsPerSecond - 1));
  EXPECT_TRUE(strangers.may_begin("b", 2 * kNsPerSecond - 1));
  EXPECT_TRUE(strangers.may_begin("a", 2 * kNsPerSecond));
}

}  // namespace
}  // namespace portcullis::service::daemon
