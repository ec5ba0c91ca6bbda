// SPDX-License-Identifier: BSD-3-Clause
//
// The two tables that lease/lease_table.hpp opens with, one test a row, and what the table answers.
#include "lease/lease_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace portcullis::lease {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::uint64_t kGraceNs = 5'000'000'000;
constexpr std::uint64_t kLongNs = 9'000'000'000;
constexpr Verdict kTornDown{.outcome = Outcome::TornDown, .proof = Proof::Mkey};
constexpr Verdict kFenced{.outcome = Outcome::Fenced,
                          .origin = Origin::Revoke,
                          .proof = Proof::Unmap,
                          .failed_mask = bit(Step::DestroyMkey)};

/// A table of two slots and ways to bring a lease into each state.
class LeaseTableTest : public ::testing::Test {
 protected:
  Lease active() { return table.grant().value(); }
  Lease revoking() {
    const Lease lease = active();
    EXPECT_EQ(table.revoke(lease.id, lease.epoch).kind, Claim::Kind::Run);
    return lease;
  }
  Lease pending(std::uint64_t fenced_at_ns = 0) {
    const Lease lease = revoking();
    EXPECT_TRUE(table.torn_down(lease.slot, kTornDown, fenced_at_ns, kGraceNs));
    return lease;
  }
  Lease fenced() {
    const Lease lease = revoking();
    EXPECT_TRUE(table.fence(lease.slot, kFenced, 7));
    return lease;
  }
  State state(const Lease& lease) const { return table.state(lease.slot); }

  LeaseTable table = LeaseTable::create({.slots = 2, .first_epoch = 1}).value();
};

// ---- allowed ----

TEST_F(LeaseTableTest, FreeSlotGranted_Active) {
  const Lease lease = active();
  EXPECT_EQ(state(lease), State::Active);
  EXPECT_EQ(table.count(State::Active), 1u);
}

TEST_F(LeaseTableTest, RevokeOfActive_RevokingAndOneRun) {
  const Lease lease = active();
  EXPECT_EQ(table.revoke(lease.id, lease.epoch).kind, Claim::Kind::Run);
  EXPECT_EQ(state(lease), State::Revoking);
}

TEST_F(LeaseTableTest, SecondRevokeWhileRevoking_Joins) {
  const Lease lease = revoking();
  EXPECT_EQ(table.revoke(lease.id, lease.epoch).kind, Claim::Kind::Join);
}

TEST_F(LeaseTableTest, TornDown_PendingDestroyWithItsVerdict) {
  const Lease lease = pending();
  EXPECT_EQ(state(lease), State::PendingDestroy);
  EXPECT_EQ(table.verdict(lease.slot), kTornDown);
}

TEST_F(LeaseTableTest, FenceWhileRevoking_FencedAndCounted) {
  const Lease lease = fenced();
  EXPECT_EQ(state(lease), State::Fenced);
  EXPECT_EQ(table.fenced_count(), 1u);
}

TEST_F(LeaseTableTest, FreeWhileRevoking_Free) {
  const Lease lease = revoking();
  EXPECT_TRUE(table.free(lease.slot));
  EXPECT_EQ(state(lease), State::Free);
}

TEST_F(LeaseTableTest, QuarantinedAfterGrace_StaysPendingDestroyUntilTheLongerWait) {
  const Lease lease = pending();
  ASSERT_EQ(table.take_due(kGraceNs), lease.slot);
  EXPECT_TRUE(table.quarantine(lease.slot, kLongNs));
  EXPECT_EQ(state(lease), State::PendingDestroy);
  EXPECT_TRUE(table.is_quarantined(lease.slot));
  EXPECT_EQ(table.take_due(kLongNs - 1), std::nullopt);
  EXPECT_EQ(table.take_due(kLongNs), lease.slot);
}

TEST_F(LeaseTableTest, PendingDestroyDueAndDestroyed_Free) {
  const Lease lease = pending();
  ASSERT_EQ(table.take_due(kGraceNs), lease.slot);
  EXPECT_TRUE(table.free(lease.slot));
  EXPECT_EQ(state(lease), State::Free);
}

