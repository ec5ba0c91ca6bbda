// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/strangers.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace portcullis::service::daemon {
namespace {

class StrangersTest : public testing::Test {
 protected:
  /// As the port does it.
  bool comes(const std::string& host) {
    const auto place = strangers.place_for(host, now_ns);
    if (place.instead_of) strangers.remove(*place.instead_of);
    if (place.is_there) strangers.add(host, next++, now_ns);
    return place.is_there;
  }
  std::size_t come(const std::string& host, std::size_t count) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) found += comes(host) ? 1 : 0;
    return found;
  }

  Strangers strangers;
  ConnectionId next = 1;
  std::uint64_t now_ns = kNsPerSecond;
};

TEST_F(StrangersTest, OneHostAtOnce_HasItsShareAndTheRestAsksAgain) {
  EXPECT_EQ(come("a", 1000), Strangers::kMostOfHost);
  EXPECT_TRUE(comes("b"));
}

TEST_F(StrangersTest, OneHostWhoseTimeIsOver_LosesItsOldest) {
  come("a", Strangers::kMostOfHost);
  now_ns += Strangers::kTheirTimeNs;
  EXPECT_EQ(strangers.place_for("a", now_ns).instead_of, ConnectionId{1});
  EXPECT_EQ(come("a", 1000), Strangers::kMostOfHost);
  EXPECT_EQ(strangers.size(), Strangers::kMostOfHost);
}

TEST_F(StrangersTest, EveryPlaceTaken_TheHostWithMostLosesItsOldest) {
  comes("quiet");
  for (int i = 0; i < 200; ++i) comes("loud" + std::to_string(i % 4));
  EXPECT_EQ(strangers.size(), Strangers::kMost);
  EXPECT_FALSE(comes("new"));
  now_ns += Strangers::kTheirTimeNs;
  EXPECT_NE(strangers.place_for("new", now_ns).instead_of, ConnectionId{1});
  EXPECT_TRUE(comes("new"));
}

TEST_F(StrangersTest, WhoIsNoStrangerAnyMore_LeavesItsPlace) {
  come("a", Strangers::kMostOfHost);
  strangers.remove(1);
  strangers.remove(1);
  EXPECT_EQ(strangers.size(), Strangers::kMostOfHost - 1);
  EXPECT_TRUE(comes("a"));
  EXPECT_FALSE(comes("a"));
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
