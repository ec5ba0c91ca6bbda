// SPDX-License-Identifier: BSD-3-Clause
//
// One fence on many leases: the order of its passes, how many commands are in flight, what one
// lease's failure means for the others, and the one deadline. The device is a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
using ::portcullis::testing::kRefused;
using ::portcullis::testing::NotedDropRule;
using prm::Opcode;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr std::uint64_t kMs = kNsPerMs;

class FenceBatch : public FenceWorld {
 protected:
  void SetUp() override { make(4); }
};

TEST_F(FenceBatch, Seed_EveryKeyBeforeAnyQp) {
  make(2);
  Fence seed = fence(seed_plan());
  EXPECT_TRUE(seed.advance());
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::DESTROY_MKEY, Opcode::DESTROY_MKEY,
                                                  Opcode::QP_2ERR, Opcode::QP_2ERR));
  EXPECT_THAT(verdicts(seed), Each(Verdict{.outcome = Outcome::TornDown, .proof = Proof::Mkey}));
}

TEST_F(FenceBatch, Pass_AsManyInFlightAsThereAreFenceSlots) {
  make(9);
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 10 * kMs}, 9);
  host.channel.answer(Opcode::QP_2ERR, Answer{.takes_ns = 10 * kMs}, 9);
  Fence seed = fence(seed_plan());
  EXPECT_TRUE(seed.advance());
  EXPECT_EQ(host.channel.most_fences_in_flight, 3u);
  EXPECT_EQ(elapsed_ns(), 60 * kMs);
}

TEST_F(FenceBatch, OneKeyRefused_OnlyThatLeaseFenced) {
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{});
  host.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  Fence seed = fence(seed_plan());
  EXPECT_TRUE(seed.advance());
  EXPECT_EQ(seed.verdict(1), (Verdict{.outcome = Outcome::Fenced,
                                      .origin = Origin::Revoke,
                                      .proof = Proof::Unmap,
                                      .failed_mask = bit(Step::DestroyMkey)}));
  EXPECT_EQ(seed.verdict(0).outcome, Outcome::TornDown);
  EXPECT_EQ(seed.verdict(2).outcome, Outcome::TornDown);
  EXPECT_TRUE(regions[0].is_mapped());
  EXPECT_FALSE(regions[1].is_mapped());
}

TEST_F(FenceBatch, NakFirst_OneLingerForAll) {
  Fence lingering = fence(nak_first_plan());
  EXPECT_FALSE(lingering.advance());
  EXPECT_THAT(host.channel.opcodes(), Each(Opcode::DESTROY_MKEY));
  host.now_ns += 50 * kMs;
  EXPECT_TRUE(lingering.advance());
  EXPECT_THAT(host.channel.sent, SizeIs(8));
}

TEST_F(FenceBatch, AccessErrorOfEveryQp_LingerEndsThere) {
  Fence lingering = fence(nak_first_plan());
  EXPECT_FALSE(lingering.advance());
  for (std::size_t i = 0; i < 3; ++i) lingering.access_error_seen(i);
  EXPECT_FALSE(lingering.advance());
  lingering.access_error_seen(3);
  EXPECT_TRUE(lingering.advance());
  EXPECT_EQ(elapsed_ns(), 0u);
}

TEST_F(FenceBatch, CommandNeverAnswered_TheOthersTornDownWithinTheDeadline) {
  host.channel.answer(Opcode::DESTROY_MKEY, kNever);
  Fence seed = fence(seed_plan());
  EXPECT_TRUE(seed.advance());
  EXPECT_EQ(seed.verdict(0).proof, Proof::Unmap);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(seed.verdict(i).outcome, Outcome::TornDown);
  EXPECT_LE(elapsed_ns(), 800 * kMs);
}

/// Those in flight beside it were answered at once, though nobody looked before its time was up.
TEST_F(FenceBatch, CommandNeverAnsweredOfMany_TheOthersAreNotTakenForSlow) {
  make(24);
  host.channel.answer(Opcode::DESTROY_MKEY, kNever);
  Fence seed = fence(seed_plan());
  EXPECT_TRUE(seed.advance());
  for (std::size_t i = 1; i < 24; ++i) EXPECT_EQ(seed.verdict(i).outcome, Outcome::TornDown) << i;
  EXPECT_LE(elapsed_ns(), 800 * kMs);
}

