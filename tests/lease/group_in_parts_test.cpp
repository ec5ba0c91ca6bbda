// SPDX-License-Identifier: BSD-3-Clause
//
// Leases that are granted together in parts: no poll makes more of the group than its time allows,
// a revoke meanwhile has its outcome, and whatever ends the group early leaves nothing of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/lease/lease_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::LeaseWorld;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::uint32_t kMembers = 32;  // of which a poll makes a few

class GroupInParts : public LeaseWorld {
 protected:
  void SetUp() override {
    slots = kMembers + 2;
    start({}, "cx5-16.35.4506");
    alone = manager->grant(request(1)).value().lease;
    start_ns = device.clock.now_ns();
    ASSERT_TRUE(manager->start_grant_together(std::vector<GrantRequest>(kMembers, request(7))));
  }
  static GrantRequest request(TenantId tenant) {
    return {.bytes = kPageBytes,
            .peer = {.qpn = prm::QpNumber{5}, .gid = testing::kPort.gid},
            .tenant = tenant};
  }
  void poll_once() {
    const std::uint64_t before_ns = device.clock.now_ns();
    manager->poll();
    longest_poll_ns = std::max(longest_poll_ns, device.clock.now_ns() - before_ns);
    ++polls;
  }
  void poll_times(int times) {
    for (int i = 0; i < times; ++i) poll_once();
  }
  /// Until somebody can be told.
  Result<std::vector<Grant>> end() {
    auto granted = manager->take_granted();
    for (; !granted && polls < 1'000; granted = manager->take_granted()) poll_once();
    return granted ? *std::move(granted) : fail(Errc::Timeout, "not made by 1000 polls");
  }
  /// What remains once every wait is over.
  std::uint32_t free_at_the_end() {
    pass_ms(20'000);
    return manager->table().count(State::Free);
  }

  Lease alone;
  std::uint64_t start_ns = 0;
  std::uint64_t longest_poll_ns = 0;
  int polls = 0;
};

TEST_F(GroupInParts, Started_ReturnsBeforeAnythingIsSent) {
  EXPECT_EQ(device.clock.now_ns(), start_ns);
  EXPECT_FALSE(manager->take_granted());
}

TEST_F(GroupInParts, Polled_EveryMemberIsGrantedAndNoPollIsLong) {
  const auto grants = end();
  ASSERT_TRUE(grants) << grants.error().text;
  EXPECT_THAT(*grants, SizeIs(kMembers));
  EXPECT_GE(polls, 5);
  // The poll's own time, and the three commands of a member that was begun within it.
  EXPECT_LE(longest_poll_ns, 23 * kMs);
  EXPECT_EQ(manager->table().count(State::Active), kMembers + 1);
  EXPECT_FALSE(manager->take_granted());
}

TEST_F(GroupInParts, Granted_AsByOneCall) {
  const auto grants = end().value();
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    EXPECT_EQ(grants[i].address, i * kPageBytes);
    EXPECT_EQ(grants[i].rkey, grants[0].rkey);
    EXPECT_EQ(manager->table().find(grants[i].lease.id, grants[i].lease.epoch),
              grants[i].lease.slot);
  }
}

TEST_F(GroupInParts, GrantedAndRevoked_OneKeyTakesAllAndEverySlotComesBack) {
  const auto grants = end().value();
  std::vector<LeaseName> names;
  for (const Grant& grant : grants) names.push_back({grant.lease.id, grant.lease.epoch});
  for (const RevokeAnswer& answer : manager->revoke_batch(names, indirect_plan()))
    EXPECT_EQ(answer.verdict.proof, Proof::TenantMkey);
  EXPECT_EQ(free_at_the_end(), kMembers + 1);
}

TEST_F(GroupInParts, RevokeOfAnotherMeanwhile_TornDownInItsUsualTime) {
  poll_times(4);
  const std::uint64_t before_ns = device.clock.now_ns();
  EXPECT_EQ(manager->revoke(alone.id, alone.epoch).outcome, Outcome::TornDown);
  EXPECT_LE(device.clock.now_ns() - before_ns, 2 * kMs);
  EXPECT_TRUE(end());
}

TEST_F(GroupInParts, GrantOfAnotherMeanwhile_Granted) {
  poll_times(4);
  EXPECT_TRUE(manager->grant(request(1)));
  EXPECT_TRUE(end());
}

TEST_F(GroupInParts, SecondGroupMeanwhile_Busy) {
  const auto second = manager->start_grant_together(std::vector<GrantRequest>(1, request(1)));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::Busy);
  EXPECT_THAT(second.error().text, HasSubstr("one at a time"));
}

TEST_F(GroupInParts, SecondGroupBeforeTheFirstIsTaken_Busy) {
  poll_times(50);
  const auto second = manager->start_grant_together(std::vector<GrantRequest>(1, request(1)));
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().text, HasSubstr("was not taken"));
  EXPECT_TRUE(*manager->take_granted());
}

TEST_F(GroupInParts, FunctionLostMeanwhile_ItIsSaid) {
  start({.fence = {.may_reset_function = true}}, "cx5-16.35.4506");
  alone = manager->grant(request(1)).value().lease;
  ASSERT_TRUE(manager->start_grant_together(std::vector<GrantRequest>(kMembers, request(7))));
  poll_times(4);
  break_command(prm::Opcode::DESTROY_MKEY, model::CommandFaultRule::Kind::Status);
  dma->refuse = true;
  EXPECT_EQ(manager->revoke(alone.id, alone.epoch).verdict.proof, Proof::Function);
  const auto end = manager->take_granted();
  ASSERT_TRUE(end && !*end);
  EXPECT_THAT(end->error().text, HasSubstr("a fence had to take the function"));
}

