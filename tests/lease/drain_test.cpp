// SPDX-License-Identifier: BSD-3-Clause
//
// Everything at once: bus mastering off, then a reset. What every lease is told then and later,
// what is refused until the function is up again, and what happens where either cannot be had. On a
// script, and on the model with clients that go on writing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/lease/lease_world.hpp"
#include "tests/lease/manager_world.hpp"
#include "tests/lease/most_leases.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Client;
using ::portcullis::testing::kNever;
using ::portcullis::testing::kRefused;
using ::portcullis::testing::LeaseWorld;
using ::portcullis::testing::ManagerWorld;
using prm::Opcode;
using prm::WcStatus;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kMs = kNsPerMs;
constexpr Verdict kDrained{.proof = Proof::Function};

class Drain : public ManagerWorld {
 protected:
  void SetUp() override {
    host.on_outcome = [this](const Lease& lease, const Verdict& verdict) {
      told.push_back(lease);
      verdicts.push_back(verdict);
    };
    host.on_function_reset = [this] { ++resets_told; };
    start({});
    second = granted();
  }
  /// It tells of what it takes back.
  void TearDown() override { manager.reset(); }
  /// What the function is when it is up again.
  Result<std::unique_ptr<LeaseManager>> next_manager(const LeaseManager::Options& options = {}) {
    LeaseTable table = std::move(*manager).take_table();
    manager.reset();
    return LeaseManager::create(host, options, std::move(table));
  }

  Lease second;
  std::vector<Lease> told;
  std::vector<Verdict> verdicts;
  unsigned resets_told = 0;
};

TEST_F(Drain, Healthy_BusMasteringOffThenResetAndNoCommand) {
  ASSERT_TRUE(manager->drain());
  EXPECT_THAT(function.function.done, ElementsAre("bus master off", "reset"));
  EXPECT_THAT(opcodes(), IsEmpty());
  EXPECT_EQ(resets_told, 1u);
}

TEST_F(Drain, Healthy_EveryLeaseTornDownToldOnceAndNoneFenced) {
  EXPECT_EQ(manager->drain().value(), 2u);
  EXPECT_THAT(told, ElementsAre(first.lease, second));
  EXPECT_THAT(verdicts, Each(kDrained));
  EXPECT_EQ(manager->fenced_count(), 0u);
}

TEST_F(Drain, AskedForAfterwards_TheOutcomeIsRepeated) {
  ASSERT_TRUE(manager->drain());
  function.now_ns += 3'600'000 * kMs;
  manager->poll();
  EXPECT_EQ(revoke(second), (RevokeAnswer{Outcome::TornDown, second.epoch, kDrained, 0}));
  EXPECT_EQ(revoke(second), revoke(second));
  EXPECT_EQ(revoke({second.id, second.epoch + 1, second.slot}).outcome, Outcome::NotFound);
}

TEST_F(Drain, AlreadyPending_KeepsWhatItWasTold) {
  const RevokeAnswer before = revoke(first.lease);
  ASSERT_EQ(before.verdict.proof, Proof::Mkey);
  EXPECT_EQ(manager->drain().value(), 1u);
  EXPECT_EQ(revoke(first.lease), before);
}

TEST_F(Drain, AlreadyFenced_KeepsItsOutcomeAndIsFencedNoMore) {
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  function.dma.refuse_unmap = true;
  ASSERT_EQ(revoke(first.lease).verdict.proof, Proof::None);
  function.dma.refuse_unmap = false;
  ASSERT_TRUE(manager->drain());
  EXPECT_EQ(manager->fenced_count(), 0u);
  EXPECT_EQ(revoke(first.lease).outcome, Outcome::Fenced);
  EXPECT_EQ(revoke(first.lease).verdict.proof, Proof::Function);
}

TEST_F(Drain, WhileAFenceLingers_ItsOutcomeIsTheDrains) {
  ASSERT_FALSE(manager->start_revoke(second.id, second.epoch, nak_first_plan()));
  EXPECT_EQ(manager->drain().value(), 2u);
  EXPECT_EQ(revoke(second).verdict, kDrained);
  function.now_ns += 100 * kMs;
  manager->poll();
  EXPECT_THAT(told, SizeIs(2));
}

