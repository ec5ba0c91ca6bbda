// SPDX-License-Identifier: BSD-3-Clause
//
// A revoke's outcome stands within 1 s of its request, whatever else hangs: each command of a
// grant, of a grant together, of the deferred phase and of an expiry, never answered, late,
// answered with failure, or the last that the device answers as it should; and every command slot
// but one. The request comes at the worst moment, when the call before it has just begun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "pmd/command_queue.hpp"
#include "prm/object_commands.hpp"
#include "tests/lease/lease_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::LeaseWorld;
using FaultKind = model::CommandFaultRule::Kind;

constexpr std::uint64_t kMs = kNsPerMs;
constexpr std::uint64_t kContractNs = 1'000 * kMs;
constexpr auto kFailure = prm::number(prm::CommandStatus::BAD_RES_ERR);

struct Hang {
  const char* way;
  FaultKind kind;
  std::uint64_t delay_ms;
  bool repeat;
  std::uint32_t nth;  // of the commands from the call on
};

void PrintTo(const Hang& of, std::ostream* out) { *out << of.way << ' ' << of.nth; }

class Hanging : public LeaseWorld, public ::testing::WithParamInterface<Hang> {
 protected:
  void SetUp() override {
    start({}, "cx5-16.35.4506");
    kept = manager->grant(request()).value().lease;
  }
  static GrantRequest request() {
    return {.bytes = kPageBytes, .peer = {.qpn = prm::QpNumber{5}, .gid = testing::kPort.gid}};
  }
  /// With nobody polling.
  void sleep_ms(std::uint64_t ms) {
    const std::uint64_t until_ns = device.clock.now_ns() + ms * kMs;
    while (device.clock.now_ns() < until_ns) device.relax(until_ns);
  }
  void let_hang() {
    model->inject(model::CommandFaultRule{.kind = GetParam().kind,
                                          .status = kFailure,
                                          .delay_ns = GetParam().delay_ms * kMs,
                                          .nth = GetParam().nth,
                                          .repeat = GetParam().repeat});
    since_ns = device.clock.now_ns();
  }
  /// Asked for when the hanging call began, and had when it is through.
  void expect_outcome_in_time() {
    const RevokeAnswer answer = manager->revoke(kept.id, kept.epoch);
    EXPECT_THAT(answer.outcome, ::testing::AnyOf(Outcome::TornDown, Outcome::Fenced));
    EXPECT_NE(answer.verdict.proof, Proof::None);
    EXPECT_LE(device.clock.now_ns() - since_ns, kContractNs);
  }

  Lease kept;
  std::uint64_t since_ns = 0;
};

TEST_P(Hanging, InAGrant_TheRevokeBehindItIsInTime) {
  let_hang();
  (void)manager->grant(request());
  expect_outcome_in_time();
}

TEST_P(Hanging, InAGrantWithReceives_TheRevokeBehindItIsInTime) {
  GrantRequest receiving = request();
  receiving.log_receives = 2;
  let_hang();
  (void)manager->grant(receiving);
  expect_outcome_in_time();
}

TEST_P(Hanging, InAGrantTogether_TheRevokeBehindItIsInTime) {
  const std::vector<GrantRequest> requests(2, request());
  let_hang();
  (void)manager->grant_together(requests);
  expect_outcome_in_time();
}

TEST_P(Hanging, InAGroupMadeInParts_TheRevokeBehindEachPollIsInTime) {
  const std::vector<GrantRequest> requests(7, request());
  ASSERT_TRUE(manager->start_grant_together(requests));
  let_hang();
  for (int i = 0; i < 5; ++i) {
    since_ns = device.clock.now_ns();
    manager->poll();
    ASSERT_LE(device.clock.now_ns() - since_ns, 450 * kMs);
  }
  expect_outcome_in_time();
}

