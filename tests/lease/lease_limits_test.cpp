// SPDX-License-Identifier: BSD-3-Clause
//
// The limits of a lease manager to the nanosecond: how much less time a revoke has behind a call
// that blocked, what each lease of a group may take, in which order a poll goes on, until when a
// number rests after the function was lost, and what is still accepted. The device is a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tests/lease/manager_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Answer;
using ::portcullis::testing::kRefused;
using ::portcullis::testing::ManagerWorld;
using ::portcullis::testing::ScriptedFunction;
using prm::Opcode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMs = kNsPerMs;

class LeaseLimits : public ManagerWorld {
 protected:
  /// A grant that keeps its caller waiting so long.
  void block_for(std::uint64_t ns) {
    function.channel.answer(Opcode::CREATE_QP, Answer{.takes_ns = ns});
    (void)granted();
  }
  /// What the first command of a revoke has: half of the fence's time.
  std::uint64_t first_command_ns(const Lease& of) {
    function.forget();
    const std::uint64_t since_ns = function.now_ns;
    (void)revoke(of);
    return function.channel.sent.front().deadline_ns - since_ns;
  }
};

// ---- a revoke behind a call that blocked ----

TEST_F(LeaseLimits, RevokeBehindAQuickGrant_HasTheWholeTime) {
  (void)granted();
  EXPECT_EQ(first_command_ns(first.lease), 400 * kMs);
}

TEST_F(LeaseLimits, RevokeBehindASlowGrant_HasSoMuchLess) {
  block_for(100 * kMs);
  EXPECT_EQ(first_command_ns(first.lease), 350 * kMs);
}

TEST_F(LeaseLimits, RevokeBehindASlowGrantTogether_HasSoMuchLess) {
  function.channel.answer(Opcode::CREATE_QP, Answer{.takes_ns = 100 * kMs});
  ASSERT_TRUE(manager->grant_together(std::vector(2, request)));
  EXPECT_EQ(first_command_ns(first.lease), 350 * kMs);
}

TEST_F(LeaseLimits, RevokeBehindASlowRevoke_HasSoMuchLess) {
  const Lease second = granted();
  function.channel.answer(Opcode::QP_2ERR, Answer{.takes_ns = 100 * kMs});
  (void)revoke(second);
  EXPECT_EQ(first_command_ns(first.lease), 350 * kMs);
}

TEST_F(LeaseLimits, RevokeBehindASlowPoll_HasSoMuchLess) {
  (void)granted_for(100);
  function.channel.answer(Opcode::QP_2ERR, Answer{.takes_ns = 16 * kMs});
  poll_at(100);
  EXPECT_EQ(first_command_ns(first.lease), 392 * kMs);
}

TEST_F(LeaseLimits, RevokeTenMsBehindASlowGrant_StillHasSoMuchLess) {
  block_for(100 * kMs);
  function.now_ns += 10 * kMs;
  EXPECT_EQ(first_command_ns(first.lease), 350 * kMs);
}

TEST_F(LeaseLimits, RevokeMoreThanTenMsBehindASlowGrant_HasTheWholeTime) {
  block_for(100 * kMs);
  function.now_ns += 10 * kMs + 1;
  EXPECT_EQ(first_command_ns(first.lease), 400 * kMs);
}

TEST_F(LeaseLimits, RevokeBehindTwoCallsInARow_HasLessByTheLongest) {
  block_for(100 * kMs);
  block_for(20 * kMs);
  EXPECT_EQ(first_command_ns(first.lease), 350 * kMs);
}

TEST_F(LeaseLimits, RevokeLongBehindASlowGrantAndJustBehindAnother_HasLessByThatAlone) {
  block_for(100 * kMs);
  function.now_ns += 1'000 * kMs;
  block_for(20 * kMs);
  EXPECT_EQ(first_command_ns(first.lease), 390 * kMs);
}

TEST_F(LeaseLimits, RevokeBehindAGrantOfOneMs_HasSoMuchLess) {
  block_for(kMs);
  EXPECT_EQ(first_command_ns(first.lease), 799 * kMs / 2);
}

/// A call that blocks nobody is no reason to hurry.
TEST_F(LeaseLimits, QuickCallBehindASlowGrant_ProlongsNothing) {
  block_for(100 * kMs);
  function.now_ns += 6 * kMs;
  manager->poll();
  function.now_ns += 6 * kMs;
  EXPECT_EQ(first_command_ns(first.lease), 400 * kMs);
}

// ---- groups ----

