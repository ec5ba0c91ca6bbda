// SPDX-License-Identifier: BSD-3-Clause
//
// The port's receive buffer by itself: when it stops the other end of the link, and for how long,
// and what it loses. Frames of 128 bytes are a cell each.
#include "model/ethernet/receive_buffer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/clock.hpp"

namespace portcullis::model {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint8_t kPriority = 4;
constexpr std::uint64_t kLongestNs = kNsPerMs;
constexpr std::uint64_t kWholePauseNs = 335'540;  // 65535 quanta at 100 Gb/s

class ReceiveBufferTest : public ::testing::Test {
 protected:
  ReceiveBufferTest() {
    port_.pfc_tx = 1U << kPriority;
    port_.buffers[0] = {.is_lossy = false, .size = 10, .at = {.xoff = 4, .xon = 2}};
  }
  void keep(int frames) {
    const std::vector<std::byte> frame(PortSettings::kCellBytes);
    for (int i = 0; i < frames; ++i) {
      buffer_.keep(frame, kPriority, buffer_.has_queue(kPriority) ? 0 : kLongestNs);
    }
  }
  void run_until(std::uint64_t at_ns) {
    while (scheduler_.loop().step(at_ns)) {
    }
  }
  /// Of kPriority, in the order in which they went.
  [[nodiscard]] std::vector<std::uint16_t> quanta() const {
    std::vector<std::uint16_t> out;
    for (const PauseFrame& frame : said_) out.push_back(frame.quanta[kPriority]);
    return out;
  }
  [[nodiscard]] const PortCounters::PriorityCount& count() const {
    return counters_.port.priorities[kPriority];
  }