TEST_F(FenceBatch, MoreThanTheDeadlineAllows_RestIsNotSentAndHasNotFailed) {
  make(24);
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 200 * kMs}, 24);
  Fence seed = fence(seed_plan());
  EXPECT_EQ(seed.advance_until(Fence::kNoLimit), Fence::Progress::OutOfTime);
  EXPECT_LE(elapsed_ns(), 800 * kMs);
  EXPECT_EQ(std::ranges::count(host.channel.opcodes(), Opcode::DESTROY_MKEY), 9);
  seed.go_on_unawaited();
  EXPECT_TRUE(seed.advance());
  EXPECT_THAT(host.channel.sent, SizeIs(48));
  EXPECT_THAT(verdicts(seed), Each(Verdict{.outcome = Outcome::TornDown, .proof = Proof::Mkey}));
  for (const DmaMemory& region : regions) EXPECT_TRUE(region.is_mapped());
}

TEST_F(FenceBatch, Unawaited_CommonSlotsAndNoLongerThanTold) {
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 100 * kMs}, 4);
  Fence seed = fence(seed_plan());
  seed.go_on_unawaited();
  const std::uint64_t told_ns = host.now_ns + 20 * kMs;
  EXPECT_EQ(seed.advance_until(told_ns), Fence::Progress::Waits);
  EXPECT_EQ(host.now_ns, told_ns);
  EXPECT_THAT(host.channel.sent, SizeIs(4));
  EXPECT_TRUE(seed.advance());
  EXPECT_EQ(host.channel.most_fences_in_flight, 0u);
  EXPECT_EQ(elapsed_ns(), 100 * kMs);
}

/// What is slow is waited for as long as its patience lasts, whatever the others took.
TEST_F(FenceBatch, UnawaitedOnASlowDevice_EveryLeaseTornDown) {
  make(24);
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 390 * kMs}, 24);
  host.channel.answer(Opcode::QP_2ERR, Answer{.takes_ns = 390 * kMs}, 24);
  Fence seed = fence(seed_plan());
  seed.go_on_unawaited();
  EXPECT_TRUE(seed.advance());
  EXPECT_THAT(verdicts(seed), Each(Verdict{.outcome = Outcome::TornDown, .proof = Proof::Mkey}));
}

TEST_F(FenceBatch, SomeOfManyNeverAnswered_OnlyThoseAreFenced) {
  make(40);
  for (const std::uint32_t key : {200U, 201U, 202U, 203U, 204U, 205U})
    host.channel.answer_on(Opcode::DESTROY_MKEY, key, kNever);
  Fence seed = fence(seed_plan());
  seed.go_on_unawaited();
  EXPECT_TRUE(seed.advance());
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(seed.verdict(i).proof, Proof::Unmap) << i;
  for (std::size_t i = 6; i < 40; ++i) EXPECT_EQ(seed.verdict(i).outcome, Outcome::TornDown) << i;
}

TEST_F(FenceBatch, GivenUp_NothingIsSentAndEveryRegionUnmapped) {
  Fence seed = fence(seed_plan());
  seed.give_up();
  EXPECT_TRUE(seed.advance());
  EXPECT_THAT(host.channel.sent, SizeIs(0));
  for (const Verdict& verdict : verdicts(seed)) EXPECT_EQ(verdict.proof, Proof::Unmap);
}

TEST_F(FenceBatch, DeviceNeverAnswers_FourSlotsLostAndEveryRegionUnmapped) {
  make(24);
  host.channel.answer(Opcode::DESTROY_MKEY, kNever, 24);
  host.channel.answer(Opcode::QP_2ERR, kNever, 48);
  Fence seed = fence(seed_plan());
  EXPECT_TRUE(seed.advance());
  EXPECT_LE(host.channel.sent.size(), 6u);
  EXPECT_LE(elapsed_ns(), 800 * kMs);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(seed.verdict(i).proof, Proof::Unmap);
}

