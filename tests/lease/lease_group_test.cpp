// SPDX-License-Identifier: BSD-3-Clause
//
// Leases granted together, reached by one indirect key: what plan indirect sends for all of them
// and for one of them, what a client of the group can reach and when, and that what they have in
// common goes exactly when the last one needs it no more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "prm/opcodes.hpp"
#include "tests/lease/lease_world.hpp"
#include "tests/lease/manager_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Answer;
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
using FaultKind = model::CommandFaultRule::Kind;

std::vector<LeaseName> names_of(const std::vector<Lease>& leases) {
  std::vector<LeaseName> names;
  for (const Lease& lease : leases) names.push_back({lease.id, lease.epoch});
  return names;
}

// ---- what is sent ----

class GroupCommands : public ManagerWorld {
 protected:
  void SetUp() override {
    start({.grant = {.key_byte = [this] { return function.context.key_variants->next(); }}});
    const std::vector<GrantRequest> requests(3, request);
    const auto grants = manager->grant_together(requests).value();
    for (const Grant& grant : grants) group.push_back(grant.lease);
    function.forget();
  }
  std::vector<Outcome> revoke_all(const std::vector<Lease>& leases, const Plan& plan) {
    std::vector<Outcome> outcomes;
    for (const RevokeAnswer& answer : manager->revoke_batch(names_of(leases), plan))
      outcomes.push_back(answer.outcome);
    return outcomes;
  }
  /// The idle path until nothing is due any more.
  void sweep() {
    for (std::uint64_t at_ms = 6'000; at_ms <= 60'000; at_ms += 1'000) poll_at(at_ms);
  }
  [[nodiscard]] std::size_t sent(Opcode opcode) const {
    return static_cast<std::size_t>(std::ranges::count(opcodes(), opcode));
  }

  std::vector<Lease> group;
};

TEST_F(GroupCommands, AllRevoked_OneKeyCommandForThem) {
  EXPECT_THAT(revoke_all(group, indirect_plan()), Each(Outcome::TornDown));
  EXPECT_THAT(opcodes(),
              ElementsAre(Opcode::DESTROY_MKEY, Opcode::QP_2ERR, Opcode::QP_2ERR, Opcode::QP_2ERR));
  EXPECT_EQ(manager->table().verdict(group[2].slot).proof, Proof::TenantMkey);
}

TEST_F(GroupCommands, TenantsKeyRefused_EachLosesItsOwn) {
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  EXPECT_THAT(revoke_all(group, indirect_plan()), Each(Outcome::TornDown));
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), 4u);
  EXPECT_EQ(fence_bits(group[0]), bit(Step::DestroyTenantKey));
  EXPECT_EQ(fence_bits(group[2]), bit(Step::DestroyTenantKey));
  EXPECT_EQ(manager->table().verdict(group[2].slot).proof, Proof::Mkey);
}

TEST_F(GroupCommands, OneRevoked_LosesItsOwnKeyAlone) {
  EXPECT_THAT(revoke_all({group[1]}, indirect_plan()), ElementsAre(Outcome::TornDown));
  EXPECT_EQ(function.channel.sent[0].id, prm::number(manager->fence_target(group[1])->mkey_index));
  EXPECT_EQ(manager->table().verdict(group[1].slot).proof, Proof::Mkey);
}

TEST_F(GroupCommands, LastOnesRevoked_TakeTheTenantsKey) {
  (void)revoke_all({group[1]}, seed_plan());
  function.forget();
  EXPECT_THAT(revoke_all({group[0], group[2]}, indirect_plan()), Each(Outcome::TornDown));
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), 1u);
  EXPECT_EQ(manager->table().verdict(group[0].slot).proof, Proof::TenantMkey);
  EXPECT_EQ(manager->table().verdict(group[1].slot).proof, Proof::Mkey);
}

TEST_F(GroupCommands, Swept_EachItsOwnAndTheLastWhatTheyShare) {
  (void)revoke_all(group, indirect_plan());
  function.forget();
  sweep();
  EXPECT_EQ(sent(Opcode::DESTROY_QP), 3u);
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), 3u);  // the tenant's is gone
  EXPECT_EQ(sent(Opcode::DEALLOC_PD), 1u);
  EXPECT_EQ(opcodes().back(), Opcode::DEALLOC_PD);
  EXPECT_EQ(manager->table().count(State::Free), 3u);
}

