// SPDX-License-Identifier: BSD-3-Clause
//
// Whose turn it is: chunks of a large batch, leases that wait in a queue and are asked for by name,
// revokes that are started and joined, and what a poll begins. The device is a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/lease/manager_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Answer;
using ::portcullis::testing::kNever;
using ::portcullis::testing::kRefused;
using ::portcullis::testing::ManagerWorld;
using prm::Opcode;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::uint64_t kMs = kNsPerMs;
/// What a batch begins with while it does not know how fast the device is.
constexpr std::uint32_t kFirstChunk = 256;

class Turns : public ManagerWorld {
 protected:
  /// A manager with so many leases; their names.
  std::vector<LeaseName> start_many(std::uint32_t count, const LeaseManager::Options& options) {
    slots = count;
    start(options);
    std::vector<LeaseName> names{name_of(first.lease)};
    while (names.size() < count) names.push_back(name_of(granted()));
    return names;
  }
  /// The others no time at all.
  void let_keys_take_10_ms_one_by_one(std::size_t count) {
    function.channel.fence_slots = 1;
    function.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 10 * kMs}, count);
  }
  [[nodiscard]] std::ptrdiff_t sent(Opcode opcode) const {
    return std::ranges::count(opcodes(), opcode);
  }
  /// Keys that went before the first QP.
  [[nodiscard]] std::ptrdiff_t keys_of_the_first_chunk() const {
    const auto all = opcodes();
    return std::count(all.begin(), std::ranges::find(all, Opcode::QP_2ERR), Opcode::DESTROY_MKEY);
  }
  /// So many that each takes 2 ms of the batch, and the pace is known.
  void revoke_at_a_known_pace(std::span<const LeaseName> names) {
    function.channel.fence_slots = 1;
    for (const Opcode opcode : {Opcode::DESTROY_MKEY, Opcode::QP_2ERR})
      function.channel.answer(opcode, Answer{.takes_ns = kMs}, names.size());
    (void)manager->revoke_batch(names, seed_plan());
    function.now_ns += 1'000 * kMs;
    function.forget();
  }
};

// ---- chunks ----

TEST_F(Turns, PaceUnknown_ChunkOfSoMany) {
  const auto names = start_many(kFirstChunk + 8, {});
  (void)manager->revoke_batch(names, seed_plan());
  EXPECT_EQ(keys_of_the_first_chunk(), kFirstChunk);
}

TEST_F(Turns, PaceKnown_ChunkIsWhatAQuarterOfTheTimeAllows) {
  const auto names = start_many(400, {});
  revoke_at_a_known_pace(std::span(names).first(200));
  (void)manager->revoke_batch(std::span(names).subspan(200), seed_plan());
  EXPECT_EQ(keys_of_the_first_chunk(), 100);
}

/// Lingering, so that the first chunk has told nothing of the pace when the second might begin.
TEST_F(Turns, QuarterOfTheTimeLeftAndPaceUnknown_NoFurtherChunk) {
  const auto names = start_many(kFirstChunk + 8, {});
  let_keys_take_10_ms_one_by_one(60);
  (void)manager->revoke_batch(names, nak_first_plan());
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), kFirstChunk);
}

TEST_F(Turns, MoreThanAQuarterOfTheTimeLeftAndPaceUnknown_NextChunkBegins) {
  const auto names = start_many(kFirstChunk + 8, {});
  let_keys_take_10_ms_one_by_one(55);
  (void)manager->revoke_batch(names, nak_first_plan());
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), kFirstChunk + 8);
}

/// Less than a quarter, but more than 64 of them need.
TEST_F(Turns, EnoughTimeLeftAtAKnownPace_NextChunkBegins) {
  const auto names = start_many(400, {});
  revoke_at_a_known_pace(std::span(names).first(200));
  function.channel.answers.clear();
  let_keys_take_10_ms_one_by_one(65);
  (void)manager->revoke_batch(std::span(names).subspan(200), nak_first_plan());
  EXPECT_GT(sent(Opcode::DESTROY_MKEY), 100);
}