/// What it answered before the fence ran out of time says nothing of it now. Eight are in flight,
/// and one more is sent for each of the first three that are lost.
TEST_F(FenceBatch, DeviceThatDiesAfterTheDeadline_GivenUpAndEveryRegionUnmapped) {
  make(24);
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 200 * kMs}, 9);
  host.channel.answer(Opcode::DESTROY_MKEY, kNever, 15);
  host.channel.answer(Opcode::QP_2ERR, kNever, 48);
  Fence seed = fence(seed_plan());
  ASSERT_EQ(seed.advance_until(Fence::kNoLimit), Fence::Progress::OutOfTime);
  const std::size_t sent = host.channel.sent.size();
  seed.go_on_unawaited();
  EXPECT_TRUE(seed.advance());
  EXPECT_LE(host.channel.sent.size() - sent, 11u);
  for (std::size_t i = 9; i < 24; ++i) EXPECT_EQ(seed.verdict(i).proof, Proof::Unmap) << i;
}

TEST_F(FenceBatch, NothingSentBeforeTheDeadline_OutOfTimeAndNothingHasFailed) {
  Fence seed = fence(seed_plan());
  host.now_ns += 800 * kMs;
  EXPECT_EQ(seed.advance_until(Fence::kNoLimit), Fence::Progress::OutOfTime);
  seed.go_on_unawaited();
  EXPECT_TRUE(seed.advance());
  EXPECT_THAT(verdicts(seed), Each(Verdict{.outcome = Outcome::TornDown, .proof = Proof::Mkey}));
}

TEST_F(FenceBatch, RegionsThatStayAndResetAllowed_FunctionTakenOnceForAll) {
  host.channel.answer(Opcode::DESTROY_MKEY, kRefused, 4);
  host.dma.refuse_unmap = true;
  Fence seed = fence(seed_plan(), {.may_reset_function = true});
  EXPECT_TRUE(seed.advance());
  EXPECT_THAT(host.function.done, ElementsAre("bus master off", "reset"));
  for (const Verdict& verdict : verdicts(seed)) EXPECT_EQ(verdict.proof, Proof::Function);
}

TEST_F(FenceBatch, EntriesTakeTooLong_LastOnesLeftOutAndTornDownDegraded) {
  make(5);
  NotedDropRule drop;
  drop.now_ns = &host.now_ns;
  drop.takes_ns = 150 * kMs;
  port.steering = &drop;
  Fence seed = fence(seed_plan());
  EXPECT_TRUE(seed.advance());
  EXPECT_THAT(drop.installed, ElementsAre(0u, 1u, 2u, 3u));
  EXPECT_EQ(seed.verdict(3).steering, SteeringState::Ok);
  EXPECT_EQ(seed.verdict(4), (Verdict{.outcome = Outcome::TornDown,
                                      .steering = SteeringState::Degraded,
                                      .proof = Proof::Mkey,
                                      .failed_mask = bit(Step::InstallDrop)}));
}

TEST_F(FenceBatch, Legacy_EveryLeaseGivenBack) {
  Fence legacy = fence(legacy_plan());
  EXPECT_TRUE(legacy.advance());
  EXPECT_THAT(host.channel.sent, SizeIs(20));
  for (const DmaMemory& region : regions) EXPECT_FALSE(region.is_mapped());
}

TEST_F(FenceBatch, Overlap_KeyAndQpOfEachLeaseTogether) {
  make(2);
  const Plan together = seed_plan().overlapped().value();
  Fence seed = fence(together);
  EXPECT_TRUE(seed.advance());
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::DESTROY_MKEY, Opcode::QP_2ERR,
                                                  Opcode::DESTROY_MKEY, Opcode::QP_2ERR));
}

/// An entry is a command too, and there are three slots.
TEST_F(FenceBatch, Overlap_EveryEntryFindsASlotFree) {
  NotedDropRule drop;
  drop.in_flight = &host.channel.fences_in_flight;
  port.steering = &drop;
  const Plan together = seed_plan().overlapped().value();
  Fence seed = fence(together);
  EXPECT_TRUE(seed.advance());
  EXPECT_THAT(drop.installed, SizeIs(4));
  EXPECT_EQ(drop.most_in_flight, 2u);
}

}  // namespace
}  // namespace portcullis::lease
