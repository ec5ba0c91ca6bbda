// SPDX-License-Identifier: BSD-3-Clause
//
// A whole leased in this process, its threads and the model's, with clients in threads of their
// own, over the socket and over QUIC: what ThreadSanitizer is for. client_test.py asks the same of
// the program.
#include "tests/client/keeper_rig.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace portcullis::client {
namespace {

TEST_P(KeeperTest, LeaseTakenBackByAnother_GateIsClosedAndTheEndTold) {
  const auto kept = keeper();
  const KeptLease lease = granted(*kept, wanted());
  EXPECT_TRUE(lease.gate->is_open());
  auto other = connection();
  EXPECT_EQ(other.revoke({.id = lease.grant.id, .epoch = lease.grant.epoch}).value().outcome,
            wire::Outcome::TornDown);
  const KeptEnd end = ends_.wait_for(0);
  EXPECT_EQ(end.body.id, lease.grant.id);
  EXPECT_TRUE(end.is_known);
  EXPECT_FALSE(lease.gate->is_open());
}

TEST_P(KeeperTest, LeaseGivenBack_GateIsClosedAndNoEndTold) {
  const auto kept = keeper();
  const KeptLease lease = granted(*kept, wanted());
  EXPECT_EQ(kept->release(lease.grant.id, lease.grant.epoch).value().outcome,
            wire::Outcome::TornDown);
  EXPECT_FALSE(lease.gate->is_open());
  EXPECT_EQ(kept->release(lease.grant.id, lease.grant.epoch + 1).value().outcome,
            wire::Outcome::NotFound);
}

TEST_P(KeeperTest, ChallengeThatIsSet_IsToldToItsHolderAlone) {
  stop();
  config_.limits.challenge_ms = 3'600'000;
  start();
  const auto kept = keeper();
  const KeptLease lease = granted(*kept, wanted());
  const auto told = had(kept->challenge(lease.grant.id, lease.grant.epoch));
  EXPECT_EQ(told.challenge, wire::Challenge::Open);
  EXPECT_NE(told.nonce, wire::ByteArray<8>{});
  auto other = connection();
  const auto refused = other.challenge({.id = lease.grant.id, .epoch = lease.grant.epoch});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::NotFound);
}

/// To a model in this process nobody can write.
TEST_P(KeeperTest, ChallengeThatNobodyMeets_GateIsClosedAndTheCauseTold) {
  stop();
  config_.limits.challenge_ms = 1;
  start();
  const auto kept = keeper();
  const KeptLease lease = granted(*kept, wanted());
  const KeptEnd end = ends_.wait_for(0);
  EXPECT_EQ(end.body.id, lease.grant.id);
  EXPECT_EQ(end.body.cause, wire::Cause::Challenge);
  EXPECT_EQ(end.body.outcome, wire::Outcome::TornDown);
  EXPECT_FALSE(lease.gate->is_open());
}

TEST_P(KeeperTest, ServerThatEnds_TellsEveryLeaseAndEndsWell) {
  const auto kept = keeper();
  std::vector<KeptLease> leases;
  for (int i = 0; i < 20; ++i) leases.push_back(granted(*kept, wanted()));
  stop();
  EXPECT_TRUE(is_good_);
  EXPECT_EQ(ends_.wait_for(19).body.cause, wire::Cause::Server);
  for (const KeptLease& lease : leases) EXPECT_FALSE(lease.gate->is_open());
}

TEST_P(KeeperTest, ServerThatIsAnother_TellsHowLeasesOfTheFirstEnded) {
  const auto kept = keeper();
  const KeptLease lease = granted(*kept, wanted());
  const std::uint64_t first = kept->server().incarnation;
  stop();
  start();
  EXPECT_TRUE(ends_.wait_for(0).is_known);
  while (kept->server().incarnation == first) std::this_thread::yield();
  EXPECT_TRUE(granted(*kept, wanted()).gate->is_open());
}

TEST_P(KeeperTest, ManyLeasesThatEndWhileTheyAreRenewed_EachEndIsToldOnce) {
  const auto kept = keeper();
  constexpr std::size_t kLeases = 60;
  constexpr std::size_t kRounds = 3;
  constexpr std::uint64_t kTtlMs = 3'000;  // more than a busy machine lets a thread wait
  auto other = connection();
  for (std::size_t round = 1; round <= kRounds; ++round) {
    std::vector<KeptLease> leases;  // renewed many times a second
    for (std::size_t i = 0; i < kLeases; ++i) leases.push_back(granted(*kept, wanted(kTtlMs)));
    ASSERT_TRUE(other.revoke_tenant(7));
    (void)ends_.wait_for(round * kLeases - 1);
    for (const KeptLease& lease : leases) EXPECT_FALSE(lease.gate->is_open());
  }
  EXPECT_EQ(ends_.count(), kRounds * kLeases);
}

TEST_P(KeeperTest, ManyThreadsOnOneKeeper_EachHasItsOwnLeases) {
  const auto kept = keeper();
  std::vector<std::thread> threads;
  std::atomic<int> torn_down{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 10; ++j) {
        const KeptLease lease = granted(*kept, wanted());
        const auto answer = kept->release(lease.grant.id, lease.grant.epoch);
        torn_down += answer.value().outcome == wire::Outcome::TornDown ? 1 : 0;
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(torn_down, 80);
}

INSTANTIATE_TEST_SUITE_P(Over, KeeperTest, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Quic" : "Socket");
});

}  // namespace
}  // namespace portcullis::client