/// 120 ms, and 64 of them would need 128.
TEST_F(Turns, TooLittleTimeLeftAtAKnownPace_NoFurtherChunk) {
  const auto names = start_many(400, {});
  revoke_at_a_known_pace(std::span(names).first(200));
  function.channel.answers.clear();
  let_keys_take_10_ms_one_by_one(68);
  (void)manager->revoke_batch(std::span(names).subspan(200), nak_first_plan());
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), 100);
}

/// Where 64 would need more than a quarter of the time, a quarter is enough.
TEST_F(Turns, SlowPaceKnown_NextChunkBeginsWhileMoreThanAQuarterIsLeft) {
  const auto names = start_many(400, {});
  function.channel.fence_slots = 1;
  function.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 5 * kMs}, 130);
  (void)manager->revoke_batch(std::span(names).first(130), seed_plan());
  function.now_ns += 1'000 * kMs;
  function.forget();
  let_keys_take_10_ms_one_by_one(50);
  (void)manager->revoke_batch(std::span(names).subspan(130), nak_first_plan());
  EXPECT_GT(sent(Opcode::DESTROY_MKEY), 80);
}

TEST_F(Turns, FirstChunkOverTheTime_NoFurtherChunk) {
  host.steering = &drop;
  const auto names = start_many(kFirstChunk + 8, {});
  drop.now_ns = &function.now_ns;
  drop.takes_ns = 900 * kMs;
  const auto answers = manager->revoke_batch(names, seed_plan());
  EXPECT_EQ(answers.back().outcome, Outcome::Revoking);
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), kFirstChunk);
}

/// After a lease that took 200 ms alone, each is taken for 51 ms.
TEST_F(Turns, TearDownAtAKnownPace_FencesAsManyTogetherAsAQuarterOfTheTimeAllows) {
  const auto names = start_many(400, {});
  revoke_at_a_known_pace(std::span(names).first(200));
  function.channel.answers.clear();
  function.channel.answer(Opcode::QP_2ERR, Answer{.takes_ns = 200 * kMs});
  (void)manager->revoke(names[200].id, names[200].epoch);
  function.forget();
  ASSERT_TRUE(manager->tear_down());
  EXPECT_EQ(keys_of_the_first_chunk(), 3);
}

TEST_F(Turns, GroupLargerThanAChunkUnderAPlanForLeases_IsParted) {
  slots = kFirstChunk + 9;
  start({});
  const auto grants = manager->grant_together(std::vector(kFirstChunk + 8, request)).value();
  std::vector<LeaseName> names;
  for (const Grant& grant : grants) names.push_back(name_of(grant.lease));
  function.forget();
  (void)manager->revoke_batch(names, seed_plan());
  EXPECT_EQ(keys_of_the_first_chunk(), kFirstChunk);
}

TEST_F(Turns, TwoGroupsLargerThanAChunk_NeitherIsParted) {
  constexpr std::uint32_t kEach = kFirstChunk / 2 + 4;
  slots = 2 * kEach + 1;
  start({});
  std::vector<LeaseName> names;
  for (int group = 0; group < 2; ++group) {
    const auto grants = manager->grant_together(std::vector(kEach, request)).value();
    for (const Grant& grant : grants) names.push_back(name_of(grant.lease));
  }
  function.forget();
  for (const RevokeAnswer& answer : manager->revoke_batch(names, indirect_plan()))
    EXPECT_EQ(answer.verdict.proof, Proof::TenantMkey);
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), 2);
}

TEST_F(Turns, FunctionLostInTheFirstChunk_RestIsToldSoAndNothingIsSent) {
  const auto names = start_many(kFirstChunk + 8, {.fence = {.may_reset_function = true}});
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  function.dma.refuse_unmap = true;
  const auto answers = manager->revoke_batch(names, seed_plan());
  function.dma.refuse_unmap = false;
  EXPECT_EQ(answers.back().outcome, Outcome::Fenced);
  EXPECT_EQ(answers.back().verdict.proof, Proof::Function);
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), kFirstChunk);
}

