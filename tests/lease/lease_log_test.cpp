// SPDX-License-Identifier: BSD-3-Clause
//
// What a lease manager says in its log, and that one without a log does the same in silence. The
// device is a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/lease/manager_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::kRefused;
using ::portcullis::testing::ManagerWorld;
using prm::Opcode;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class LeaseLog : public ManagerWorld {
 protected:
  /// So many leases end together, and are fenced.
  void let_end(std::uint32_t count) {
    slots = count + 1;
    start({});
    request.ttl_ms = 100;
    for (std::uint32_t i = 0; i < count; ++i) (void)granted();
    log.clear();
    poll_at(100);
  }
  /// A fence takes the function off the bus.
  void lose_function() {
    function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
    function.dma.refuse_unmap = true;
    (void)revoke(first.lease);
    function.dma.refuse_unmap = false;
  }
  [[nodiscard]] std::ptrdiff_t lines_with(const std::string& text) const {
    return std::ranges::count_if(
        log, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }
};

TEST_F(LeaseLog, FunctionLost_Said) {
  start({.fence = {.may_reset_function = true}});
  lose_function();
  EXPECT_THAT(log, Contains(HasSubstr("the function was taken off the bus")));
}

TEST_F(LeaseLog, Drained_SaidWithTheCount) {
  (void)granted();
  ASSERT_TRUE(manager->drain());
  EXPECT_THAT(log, Contains("drain: the function was reset; 2 leases ended"));
}

TEST_F(LeaseLog, StepOfTheSweepFailed_SaidBySlotAndStep) {
  (void)revoke(first.lease);
  function.channel.answer(Opcode::DESTROY_QP, kRefused);
  poll_at(5'000);
  EXPECT_THAT(log, Contains("lease slot 0: DESTROY_QP failed: refused"));
}

TEST_F(LeaseLog, EntryThatCannotBePrepared_SaidAndTheLeaseServedWithout) {
  host.steering = &drop;
  drop.refuse_prepare = true;
  start({});
  EXPECT_THAT(log, Contains("lease slot 0: no flow entry from the start: no table"));
  EXPECT_EQ(state(first.lease), State::Active);
}

TEST_F(LeaseLog, EightEndTogether_EachIsNamed) {
  let_end(8);
  EXPECT_EQ(lines_with("its time to live has passed"), 8);
  EXPECT_THAT(log, Not(Contains(HasSubstr("more leases"))));
}

TEST_F(LeaseLog, TenEndTogether_EightAreNamedAndTheOthersCounted) {
  let_end(10);
  EXPECT_EQ(lines_with("its time to live has passed"), 8);
  EXPECT_THAT(log, Contains("and so has that of 2 more leases"));
}

// ---- without a log ----

class WithoutLog : public LeaseLog {
 protected:
  void SetUp() override {
    host.log = {};
    start({});
  }
};

TEST_F(WithoutLog, KeyBindingRefused_Granted) {
  function.channel.answer(Opcode::CREATE_MKEY, kRefused);
  start({});
  EXPECT_EQ(manager->key_binding(), KeyBinding::Refused);
}

TEST_F(WithoutLog, KeyRefused_Fenced) {
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  EXPECT_EQ(revoke(first.lease).outcome, Outcome::Fenced);
}

TEST_F(WithoutLog, StepOfTheSweepFailed_Fenced) {
  (void)revoke(first.lease);
  function.channel.answer(Opcode::DESTROY_QP, kRefused);
  poll_at(5'000);
  EXPECT_EQ(state(first.lease), State::Fenced);
}

TEST_F(WithoutLog, EntryThatCannotBePrepared_LeaseServed) {
  host.steering = &drop;
  drop.refuse_prepare = true;
  start({});
  EXPECT_EQ(state(first.lease), State::Active);
}

TEST_F(WithoutLog, ManyEndTogether_AllRevoked) {
  let_end(10);
  EXPECT_EQ(manager->table().count(State::PendingDestroy), 10u);
}

TEST_F(WithoutLog, FunctionLost_EveryLeaseFenced) {
  start({.fence = {.may_reset_function = true}});
  lose_function();
  EXPECT_EQ(state(first.lease), State::Fenced);
}

TEST_F(WithoutLog, Drained_EveryLeaseTornDown) {
  EXPECT_EQ(manager->drain().value(), 1u);
  EXPECT_EQ(revoke(first.lease).outcome, Outcome::TornDown);
}

}  // namespace
}  // namespace portcullis::lease