TEST_P(Hanging, InTheDeferredPhase_TheRevokeBehindEachPollIsInTime) {
  const Lease swept = manager->grant(request()).value().lease;
  (void)manager->revoke(swept.id, swept.epoch);
  sleep_ms(6'000);
  let_hang();
  for (int i = 0; i < 200; ++i) {
    sleep_ms(1);
    since_ns = device.clock.now_ns();
    manager->poll();
    ASSERT_LE(device.clock.now_ns() - since_ns, 150 * kMs);
  }
  expect_outcome_in_time();
}

TEST_P(Hanging, InAnExpiry_TheRevokeBehindEachPollIsInTime) {
  for (int i = 0; i < 4; ++i) {
    GrantRequest ending = request();
    ending.ttl_ms = 100;
    ASSERT_TRUE(manager->grant(ending));
  }
  sleep_ms(200);
  let_hang();
  for (int i = 0; i < 5; ++i) {
    since_ns = device.clock.now_ns();
    manager->poll();
    ASSERT_LE(device.clock.now_ns() - since_ns, 25 * kMs);
  }
  expect_outcome_in_time();
}

std::vector<Hang> every_hang() {
  std::vector<Hang> all;
  for (std::uint32_t nth = 1; nth <= 24; ++nth) {
    all.push_back({"one never", FaultKind::NeverReturns, 0, false, nth});
    all.push_back({"never from there on", FaultKind::NeverReturns, 0, true, nth});
    all.push_back({"one after 390 ms", FaultKind::Delay, 390, false, nth});
    all.push_back({"one after 2 s", FaultKind::Delay, 2'000, false, nth});
    all.push_back({"each after 60 ms from there on", FaultKind::Delay, 60, true, nth});
    all.push_back({"one refused", FaultKind::Status, 0, false, nth});
    all.push_back({"refused from there on", FaultKind::Status, 0, true, nth});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Commands, Hanging, ::testing::ValuesIn(every_hang()));

// ---- slots ----

struct Left {
  const char* name;
  std::uint32_t common;  // slots that are free
  std::uint32_t fence;
  Outcome outcome;
};

void PrintTo(const Left& of, std::ostream* out) { *out << of.name; }

/// All slots but a few hold commands that never return.
class SlotsLeft : public LeaseWorld, public ::testing::WithParamInterface<Left> {
 protected:
  static constexpr std::uint32_t kCommonSlots = 28;

  void SetUp() override {
    start({}, "cx5-16.35.4506");
    kept = manager
               ->grant({.bytes = kPageBytes,
                        .peer = {.qpn = prm::QpNumber{5}, .gid = testing::kPort.gid}})
               .value()
               .lease;
    occupy(pmd::SlotClass::Common, kCommonSlots - GetParam().common);
    occupy(pmd::SlotClass::Fence, pmd::CommandQueue::kFenceSlots - GetParam().fence);
  }
  void occupy(pmd::SlotClass slot_class, std::uint32_t count) {
    prm::Buffer<prm::destroy_mkey_in> in;
    in.set<"opcode", prm::number(prm::Opcode::DESTROY_MKEY)>();
    for (std::uint32_t i = 0; i < count; ++i) {
      model->inject(model::CommandFaultRule{.kind = FaultKind::NeverReturns});
      ASSERT_TRUE(
          hca->context().commands->submit(in.all(), prm::destroy_mkey_out::bytes, slot_class));
    }
    device.relax(device.clock.now_ns() + kMs);
  }

  Lease kept;
};

TEST_P(SlotsLeft, RevokeHasItsOutcomeInTime) {
  const std::uint64_t since_ns = device.clock.now_ns();
  const RevokeAnswer answer = manager->revoke(kept.id, kept.epoch);
  EXPECT_EQ(answer.outcome, GetParam().outcome);
  EXPECT_NE(answer.verdict.proof, Proof::None);
  EXPECT_LE(device.clock.now_ns() - since_ns, kContractNs);
}

INSTANTIATE_TEST_SUITE_P(Slots, SlotsLeft,
                         ::testing::Values(Left{"one for fences", 0, 1, Outcome::TornDown},
                                           Left{"one for all", 1, 0, Outcome::TornDown},
                                           Left{"none", 0, 0, Outcome::Fenced}));

}  // namespace
}  // namespace portcullis::lease