TEST_F(LeaseTableTest, PendingDestroyDueAndFailed_Fenced) {
  const Lease lease = pending();
  ASSERT_EQ(table.take_due(kGraceNs), lease.slot);
  EXPECT_TRUE(table.fence(lease.slot, kFenced, kGraceNs));
  EXPECT_EQ(state(lease), State::Fenced);
}

TEST_F(LeaseTableTest, FunctionLost_EveryLeaseFencedWithItsMemoryProved) {
  const Lease first = active();
  const Lease second = pending();
  table.function_lost(9);
  EXPECT_EQ(state(first), State::Fenced);
  EXPECT_EQ(table.verdict(first.slot).proof, Proof::Function);
  EXPECT_EQ(table.verdict(first.slot).origin, Origin::Revoke);
  EXPECT_EQ(state(second), State::Fenced);
  EXPECT_EQ(table.verdict(second.slot).proof, Proof::Mkey);
  EXPECT_EQ(table.verdict(second.slot).origin, Origin::Sweep);
  EXPECT_EQ(table.take_due(~std::uint64_t{0}), std::nullopt);
}

TEST_F(LeaseTableTest, FunctionLost_UnprovedFencedLeaseIsProved) {
  const Lease lease = revoking();
  Verdict unproved = kFenced;
  unproved.proof = Proof::None;
  ASSERT_TRUE(table.fence(lease.slot, unproved, 7));
  table.function_lost(9);
  EXPECT_EQ(table.verdict(lease.slot).proof, Proof::Function);
  EXPECT_EQ(table.fenced_count(), 1u);
}

TEST_F(LeaseTableTest, FunctionReset_FencedSlotsFree) {
  fenced();
  fenced();
  EXPECT_TRUE(table.function_reset());
  EXPECT_EQ(table.count(State::Free), 2u);
  EXPECT_EQ(table.fenced_count(), 0u);
  EXPECT_THAT(table.fenced_summary(), SizeIs(0));
}

// ---- prohibited ----

TEST_F(LeaseTableTest, RevokeOfFree_NotFoundAndStillFree) {
  EXPECT_EQ(table.revoke(0, 0).kind, Claim::Kind::NotFound);
  EXPECT_EQ(table.count(State::Free), 2u);
}

TEST_F(LeaseTableTest, TornDownWhileFree_Refused) {
  const auto result = table.torn_down(1, kTornDown, 0, kGraceNs);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().text, "lease slot 1 is FREE; REVOKING expected");
}

TEST_F(LeaseTableTest, FenceWhileFree_Refused) {
  EXPECT_FALSE(table.fence(0, kFenced, 0));
  EXPECT_EQ(table.fenced_count(), 0u);
}

TEST_F(LeaseTableTest, FreeWhileActive_Refused) {
  const Lease lease = active();
  EXPECT_FALSE(table.free(lease.slot));
  EXPECT_EQ(state(lease), State::Active);
}

TEST_F(LeaseTableTest, TornDownWhileActive_Refused) {
  const Lease lease = active();
  EXPECT_FALSE(table.torn_down(lease.slot, kTornDown, 0, kGraceNs));
  EXPECT_EQ(state(lease), State::Active);
}

TEST_F(LeaseTableTest, FenceWhileActive_Refused) {
  const Lease lease = active();
  EXPECT_FALSE(table.fence(lease.slot, kFenced, 0));
  EXPECT_EQ(state(lease), State::Active);
}

TEST_F(LeaseTableTest, GrantWhileRevoking_TakesAnotherSlot) {
  const Lease lease = revoking();
  EXPECT_NE(active().slot, lease.slot);
  EXPECT_EQ(state(lease), State::Revoking);
}

TEST_F(LeaseTableTest, GrantWhilePendingDestroy_TakesAnotherSlot) {
  const Lease lease = pending();
  EXPECT_NE(active().slot, lease.slot);
  EXPECT_EQ(state(lease), State::PendingDestroy);
}

