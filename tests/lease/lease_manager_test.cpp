// SPDX-License-Identifier: BSD-3-Clause
//
// Grants, revokes and sweeps as the function sees them: which commands, when, and what is kept
// after a failure. The device is a script.
#include "lease/lease_manager.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lease/manager_world.hpp"
#include "tests/lease/scripted_function.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Answer;
using ::portcullis::testing::kNever;
using ::portcullis::testing::kRefused;
using ::portcullis::testing::ManagerWorld;
using ::portcullis::testing::ScriptedFunction;
using ::portcullis::testing::Sent;
using prm::Opcode;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::uint64_t kMs = kNsPerMs;

using LeaseManagerTest = ManagerWorld;

// ---- grant ----

TEST_F(LeaseManagerTest, Grant_OneDomainOneQpOneKeyAndConnected) {
  const auto grant = manager->grant(request);
  ASSERT_TRUE(grant);
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::ALLOC_PD, Opcode::CREATE_QP, Opcode::RST2INIT_QP,
                                     Opcode::CREATE_MKEY, Opcode::INIT2RTR_QP, Opcode::RTR2RTS_QP));
  EXPECT_EQ(grant->bytes, 2 * kPageBytes);
  EXPECT_THAT(manager->memory(grant->lease), SizeIs(2 * kPageBytes));
}

TEST_F(LeaseManagerTest, TwoGrants_OtherStartPsnAndOtherKey) {
  const auto second = manager->grant(request);
  ASSERT_TRUE(second);
  EXPECT_NE(second->psn, first.psn);
  EXPECT_NE(second->rkey, first.rkey);
  EXPECT_LE(second->psn, 0xffffffu);
}

TEST_F(LeaseManagerTest, FewerThanThreeFenceSlots_GrantRefused) {
  fence_slots = 2;
  const auto grant = manager->grant(request);
  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().code, Errc::Busy);
  EXPECT_THAT(grant.error().text, HasSubstr("2 fence slots are left, 3 expected"));
  EXPECT_THAT(opcodes(), IsEmpty());
}

TEST_F(LeaseManagerTest, TableFull_GrantRefused) {
  granted();
  granted();
  granted();
  const auto grant = manager->grant(request);
  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().code, Errc::OutOfResources);
  EXPECT_THAT(opcodes(), IsEmpty());
}

TEST_F(LeaseManagerTest, AckTimeoutZero_RefusedBeforeAnythingIsMade) {
  request.ack_timeout = 0;
  const auto grant = manager->grant(request);
  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().text, "ack timeout 0; 1 to 31 expected (0 would never end)");
  EXPECT_THAT(opcodes(), IsEmpty());
}

TEST_F(LeaseManagerTest, RequestOutOfRange_Refused) {
  EXPECT_FALSE(Granter::check({.bytes = 0}));
  EXPECT_FALSE(Granter::check({.bytes = 1, .ack_timeout = 32}));
  EXPECT_FALSE(Granter::check({.bytes = 1, .retry_count = 8}));
  EXPECT_FALSE(Granter::check({.bytes = 1, .peer = {.qpn = prm::QpNumber{1u << 24}}}));
}

TEST_F(LeaseManagerTest, QpNumberInTheKeyAccepted_SaidOnceAsAHypothesis) {
  granted();
  EXPECT_EQ(manager->key_binding(), KeyBinding::Accepted);
  EXPECT_THAT(log, ElementsAre(HasSubstr("hypothesis")));
}

TEST_F(LeaseManagerTest, QpNumberInTheKeyRefused_KeyWithoutItAndNeverTriedAgain) {
  manager.reset();
  function.channel.answer(Opcode::CREATE_MKEY, kRefused);
  log.clear();
  start({});
  EXPECT_EQ(manager->key_binding(), KeyBinding::Refused);
  EXPECT_THAT(log, ElementsAre(HasSubstr("protection domain alone")));
  ASSERT_TRUE(manager->grant(request));
  EXPECT_THAT(opcodes(), SizeIs(6));
  EXPECT_EQ(manager->key_binding(), KeyBinding::Refused);
}

