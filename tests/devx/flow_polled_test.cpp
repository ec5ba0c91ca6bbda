// SPDX-License-Identifier: BSD-3-Clause
//
// DROP entries on a function that its kernel driver keeps: tables of DevX that rules of the
// kernel's lead into.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/dma_bytes.hpp"
#include "lease/fence_plan.hpp"
#include "lease/lease_manager.hpp"
#include "steering/set_up.hpp"
#include "tests/devx/kept_function.hpp"

namespace portcullis::testing {
namespace {

using lease::Outcome;
using lease::SteeringState;
using prm::Opcode;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The rule that keeps the kernel's table, beside those of entries.
constexpr std::size_t kAnchor = 1;

struct KeptTables : KeptFunction {
  KeptTables() : KeptFunction({"rdma-rx-in-path", "no-occupied-index"}) {}

  [[nodiscard]] steering::FlowDrop::Options wanted(const std::string& choice) const {
    steering::FlowDrop::Options options;
    options.choice = steering::parse_choice(choice).value();
    options.slots = 4;
    options.loopback.remote_gid = kGid;
    options.loopback.remote_mac = kMac;
    return options;
  }
  [[nodiscard]] Result<std::unique_ptr<steering::FlowDrop>> set_up(const std::string& choice) {
    return steering::FlowDrop::set_up(function->context(), wanted(choice), {});
  }
  /// Without what confirms an answer.
  [[nodiscard]] std::vector<Opcode> seen_last(std::size_t count) const {
    std::vector<Opcode> seen = kernel.seen();
    std::erase(seen, Opcode::QUERY_ISSI);
    return {seen.end() - static_cast<std::ptrdiff_t>(std::min(count, seen.size())), seen.end()};
  }
};

struct KeptStops : KeptTables {
  void SetUp() override {
    KeptTables::SetUp();
    client.connect(server.qp.number(), kClientPsn, kServerPsn, kPatient);
    server.connect(client.qp.number(), kServerPsn, kClientPsn, kPatient);
    drop = set_up("dst-qp").value();
  }
  void write(std::byte value) {
    const std::vector<std::byte> line(64, value);
    ASSERT_TRUE(client.qp.post_write_inline(line, {0, server.key.rkey(), 1, true}));
    client.qp.ring();
  }
  [[nodiscard]] std::byte first_byte() const { return dma_peek(server.memory.bytes().data()); }
  [[nodiscard]] bool is_silent_for(std::uint64_t ms) {
    const std::uint64_t until = function->context().device.clock.now_ns() + ms * kNsPerMs;
    return !client.cq.wait(until).has_value();
  }
  [[nodiscard]] steering::DropTarget target() const {
    return {.slot = 2, .qpn = server.qp.number(), .client = kGid};
  }