TEST_F(LeaseLimits, GroupWithOneLeaseOutOfRange_RefusedBeforeAnythingIsMade) {
  std::vector<GrantRequest> requests(2, request);
  requests[1].ack_timeout = 0;
  const auto grants = manager->grant_together(requests);
  ASSERT_FALSE(grants);
  EXPECT_THAT(grants.error().text, HasSubstr("ack timeout 0; 1 to 31 expected"));
  EXPECT_THAT(opcodes(), IsEmpty());
}

TEST_F(LeaseLimits, Group_EachQpOnItsWayBeforeItsKeyAndConnectedWhenAllHaveOne) {
  ASSERT_TRUE(manager->grant_together(std::vector(2, request)));
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::ALLOC_PD, Opcode::CREATE_QP, Opcode::RST2INIT_QP,
                                     Opcode::CREATE_MKEY, Opcode::CREATE_QP, Opcode::RST2INIT_QP,
                                     Opcode::CREATE_MKEY, Opcode::CREATE_MKEY, Opcode::INIT2RTR_QP,
                                     Opcode::RTR2RTS_QP, Opcode::INIT2RTR_QP, Opcode::RTR2RTS_QP));
}

/// 400 ms from its first command on, of which the last one needs an eighth.
TEST_F(LeaseLimits, LeaseOfAGroupThatTakesTooLong_IsNotGranted) {
  function.channel.answer(Opcode::CREATE_QP, Answer{.takes_ns = 300 * kMs});
  function.channel.answer(Opcode::RST2INIT_QP, Answer{.takes_ns = 60 * kMs});
  EXPECT_THAT(manager->grant_together(std::vector(2, request)).error().text,
              HasSubstr("no time left"));
}

TEST_F(LeaseLimits, EachLeaseOfAGroupJustInTime_AllAreGranted) {
  function.channel.answer(Opcode::CREATE_QP, Answer{.takes_ns = 300 * kMs}, 3);
  function.channel.answer(Opcode::RST2INIT_QP, Answer{.takes_ns = 50 * kMs}, 3);
  EXPECT_TRUE(manager->grant_together(std::vector(3, request)));
}

TEST_F(LeaseLimits, EachConnectionOfAGroupJustInTime_AllAreGranted) {
  function.channel.answer(Opcode::INIT2RTR_QP, Answer{.takes_ns = 300 * kMs}, 3);
  function.channel.answer(Opcode::RTR2RTS_QP, Answer{.takes_ns = 50 * kMs}, 3);
  EXPECT_TRUE(manager->grant_together(std::vector(3, request)));
}

TEST_F(LeaseLimits, EntryOfEachLeaseOfAGroup_HasTheTimeOfOne) {
  host.steering = &drop;
  start({});
  drop.prepare_deadlines_ns.clear();
  drop.now_ns = &function.now_ns;
  drop.takes_ns = 300 * kMs;
  function.channel.answer(Opcode::INIT2RTR_QP, Answer{.takes_ns = 50 * kMs}, 2);
  ASSERT_TRUE(manager->grant_together(std::vector(2, request)));
  EXPECT_THAT(drop.prepare_deadlines_ns, ElementsAre(ScriptedFunction::kStartNs + 500 * kMs,
                                                     ScriptedFunction::kStartNs + 800 * kMs));
}

// ---- the idle path ----

TEST_F(LeaseLimits, Poll_GoesOnWithWhatLingersBeforeItBeginsWhatHasEnded) {
  const Lease ending = granted_for(50);
  const std::uint32_t lingering_qpn = prm::number(manager->fence_target(first.lease)->qpn);
  const std::uint32_t ending_qpn = prm::number(manager->fence_target(ending)->qpn);
  (void)manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan());
  function.forget();
  poll_at(50);
  ASSERT_THAT(opcodes(), ElementsAre(Opcode::QP_2ERR, Opcode::QP_2ERR, Opcode::DESTROY_MKEY));
  EXPECT_EQ(function.channel.sent[0].id, lingering_qpn);
  EXPECT_EQ(function.channel.sent[1].id, ending_qpn);
}