TEST_F(LeaseManagerTest, NextLeaseOfASlotWithReceives_MakesNoCompletionQueue) {
  slots = 1;
  request.log_receives = 2;
  start({});
  (void)manager->revoke(first.lease.id, first.lease.epoch, legacy_plan());
  function.forget();
  ASSERT_TRUE(manager->grant(request));
  EXPECT_THAT(opcodes(), Not(Contains(Opcode::CREATE_CQ)));
  EXPECT_THAT(opcodes(), Not(Contains(Opcode::DESTROY_CQ)));
}

// ---- a grant that fails ----

TEST_F(LeaseManagerTest, RegionCannotBeMapped_SlotFreeAndNothingSent) {
  function.dma.refuse_map = true;
  EXPECT_FALSE(manager->grant(request));
  EXPECT_THAT(opcodes(), IsEmpty());
  EXPECT_EQ(manager->table().count(State::Free), 3u);
}

TEST_F(LeaseManagerTest, ConnectRefused_UndoneByTheLegacyPlan) {
  const auto mappings = function.dma.mapped.size();
  function.channel.answer(Opcode::INIT2RTR_QP, kRefused);
  EXPECT_FALSE(manager->grant(request));
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::ALLOC_PD, Opcode::CREATE_QP, Opcode::RST2INIT_QP,
                                     Opcode::CREATE_MKEY, Opcode::INIT2RTR_QP, Opcode::QP_2ERR,
                                     Opcode::DESTROY_MKEY, Opcode::QP_2RST, Opcode::DESTROY_QP,
                                     Opcode::DEALLOC_PD));
  EXPECT_EQ(manager->table().count(State::Free), 3u);
  EXPECT_THAT(function.dma.mapped, SizeIs(mappings));
}

/// Its own 400 ms are nearly over then.
TEST_F(LeaseManagerTest, UndoOfALateGrant_HasTimeOfItsOwnForTheUnmap) {
  Answer late = kRefused;
  late.takes_ns = 399 * kMs;
  function.channel.answer(Opcode::INIT2RTR_QP, late);
  EXPECT_FALSE(manager->grant(request));
  EXPECT_GE(function.dma.unmap_until_ns, function.now_ns + 50 * kMs);
  EXPECT_EQ(manager->table().count(State::Free), 3u);
}

TEST_F(LeaseManagerTest, CompletionQueueRefused_SlotFreeAndNothingIsUndone) {
  function.forget();
  function.channel.answer(Opcode::CREATE_CQ, kRefused);
  request.log_receives = 2;  // a queue of its own
  EXPECT_FALSE(manager->grant(request));
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::CREATE_CQ));
  EXPECT_EQ(manager->table().count(State::Free), 3u);
}

TEST_F(LeaseManagerTest, QpRefused_OnlyTheDomainIsUndone) {
  function.channel.answer(Opcode::CREATE_QP, kRefused);
  EXPECT_FALSE(manager->grant(request));
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::ALLOC_PD, Opcode::CREATE_QP, Opcode::DEALLOC_PD));
  EXPECT_EQ(manager->table().count(State::Free), 3u);
}

TEST_F(LeaseManagerTest, DomainRefused_SlotFree) {
  function.channel.answer(Opcode::ALLOC_PD, kRefused);
  EXPECT_FALSE(manager->grant(request));
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::ALLOC_PD));
  EXPECT_EQ(manager->table().count(State::Free), 3u);
}

TEST_F(LeaseManagerTest, KeyNeverAnswered_SlotFencedByLegacyWithItsAddressesRetired) {
  function.channel.answer(Opcode::CREATE_MKEY, kNever);
  const auto grant = manager->grant(request);
  ASSERT_FALSE(grant);
  EXPECT_THAT(
      grant.error().text,
      HasSubstr("; it could not be undone: slot 1 stays FENCED with QP 10, key index (number never "
                "answered), PD 9, its region out of reach (outcome=Fenced failed=DESTROY_MKEY"));
  ASSERT_EQ(manager->fenced_count(), 1u);
  const FencedLease fenced = manager->fenced_summary().front();
  EXPECT_EQ(fenced.verdict.origin, Origin::Legacy);
  EXPECT_EQ(fenced.verdict.failed_mask, bit(Step::DestroyMkey));
  EXPECT_EQ(fenced.verdict.proof, Proof::Unmap);
  DmaMemory* const region = manager->fence_target(fenced.lease)->region;
  EXPECT_FALSE(region->is_mapped());
  EXPECT_FALSE(region->map());
}

