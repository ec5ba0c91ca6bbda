// SPDX-License-Identifier: BSD-3-Clause
//
// Fences that need the same command slots: who waits for one how long, which class it comes from,
// and what the device's silence means for those that have sent nothing. The device is a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "lease/fence.hpp"
#include "tests/lease/fence_world.hpp"
#include "tests/lease/manager_world.hpp"
#include "tests/lease/scripted_function.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Answer;
using ::portcullis::testing::FenceWorld;
using ::portcullis::testing::kNever;
using ::portcullis::testing::ManagerWorld;
using ::portcullis::testing::ScriptedFunction;
using prm::Opcode;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Field;

constexpr std::uint64_t kMs = kNsPerMs;
constexpr std::uint32_t kSlots = 8;  // common ones, as many as one fence uses
constexpr std::uint64_t kPatienceNs = 400 * kMs;

/// Two fences of one function. The first takes every common slot.
class FenceSlots : public FenceWorld {
 protected:
  void SetUp() override {
    host.channel.common_slots = kSlots;
    make(kFirst + kSecond);
  }
  Fence first() { return {port, seed_plan(), std::span(targets).first(kFirst), {}}; }
  Fence second() { return {port, seed_plan(), std::span(targets).subspan(kFirst), {}}; }
  void answer_each(Answer with) {
    host.channel.answer(Opcode::DESTROY_MKEY, with, kFirst + kSecond);
    host.channel.answer(Opcode::QP_2ERR, with, 2 * (kFirst + kSecond));
    host.channel.answer(Opcode::RTS2RTS_QP, with, kFirst + kSecond);
  }
  /// Both in turn, as polls would, until the second one is through or a minute is over.
  void poll_both(Fence& one, Fence& other) {
    one.go_on_unawaited();
    other.go_on_unawaited();
    do {
      (void)one.advance_until(host.now_ns + 20 * kMs);
    } while (other.advance_until(host.now_ns + kMs) != Fence::Progress::Through &&
             elapsed_ns() < 60 * kNsPerSecond);
  }

  static constexpr std::uint32_t kFirst = 80;
  static constexpr std::uint32_t kSecond = 3;
};

TEST_F(FenceSlots, AllHeldByAFenceThatIsAnswered_WaitedForHoweverLong) {
  answer_each({.takes_ns = 60 * kMs});
  Fence one = first();
  Fence other = second();
  poll_both(one, other);
  EXPECT_GT(elapsed_ns(), 2 * kPatienceNs);
  EXPECT_THAT(verdicts(one), Each(Field(&Verdict::outcome, Outcome::TornDown)));
  EXPECT_THAT(verdicts(other), Each(Field(&Verdict::outcome, Outcome::TornDown)));
}

TEST_F(FenceSlots, AllHeldByAFenceThatIsNeverAnswered_GivenUpOncePatienceIsOver) {
  answer_each(kNever);
  Fence one = first();
  Fence other = second();
  poll_both(one, other);
  EXPECT_GE(elapsed_ns(), kPatienceNs);
  EXPECT_LE(elapsed_ns(), kPatienceNs + 40 * kMs);
  EXPECT_THAT(verdicts(other), Each(AllOf(Field(&Verdict::outcome, Outcome::Fenced),
                                          Field(&Verdict::proof, Proof::Unmap))));
}

TEST_F(FenceSlots, AllCommonOnesHeldByAnother_FenceSlotsAreLeftAlone) {
  answer_each({.takes_ns = 60 * kMs});
  Fence one = first();
  Fence other = second();
  poll_both(one, other);
  EXPECT_EQ(host.channel.most_fences_in_flight, 0u);
}

TEST_F(FenceSlots, EveryCommonOneLost_AFenceSlotServes) {
  host.channel.common_slots = 0;
  Fence other = second();
  other.go_on_unawaited();
  EXPECT_TRUE(other.advance());
  EXPECT_THAT(verdicts(other), Each(Field(&Verdict::outcome, Outcome::TornDown)));
  EXPECT_EQ(host.channel.most_fences_in_flight, 1u);
}

TEST_F(FenceSlots, HeldByWhatWasAnsweredLongAgo_TakenFromThere) {
  answer_each({.takes_ns = 60 * kMs});
  host.channel.fence_slots = 0;
  Fence one = first();
  one.go_on_unawaited();
  (void)one.advance_until(host.now_ns);
  host.now_ns += 1'000 * kMs;
  port.take_answers = [&one] { one.land_answered(); };
  Fence other = second();
  const std::size_t sent = host.channel.sent.size();
  const std::uint64_t since_ns = host.now_ns;
  EXPECT_TRUE(other.advance());
  EXPECT_THAT(verdicts(other), Each(Field(&Verdict::outcome, Outcome::TornDown)));
  EXPECT_EQ(host.channel.sent[sent].at_ns, since_ns);
}

/// What never came back is in nobody's hands any more.
TEST_F(FenceSlots, EveryCommonOneLostByAnother_AFenceSlotServes) {
  host.channel.common_slots = 4;
  host.channel.answer(Opcode::DESTROY_MKEY, kNever, 4);
  Fence one = first();
  one.go_on_unawaited();
  EXPECT_TRUE(one.advance());
  ASSERT_EQ(port.traffic->in_flight(), 0u);
  host.channel.most_fences_in_flight = 0;
  Fence other = second();
  other.go_on_unawaited();
  EXPECT_TRUE(other.advance());
  EXPECT_THAT(verdicts(other), Each(Field(&Verdict::outcome, Outcome::TornDown)));
  EXPECT_EQ(host.channel.most_fences_in_flight, 1u);
}