TEST_F(GroupCommands, SweptAfterSeed_TheLastTakesTheTenantsKeyToo) {
  (void)revoke_all(group, seed_plan());
  function.forget();
  sweep();
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), 1u);
  EXPECT_EQ(sent(Opcode::DEALLOC_PD), 1u);
  EXPECT_EQ(manager->table().count(State::Free), 3u);
}

TEST_F(GroupCommands, TenantsKeyRefusedInTheSweep_FencesTheLast) {
  (void)revoke_all(group, seed_plan());
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  sweep();
  EXPECT_EQ(manager->fenced_count(), 1u);
  EXPECT_EQ(fence_bits(group[2]), bit(Step::DestroyTenantKey));
}

TEST_F(GroupCommands, LegacyForAll_SharedThingsOnceAndEverySlotFree) {
  EXPECT_THAT(revoke_all(group, legacy_plan()), Each(Outcome::TornDown));
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), 4u);
  EXPECT_EQ(sent(Opcode::DEALLOC_PD), 1u);
  EXPECT_EQ(opcodes().back(), Opcode::DEALLOC_PD);
  EXPECT_EQ(manager->table().count(State::Free), 3u);
}

TEST_F(GroupCommands, LegacyOneByOne_TheLastTakesWhatTheyShare) {
  (void)revoke_all({group[0]}, legacy_plan());
  (void)revoke_all({group[1]}, legacy_plan());
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), 2u);
  EXPECT_EQ(sent(Opcode::DEALLOC_PD), 0u);
  (void)revoke_all({group[2]}, legacy_plan());
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), 4u);
  EXPECT_EQ(sent(Opcode::DEALLOC_PD), 1u);
}

struct KeptBy {
  Opcode opcode;
  std::size_t times;  // in the plan, and on the ladder
  Answer way;
};

class LegacyOfAGroup : public GroupCommands, public ::testing::WithParamInterface<KeptBy> {};

/// The second of three keeps its QP or key, or may have; the domain of all three must stay.
TEST_P(LegacyOfAGroup, OneMembersFailure_KeepsTheDomainAndFreesTheOthers) {
  const FenceTarget& second = *manager->fence_target(group[1]);
  const bool is_key = GetParam().opcode == Opcode::DESTROY_MKEY;
  function.channel.answer_on(GetParam().opcode,
                             is_key ? prm::number(second.mkey_index) : prm::number(second.qpn),
                             GetParam().way, GetParam().times);
  EXPECT_THAT(revoke_all(group, legacy_plan()),
              ElementsAre(Outcome::TornDown, Outcome::Fenced, Outcome::TornDown));
  EXPECT_EQ(sent(Opcode::DEALLOC_PD), 0u);
  EXPECT_EQ(manager->table().count(State::Free), 2u);
  EXPECT_EQ(manager->table().verdict(group[1].slot).origin, Origin::Legacy);
}

INSTANTIATE_TEST_SUITE_P(
    Commands, LegacyOfAGroup,
    ::testing::Values(KeptBy{Opcode::QP_2ERR, 2, kRefused}, KeptBy{Opcode::QP_2ERR, 1, kNever},
                      KeptBy{Opcode::DESTROY_MKEY, 1, kRefused},
                      KeptBy{Opcode::DESTROY_MKEY, 1, kNever}, KeptBy{Opcode::QP_2RST, 1, kRefused},
                      KeptBy{Opcode::QP_2RST, 1, kNever}, KeptBy{Opcode::DESTROY_QP, 1, kRefused},
                      KeptBy{Opcode::DESTROY_QP, 1, kNever}));

TEST_F(GroupCommands, LegacyWithTheTenantsKeyRefused_FencesAllWithTheirDomain) {
  function.channel.answer_on(Opcode::DESTROY_MKEY,
                             prm::number(manager->fence_target(group[0])->tenant_mkey_index),
                             kRefused);
  EXPECT_THAT(revoke_all(group, legacy_plan()), Each(Outcome::Fenced));
  EXPECT_EQ(sent(Opcode::DEALLOC_PD), 0u);
  EXPECT_EQ(fence_bits(group[2]), bit(Step::DestroyTenantKey));
}