TEST_F(LeaseTableTest, RevokeOfPendingDestroy_RepeatsTheOutcome) {
  const Lease lease = pending();
  const Claim claim = table.revoke(lease.id, lease.epoch);
  EXPECT_EQ(claim.kind, Claim::Kind::Repeat);
  EXPECT_EQ(claim.verdict, kTornDown);
  EXPECT_EQ(state(lease), State::PendingDestroy);
}

TEST_F(LeaseTableTest, FreeWhilePendingDestroyAndNotDue_Refused) {
  const Lease lease = pending();
  EXPECT_EQ(table.take_due(kGraceNs - 1), std::nullopt);
  EXPECT_FALSE(table.free(lease.slot));
  EXPECT_EQ(state(lease), State::PendingDestroy);
}

TEST_F(LeaseTableTest, FenceWhilePendingDestroyAndNotDue_Refused) {
  const Lease lease = pending();
  EXPECT_FALSE(table.fence(lease.slot, kFenced, 0));
  EXPECT_EQ(state(lease), State::PendingDestroy);
}

TEST_F(LeaseTableTest, QuarantineOfWhatIsNotDue_Refused) {
  const Lease lease = pending();
  EXPECT_FALSE(table.quarantine(lease.slot, kLongNs));
  EXPECT_FALSE(table.is_quarantined(lease.slot));
}

TEST_F(LeaseTableTest, RevokeOfFenced_RepeatsTheOutcome) {
  const Lease lease = fenced();
  const Claim claim = table.revoke(lease.id, lease.epoch);
  EXPECT_EQ(claim.kind, Claim::Kind::Repeat);
  EXPECT_EQ(claim.verdict, kFenced);
}

TEST_F(LeaseTableTest, TornDownWhileFenced_Refused) {
  const Lease lease = fenced();
  EXPECT_FALSE(table.torn_down(lease.slot, kTornDown, 0, kGraceNs));
  EXPECT_EQ(state(lease), State::Fenced);
}

TEST_F(LeaseTableTest, FreeWhileFenced_Refused) {
  const Lease lease = fenced();
  EXPECT_FALSE(table.free(lease.slot));
  EXPECT_EQ(state(lease), State::Fenced);
}

TEST_F(LeaseTableTest, EverySlotFenced_NothingIsGranted) {
  fenced();
  fenced();
  const auto lease = table.grant();
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, Errc::OutOfResources);
  EXPECT_THAT(lease.error().text, HasSubstr("2 FENCED"));
}

TEST_F(LeaseTableTest, FunctionResetUnderALivingLease_Refused) {
  fenced();
  active();
  const auto result = table.function_reset();
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().text, HasSubstr("1 leases that are not FENCED"));
  EXPECT_EQ(table.fenced_count(), 1u);
}

TEST_F(LeaseTableTest, SlotBeyondTheTable_Refused) {
  const auto result = table.free(2);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().text, HasSubstr("lease slot 2 of 2"));
}

// ---- ids and epochs ----

TEST_F(LeaseTableTest, OldEpochAfterReuse_NotFoundWithTheCurrentEpoch) {
  const Lease old = revoking();
  ASSERT_TRUE(table.free(old.slot));
  active();
  const Lease reused = active();
  ASSERT_EQ(reused.slot, old.slot);
  const Claim claim = table.revoke(old.id, old.epoch);
  EXPECT_EQ(claim.kind, Claim::Kind::NotFound);
  EXPECT_EQ(claim.current_epoch, old.epoch + 1);
  EXPECT_EQ(state(reused), State::Active);
}

TEST_F(LeaseTableTest, RightIdAndOtherEpoch_NotFoundWithTheCurrentEpoch) {
  const Lease lease = active();
  const Claim claim = table.revoke(lease.id, lease.epoch + 1);
  EXPECT_EQ(claim.kind, Claim::Kind::NotFound);
  EXPECT_EQ(claim.current_epoch, lease.epoch);
  EXPECT_EQ(state(lease), State::Active);
}