  // Half a second, so that what is stopped goes on by itself afterwards.
  static constexpr pmd::RtsAttributes kPatient{.timeout = 14, .retry_count = 7};
  Side client = Side::make(function->context());
  Side server = Side::make(function->context());
  std::unique_ptr<steering::FlowDrop> drop;
};

TEST_F(KeptStops, SelfTest_SaysThatNewAndRunningConnectionsAreStopped) {
  EXPECT_TRUE(drop->verdict().verified());
  EXPECT_TRUE(drop->verdict().stops_running);
}

TEST_F(KeptStops, EntryThatStands_NoPacketOfThatQpExecutes) {
  ASSERT_TRUE(drop->install(target(), in_a_minute()));
  EXPECT_EQ(kernel.rules(), kAnchor + 1);
  write(std::byte{0x11});
  EXPECT_TRUE(is_silent_for(60));
  EXPECT_EQ(first_byte(), std::byte{0});
}

TEST_F(KeptStops, EntryTakenAway_WhatWasStoppedGoesOn) {
  ASSERT_TRUE(drop->install(target(), in_a_minute()));
  write(std::byte{0x22});
  ASSERT_TRUE(is_silent_for(20));
  ASSERT_TRUE(drop->remove(target(), in_a_minute()));
  EXPECT_EQ(kernel.rules(), kAnchor);
  ASSERT_TRUE(client.cq.wait(in_a_minute()).value().ok());
  EXPECT_EQ(first_byte(), std::byte{0x22});
}

TEST_F(KeptStops, EntryOfAnotherQp_ChangesNothing) {
  ASSERT_TRUE(drop->install({.slot = 1, .qpn = client.qp.number()}, in_a_minute()));
  ASSERT_TRUE(drop->remove({.slot = 1, .qpn = client.qp.number()}, in_a_minute()));
  ASSERT_TRUE(drop->install({.slot = 3, .qpn = prm::QpNumber{0x7ffff}}, in_a_minute()));
  write(std::byte{0x33});
  EXPECT_TRUE(client.cq.wait(in_a_minute()).value().ok());
}

TEST_F(KeptStops, EntriesThatComeAndGo_TheKernelsTableStays) {
  const std::size_t made = kernel.tables_made();
  ASSERT_TRUE(drop->install(target(), in_a_minute()));
  ASSERT_TRUE(drop->remove(target(), in_a_minute()));
  ASSERT_TRUE(drop->install(target(), in_a_minute()));
  EXPECT_EQ(kernel.tables_made(), made);
}

TEST_F(KeptStops, EntryOverAnother_IsRefusedAndTheFirstStands) {
  ASSERT_TRUE(drop->install(target(), in_a_minute()));
  EXPECT_FALSE(drop->install(target(), in_a_minute()));
  EXPECT_EQ(kernel.rules(), kAnchor + 1);
}

TEST_F(KeptStops, KernelThatFakes_EntryIsNoSuccess) {
  kernel.break_down();
  const auto installed = drop->install(target(), in_a_minute());
  ASSERT_FALSE(installed);
  EXPECT_EQ(installed.error().code, Errc::DeviceFailed);
  EXPECT_TRUE(pmd::may_have_happened(installed.error()));
}

TEST_F(KeptStops, EntryWhoseCallHasNotReturned_CannotBeTakenForGone) {
  std::promise<void> released;
  const auto wait = released.get_future().share();
  kernel.set_gate([wait](Opcode opcode) {
    if (opcode == Opcode::SET_FLOW_TABLE_ENTRY) wait.wait();
    return 0;
  });
  const std::uint64_t early = function->context().device.clock.now_ns() + 20 * kNsPerMs;
  ASSERT_EQ(drop->install(target(), early).error().code, Errc::Timeout);
  EXPECT_FALSE(drop->remove(target(), in_a_minute()));
  kernel.set_gate({});
  released.set_value();
  const auto is_there = [this] { return kernel.rules() == kAnchor + 1; };
  ASSERT_TRUE(wait_until(function->context().device, in_a_minute(), is_there));
  const auto is_taken = [this] { return drop->remove(target(), in_a_minute()).has_value(); };
  EXPECT_TRUE(wait_until(function->context().device, in_a_minute(), is_taken));
  EXPECT_EQ(kernel.rules(), kAnchor);
}

TEST_F(KeptTables, ProcessWithoutNetRaw_IsToldAndLeavesNothing) {
  kernel.answer_rules_with(EPERM);
  const auto refused = set_up("dst-qp");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("takes CAP_NET_RAW"));
  EXPECT_THAT(refused.error().text, HasSubstr("SET_FLOW_TABLE_ROOT"));
  EXPECT_THAT(seen_last(2), ElementsAre(Opcode::DESTROY_FLOW_GROUP, Opcode::DESTROY_FLOW_TABLE));
}

TEST_F(KeptTables, RootWhoseCallHasNotReturned_TakesNoOther) {
  std::promise<void> released;
  const auto wait = released.get_future().share();
  kernel.set_gate([wait](Opcode opcode) {
    if (opcode == Opcode::SET_FLOW_TABLE_ENTRY) wait.wait();
    return 0;
  });
  const pmd::Context& context = function->context();
  auto table = steering::FlowTable::create(context, prm::FlowTableType::RDMA_RX, {}).value();
  const std::uint64_t early = context.device.clock.now_ns() + 20 * kNsPerMs;
  ASSERT_EQ(table.make_root(prm::kNoUnderlayQpn, early).error().code, Errc::Timeout);
  const auto taken = table.destroy(in_a_minute());
  kernel.set_gate({});
  released.set_value();
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().text, HasSubstr("SET_FLOW_TABLE_ROOT by DevX"));
  const auto is_gone = [this, &table] { return table.destroy(in_a_minute()).has_value(); };
  EXPECT_TRUE(wait_until(context.device, in_a_minute(), is_gone));
  EXPECT_EQ(kernel.rules(), 0u);
}

TEST_F(KeptTables, ShapeOfTheWholeFunction_IsNotEvenTried) {
  const auto refused = set_up("match-all");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("every process on a NIC that its kernel driver"));
  EXPECT_THAT(kernel.seen(), ::testing::Not(Contains(Opcode::CREATE_FLOW_TABLE)));
}

