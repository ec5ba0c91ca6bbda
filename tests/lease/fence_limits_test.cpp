// SPDX-License-Identifier: BSD-3-Clause
//
// The limits of a fence to the nanosecond: how long an entry or a UMR may keep it, the least time
// for which a command is still sent, and that a call returns when it was told to, whatever it waits
// for. The device is a script, and its clock moves only when somebody waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lease/fence.hpp"
#include "tests/lease/fence_world.hpp"
#include "tests/lease/noted_ports.hpp"
#include "tests/lease/scripted_function.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Answer;
using ::portcullis::testing::FenceWorld;
using ::portcullis::testing::kNever;
using ::portcullis::testing::NotedDropRule;
using ::portcullis::testing::NotedKeyFreer;
using ::portcullis::testing::ScriptedFunction;
using prm::Opcode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kMs = kNsPerMs;
/// Between two looks at the device, so that a call that looks once more is seen.
constexpr std::uint64_t kOddNs = 20 * kMs + 50 * kNsPerUs;

class FenceLimits : public FenceWorld {
 protected:
  void SetUp() override {
    make(1);
    port.steering = &drop;
    port.umr = &umr;
    port.on_failure = [this](std::uint32_t, Step, const Error& error) {
      failures.push_back(error.text);
    };
  }
  /// So long after the start of the fence.
  void at(std::uint64_t ns) { host.now_ns = ScriptedFunction::kStartNs + ns; }

  NotedDropRule drop;
  NotedKeyFreer umr;
  std::vector<std::string> failures;
};

// ---- what the host waits for in one go ----

TEST_F(FenceLimits, Umr_HasHalfOfTheTimeThatIsLeft) {
  Fence through = fence(umr_plan());
  at(200 * kMs);
  (void)through.advance();
  EXPECT_EQ(umr.free_deadline_ns, ScriptedFunction::kStartNs + 500 * kMs);
}

TEST_F(FenceLimits, Entry_HasHalfOfTheTimeThatIsLeft) {
  Fence through = fence(seed_plan());
  EXPECT_TRUE(through.advance());
  EXPECT_EQ(drop.install_deadline_ns, ScriptedFunction::kStartNs + 400 * kMs);
}

TEST_F(FenceLimits, EntryThatNobodyWaitsFor_Has50Ms) {
  Fence through = fence(seed_plan());
  through.go_on_unawaited();
  EXPECT_TRUE(through.advance());
  EXPECT_EQ(drop.install_deadline_ns, ScriptedFunction::kStartNs + 50 * kMs);
}

TEST_F(FenceLimits, EntryThatNobodyWaitsForWithLittlePatience_HasNoMoreThanThat) {
  Fence through = fence(seed_plan(), {.deadline_ms = 60});
  through.go_on_unawaited();
  EXPECT_TRUE(through.advance());
  EXPECT_EQ(drop.install_deadline_ns, ScriptedFunction::kStartNs + 30 * kMs);
}

// ---- the least time for a step: a thirty-second part of the deadline, 25 ms, of half of the rest

TEST_F(FenceLimits, FiftyMsLeft_EntryIsStillAskedFor) {
  Fence through = fence(drop_only_plan());
  at(750 * kMs);
  EXPECT_TRUE(through.advance());
  EXPECT_THAT(drop.installed, ElementsAre(0u));
}

TEST_F(FenceLimits, LessThanFiftyMsLeft_EntryIsNotAskedForAndSaidSo) {
  Fence through = fence(drop_only_plan());
  at(750 * kMs + 2);
  EXPECT_TRUE(through.advance());
  EXPECT_THAT(drop.installed, IsEmpty());
  EXPECT_THAT(failures.front(), HasSubstr("could not be answered before the fence's deadline"));
}

TEST_F(FenceLimits, DeadlineReached_SaidSo) {
  Fence through = fence(drop_only_plan());
  at(800 * kMs);
  EXPECT_TRUE(through.advance());
  EXPECT_THAT(failures.front(), HasSubstr("the fence's deadline had passed"));
}

/// A step needs as long as it took at the most, not as it took last.
TEST_F(FenceLimits, SlowOnceAndThenQuick_TakenForSlow) {
  make(3);
  port.steering = nullptr;
  host.channel.fence_slots = 1;
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 100 * kMs});
  // This process stands still behind the second one.
  host.channel.on_submit = [this](const auto& sent) {
    if (sent.id == 201) at(601 * kMs);
  };
  Fence seed = fence(seed_plan());
  EXPECT_EQ(seed.advance_until(Fence::kNoLimit), Fence::Progress::OutOfTime);
  EXPECT_THAT(host.channel.sent, SizeIs(2));
}

/// The second one was quick, and the third would not be sent in time if it is as slow as the first.
TEST_F(FenceLimits, QuickBehindASlowOne_TheNextIsTakenForSlowAllTheSame) {
  make(3);
  port.steering = nullptr;
  host.channel.fence_slots = 1;
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 100 * kMs});
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 10 * kMs});
  host.channel.on_submit = [this](const auto& sent) { host.channel.busy = sent.id == 201; };
  Fence seed = fence(seed_plan());
  ASSERT_EQ(seed.advance_until(ScriptedFunction::kStartNs + 110 * kMs), Fence::Progress::Waits);
  ASSERT_THAT(host.channel.sent, SizeIs(2));
  host.channel.busy = false;
  at(650 * kMs);
  EXPECT_EQ(seed.advance_until(Fence::kNoLimit), Fence::Progress::OutOfTime);
  EXPECT_THAT(host.channel.sent, SizeIs(2));
}