TEST_F(LeaseTableTest, OldIdWithTheCurrentEpoch_NotFound) {
  const Lease old = revoking();
  ASSERT_TRUE(table.free(old.slot));
  active();
  const Lease reused = active();
  EXPECT_EQ(table.revoke(old.id, reused.epoch).kind, Claim::Kind::NotFound);
}

TEST_F(LeaseTableTest, IdOfNoSlot_NotFoundWithEpochZero) {
  const Claim claim = table.revoke(0xffff, 1);
  EXPECT_EQ(claim.kind, Claim::Kind::NotFound);
  EXPECT_EQ(claim.current_epoch, 0u);
}

TEST_F(LeaseTableTest, IdOfASlotBeyondTheTable_NotFound) {
  const Lease lease = active();
  for (const std::uint64_t slot : {2U, 3U, 100U, 0xffffU})
    EXPECT_EQ(table.find((lease.id & ~std::uint64_t{0xffff}) | slot, lease.epoch), std::nullopt);
}

TEST(LeaseTable, FirstEpoch_AboveThoseOfTheTableBefore) {
  auto table = LeaseTable::create({.slots = 1, .first_epoch = 42}).value();
  EXPECT_EQ(table.grant()->epoch, 42u);
}

TEST(LeaseTable, FreedSlots_ComeBackInTheOrderOfFreeing) {
  auto table = LeaseTable::create({.slots = 3}).value();
  const Lease first = table.grant().value();
  (void)table.revoke(first.id, first.epoch);
  ASSERT_TRUE(table.free(first.slot));
  EXPECT_EQ(table.grant()->slot, 1u);
  EXPECT_EQ(table.grant()->slot, 2u);
  EXPECT_EQ(table.grant()->slot, first.slot);
}

TEST(LeaseTable, SlotCountOutOfRange_RefusedWithTheRange) {
  const auto none = LeaseTable::create({.slots = 0});
  const auto many = LeaseTable::create({.slots = LeaseTable::kMaxSlots + 1});
  ASSERT_FALSE(none || many);
  EXPECT_EQ(none.error().text, "a lease table of 0 slots; 1 to 65000 expected");
  EXPECT_EQ(many.error().text, "a lease table of 65001 slots; 1 to 65000 expected");
}

TEST(LeaseTable, NoFirstEpoch_EachTableCountsFromAnIncarnationOfItsOwn) {
  std::set<std::uint64_t> epochs;
  for (int i = 0; i < 64; ++i)
    epochs.insert(LeaseTable::create({.slots = 1}).value().grant()->epoch);
  EXPECT_EQ(epochs.size(), 64u);
  EXPECT_GT(*epochs.rbegin() - *epochs.begin(), std::uint64_t{1} << 60);
  EXPECT_LE(*epochs.rbegin(), std::uint64_t{1} << 63);
}

TEST(LeaseTable, NoFirstEpochInARunThatIsRepeated_CountsFromOne) {
  EXPECT_EQ(LeaseTable::create({.slots = 1, .name_seed = 7}).value().grant()->epoch, 1u);
}

TEST(LeaseTable, FunctionResetInTheMidst_EpochsGoOn) {
  auto table = LeaseTable::create({.slots = 1}).value();
  const Lease first = table.grant().value();
  table.drained(9);
  ASSERT_TRUE(table.function_reset());
  const Lease next = table.grant().value();
  EXPECT_EQ(next.epoch, first.epoch + 1);
  EXPECT_EQ(table.revoke(first.id, first.epoch).kind, Claim::Kind::NotFound);
}