/// The first of three chunks has its NAKs while the keys of the second go.
TEST_F(Turns, AccessErrorsWhileTheNextChunkBegins_FirstChunkGoesOnBeforeTheThirdBegins) {
  const auto names = start_many(2 * kFirstChunk + 8, {});
  function.channel.on_submit = [this, keys = 0U](const auto& command) mutable {
    keys += command.opcode == Opcode::DESTROY_MKEY ? 1 : 0;
    for (std::uint32_t slot = 0; keys == kFirstChunk + 1 && slot < kFirstChunk; ++slot)
      events.push_back(
          pmd::QpEvent{.type = prm::number(prm::EventType::WQ_ACCESS_ERROR),
                       .qpn = manager->fence_target(manager->table().lease(slot))->qpn});
    keys += keys == kFirstChunk + 1 ? 1 : 0;
  };
  (void)manager->revoke_batch(names, nak_first_plan());
  const auto all = opcodes();
  const auto first_qp = std::ranges::find(all, Opcode::QP_2ERR);
  EXPECT_EQ(std::count(all.begin(), first_qp, Opcode::DESTROY_MKEY), 2 * kFirstChunk);
}

// ---- a function that is lost meanwhile ----

TEST_F(Turns, FunctionLostWhileAJoinedFenceLingers_ItIsToldOnceAndSendsNothing) {
  std::vector<std::uint32_t> told;
  host.on_outcome = [&told](const Lease& lease, const Verdict&) { told.push_back(lease.slot); };
  start({.fence = {.may_reset_function = true}});
  const Lease second = granted();
  (void)manager->start_revoke(second.id, second.epoch, nak_first_plan());
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  function.dma.refuse_unmap = true;
  function.forget();
  const std::vector<LeaseName> names{name_of(second), name_of(first.lease)};
  const auto answers = manager->revoke_batch(names, seed_plan());
  function.dma.refuse_unmap = false;
  EXPECT_THAT(answers, Each(Field(&RevokeAnswer::outcome, Outcome::Fenced)));
  EXPECT_THAT(told, ElementsAre(first.lease.slot, second.slot));
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::QP_2ERR, Opcode::DESTROY_MKEY));
}

TEST_F(Turns, FunctionLostAndNobodyHearsOfOutcomes_EveryLeaseIsFenced) {
  start({.fence = {.may_reset_function = true}});
  const Lease second = granted();
  (void)manager->start_revoke(second.id, second.epoch, nak_first_plan());
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  function.dma.refuse_unmap = true;
  (void)revoke(first.lease);
  function.dma.refuse_unmap = false;
  EXPECT_EQ(state(first.lease), State::Fenced);
  EXPECT_EQ(state(second), State::Fenced);
}

// ---- those that wait in a queue ----

TEST_F(Turns, EveryoneWhoWaitedWasAskedForByName_PollSendsNothing) {
  const Lease second = granted();
  function.function.refuse_bus_master = true;
  ASSERT_FALSE(manager->drain());
  (void)revoke(first.lease);
  (void)revoke(second);
  function.forget();
  manager->poll();
  EXPECT_THAT(opcodes(), IsEmpty());
}

TEST_F(Turns, StartedRevokeOfOneThatWaits_BeginsAtOnceAndOneFenceRuns) {
  function.function.refuse_bus_master = true;
  ASSERT_FALSE(manager->drain());
  EXPECT_FALSE(manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan()));
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::DESTROY_MKEY));
  manager->poll();
  function.now_ns += 50 * kMs;
  manager->poll();
  EXPECT_THAT(opcodes(), ElementsAre(Opcode::DESTROY_MKEY, Opcode::QP_2ERR));
}

TEST_F(Turns, TimePassesWhileItWaitsForItsTurn_NotSaidToHaveEnded) {
  (void)granted_for(10);
  function.function.refuse_bus_master = true;
  ASSERT_FALSE(manager->drain());
  log.clear();
  poll_at(20);
  poll_at(21);
  EXPECT_THAT(log, Not(Contains(HasSubstr("time to live"))));
  EXPECT_EQ(manager->table().count(State::PendingDestroy), 2u);
}