TEST_F(LeaseManagerTest, QpNeverAnswered_SlotFencedAndNoQpNamed) {
  function.channel.answer(Opcode::CREATE_QP, kNever);
  EXPECT_FALSE(manager->grant(request));
  EXPECT_EQ(manager->fenced_count(), 1u);
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::ALLOC_PD, Opcode::CREATE_QP));
}

TEST_F(LeaseManagerTest, UndoThatHadToResetTheFunction_SaysThatNothingIsLeft) {
  start({.fence = {.may_reset_function = true}});
  function.channel.answer(Opcode::CREATE_MKEY, kNever);
  function.dma.refuse_unmap = true;
  const auto grant = manager->grant(request);
  function.dma.refuse_unmap = false;
  ASSERT_FALSE(grant);
  EXPECT_THAT(grant.error().text, HasSubstr("stays FENCED with nothing, the function was reset"));
  EXPECT_TRUE(manager->is_function_lost());
}

TEST_F(LeaseManagerTest, UndoOnASlowDevice_GoesOnInPollAndSaysSo) {
  function.channel.answer(Opcode::RTR2RTS_QP, kRefused);
  function.channel.answer(Opcode::QP_2ERR, Answer{.takes_ns = 200 * kMs});
  const std::uint64_t since_ns = function.now_ns;
  EXPECT_THAT(manager->grant(request).error().text,
              HasSubstr("; what it had made is being undone"));
  EXPECT_EQ(function.now_ns - since_ns, 30 * kMs);
  poll_at(200);
  EXPECT_EQ(manager->table().count(State::Free), 3u);
}

TEST_F(LeaseManagerTest, UndoRefused_SlotFenced) {
  function.channel.answer(Opcode::RTR2RTS_QP, kRefused);
  function.channel.answer(Opcode::DEALLOC_PD, kRefused);
  const auto grant = manager->grant(request);
  ASSERT_FALSE(grant);
  EXPECT_THAT(grant.error().text,
              HasSubstr("slot 1 stays FENCED with PD 9, its region mapped (outcome=Fenced"));
  EXPECT_EQ(manager->fenced_summary().front().verdict.failed_mask, bit(Step::DeallocPd));
}

// ---- revoke ----

TEST_F(LeaseManagerTest, Revoke_TornDownAndPendingDestroy) {
  const RevokeAnswer answer = revoke(first.lease);
  EXPECT_EQ(answer.outcome, Outcome::TornDown);
  EXPECT_EQ(answer.current_epoch, first.lease.epoch);
  EXPECT_EQ(state(first.lease), State::PendingDestroy);
}

TEST_F(LeaseManagerTest, SecondRevoke_SameAnswerAndNoCommand) {
  const RevokeAnswer answer = revoke(first.lease);
  function.forget();
  EXPECT_EQ(revoke(first.lease).verdict, answer.verdict);
  EXPECT_THAT(opcodes(), IsEmpty());
}

TEST_F(LeaseManagerTest, OldEpoch_NotFoundWithTheCurrentEpochAndNoCommand) {
  const RevokeAnswer answer = manager->revoke(first.lease.id, first.lease.epoch - 1);
  EXPECT_EQ(answer.outcome, Outcome::NotFound);
  EXPECT_EQ(answer.current_epoch, first.lease.epoch);
  EXPECT_THAT(opcodes(), IsEmpty());
}

