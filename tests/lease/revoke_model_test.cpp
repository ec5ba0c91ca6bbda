// SPDX-License-Identifier: BSD-3-Clause
//
// Leases from grant to sweep on a device that acts: what the client sees, and that after an outcome
// no byte of the lease changes any more, whichever command fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <vector>

#include "pmd/command_channel.hpp"
#include "prm/enums.hpp"
#include "prm/opcodes.hpp"
#include "prm/qp_commands.hpp"
#include "prm/status.hpp"
#include "tests/lease/lease_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Client;
using ::portcullis::testing::LeaseWorld;
using prm::Opcode;
using prm::WcStatus;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using FaultKind = model::CommandFaultRule::Kind;

constexpr std::uint32_t kNoSuchIndex = 0x00ffffff;

class LeaseOnModel : public LeaseWorld {};

// ---- grant ----

TEST_F(LeaseOnModel, Granted_WriteLandsInTheLease) {
  Client& a = client();
  EXPECT_EQ(a.write(device, 0x1122334455667788, 5), WcStatus::SUCCESS);
  EXPECT_EQ(word(a, 5), 0x1122334455667788u);
}

TEST_F(LeaseOnModel, KeyOfAnotherLease_RefusedAndNothingWritten) {
  Client& a = client();
  Client& b = client();
  a.grant.rkey = b.grant.rkey;
  EXPECT_EQ(a.write(device, 1), WcStatus::REM_ACCESS_ERR);
  EXPECT_EQ(word(b), 0u);
}

TEST_F(LeaseOnModel, WriteBeyondTheRegion_Refused) {
  Client& a = client();
  EXPECT_EQ(a.write(device, 1, kPageBytes / sizeof(std::uint64_t)), WcStatus::REM_ACCESS_ERR);
}

// ---- what the client sees of each plan ----

struct PlanCase {
  const Plan* plan;
  WcStatus client_sees;
};

class EachPlan : public LeaseWorld, public ::testing::WithParamInterface<PlanCase> {
 protected:
  const Plan& plan() const { return *GetParam().plan; }
};

TEST_P(EachPlan, RevokedUnderTraffic_ClientSeesThePlansStatus) {
  Client& a = client();
  ASSERT_EQ(a.write(device, 1), WcStatus::SUCCESS);
  for (std::uint64_t i = 0; i < 32; ++i) a.post(100 + i, i);
  EXPECT_EQ(revoke(a, plan()).outcome, Outcome::TornDown);
  for (std::uint64_t i = 0; i < 8; ++i) a.post(200 + i, i);
  EXPECT_EQ(a.first_failure(device), GetParam().client_sees);
}

TEST_P(EachPlan, RevokedIdle_NextWriteFails) {
  Client& a = client();
  ASSERT_EQ(a.write(device, 1), WcStatus::SUCCESS);
  EXPECT_EQ(revoke(a, plan()).outcome, Outcome::TornDown);
  EXPECT_NE(a.write(device, 2), WcStatus::SUCCESS);
}

TEST_P(EachPlan, OneOfTwoRevoked_TheOtherLosesNothing) {
  Client& a = client();
  Client& b = client();
  a.post(1);
  b.post(2);
  EXPECT_EQ(revoke(a, plan()).outcome, Outcome::TornDown);
  EXPECT_EQ(b.wait(device), WcStatus::SUCCESS);
  EXPECT_EQ(b.write(device, 3), WcStatus::SUCCESS);
  EXPECT_EQ(word(b), 3u);
}

TEST_P(EachPlan, Outcome_WithinTheDeadlineOnTheCardsTimes) {
  start({}, "cx5-16.35.4506");
  Client& a = client();
  const std::uint64_t before_ns = device.clock.now_ns();
  EXPECT_EQ(revoke(a, plan()).outcome, Outcome::TornDown);
  EXPECT_LE(device.clock.now_ns() - before_ns, 800 * kMs);
}