/// The answers came before it waited, so they say nothing of the device now.
TEST_F(FenceSlots, DeviceThatAnsweredOthersBefore_GivenUpOncePatienceIsOver) {
  Fence one = first();
  ASSERT_TRUE(one.advance());
  host.now_ns += kMs;
  host.channel.busy = true;
  Fence other = second();
  const std::uint64_t since_ns = host.now_ns;
  EXPECT_TRUE(other.advance());
  EXPECT_EQ(host.now_ns - since_ns, kPatienceNs);
  EXPECT_THAT(verdicts(other), Each(Field(&Verdict::proof, Proof::Unmap)));
}

/// Each step that finds no slot waits for one as long as a step may, whatever was waited before.
TEST_F(FenceSlots, SlotFoundAndItsCommandLost_TheNextStepWaitsForASlotAnew) {
  const auto at_ms = [](std::uint64_t ms) { return ScriptedFunction::kStartNs + ms * kMs; };
  host.channel.answer(Opcode::QP_2ERR, kNever);
  Fence alone(port, seed_plan(), targets.front(), {});
  host.channel.busy = true;
  EXPECT_EQ(alone.advance_until(at_ms(390)), Fence::Progress::Waits);
  host.channel.busy = false;
  EXPECT_EQ(alone.advance_until(at_ms(391)), Fence::Progress::Waits);
  host.channel.busy = true;
  EXPECT_EQ(alone.advance_until(at_ms(640)), Fence::Progress::Waits);
  host.channel.busy = false;
  EXPECT_TRUE(alone.advance());
  EXPECT_EQ(alone.verdict(0).proof, Proof::Mkey);
}

TEST_F(FenceSlots, WaitedForUntilTheFencesDeadline_IsOutOfTimeAndHasNotFailed) {
  answer_each({.takes_ns = 60 * kMs});
  host.channel.fence_slots = 0;
  Fence one = first();
  one.go_on_unawaited();
  Fence other = second();
  auto progress = Fence::Progress::Waits;
  while (progress == Fence::Progress::Waits) {
    (void)one.advance_until(host.now_ns + 20 * kMs);
    progress = other.advance_until(host.now_ns + kMs);
  }
  EXPECT_EQ(progress, Fence::Progress::OutOfTime);
  poll_both(one, other);
  EXPECT_THAT(verdicts(other), Each(Field(&Verdict::outcome, Outcome::TornDown)));
}

/// Fences of one lease each, which left their linger together long before anybody polled.
class LingeredTogether : public ManagerWorld {
 protected:
  static constexpr std::uint32_t kLeases = 64;

  void SetUp() override {
    slots = kLeases;
    start({});
    leases.push_back(first.lease);
    while (leases.size() < kLeases) leases.push_back(granted());
    function.channel.common_slots = 16;
    for (const Lease& lease : std::span(leases).subspan(1))
      (void)manager->start_revoke(lease.id, lease.epoch, nak_first_plan());
    function.now_ns += 5'000 * kMs;
    since_ns = function.now_ns;
  }
  void answer_each(Answer with) {
    for (const Opcode opcode : {Opcode::QP_2ERR, Opcode::DESTROY_MKEY, Opcode::RTS2RTS_QP})
      function.channel.answer(opcode, with, 4 * kLeases);
  }
  void poll_until_all_ended() {
    for (int i = 0; i < 10'000 && manager->table().count(State::Revoking) != 0; ++i)
      manager->poll();
  }
  [[nodiscard]] std::uint64_t elapsed_ms() const { return (function.now_ns - since_ns) / kMs; }

  std::vector<Lease> leases;
  std::uint64_t since_ns = 0;
};

TEST_F(LingeredTogether, SlowDevice_AllTornDown) {
  answer_each({.takes_ns = 300 * kMs});
  poll_until_all_ended();
  EXPECT_EQ(manager->table().count(State::PendingDestroy), kLeases - 1);
}

TEST_F(LingeredTogether, RevokeByNameMeanwhile_HasItsOutcomeInTime) {
  answer_each({.takes_ns = 200 * kMs});
  manager->poll();
  const std::uint64_t before_ns = function.now_ns;
  EXPECT_EQ(revoke(first.lease).outcome, Outcome::TornDown);
  EXPECT_LE(function.now_ns - before_ns, 1'000 * kMs);
}

TEST_F(LingeredTogether, FewHangAndTheDeviceAnswersTheRest_OnlyThoseAreFenced) {
  function.channel.answer(Opcode::QP_2ERR, kNever, 2);
  poll_until_all_ended();
  EXPECT_EQ(manager->fenced_count(), 2u);
  EXPECT_EQ(manager->table().count(State::PendingDestroy), kLeases - 3);
}

TEST_F(LingeredTogether, DeadDevice_OneDeadlineForAll) {
  answer_each(kNever);
  poll_until_all_ended();
  EXPECT_EQ(manager->fenced_count(), kLeases - 1);
  EXPECT_LE(elapsed_ms(), 2'000u);
}

}  // namespace
}  // namespace portcullis::lease
