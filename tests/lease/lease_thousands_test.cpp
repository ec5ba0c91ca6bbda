// SPDX-License-Identifier: BSD-3-Clause
//
// Leases that end by the thousand on a healthy device: none is FENCED for want of time, they end in
// the order of their ends, and a revoke that somebody asks for does not wait behind them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/lease/lease_world.hpp"

namespace portcullis::lease {
namespace {

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

INSTANTIATE_TEST_SUITE_P(Timings, Thousands,
                         ::testing::Values(Many{1'600, "cx5-16.35.4506"}, Many{3'000, "instant"},
                                           Many{3'000, "cx5-16.35.4506"}, Many{64'990, "instant"},
                                           Many{64'990, "cx5-16.35.4506"}),
                         [](const auto& param) {
                           const std::string timing(param.param.timing);
                           return std::to_string(param.param.leases) + "_" + timing.substr(0, 3);
                         });

}  // namespace
}  // namespace portcullis::lease
