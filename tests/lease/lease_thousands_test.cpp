// SPDX-License-Identifier: BSD-3-Clause
//
// Leases that end by the thousand on a healthy device: none is FENCED for want of time or of a
// command slot, they end in the order of their ends, and a revoke that somebody asks for does not
// wait behind them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/lease/lease_world.hpp"
#include "tests/lease/most_leases.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::kMostLeases;
using ::portcullis::testing::LeaseWorld;
using ::testing::SizeIs;

constexpr std::uint64_t kTtlMs = 3'600'000;

struct Many {
  std::uint32_t leases;
  const char* timing;
};

void PrintTo(const Many& of, std::ostream* out) { *out << of.leases << ' ' << of.timing; }

/// So many leases whose clients do nothing.
class Thousands : public LeaseWorld, public ::testing::WithParamInterface<Many> {
 protected:
  void SetUp() override {
    slots = GetParam().leases;
    on_outcome = [this](const Lease& lease, const Verdict&) { ended.push_back(lease.slot); };
    start({}, GetParam().timing);
    for (std::uint32_t i = 0; i < slots; ++i) {
      const auto grant =
          manager->grant({.bytes = kPageBytes,
                          .peer = {.qpn = prm::QpNumber{5}, .gid = testing::kPort.gid},
                          .ttl_ms = kTtlMs});
      ASSERT_TRUE(grant) << grant.error().text;
      leases.push_back(grant->lease);
    }
  }
  void end_all_in_order_of_slots() {
    const std::uint64_t now_ms = device.clock.now_ns() / kMs;
    for (const Lease& lease : leases)
      ASSERT_TRUE(manager->renew(lease.id, lease.epoch, kTtlMs + lease.slot + 1'000'000 - now_ms));
    const std::uint64_t until_ns = device.clock.now_ns() + 10 * kTtlMs * kMs;
    while (device.clock.now_ns() < until_ns) device.relax(until_ns);
  }
  [[nodiscard]] std::uint32_t waiting() const {
    return manager->table().count(State::Active) + manager->table().count(State::Revoking);
  }
  void poll_until_all_ended() {
    while (waiting() != 0) {
      const std::uint64_t before_ns = device.clock.now_ns();
      manager->poll();
      longest_poll_ns = std::max(longest_poll_ns, device.clock.now_ns() - before_ns);
    }
  }

  std::vector<Lease> leases;
  std::vector<std::uint32_t> ended;
  std::uint64_t longest_poll_ns = 0;
};

TEST_P(Thousands, EndTogether_AllTornDownInTheOrderOfTheirEnds) {
  end_all_in_order_of_slots();
  poll_until_all_ended();
  EXPECT_EQ(manager->fenced_count(), 0u);
  // The first ones may be swept before the last ones end.
  EXPECT_EQ(manager->table().count(State::PendingDestroy) + manager->table().count(State::Free),
            slots);
  EXPECT_THAT(ended, SizeIs(slots));
  EXPECT_TRUE(std::ranges::is_sorted(ended));
  EXPECT_LE(longest_poll_ns, 25 * kMs);
}

