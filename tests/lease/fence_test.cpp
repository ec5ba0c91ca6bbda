// SPDX-License-Identifier: BSD-3-Clause
//
// What each plan sends, in which order, slots and time, and how the ladder is climbed when a step
// fails. The device is a script; tests/lease/revoke_model_test.cpp has the one that acts.
#include "lease/fence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lease/noted_ports.hpp"
#include "tests/lease/scripted_function.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Answer;
using ::portcullis::testing::kNever;
using ::portcullis::testing::kRefused;
using ::portcullis::testing::NotedDropRule;
using ::portcullis::testing::NotedKeyFreer;
using ::portcullis::testing::ScriptedFunction;
using ::portcullis::testing::Sent;
using prm::Opcode;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Le;

constexpr std::uint64_t kMs = kNsPerMs;

class FenceTest : public ::testing::Test {
 protected:
  Fence fence(const Plan& plan, const FenceOptions& options = {}) {
    return Fence(port, plan, target, options);
  }
  Verdict run(const Plan& plan, const FenceOptions& options = {}) {
    Fence through = fence(plan, options);
    EXPECT_TRUE(through.advance());
    return through.verdict(0);
  }
  /// A plan that lingers, waited out.
  Verdict run_lingering(const Plan& plan) {
    Fence lingering = fence(plan);
    EXPECT_FALSE(lingering.advance());
    host.now_ns = lingering.lingers_until_ns();
    EXPECT_TRUE(lingering.advance());
    return lingering.verdict(0);
  }
  std::uint64_t elapsed_ns() const { return host.now_ns - ScriptedFunction::kStartNs; }

  ScriptedFunction host;
  DmaMemory region = DmaMemory::create(host.dma, kPageBytes).value();
  FenceTarget target{.slot = 3,
                     .qpn = prm::QpNumber{0x11},
                     .mkey_index = prm::MkeyIndex{0x22},
                     .pdn = prm::PdNumber{0x33},
                     .region = &region};
  FencePort port{
      .device = &host.device,
      .commands = &host.channel,
      .steering = nullptr,
      .on_failure = [this](std::uint32_t, Step step, const Error&) { failures.push_back(step); }};
  std::vector<Step> failures;
};

MATCHER_P2(Command, opcode, id, "") { return arg.opcode == opcode && arg.id == id; }

// ---- plans on a device that obeys ----

TEST_F(FenceTest, Seed_ErrorThenKeyInFenceSlots) {
  const Verdict verdict = run(seed_plan());
  EXPECT_THAT(host.channel.sent,
              ElementsAre(Command(Opcode::QP_2ERR, 0x11u), Command(Opcode::DESTROY_MKEY, 0x22u)));
  EXPECT_THAT(host.channel.sent, Each(Field(&Sent::slot_class, pmd::SlotClass::Fence)));
  EXPECT_EQ(verdict, (Verdict{.outcome = Outcome::TornDown, .proof = Proof::Mkey}));
}

TEST_F(FenceTest, SeedWithSteering_DropInstalledForTheSlot) {
  NotedDropRule drop;
  port.steering = &drop;
  const Verdict verdict = run(seed_plan());
  EXPECT_THAT(drop.installed, ElementsAre(3));
  EXPECT_EQ(verdict.steering, SteeringState::Ok);
}

TEST_F(FenceTest, NakFirst_KeyAtOnceAndErrorOnlyAfterTheLinger) {
  Fence lingering = fence(nak_first_plan());
  EXPECT_FALSE(lingering.advance());
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::DESTROY_MKEY));
  EXPECT_EQ(lingering.lingers_until_ns(), ScriptedFunction::kStartNs + 50 * kMs);
  host.now_ns += 50 * kMs;
  EXPECT_TRUE(lingering.advance());
  EXPECT_EQ(lingering.verdict(0), (Verdict{.outcome = Outcome::TornDown, .proof = Proof::Mkey}));
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::DESTROY_MKEY, Opcode::QP_2ERR));
}

TEST_F(FenceTest, NakFirstWithAccessErrorEvent_LingerEndsThere) {
  Fence lingering = fence(nak_first_plan());
  EXPECT_FALSE(lingering.advance());
  host.now_ns += 1 * kMs;
  lingering.access_error_seen(0);
  EXPECT_TRUE(lingering.advance());
  EXPECT_EQ(lingering.verdict(0).outcome, Outcome::TornDown);
  EXPECT_EQ(elapsed_ns(), 1 * kMs);
}