TEST(LeaseTable, DrainedInEveryState_OutcomesAsTheyWereToldAndTheRestTornDown) {
  auto table = LeaseTable::create({.slots = 5}).value();
  std::vector<Lease> of;
  for (int i = 0; i < 4; ++i) of.push_back(table.grant().value());
  for (std::size_t i = 1; i < 4; ++i) (void)table.revoke(of[i].id, of[i].epoch);
  ASSERT_TRUE(table.torn_down(of[2].slot, kTornDown, 3, kGraceNs));
  ASSERT_TRUE(table.fence(of[3].slot, kFenced, 4));
  table.drained(9);
  const Verdict by_the_drain{.proof = Proof::Function};
  EXPECT_EQ(table.revoke(of[0].id, of[0].epoch).verdict, by_the_drain);
  EXPECT_EQ(table.revoke(of[1].id, of[1].epoch).verdict, by_the_drain);
  EXPECT_EQ(table.revoke(of[2].id, of[2].epoch).verdict, kTornDown);
  EXPECT_EQ(table.revoke(of[3].id, of[3].epoch).verdict, kFenced);
  EXPECT_EQ(table.count(State::PendingDestroy), 4u);
  EXPECT_EQ(table.take_due(~std::uint64_t{0}), std::nullopt);
  ASSERT_TRUE(table.function_reset());
  EXPECT_EQ(table.count(State::Free), 5u);
}