  Scheduler scheduler_{std::make_shared<EventLoop>(Execution::Stepped, 1)};
  PortSettings port_;
  PortCounters counters_;
  std::uint64_t lost_ = 0;
  std::vector<PauseFrame> said_;
  std::vector<Offer> offers_;
  std::size_t room_ = 0;  // frames that are taken
  bool can_say_ = true;
  ReceiveBuffer buffer_{{&scheduler_, &port_, &counters_, &lost_,
                         [](void* self, const PauseFrame& frame) {
                           auto& test = *static_cast<ReceiveBufferTest*>(self);
                           if (test.can_say_) test.said_.push_back(frame);
                           return test.can_say_;
                         },
                         [](void* self, std::span<const std::byte> /*frame*/, Offer offer) {
                           auto& test = *static_cast<ReceiveBufferTest*>(self);
                           test.offers_.push_back(offer);
                           if (offer == Offer::Last) return std::uint64_t{0};
                           if (test.room_ == 0) return kLongestNs;
                           --test.room_;
                           return std::uint64_t{0};
                         },
                         this}};
};

TEST_F(ReceiveBufferTest, FillUpToXoff_SaysNothing) {
  keep(4);
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(ReceiveBufferTest, FillAboveXoff_StopsThePriorityAlone) {
  keep(5);
  ASSERT_THAT(said_, SizeIs(1));
  EXPECT_TRUE(said_[0].is_per_priority);
  EXPECT_EQ(said_[0].priorities, 1U << kPriority);
  EXPECT_THAT(quanta(), ElementsAre(0xffff));
  EXPECT_EQ(count().pauses_sent, 1U);
}

TEST_F(ReceiveBufferTest, Fill_DownToXon_LetsItGoOn) {
  keep(5);
  run_until(1000 * kNsPerUs / 10);
  room_ = 2;
  EXPECT_TRUE(buffer_.look());
  EXPECT_THAT(quanta(), ElementsAre(0xffff));
  room_ = 1;
  EXPECT_TRUE(buffer_.look());
  EXPECT_THAT(quanta(), ElementsAre(0xffff, 0));
  EXPECT_EQ(count().stopped_ns, 100'000U);
  EXPECT_EQ(count().pauses_sent, 2U);
}

TEST_F(ReceiveBufferTest, PauseThatIsStillNeeded_IsSaidAgainBeforeItsEnd) {
  keep(5);
  run_until(kWholePauseNs * 3 / 4);
  EXPECT_THAT(quanta(), ElementsAre(0xffff, 0xffff));
}

TEST_F(ReceiveBufferTest, PauseWithARefreshTime_IsSaidAgainThen) {
  port_.pause_quanta = 1000;
  port_.pause_refresh = 100;  // 512 ns
  keep(5);
  run_until(511);
  EXPECT_THAT(said_, SizeIs(1));
  run_until(512);
  EXPECT_THAT(said_, SizeIs(2));
}

TEST_F(ReceiveBufferTest, PauseOfOneQuantum_IsSaidAgainLater) {
  port_.pause_quanta = 1;
  port_.pause_refresh = 0;
  keep(5);
  run_until(5);
  EXPECT_THAT(said_, SizeIs(1));
  run_until(6);
  EXPECT_THAT(said_, SizeIs(2));
}

TEST_F(ReceiveBufferTest, FramesOrder_IsKept) {
  keep(3);
  room_ = 3;
  EXPECT_TRUE(buffer_.look());
  EXPECT_THAT(offers_, ElementsAre(Offer::Again, Offer::First, Offer::First));
  EXPECT_TRUE(buffer_.is_empty());
}

TEST_F(ReceiveBufferTest, FullBuffer_LosesAndCounts) {
  keep(12);
  EXPECT_EQ(lost_, 2U);
  EXPECT_EQ(count().discards, 2U);
  EXPECT_EQ(counters_.port.receive_discards, 2U);
}

TEST_F(ReceiveBufferTest, FrameThatNobodyTakes_WaitsNoLongerThanItMay) {
  keep(1);
  run_until(kLongestNs - 1);
  EXPECT_FALSE(buffer_.is_empty());
  run_until(kLongestNs);
  EXPECT_TRUE(buffer_.is_empty());
  EXPECT_EQ(offers_.back(), Offer::Last);
}

TEST_F(ReceiveBufferTest, PriorityThatMayLose_IsNotStopped) {
  port_.pfc_tx = 1U << 1;
  port_.priority_buffer[1] = 1;
  keep(12);
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_EQ(count().discards, 2U);
}

TEST_F(ReceiveBufferTest, PauseOfAll_IsOfTheOtherKind) {
  port_.pfc_tx = 0;
  port_.pause_tx = true;
  keep(5);
  ASSERT_THAT(said_, SizeIs(1));
  EXPECT_FALSE(said_[0].is_per_priority);
  EXPECT_THAT(said_[0].quanta, Each(0xffff));
  EXPECT_EQ(counters_.port.priorities[0].pauses_sent, 1U);
}

TEST_F(ReceiveBufferTest, SettingThatIsTakenBack_LetsTheOtherEndGoOn) {
  keep(5);
  port_.pfc_tx = 0;
  run_until(kWholePauseNs);
  EXPECT_EQ(said_.back().quanta[kPriority], 0U);
  EXPECT_THAT(said_, SizeIs(2));
}

TEST_F(ReceiveBufferTest, PriorityInAnotherBuffer_DoesNotWait) {
  port_.priority_buffer[2] = 1;
  keep(5);
  EXPECT_FALSE(buffer_.has_queue(2));
  EXPECT_TRUE(buffer_.has_queue(0));
}

TEST_F(ReceiveBufferTest, WireWithoutAFrame_HearsALittleLater) {
  can_say_ = false;
  keep(5);
  EXPECT_EQ(count().pauses_sent, 0U);
  can_say_ = true;
  run_until(10 * kNsPerUs);
  EXPECT_THAT(quanta(), ElementsAre(0xffff));
}

TEST_F(ReceiveBufferTest, Forget_LosesWhatWaitsAndLetsGo) {
  keep(5);
  buffer_.forget();
  EXPECT_EQ(lost_, 5U);
  EXPECT_THAT(quanta(), ElementsAre(0xffff, 0));
}

}  // namespace
}  // namespace portcullis::model