TEST_P(EachPlan, GrantedAgain_OldClientReachesNothing) {
  Client& a = client();
  (void)revoke(a, plan());
  pass_ms(6'000);
  ASSERT_EQ(state(a), State::Free);
  Client& next = client();
  EXPECT_NE(next.grant.rkey, a.grant.rkey);
  EXPECT_NE(a.write(device, 666), WcStatus::SUCCESS);
  EXPECT_EQ(next.write(device, 7, 1), WcStatus::SUCCESS);
  EXPECT_EQ(word(next), 0u);
}

INSTANTIATE_TEST_SUITE_P(Plans, EachPlan,
                         ::testing::Values(PlanCase{&seed_plan(), WcStatus::RETRY_EXC_ERR},
                                           PlanCase{&nak_first_plan(), WcStatus::REM_ACCESS_ERR},
                                           PlanCase{&legacy_plan(), WcStatus::RETRY_EXC_ERR},
                                           PlanCase{&umr_plan(), WcStatus::REM_ACCESS_ERR},
                                           PlanCase{&access_flags_plan(),
                                                    WcStatus::REM_INV_REQ_ERR}),
                         [](const auto& info) {
                           std::string name(info.param.plan->name);
                           std::erase(name, '-');
                           return name;
                         });

/// Plans after which the region is still there to be looked at.
class EachGracePlan : public LeaseWorld, public ::testing::WithParamInterface<const Plan*> {};

TEST_P(EachGracePlan, RevokedUnderTraffic_NoByteChangesAfterTheOutcome) {
  Client& a = client();
  for (std::uint64_t i = 0; i < 48; ++i) a.post(100 + i, i);
  ASSERT_EQ(revoke(a, *GetParam()).outcome, Outcome::TornDown);
  const auto at_outcome = words(a);
  for (std::uint64_t i = 0; i < 8; ++i) a.post(200 + i, i);
  pass_ms(2'000);
  EXPECT_EQ(words(a), at_outcome);
}

TEST_P(EachGracePlan, GraceOver_SlotFreeAndTheDeviceHoldsNothingOfIt) {
  Client& before = client();
  const auto without = model->census();
  Client& a = client();
  ASSERT_EQ(revoke(a, *GetParam()).outcome, Outcome::TornDown);
  pass_ms(5'100);
  EXPECT_EQ(state(a), State::Free);
  EXPECT_EQ(state(before), State::Active);
  EXPECT_EQ(model->census().mkeys, without.mkeys);
  EXPECT_EQ(model->census().qps, without.qps + 1);  // the client's own
  EXPECT_EQ(model->census().pds, without.pds + 1);
}

INSTANTIATE_TEST_SUITE_P(Plans, EachGracePlan, ::testing::Values(&seed_plan(), &nak_first_plan()),
                         [](const auto& info) {
                           std::string name(info.param->name);
                           std::erase(name, '-');
                           return name;
                         });

TEST_F(LeaseOnModel, LegacyUnderTraffic_RegionGoneAndNobodyReachesForIt) {
  Client& a = client();
  for (std::uint64_t i = 0; i < 32; ++i) a.post(100 + i, i);
  ASSERT_EQ(revoke(a, legacy_plan()).outcome, Outcome::TornDown);
  EXPECT_EQ(state(a), State::Free);
  pass_ms(2'000);
  EXPECT_EQ(model->counters().dma_faults, 0u);
}

TEST_F(LeaseOnModel, NakFirstUnderTraffic_LingerEndsWithTheAccessErrorEvent) {
  Client& a = client();
  ASSERT_EQ(a.write(device, 1), WcStatus::SUCCESS);
  for (std::uint64_t i = 0; i < 32; ++i) a.post(100 + i, i);
  const std::uint64_t before_ns = device.clock.now_ns();
  (void)revoke(a, nak_first_plan());
  EXPECT_LT(device.clock.now_ns() - before_ns, 50 * kMs);
}

TEST_F(LeaseOnModel, NakFirstIdle_LingersAndTheNextWriteMeetsSilence) {
  Client& a = client();
  const std::uint64_t before_ns = device.clock.now_ns();
  (void)revoke(a, nak_first_plan());
  EXPECT_GE(device.clock.now_ns() - before_ns, 50 * kMs);
  EXPECT_EQ(a.write(device, 1), WcStatus::RETRY_EXC_ERR);
}

TEST_F(LeaseOnModel, NakFirstStartedAndWrittenWhileItLingers_RemoteAccessError) {
  Client& a = client();
  ASSERT_EQ(manager->start_revoke(a.grant.lease.id, a.grant.lease.epoch, nak_first_plan()),
            std::nullopt);
  EXPECT_EQ(a.write(device, 1), WcStatus::REM_ACCESS_ERR);
  EXPECT_EQ(word(a), 0u);
  manager->poll();
  EXPECT_EQ(state(a), State::PendingDestroy);
}

// ---- [FENCE-TEST] of the floor document, section 2.3, and the same for every other number ----

/// Names an object that does not exist in the commands it is told to, whoever sends them.
class MisaimedChannel final : public pmd::CommandChannel {
 public:
  explicit MisaimedChannel(pmd::CommandChannel& inner) : inner_(&inner) {}
  Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                             pmd::SlotClass slot_class) override {
    std::vector<std::byte> sent(in.begin(), in.end());
    // Every command on an object has its number at this place.
    const auto header = prm::View<prm::destroy_qp_in>::at(sent);
    if (misaimed.contains(Opcode{static_cast<std::uint16_t>(header.get<"opcode">())})) {
      EXPECT_TRUE(header.try_set<"qpn">(kNoSuchIndex));
    }
    return inner_->submit(sent, out_bytes, slot_class);
  }
  Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                     std::uint64_t deadline_ns) override {
    return inner_->await(ticket, out, deadline_ns);
  }
  bool is_done(pmd::Ticket ticket) const noexcept override { return inner_->is_done(ticket); }
  std::uint64_t default_deadline_ns() const override { return inner_->default_deadline_ns(); }

  std::set<Opcode> misaimed;

 private:
  pmd::CommandChannel* inner_;
};

class Misaimed : public LeaseWorld {
 protected:
  void SetUp() override {
    LeaseWorld::SetUp();
    manager.reset();
    channel.emplace(*hca->context().commands);
    context = hca->context();
    context->commands = &*channel;
    Host on_channel = host();
    on_channel.context = &*context;
    LeaseManager::Options options;
    options.table.slots = slots;
    options.grant.psn_seed = 7;
    manager = LeaseManager::create(on_channel, options).value();
  }
  void TearDown() override { stop(); }

  std::optional<MisaimedChannel> channel;
  std::optional<pmd::Context> context;
};

TEST_F(Misaimed, KeyIndexForcedToNoSuchKey_BadParamAndFenced) {
  Client& a = client();
  const std::uint32_t fenced_before = manager->fenced_count();
  channel->misaimed = {Opcode::DESTROY_MKEY};
  const RevokeAnswer answer = revoke(a);
  EXPECT_EQ(answer.outcome, Outcome::Fenced);
  EXPECT_EQ(answer.verdict.failed_mask, bit(Step::DestroyMkey));
  EXPECT_EQ(state(a), State::Fenced);
  EXPECT_EQ(manager->fenced_count(), fenced_before + 1);
  EXPECT_THAT(log, Contains(HasSubstr("BAD_PARAM")));
}

TEST_F(Misaimed, KeyIndexForcedToNoSuchKey_MemoryOutOfReachAllTheSame) {
  Client& a = client();
  Client& b = client();
  ASSERT_EQ(a.write(device, 1), WcStatus::SUCCESS);
  channel->misaimed = {Opcode::DESTROY_MKEY};
  EXPECT_EQ(revoke(a, nak_first_plan()).verdict.proof, Proof::Unmap);
  EXPECT_NE(a.write(device, 2), WcStatus::SUCCESS);
  EXPECT_EQ(word(a), 1u);
  EXPECT_EQ(b.write(device, 3), WcStatus::SUCCESS);
}

TEST_F(Misaimed, QpNumberForcedToNoSuchQp_Fenced) {
  Client& a = client();
  channel->misaimed = {Opcode::QP_2ERR, Opcode::RTS2RTS_QP};
  const RevokeAnswer answer = revoke(a);
  EXPECT_EQ(answer.outcome, Outcome::Fenced);
  EXPECT_EQ(answer.verdict.failed_mask, bit(Step::ErrorQp) | bit(Step::ClearRights));
  EXPECT_EQ(answer.verdict.proof, Proof::Mkey);
  EXPECT_EQ(a.write(device, 1), WcStatus::REM_ACCESS_ERR);
}

TEST_F(Misaimed, DomainForcedToNoSuchDomain_LegacyFenced) {
  Client& a = client();
  channel->misaimed = {Opcode::DEALLOC_PD};
  const RevokeAnswer answer = revoke(a, legacy_plan());
  EXPECT_EQ(answer.outcome, Outcome::Fenced);
  EXPECT_EQ(answer.verdict.failed_mask, bit(Step::DeallocPd));
  EXPECT_EQ(answer.verdict.origin, Origin::Legacy);
}

// ---- every command of every plan, broken in every way ----

struct Fault {
  const Plan* plan;
  Opcode opcode;
  FaultKind kind;
};

std::vector<Fault> every_fault() {
  std::vector<Fault> faults;
  for (const FaultKind kind : {FaultKind::Status, FaultKind::StatusAfter, FaultKind::DeliveryStatus,
                               FaultKind::NeverReturns}) {
    for (const Plan& plan : plans()) {
      faults.push_back({&plan, Opcode::QP_2ERR, kind});
      // What plan umr does not send.
      if (!plan.has(Step::FreeKey)) faults.push_back({&plan, Opcode::DESTROY_MKEY, kind});
    }
    for (const Opcode opcode : {Opcode::QP_2RST, Opcode::DESTROY_QP, Opcode::DEALLOC_PD})
      faults.push_back({&legacy_plan(), opcode, kind});
  }
  return faults;
}

class BrokenFence : public LeaseWorld, public ::testing::WithParamInterface<Fault> {};

TEST_P(BrokenFence, Revoke_FencedInTimeAndNoByteChangesAfterwards) {
  Client& a = client();
  for (std::uint64_t i = 0; i < 48; ++i) a.post(100 + i, i);
  break_command(GetParam().opcode, GetParam().kind);
  const std::uint64_t before_ns = device.clock.now_ns();
  const RevokeAnswer answer = revoke(a, *GetParam().plan);
  EXPECT_LE(device.clock.now_ns() - before_ns, 1'000 * kMs);
  EXPECT_EQ(answer.outcome, Outcome::Fenced);
  EXPECT_NE(answer.verdict.proof, Proof::None);
  EXPECT_EQ(state(a), State::Fenced);
  const auto at_outcome = words(a);
  for (std::uint64_t i = 0; i < 8; ++i) a.post(200 + i, i);
  pass_ms(2'000);
  EXPECT_EQ(words(a), at_outcome);
  EXPECT_EQ(revoke(a).verdict, answer.verdict);
}

INSTANTIATE_TEST_SUITE_P(Commands, BrokenFence, ::testing::ValuesIn(every_fault()));

class BrokenSweep : public LeaseWorld, public ::testing::WithParamInterface<Fault> {};

std::vector<Fault> every_sweep_fault() {
  std::vector<Fault> faults = every_fault();
  std::erase_if(faults, [](const Fault& fault) {
    return fault.opcode == Opcode::QP_2ERR || fault.opcode == Opcode::DESTROY_MKEY;
  });
  return faults;
}

TEST_P(BrokenSweep, DeferredPhase_FencedBySweepAndOthersUnharmed) {
  Client& a = client();
  Client& b = client();
  ASSERT_EQ(revoke(a).outcome, Outcome::TornDown);
  break_command(GetParam().opcode, GetParam().kind);
  pass_ms(8'000);
  EXPECT_EQ(state(a), State::Fenced);
  EXPECT_EQ(manager->table().verdict(a.grant.lease.slot).origin, Origin::Sweep);
  EXPECT_EQ(b.write(device, 1), WcStatus::SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(Commands, BrokenSweep, ::testing::ValuesIn(every_sweep_fault()));

// ---- the ladder on a device that acts ----

TEST_F(LeaseOnModel, QpRefusesErrorOnce_SilentOnTheSecondTry) {
  Client& a = client();
  break_command(Opcode::QP_2ERR, FaultKind::Status, /*repeat=*/false);
  EXPECT_EQ(revoke(a).outcome, Outcome::Fenced);
  EXPECT_EQ(a.write(device, 1), WcStatus::RETRY_EXC_ERR);
}

TEST_F(LeaseOnModel, QpRefusesErrorAndKeyStays_RightsGoneAndMemoryUnmapped) {
  Client& a = client();
  break_command(Opcode::QP_2ERR, FaultKind::Status);
  break_command(Opcode::DESTROY_MKEY, FaultKind::Status);
  const RevokeAnswer answer = revoke(a);
  EXPECT_EQ(answer.verdict.failed_mask, bit(Step::ErrorQp) | bit(Step::DestroyMkey));
  EXPECT_EQ(answer.verdict.proof, Proof::Unmap);
  EXPECT_EQ(a.write(device, 1), WcStatus::REM_INV_REQ_ERR);
  EXPECT_EQ(model->counters().dma_faults, 0u);
}

TEST_F(LeaseOnModel, KeyLivesOn_ItsAddressesAreNeverUsedAgain) {
  Client& a = client();
  const Iova dead = manager->fence_target(a.grant.lease)->region->iova();
  break_command(Opcode::DESTROY_MKEY, FaultKind::Status);
  EXPECT_EQ(revoke(a).verdict.proof, Proof::Unmap);
  EXPECT_THAT(dma->retired, ElementsAre(dead));
}

TEST_F(LeaseOnModel, KeyDestroyed_NoAddressIsLostForGood) {
  (void)revoke(client());
  (void)revoke(client(), legacy_plan());
  pass_ms(6'000);
  EXPECT_THAT(dma->retired, IsEmpty());
}

TEST_F(LeaseOnModel, IommuRefusesAndResetNotAllowed_UnprovedAndSaidSo) {
  Client& a = client();
  break_command(Opcode::DESTROY_MKEY, FaultKind::Status);
  dma->refuse = true;
  const RevokeAnswer answer = revoke(a);
  dma->refuse = false;
  EXPECT_EQ(answer.verdict.proof, Proof::None);
  EXPECT_THAT(describe(manager->fenced_summary().front()), HasSubstr("memory=unproved"));
}

TEST_F(LeaseOnModel, IommuRefusesAndResetAllowed_NoByteOfAnyLeaseChangesAfterwards) {
  start({.fence = {.may_reset_function = true}});
  Client& a = client();
  Client& b = client();
  break_command(Opcode::DESTROY_MKEY, FaultKind::Status);
  dma->refuse = true;
  EXPECT_EQ(revoke(a).verdict.proof, Proof::Function);
  dma->refuse = false;
  const auto of_a = words(a);
  const auto of_b = words(b);
  a.post(1);
  b.post(2);
  pass_ms(1'000);
  EXPECT_EQ(words(a), of_a);
  EXPECT_EQ(words(b), of_b);
  EXPECT_EQ(revoke(b).verdict.proof, Proof::Function);
}

// ---- the end of a function ----

TEST_F(LeaseOnModel, TornDownWithActiveLeases_DeviceHoldsNothing) {
  client();
  (void)revoke(client());
  ASSERT_TRUE(manager->tear_down());
  stop();
  EXPECT_EQ(model->census().objects(), 0u);
  EXPECT_EQ(model->census().pages, 0u);
  EXPECT_EQ(model->counters().objects_at_teardown, 0u);
}

TEST_F(LeaseOnModel, FunctionResetAndBroughtUpAgain_FencedSlotServesAgain) {
  Client& a = client();
  const Lease lost = a.grant.lease;
  break_command(Opcode::DESTROY_MKEY, FaultKind::Status, /*repeat=*/false);
  ASSERT_EQ(revoke(a).outcome, Outcome::Fenced);
  LeaseTable table = std::move(*manager).take_table();
  stop();
  bring_up();
  manager = LeaseManager::create(host(), {}, std::move(table)).value();
  for (int i = 0; i < 7; ++i) client();
  Client& again = client();
  EXPECT_EQ(again.grant.lease.slot, lost.slot);
  EXPECT_EQ(again.grant.lease.epoch, lost.epoch + 1);
  EXPECT_EQ(again.write(device, 1), WcStatus::SUCCESS);
}

TEST_F(LeaseOnModel, CardPulled_RevokeFailsClosed) {
  Client& a = client();
  model->surprise_remove();
  const RevokeAnswer answer = revoke(a);
  EXPECT_EQ(answer.outcome, Outcome::Fenced);
  EXPECT_NE(answer.verdict.failed_mask & bit(Step::DestroyMkey), 0);
}

}  // namespace
}  // namespace portcullis::lease