TEST_F(FenceTest, NakFirstStillLingering_NothingSent) {
  Fence lingering = fence(nak_first_plan());
  EXPECT_FALSE(lingering.advance());
  host.now_ns += 49 * kMs;
  EXPECT_FALSE(lingering.advance());
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::DESTROY_MKEY));
}

TEST_F(FenceTest, Legacy_EverythingDestroyedAndTheRegionUnmapped) {
  const Verdict verdict = run(legacy_plan());
  EXPECT_THAT(host.channel.sent,
              ElementsAre(Command(Opcode::QP_2ERR, 0x11u), Command(Opcode::DESTROY_MKEY, 0x22u),
                          Command(Opcode::QP_2RST, 0x11u), Command(Opcode::DESTROY_QP, 0x11u),
                          Command(Opcode::DEALLOC_PD, 0x33u)));
  EXPECT_FALSE(region.is_mapped());
  EXPECT_EQ(verdict.outcome, Outcome::TornDown);
}

TEST_F(FenceTest, Through_VerdictRepeatedAndNothingSentAgain) {
  Fence seed = fence(seed_plan());
  EXPECT_TRUE(seed.advance());
  const Verdict verdict = seed.verdict(0);
  host.forget();
  EXPECT_TRUE(seed.advance());
  EXPECT_EQ(seed.verdict(0), verdict);
  EXPECT_THAT(host.channel.sent, IsEmpty());
}

TEST_F(FenceTest, EveryCommand_DeadlineWithin800MsOfTheStart) {
  (void)run(legacy_plan());
  EXPECT_THAT(host.channel.sent,
              Each(Field(&Sent::deadline_ns, Le(ScriptedFunction::kStartNs + 800 * kMs))));
}

TEST_F(FenceTest, Umr_KeyFreedThenTheQpAndNoKeyCommand) {
  NotedKeyFreer umr;
  port.umr = &umr;
  const Verdict verdict = run_lingering(umr_plan());
  EXPECT_THAT(umr.freed, ElementsAre(target.key));
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::QP_2ERR));
  EXPECT_EQ(verdict, (Verdict{.outcome = Outcome::TornDown, .proof = Proof::Umr}));
}

TEST_F(FenceTest, UmrFails_KeyDestroyedInsteadAndTornDown) {
  NotedKeyFreer umr;
  umr.refuse = true;
  port.umr = &umr;
  const Verdict verdict = run_lingering(umr_plan());
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::DESTROY_MKEY, Opcode::QP_2ERR));
  EXPECT_EQ(verdict, (Verdict{.outcome = Outcome::TornDown,
                              .proof = Proof::Mkey,
                              .failed_mask = bit(Step::FreeKey)}));
}

TEST_F(FenceTest, NoUmrQueue_KeyDestroyedAndNothingHasFailed) {
  const Verdict verdict = run_lingering(umr_plan());
  EXPECT_EQ(verdict, (Verdict{.outcome = Outcome::TornDown, .proof = Proof::Mkey}));
}

TEST_F(FenceTest, AccessFlags_RightsThenLingerThenKeyThenQp) {
  Fence lingering = fence(access_flags_plan());
  EXPECT_FALSE(lingering.advance());
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::RTS2RTS_QP));
  host.now_ns = lingering.lingers_until_ns();
  EXPECT_TRUE(lingering.advance());
  EXPECT_THAT(host.channel.opcodes(),
              ElementsAre(Opcode::RTS2RTS_QP, Opcode::DESTROY_MKEY, Opcode::QP_2ERR));
  EXPECT_EQ(lingering.verdict(0), (Verdict{.outcome = Outcome::TornDown, .proof = Proof::Mkey}));
}

TEST_F(FenceTest, AccessFlagsRefused_NoLingerAndTornDownByTheKey) {
  host.channel.answer(Opcode::RTS2RTS_QP, kRefused);
  const Verdict verdict = run(access_flags_plan());
  EXPECT_EQ(elapsed_ns(), 0u);
  EXPECT_EQ(verdict, (Verdict{.outcome = Outcome::TornDown,
                              .proof = Proof::Mkey,
                              .failed_mask = bit(Step::ClearRights)}));
}

