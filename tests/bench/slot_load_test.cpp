// SPDX-License-Identifier: BSD-3-Clause
//
// The commands that stand beside a fence: every common slot is full, stays full, and is left alone
// from hold() on.
#include "bench/common/slot_load.hpp"

#include <gtest/gtest.h>

namespace portcullis::bench {
namespace {

class SlotLoadTest : public ::testing::Test {
 protected:
  /// Lets device and load work for a while.
  void pass() {
    constexpr int kTurns = 100;
    for (int i = 0; i < kTurns; ++i) session->device().relax(session->now_ns());
  }

  std::unique_ptr<proof::Session> session =
      proof::Session::open(attach::parse_device("model,execution=stepped").value()).value();
  std::unique_ptr<SlotLoad> load = SlotLoad::create(*session).value();
};

TEST_F(SlotLoadTest, Started_FillsEveryCommonSlotAndRefillsIt) {
  ASSERT_TRUE(load->start());
  EXPECT_EQ(load->slots(), 28U);  // 32 less three for fences and one for pages
  pass();
  EXPECT_GT(load->commands(), load->slots());
  EXPECT_TRUE(load->stop());
}

TEST_F(SlotLoadTest, Held_TakesAndSendsNothingWhileTheDeviceFinishes) {
  ASSERT_TRUE(load->start());
  EXPECT_EQ(load->hold(), load->slots());
  pass();
  EXPECT_EQ(load->commands(), 0U);
  EXPECT_EQ(load->hold(), 0U);  // all answered, none followed by another
  EXPECT_TRUE(load->stop());
}

}  // namespace
}  // namespace portcullis::bench