TEST_F(GroupCommands, FencedMember_KeepsWhatTheyShare) {
  function.channel.answer(Opcode::QP_2ERR, kRefused, 2);  // the plan's and the ladder's
  const auto outcomes = revoke_all(group, indirect_plan());
  EXPECT_EQ(std::ranges::count(outcomes, Outcome::Fenced), 2);
  sweep();
  EXPECT_EQ(sent(Opcode::DEALLOC_PD), 0u);
}

// ---- a member's dead key in the tenant's list ----

TEST_F(GroupCommands, DeadKeyThatComesAgain_IsGivenBackAndAnotherTaken) {
  const FenceTarget dead = *manager->fence_target(group[1]);
  (void)revoke_all({group[1]}, legacy_plan());
  function.forget();
  // The domain, the QP and its way to INIT take a number each.
  function.channel.next_id = prm::number(dead.mkey_index) - 3;
  function.context.key_variants->restart(static_cast<std::uint8_t>(dead.key));
  const Lease next = manager->grant(request).value().lease;
  EXPECT_NE(manager->fence_target(next)->key, dead.key);
  EXPECT_EQ(sent(Opcode::CREATE_MKEY), 2u);
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), 1u);
}

TEST_F(GroupCommands, DeadKeyThatComesAgainAndStays_UndoneByThePlanThatKnowsIt) {
  const FenceTarget dead = *manager->fence_target(group[1]);
  (void)revoke_all({group[1]}, legacy_plan());
  function.forget();
  function.channel.next_id = prm::number(dead.mkey_index) - 3;
  function.context.key_variants->restart(static_cast<std::uint8_t>(dead.key));
  function.channel.answer(Opcode::DESTROY_MKEY, kRefused, 2);
  EXPECT_FALSE(manager->grant(request));
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), 2u);
  EXPECT_EQ(manager->fenced_count(), 1u);
  EXPECT_EQ(manager->fenced_summary().front().verdict.failed_mask, bit(Step::DestroyMkey));
}

TEST_F(GroupCommands, TenantsKeyGone_ItsListBarsNothing) {
  const FenceTarget dead = *manager->fence_target(group[1]);
  (void)revoke_all(group, legacy_plan());
  function.forget();
  function.channel.next_id = prm::number(dead.mkey_index) - 3;
  function.context.key_variants->restart(static_cast<std::uint8_t>(dead.key));
  const Lease next = manager->grant(request).value().lease;
  EXPECT_EQ(manager->fence_target(next)->key, dead.key);
  EXPECT_EQ(sent(Opcode::CREATE_MKEY), 1u);
}

