// SPDX-License-Identifier: BSD-3-Clause
//
// What happens to many leases and over time: batches, tenants and their quota, time to live, and
// what becomes of a region when its lease is gone. The device is a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/dma_bytes.hpp"
#include "tests/lease/manager_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::kRefused;
using ::portcullis::testing::ManagerWorld;
using prm::Opcode;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kMs = kNsPerMs;

class LeaseLife : public ManagerWorld {
 protected:
  Lease granted_to(TenantId tenant) {
    request.tenant = tenant;
    return granted();
  }
};

// ---- batches ----

TEST_F(LeaseLife, Batch_EveryKeyFirstAndAnswersInOrder) {
  const Lease second = granted();
  const std::vector<LeaseName> names{name_of(second), name_of(first.lease)};
  const auto answers = manager->revoke_batch(names, seed_plan());
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::DESTROY_MKEY, Opcode::DESTROY_MKEY, Opcode::QP_2ERR,
                                     Opcode::QP_2ERR));
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_EQ(answers[0].outcome, Outcome::TornDown);
  EXPECT_EQ(answers[0].current_epoch, second.epoch);
  EXPECT_EQ(answers[1].outcome, Outcome::TornDown);
}

TEST_F(LeaseLife, BatchWithAStrangerATwinAndAnEndedOne_EachAnsweredInItsWay) {
  const Lease ended = granted();
  (void)revoke(ended);
  function.forget();
  const std::vector<LeaseName> names{
      name_of(first.lease), {first.lease.id, 77}, name_of(ended), name_of(first.lease)};
  const auto answers = manager->revoke_batch(names, seed_plan());
  ASSERT_THAT(answers, SizeIs(4));
  EXPECT_EQ(answers[0].outcome, Outcome::TornDown);
  EXPECT_EQ(answers[1].outcome, Outcome::NotFound);
  EXPECT_EQ(answers[2].outcome, Outcome::TornDown);
  EXPECT_EQ(answers[3], answers[0]);
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::QP_2ERR, Opcode::DESTROY_MKEY));
}

TEST_F(LeaseLife, EmptyBatch_NoAnswerAndNoCommand) {
  EXPECT_THAT(manager->revoke_batch({}, seed_plan()), IsEmpty());
  EXPECT_THAT(opcodes(), IsEmpty());
}

TEST_F(LeaseLife, BatchMeetsALingeringLease_JoinsItAndFencesTheOther) {
  const Lease second = granted();
  (void)manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan());
  const std::vector<LeaseName> names{name_of(first.lease), name_of(second)};
  const auto answers = manager->revoke_batch(names, seed_plan());
  EXPECT_EQ(answers[0].outcome, Outcome::TornDown);
  EXPECT_EQ(answers[1].outcome, Outcome::TornDown);
  EXPECT_THAT(opcodes(), SizeIs(4));
}

TEST_F(LeaseLife, RevokeOfOneInALingeringBatch_AllEndAndNothingIsSentTwice) {
  start({.plan = nak_first_plan()});
  const Lease second = granted();
  ASSERT_TRUE(manager->renew(first.lease.id, first.lease.epoch, 10));
  ASSERT_TRUE(manager->renew(second.id, second.epoch, 10));
  poll_at(10);
  EXPECT_EQ(state(first.lease), State::Revoking);
  EXPECT_EQ(revoke(second).outcome, Outcome::TornDown);
  EXPECT_EQ(state(first.lease), State::PendingDestroy);
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::DESTROY_MKEY, Opcode::DESTROY_MKEY, Opcode::QP_2ERR,
                                     Opcode::QP_2ERR));
}

TEST_F(LeaseLife, OneOfABatchRefused_OthersTornDown) {
  const Lease second = granted();
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  const std::vector<LeaseName> names{name_of(first.lease), name_of(second)};
  const auto answers = manager->revoke_batch(names, seed_plan());
  EXPECT_EQ(answers[0].outcome, Outcome::Fenced);
  EXPECT_EQ(answers[1].outcome, Outcome::TornDown);
  EXPECT_EQ(state(first.lease), State::Fenced);
  EXPECT_EQ(state(second), State::PendingDestroy);
}