// ---- one by name ----

TEST_F(Turns, RevokeOfOneThatLingersSinceLong_TornDownInThisCall) {
  (void)manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan());
  function.now_ns += 5'000 * kMs;
  EXPECT_EQ(revoke(first.lease).outcome, Outcome::TornDown);
}

TEST_F(Turns, BatchWithOneThatLingersSinceLong_ThatOneEndsInPoll) {
  const Lease second = granted();
  (void)manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan());
  function.now_ns += 5'000 * kMs;
  const std::vector<LeaseName> names{name_of(first.lease), name_of(second)};
  EXPECT_EQ(manager->revoke_batch(names, seed_plan())[0].outcome, Outcome::Revoking);
  function.forget();
  EXPECT_EQ(manager->revoke(first.lease.id, first.lease.epoch + 1).outcome, Outcome::NotFound);
  EXPECT_THAT(opcodes(), IsEmpty());
  manager->poll();
  EXPECT_EQ(state(first.lease), State::PendingDestroy);
}

/// The device answers nothing of it, and poll() has it in hand.
TEST_F(Turns, RevokeOfOneThatAPollFences_ReturnsAtItsDeadline) {
  const Lease ending = granted_for(50);
  for (const Opcode opcode : {Opcode::QP_2ERR, Opcode::DESTROY_MKEY, Opcode::RTS2RTS_QP})
    function.channel.answer(opcode, kNever, 4);
  poll_at(50);
  function.now_ns += 100 * kMs;
  const std::uint64_t since_ns = function.now_ns;
  EXPECT_EQ(revoke(ending).outcome, Outcome::Revoking);
  EXPECT_EQ(function.now_ns - since_ns, 800 * kMs);
}

/// Two rounds of keys take 780 ms, and a linger of 400 ms begins behind them.
TEST_F(Turns, RevokeOfOneThatBeginsToLingerUnderAPoll_ReturnsAtItsDeadline) {
  slots = 40;
  start({.plan = nak_first_plan(), .fence = {.linger_ms = 600}});
  for (int i = 0; i < 8; ++i) (void)granted_for(50);
  std::vector<Lease> ending;
  for (int i = 0; i < 16; ++i) ending.push_back(granted_for(1'000));
  poll_at(50);
  poll_at(600);  // so many were quick: the others go together
  function.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 390 * kMs}, 16);
  poll_at(1'000);
  function.now_ns += 100 * kMs;
  const std::uint64_t since_ns = function.now_ns;
  EXPECT_EQ(revoke(ending.back()).outcome, Outcome::Revoking);
  EXPECT_EQ(function.now_ns - since_ns, 800 * kMs);
  poll_at(3'000);
  EXPECT_EQ(state(ending.back()), State::PendingDestroy);
}

TEST_F(Turns, RevokeThatJoinsOneWhoseNakIsReported_WaitsForNothing) {
  const prm::QpNumber qpn = manager->fence_target(first.lease)->qpn;
  (void)manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan());
  events.push_back(pmd::QpEvent{.type = prm::number(prm::EventType::WQ_ACCESS_ERROR), .qpn = qpn});
  const std::uint64_t since_ns = function.now_ns;
  EXPECT_EQ(revoke(first.lease).outcome, Outcome::TornDown);
  EXPECT_EQ(function.now_ns, since_ns);
}

/// Three fences of poll() that have lingered, each with an entry that takes 100 ms. The batch takes
/// 750 of its 800 ms for a lease that is never answered, so there is time for one of them.
TEST_F(Turns, BatchWhoseTimeIsOver_JoinedFencesAreLeftToPoll) {
  static constexpr std::array kSteps{PlanStep{Step::DestroyMkey},
                                     PlanStep{Step::ErrorQp, /*after_linger=*/true},
                                     PlanStep{Step::InstallDrop}};
  host.steering = &drop;
  slots = 5;
  start({.plan = {.name = "with a linger and an entry", .steps = kSteps}});
  std::vector<LeaseName> names{name_of(first.lease)};
  for (const std::uint64_t ttl_ms : {50U, 60U, 70U}) names.push_back(name_of(granted_for(ttl_ms)));
  for (const std::uint64_t at_ms : {50U, 60U, 70U}) poll_at(at_ms);
  function.now_ns += 100 * kMs;
  drop.now_ns = &function.now_ns;
  drop.takes_ns = 100 * kMs;
  const FenceTarget& target = *manager->fence_target(first.lease);
  function.channel.answer_on(Opcode::QP_2ERR, prm::number(target.qpn), kNever, 2);
  function.channel.answer_on(Opcode::DESTROY_MKEY, prm::number(target.mkey_index), kNever);
  function.channel.answer_on(Opcode::RTS2RTS_QP, prm::number(target.qpn), kNever);
  const std::uint64_t since_ns = function.now_ns;
  const auto answers = manager->revoke_batch(names, nak_first_plan());
  EXPECT_EQ(answers.back().outcome, Outcome::Revoking);
  EXPECT_LE(function.now_ns - since_ns, 900 * kMs);
}

TEST_F(Turns, StartedRevokeOfAStranger_NotFoundAtOnce) {
  const auto answer = manager->start_revoke(first.lease.id, first.lease.epoch + 1, seed_plan());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->outcome, Outcome::NotFound);
  EXPECT_EQ(answer->current_epoch, first.lease.epoch);
  EXPECT_THAT(opcodes(), IsEmpty());
}

