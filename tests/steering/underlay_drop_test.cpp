// SPDX-License-Identifier: BSD-3-Clause
//
// The underlay on the model: refused where Linux knows none, judged where there is one, and gone
// without a trace.
#include "steering/underlay_drop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "prm/opcodes.hpp"
#include "prm/status.hpp"
#include "steering/set_up.hpp"
#include "tests/steering/noted_world.hpp"

namespace portcullis::testing {
namespace {

using steering::EntryPlan;
using steering::UnderlayDrop;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Underlays : public SteeringWorld {
 protected:
  void SetUp() override { start_infiniband({}); }
  void TearDown() override {
    underlay.reset();
    SteeringWorld::TearDown();
  }
  Result<std::unique_ptr<UnderlayDrop>> set_up_underlay(bool try_anyway = false) {
    return UnderlayDrop::set_up(hca->context(),
                                {.slots = 2, .loopback = path, .try_anyway = try_anyway});
  }
  void attach(std::uint32_t slot) {
    underlay = set_up_underlay().value();
    target = connect().target(slot);
    ASSERT_TRUE(underlay->prepare(target, deadline_ns()));
  }
  void pass_ms(std::uint64_t ms) {
    const Device& device = model->device();
    (void)wait_until(device, device.clock.now_ns() + ms * kMs, [] { return false; });
  }
  std::uint64_t objects() const {
    const model::Census census = model->census();
    return census.rqs + census.tirs + census.flow_tables + census.flow_groups + census.flow_entries;
  }

  std::unique_ptr<UnderlayDrop> underlay;
  steering::DropTarget target;
};

TEST_F(Underlays, EthernetPort_IsRefusedInOneLine) {
  start({});
  EXPECT_EQ(set_up_underlay().error().text,
            "steering: no underlay here: port_type is 1 (Ethernet), and Linux sets a root with "
            "underlay_qpn on InfiniBand ports (0) alone");
}

TEST_F(Underlays, EthernetPortAskedAllTheSame_IsRefusedByTheDevice) {
  start({});
  const auto made = set_up_underlay(/*try_anyway=*/true);
  EXPECT_THAT(made.error().text, HasSubstr("SET_FLOW_TABLE_ROOT"));
  EXPECT_EQ(objects(), 0U);
}

TEST_F(Underlays, InfiniBandPort_IsVerified) {
  underlay = set_up_underlay().value();
  EXPECT_EQ(underlay->describe(),
            "underlay of NIC_RX (scope lease), verified: stops new and running connections");
  EXPECT_EQ(objects(), 0U);
}

TEST_F(Underlays, RootThatDoesNothing_IsUnverified) {
  start_infiniband({"underlay-root-inert"});
  underlay = set_up_underlay().value();
  EXPECT_FALSE(underlay->verdict().verified());
}

TEST_F(Underlays, AttachedCold_StopsAHotQpThatIgnoresNewRules) {
  start_infiniband({"dst-qp-inert", "hot-qp-ignores-new-rules"});
  attach(1);
  ASSERT_TRUE(passes(1));
  ASSERT_TRUE(underlay->install(target, deadline_ns()));
  EXPECT_FALSE(passes(2));
}

TEST_F(Underlays, AttachedHot_StopsNothingWhereHotQpsIgnoreRules) {
  start_infiniband({"hot-qp-ignores-new-rules"});
  underlay = set_up_underlay().value();
  target = connect().target(0);
  ASSERT_TRUE(passes(1));
  ASSERT_TRUE(underlay->prepare(target, deadline_ns()));
  ASSERT_TRUE(underlay->install(target, deadline_ns()));
  EXPECT_TRUE(passes(2));
}

TEST_F(Underlays, Removed_LeavesNothingAndTheQpHearsAgain) {
  attach(0);
  ASSERT_TRUE(underlay->install(target, deadline_ns()));
  ASSERT_TRUE(pair->post(1));
  ASSERT_FALSE(pair->outcome(50 * kMs).value());
  ASSERT_TRUE(underlay->remove(target, deadline_ns()));
  EXPECT_EQ(objects(), 0U);
  EXPECT_EQ(pair->outcome(2'000 * kMs).value(), prm::WcStatus::SUCCESS);
}

TEST_F(Underlays, InstallWithoutPrepare_IsNotFound) {
  underlay = set_up_underlay().value();
  EXPECT_EQ(underlay->install({.slot = 1, .qpn = prm::QpNumber{5}}, deadline_ns()).error().text,
            "steering: slot 1 got no underlay when the lease was granted");
  EXPECT_TRUE(underlay->remove({.slot = 1, .qpn = prm::QpNumber{5}}, deadline_ns()));
}

TEST_F(Underlays, SecondPrepareAndSlotPastTheLast_AreRefused) {
  attach(0);
  EXPECT_EQ(underlay->prepare(target, deadline_ns()).error().code, Errc::Busy);
  EXPECT_EQ(underlay->prepare({.slot = 3, .qpn = prm::QpNumber{5}}, deadline_ns()).error().text,
            "steering: slot 3; underlays are for 0 to 2");
}

TEST_F(Underlays, RemovalThatIsNotAnswered_EndsByItsDeadline) {
  for (const prm::Opcode opcode :
       {prm::Opcode::SET_FLOW_TABLE_ROOT, prm::Opcode::DESTROY_FLOW_GROUP, prm::Opcode::DESTROY_TIR,
        prm::Opcode::DESTROY_RQ}) {
    attach(0);
    model->inject(
        {.opcode = prm::number(opcode), .kind = model::CommandFaultRule::Kind::NeverReturns});
    const std::uint64_t start_ns = model->device().clock.now_ns();
    EXPECT_FALSE(underlay->remove(target, start_ns + 100 * kMs)) << prm::name(opcode);
    EXPECT_LE(model->device().clock.now_ns() - start_ns, 101 * kMs) << prm::name(opcode);
    underlay.reset();
    start_infiniband({});
  }
}

TEST_F(Underlays, RootThatComesLate_IsDisconnected) {
  underlay = set_up_underlay().value();
  target = connect().target(0);
  model->inject({.opcode = prm::number(prm::Opcode::SET_FLOW_TABLE_ROOT),
                 .kind = model::CommandFaultRule::Kind::Delay,
                 .delay_ns = 200 * kMs});
  ASSERT_EQ(underlay->prepare(target, model->device().clock.now_ns() + 100 * kMs).error().code,
            Errc::Timeout);
  pass_ms(200);
  const std::uint64_t before = model->counters().commands;
  EXPECT_TRUE(underlay->remove(target, deadline_ns()));
  EXPECT_EQ(model->counters().commands - before, 5U);  // group, root, table, TIR, RQ
  EXPECT_EQ(objects(), 0U);
}

TEST_F(Underlays, RootThatIsNeverAnswered_KeepsItsTableAndStopsNothing) {
  underlay = set_up_underlay().value();
  target = connect().target(0);
  model->inject({.opcode = prm::number(prm::Opcode::SET_FLOW_TABLE_ROOT),
                 .kind = model::CommandFaultRule::Kind::NeverReturns});
  ASSERT_FALSE(underlay->prepare(target, model->device().clock.now_ns() + 100 * kMs));
  EXPECT_EQ(underlay->install(target, deadline_ns()).error().code, Errc::NotFound);
  EXPECT_FALSE(underlay->remove(target, deadline_ns()));
  underlay.reset();
  EXPECT_EQ(model->census().flow_tables, 1U);
}

TEST_F(Underlays, ShapeBesideAnUnderlay_IsRefusedInOneLine) {
  EXPECT_EQ(steering::set_up_rule(hca->context(), EntryPlan::Underlay, options("dst-qp"), {})
                .error()
                .text,
            "steering dst-qp: an underlay has no shape to choose; offered or try is accepted");
}

class BrokenUnderlays : public Underlays, public ::testing::WithParamInterface<prm::Opcode> {};

TEST_P(BrokenUnderlays, CommandThatFails_LeavesNothing) {
  underlay = set_up_underlay().value();
  target = connect().target(0);
  model->inject(
      {.opcode = prm::number(GetParam()), .status = prm::number(prm::CommandStatus::NO_RES_ERR)});
  EXPECT_FALSE(underlay->prepare(target, deadline_ns()));
  EXPECT_EQ(objects(), 0U);
}

TEST_P(BrokenUnderlays, CommandThatIsNotAnswered_EndsByTheDeadlineOfPrepare) {
  underlay = set_up_underlay().value();
  target = connect().target(0);
  model->inject(
      {.opcode = prm::number(GetParam()), .kind = model::CommandFaultRule::Kind::NeverReturns});
  const std::uint64_t start_ns = model->device().clock.now_ns();
  EXPECT_EQ(underlay->prepare(target, start_ns + 100 * kMs).error().code, Errc::Timeout);
  EXPECT_LE(model->device().clock.now_ns() - start_ns, 101 * kMs);
}

INSTANTIATE_TEST_SUITE_P(Commands, BrokenUnderlays,
                         ::testing::Values(prm::Opcode::CREATE_RQ, prm::Opcode::MODIFY_RQ,
                                           prm::Opcode::CREATE_TIR, prm::Opcode::CREATE_FLOW_TABLE,
                                           prm::Opcode::CREATE_FLOW_GROUP,
                                           prm::Opcode::SET_FLOW_TABLE_ROOT,
                                           prm::Opcode::SET_FLOW_TABLE_ENTRY),
                         [](const auto& info) { return std::string(prm::name(info.param)); });

TEST_F(Underlays, SetUpByTheEntryOfAPlan_SaysWhatItFound) {
  const auto keep = [this](std::string_view line) { log.emplace_back(line); };
  auto rule = steering::set_up_rule(hca->context(), EntryPlan::Underlay, options("offered"), keep);
  ASSERT_TRUE(rule) << rule.error().text;
  EXPECT_THAT(log, ElementsAre("steering: underlay of NIC_RX (scope lease), verified: stops new "
                               "and running connections"));
}

// ---- the judgement ----

/// A QP that has heard a packet before its root would go on as if there were none.
TEST_F(Underlays, HotQpsThatIgnoreNewRules_AreVerifiedForTheRootComesFirst) {
  start_infiniband({"dst-qp-inert", "hot-qp-ignores-new-rules"});
  underlay = set_up_underlay().value();
  EXPECT_TRUE(underlay->verdict().verified());
}

class JudgedUnderlays : public NotedSteering {
 protected:
  void SetUp() override {
    start_infiniband({});
    note();
  }
  Result<std::unique_ptr<UnderlayDrop>> make(std::uint64_t quiet_ms = 20) {
    return UnderlayDrop::set_up(*context, {.slots = 2, .loopback = path, .quiet_ms = quiet_ms});
  }
};

TEST_F(JudgedUnderlays, AllowedWriteThatDoesNotPass_NoUnderlay) {
  kill_qp_at(prm::Opcode::SET_FLOW_TABLE_ENTRY, 1);
  EXPECT_EQ(make().error().text,
            "steering: a WRITE over loopback does not pass an underlay that allows it");
  EXPECT_EQ(model->census().flow_tables, 0U);
}

TEST_F(JudgedUnderlays, Silence_LastsAsLongAsWasAsked) {
  const std::uint64_t before_ns = now_ns();
  ASSERT_TRUE(make(300));
  EXPECT_GE(now_ns() - before_ns, 300 * kMs);
}

TEST_F(JudgedUnderlays, WhatTheJudgementLeaves_IsTold) {
  swallow(prm::Opcode::DESTROY_FLOW_TABLE);
  EXPECT_EQ(make().error().code, Errc::Timeout);
}

TEST_F(JudgedUnderlays, RefusedPrepare_IsTakenBackByItsDeadline) {
  auto made = make().value();
  const auto target = connect().target(0);
  refuse(prm::Opcode::SET_FLOW_TABLE_ENTRY);
  channel->sent.clear();
  const std::uint64_t until_ns = odd_ns();
  EXPECT_FALSE(made->prepare(target, until_ns));
  EXPECT_EQ(channel->opcodes().back(), prm::Opcode::DESTROY_RQ);
  EXPECT_THAT(channel->deadlines_ns(), Each(until_ns));
  EXPECT_TRUE(made->prepare(target, deadline_ns()));
}

TEST_F(JudgedUnderlays, RefusedInstall_IsTold) {
  auto made = make().value();
  const auto target = connect().target(0);
  ASSERT_TRUE(made->prepare(target, deadline_ns()));
  refuse(prm::Opcode::SET_FLOW_TABLE_ENTRY);
  EXPECT_EQ(made->install(target, deadline_ns()).error().code, Errc::CommandFailed);
}

TEST_F(JudgedUnderlays, PrepareThatIsNotAnswered_TheDeviceIsAskedNoMore) {
  auto made = make().value();
  const auto target = connect().target(0);
  swallow(prm::Opcode::SET_FLOW_TABLE_ENTRY);
  EXPECT_FALSE(made->prepare(target, odd_ns()));
  EXPECT_EQ(channel->opcodes().back(), prm::Opcode::SET_FLOW_TABLE_ENTRY);
}

TEST_F(JudgedUnderlays, RefusedRemoval_IsToldAndGoesOnWhereItStood) {
  auto made = make().value();
  const auto target = connect().target(0);
  ASSERT_TRUE(made->prepare(target, deadline_ns()));
  refuse(prm::Opcode::DESTROY_TIR);
  EXPECT_FALSE(made->remove(target, deadline_ns()));
  EXPECT_EQ(made->prepare(target, deadline_ns()).error().code, Errc::Busy);
  EXPECT_TRUE(made->remove(target, deadline_ns()));
  EXPECT_TRUE(made->prepare(target, deadline_ns()));
}

class RefusedSetUps : public JudgedUnderlays, public ::testing::WithParamInterface<prm::Opcode> {};

TEST_P(RefusedSetUps, NoUnderlayAndNothingLeft) {
  const std::uint64_t before = model->census().objects();
  refuse(GetParam());
  EXPECT_EQ(make().error().code, Errc::CommandFailed);
  EXPECT_EQ(model->census().objects(), before);
}

INSTANTIATE_TEST_SUITE_P(
    Commands, RefusedSetUps,
    ::testing::Values(prm::Opcode::QUERY_HCA_CAP, prm::Opcode::ALLOC_PD, prm::Opcode::CREATE_CQ,
                      prm::Opcode::ALLOC_TRANSPORT_DOMAIN, prm::Opcode::CREATE_QP,
                      prm::Opcode::CREATE_RQ, prm::Opcode::CREATE_FLOW_TABLE,
                      prm::Opcode::SET_FLOW_TABLE_ROOT, prm::Opcode::SET_FLOW_TABLE_ENTRY),
    [](const auto& info) { return std::string(prm::name(info.param)); });

// ---- by the plan's entry ----

class UnderlayRules : public NotedSteering {
 protected:
  void SetUp() override {
    start_infiniband({});
    note();
  }
  void TearDown() override {
    rule.reset();
    SteeringWorld::TearDown();
  }
  std::unique_ptr<steering::DropRule> rule;
};

TEST_F(UnderlayRules, EverySlotOfTheLeaseTable_MayHaveOne) {
  rule = steering::set_up_rule(*context, EntryPlan::Underlay, options("offered"), {}).value();
  EXPECT_TRUE(rule->prepare(connect().target(3), deadline_ns()).value());
}

TEST_F(UnderlayRules, Silence_LastsAsLongAsWasAsked) {
  auto with = options("offered");
  with.quiet_ms = 300;
  const std::uint64_t before_ns = now_ns();
  rule = steering::set_up_rule(*context, EntryPlan::Underlay, with, {}).value();
  EXPECT_GE(now_ns() - before_ns, 300 * kMs);
}

TEST_F(UnderlayRules, EthernetPortTried_IsRefusedByTheDeviceAndNotBefore) {
  start_noted({});
  EXPECT_THAT(
      steering::set_up_rule(*context, EntryPlan::Underlay, options("offered"), {}).error().text,
      HasSubstr("port_type is 1"));
  EXPECT_THAT(steering::set_up_rule(*context, EntryPlan::Underlay, options("try"), {}).error().text,
              HasSubstr("SET_FLOW_TABLE_ROOT"));
}

}  // namespace
}  // namespace portcullis::testing