TEST_F(LeaseLife, BatchTooLargeForItsDeadline_RestIsRevokingAndEndsInPolls) {
  slots = 8;
  start({});
  std::vector<LeaseName> names{name_of(first.lease)};
  for (int i = 0; i < 7; ++i) names.push_back(name_of(granted()));
  function.channel.fence_slots = 1;
  function.channel.answer(Opcode::DESTROY_MKEY, {.takes_ns = 90 * kMs}, 8);
  function.channel.answer(Opcode::QP_2ERR, {.takes_ns = 90 * kMs}, 8);
  const std::uint64_t before_ns = function.now_ns;
  std::vector<Outcome> outcomes;
  for (const RevokeAnswer& answer : manager->revoke_batch(names, seed_plan())) {
    outcomes.push_back(answer.outcome);
    EXPECT_EQ(answer.expected_ms != 0, answer.outcome == Outcome::Revoking);
  }
  EXPECT_LE(function.now_ns - before_ns, 800 * kMs);
  EXPECT_THAT(outcomes, Contains(Outcome::Revoking));
  EXPECT_EQ(manager->fenced_count(), 0u);
  for (int i = 0; i < 200; ++i) manager->poll();
  for (const RevokeAnswer& answer : manager->revoke_batch(names, seed_plan()))
    EXPECT_EQ(answer.outcome, Outcome::TornDown);
  EXPECT_THAT(opcodes(), SizeIs(16));
}

/// Nothing hung and nothing was refused: this process stood still.
TEST_F(LeaseLife, PolledOnlyAfterTheFencesDeadline_TornDownAllTheSame) {
  (void)manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan());
  poll_at(5'000);
  EXPECT_EQ(state(first.lease), State::PendingDestroy);
  EXPECT_EQ(revoke(first.lease).outcome, Outcome::TornDown);
}

TEST_F(LeaseLife, Outcomes_EachHeardOnce) {
  std::vector<Lease> heard;
  host.on_outcome = [&heard](const Lease& lease, const Verdict& verdict) {
    EXPECT_EQ(verdict.outcome, Outcome::TornDown);
    heard.push_back(lease);
  };
  start({});
  (void)revoke(first.lease);
  (void)revoke(first.lease);
  EXPECT_THAT(heard, ElementsAre(first.lease));
}

/// What somebody still knows of the slot's lease before leads to nothing of this one.
TEST_F(LeaseLife, LeaseBeforeInTheSlot_HasNothingOfTheNext) {
  slots = 1;
  request.log_receives = 2;
  start({});
  const Lease before = first.lease;
  (void)manager->revoke(before.id, before.epoch, legacy_plan());
  const Lease next = granted();
  ASSERT_EQ(next.slot, before.slot);
  EXPECT_THAT(manager->memory(before), IsEmpty());
  EXPECT_EQ(manager->fence_target(before), nullptr);
  EXPECT_EQ(manager->post_receive(before, 0, 64, 1).error().code, Errc::NotFound);
  EXPECT_EQ(manager->poll_receive(before).error().code, Errc::NotFound);
  EXPECT_TRUE(manager->post_receive(next, 0, 64, 1));
}

// ---- tenants and quota ----

TEST_F(LeaseLife, LeasesOfATenant_ThoseThatAreActive) {
  const Lease a = granted_to(1);
  const Lease b = granted_to(2);
  const Lease c = granted_to(1);
  (void)revoke(c);
  EXPECT_THAT(manager->leases_of(1), ElementsAre(name_of(a)));
  EXPECT_THAT(manager->leases_of(2), ElementsAre(name_of(b)));
}

TEST_F(LeaseLife, TenantRevoked_OtherTenantsKeepTheirs) {
  const Lease a = granted_to(1);
  const Lease b = granted_to(2);
  (void)manager->revoke_batch(manager->leases_of(1), seed_plan());
  EXPECT_EQ(state(a), State::PendingDestroy);
  EXPECT_EQ(state(b), State::Active);
}

TEST_F(LeaseLife, QuotaSpent_GrantRefusedWithTheNumbersAndOthersServed) {
  start({.regions = {.tenant_quota_bytes = 4 * kPageBytes}});
  (void)granted();
  const auto grant = manager->grant(request);
  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().code, Errc::OutOfResources);
  EXPECT_THAT(grant.error().text,
              HasSubstr("tenant 0 holds 16384 of its quota of 16384 bytes, and 8192 more"));
  EXPECT_EQ(manager->table().count(State::Free), 2u);
  request.tenant = 1;
  EXPECT_TRUE(manager->grant(request));
}