TEST_P(Thousands, RevokeByNameWhileAllWait_HasItsOutcomeWithinOneSecond) {
  end_all_in_order_of_slots();
  manager->poll();
  const Lease& last = leases.back();
  const std::uint64_t before_ns = device.clock.now_ns();
  EXPECT_EQ(manager->revoke(last.id, last.epoch).outcome, Outcome::TornDown);
  EXPECT_LE(device.clock.now_ns() - before_ns, 1'000 * kMs);
  EXPECT_GT(waiting(), slots / 2);
  poll_until_all_ended();
  EXPECT_EQ(manager->fenced_count(), 0u);
}

TEST_P(Thousands, RevokedInOneBatch_OutcomeOrRevokingWithinOneSecondAndNoneFenced) {
  std::vector<LeaseName> names;
  for (const Lease& lease : leases) names.push_back({lease.id, lease.epoch});
  const std::uint64_t before_ns = device.clock.now_ns();
  for (const RevokeAnswer& answer : manager->revoke_batch(names, seed_plan()))
    EXPECT_THAT(answer.outcome, ::testing::AnyOf(Outcome::TornDown, Outcome::Revoking));
  EXPECT_LE(device.clock.now_ns() - before_ns, 1'000 * kMs);
  EXPECT_GT(manager->table().count(State::PendingDestroy), 1'000u);
  poll_until_all_ended();
  EXPECT_EQ(manager->fenced_count(), 0u);
}

class Waiting : public LeaseWorld {
 protected:
  void SetUp() override {}
  void grant_many(std::uint32_t count, std::uint64_t ttl_ms) {
    slots = count;
    start({}, "cx5-16.35.4506");
    for (std::uint32_t i = 0; i < count; ++i)
      names.push_back(
          name_of(manager->grant({.bytes = kPageBytes,
                                  .peer = {.qpn = prm::QpNumber{5}, .gid = testing::kPort.gid},
                                  .ttl_ms = ttl_ms})));
  }
  static LeaseName name_of(const Result<Grant>& grant) {
    EXPECT_TRUE(grant) << grant.error().text;
    return {grant->lease.id, grant->lease.epoch};
  }
  std::uint64_t expected_ms_of_the_last() {
    const RevokeAnswer answer = manager->revoke_batch(names, seed_plan()).back();
    EXPECT_EQ(answer.outcome, Outcome::Revoking);
    return answer.expected_ms;
  }

  std::vector<LeaseName> names;
};

TEST_F(Waiting, BatchAskedForAgain_ExpectedTimeShrinksWithWhatIsLeft) {
  grant_many(4'000, 0);
  const std::uint64_t first_ms = expected_ms_of_the_last();
  const std::uint64_t second_ms = expected_ms_of_the_last();
  EXPECT_LT(second_ms, first_ms);
  EXPECT_LT(expected_ms_of_the_last(), second_ms);
}

TEST_F(Waiting, DeviceSilentForOneChunk_RevokeByNameAfterwardsIsInTime) {
  grant_many(10'000, kTtlMs);
  const std::uint64_t until_ns = device.clock.now_ns() + 2 * kTtlMs * kMs;
  while (device.clock.now_ns() < until_ns) device.relax(until_ns);
  for (std::uint32_t nth = 1; nth <= 8; ++nth)
    model->inject(
        model::CommandFaultRule{.kind = model::CommandFaultRule::Kind::NeverReturns, .nth = nth});
  while (manager->fenced_count() == 0) manager->poll();
  manager->poll();
  const std::uint64_t before_ns = device.clock.now_ns();
  EXPECT_EQ(manager->revoke(names.back().id, names.back().epoch).outcome, Outcome::TornDown);
  EXPECT_LE(device.clock.now_ns() - before_ns, 1'000 * kMs);
  EXPECT_EQ(manager->fenced_count(), 8u);
}

// ---- granted together ----

/// Tenants of 1,024 leases each, reached by one key. All are taken back by one call: the keys at
/// once, and the QPs when every chunk has left its linger, most of them in polls.
class ThousandsTogether : public LeaseWorld, public ::testing::WithParamInterface<std::uint32_t> {
 protected:
  static constexpr std::uint32_t kOfATenant = 1'024;

  void SetUp() override {
    slots = GetParam() + 2;
    start({}, "cx5-16.35.4506");
    alone = manager->grant(request()).value().lease;
    for (std::uint32_t i = 0; i < GetParam(); i += kOfATenant) {
      const std::vector<GrantRequest> requests(kOfATenant, request());
      const auto grants = manager->grant_together(requests).value();
      for (const Grant& grant : grants) names.push_back({grant.lease.id, grant.lease.epoch});
    }
    // A revoke right behind a call that blocked has less time.
    const std::uint64_t until_ns = device.clock.now_ns() + 1'000 * kMs;
    while (device.clock.now_ns() < until_ns) device.relax(until_ns);
    since_ns = device.clock.now_ns();
    answers = manager->revoke_batch(names, indirect_plan());
  }
  static GrantRequest request() {
    return {.bytes = kPageBytes, .peer = {.qpn = prm::QpNumber{5}, .gid = testing::kPort.gid}};
  }
  [[nodiscard]] std::uint64_t elapsed_ms() const {
    return (device.clock.now_ns() - since_ns) / kMs;
  }
  void poll_once() {
    manager->poll();
    device.relax(device.clock.now_ns() + kMs);
  }
  void poll_until_all_ended() {
    while (manager->table().count(State::Revoking) != 0) poll_once();
  }

  Lease alone;
  std::vector<LeaseName> names;
  std::vector<RevokeAnswer> answers;
  std::uint64_t since_ns = 0;
};

TEST_P(ThousandsTogether, RevokedInOneBatch_NoneFencedAndTheTimeIsThatOfTheCommands) {
  poll_until_all_ended();
  EXPECT_EQ(manager->fenced_count(), 0u);
  EXPECT_EQ(manager->table().count(State::PendingDestroy) + manager->table().count(State::Free),
            names.size() + 1);
  // 750 us for each 2ERR_QP, eight at once in polls, and the call's own second.
  EXPECT_LE(elapsed_ms(), 1'000 + names.size() * 3 / 4 / 8 * 5 / 4);
}

TEST_P(ThousandsTogether, AnswerOfTheRest_SaysHowLongItTakes) {
  ASSERT_EQ(answers.back().outcome, Outcome::Revoking);
  const std::uint64_t told_ms = answers.back().expected_ms;
  const std::uint64_t asked_ms = elapsed_ms();
  EXPECT_LE(asked_ms, 1'000u);
  poll_until_all_ended();
  EXPECT_GE(told_ms, (elapsed_ms() - asked_ms) / 2);
  EXPECT_LE(told_ms, (elapsed_ms() - asked_ms) * 8);
}

TEST_P(ThousandsTogether, RevokeByNameMeanwhile_TornDownWithinOneSecond) {
  for (int i = 0; i < 8; ++i) poll_once();
  ASSERT_GT(manager->table().count(State::Revoking), 0u);
  const std::uint64_t before_ns = device.clock.now_ns();
  EXPECT_EQ(manager->revoke(alone.id, alone.epoch, seed_plan()).outcome, Outcome::TornDown);
  EXPECT_LE(device.clock.now_ns() - before_ns, 1'000 * kMs);
}

TEST_P(ThousandsTogether, RevokeByNameOfTheLastOfThem_TornDownWithinOneSecond) {
  for (int i = 0; i < 8; ++i) poll_once();
  const std::uint64_t before_ns = device.clock.now_ns();
  EXPECT_EQ(manager->revoke(names.back().id, names.back().epoch).outcome, Outcome::TornDown);
  EXPECT_LE(device.clock.now_ns() - before_ns, 1'000 * kMs);
}

TEST_P(ThousandsTogether, GrantMeanwhile_FindsACommandSlot) {
  for (int i = 0; i < 8; ++i) poll_once();
  ASSERT_GT(manager->table().count(State::Revoking), 0u);
  const auto grant = manager->grant(request());
  EXPECT_TRUE(grant) << grant.error().text;
}

TEST_P(ThousandsTogether, DeviceDiesMeanwhile_AllEndWithinOneDeadline) {
  model->inject(
      model::CommandFaultRule{.kind = model::CommandFaultRule::Kind::NeverReturns, .repeat = true});
  const std::uint64_t before_ns = device.clock.now_ns();
  poll_until_all_ended();
  EXPECT_LE(device.clock.now_ns() - before_ns, 4'000 * kMs);
}

INSTANTIATE_TEST_SUITE_P(Leases, ThousandsTogether, ::testing::Values(16'384u));

INSTANTIATE_TEST_SUITE_P(Timings, Thousands,
                         ::testing::Values(Many{1'600, "cx5-16.35.4506"}, Many{3'000, "instant"},
                                           Many{3'000, "cx5-16.35.4506"},
                                           Many{kMostLeases, "instant"},
                                           Many{kMostLeases, "cx5-16.35.4506"}),
                         [](const auto& param) {
                           const std::string timing(param.param.timing);
                           return std::to_string(param.param.leases) + "_" + timing.substr(0, 3);
                         });

}  // namespace
}  // namespace portcullis::lease
