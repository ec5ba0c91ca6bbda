// SPDX-License-Identifier: BSD-3-Clause
//
// When the interrupts of a vector come.
#include "model/interrupt_vectors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace portcullis::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class InterruptVectorsTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kVector = 5;
  static constexpr std::uint64_t kDelayNs = 10 * kNsPerUs;

  InterruptVectorsTest() {
    vectors_.deliver_to(
        [](void* self, std::uint32_t vector) noexcept {
          auto& test = *static_cast<InterruptVectorsTest*>(self);
          test.came_.push_back(vector);
          test.at_.push_back(test.loop_->now_ns());
        },
        this);
  }
  void pass(std::uint64_t ns) {
    const std::uint64_t until = loop_->now_ns() + ns;
    while (loop_->step(until) || loop_->now_ns() < until) {
    }
  }

  std::shared_ptr<EventLoop> loop_ = std::make_shared<EventLoop>(Execution::Stepped, 1);
  Scheduler scheduler_{loop_};
  InterruptVectors vectors_{scheduler_};
  std::vector<std::uint32_t> came_;
  std::vector<std::uint64_t> at_;
};

TEST_F(InterruptVectorsTest, WithoutADelay_EachComesAtOnce) {
  vectors_.raise(kVector);
  vectors_.raise(kVector);
  EXPECT_THAT(came_, ElementsAre(kVector, kVector));
}

TEST_F(InterruptVectorsTest, WithADelay_TheFirstComesAtOnceAndTheNextTogether) {
  vectors_.set_min_delay(kVector, kDelayNs);
  pass(kDelayNs);
  vectors_.raise(kVector);
  vectors_.raise(kVector);
  vectors_.raise(kVector);
  EXPECT_THAT(at_, ElementsAre(kDelayNs));
  pass(kDelayNs);
  EXPECT_THAT(at_, ElementsAre(kDelayNs, 2 * kDelayNs));
}

TEST_F(InterruptVectorsTest, AfterTheDelay_TheNextComesAtOnce) {
  vectors_.set_min_delay(kVector, kDelayNs);
  vectors_.raise(kVector);
  pass(kDelayNs);
  vectors_.raise(kVector);
  EXPECT_THAT(at_, ElementsAre(0U, kDelayNs));
}

TEST_F(InterruptVectorsTest, OtherVectors_DoNotWait) {
  vectors_.set_min_delay(kVector, kDelayNs);
  vectors_.raise(kVector);
  vectors_.raise(kVector - 1);
  vectors_.raise(kVector + 1);
  EXPECT_THAT(came_, ElementsAre(kVector, kVector - 1, kVector + 1));
}

TEST_F(InterruptVectorsTest, DelayTakenAway_OneThatWaitsComesAtOnce) {
  vectors_.set_min_delay(kVector, kDelayNs);
  vectors_.raise(kVector);
  vectors_.raise(kVector);
  vectors_.set_min_delay(kVector, 0);
  EXPECT_THAT(at_, ElementsAre(0U, 0U));
  pass(kDelayNs);
  EXPECT_THAT(at_, ElementsAre(0U, 0U));
}

TEST_F(InterruptVectorsTest, Cleared_NothingThatWaitedComes) {
  vectors_.set_min_delay(kVector, kDelayNs);
  vectors_.raise(kVector);
  vectors_.raise(kVector);
  vectors_.clear();
  came_.clear();
  pass(kDelayNs);
  EXPECT_THAT(came_, IsEmpty());
  EXPECT_EQ(vectors_.min_delay_ns(kVector), 0U);
}

TEST_F(InterruptVectorsTest, ClearedAtTheInstantThatOneIsDue_ItDoesNotCome) {
  vectors_.set_min_delay(kVector, kDelayNs);
  vectors_.raise(kVector);
  const Task clear{
      [](void* vectors, std::uint64_t) { static_cast<InterruptVectors*>(vectors)->clear(); },
      &vectors_, 0};
  scheduler_.schedule(kDelayNs, clear);
  vectors_.raise(kVector);
  pass(2 * kDelayNs);
  EXPECT_THAT(at_, ElementsAre(0U));
}

}  // namespace
}  // namespace portcullis::model