TEST_F(LeaseManagerTest, LegacyRevoke_FreeAtOnceAndTheRegionGone) {
  const auto mappings = function.dma.mapped.size();
  const RevokeAnswer answer = manager->revoke(first.lease.id, first.lease.epoch, legacy_plan());
  EXPECT_EQ(answer.outcome, Outcome::TornDown);
  EXPECT_EQ(answer.verdict.proof, Proof::Mkey);
  EXPECT_EQ(state(first.lease), State::Free);
  EXPECT_THAT(function.dma.mapped, SizeIs(mappings - 1));
  EXPECT_THAT(manager->memory(first.lease), IsEmpty());
  EXPECT_EQ(manager->fence_target(first.lease), nullptr);
}

TEST_F(LeaseManagerTest, NakFirstRevoke_WaitsOutTheLinger) {
  const RevokeAnswer answer = manager->revoke(first.lease.id, first.lease.epoch, nak_first_plan());
  EXPECT_EQ(answer.outcome, Outcome::TornDown);
  EXPECT_EQ(function.now_ns, ScriptedFunction::kStartNs + 50 * kMs);
}

TEST_F(LeaseManagerTest, NakFirstStarted_RevokingUntilPolledAfterTheLinger) {
  EXPECT_EQ(manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan()),
            std::nullopt);
  poll_at(49);
  EXPECT_EQ(state(first.lease), State::Revoking);
  poll_at(50);
  EXPECT_EQ(state(first.lease), State::PendingDestroy);
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::DESTROY_MKEY, Opcode::QP_2ERR));
}

TEST_F(LeaseManagerTest, RevokeWhileLingering_JoinsAndOneFenceRuns) {
  (void)manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan());
  EXPECT_EQ(revoke(first.lease).outcome, Outcome::TornDown);
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::DESTROY_MKEY, Opcode::QP_2ERR));
}

TEST_F(LeaseManagerTest, OtherLeaseRevokedWhileOneLingers_NotHeldUp) {
  const Lease second = granted();
  (void)manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan());
  EXPECT_EQ(revoke(second).outcome, Outcome::TornDown);
  EXPECT_EQ(function.now_ns, ScriptedFunction::kStartNs);
  EXPECT_EQ(state(first.lease), State::Revoking);
}

TEST_F(LeaseManagerTest, AccessErrorOfTheLingeringQp_EndsTheLinger) {
  const prm::QpNumber qpn = manager->fence_target(first.lease)->qpn;
  (void)manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan());
  events.push_back(pmd::QpEvent{.type = prm::number(prm::EventType::WQ_ACCESS_ERROR), .qpn = qpn});
  poll_at(1);
  EXPECT_EQ(state(first.lease), State::PendingDestroy);
}

TEST_F(LeaseManagerTest, AccessErrorOfAnotherQp_LingersOn) {
  const prm::QpNumber qpn = manager->fence_target(first.lease)->qpn;
  (void)manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan());
  events.push_back(pmd::QpEvent{.type = prm::number(prm::EventType::WQ_ACCESS_ERROR),
                                .qpn = prm::QpNumber{prm::number(qpn) + 1}});
  events.push_back(pmd::QpEvent{.type = prm::number(prm::EventType::SQ_DRAINED), .qpn = qpn});
  poll_at(1);
  EXPECT_EQ(state(first.lease), State::Revoking);
}

TEST_F(LeaseManagerTest, EventsTaken_HandedOn) {
  std::size_t seen = 0;
  host.on_event = [&seen](const pmd::Event&) { ++seen; };
  start({});
  events.resize(3);
  manager->poll();
  EXPECT_EQ(seen, 3u);
}

TEST_F(LeaseManagerTest, KeyRefused_FencedCountedAndLogged) {
  log.clear();
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  EXPECT_EQ(revoke(first.lease).outcome, Outcome::Fenced);
  EXPECT_EQ(state(first.lease), State::Fenced);
  EXPECT_EQ(manager->fenced_count(), 1u);
  EXPECT_THAT(log, ElementsAre(HasSubstr("DESTROY_MKEY failed")));
}

TEST_F(LeaseManagerTest, Fenced_NeverSweptNorGrantedAgain) {
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  (void)revoke(first.lease);
  function.forget();
  poll_at(3'600'000);
  EXPECT_THAT(opcodes(), IsEmpty());
  EXPECT_EQ(state(first.lease), State::Fenced);
  EXPECT_EQ(revoke(first.lease).outcome, Outcome::Fenced);
}

