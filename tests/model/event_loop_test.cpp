// SPDX-License-Identifier: BSD-3-Clause
#include "model/event_loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "model/scheduler.hpp"

namespace portcullis::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

struct Log {
  std::vector<std::uint64_t> seen;
  Task note(std::uint64_t value) {
    return {[](void* self, std::uint64_t v) { static_cast<Log*>(self)->seen.push_back(v); }, this,
            value};
  }
};

class EventLoopTest : public ::testing::Test {
 protected:
  std::shared_ptr<EventLoop> loop_ = std::make_shared<EventLoop>(Execution::Stepped, 1);
  Scheduler scheduler_{loop_};
  Log log_;
};

TEST_F(EventLoopTest, IdleStep_MovesTheClockToTheLimit) {
  EXPECT_FALSE(loop_->step(5000));
  EXPECT_EQ(scheduler_.now_ns(), 5000U);
}

TEST_F(EventLoopTest, LimitInThePast_DoesNotMoveTheClockBack) {
  loop_->step(5000);
  loop_->step(10);
  EXPECT_EQ(scheduler_.now_ns(), 5000U);
}

TEST_F(EventLoopTest, Step_StopsAtTheNextEvent) {
  scheduler_.schedule(100, log_.note(1));
  scheduler_.schedule(200, log_.note(2));
  EXPECT_TRUE(loop_->step(kNoLimit));
  EXPECT_EQ(scheduler_.now_ns(), 100U);
  EXPECT_THAT(log_.seen, ElementsAre(1));
}

TEST_F(EventLoopTest, EventBeyondTheLimit_DoesNotRun) {
  scheduler_.schedule(100, log_.note(1));
  EXPECT_FALSE(loop_->step(99));
  EXPECT_THAT(log_.seen, IsEmpty());
}

TEST_F(EventLoopTest, EventsOfOneInstant_RunInTheOrderTheyCame) {
  scheduler_.schedule(100, log_.note(1));
  scheduler_.schedule(100, log_.note(2));
  scheduler_.schedule(50, log_.note(3));
  scheduler_.schedule(100, log_.note(4));
  loop_->step(kNoLimit);
  loop_->step(kNoLimit);
  EXPECT_THAT(log_.seen, ElementsAre(3, 1, 2, 4));
}

TEST_F(EventLoopTest, PostedWork_RunsBeforeTimeMoves) {
  scheduler_.schedule(10, log_.note(2));
  scheduler_.post(log_.note(1));
  EXPECT_TRUE(loop_->step(kNoLimit));
  EXPECT_THAT(log_.seen, ElementsAre(1));
  EXPECT_EQ(scheduler_.now_ns(), 0U);
}

TEST_F(EventLoopTest, CancelledTimer_NeverRuns) {
  const TimerId id = scheduler_.schedule(10, log_.note(1));
  scheduler_.schedule(20, log_.note(2));
  scheduler_.cancel(id);
  scheduler_.cancel(id);
  loop_->step(kNoLimit);
  EXPECT_THAT(log_.seen, ElementsAre(2));
}

TEST_F(EventLoopTest, TimerCancelledByAnotherThatIsDueToo_NeverRuns) {
  struct Both {
    Scheduler* scheduler;
    TimerId id;
  } both{&scheduler_, {}};
  const Task cancel{[](void* context, std::uint64_t) {
                      const auto& of = *static_cast<Both*>(context);
                      of.scheduler->cancel(of.id);
                    },
                    &both, 0};
  scheduler_.schedule(10, cancel);
  both.id = scheduler_.schedule(10, log_.note(1));
  scheduler_.schedule(20, log_.note(2));
  loop_->step(kNoLimit);
  scheduler_.schedule(20, log_.note(3));
  loop_->step(kNoLimit);
  EXPECT_THAT(log_.seen, ElementsAre(2, 3));
}

TEST_F(EventLoopTest, CancelOfAFiredTimer_LeavesItsSuccessorAlone) {
  const TimerId fired = scheduler_.schedule(10, log_.note(1));
  loop_->step(kNoLimit);
  scheduler_.schedule(20, log_.note(2));
  scheduler_.cancel(fired);
  loop_->step(kNoLimit);
  EXPECT_THAT(log_.seen, ElementsAre(1, 2));
}