TEST_F(Turns, StartedRevokeOfAnEndedOne_RepeatsTheOutcome) {
  const RevokeAnswer before = revoke(first.lease);
  function.forget();
  EXPECT_EQ(manager->start_revoke(first.lease.id, first.lease.epoch, seed_plan()), before);
  EXPECT_THAT(opcodes(), IsEmpty());
}

TEST_F(Turns, StartedRevokeThatLingers_SilencesTheQpInAFenceSlot) {
  (void)manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan());
  poll_at(50);
  ASSERT_THAT(opcodes(), ElementsAre(Opcode::DESTROY_MKEY, Opcode::QP_2ERR));
  EXPECT_EQ(function.channel.sent[1].slot_class, pmd::SlotClass::Fence);
}

TEST_F(Turns, StartedRevokeOnASlowDevice_WaitsForItsCommands) {
  for (const Opcode opcode : {Opcode::QP_2ERR, Opcode::DESTROY_MKEY})
    function.channel.answer(opcode, Answer{.takes_ns = 100 * kMs});
  EXPECT_TRUE(manager->start_revoke(first.lease.id, first.lease.epoch, seed_plan()));
}

TEST_F(Turns, StartedRevokeOfOneThatAPollFences_WaitsNoLongerThanAPoll) {
  const Lease ending = granted_for(50);
  function.channel.answer(Opcode::QP_2ERR, Answer{.takes_ns = 300 * kMs});
  poll_at(50);
  const std::uint64_t since_ns = function.now_ns;
  EXPECT_FALSE(manager->start_revoke(ending.id, ending.epoch, seed_plan()));
  EXPECT_EQ(function.now_ns - since_ns, 20 * kMs);
}

// ---- what a poll begins ----

TEST_F(Turns, EndedByTime_FencedInCommonSlots) {
  (void)granted_for(50);
  poll_at(50);
  ASSERT_THAT(opcodes(), ElementsAre(Opcode::QP_2ERR, Opcode::DESTROY_MKEY));
  EXPECT_EQ(function.channel.sent[0].slot_class, pmd::SlotClass::Common);
  EXPECT_EQ(function.channel.sent[1].slot_class, pmd::SlotClass::Common);
}