TEST_F(LeaseManagerTest, FunctionResetWhileAnotherFenceLingers_BothOutcomesAreTold) {
  std::vector<std::uint32_t> told;
  host.on_outcome = [&told](const Lease& lease, const Verdict& verdict) {
    EXPECT_EQ(verdict.outcome, Outcome::Fenced);
    told.push_back(lease.slot);
  };
  start({.fence = {.may_reset_function = true}});
  const Lease second = granted();
  (void)manager->start_revoke(second.id, second.epoch, nak_first_plan());
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  function.dma.refuse_unmap = true;
  (void)revoke(first.lease);
  EXPECT_TRUE(manager->is_function_lost());
  EXPECT_THAT(told, ElementsAre(first.lease.slot, second.slot));
}

TEST_F(LeaseManagerTest, FunctionResetByTheLadder_EveryLeaseFencedAndNoGrant) {
  start({.fence = {.may_reset_function = true}});
  const Lease second = granted();
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  function.dma.refuse_unmap = true;
  EXPECT_EQ(revoke(first.lease).verdict.proof, Proof::Function);
  EXPECT_THAT(function.function.done, ElementsAre("bus master off", "reset"));
  EXPECT_TRUE(manager->is_function_lost());
  EXPECT_EQ(state(second), State::Fenced);
  EXPECT_EQ(revoke(second).verdict.proof, Proof::Function);
  const auto grant = manager->grant(request);
  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().code, Errc::DeviceFailed);
}

// ---- the deferred phase ----

TEST_F(LeaseManagerTest, BeforeGrace_SweepSendsNothing) {
  (void)revoke(first.lease);
  function.forget();
  poll_at(4'999);
  EXPECT_THAT(opcodes(), IsEmpty());
}

TEST_F(LeaseManagerTest, AfterGrace_EverythingDestroyedInCommonSlotsAndFree) {
  const auto mappings = function.dma.mapped.size();
  (void)revoke(first.lease);
  function.forget();
  poll_at(5'000);
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::QP_2RST, Opcode::DESTROY_QP, Opcode::DEALLOC_PD));
  EXPECT_THAT(function.channel.sent, Each(Field(&Sent::slot_class, pmd::SlotClass::Common)));
  EXPECT_EQ(state(first.lease), State::Free);
  EXPECT_THAT(function.dma.mapped, SizeIs(mappings - 1));
}

TEST_F(LeaseManagerTest, LongRetryBudget_QpRestsInResetUntilItIsSpent) {
  request.ack_timeout = 16;  // T 268.4 ms: 4 T x 8 is 8.59 s
  const Lease patient = granted();
  (void)revoke(patient);
  function.forget();
  poll_at(5'000);
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::QP_2RST));
  poll_at(8'589);
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::QP_2RST));
  poll_at(8'590);
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::QP_2RST, Opcode::DESTROY_QP, Opcode::DEALLOC_PD));
  EXPECT_EQ(state(patient), State::Free);
}