TEST_F(EventLoopTest, Clear_DropsPostedAndScheduledWorkOfThatLaneAlone) {
  Scheduler other(loop_);
  scheduler_.post(log_.note(1));
  scheduler_.schedule(10, log_.note(2));
  other.schedule(20, log_.note(3));
  scheduler_.clear();
  EXPECT_TRUE(loop_->step(kNoLimit));
  EXPECT_THAT(log_.seen, ElementsAre(3));
  EXPECT_EQ(scheduler_.now_ns(), 20U);
}

TEST_F(EventLoopTest, ClosedLane_LeavesNothingToRun) {
  auto other = std::make_unique<Scheduler>(loop_);
  other->schedule(10, log_.note(1));
  other.reset();
  Scheduler successor(loop_);
  EXPECT_FALSE(loop_->step(100));
  EXPECT_THAT(log_.seen, IsEmpty());
}

TEST_F(EventLoopTest, ManyTimersInAnyOrder_RunByTime) {
  for (std::uint64_t i = 0; i < 500; ++i) {
    const std::uint64_t at = (i * 7919) % 500 + 1;
    scheduler_.schedule(at, log_.note(at));
  }
  while (loop_->step(1000)) {
  }
  std::vector<std::uint64_t> expected(500);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(log_.seen, expected);
}

TEST_F(EventLoopTest, WorkThatMakesWork_DoesNotKeepAStepForEver) {
  struct Loop {
    Scheduler* scheduler;
    std::uint64_t runs = 0;
    static void run(void* self, std::uint64_t) {
      auto* loop = static_cast<Loop*>(self);
      ++loop->runs;
      loop->scheduler->post({&Loop::run, self, 0});
    }
  } forever{&scheduler_};
  scheduler_.post({&Loop::run, &forever, 0});
  EXPECT_TRUE(loop_->step(kNoLimit));
  EXPECT_GT(forever.runs, 1000U);
  forever.runs = 0;
  EXPECT_TRUE(loop_->step(kNoLimit, 3));
  EXPECT_EQ(forever.runs, 3U);
}

TEST_F(EventLoopTest, Source_LooksEveryStepAndHearsOfTheClock) {
  struct Source {
    int looks = 0;
    int moves = 0;
  } source;
  loop_->add_source({[](void* s) { return ++static_cast<Source*>(s)->looks == 2; },
                     [](void* s) { ++static_cast<Source*>(s)->moves; }, &source});
  EXPECT_FALSE(loop_->step(100));
  EXPECT_TRUE(loop_->step(200));
  loop_->remove_source(&source);
  loop_->step(300);
  EXPECT_EQ(source.looks, 2);
  EXPECT_EQ(source.moves, 1);
}

std::vector<int> shuffled(std::uint64_t seed) {
  auto loop = std::make_shared<EventLoop>(Execution::Stepped, seed);
  Scheduler scheduler(loop);
  std::vector<int> order(16);
  std::iota(order.begin(), order.end(), 0);
  scheduler.shuffle(std::span(order));
  return order;
}

TEST(EventLoopSeed, SameSeed_SameOrder) { EXPECT_EQ(shuffled(7), shuffled(7)); }

TEST(EventLoopSeed, OtherSeed_OtherOrderOfTheSameObjects) {
  EXPECT_NE(shuffled(7), shuffled(8));
  EXPECT_THAT(shuffled(8), ::testing::UnorderedElementsAreArray(shuffled(7)));
}

TEST(EventLoopPolled, Clock_IsTheWall) {
  EventLoop loop(Execution::Polled, 1);
  const std::uint64_t before = Clock::wall().now_ns();
  loop.step(kNoLimit);
  EXPECT_GE(loop.now_ns(), before);
  EXPECT_LT(loop.now_ns(), before + 60 * kNsPerSecond);
  EXPECT_FALSE(loop.clock().is_virtual());
}

}  // namespace
}  // namespace portcullis::model