TEST_F(Drain, WhileTheSweepHasACommandInHand_NothingIsSentAnyMore) {
  (void)revoke(first.lease);
  function.channel.answer(Opcode::QP_2RST, kNever);
  poll_at(5'000);
  ASSERT_THAT(opcodes(), ::testing::Contains(Opcode::QP_2RST));
  ASSERT_TRUE(manager->drain());
  function.forget();
  poll_at(60'000);
  EXPECT_TRUE(manager->tear_down());
  EXPECT_THAT(opcodes(), IsEmpty());
}

TEST_F(Drain, LeaseWhoseTimePassesAfterwards_EndedOnce) {
  request.ttl_ms = 10;
  (void)granted();
  ASSERT_TRUE(manager->drain());
  poll_at(100);
  EXPECT_THAT(told, SizeIs(3));
}

TEST_F(Drain, GrantAfterwards_RefusedAndNothingMade) {
  ASSERT_TRUE(manager->drain());
  const auto grant = manager->grant(request);
  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().code, Errc::DeviceFailed);
  EXPECT_THAT(grant.error().text, HasSubstr("drained"));
  EXPECT_THAT(opcodes(), IsEmpty());
}

TEST_F(Drain, DoneTwice_NobodyIsToldAgain) {
  ASSERT_TRUE(manager->drain());
  EXPECT_EQ(manager->drain().value(), 0u);
  EXPECT_THAT(told, SizeIs(2));
}

TEST_F(Drain, AfterTearDown_Refused) {
  ASSERT_TRUE(manager->tear_down());
  EXPECT_EQ(manager->drain().error().code, Errc::InvalidArgument);
  EXPECT_THAT(function.function.done, IsEmpty());
}

// ---- the manager after it ----

TEST_F(Drain, NextManager_GrantsOnceEveryNumberHasRested) {
  request.ack_timeout = 18;  // 4 T x 8 = 34.4 s
  (void)granted();
  ASSERT_TRUE(manager->drain());
  const std::uint64_t drained_ns = function.now_ns;
  manager = next_manager().value();
  const auto early = manager->grant(request);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, Errc::Busy);
  EXPECT_THAT(early.error().text, HasSubstr("34360 ms more"));
  function.now_ns = drained_ns + 8 * 4 * (std::uint64_t{4096} << 18) - 1;
  EXPECT_FALSE(manager->grant(request));
  ++function.now_ns;
  EXPECT_TRUE(manager->grant(request));
}

TEST_F(Drain, NextManager_KnowsNoNameOfTheDrainedOnes) {
  ASSERT_TRUE(manager->drain());
  function.now_ns += 60'000 * kMs;
  manager = next_manager().value();
  for (std::uint32_t slot = 0; slot < slots; ++slot) ASSERT_TRUE(manager->grant(request));
  EXPECT_EQ(revoke(first.lease).outcome, Outcome::NotFound);
  EXPECT_EQ(revoke(second).outcome, Outcome::NotFound);
}

// ---- where it cannot be had ----

TEST_F(Drain, BusMasteringNotShownOff_NotResetAndFencedOneByOneInPoll) {
  function.function.refuse_bus_master = true;
  const auto drained = manager->drain();
  ASSERT_FALSE(drained);
  EXPECT_THAT(drained.error().text, HasSubstr("2 leases are fenced one after the other"));
  EXPECT_THAT(function.function.done, ElementsAre("bus master off"));
  EXPECT_THAT(told, IsEmpty());
  manager->poll();
  manager->poll();
  EXPECT_THAT(told, SizeIs(2));
  EXPECT_EQ(revoke(second).verdict.proof, Proof::Mkey);
}

TEST_F(Drain, BusMasteringNotShownOff_GrantsRefusedAndAskedForByNameAtOnce) {
  function.function.refuse_bus_master = true;
  ASSERT_FALSE(manager->drain());
  EXPECT_THAT(manager->grant(request).error().text, HasSubstr("drained"));
  EXPECT_EQ(revoke(second).outcome, Outcome::TornDown);
}

TEST_F(Drain, BusMasteringNotShownOff_TriedAgainItDrainsTheRest) {
  function.function.refuse_bus_master = true;
  ASSERT_FALSE(manager->drain());
  EXPECT_EQ(revoke(second).verdict.proof, Proof::Mkey);
  function.function.refuse_bus_master = false;
  EXPECT_EQ(manager->drain().value(), 1u);
  EXPECT_EQ(revoke(first.lease).verdict, kDrained);
}

TEST_F(Drain, ResetFails_EveryLeaseToldFencedItsMemoryProved) {
  function.function.refuse_reset = true;
  const auto drained = manager->drain();
  ASSERT_FALSE(drained);
  EXPECT_THAT(drained.error().text, HasSubstr("2 leases stay FENCED"));
  EXPECT_THAT(told, ElementsAre(first.lease, second));
  EXPECT_EQ(manager->fenced_count(), 2u);
  EXPECT_EQ(revoke(second).outcome, Outcome::Fenced);
  EXPECT_EQ(revoke(second).verdict.proof, Proof::Function);
}

