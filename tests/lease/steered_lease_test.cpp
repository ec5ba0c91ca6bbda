// SPDX-License-Identifier: BSD-3-Clause
//
// Revokes with their third step on the model: whom the entry stops, whom it must not, what is said
// when it cannot be installed, and that the deferred phase takes it out again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "steering/flow_drop.hpp"
#include "steering/set_up.hpp"
#include "tests/lease/lease_world.hpp"

namespace portcullis::testing {
namespace {

using lease::bit;
using lease::Outcome;
using lease::State;
using lease::SteeringState;
using lease::Step;
using prm::WcStatus;
using steering::FlowDrop;
using ::testing::Contains;
using ::testing::HasSubstr;

class SteeredLeases : public LeaseWorld {
 protected:
  void SetUp() override { start_steered("dst-qp"); }
  void TearDown() override {
    manager.reset();
    clients.clear();
    drop.reset();
    stop();
  }
  void start_steered(const std::string& choice, const std::string& plan = "seed",
                     std::vector<std::string> behaviours = {"rdma-rx-in-path"},
                     const std::string& timing = "instant",
                     model::PortType port_type = model::PortType::Ethernet) {
    TearDown();
    model::Options emulated;
    emulated.timing = timing;
    emulated.behaviours = std::move(behaviours);
    emulated.port_type = port_type;
    model = model::Model::create(emulated).value();
    device = model->device();
    bring_up();
    FlowDrop::Options wanted;
    wanted.choice = steering::parse_choice(choice).value();
    wanted.slots = 8;
    wanted.loopback.remote_gid = kPort.gid;
    wanted.loopback.remote_mac = kPort.mac;
    wanted.loopback.remote_lid = lid;
    lease::LeaseManager::Options options;
    options.table.slots = 8;
    options.grant.psn_seed = 7;
    options.plan = lease::parse_plan(plan).value();
    drop = steering::set_up_rule(hca->context(), options.plan.entry, wanted,
                                 [this](std::string_view line) { log.emplace_back(line); })
               .value();
    lease::Host steered = host();
    steered.steering = drop.get();
    manager = lease::LeaseManager::create(steered, options).value();
  }
  /// That a revoke by `plan` sends, its entry prepared at the grant.
  std::uint64_t commands_of_install(const std::string& plan) {
    start_steered("dst-qp", plan);
    Client& a = client();
    const std::uint64_t before = model->counters().commands;
    EXPECT_EQ(revoke(a, lease::parse_plan(plan).value()).verdict.steering, SteeringState::Ok);
    return model->counters().commands - before;
  }
  std::uint64_t entries() const { return model->census().flow_entries; }