TEST_F(FenceTest, AccessFlagsWithKeyRefused_FencedThoughTheRightsAreGone) {
  host.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  const Verdict verdict = run_lingering(access_flags_plan());
  EXPECT_EQ(verdict.outcome, Outcome::Fenced);
  EXPECT_EQ(verdict.proof, Proof::Unmap);
}

TEST_F(FenceTest, DropOnly_FencedAndTheLadderSilencesTheQpAndUnmaps) {
  NotedDropRule drop;
  port.steering = &drop;
  const Verdict verdict = run(drop_only_plan());
  EXPECT_THAT(drop.installed, ElementsAre(3u));
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::QP_2ERR));
  EXPECT_EQ(verdict, (Verdict{.outcome = Outcome::Fenced,
                              .origin = Origin::Revoke,
                              .steering = SteeringState::Ok,
                              .proof = Proof::Unmap}));
  EXPECT_FALSE(region.is_mapped());
}

TEST_F(FenceTest, DropOnlyWithoutSteering_FencedAllTheSame) {
  const Verdict verdict = run(drop_only_plan());
  EXPECT_EQ(verdict.outcome, Outcome::Fenced);
  EXPECT_EQ(verdict.steering, SteeringState::Absent);
  EXPECT_EQ(verdict.proof, Proof::Unmap);
}

// ---- overlap ----

TEST_F(FenceTest, Overlap_BothCommandsInFlightTogether) {
  host.channel.answer(Opcode::QP_2ERR, Answer{.takes_ns = 100 * kMs});
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 100 * kMs});
  const Verdict verdict = run(seed_plan().overlapped().value());
  EXPECT_EQ(elapsed_ns(), 100 * kMs);
  EXPECT_EQ(verdict.outcome, Outcome::TornDown);
}

TEST_F(FenceTest, OverlappedNakFirst_NoLinger) {
  const Verdict verdict = run(nak_first_plan().overlapped().value());
  EXPECT_EQ(elapsed_ns(), 0u);
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::DESTROY_MKEY, Opcode::QP_2ERR));
  EXPECT_EQ(verdict.outcome, Outcome::TornDown);
}

TEST_F(FenceTest, OverlappedLegacy_NothingGivenBackBeforeBothAnswered) {
  host.channel.answer(Opcode::QP_2ERR, Answer{.takes_ns = 100 * kMs});
  const Verdict verdict = run(legacy_plan().overlapped().value());
  EXPECT_THAT(host.channel.opcodes(),
              ElementsAre(Opcode::QP_2ERR, Opcode::DESTROY_MKEY, Opcode::QP_2RST,
                          Opcode::DESTROY_QP, Opcode::DEALLOC_PD));
  EXPECT_EQ(host.channel.sent[2].at_ns, ScriptedFunction::kStartNs + 100 * kMs);
  EXPECT_EQ(verdict.outcome, Outcome::TornDown);
}

TEST_F(FenceTest, OverlappedUmrFails_KeyDestroyedAfterAll) {
  NotedKeyFreer umr;
  umr.refuse = true;
  port.umr = &umr;
  const Verdict verdict = run(umr_plan().overlapped().value());
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::QP_2ERR, Opcode::DESTROY_MKEY));
  EXPECT_EQ(verdict.outcome, Outcome::TornDown);
}

TEST_F(FenceTest, OverlapWithOneSlotLeft_OneCommandAfterTheOther) {
  host.channel.fence_slots = 1;
  host.channel.answer(Opcode::QP_2ERR, Answer{.takes_ns = 100 * kMs});
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 100 * kMs});
  const Verdict verdict = run(seed_plan().overlapped().value());
  EXPECT_EQ(elapsed_ns(), 200 * kMs);
  EXPECT_EQ(verdict.outcome, Outcome::TornDown);
}

// ---- the ladder ----

TEST_F(FenceTest, DropRefused_TornDownDegradedWithBitTwo) {
  NotedDropRule drop;
  drop.refuse = true;
  port.steering = &drop;
  const Verdict verdict = run(seed_plan());
  EXPECT_EQ(verdict.outcome, Outcome::TornDown);
  EXPECT_EQ(verdict.failed_mask, 1u << 2);
  EXPECT_EQ(verdict.steering, SteeringState::Degraded);
  EXPECT_THAT(failures, ElementsAre(Step::InstallDrop));
}