TEST_F(LeaseLimits, EntryInTheSweep_Has100Ms) {
  host.steering = &drop;
  start({});
  (void)revoke(first.lease);
  poll_at(5'000);
  EXPECT_EQ(drop.remove_deadline_ns, ScriptedFunction::kStartNs + 5'100 * kMs);
}

TEST_F(LeaseLimits, EntryInASweepOfShortCommands_HasNoMoreThanThey) {
  host.steering = &drop;
  start({.sweep = {.command_deadline_ms = 40}});
  (void)revoke(first.lease);
  poll_at(5'000);
  EXPECT_EQ(drop.remove_deadline_ns, ScriptedFunction::kStartNs + 5'040 * kMs);
}

/// What was said of a lease's end is forgotten with it.
TEST_F(LeaseLimits, RevokedBeforeItsEnd_NextLeaseOfTheSlotOutlivesThatEnd) {
  const Lease ending = granted_for(1'000);
  (void)manager->revoke(ending.id, ending.epoch, legacy_plan());
  Lease next = granted();
  while (next.slot != ending.slot) next = granted();
  poll_at(2'000);
  EXPECT_EQ(state(next), State::Active);
}

// ---- batches ----

/// They go together, once eight before them were quick: each key takes 350 ms, eight at a time.
TEST_F(LeaseLimits, RevokeOfOneAmongManySlowOnes_ReturnsAtItsDeadline) {
  slots = 40;
  start({});
  for (int i = 0; i < 8; ++i) (void)granted_for(50);
  std::vector<Lease> ending;
  for (int i = 0; i < 24; ++i) ending.push_back(granted_for(100));
  poll_at(50);
  function.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 350 * kMs}, 24);
  poll_at(100);
  function.now_ns += 100 * kMs;
  const std::uint64_t since_ns = function.now_ns;
  EXPECT_EQ(revoke(ending[23]).outcome, Outcome::Revoking);
  EXPECT_EQ(function.now_ns - since_ns, 800 * kMs);
}

/// Three chunks of a plan that lingers: the linger of the first is over during the second.
TEST_F(LeaseLimits, LargeBatchThatLingers_EarlierOnesGoOnBeforeTheLastBegin) {
  slots = 600;
  start({});
  std::vector<LeaseName> names{name_of(first.lease)};
  for (int i = 1; i < 600; ++i) names.push_back(name_of(granted()));
  function.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = kMs}, 600);
  (void)manager->revoke_batch(names, nak_first_plan());
  const auto sent = opcodes();
  const auto first_qp = std::ranges::find(sent, Opcode::QP_2ERR);
  EXPECT_NE(std::find(first_qp, sent.end(), Opcode::DESTROY_MKEY), sent.end());
}

/// Names of two groups that alternate: a plan for leases goes by the names, one for groups by the
/// groups, whose members it takes together.
TEST_F(LeaseLimits, BatchOfTwoGroups_IsFencedInTheOrderOfThePlan) {
  slots = 8;
  for (const auto& [plan, order] : {std::pair{seed_plan(), std::array{0, 1, 2, 3}},
                                    std::pair{indirect_plan(), std::array{0, 2, 1, 3}}}) {
    start({});
    const auto a = manager->grant_together(std::vector(2, request)).value();
    const auto b = manager->grant_together(std::vector(2, request)).value();
    const std::array asked{a[0], b[0], a[1], b[1]};
    std::vector<LeaseName> names;
    for (const Grant& grant : asked) names.push_back(name_of(grant.lease));
    function.forget();
    (void)manager->revoke_batch(names, plan);
    std::vector<std::uint32_t> fenced;
    for (const auto& command : function.channel.sent)
      fenced.insert(fenced.end(), command.opcode == Opcode::QP_2ERR ? 1 : 0, command.id);
    std::vector<std::uint32_t> expected;
    for (const int i : order)
      expected.push_back(prm::number(asked[static_cast<std::size_t>(i)].qpn));
    EXPECT_EQ(fenced, expected);
  }
}

// ---- a function that was lost ----

TEST_F(LeaseLimits, FunctionLost_NextManagerGrantsOnceEveryNumberHasRested) {
  request.ack_timeout = 18;  // 4 T x 8 = 34.4 s, longer than the others'
  start({.fence = {.may_reset_function = true}});
  request.ack_timeout = 14;
  const Lease second = granted();
  (void)granted();
  function.now_ns += 1'000 * kMs;
  const std::uint64_t lost_ns = function.now_ns;
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  function.dma.refuse_unmap = true;
  ASSERT_EQ(revoke(second).verdict.proof, Proof::Function);
  const std::uint64_t longest_ns = 8 * 4 * (std::uint64_t{4096} << 18);
  EXPECT_EQ(manager->table().rests_until_ns(), lost_ns + longest_ns);
  function.dma.refuse_unmap = false;
  LeaseTable table = std::move(*manager).take_table();
  manager.reset();
  manager = LeaseManager::create(host, {}, std::move(table)).value();
  function.now_ns = lost_ns + longest_ns - 1;
  EXPECT_EQ(manager->grant(request).error().code, Errc::Busy);
  ++function.now_ns;
  EXPECT_TRUE(manager->grant(request));
}

// ---- what is not waited for ----

TEST_F(LeaseLimits, StartedRevokeThatWaitsForNothing_HasItsOutcomeAtOnce) {
  const auto answer = manager->start_revoke(first.lease.id, first.lease.epoch, seed_plan());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->outcome, Outcome::TornDown);
}

TEST_F(LeaseLimits, EndOfAManagerThatIsSwept_ResetsNothing) {
  start({.fence = {.may_reset_function = true}});
  manager.reset();
  EXPECT_THAT(function.function.done, IsEmpty());
}

/// The bound of a grant's commands ends with the grant.
TEST_F(LeaseLimits, EndOfAManagerLongAfterItsGrants_CompletionQueuesAreDestroyed) {
  function.now_ns += 1'000 * kMs;
  manager.reset();
  EXPECT_THAT(opcodes(), ::testing::Contains(Opcode::DESTROY_CQ));
}

TEST_F(LeaseLimits, EndOfAManagerLongAfterAGrantTogether_CompletionQueuesAreDestroyed) {
  ASSERT_TRUE(manager->grant_together(std::vector(2, request)));
  function.now_ns += 1'000 * kMs;
  manager.reset();
  EXPECT_THAT(opcodes(), ::testing::Contains(Opcode::DESTROY_CQ));
}

// ---- a NIC that its kernel driver keeps ----

TEST_F(LeaseLimits, PlanThatUnmapsUnderALiveKey_RefusedOnAKeptNicAlone) {
  EXPECT_TRUE(LeaseManager::create(host, {.plan = drop_only_plan()}));
  function.context.is_kept = true;
  EXPECT_EQ(LeaseManager::create(host, {.plan = drop_only_plan()}).error().code, Errc::Unsupported);
  EXPECT_TRUE(LeaseManager::create(host, {.plan = seed_plan()}));
}

// ---- ranges ----

TEST_F(LeaseLimits, RenewedForLongerThanIsAccepted_RefusedAndTheOldTimeCounts) {
  const Lease lease = granted_for(100);
  EXPECT_EQ(manager->renew(lease.id, lease.epoch, kMostTtlMs + 1).error().code,
            Errc::InvalidArgument);
  poll_at(101);
  EXPECT_NE(state(lease), State::Active);
}

TEST_F(LeaseLimits, ShortestTimes_Accepted) {
  EXPECT_TRUE(LeaseManager::create(host, {.fence = {.deadline_ms = 1, .linger_ms = 0},
                                          .sweep = {.command_deadline_ms = 1},
                                          .grant = {.deadline_ms = 1},
                                          .grace_ms = 0,
                                          .residence_ms = 0}));
}

TEST_F(LeaseLimits, LongestTimes_Accepted) {
  EXPECT_TRUE(LeaseManager::create(host, {.fence = {.deadline_ms = 3'600'000, .linger_ms = 60'000},
                                          .sweep = {.command_deadline_ms = 3'600'000},
                                          .grant = {.deadline_ms = 3'600'000},
                                          .grace_ms = 3'600'000,
                                          .residence_ms = 3'600'000}));
}

TEST_F(LeaseLimits, TableWithALeaseThatIsActive_NoManagerFollows) {
  LeaseTable table = LeaseTable::create({.slots = 2}).value();
  ASSERT_TRUE(table.grant());
  const auto made = LeaseManager::create(host, {}, std::move(table));
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().text, HasSubstr("a function reset under 1"));
}

TEST_F(LeaseLimits, ManagerThatFollows_TakesNoTimeOutOfRangeEither) {
  LeaseTable table = LeaseTable::create({.slots = 2}).value();
  EXPECT_THAT(LeaseManager::create(host, {.grace_ms = 3'600'001}, std::move(table)).error().text,
              HasSubstr("grace_ms 3600001; 0 to 3600000 expected"));
}

TEST_F(LeaseLimits, RequestAtItsLimits_Accepted) {
  EXPECT_TRUE(Granter::check({.bytes = 1,
                              .peer = {.qpn = prm::QpNumber{0xffffff}, .psn = 0xffffff},
                              .ack_timeout = 31,
                              .retry_count = 7,
                              .log_receives = Granter::kMostLogReceives,
                              .ttl_ms = kMostTtlMs}));
  EXPECT_TRUE(Granter::check({.bytes = 1, .ack_timeout = 1, .retry_count = 0}));
}

TEST_F(LeaseLimits, RequestJustBeyond_RefusedByItsNumber) {
  EXPECT_THAT(Granter::check({.bytes = 1, .peer = {.psn = 1u << 24}}).error().text,
              HasSubstr("PSN 16777216; numbers of 24 bits expected"));
  EXPECT_THAT(Granter::check({.bytes = 1, .log_receives = 15}).error().text,
              HasSubstr("2^15 receives; at most 2^14 expected"));
  EXPECT_THAT(Granter::check({.bytes = 1, .ttl_ms = kMostTtlMs + 1}).error().text,
              HasSubstr("a time to live of 1099511627777 ms"));
}

}  // namespace
}  // namespace portcullis::lease