  std::unique_ptr<steering::DropRule> drop;
};

/// Plan underlay on an InfiniBand port, with the cache that the floor document, section 3.2,
/// suspects.
class UnderlaidLeases : public SteeredLeases {
 protected:
  void SetUp() override { start_underlaid({}); }
  void start_underlaid(const std::vector<std::string>& behaviours) {
    std::vector<std::string> all{"dst-qp-inert", "hot-qp-ignores-new-rules"};
    all.insert(all.end(), behaviours.begin(), behaviours.end());
    start_steered("offered", "underlay", all, "instant", model::PortType::InfiniBand);
  }
  const lease::Plan kUnderlay = lease::parse_plan("underlay").value();
  /// The seed plan's third step alone, so that nothing but the underlay stops the client.
  lease::RevokeAnswer stop_by_underlay(const Client& of) {
    return revoke(of, lease::drop_only_plan());
  }
};

TEST_F(SteeredLeases, Revoke_InstallsTheEntryAndTheSweepRemovesIt) {
  Client& a = client();
  ASSERT_EQ(a.write(device, 1), WcStatus::SUCCESS);
  const lease::RevokeAnswer answer = revoke(a);
  EXPECT_EQ(answer.outcome, Outcome::TornDown);
  EXPECT_EQ(answer.verdict.steering, SteeringState::Ok);
  EXPECT_EQ(entries(), 1U);
  pass_ms(6'000);
  EXPECT_EQ(entries(), 0U);
  EXPECT_EQ(state(a), State::Free);
}

TEST_F(SteeredLeases, LeaseScopeRevokeUnderTrafficOfAnother_LosesNothingOfIt) {
  for (const char* shape : {"dst-qp", "client-flow"}) {
    start_steered(shape);
    Client& a = client();
    Client& b = client();
    for (std::uint64_t i = 0; i < 32; ++i) {
      a.post(100 + i, i);
      b.post(200 + i, i);
    }
    EXPECT_EQ(revoke(a).verdict.steering, SteeringState::Ok) << shape;
    for (std::uint64_t i = 32; i < 64; ++i) b.post(200 + i, i);
    for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(b.wait(device), WcStatus::SUCCESS) << shape;
    for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(word(b, i), 200 + i) << shape;
    EXPECT_EQ(b.qp.outstanding_blocks(), 0U) << shape;
  }
}

TEST_F(SteeredLeases, DropOnly_SilencesTheClientAndIsNeverTornDown) {
  Client& a = client();
  ASSERT_EQ(a.write(device, 1), WcStatus::SUCCESS);
  EXPECT_EQ(revoke(a, lease::drop_only_plan()).outcome, Outcome::Fenced);
  a.post(2);
  EXPECT_EQ(a.wait(device), WcStatus::RETRY_EXC_ERR);
}

TEST_F(SteeredLeases, FunctionScopeBesideAnActiveLease_IsSkippedAndTheLeaseTornDown) {
  start_steered("opcode");
  Client& a = client();
  Client& b = client();
  const lease::RevokeAnswer answer = revoke(a);
  EXPECT_EQ(answer.outcome, Outcome::TornDown);
  EXPECT_EQ(answer.verdict.steering, SteeringState::Degraded);
  EXPECT_EQ(answer.verdict.failed_mask, bit(Step::InstallDrop));
  EXPECT_THAT(log, Contains(HasSubstr("1 other leases are ACTIVE; step skipped")));
  EXPECT_EQ(b.write(device, 1), WcStatus::SUCCESS);
  EXPECT_EQ(revoke(b).verdict.steering, SteeringState::Ok);
}

TEST_F(SteeredLeases, FunctionScopeEntry_IsGoneBeforeTheNextLeaseIsServed) {
  start_steered("match-all");
  Client& a = client();
  EXPECT_EQ(revoke(a).verdict.steering, SteeringState::Ok);
  ASSERT_EQ(entries(), 1U);
  Client& b = client();
  EXPECT_EQ(entries(), 0U);
  EXPECT_EQ(b.write(device, 1), WcStatus::SUCCESS);
  pass_ms(6'000);
  EXPECT_EQ(state(a), State::Free);
}

TEST_F(SteeredLeases, FullTable_IsDegradedAndNeverHalfAFence) {
  Client& a = client();
  model->inject({.opcode = prm::number(prm::Opcode::SET_FLOW_TABLE_ENTRY),
                 .status = prm::number(prm::CommandStatus::NO_RES_ERR)});
  const lease::RevokeAnswer answer = revoke(a);
  EXPECT_EQ(answer.outcome, Outcome::TornDown);
  EXPECT_EQ(answer.verdict.steering, SteeringState::Degraded);
  pass_ms(6'000);
  EXPECT_EQ(state(a), State::Free);
}

TEST_F(SteeredLeases, EntryFromTheStart_LetsTrafficPassAndDropsAfterTheRevoke) {
  for (const char* plan : {"allow-replace", "allow-modify"}) {
    start_steered("dst-qp", plan, {"rdma-rx-in-path", "no-occupied-index"});
    Client& a = client();
    EXPECT_EQ(entries(), 1U) << plan;
    ASSERT_EQ(a.write(device, 1), WcStatus::SUCCESS) << plan;
    EXPECT_EQ(revoke(a, lease::drop_only_plan()).verdict.steering, SteeringState::Ok) << plan;
    a.post(2);
    EXPECT_EQ(a.wait(device), WcStatus::RETRY_EXC_ERR) << plan;
  }
}

TEST_F(SteeredLeases, EntryFromTheStart_IsTurnedByTheCommandsOfItsPlan) {
  const std::uint64_t commands_of_replace = commands_of_install("allow-replace");
  EXPECT_EQ(commands_of_install("seed") + 1, commands_of_replace);
  EXPECT_EQ(commands_of_install("allow-modify") + 1, commands_of_replace);
}

TEST_F(SteeredLeases, EntryPlan_IsTornDownAndTheSweepRemovesTheEntry) {
  for (const char* plan : {"allow-replace", "allow-modify"}) {
    start_steered("dst-qp", plan);
    Client& a = client();
    const lease::RevokeAnswer answer = revoke(a, lease::parse_plan(plan).value());
    EXPECT_EQ(answer.outcome, Outcome::TornDown) << plan;
    EXPECT_EQ(answer.verdict.steering, SteeringState::Ok) << plan;
    EXPECT_EQ(entries(), 1U) << plan;
    pass_ms(6'000);
    EXPECT_EQ(entries(), 0U) << plan;
    EXPECT_EQ(state(a), State::Free) << plan;
  }
}

TEST_F(SteeredLeases, EntryFromTheStart_IsGoneAfterAPlanWithoutDrop) {
  start_steered("dst-qp", "allow-replace");
  Client& a = client();
  ASSERT_EQ(entries(), 1U);
  (void)revoke(a, lease::nak_first_plan());
  pass_ms(6'000);
  EXPECT_EQ(entries(), 0U);
  (void)revoke(client(), lease::legacy_plan());
  EXPECT_EQ(entries(), 0U);
}

TEST_F(SteeredLeases, ThatFirmware_RecallTakesTheEntrysTimeToo) {
  start_steered("offered", "seed", {}, "cx5-16.35.4506");
  Client& a = client();
  const std::uint64_t before_ns = device.clock.now_ns();
  EXPECT_EQ(revoke(a).verdict.steering, SteeringState::Ok);
  EXPECT_EQ(device.clock.now_ns() - before_ns, 12 * kMs);
}

TEST_F(SteeredLeases, NoSteeringOnThisFunction_IsAbsentAndSaidOnce) {
  start_steered("offered", "seed", {"rdma-rx-refused"});
  EXPECT_EQ(revoke(client()).verdict.steering, SteeringState::Absent);
  EXPECT_EQ(std::count_if(log.begin(), log.end(),
                          [](const std::string& line) {
                            return line.find("steering: none") != std::string::npos;
                          }),
            1);
}

TEST_F(UnderlaidLeases, TrafficPassesUntilTheRevokeAndNotAfterIt) {
  Client& a = client();
  EXPECT_EQ(a.write(device, 1), WcStatus::SUCCESS);
  EXPECT_EQ(a.write(device, 2), WcStatus::SUCCESS);
  EXPECT_EQ(stop_by_underlay(a).verdict.steering, SteeringState::Ok);
  a.post(3);
  EXPECT_EQ(a.wait(device), WcStatus::RETRY_EXC_ERR);
}

TEST_F(UnderlaidLeases, Revoke_IsTornDownAndTheSweepLeavesNothing) {
  Client& a = client();
  EXPECT_EQ(model->census().rqs + model->census().tirs, 2U);
  ASSERT_EQ(a.write(device, 1), WcStatus::SUCCESS);
  const lease::RevokeAnswer answer = revoke(a, kUnderlay);
  EXPECT_EQ(answer.outcome, Outcome::TornDown);
  EXPECT_EQ(answer.verdict.steering, SteeringState::Ok);
  pass_ms(6'000);
  EXPECT_EQ(state(a), State::Free);
  const model::Census census = model->census();
  EXPECT_EQ(census.rqs + census.tirs + census.flow_tables + census.flow_entries, 0U);
}

TEST_F(UnderlaidLeases, LegacyRevoke_TakesTheRootBeforeItsQp) {
  Client& a = client();
  const std::uint64_t qps = model->census().qps;
  model->inject({.opcode = prm::number(prm::Opcode::SET_FLOW_TABLE_ROOT),
                 .status = prm::number(prm::CommandStatus::INT_ERR)});
  const lease::RevokeAnswer answer = revoke(a, lease::legacy_plan());
  EXPECT_EQ(answer.outcome, Outcome::Fenced);
  EXPECT_EQ(answer.verdict.failed_mask, bit(Step::RemoveDrop));
  EXPECT_EQ(model->census().qps, qps);
}

TEST_F(UnderlaidLeases, LegacyRevoke_LeavesNothing) {
  Client& a = client();
  EXPECT_EQ(revoke(a, lease::legacy_plan()).outcome, Outcome::TornDown);
  EXPECT_EQ(state(a), State::Free);
  const model::Census census = model->census();
  EXPECT_EQ(census.rqs + census.tirs + census.flow_tables + census.flow_entries, 0U);
}

TEST_F(UnderlaidLeases, RevokeUnderTrafficOfAnother_LosesNothingOfIt) {
  Client& a = client();
  Client& b = client();
  for (std::uint64_t i = 0; i < 32; ++i) {
    a.post(100 + i, i);
    b.post(200 + i, i);
  }
  EXPECT_EQ(stop_by_underlay(a).verdict.steering, SteeringState::Ok);
  for (std::uint64_t i = 32; i < 64; ++i) b.post(200 + i, i);
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(b.wait(device), WcStatus::SUCCESS);
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(word(b, i), 200 + i);
}

TEST_F(UnderlaidLeases, RootThatDoesNothing_IsUnverifiedAndTheLeaseTornDownAllTheSame) {
  start_underlaid({"underlay-root-inert"});
  EXPECT_THAT(log, Contains("steering: underlay of NIC_RX (scope lease), unverified: a WRITE over "
                            "loopback passed the entry"));
  Client& a = client();
  ASSERT_EQ(a.write(device, 1), WcStatus::SUCCESS);
  EXPECT_EQ(revoke(a, kUnderlay).outcome, Outcome::TornDown);
  a.post(2);
  EXPECT_EQ(a.wait(device), WcStatus::RETRY_EXC_ERR);
}

TEST_F(UnderlaidLeases, AttachThatFails_IsSaidAndTheRevokeDegraded) {
  model->inject({.opcode = prm::number(prm::Opcode::CREATE_TIR),
                 .status = prm::number(prm::CommandStatus::NO_RES_ERR)});
  Client& a = client();
  EXPECT_THAT(log, Contains(HasSubstr("no flow entry from the start: CREATE_TIR")));
  EXPECT_EQ(model->census().rqs, 0U);
  const lease::RevokeAnswer answer = revoke(a, kUnderlay);
  EXPECT_EQ(answer.outcome, Outcome::TornDown);
  EXPECT_EQ(answer.verdict.steering, SteeringState::Degraded);
  pass_ms(6'000);
  EXPECT_EQ(state(a), State::Free);
}

}  // namespace
}  // namespace portcullis::testing
