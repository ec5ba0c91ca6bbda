// SPDX-License-Identifier: BSD-3-Clause
//
// The deferred phase and who polls for it: a poll that may wait brings back every slot that its
// time suffices for, one that may not waits for nothing, and a revoke behind either is as quick.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/lease/lease_world.hpp"
#include "tests/lease/manager_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::LeaseWorld;
using ::portcullis::testing::ManagerWorld;
using ::portcullis::testing::Sent;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr std::uint32_t kLeases = 100;

class SweepPolls : public LeaseWorld {
 protected:
  void SetUp() override {}
  /// All of them are revoked, GRACE is over, and nobody has polled.
  void let_all_be_due(std::uint64_t wait_ms, const char* timing) {
    slots = kLeases + 1;
    start({.sweep = {.wait_ms = wait_ms}}, timing);
    held = granted();
    std::vector<LeaseName> names;
    for (std::uint32_t i = 0; i < kLeases; ++i) {
      const Lease lease = granted();
      names.push_back({lease.id, lease.epoch});
    }
    (void)manager->revoke_batch(names, nak_first_plan());
    while (manager->table().count(State::Revoking) != 0) manager->poll();
    const std::uint64_t until_ns = device.clock.now_ns() + 10'000 * kMs;
    while (device.clock.now_ns() < until_ns) device.relax(until_ns);
  }
  Lease granted() {
    const GrantRequest request{.bytes = kPageBytes,
                               .peer = {.qpn = prm::QpNumber{5}, .gid = testing::kPort.gid}};
    return manager->grant(request).value().lease;
  }
  std::uint64_t poll_ns() {
    const std::uint64_t before_ns = device.clock.now_ns();
    manager->poll();
    return device.clock.now_ns() - before_ns;
  }
  void poll_until_all_are_back() {
    for (; left() != 0; ++polls) longest_poll_ns = std::max(longest_poll_ns, poll_ns());
  }
  [[nodiscard]] std::uint32_t left() const { return manager->table().count(State::PendingDestroy); }

  Lease held;
  std::uint64_t longest_poll_ns = 0;
  unsigned polls = 0;
};

TEST_F(SweepPolls, ThatMayWait_BringBackEverySlotAtOnce) {
  let_all_be_due(LeaseManager::kPollMs, "instant");
  manager->poll();
  EXPECT_EQ(left(), 0u);
}

TEST_F(SweepPolls, ThatMayWait_EndInTheirTimeAndGoOnInTheNext) {
  let_all_be_due(LeaseManager::kPollMs, "cx5-16.35.4506");
  poll_until_all_are_back();
  EXPECT_LE(longest_poll_ns, LeaseManager::kPollMs * kMs);
  EXPECT_GT(polls, 10u);
}

TEST_F(SweepPolls, ThatMayNotWait_TakeNoTimeOfTheDevice) {
  let_all_be_due(0, "cx5-16.35.4506");
  EXPECT_EQ(poll_ns(), 0u);
  EXPECT_EQ(left(), kLeases);
}

TEST_F(SweepPolls, RevokeBehindOneThatWaited_HasItsOutcomeInItsUsualTime) {
  let_all_be_due(LeaseManager::kPollMs, "cx5-16.35.4506");
  manager->poll();
  const std::uint64_t before_ns = device.clock.now_ns();
  EXPECT_EQ(manager->revoke(held.id, held.epoch).outcome, Outcome::TornDown);
  EXPECT_LE(device.clock.now_ns() - before_ns, 2 * kMs);
}

TEST_F(SweepPolls, WaitLongerThanAPoll_IsRefused) {
  start({});
  const auto refused = LeaseManager::create(host(), {.sweep = {.wait_ms = 21}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, ::testing::HasSubstr("sweep.wait_ms 21; 0 to 20"));
}

/// As of a NIC that its kernel driver keeps: whoever sends a command waits until it is answered.
class SweepOnAChannelThatWaits : public ManagerWorld {};

TEST_F(SweepOnAChannelThatWaits, PollEndsBehindThePhaseThatTookItsTime) {
  (void)revoke(first.lease);
  for (std::uint32_t i = 1; i < slots; ++i) (void)revoke(granted());
  function.channel.on_submit = [this](const Sent&) { function.now_ns += 12 * kNsPerMs; };
  function.forget();
  poll_at(6'000);
  EXPECT_THAT(opcodes(), ElementsAre(prm::Opcode::QP_2RST, prm::Opcode::QP_2RST));
  manager->poll();
  EXPECT_THAT(opcodes(), SizeIs(4));
}

}  // namespace
}  // namespace portcullis::lease
