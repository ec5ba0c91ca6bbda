// SPDX-License-Identifier: BSD-3-Clause
//
// The end of a lease manager and what comes after it: one deadline however much hangs, no grant, no
// name that another one knows; and times that no manager takes. The device is a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "tests/lease/manager_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Answer;
using ::portcullis::testing::kNever;
using ::portcullis::testing::ManagerWorld;
using prm::Opcode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::uint64_t kMs = kNsPerMs;
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

class LeaseEnd : public ManagerWorld {
 protected:
  void grant_many(std::uint32_t count) {
    for (std::uint32_t i = 1; i < count; ++i) leases.push_back(granted());
    leases.push_back(first.lease);
  }
  void start_many(std::uint32_t count, LeaseManager::Options options = {}) {
    options.table.slots = slots = count;
    start(options);
    grant_many(count);
  }
  void let_the_device_die() {
    for (const Opcode opcode : {Opcode::QP_2ERR, Opcode::DESTROY_MKEY, Opcode::QP_2RST,
                                Opcode::DESTROY_QP, Opcode::DEALLOC_PD, Opcode::RTS2RTS_QP})
      function.channel.answer(opcode, kNever, 1'000);
    since_ns = function.now_ns;
  }
  [[nodiscard]] std::uint64_t elapsed_ms() const { return (function.now_ns - since_ns) / kMs; }

  std::vector<Lease> leases;
  std::uint64_t since_ns = 0;
};

// ---- tear_down ----

TEST_F(LeaseEnd, TearDownOf200ActiveWithADeadDevice_OneDeadlineAndEveryRegionProved) {
  start_many(200);
  let_the_device_die();
  const auto down = manager->tear_down();
  ASSERT_FALSE(down);
  EXPECT_LE(elapsed_ms(), 3'500u);
  EXPECT_EQ(manager->fenced_count(), 200u);
  for (const FencedLease& fenced : manager->fenced_summary())
    EXPECT_EQ(fenced.verdict.proof, Proof::Unmap);
}

TEST_F(LeaseEnd, TearDownOf20LingeringWithADeviceThatDies_OneDeadlineAndEveryRegionProved) {
  start_many(20);
  for (const Lease& lease : leases)
    (void)manager->start_revoke(lease.id, lease.epoch, nak_first_plan());
  let_the_device_die();
  ASSERT_FALSE(manager->tear_down());
  EXPECT_LE(elapsed_ms(), 3'500u);
  EXPECT_EQ(manager->fenced_count(), 20u);
  for (const FencedLease& fenced : manager->fenced_summary())
    EXPECT_EQ(fenced.verdict.proof, Proof::Mkey);
}

TEST_F(LeaseEnd, BatchOf20LingeringWithADeviceThatDies_OneDeadlineAndPollFinishesThem) {
  start_many(20);
  std::vector<LeaseName> names;
  for (const Lease& lease : leases) {
    names.push_back({lease.id, lease.epoch});
    (void)manager->start_revoke(lease.id, lease.epoch, nak_first_plan());
  }
  let_the_device_die();
  for (const RevokeAnswer& answer : manager->revoke_batch(names, nak_first_plan()))
    EXPECT_THAT(answer.outcome, ::testing::AnyOf(Outcome::Fenced, Outcome::Revoking));
  EXPECT_LE(elapsed_ms(), 1'000u);
  for (int i = 0; i < 10'000 && manager->fenced_count() < 20; ++i) manager->poll();
  EXPECT_EQ(manager->fenced_count(), 20u);
}

TEST_F(LeaseEnd, TearDownOf200PendingWithADeadDevice_OneDeadline) {
  start_many(200);
  std::vector<LeaseName> names;
  for (const Lease& lease : leases) names.push_back({lease.id, lease.epoch});
  (void)manager->revoke_batch(names, seed_plan());
  ASSERT_EQ(manager->table().count(State::PendingDestroy), 200u);
  let_the_device_die();
  ASSERT_FALSE(manager->tear_down());
  EXPECT_LE(elapsed_ms(), 3'500u);
  EXPECT_EQ(manager->fenced_count(), 200u);
  EXPECT_EQ(manager->fenced_summary().back().verdict.origin, Origin::Sweep);
  // The command in hand was looked at once more.
  EXPECT_EQ(function.channel.sent.back().deadline_ns, function.now_ns);
}

TEST_F(LeaseEnd, TearDownWithADeadDeviceAndResetAllowed_FunctionResetAndNothingMore) {
  start_many(20, {.fence = {.may_reset_function = true}});
  std::vector<LeaseName> names;
  for (const Lease& lease : leases) names.push_back({lease.id, lease.epoch});
  (void)manager->revoke_batch(names, seed_plan());
  let_the_device_die();
  ASSERT_FALSE(manager->tear_down());
  EXPECT_TRUE(manager->is_function_lost());
  EXPECT_THAT(function.function.done, ::testing::ElementsAre("bus master off", "reset"));
}

TEST_F(LeaseEnd, TearDownOfManyThatStay_ErrorNamesAFewAndCountsTheRest) {
  start_many(200);
  let_the_device_die();
  const auto down = manager->tear_down();
  ASSERT_FALSE(down);
  EXPECT_THAT(down.error().text, HasSubstr("200 leases stay FENCED"));
  EXPECT_THAT(down.error().text, HasSubstr("and 192 more"));
  EXPECT_LT(down.error().text.size(), 2'000u);
}

TEST_F(LeaseEnd, TearDownOfManyOnASlowDevice_EveryLeaseIsGoneAllTheSame) {
  start_many(200);
  for (const Opcode opcode : {Opcode::QP_2ERR, Opcode::DESTROY_MKEY, Opcode::QP_2RST,
                              Opcode::DESTROY_QP, Opcode::DEALLOC_PD})
    function.channel.answer(opcode, Answer{.takes_ns = 10 * kMs}, 200);
  const auto down = manager->tear_down();
  EXPECT_TRUE(down) << down.error().text;
  EXPECT_EQ(manager->table().count(State::Free), 200u);
}

/// 30 ms of deferred phase for each of 200, one after the other: 6 s.
TEST_F(LeaseEnd, TearDownOfManyPendingOnASlowDevice_EveryLeaseIsGoneAllTheSame) {
  start_many(200);
  std::vector<LeaseName> names;
  for (const Lease& lease : leases) names.push_back({lease.id, lease.epoch});
  (void)manager->revoke_batch(names, seed_plan());
  for (const Opcode opcode : {Opcode::QP_2RST, Opcode::DESTROY_QP, Opcode::DEALLOC_PD})
    function.channel.answer(opcode, Answer{.takes_ns = 10 * kMs}, 200);
  EXPECT_TRUE(manager->tear_down());
  EXPECT_EQ(manager->table().count(State::Free), 200u);
}

/// 120 ms of fence for each of 200, three at a time: 8 s.
TEST_F(LeaseEnd, TearDownOfManyWhoseFencesAreSlow_EveryLeaseIsGoneAllTheSame) {
  start_many(200);
  for (const Opcode opcode : {Opcode::QP_2ERR, Opcode::DESTROY_MKEY})
    function.channel.answer(opcode, Answer{.takes_ns = 60 * kMs}, 200);
  EXPECT_TRUE(manager->tear_down());
  EXPECT_EQ(manager->table().count(State::Free), 200u);
}

/// Who ends badly gives no time to the others.
TEST_F(LeaseEnd, TearDownOfManyWhoseKeysAreRefused_LastsNoLonger) {
  start_many(200);
  function.channel.answer(Opcode::DESTROY_MKEY,
                          {.status = prm::CommandStatus::BAD_PARAM_ERR, .takes_ns = 200 * kMs},
                          200);
  since_ns = function.now_ns;
  EXPECT_FALSE(manager->tear_down());
  EXPECT_LE(elapsed_ms(), 4'000u);
  EXPECT_EQ(manager->fenced_count(), 200u);
}

TEST_F(LeaseEnd, TearDown_FencesInFenceSlots) {
  ASSERT_TRUE(manager->tear_down());
  EXPECT_EQ(function.channel.sent[0].opcode, Opcode::QP_2ERR);
  EXPECT_EQ(function.channel.sent[0].slot_class, pmd::SlotClass::Fence);
}

/// Silence to many leases is believed at once.
TEST_F(LeaseEnd, TearDownOf200ActiveWithADeadDevice_OnlyTheFirstOfThemAreTried) {
  start_many(200);
  let_the_device_die();
  ASSERT_FALSE(manager->tear_down());
  EXPECT_LE(elapsed_ms(), 1'000u);
}

TEST_F(LeaseEnd, TearDownWithADeadDeviceWhoseBusMasteringStaysOn_NotReset) {
  start_many(20, {.fence = {.may_reset_function = true}});
  std::vector<LeaseName> names;
  for (const Lease& lease : leases) names.push_back({lease.id, lease.epoch});
  (void)manager->revoke_batch(names, seed_plan());
  let_the_device_die();
  function.function.refuse_bus_master = true;
  ASSERT_FALSE(manager->tear_down());
  EXPECT_FALSE(manager->is_function_lost());
  EXPECT_THAT(function.function.done, ::testing::ElementsAre("bus master off"));
  EXPECT_EQ(manager->fenced_count(), 20u);
}

TEST_F(LeaseEnd, TableTakenFromAManagerWithActiveLeases_TheyAreGone) {
  const LeaseTable table = std::move(*manager).take_table();
  EXPECT_EQ(table.count(State::Free), slots);
}

TEST_F(LeaseEnd, GrantAfterTearDown_RefusedAndNothingMade) {
  ASSERT_TRUE(manager->tear_down());
  function.forget();
  const auto grant = manager->grant(request);
  ASSERT_FALSE(grant);
  EXPECT_THAT(grant.error().text, HasSubstr("torn down"));
  const std::vector<GrantRequest> requests(2, request);
  EXPECT_FALSE(manager->grant_together(requests));
  EXPECT_THAT(opcodes(), IsEmpty());
}

// ---- names ----

TEST_F(LeaseEnd, NameOfAnEarlierManager_NotFound) {
  const Lease old = first.lease;
  function.now_ns += kMs;
  start({});
  ASSERT_EQ(first.lease.slot, old.slot);
  EXPECT_EQ(manager->revoke(old.id, old.epoch).outcome, Outcome::NotFound);
  EXPECT_EQ(state(first.lease), State::Active);
}

TEST_F(LeaseEnd, NamesFromTheSystem_NoTwoAlikeAndNoneInSequence) {
  manager.reset();
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 64; ++i) {
    auto table = LeaseTable::create({.slots = 1}).value();
    ids.insert(table.grant().value().id);
  }
  EXPECT_EQ(ids.size(), 64u);
  EXPECT_GT(*ids.rbegin() - *ids.begin(), std::uint64_t{1} << 56);
}

TEST_F(LeaseEnd, SeededNames_AreThoseOfTheSeed) {
  auto one = LeaseTable::create({.slots = 4, .name_seed = 5}).value();
  auto same = LeaseTable::create({.slots = 4, .name_seed = 5}).value();
  EXPECT_EQ(one.grant().value(), same.grant().value());
}

// ---- ranges ----

struct OutOfRange {
  const char* value;
  void (*set)(LeaseManager::Options&);
};

void PrintTo(const OutOfRange& of, std::ostream* out) { *out << of.value; }

class TimesOutOfRange : public ManagerWorld, public ::testing::WithParamInterface<OutOfRange> {};

TEST_P(TimesOutOfRange, RefusedByValueAndRange) {
  LeaseManager::Options options;
  GetParam().set(options);
  const auto made = LeaseManager::create(host, options);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::InvalidArgument);
  EXPECT_THAT(made.error().text, HasSubstr(GetParam().value));
  EXPECT_THAT(made.error().text, HasSubstr(" expected"));
}

using Options = LeaseManager::Options;
INSTANTIATE_TEST_SUITE_P(
    Each, TimesOutOfRange,
    ::testing::Values(
        OutOfRange{"grace_ms 18446744073709551615", [](Options& o) { o.grace_ms = kMost; }},
        OutOfRange{"grace_ms 3600001", [](Options& o) { o.grace_ms = 3'600'001; }},
        OutOfRange{"residence_ms 3600001", [](Options& o) { o.residence_ms = 3'600'001; }},
        OutOfRange{"fence.deadline_ms 18446744073709551615",
                   [](Options& o) { o.fence.deadline_ms = kMost; }},
        OutOfRange{"fence.deadline_ms 0", [](Options& o) { o.fence.deadline_ms = 0; }},
        OutOfRange{"fence.linger_ms 60001", [](Options& o) { o.fence.linger_ms = 60'001; }},
        OutOfRange{"sweep.command_deadline_ms 0",
                   [](Options& o) { o.sweep.command_deadline_ms = 0; }},
        OutOfRange{"grant.deadline_ms 0", [](Options& o) { o.grant.deadline_ms = 0; }}));

// ---- a number's rest ----

struct Rest {
  const char* longest;
  std::uint64_t grace_ms;
  std::uint8_t ack_timeout;
  std::uint8_t retry_count;
  std::uint64_t residence_ms;
  std::uint64_t rests_ms;
};

void PrintTo(const Rest& of, std::ostream* out) { *out << of.longest; }

class NumbersRest : public ManagerWorld, public ::testing::WithParamInterface<Rest> {
 protected:
  void SetUp() override {
    request.ack_timeout = GetParam().ack_timeout;
    request.retry_count = GetParam().retry_count;
    start({.grace_ms = GetParam().grace_ms, .residence_ms = GetParam().residence_ms});
    (void)revoke(first.lease);
  }
};

TEST_P(NumbersRest, LastsAsLongAsAPacketMayStillCome) {
  poll_at(GetParam().rests_ms - 1);
  EXPECT_THAT(opcodes(), Not(::testing::Contains(Opcode::DESTROY_QP)));
  poll_at(GetParam().rests_ms);
  EXPECT_THAT(opcodes(), ::testing::Contains(Opcode::DESTROY_QP));
}

// 4 T is 16.777216 ms with timeout 10.
INSTANTIATE_TEST_SUITE_P(
    Each, NumbersRest,
    ::testing::Values(Rest{"grace", 500, 10, 7, 100, 500}, Rest{"retry budget", 100, 10, 7, 0, 135},
                      Rest{"residence", 100, 10, 7, 700, 1'535},
                      Rest{"short residence", 1'000, 10, 7, 50, 1'000},
                      Rest{"residence of all", 3'600'000 - 1, 10, 0, 3'600'000, 7'200'017}));

TEST_F(LeaseEnd, TimeToLiveOutOfRange_RefusedInGrantAndRenewal) {
  request.ttl_ms = kMost;
  EXPECT_THAT(manager->grant(request).error().text, HasSubstr("a time to live of 1844674"));
  EXPECT_EQ(manager->renew(first.lease.id, first.lease.epoch, kMost).error().code,
            Errc::InvalidArgument);
}

TEST_F(LeaseEnd, LongestTimes_WrapNothing) {
  start({.grace_ms = 3'600'000});
  request.ack_timeout = 31;
  request.ttl_ms = kMostTtlMs;
  const Lease lease = granted();
  (void)revoke(first.lease);
  poll_at(3'599'999);
  EXPECT_EQ(state(first.lease), State::PendingDestroy);
  EXPECT_EQ(state(lease), State::Active);
}

TEST_F(LeaseEnd, FenceOfEndlessTimes_IsTornDown) {
  FencePort port{.device = &function.device, .commands = &function.channel};
  auto region = DmaMemory::create(function.dma, kPageBytes).value();
  const FenceTarget target{.qpn = prm::QpNumber{1},
                           .mkey_index = prm::MkeyIndex{2},
                           .pdn = prm::PdNumber{3},
                           .region = &region};
  Fence fence(port, seed_plan(), target, {.deadline_ms = kMost, .linger_ms = kMost});
  EXPECT_TRUE(fence.advance());
  EXPECT_EQ(fence.verdict(0).outcome, Outcome::TornDown);
}

}  // namespace
}  // namespace portcullis::lease