/// Two of the group are still there, and the tenant's key is not.
TEST_F(GroupCommands, TenantsKeyGoneAndOneMemberSwept_ItsKeyMayComeAgain) {
  const FenceTarget dead = *manager->fence_target(group[0]);
  function.channel.answer_on(Opcode::DESTROY_QP, prm::number(manager->fence_target(group[1])->qpn),
                             Answer{.takes_ns = 60'000 * kNsPerMs});
  (void)revoke_all(group, indirect_plan());
  poll_at(6'000);
  ASSERT_EQ(state(group[0]), State::Free);
  ASSERT_EQ(state(group[1]), State::PendingDestroy);
  function.forget();
  function.channel.next_id = prm::number(dead.mkey_index) - 3;
  function.context.key_variants->restart(static_cast<std::uint8_t>(dead.key));
  const Lease next = manager->grant(request).value().lease;
  EXPECT_EQ(manager->fence_target(next)->key, dead.key);
  EXPECT_EQ(sent(Opcode::CREATE_MKEY), 1u);
}

// ---- granting ----

TEST_F(GroupCommands, MoreThanTheFreeSlots_NoneIsGranted) {
  const std::vector<GrantRequest> requests(2, request);
  const auto grants = manager->grant_together(requests);
  ASSERT_FALSE(grants);
  EXPECT_EQ(grants.error().code, Errc::OutOfResources);
  EXPECT_THAT(grants.error().text, HasSubstr("2 leases together, and 0 slots are free"));
  EXPECT_THAT(opcodes(), ElementsAre());
}

TEST_F(GroupCommands, NobodyTogether_Refused) {
  EXPECT_EQ(manager->grant_together({}).error().code, Errc::InvalidArgument);
}

struct Stranger {
  void (*change)(GrantRequest& request);
  const char* text;
};

class GroupRefusals : public GroupCommands, public ::testing::WithParamInterface<Stranger> {};

TEST_P(GroupRefusals, OneUnlikeTheFirst_IsNamedWithItsValueAndNothingIsSent) {
  std::vector<GrantRequest> requests(3, request);
  requests.front().tenant = 5;
  requests[1].tenant = 5;
  requests[2].tenant = 5;
  GetParam().change(requests[2]);
  const auto grants = manager->grant_together(requests);
  ASSERT_FALSE(grants);
  EXPECT_EQ(grants.error().code, Errc::InvalidArgument);
  EXPECT_THAT(grants.error().text, HasSubstr("lease 2 of 3 together, counted from 0: "));
  EXPECT_THAT(grants.error().text, HasSubstr(GetParam().text));
  EXPECT_THAT(opcodes(), ElementsAre());
}

INSTANTIATE_TEST_SUITE_P(
    Each, GroupRefusals,
    ::testing::Values(
        Stranger{[](GrantRequest& request) { request.tenant = 9; }, "tenant 9; 5 expected"},
        Stranger{[](GrantRequest& request) { request.access = {.remote_atomic = true}; },
                 "rights atomic no-local-write; "},
        Stranger{[](GrantRequest& request) { request.access = {}; },
                 "rights no-local-write; write read expected"},
        Stranger{[](GrantRequest& request) { request.log_receives = 2; },
                 "2^2 receives; none expected"},
        Stranger{[](GrantRequest& request) { request.bytes = 0; }, "a lease of 0 bytes"}));

struct Broken {
  Opcode opcode;
  std::size_t after;  // that many succeed
  Answer way;
  std::uint32_t fenced;
};

class BrokenGroupGrant : public GroupCommands, public ::testing::WithParamInterface<Broken> {};

TEST_P(BrokenGroupGrant, NothingIsGrantedAndWhatWasMadeIsUndone) {
  (void)revoke_all(group, legacy_plan());
  function.forget();
  if (GetParam().after != 0) function.channel.answer(GetParam().opcode, {}, GetParam().after);
  function.channel.answer(GetParam().opcode, GetParam().way);
  const std::vector<GrantRequest> requests(3, request);
  EXPECT_FALSE(manager->grant_together(requests));
  EXPECT_EQ(manager->fenced_count(), GetParam().fenced);
  EXPECT_EQ(manager->table().count(State::Free), 3 - GetParam().fenced);
}

INSTANTIATE_TEST_SUITE_P(Commands, BrokenGroupGrant,
                         ::testing::Values(Broken{Opcode::ALLOC_PD, 0, kRefused, 0},
                                           Broken{Opcode::ALLOC_PD, 0, kNever, 1},
                                           Broken{Opcode::CREATE_QP, 1, kRefused, 0},
                                           Broken{Opcode::CREATE_QP, 1, kNever, 1},
                                           Broken{Opcode::CREATE_MKEY, 1, kRefused, 0},
                                           Broken{Opcode::CREATE_MKEY, 3, kRefused,
                                                  0},  // the tenant's
                                           Broken{Opcode::INIT2RTR_QP, 2, kRefused, 0}));

TEST_F(GroupCommands, GrantWithAQpThatMayBe_KeepsTheDomainAndSaysSo) {
  (void)revoke_all(group, legacy_plan());
  function.forget();
  function.channel.answer(Opcode::CREATE_QP, {});
  function.channel.answer(Opcode::CREATE_QP, kNever);
  const std::vector<GrantRequest> requests(3, request);
  const auto grants = manager->grant_together(requests);
  ASSERT_FALSE(grants);
  EXPECT_EQ(sent(Opcode::DEALLOC_PD), 0u);
  EXPECT_THAT(grants.error().text, HasSubstr("stays FENCED with QP (number never answered), PD "));
}

TEST_F(GroupCommands, GrantWithATenantsKeyThatMayBe_KeepsTheDomain) {
  (void)revoke_all(group, legacy_plan());
  function.forget();
  function.channel.answer(Opcode::CREATE_MKEY, {}, 3);
  function.channel.answer(Opcode::CREATE_MKEY, kNever);
  const std::vector<GrantRequest> requests(3, request);
  const auto grants = manager->grant_together(requests);
  ASSERT_FALSE(grants);
  EXPECT_EQ(sent(Opcode::DEALLOC_PD), 0u);
  EXPECT_EQ(manager->fenced_count(), 1u);
  EXPECT_THAT(grants.error().text,
              HasSubstr("stays FENCED with tenant key index (number never answered), PD "));
}

TEST_F(GroupCommands, UndoneGrant_TakesBackEachObjectOnce) {
  (void)revoke_all(group, legacy_plan());
  function.forget();
  function.channel.answer(Opcode::INIT2RTR_QP, kRefused);
  const std::vector<GrantRequest> requests(3, request);
  EXPECT_FALSE(manager->grant_together(requests));
  EXPECT_EQ(sent(Opcode::CREATE_MKEY), 4u);
  EXPECT_EQ(sent(Opcode::DESTROY_MKEY), 4u);
  EXPECT_EQ(sent(Opcode::DESTROY_QP), 3u);
  EXPECT_EQ(sent(Opcode::DEALLOC_PD), 1u);
}

// ---- on a device that acts ----

class GroupOnModel : public LeaseWorld {
 protected:
  void SetUp() override {
    start({.grant = {.key_byte = [this] { return hca->context().key_variants->next(); }}});
    for (int i = 0; i < 3; ++i)
      clients.push_back(std::make_unique<Client>(Client::create(hca->context())));
    std::vector<GrantRequest> requests;
    for (const auto& one : clients)
      requests.push_back(
          {.bytes = kPageBytes, .peer = one->peer(), .ack_timeout = 8, .retry_count = 3});
    const auto grants = manager->grant_together(requests).value();
    for (std::size_t i = 0; i < grants.size(); ++i) {
      clients[i]->connect(grants[i]);
      leases.push_back(grants[i].lease);
    }
  }
  Client& of_group(std::size_t index) { return *clients[index]; }
  std::vector<RevokeAnswer> revoke_group() {
    return manager->revoke_batch(names_of(leases), indirect_plan());
  }

  std::vector<Lease> leases;
};

TEST_F(GroupOnModel, EachWrite_LandsInItsOwnLease) {
  for (std::uint64_t i = 0; i < 3; ++i)
    EXPECT_EQ(of_group(i).write(device, 100 + i, i), WcStatus::SUCCESS);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(word(of_group(i), i), 100 + i);
}

TEST_F(GroupOnModel, AllRevokedUnderTraffic_NakAndNoByteChangesAfterTheOutcome) {
  for (std::uint64_t i = 0; i < 32; ++i)
    for (std::size_t c = 0; c < 3; ++c) of_group(c).post(100 + i, i);
  for (const RevokeAnswer& answer : revoke_group()) {
    EXPECT_EQ(answer.outcome, Outcome::TornDown);
    EXPECT_EQ(answer.verdict.proof, Proof::TenantMkey);
  }
  std::vector<std::vector<std::uint64_t>> before;
  for (std::size_t c = 0; c < 3; ++c) before.push_back(words(of_group(c)));
  for (std::size_t c = 0; c < 3; ++c) {
    of_group(c).post(666);
    EXPECT_EQ(of_group(c).first_failure(device), WcStatus::REM_ACCESS_ERR);
    EXPECT_EQ(words(of_group(c)), before[c]);
  }
}

TEST_F(GroupOnModel, OneRevoked_TheOthersLoseNothing) {
  EXPECT_EQ(revoke(of_group(1), indirect_plan()).outcome, Outcome::TornDown);
  EXPECT_NE(of_group(1).write(device, 1), WcStatus::SUCCESS);
  EXPECT_EQ(of_group(0).write(device, 2), WcStatus::SUCCESS);
  EXPECT_EQ(of_group(2).write(device, 3), WcStatus::SUCCESS);
}

TEST_F(GroupOnModel, DirectKeyOfALease_IsNoneForItsClient) {
  of_group(0).grant.rkey = manager->fence_target(leases[0])->key;
  EXPECT_EQ(of_group(0).write(device, 1), WcStatus::REM_ACCESS_ERR);
  EXPECT_EQ(word(of_group(0)), 0u);
}

TEST_F(GroupOnModel, LeaseGrantedAlone_ReachesNothingByTheGroupsKey) {
  Client& other = client();
  other.grant.rkey = of_group(0).grant.rkey;
  EXPECT_EQ(other.write(device, 1), WcStatus::REM_ACCESS_ERR);
  EXPECT_EQ(word(of_group(0)), 0u);
}

TEST_F(GroupOnModel, WriteBeyondTheLastLease_Refused) {
  EXPECT_EQ(of_group(2).write(device, 1, kPageBytes / sizeof(std::uint64_t)),
            WcStatus::REM_ACCESS_ERR);
}

TEST_F(GroupOnModel, Swept_NothingOfTheGroupIsLeft) {
  const auto held = model->census();
  (void)revoke_group();
  pass_ms(7'000);
  EXPECT_EQ(manager->table().count(State::Free), manager->table().slots());
  const auto left = model->census();
  EXPECT_EQ(held.mkeys - left.mkeys, 4u);
  EXPECT_EQ(held.qps - left.qps, 3u);
  EXPECT_EQ(held.pds - left.pds, 1u);
  EXPECT_EQ(held.dma_mappings - left.dma_mappings, 3u);
}

TEST_F(GroupOnModel, TornDownWithTheGroupHeld_LeavesNothing) {
  const auto held = model->census();
  (void)revoke(of_group(1), legacy_plan());
  ASSERT_TRUE(manager->tear_down());
  EXPECT_EQ(held.mkeys - model->census().mkeys, 4u);
  EXPECT_EQ(held.pds - model->census().pds, 1u);
}

/// Numbers come back at once, the byte is made to come again, and nobody looks at the protection
/// domain below: the worst that firmware may do.
TEST_F(GroupOnModel, OneRevokedAndItsIndexGrantedAgain_TheTenantsKeyLeadsNobodyThere) {
  behaviours = {"reuse-numbers", "klm-domain-unchecked"};
  SetUp();
  leases.erase(leases.begin(), leases.end() - 3);
  clients.erase(clients.begin(), clients.end() - 3);
  const FenceTarget dead = *manager->fence_target(leases[1]);
  EXPECT_EQ(revoke(of_group(1), legacy_plan()).outcome, Outcome::TornDown);
  hca->context().key_variants->restart(static_cast<std::uint8_t>(dead.key));
  const Client& next = client();
  const FenceTarget& made = *manager->fence_target(next.grant.lease);
  EXPECT_EQ(made.mkey_index, dead.mkey_index);
  EXPECT_NE(made.key, dead.key);
  EXPECT_NE(of_group(0).write(device, 666, kPageBytes / sizeof(std::uint64_t)), WcStatus::SUCCESS);
  EXPECT_EQ(words(next), std::vector<std::uint64_t>(kPageBytes / sizeof(std::uint64_t), 0));
}

TEST_F(GroupOnModel, BothKeyStepsBroken_FencedAndTheMemoryOutOfReach) {
  break_command(Opcode::DESTROY_MKEY, FaultKind::Status);
  for (const RevokeAnswer& answer : revoke_group()) {
    EXPECT_EQ(answer.outcome, Outcome::Fenced);
    EXPECT_EQ(answer.verdict.proof, Proof::Unmap);
  }
  const auto before = words(of_group(0));
  EXPECT_NE(of_group(0).write(device, 1), WcStatus::SUCCESS);
  EXPECT_EQ(words(of_group(0)), before);
}

}  // namespace
}  // namespace portcullis::lease