// ---- a call is over when it was told ----

TEST_F(FenceLimits, EntriesOfManyThatTakeLong_NoneIsBegunOnceTheCallIsOver) {
  make(8);
  drop.now_ns = &host.now_ns;
  drop.takes_ns = 10 * kMs;
  Fence through = fence(seed_plan());
  through.go_on_unawaited();
  EXPECT_EQ(through.advance_until(ScriptedFunction::kStartNs + 20 * kMs), Fence::Progress::Waits);
  EXPECT_THAT(drop.installed, SizeIs(2));
  EXPECT_EQ(elapsed_ns(), 20 * kMs);
  EXPECT_TRUE(through.advance());
  EXPECT_THAT(drop.installed, SizeIs(8));
}

TEST_F(FenceLimits, CallThatIsOverAtItsBegin_AsksForNoUmr) {
  Fence through = fence(umr_plan());
  through.go_on_unawaited();
  EXPECT_EQ(through.advance_until(ScriptedFunction::kStartNs), Fence::Progress::Waits);
  EXPECT_THAT(umr.freed, IsEmpty());
}

TEST_F(FenceLimits, CallThatIsOverAndTheDeviceGivenUp_DoesNotWaitForAnEntry) {
  Fence through = fence(drop_only_plan());
  through.give_up();
  EXPECT_EQ(through.advance_until(ScriptedFunction::kStartNs), Fence::Progress::Through);
  EXPECT_THAT(drop.installed, IsEmpty());
}

TEST_F(FenceLimits, MoreLeasesThanMayBeInFlight_CallEndsWhenTold) {
  make(12);
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 100 * kMs}, 12);
  Fence seed = fence(seed_plan());
  seed.go_on_unawaited();
  EXPECT_EQ(seed.advance_until(ScriptedFunction::kStartNs + kOddNs), Fence::Progress::Waits);
  EXPECT_EQ(elapsed_ns(), kOddNs);
  EXPECT_THAT(host.channel.sent, SizeIs(8));
}

TEST_F(FenceLimits, OwnCommandHoldsTheOnlySlot_CallEndsWhenTold) {
  make(2);
  host.channel.fence_slots = 1;
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 100 * kMs}, 2);
  Fence seed = fence(seed_plan());
  EXPECT_EQ(seed.advance_until(ScriptedFunction::kStartNs + kOddNs), Fence::Progress::Waits);
  EXPECT_EQ(elapsed_ns(), kOddNs);
  EXPECT_THAT(host.channel.sent, SizeIs(1));
}

TEST_F(FenceLimits, NoSlotOfAnyClass_CallEndsWhenTold) {
  host.channel.busy = true;
  Fence seed = fence(seed_plan());
  EXPECT_EQ(seed.advance_until(ScriptedFunction::kStartNs + kOddNs), Fence::Progress::Waits);
  EXPECT_EQ(elapsed_ns(), kOddNs);
}

TEST_F(FenceLimits, OneCommandInFlight_CallEndsWhenTold) {
  host.channel.answer(Opcode::QP_2ERR, Answer{.takes_ns = 100 * kMs});
  Fence seed = fence(seed_plan());
  EXPECT_EQ(seed.advance_until(ScriptedFunction::kStartNs + kOddNs), Fence::Progress::Waits);
  EXPECT_EQ(elapsed_ns(), kOddNs);
}

/// Four that are never answered, and others behind them that are slow.
TEST_F(FenceLimits, SomeNeverAnswered_EveryCallEndsWhenToldAndTheOthersAreTornDown) {
  make(12);
  for (std::uint32_t key = 200; key < 204; ++key)
    host.channel.answer_on(Opcode::DESTROY_MKEY, key, kNever);
  for (std::uint32_t key = 204; key < 212; ++key)
    host.channel.answer_on(Opcode::DESTROY_MKEY, key, Answer{.takes_ns = 1'650 * kMs});
  Fence seed = fence(seed_plan());
  seed.go_on_unawaited();
  std::uint64_t told_ns = host.now_ns + kOddNs;
  for (int calls = 0; calls < 500 && seed.advance_until(told_ns) != Fence::Progress::Through;
       ++calls) {
    ASSERT_EQ(host.now_ns, told_ns);
    told_ns += kOddNs;
  }
  EXPECT_TRUE(seed.advance());
  for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(seed.verdict(i).outcome, Outcome::TornDown) << i;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(seed.verdict(i).proof, Proof::Unmap) << i;
}

TEST_F(FenceLimits, NoSlotOfAnyClass_GivenUpAfterHalfOfTheTime) {
  host.channel.busy = true;
  Fence seed = fence(seed_plan());
  EXPECT_TRUE(seed.advance());
  EXPECT_EQ(elapsed_ns(), 400 * kMs);
  EXPECT_THAT(failures.front(), HasSubstr("2ERR_QP: no fence slot is free"));
}

}  // namespace
}  // namespace portcullis::lease