TEST_F(Drain, ResetFailsAndSucceedsLater_NothingStaysFencedAndTheOutcomeIsRepeated) {
  function.function.refuse_reset = true;
  ASSERT_FALSE(manager->drain());
  function.function.refuse_reset = false;
  EXPECT_EQ(manager->drain().value(), 0u);
  EXPECT_EQ(manager->fenced_count(), 0u);
  EXPECT_EQ(revoke(second).outcome, Outcome::Fenced);
  EXPECT_TRUE(manager->tear_down());
}

TEST_F(Drain, BusMasteringAndReset_InThisOrderAlsoAfterAFenceTookTheFunction) {
  start({.fence = {.may_reset_function = true}});
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  function.dma.refuse_unmap = true;
  ASSERT_EQ(revoke(first.lease).verdict.proof, Proof::Function);
  function.function.done.clear();
  EXPECT_EQ(manager->drain().value(), 0u);
  EXPECT_THAT(function.function.done, ElementsAre("bus master off", "reset"));
  EXPECT_EQ(manager->fenced_count(), 0u);
}

// ---- on the model ----

class DrainOnModel : public LeaseWorld {
 protected:
  void come_back() {
    LeaseTable table = std::move(*manager).take_table();
    stop();
    bring_up();
    manager = LeaseManager::create(host(), {}, std::move(table)).value();
  }
};

TEST_F(DrainOnModel, ClientsThatGoOnWriting_ChangeNoByteAfterwards) {
  Client& a = client();
  Client& b = client();
  ASSERT_EQ(a.write(device, 1), WcStatus::SUCCESS);
  a.post(2);
  b.post(3);
  ASSERT_TRUE(manager->drain());
  const auto of_a = words(a);
  const auto of_b = words(b);
  a.post(4);
  b.post(5);
  pass_ms(1'000);
  EXPECT_EQ(words(a), of_a);
  EXPECT_EQ(words(b), of_b);
}

TEST_F(DrainOnModel, BroughtUpAgain_NothingIsWaitedForAndEverySlotServes) {
  std::vector<Lease> before;
  for (std::uint32_t i = 0; i < slots; ++i) before.push_back(client().grant.lease);
  const std::uint64_t since_ns = device.clock.now_ns();
  ASSERT_TRUE(manager->drain());
  come_back();
  EXPECT_LE(device.clock.now_ns() - since_ns, 1'000 * kMs);
  pass_ms(6'000);
  for (std::uint32_t i = 0; i < slots; ++i) {
    Client& again = client();
    EXPECT_EQ(again.write(device, 1), WcStatus::SUCCESS);
    EXPECT_EQ(again.grant.lease.epoch, before[again.grant.lease.slot].epoch + 1);
  }
}

TEST_F(DrainOnModel, GroupOfLeases_AllTornDownAndTheNextOnesServe) {
  const std::vector<GrantRequest> requests(
      3, {.bytes = kPageBytes, .peer = {.qpn = prm::QpNumber{5}, .gid = testing::kPort.gid}});
  const auto grants = manager->grant_together(requests).value();
  ASSERT_EQ(manager->revoke(grants[0].lease.id, grants[0].lease.epoch).outcome, Outcome::TornDown);
  EXPECT_EQ(manager->drain().value(), 2u);
  come_back();
  pass_ms(6'000);
  EXPECT_TRUE(manager->grant_together(requests));
}

struct Drained {
  std::uint32_t leases;
  const char* timing;
};

void PrintTo(const Drained& of, std::ostream* out) { *out << of.leases << ' ' << of.timing; }

class DrainOfMany : public LeaseWorld, public ::testing::WithParamInterface<Drained> {
 protected:
  void SetUp() override {
    slots = GetParam().leases;
    on_outcome = [this](const Lease&, const Verdict& verdict) { verdicts.push_back(verdict); };
    start({}, GetParam().timing);
    for (std::uint32_t i = 0; i < slots; ++i)
      ASSERT_TRUE(manager->grant(
          {.bytes = kPageBytes, .peer = {.qpn = prm::QpNumber{5}, .gid = testing::kPort.gid}}));
  }

  std::vector<Verdict> verdicts;
};

TEST_P(DrainOfMany, EveryOutcomeStandsWithinOneSecondAndNoneIsFenced) {
  const std::uint64_t since_ns = device.clock.now_ns();
  EXPECT_EQ(manager->drain().value(), slots);
  EXPECT_LE(device.clock.now_ns() - since_ns, 1'000 * kMs);
  EXPECT_THAT(verdicts, SizeIs(slots));
  EXPECT_THAT(verdicts, Each(kDrained));
  EXPECT_EQ(manager->fenced_count(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Leases, DrainOfMany,
                         ::testing::Values(Drained{3'000, "instant"},
                                           Drained{::portcullis::testing::kMostLeases,
                                                   "cx5-16.35.4506"}),
                         [](const auto& param) { return std::to_string(param.param.leases); });

}  // namespace
}  // namespace portcullis::lease