TEST_F(LeaseLife, LeaseSwept_QuotaFreeAgain) {
  EXPECT_EQ(manager->regions().bytes_of(0), 2 * kPageBytes);
  (void)revoke(first.lease);
  EXPECT_EQ(manager->regions().bytes_of(0), 2 * kPageBytes);
  poll_at(6'000);
  EXPECT_EQ(manager->regions().bytes_of(0), 0u);
}

TEST_F(LeaseLife, LeaseFenced_QuotaStaysSpent) {
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  (void)revoke(first.lease);
  poll_at(60'000);
  EXPECT_EQ(manager->regions().bytes_of(0), 2 * kPageBytes);
}

// ---- regions ----

TEST_F(LeaseLife, RegionGrantedAgain_SamePagesAndAllZero) {
  const std::byte* pages = manager->memory(first.lease).data();
  dma_fill(manager->memory(first.lease), std::byte{0x5a});
  (void)revoke(first.lease);
  poll_at(6'000);
  const Lease next = granted();
  ASSERT_EQ(manager->memory(next).data(), pages);
  for (const std::byte& byte : manager->memory(next)) ASSERT_EQ(dma_peek(&byte), std::byte{0});
}

TEST_F(LeaseLife, RegionNotScrubbedYet_NotGranted) {
  request.bytes = 4 * RegionStore::kScrubBytes;
  const Lease big = granted();
  const std::byte* pages = manager->memory(big).data();
  (void)revoke(big);
  poll_at(6'000);  // one piece of four
  EXPECT_NE(manager->memory(granted()).data(), pages);
}

TEST_F(LeaseLife, RegionOfAFreeLease_OutOfTheDevicesReach) {
  const auto mappings = function.dma.mapped.size();
  (void)revoke(first.lease);
  poll_at(6'000);
  EXPECT_THAT(function.dma.mapped, SizeIs(mappings - 1));
}

TEST_F(LeaseLife, UnprovedRegion_NeverGrantedAgain) {
  const std::byte* pages = manager->memory(first.lease).data();
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  function.dma.refuse_unmap = true;
  EXPECT_EQ(revoke(first.lease).verdict.proof, Proof::None);
  function.dma.refuse_unmap = false;
  poll_at(60'000);
  for (int i = 0; i < 3; ++i) EXPECT_NE(manager->memory(granted()).data(), pages);
}

TEST_F(LeaseLife, NothingKept_RegionGoesToTheSystem) {
  start({.regions = {.keep_bytes = 0}});
  (void)revoke(first.lease);
  poll_at(6'000);
  EXPECT_EQ(manager->regions().kept_bytes(), 0u);
}

// ---- time to live ----

TEST_F(LeaseLife, TimeToLivePassed_RevokedByTheIdlePath) {
  const Lease lease = granted_for(100);
  poll_at(99);
  EXPECT_EQ(state(lease), State::Active);
  poll_at(100);
  EXPECT_EQ(state(lease), State::PendingDestroy);
  EXPECT_EQ(state(first.lease), State::Active);
  EXPECT_THAT(log.back(), HasSubstr("time to live has passed"));
}

TEST_F(LeaseLife, Renewed_LivesOnFromThere) {
  const Lease lease = granted_for(100);
  function.now_ns += 60 * kMs;
  ASSERT_TRUE(manager->renew(lease.id, lease.epoch, 100));
  poll_at(159);
  EXPECT_EQ(state(lease), State::Active);
  poll_at(160);
  EXPECT_EQ(state(lease), State::PendingDestroy);
}

TEST_F(LeaseLife, RenewedForEver_NeverEnds) {
  const Lease lease = granted_for(100);
  ASSERT_TRUE(manager->renew(lease.id, lease.epoch, 0));
  poll_at(3'600'000);
  EXPECT_EQ(state(lease), State::Active);
}

TEST_F(LeaseLife, RenewalOfARevokedLeaseOrAnotherEpoch_NotFound) {
  const Lease lease = granted_for(100);
  EXPECT_EQ(manager->renew(lease.id, lease.epoch + 1, 100).error().code, Errc::NotFound);
  (void)revoke(lease);
  EXPECT_EQ(manager->renew(lease.id, lease.epoch, 100).error().code, Errc::NotFound);
}

TEST_F(LeaseLife, TimeToLivePassed_EntriesHaveAPartOfAPoll) {
  host.steering = &drop;
  start({});
  const Lease lease = granted_for(100);
  poll_at(100);
  EXPECT_LE(drop.install_deadline_ns, function.now_ns + 50 * kMs);
  poll_at(7'000);
  EXPECT_THAT(drop.removed, ElementsAre(lease.slot));
  EXPECT_LE(drop.remove_deadline_ns, function.now_ns + 100 * kMs);
}

TEST_F(LeaseLife, RevokedBeforeItsEnd_FencedOnce) {
  const Lease lease = granted_for(100);
  (void)revoke(lease);
  function.forget();
  poll_at(200);
  EXPECT_THAT(opcodes(), IsEmpty());
}

TEST_F(LeaseLife, ManyEndTogether_OneBatchWithEveryKeyFirst) {
  (void)granted_for(100);
  (void)granted_for(50);
  poll_at(100);
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::DESTROY_MKEY, Opcode::DESTROY_MKEY, Opcode::QP_2ERR,
                                     Opcode::QP_2ERR));
}

}  // namespace
}  // namespace portcullis::lease