TEST_F(Turns, DeviceStillAtWork_NothingMoreIsBegun) {
  slots = 20;
  start({});
  for (int i = 0; i < 16; ++i) (void)granted_for(50);
  function.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 300 * kMs}, 16);
  poll_at(50);
  poll_at(100);
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), 8);
}

TEST_F(Turns, ManyEndTogetherOnAQuickDevice_APollFencesSomeAndTheNextOnesTheRest) {
  slots = 1'001;
  start({});
  for (int i = 0; i < 1'000; ++i) (void)granted_for(5'000);
  poll_at(5'000);
  EXPECT_GE(manager->table().count(State::PendingDestroy), 256u);
  EXPECT_LT(manager->table().count(State::PendingDestroy), 600u);
  for (int polls = 0; polls < 4; ++polls) manager->poll();
  EXPECT_EQ(manager->table().count(State::PendingDestroy), 1'000u);
}

/// Of leases without an entry it has learnt that a poll fences hundreds.
TEST_F(Turns, ManyAskedForWithEntriesBehindManyWithout_APollWaitsForNoMoreThanItsTimeAllows) {
  slots = 1'601;
  host.steering = &drop;
  start({.plan = nak_first_plan(), .fence = {.linger_ms = 0}});
  for (int i = 0; i < 1'000; ++i) (void)granted_for(1'000);
  for (int i = 0; i < 20; ++i) poll_at(1'000);
  ASSERT_EQ(manager->table().count(State::PendingDestroy), 1'000u);
  drop.now_ns = &function.now_ns;
  drop.takes_ns = 10 * kMs;
  std::vector<LeaseName> names;
  while (names.size() < 600) names.push_back(name_of(granted()));
  function.now_ns += 1'000 * kMs;
  (void)manager->revoke_batch(names, seed_plan());
  std::uint64_t longest_ns = 0;
  while (manager->table().count(State::Revoking) != 0) {
    const std::uint64_t before_ns = function.now_ns;
    manager->poll();
    longest_ns = std::max(longest_ns, function.now_ns - before_ns);
  }
  EXPECT_LE(longest_ns, 30 * kMs);
  EXPECT_GT(drop.installed.size(), 400U);  // the call itself had no time for the others
  EXPECT_EQ(manager->fenced_count(), 0u);
}

TEST_F(Turns, LingerOverWhileThePollHasOthersInHand_ItGoesFirst) {
  (void)granted_for(50);
  function.channel.answer(Opcode::QP_2ERR, Answer{.takes_ns = 300 * kMs});
  poll_at(50);
  (void)manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan());
  function.now_ns += 50 * kMs;
  const std::uint64_t since_ns = function.now_ns;
  manager->poll();
  ASSERT_EQ(opcodes().back(), Opcode::QP_2ERR);
  EXPECT_EQ(function.channel.sent.back().at_ns, since_ns);
}

TEST_F(Turns, LateFenceOnASlowDevice_APollWaits20Ms) {
  (void)manager->start_revoke(first.lease.id, first.lease.epoch, nak_first_plan());
  function.channel.answer(Opcode::QP_2ERR, Answer{.takes_ns = 100 * kMs});
  function.now_ns += 5'000 * kMs;
  const std::uint64_t since_ns = function.now_ns;
  manager->poll();
  EXPECT_EQ(function.now_ns - since_ns, 20 * kMs);
  EXPECT_EQ(state(first.lease), State::Revoking);
}

// ---- names ----

TEST_F(Turns, RunThatIsRepeated_HasTheSameNamesAndTheManagerAfterItOthers) {
  const Lease before = first.lease;
  start({});
  EXPECT_EQ(first.lease, before);
  function.now_ns += kMs;
  start({});
  EXPECT_NE(first.lease.id, before.id);
}

TEST_F(Turns, NamesOfASeedOfTheirOwn_AreThoseOfThatSeed) {
  start({.table = {.name_seed = 5}});
  auto table = LeaseTable::create({.slots = 1, .name_seed = 5}).value();
  EXPECT_EQ(first.lease.id, table.grant()->id);
}

}  // namespace
}  // namespace portcullis::lease