/// After so many polls: before anything is made, while members are made, while they are connected.
class GroupEndedEarly : public GroupInParts, public ::testing::WithParamInterface<int> {};

TEST_P(GroupEndedEarly, TenantRevokedMeanwhile_NobodyIsGrantedAndEverySlotComesBack) {
  poll_times(GetParam());
  const auto members = manager->leases_of(7);
  EXPECT_THAT(members, SizeIs(kMembers));
  for (const RevokeAnswer& answer : manager->revoke_batch(members, indirect_plan()))
    EXPECT_EQ(answer.outcome, Outcome::TornDown);
  const auto grants = end();
  ASSERT_FALSE(grants);
  EXPECT_EQ(grants.error().code, Errc::NotFound);
  EXPECT_THAT(grants.error().text, HasSubstr("revoked before all were granted"));
  EXPECT_EQ(free_at_the_end(), kMembers + 1);
}

TEST_P(GroupEndedEarly, OneMemberRevokedMeanwhile_TheOthersAreUndone) {
  poll_times(GetParam());
  const LeaseName member = manager->leases_of(7)[5];
  EXPECT_EQ(manager->revoke(member.id, member.epoch).outcome, Outcome::TornDown);
  EXPECT_FALSE(end());
  EXPECT_EQ(free_at_the_end(), kMembers + 1);
}

TEST_P(GroupEndedEarly, TornDownMeanwhile_NothingStaysAndItIsSaid) {
  poll_times(GetParam());
  EXPECT_TRUE(manager->tear_down());
  EXPECT_EQ(manager->table().count(State::Free), slots);
  const auto end = manager->take_granted();
  ASSERT_TRUE(end && !*end);
  EXPECT_THAT(end->error().text, HasSubstr("32 leases together: the lease manager was torn down"));
}

TEST_P(GroupEndedEarly, DrainedMeanwhile_ItIsSaidAndNothingIsSent) {
  poll_times(GetParam());
  ASSERT_TRUE(manager->drain());
  const std::uint64_t before_ns = device.clock.now_ns();
  const auto end = manager->take_granted();
  ASSERT_TRUE(end && !*end);
  EXPECT_THAT(end->error().text, HasSubstr("the function was drained"));
  manager->poll();
  EXPECT_EQ(device.clock.now_ns(), before_ns);
}

/// All of it is made and nobody has taken it yet; how it ends then.
class GroupEndedBeforeTaken : public GroupInParts,
                              public ::testing::WithParamInterface<void (*)(LeaseManager&)> {};

TEST_P(GroupEndedBeforeTaken, NobodyIsToldAKeyAndEveryMemberIsUndone) {
  poll_times(50);
  EXPECT_THAT(manager->leases_of(7), SizeIs(kMembers));
  GetParam()(*manager);
  const auto end = manager->take_granted();
  ASSERT_TRUE(end && !*end);
  EXPECT_EQ(end->error().code, Errc::NotFound);
  EXPECT_THAT(end->error().text, StartsWith("no grant of 32 leases together: "));
  EXPECT_EQ(manager->leases_of(7).size(), 0U);
}

void revoke_one(LeaseManager& manager) {
  const LeaseName member = manager.leases_of(7)[5];
  EXPECT_EQ(manager.revoke(member.id, member.epoch).outcome, Outcome::TornDown);
}
void revoke_all(LeaseManager& manager) {
  EXPECT_THAT(manager.revoke_batch(manager.leases_of(7), indirect_plan()), SizeIs(kMembers));
}
void drain(LeaseManager& manager) { EXPECT_TRUE(manager.drain()); }
void tear_down(LeaseManager& manager) { EXPECT_TRUE(manager.tear_down()); }

INSTANTIATE_TEST_SUITE_P(Ends, GroupEndedBeforeTaken,
                         ::testing::Values(revoke_one, revoke_all, drain, tear_down));

TEST_F(GroupInParts, TimeOfOneIsOverBeforeAllAreTaken_NobodyIsToldAKey) {
  poll_times(50);
  const LeaseName member = manager->leases_of(7)[5];
  EXPECT_TRUE(manager->renew(member.id, member.epoch, 1));
  pass_ms(50);
  const auto end = manager->take_granted();
  ASSERT_TRUE(end && !*end);
  EXPECT_EQ(end->error().code, Errc::NotFound);
  EXPECT_EQ(free_at_the_end(), kMembers + 1);
}

INSTANTIATE_TEST_SUITE_P(Polls, GroupEndedEarly, ::testing::Range(0, 6));

/// What a member, and what all of them need.
class GroupInPartsRefused : public GroupInParts,
                            public ::testing::WithParamInterface<prm::Opcode> {};

TEST_P(GroupInPartsRefused, NobodyIsGrantedAndEverySlotComesBack) {
  break_command(GetParam(), model::CommandFaultRule::Kind::Status, /*repeat=*/false);
  const auto grants = end();
  ASSERT_FALSE(grants);
  EXPECT_EQ(grants.error().code, Errc::CommandFailed);
  EXPECT_EQ(free_at_the_end(), kMembers + 1);
  EXPECT_TRUE(manager->start_grant_together(std::vector<GrantRequest>(kMembers, request(7))));
  EXPECT_TRUE(end());
}

INSTANTIATE_TEST_SUITE_P(Commands, GroupInPartsRefused,
                         ::testing::Values(prm::Opcode::ALLOC_PD, prm::Opcode::CREATE_QP,
                                           prm::Opcode::RST2INIT_QP, prm::Opcode::CREATE_MKEY,
                                           prm::Opcode::INIT2RTR_QP, prm::Opcode::RTR2RTS_QP));

}  // namespace
}  // namespace portcullis::lease