/// Two that were freed in another order than that of their slots.
TEST(LeaseTable, DrainedBesideFreeSlots_EachSlotServesOnce) {
  auto table = LeaseTable::create({.slots = 4}).value();
  std::vector<Lease> of;
  for (int i = 0; i < 3; ++i) of.push_back(table.grant().value());
  for (const std::size_t i : {1U, 0U}) {
    (void)table.revoke(of[i].id, of[i].epoch);
    ASSERT_TRUE(table.free(of[i].slot));
  }
  table.drained(9);
  ASSERT_TRUE(table.function_reset());
  std::set<std::uint32_t> slots;
  for (int i = 0; i < 4; ++i) slots.insert(table.grant().value().slot);
  EXPECT_THAT(slots, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(table.grant());
}

TEST(LeaseTable, PendingAndNotDrained_FunctionResetRefused) {
  auto table = LeaseTable::create({.slots = 1}).value();
  const Lease lease = table.grant().value();
  (void)table.revoke(lease.id, lease.epoch);
  ASSERT_TRUE(table.torn_down(lease.slot, kTornDown, 0, kGraceNs));
  EXPECT_FALSE(table.function_reset());
}

/// Nothing of the sweep that held it goes over to the slot's next lease.
TEST(LeaseTable, DrainedWhileASlotIsInHand_ItsNextLeaseIsNot) {
  auto table = LeaseTable::create({.slots = 1}).value();
  const Lease lease = table.grant().value();
  (void)table.revoke(lease.id, lease.epoch);
  ASSERT_TRUE(table.torn_down(lease.slot, kTornDown, 0, kGraceNs));
  ASSERT_EQ(table.take_due(kGraceNs), lease.slot);
  table.drained(kGraceNs);
  EXPECT_FALSE(table.quarantine(lease.slot, 1));
  ASSERT_TRUE(table.function_reset());
  ASSERT_TRUE(table.grant());
  EXPECT_FALSE(table.free(lease.slot));
  EXPECT_EQ(table.state(lease.slot), State::Active);
}

// ---- what goes over to the slot's next lease: nothing ----

/// A table of one slot, whose lease is due and taken, in its second wait.
class OneSlot : public ::testing::Test {
 protected:
  void SetUp() override {
    const Lease lease = table.grant().value();
    (void)table.revoke(lease.id, lease.epoch);
    ASSERT_TRUE(table.torn_down(0, kTornDown, 0, kGraceNs));
    ASSERT_EQ(table.take_due(kGraceNs), 0u);
    ASSERT_TRUE(table.quarantine(0, kLongNs));
    ASSERT_EQ(table.take_due(kLongNs), 0u);
  }
  void expect_nothing_of_it() {
    EXPECT_FALSE(table.is_quarantined(0));
    ASSERT_TRUE(table.function_reset());
    ASSERT_TRUE(table.grant());
    EXPECT_EQ(table.verdict(0), Verdict{});
    EXPECT_FALSE(table.free(0));
    EXPECT_FALSE(table.fence(0, kFenced, 0));
    EXPECT_FALSE(table.quarantine(0, kLongNs));
    EXPECT_EQ(table.state(0), State::Active);
  }
  LeaseTable table = LeaseTable::create({.slots = 1}).value();
};

TEST_F(OneSlot, Freed_NextLeaseHasNothingOfIt) {
  ASSERT_TRUE(table.free(0));
  expect_nothing_of_it();
}

TEST_F(OneSlot, FreedWithAVerdict_TheVerdictIsKeptUntilTheNextLease) {
  ASSERT_TRUE(table.free(0, kFenced));
  EXPECT_EQ(table.verdict(0), kFenced);
  expect_nothing_of_it();
}

TEST_F(OneSlot, Fenced_NextLeaseHasNothingOfIt) {
  ASSERT_TRUE(table.fence(0, kFenced, 1));
  expect_nothing_of_it();
}

TEST_F(OneSlot, FunctionLost_NextLeaseHasNothingOfIt) {
  table.function_lost(1);
  expect_nothing_of_it();
}

TEST_F(OneSlot, Drained_NextLeaseHasNothingOfIt) {
  table.drained(1);
  expect_nothing_of_it();
}

TEST_F(OneSlot, DrainedAndReset_NextPendingLeaseMayNotBeResetAgain) {
  table.drained(1);
  ASSERT_TRUE(table.function_reset());
  EXPECT_FALSE(table.is_drained());
  const Lease next = table.grant().value();
  (void)table.revoke(next.id, next.epoch);
  ASSERT_TRUE(table.torn_down(0, kTornDown, 2, kGraceNs));
  EXPECT_FALSE(table.function_reset());
}

TEST_F(LeaseTableTest, FreeWhileQuarantinedAndNotDue_Refused) {
  const Lease lease = pending();
  ASSERT_EQ(table.take_due(kGraceNs), lease.slot);
  ASSERT_TRUE(table.quarantine(lease.slot, kLongNs));
  EXPECT_FALSE(table.free(lease.slot));
  EXPECT_FALSE(table.fence(lease.slot, kFenced, 0));
  EXPECT_FALSE(table.quarantine(lease.slot, kLongNs));
  EXPECT_EQ(state(lease), State::PendingDestroy);
}

/// They wait in the order of their fences, which is not that of their slots.
TEST_F(LeaseTableTest, FunctionLostWhileTwoWait_EachIsFencedOnce) {
  const Lease first = revoking();
  const Lease second = pending();
  ASSERT_TRUE(table.torn_down(first.slot, kTornDown, 0, kGraceNs));
  table.function_lost(9);
  EXPECT_THAT(table.fenced_summary(),
              ElementsAre(Field(&FencedLease::lease, first), Field(&FencedLease::lease, second)));
  EXPECT_EQ(table.fenced_summary()[1].fenced_at_ns, 9u);
}

TEST_F(LeaseTableTest, Drained_NobodyIsListedAsFenced) {
  fenced();
  table.drained(9);
  EXPECT_THAT(table.fenced_summary(), SizeIs(0));
}

TEST_F(LeaseTableTest, FreeWithAVerdictWhileActive_RefusedAndTheVerdictStays) {
  const Lease lease = active();
  const Verdict before = table.verdict(lease.slot);
  EXPECT_FALSE(table.free(lease.slot, kFenced));
  EXPECT_EQ(table.verdict(lease.slot), before);
  EXPECT_EQ(state(lease), State::Active);
}

// ---- the order of the sweep ----

class DueOrder : public ::testing::Test {
 protected:
  std::uint32_t pending(std::uint64_t fenced_at_ns, std::uint64_t wait_ns) {
    const Lease lease = table.grant().value();
    (void)table.revoke(lease.id, lease.epoch);
    EXPECT_TRUE(table.torn_down(lease.slot, kTornDown, fenced_at_ns, wait_ns));
    return lease.slot;
  }
  LeaseTable table = LeaseTable::create({.slots = 16}).value();
};

TEST_F(DueOrder, SeveralDue_LongestDueFirst) {
  const auto late = pending(0, 20);
  const auto early = pending(5, 10);
  EXPECT_EQ(table.take_due(20), early);
  EXPECT_EQ(table.take_due(20), late);
  EXPECT_EQ(table.take_due(20), std::nullopt);
}

TEST_F(DueOrder, QuarantineOfAnEarlierFence_DueBeforeALaterGrace) {
  const auto first = pending(0, 10);
  const auto second = pending(8, 10);
  ASSERT_EQ(table.take_due(10), first);
  ASSERT_TRUE(table.quarantine(first, 15));
  EXPECT_EQ(table.take_due(18), first);
  EXPECT_EQ(table.take_due(18), second);
}

TEST_F(DueOrder, TakenAndNotGivenBack_NotTakenAgain) {
  const auto slot = pending(0, 10);
  EXPECT_EQ(table.take_due(10), slot);
  EXPECT_EQ(table.take_due(100), std::nullopt);
}

// ---- post-mortem ----

TEST_F(LeaseTableTest, FencedSummary_TellsMaskOriginProofAndOrder) {
  const Lease first = fenced();
  const Lease second = fenced();
  const auto rows = table.fenced_summary();
  ASSERT_THAT(rows,
              ElementsAre(Field(&FencedLease::lease, first), Field(&FencedLease::lease, second)));
  EXPECT_EQ(rows[0].verdict, kFenced);
  EXPECT_EQ(rows[0].fenced_at_ns, 7u);
}

TEST(FencedLease, Described_OneLineWithEverythingForThePostMortem) {
  const FencedLease fenced{.lease = {.id = 0x30002, .epoch = 7, .slot = 2},
                           .verdict = kFenced,
                           .fenced_at_ns = 12'500'000};
  EXPECT_EQ(describe(fenced),
            "slot 2 id 0x30002 epoch 7 at 12 ms: outcome=Fenced failed=DESTROY_MKEY origin=REVOKE "
            "steering=absent memory=proved by IOMMU unmap");
}

// ---- size ----

/// The largest table, every slot of it waiting.
class FullTable : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::uint32_t slot = 0; slot < LeaseTable::kMaxSlots; ++slot) {
      const Lease lease = table.grant().value();
      (void)table.revoke(lease.id, lease.epoch);
      ASSERT_TRUE(table.torn_down(lease.slot, kTornDown, slot, kGraceNs));
    }
  }
  LeaseTable table = LeaseTable::create({.slots = LeaseTable::kMaxSlots}).value();
};