TEST_F(KeptTables, ShapeOfTheWholeFunctionThatWasAllowed_Stops) {
  steering::FlowDrop::Options options = wanted("match-all");
  options.allow_function_drop = true;
  const auto drop = steering::FlowDrop::set_up(function->context(), options, {});
  ASSERT_TRUE(drop) << drop.error().text;
  EXPECT_TRUE((*drop)->verdict().verified());
}

TEST_F(KeptTables, Underlay_IsRefusedForTheKernelHasTheRoot) {
  const auto refused =
      steering::set_up_rule(function->context(), steering::EntryPlan::Underlay, wanted("try"), {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("the kernel driver that keeps this NIC"));
}

TEST_F(KeptTables, OwnerThatGoes_TakesRulesAndTablesWithIt) {
  auto drop = set_up("dst-qp").value();
  ASSERT_TRUE(drop->install({.slot = 0, .qpn = prm::QpNumber{0x7ffff}}, in_a_minute()));
  drop.reset();
  EXPECT_EQ(kernel.rules(), 0u);
  EXPECT_EQ(seen_last(1).front(), Opcode::DESTROY_FLOW_TABLE);
}

/// Leases whose plan has an entry, by name of the plan.
struct KeptEntries : KeptTables, ::testing::WithParamInterface<const char*> {
  void SetUp() override {
    KeptTables::SetUp();
    lease::LeaseManager::Options options;
    options.table.slots = 4;
    options.plan = plan;
    drop = set_up("dst-qp").value();
    lease::Host host = lease::Host::of(*function);
    host.steering = drop.get();
    manager = lease::LeaseManager::create(host, options).value();
  }
  lease::RevokeAnswer revoke(const lease::Lease& lease, const lease::Plan& by) {
    return manager->revoke(lease.id, lease.epoch, by);
  }
  [[nodiscard]] lease::Lease grant() { return manager->grant(request).value().lease; }

  const lease::GrantRequest request{
      .bytes = 8192, .peer = {.qpn = prm::QpNumber{0x77}, .psn = 1, .gid = kGid, .mac = kMac}};
  const lease::Plan plan = lease::parse_plan(GetParam()).value();
  std::unique_ptr<steering::FlowDrop> drop;
  std::unique_ptr<lease::LeaseManager> manager;
};

TEST_P(KeptEntries, DeviceThatAnswers_TornDownWithTheEntryStanding) {
  const auto answer = revoke(grant(), plan);
  EXPECT_EQ(answer.outcome, Outcome::TornDown) << describe(answer.verdict);
  EXPECT_EQ(answer.verdict.steering, SteeringState::Ok) << describe(answer.verdict);
  EXPECT_EQ(kernel.rules(), kAnchor + 1);
}

TEST_P(KeptEntries, LeaseThatEnds_ItsEntryGoesWithIt) {
  const auto answer = revoke(grant(), lease::legacy_plan());
  EXPECT_EQ(answer.outcome, Outcome::TornDown) << describe(answer.verdict);
  EXPECT_EQ(kernel.rules(), kAnchor);
}

TEST_P(KeptEntries, KernelThatFakes_FencedAndNeverByTheEntry) {
  const lease::Lease lease = grant();
  kernel.break_down();
  const auto answer = revoke(lease, plan);
  EXPECT_EQ(answer.outcome, Outcome::Fenced);
  EXPECT_NE(answer.verdict.steering, SteeringState::Ok) << describe(answer.verdict);
  EXPECT_EQ(answer.verdict.proof, lease::Proof::Unmap) << describe(answer.verdict);
}

INSTANTIATE_TEST_SUITE_P(Each, KeptEntries,
                         ::testing::Values("seed", "allow-replace", "allow-modify"));

using KeptSeed = KeptEntries;

TEST_P(KeptSeed, KernelThatRefusesTheRule_TornDownByTheKeyAndTheLeaseEnds) {
  const lease::Lease lease = grant();
  kernel.answer_rules_with(EPERM);
  const auto answer = revoke(lease, plan);
  EXPECT_EQ(answer.outcome, Outcome::TornDown) << describe(answer.verdict);
  EXPECT_EQ(answer.verdict.steering, SteeringState::Degraded);
  EXPECT_THAT(kernel.seen(), Contains(Opcode::DELETE_FLOW_TABLE_ENTRY));
  const auto is_over = [this] {
    manager->poll();
    return manager->table().count(lease::State::Free) == 4;
  };
  EXPECT_TRUE(wait_until(function->context().device, in_a_minute(), is_over));
  EXPECT_EQ(manager->fenced_count(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Refused, KeptSeed, ::testing::Values("seed"));

}  // namespace
}  // namespace portcullis::testing
