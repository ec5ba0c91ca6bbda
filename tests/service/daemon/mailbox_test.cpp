// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/mailbox.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>
#include <vector>

namespace portcullis::service::daemon {
namespace {

bool is_readable(int fd) {
  pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&waited, 1, 0) == 1;
}

TEST(Mailbox, Nothing_IsTakenFromAnEmptyOne) {
  Mailbox<int> box;
  EXPECT_FALSE(box.take());
  EXPECT_FALSE(is_readable(box.fd()));
}

TEST(Mailbox, WhatWasPut_ComesInOrder) {
  Mailbox<int> box;
  box.put(1);
  box.put(2);
  EXPECT_TRUE(is_readable(box.fd()));
  EXPECT_EQ(box.take(), 1);
  EXPECT_EQ(box.take(), 2);
  EXPECT_FALSE(box.take());
}

TEST(Mailbox, HeardBeforeTaking_LosesNothingThatComesThen) {
  Mailbox<int> box;
  box.put(1);
  box.heard();
  EXPECT_EQ(box.take(), 1);
  box.put(2);
  EXPECT_FALSE(box.may_wait());
  EXPECT_EQ(box.take(), 2);
}

TEST(Mailbox, PutWhileNobodyWaits_WakesNobody) {
  Mailbox<int> box;
  box.heard();
  box.put(1);
  EXPECT_FALSE(is_readable(box.fd()));
}

TEST(Mailbox, PutWhileItsReaderMayWait_Wakes) {
  Mailbox<int> box;
  box.heard();
  EXPECT_TRUE(box.may_wait());
  box.put(1);
  EXPECT_TRUE(is_readable(box.fd()));
}

TEST(Mailbox, WhatIsLeft_WakesNobodyBeforeTheNudge) {
  Mailbox<int> box;
  EXPECT_TRUE(box.may_wait());
  box.leave(1);
  EXPECT_FALSE(is_readable(box.fd()));
  box.nudge();
  EXPECT_TRUE(is_readable(box.fd()));
  EXPECT_EQ(box.take(), 1);
}

TEST(Mailbox, NudgeWhereNothingIs_WakesNobody) {
  Mailbox<int> box;
  EXPECT_TRUE(box.may_wait());
  box.nudge();
  EXPECT_FALSE(is_readable(box.fd()));
}

TEST(Mailbox, WakeWhileNobodyWaits_IsStillThereForWhoWaitsNext) {
  Mailbox<int> box;
  box.heard();
  box.wake();
  EXPECT_TRUE(box.may_wait());
  EXPECT_TRUE(is_readable(box.fd()));
}

TEST(Mailbox, WakeSinceItsReaderLooked_IsStillThereForWhoWaitsNext) {
  Mailbox<int> box;
  EXPECT_TRUE(box.may_wait());
  EXPECT_FALSE(is_readable(box.fd()));
  box.put(1);
  box.heard(false);
  EXPECT_EQ(box.take(), 1);
  EXPECT_TRUE(box.may_wait());
  EXPECT_TRUE(is_readable(box.fd()));
}

TEST(Mailbox, TwoThreads_EveryValueOnceAndInOrder) {
  constexpr int kMany = 100'000;
  constexpr int kNeverMs = 600'000;
  Mailbox<int> box;
  std::thread producer([&box] {
    for (int i = 0; i < kMany; ++i) box.put(i);
  });
  std::vector<int> got;
  while (got.size() < kMany) {
    pollfd waited{.fd = box.fd(), .events = POLLIN, .revents = 0};
    (void)::poll(&waited, 1, box.may_wait() ? kNeverMs : 0);  // a wake that is lost hangs here
    box.heard(waited.revents != 0);
    while (const auto next = box.take()) got.push_back(*next);
  }
  producer.join();
  std::vector<int> wanted(kMany);
  for (int i = 0; i < kMany; ++i) wanted[static_cast<std::size_t>(i)] = i;
  EXPECT_EQ(got, wanted);
}

}  // namespace
}  // namespace portcullis::service::daemon