TEST_F(FenceTest, KeyRefused_FencedAndTheMemoryProvedByTheUnmap) {
  host.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  const Verdict verdict = run(seed_plan());
  EXPECT_EQ(verdict, (Verdict{.outcome = Outcome::Fenced,
                              .origin = Origin::Revoke,
                              .proof = Proof::Unmap,
                              .failed_mask = bit(Step::DestroyMkey)}));
  EXPECT_FALSE(region.is_mapped());
}

TEST_F(FenceTest, KeyRefusedAndQpInError_RightsAreNotAskedFor) {
  host.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  (void)run(seed_plan());
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::QP_2ERR, Opcode::DESTROY_MKEY));
}

TEST_F(FenceTest, ErrorRefusedOnce_FencedWithTheQpSilentOnTheSecondTry) {
  host.channel.answer(Opcode::QP_2ERR, kRefused);
  const Verdict verdict = run(seed_plan());
  EXPECT_EQ(verdict.outcome, Outcome::Fenced);
  EXPECT_EQ(verdict.failed_mask, bit(Step::ErrorQp));
  EXPECT_EQ(verdict.proof, Proof::Mkey);
  EXPECT_THAT(host.channel.opcodes(),
              ElementsAre(Opcode::QP_2ERR, Opcode::DESTROY_MKEY, Opcode::QP_2ERR));
  EXPECT_TRUE(region.is_mapped());
}

TEST_F(FenceTest, ErrorRefusedTwice_RightsTakenInAFenceSlot) {
  host.channel.answer(Opcode::QP_2ERR, kRefused, 2);
  (void)run(seed_plan());
  EXPECT_THAT(host.channel.sent.back(), AllOf(Command(Opcode::RTS2RTS_QP, 0x11u),
                                              Field(&Sent::slot_class, pmd::SlotClass::Fence)));
}

TEST_F(FenceTest, NothingObeys_EveryRungTriedAndTheMemoryUnproved) {
  host.channel.answer(Opcode::QP_2ERR, kRefused, 2);
  host.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  host.channel.answer(Opcode::RTS2RTS_QP, kRefused);
  host.dma.refuse_unmap = true;
  const Verdict verdict = run(seed_plan());
  EXPECT_EQ(verdict.outcome, Outcome::Fenced);
  EXPECT_EQ(verdict.proof, Proof::None);
  EXPECT_EQ(verdict.failed_mask, bit(Step::ErrorQp) | bit(Step::DestroyMkey) |
                                     bit(Step::ClearRights) | bit(Step::UnmapRegion));
  EXPECT_THAT(host.function.done, IsEmpty());
}

TEST_F(FenceTest, UnmapRefusedAndResetAllowed_BusMasterOffThenReset) {
  host.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  host.dma.refuse_unmap = true;
  const Verdict verdict = run(seed_plan(), {.may_reset_function = true});
  EXPECT_EQ(verdict.proof, Proof::Function);
  EXPECT_THAT(host.function.done, ElementsAre("bus master off", "reset"));
}

TEST_F(FenceTest, BusMasterStaysOn_NoResetAndNoProof) {
  host.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  host.dma.refuse_unmap = true;
  host.function.refuse_bus_master = true;
  const Verdict verdict = run(seed_plan(), {.may_reset_function = true});
  EXPECT_EQ(verdict.proof, Proof::None);
  EXPECT_THAT(host.function.done, ElementsAre("bus master off"));
}

TEST_F(FenceTest, UnmapProves_FunctionLeftAlone) {
  host.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  (void)run(seed_plan(), {.may_reset_function = true});
  EXPECT_THAT(host.function.done, IsEmpty());
}

TEST_F(FenceTest, NakFirstWithKeyRefused_ErrorAtOnce) {
  host.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  const Verdict verdict = run(nak_first_plan());
  EXPECT_EQ(elapsed_ns(), 0u);
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::DESTROY_MKEY, Opcode::QP_2ERR));
  EXPECT_EQ(verdict.outcome, Outcome::Fenced);
  EXPECT_EQ(verdict.proof, Proof::Unmap);
}

TEST_F(FenceTest, NakFirstWithErrorRefused_FencedAndProvedByTheKey) {
  host.channel.answer(Opcode::QP_2ERR, kRefused, 2);
  const Verdict verdict = run_lingering(nak_first_plan());
  EXPECT_EQ(verdict.outcome, Outcome::Fenced);
  EXPECT_EQ(verdict.proof, Proof::Mkey);
}