TEST_F(FullTable, SixtyFiveThousandSlots_AtMost16MiB) {
  EXPECT_EQ(table.slots(), 65'000u);
  EXPECT_LE(table.bytes(), std::size_t{16} << 20);
}

TEST(LeaseTable, ManyThatWaitEquallyLong_TakeNoMoreMemoryThanOne) {
  auto table = LeaseTable::create({.slots = 1'000}).value();
  std::size_t one = 0;
  for (std::uint32_t slot = 0; slot < 1'000; ++slot) {
    const Lease lease = table.grant().value();
    (void)table.revoke(lease.id, lease.epoch);
    ASSERT_TRUE(table.torn_down(lease.slot, kTornDown, slot, kGraceNs));
    one = std::max(one, slot == 0 ? table.bytes() : 0);
  }
  EXPECT_EQ(table.bytes(), one);
}

TEST_F(FullTable, TenDue_TenTakenInOrder) {
  const std::uint64_t now_ns = kGraceNs + 9;
  std::set<std::uint32_t> taken;
  while (const auto slot = table.take_due(now_ns)) taken.insert(*slot);
  EXPECT_THAT(taken, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(FullTable, OneMoreGrant_RefusedAndSaysHowTheSlotsAreUsed) {
  const auto lease = table.grant();
  ASSERT_FALSE(lease);
  EXPECT_THAT(lease.error().text, HasSubstr("of 65000 slots 0 are ACTIVE, 65000 on their way out"));
}

}  // namespace
}  // namespace portcullis::lease