TEST_F(LeaseManagerTest, OneOfTwoDue_OnlyThatOneTouched) {
  const Lease second = granted();
  (void)revoke(first.lease);
  function.now_ns += 100 * kMs;
  (void)revoke(second);
  poll_at(5'050);
  EXPECT_EQ(state(first.lease), State::Free);
  EXPECT_EQ(state(second), State::PendingDestroy);
}

TEST_F(LeaseManagerTest, DeviceNotDone_PollReturnsAndGoesOnLater) {
  (void)revoke(first.lease);
  function.forget();
  function.channel.answer(Opcode::QP_2RST, Answer{.takes_ns = 300 * kMs});
  poll_at(5'000);
  EXPECT_EQ(function.now_ns, ScriptedFunction::kStartNs + 5'000 * kMs);
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::QP_2RST));
  poll_at(5'300);
  EXPECT_EQ(state(first.lease), State::Free);
}

TEST_F(LeaseManagerTest, NoCommonSlotFree_SweepTriesAgain) {
  (void)revoke(first.lease);
  function.channel.busy = true;
  poll_at(5'000);
  EXPECT_EQ(state(first.lease), State::PendingDestroy);
  function.channel.busy = false;
  poll_at(5'001);
  EXPECT_EQ(state(first.lease), State::Free);
}

TEST_F(LeaseManagerTest, NothingCanBeSentToSweep_FencedBySweepAtOnce) {
  (void)revoke(first.lease);
  function.channel.gone = true;
  poll_at(5'000);
  EXPECT_EQ(state(first.lease), State::Fenced);
  EXPECT_EQ(fence_bits(first.lease), bit(Step::ResetQp));
}

TEST_F(LeaseManagerTest, FencedBySweepBehindItsQp_QueueMemoryComesBack) {
  manager.reset();
  const std::size_t before = function.arena.bytes_in_use();
  start({});
  (void)revoke(first.lease);
  function.channel.answer(Opcode::DEALLOC_PD, kRefused);
  poll_at(5'000);
  ASSERT_EQ(state(first.lease), State::Fenced);
  manager.reset();
  EXPECT_EQ(function.arena.bytes_in_use(), before);
}

/// Queue memory and a place in the completion queue come back with each QP.
TEST_F(LeaseManagerTest, SweptAgainAndAgain_NoMemoryIsLost) {
  const auto round = [this](const Plan& plan) {
    const Lease lease = granted();
    (void)manager->revoke(lease.id, lease.epoch, plan);
    function.now_ns += 6'000 * kMs;
    manager->poll();
  };
  round(seed_plan());
  const auto mappings = function.dma.mapped.size();
  for (int i = 0; i < 2'000; ++i) round(seed_plan());
  for (int i = 0; i < 2'000; ++i) round(legacy_plan());
  EXPECT_THAT(function.dma.mapped, SizeIs(mappings));
}

TEST_F(LeaseManagerTest, SweptCommandNeverReturns_FencedBySweepWithinItsDeadline) {
  (void)revoke(first.lease);
  function.channel.answer(Opcode::QP_2RST, kNever);
  poll_at(5'000);
  poll_at(6'999);
  EXPECT_EQ(state(first.lease), State::PendingDestroy);
  poll_at(7'000);
  EXPECT_EQ(state(first.lease), State::Fenced);
  EXPECT_EQ(fence_bits(first.lease), bit(Step::ResetQp));
  EXPECT_EQ(manager->table().verdict(first.lease.slot).origin, Origin::Sweep);
}

class SweepFailure : public LeaseManagerTest, public ::testing::WithParamInterface<Opcode> {};

TEST_P(SweepFailure, EachCommand_FencesTheSlotWithItsBit) {
  (void)revoke(first.lease);
  function.channel.answer(GetParam(), kRefused);
  poll_at(5'000);
  EXPECT_EQ(state(first.lease), State::Fenced);
  EXPECT_EQ(revoke(first.lease).outcome, Outcome::Fenced);
  const Verdict verdict = manager->fenced_summary().front().verdict;
  EXPECT_EQ(verdict.origin, Origin::Sweep);
  EXPECT_EQ(verdict.proof, Proof::Mkey);
}

INSTANTIATE_TEST_SUITE_P(Commands, SweepFailure,
                         ::testing::Values(Opcode::QP_2RST, Opcode::DESTROY_QP,
                                           Opcode::DEALLOC_PD));

TEST_F(LeaseManagerTest, UnmapRefusedInTheSweep_FencedAndTheRegionKept) {
  (void)revoke(first.lease);
  function.dma.refuse_unmap = true;
  poll_at(5'000);
  EXPECT_EQ(state(first.lease), State::Fenced);
  EXPECT_EQ(fence_bits(first.lease), bit(Step::UnmapRegion));
  EXPECT_THAT(manager->memory(first.lease), Not(IsEmpty()));
}

TEST_F(LeaseManagerTest, SteeringPresent_EntryInstalledAndRemovedAfterGrace) {
  host.steering = &drop;
  start({});
  EXPECT_EQ(revoke(first.lease).verdict.steering, SteeringState::Ok);
  poll_at(5'000);
  EXPECT_THAT(drop.installed, ElementsAre(first.lease.slot));
  EXPECT_THAT(drop.removed, ElementsAre(first.lease.slot));
}

TEST_F(LeaseManagerTest, EntryCannotBeRemoved_FencedBySweep) {
  host.steering = &drop;
  start({});
  drop.refuse_remove = true;
  (void)revoke(first.lease);
  poll_at(5'000);
  EXPECT_EQ(state(first.lease), State::Fenced);
  EXPECT_EQ(fence_bits(first.lease), bit(Step::RemoveDrop));
}

TEST_F(LeaseManagerTest, PlanWithoutDrop_NothingToRemove) {
  host.steering = &drop;
  start({.plan = nak_first_plan()});
  (void)revoke(first.lease);
  poll_at(6'000);
  EXPECT_EQ(state(first.lease), State::Free);
  EXPECT_THAT(drop.removed, IsEmpty());
}

TEST_F(LeaseManagerTest, LegacyWithAnEntryFromTheGrant_RemovedWithinTheFencesDeadline) {
  host.steering = &drop;
  drop.stands_from_the_grant = true;
  start({.plan = legacy_plan()});
  EXPECT_EQ(revoke(first.lease).outcome, Outcome::TornDown);
  EXPECT_EQ(state(first.lease), State::Free);
  EXPECT_THAT(drop.removed, ElementsAre(first.lease.slot));
  EXPECT_LE(drop.remove_deadline_ns, ScriptedFunction::kStartNs + 800 * kMs);
}

TEST_F(LeaseManagerTest, LegacyWhoseEntryStays_FencedAndSaidSo) {
  host.steering = &drop;
  drop.stands_from_the_grant = drop.refuse_remove = true;
  start({.plan = legacy_plan()});
  const RevokeAnswer answer = revoke(first.lease);
  EXPECT_EQ(answer.outcome, Outcome::Fenced);
  EXPECT_EQ(answer.verdict.origin, Origin::Legacy);
  EXPECT_EQ(answer.verdict.failed_mask, bit(Step::RemoveDrop));
  EXPECT_EQ(state(first.lease), State::Fenced);
  EXPECT_THAT(log, Contains(HasSubstr("DELETE_FLOW_TABLE_ENTRY failed: stays")));
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::QP_2ERR, Opcode::DESTROY_MKEY));
}

// ---- the end ----

TEST_F(LeaseManagerTest, TearDown_EveryLeaseGoneWithoutWaitingForGrace) {
  granted();
  EXPECT_TRUE(manager->tear_down());
  EXPECT_EQ(manager->table().count(State::Free), 4u);
  EXPECT_LT(function.now_ns, ScriptedFunction::kStartNs + 1'000 * kMs);
}

TEST_F(LeaseManagerTest, TearDownWithAFencedLease_ErrorNamesIt) {
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  (void)revoke(first.lease);
  const auto result = manager->tear_down();
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().text, HasSubstr("1 leases stay FENCED"));
  EXPECT_THAT(result.error().text, HasSubstr("failed=DESTROY_MKEY origin=REVOKE"));
}

TEST_F(LeaseManagerTest, NextManagerAfterAFunctionReset_FencedSlotFreeAndEpochsGoOn) {
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  (void)revoke(first.lease);
  LeaseTable table = std::move(*manager).take_table();
  EXPECT_EQ(table.fenced_count(), 1u);
  manager.reset();
  auto next = LeaseManager::create(host, {}, std::move(table)).value();
  EXPECT_EQ(next->fenced_count(), 0u);
  (void)next->grant(request);
  (void)next->grant(request);
  (void)next->grant(request);
  EXPECT_EQ(next->grant(request)->lease.epoch, first.lease.epoch + 1);
}

TEST_F(LeaseManagerTest, SecretKey_InNoLine) {
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  (void)revoke(first.lease);
  EXPECT_THAT(log, Each(Not(HasSubstr(std::to_string(prm::number(first.rkey))))));
}

}  // namespace
}  // namespace portcullis::lease