TEST_F(FenceTest, LegacyWithResetRefused_NothingGivenBack) {
  host.channel.answer(Opcode::QP_2RST, kRefused);
  const Verdict verdict = run(legacy_plan());
  EXPECT_THAT(host.channel.opcodes(),
              ElementsAre(Opcode::QP_2ERR, Opcode::DESTROY_MKEY, Opcode::QP_2RST));
  EXPECT_EQ(verdict, (Verdict{.outcome = Outcome::Fenced,
                              .origin = Origin::Legacy,
                              .proof = Proof::Mkey,
                              .failed_mask = bit(Step::ResetQp)}));
  EXPECT_TRUE(region.is_mapped());
}

TEST_F(FenceTest, LegacyWithKeyRefused_ObjectsKeptAndRegionUnmapped) {
  host.channel.answer(Opcode::DESTROY_MKEY, kRefused);
  const Verdict verdict = run(legacy_plan());
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::QP_2ERR, Opcode::DESTROY_MKEY));
  EXPECT_EQ(verdict.origin, Origin::Legacy);
  EXPECT_EQ(verdict.proof, Proof::Unmap);
}

TEST_F(FenceTest, DeliveryStatusInsteadOfSuccess_Fenced) {
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{.delivery_status = 1});
  EXPECT_EQ(run(seed_plan()).outcome, Outcome::Fenced);
}

// ---- time ----

TEST_F(FenceTest, ErrorNeverReturns_KeyStillDestroyedAndAllWithin800Ms) {
  host.channel.answer(Opcode::QP_2ERR, kNever, 2);
  host.channel.answer(Opcode::DESTROY_MKEY, Answer{.takes_ns = 100 * kMs});
  const Verdict verdict = run(seed_plan());
  EXPECT_EQ(verdict.outcome, Outcome::Fenced);
  EXPECT_EQ(verdict.proof, Proof::Mkey);
  EXPECT_LE(elapsed_ns(), 800 * kMs);
}

TEST_F(FenceTest, NothingReturns_FencedWithin800Ms) {
  host.channel.answer(Opcode::QP_2ERR, kNever, 2);
  host.channel.answer(Opcode::DESTROY_MKEY, kNever);
  host.channel.answer(Opcode::RTS2RTS_QP, kNever);
  const Verdict verdict = run(seed_plan());
  EXPECT_EQ(verdict.outcome, Outcome::Fenced);
  EXPECT_EQ(verdict.proof, Proof::Unmap);
  EXPECT_LE(elapsed_ns(), 800 * kMs);
}

TEST_F(FenceTest, NoSlotFree_FencedAndProvedByTheUnmap) {
  host.channel.busy = true;
  const Verdict verdict = run(seed_plan());
  EXPECT_EQ(verdict.outcome, Outcome::Fenced);
  EXPECT_EQ(verdict.proof, Proof::Unmap);
}

// ---- what a failed grant left ----

TEST_F(FenceTest, NothingCanBeSent_EachCommandHasFailedAndTheMemoryIsUnmapped) {
  host.channel.gone = true;
  const Verdict verdict = run(seed_plan());
  EXPECT_EQ(verdict,
            (Verdict{.outcome = Outcome::Fenced,
                     .origin = Origin::Revoke,
                     .proof = Proof::Unmap,
                     .failed_mask = static_cast<StepMask>(
                         bit(Step::ErrorQp) | bit(Step::DestroyMkey) | bit(Step::ClearRights))}));
  EXPECT_EQ(elapsed_ns(), 0u);
}

TEST_F(FenceTest, NothingWasMade_NothingSentAndTornDown) {
  target.absent = static_cast<StepMask>(~0u);
  const Verdict verdict = run(legacy_plan());
  EXPECT_THAT(host.channel.sent, IsEmpty());
  EXPECT_EQ(verdict.outcome, Outcome::TornDown);
  EXPECT_EQ(verdict.proof, Proof::Mkey);
}

TEST_F(FenceTest, KeyMayExistWithoutNumber_FencedAndTheAddressesRetired) {
  target.unknown = bit(Step::DestroyMkey);
  const Verdict verdict = run(legacy_plan());
  EXPECT_THAT(host.channel.opcodes(), ElementsAre(Opcode::QP_2ERR));
  EXPECT_EQ(verdict.outcome, Outcome::Fenced);
  EXPECT_EQ(verdict.proof, Proof::Unmap);
  EXPECT_FALSE(region.is_mapped());
  EXPECT_FALSE(region.map());
}

}  // namespace
}  // namespace portcullis::lease
