// SPDX-License-Identifier: BSD-3-Clause
//
// Set-up: which shape the self-test finds on which firmware, and what is said when there is none;
// then what a revoke makes of it.
#include "steering/flow_drop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "prm/flow_commands.hpp"
#include "tests/steering/noted_world.hpp"

namespace portcullis::testing {
namespace {

using steering::EntryPlan;
using steering::Shape;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FlowDrops : public SteeringWorld {
 protected:
  /// A connection that carries traffic, then its entry by `plan`; whether it still carries.
  bool passes_after_install(EntryPlan plan) {
    EXPECT_NE(set_up(options("dst-qp")), nullptr);
    auto target = connect().target(0);
    target.entry = plan;
    EXPECT_TRUE(drop->prepare(target, deadline_ns()));
    EXPECT_TRUE(passes(1));
    EXPECT_TRUE(drop->install(target, deadline_ns()));
    return passes(2);
  }
};

TEST_F(FlowDrops, DeviceThatSteers_GetsTheQpShapeVerified) {
  start(in_path());
  ASSERT_NE(set_up(options("offered")), nullptr);
  EXPECT_EQ(drop->shape(), Shape::DstQp);
  EXPECT_TRUE(drop->verdict().verified());
  EXPECT_TRUE(drop->verdict().stops_running);
  EXPECT_THAT(log, ElementsAre("steering: RDMA_RX dst-qp (scope lease), verified: stops new and "
                               "running connections"));
}

TEST_F(FlowDrops, EveryShape_IsVerifiedWhereEverythingWorks) {
  start(in_path());
  for (const Shape shape : steering::kShapes) {
    ASSERT_NE(set_up(options(std::string(name(shape)))), nullptr) << name(shape);
    EXPECT_EQ(drop->shape(), shape);
    EXPECT_TRUE(drop->verdict().stops_running && drop->verdict().verified()) << name(shape);
  }
}

TEST_F(FlowDrops, InertDstQp_GivesWayToTheClientsFlow) {
  start({"rdma-rx-in-path", "dst-qp-inert"});
  ASSERT_NE(set_up(options("offered")), nullptr);
  EXPECT_EQ(drop->shape(), Shape::ClientFlow);
}

TEST_F(FlowDrops, ThatFirmware_StopsNewConnectionsAndNotRunningOnes) {
  start({}, "cx5-16.35.4506");
  ASSERT_NE(set_up(options("offered")), nullptr);
  EXPECT_EQ(drop->describe(),
            "RDMA_RX client-flow (scope lease), verified: stops new connections, not running ones");
}

TEST_F(FlowDrops, RdmaRxNotInPath_IsUnverified) {
  start({});
  ASSERT_NE(set_up(options("offered")), nullptr);
  EXPECT_FALSE(drop->verdict().verified());
  EXPECT_THAT(log.back(), HasSubstr("unverified: a WRITE over loopback passed the entry"));
}

TEST_F(FlowDrops, OpcodeNotParsed_IsUnverified) {
  start({"rdma-rx-in-path", "bth-opcode-not-parsed"});
  ASSERT_NE(set_up(options("opcode")), nullptr);
  EXPECT_FALSE(drop->verdict().verified());
}

TEST_F(FlowDrops, RdmaRxRefused_LeavesADriverWithoutAndSaysSoOnce) {
  start({"rdma-rx-refused"});
  EXPECT_EQ(set_up(options("offered")), nullptr);
  ASSERT_EQ(log.size(), 1U);
  EXPECT_THAT(log.front(), HasSubstr("steering: none, no shape of RDMA_RX could be set up"));
  EXPECT_TRUE(connect().post(1));
  EXPECT_EQ(pair->outcome(50 * kMs).value(), prm::WcStatus::SUCCESS);
}

TEST_F(FlowDrops, SilentNull_IsSeenThrough) {
  start({"rdma-rx-silent-null"});
  EXPECT_EQ(set_up(options("dst-qp")), nullptr);
  EXPECT_THAT(log.front(), HasSubstr("success, and table_id 0 names no table"));
}

TEST_F(FlowDrops, Off_SetsUpNothingAndSaysNothing) {
  start(in_path());
  EXPECT_EQ(set_up(options("off")), nullptr);
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(model->census().flow_tables, 0U);
}

TEST_F(FlowDrops, NoBthOpcode_OffersNoOpcodeAndTryIsRefusedByTheDevice) {
  start({"no-bth-opcode"});
  std::vector<std::string> lines;
  const auto keep = [&lines](std::string_view line) { lines.emplace_back(line); };
  ASSERT_TRUE(steering::FlowDrop::set_up(hca->context(), options("offered"), keep));
  EXPECT_THAT(lines, Each(Not(HasSubstr("opcode"))));
  ASSERT_TRUE(steering::FlowDrop::set_up(hca->context(), options("try"), keep));
  EXPECT_THAT(lines, Contains(HasSubstr("opcode: CREATE_FLOW_GROUP")));
}

TEST_F(FlowDrops, Destruction_LeavesNothingOnTheDevice) {
  start(in_path());
  ASSERT_NE(set_up(options("try")), nullptr);
  drop.reset();
  EXPECT_EQ(
      model->census().flow_tables + model->census().flow_groups + model->census().flow_entries, 0U);
}

TEST_F(FlowDrops, FunctionScopeBesideOtherLeases_IsSkippedAndSaysSo) {
  start(in_path());
  ASSERT_NE(set_up(options("opcode")), nullptr);
  drop->set_active_count([] { return 2U; });
  EXPECT_EQ(drop->install({.slot = 1, .qpn = prm::QpNumber{5}}, deadline_ns()).error().text,
            "steering: shape opcode drops for the whole function and 2 other leases are ACTIVE; "
            "step skipped (--allow-function-drop)");
  EXPECT_EQ(model->census().flow_entries, 0U);
  EXPECT_TRUE(drop->remove({.slot = 1, .qpn = prm::QpNumber{5}}, deadline_ns()));
}

TEST_F(FlowDrops, FunctionScopeAlone_IsInstalled) {
  start(in_path());
  ASSERT_NE(set_up(options("opcode")), nullptr);
  drop->set_active_count([] { return 0U; });
  EXPECT_TRUE(drop->install({.slot = 1, .qpn = prm::QpNumber{5}}, deadline_ns()));
}

TEST_F(FlowDrops, FunctionScopeWhereAllowed_IsInstalled) {
  start(in_path());
  auto allowed = options("match-all");
  allowed.allow_function_drop = true;
  ASSERT_NE(set_up(allowed), nullptr);
  EXPECT_TRUE(drop->install({.slot = 1, .qpn = prm::QpNumber{5}}, deadline_ns()));
}

TEST_F(FlowDrops, EveryEntryPlan_StopsARunningConnection) {
  start(in_path());
  EXPECT_FALSE(passes_after_install(EntryPlan::AtRevoke));
  EXPECT_FALSE(passes_after_install(EntryPlan::AllowReplace));
  EXPECT_FALSE(passes_after_install(EntryPlan::AllowModify));
}

TEST_F(FlowDrops, EveryEntryPlan_ComesTooLateWhereHotQpsIgnoreRules) {
  start({"rdma-rx-in-path", "hot-qp-ignores-new-rules", "no-occupied-index"});
  EXPECT_TRUE(passes_after_install(EntryPlan::AtRevoke));
  EXPECT_TRUE(passes_after_install(EntryPlan::AllowReplace));
  EXPECT_TRUE(passes_after_install(EntryPlan::AllowModify));
}

TEST_F(FlowDrops, AllowEntryOfFunctionScope_IsRefusedAndTheDropInstalledAllTheSame) {
  start(in_path());
  ASSERT_NE(set_up(options("match-all")), nullptr);
  drop->set_active_count([] { return 0U; });
  const steering::DropTarget target{
      .slot = 1, .qpn = prm::QpNumber{5}, .entry = EntryPlan::AllowReplace};
  EXPECT_THAT(drop->prepare(target, deadline_ns()).error().text,
              HasSubstr("shape match-all is the whole function's"));
  EXPECT_EQ(model->census().flow_entries, 0U);
  EXPECT_TRUE(drop->install(target, deadline_ns()));
}

// ---- what the function says, and what it refuses ----

class NotedDrops : public NotedSteering {
 protected:
  void SetUp() override { start_noted(in_path()); }
  Result<std::unique_ptr<steering::FlowDrop>> rule(const std::string& choice) {
    return steering::FlowDrop::set_up(*context, options(choice), {});
  }
  static steering::DropTarget target(EntryPlan plan) {
    return {.slot = 1, .qpn = prm::QpNumber{9}, .entry = plan};
  }
};

TEST_F(NotedDrops, AllowEntryThatIsRefused_IsNotThoughtToStand) {
  auto made = rule("dst-qp").value();
  refuse(prm::Opcode::SET_FLOW_TABLE_ENTRY);
  EXPECT_EQ(made->prepare(target(EntryPlan::AllowReplace), deadline_ns()).error().code,
            Errc::CommandFailed);
  EXPECT_EQ(model->census().flow_entries, 0U);
}

TEST_F(NotedDrops, AllowEntryThatCannotBeTakenOut_NoOtherIsPutInItsPlace) {
  auto made = rule("dst-qp").value();
  ASSERT_TRUE(made->prepare(target(EntryPlan::AllowReplace), deadline_ns()));
  refuse(prm::Opcode::DELETE_FLOW_TABLE_ENTRY);
  channel->sent.clear();
  EXPECT_EQ(made->install(target(EntryPlan::AllowReplace), deadline_ns()).error().code,
            Errc::CommandFailed);
  EXPECT_THAT(channel->opcodes(), ElementsAre(prm::Opcode::DELETE_FLOW_TABLE_ENTRY));
}

TEST_F(NotedDrops, EntryOfAFunctionScopeThatStays_TheNextLeaseHearsSo) {
  auto made = rule("match-all").value();
  made->set_active_count([] { return 0U; });
  ASSERT_TRUE(made->install(target(EntryPlan::AtRevoke), deadline_ns()));
  refuse(prm::Opcode::DELETE_FLOW_TABLE_ENTRY);
  EXPECT_FALSE(made->prepare(target(EntryPlan::AtRevoke), deadline_ns()));
}

TEST_F(NotedDrops, EntryToBeModifiedThatWasNeverPut_IsSet) {
  auto made = rule("dst-qp").value();
  channel->sent.clear();
  ASSERT_TRUE(made->install(target(EntryPlan::AllowModify), deadline_ns()));
  EXPECT_EQ(channel->told<prm::set_fte_in>(prm::Opcode::SET_FLOW_TABLE_ENTRY).get<"op_mod">(),
            prm::number(prm::SetFteOpMod::SET));
}

TEST_F(NotedDrops, DomainThatIsNotOffered_IsNotAskedUnlessTried) {
  let_rdma_rx([](auto caps) { caps.template set<"ft_support", 0>(); });
  EXPECT_EQ(rule("offered").error().text,
            "the capability ft_support of RDMA_RX is 0; --steering=try asks the device");
  EXPECT_TRUE(rule("try"));
  EXPECT_TRUE(rule("dst-qp"));
}

TEST_F(NotedDrops, EntriesThatCannotBeModified_AllowModifyIsRefusedUnlessTried) {
  let_rdma_rx([](auto caps) { caps.template set<"flow_modify_en", 0>(); });
  auto offered = rule("offered").value();
  EXPECT_EQ(offered->prepare(target(EntryPlan::AllowModify), deadline_ns()).error().text,
            "steering: the capability flow_modify_en of RDMA_RX is 0; --steering=try asks the "
            "device");
  EXPECT_TRUE(offered->prepare(target(EntryPlan::AllowReplace), deadline_ns()));
  offered.reset();
  EXPECT_TRUE(rule("try").value()->prepare(target(EntryPlan::AllowModify), deadline_ns()));
}

TEST_F(NotedDrops, ShapeWhoseGroupStays_IsNotTaken) {
  refuse(prm::Opcode::DESTROY_FLOW_GROUP);
  EXPECT_THAT(rule("dst-qp").error().text, HasSubstr("dst-qp: DESTROY_FLOW_GROUP"));
}

TEST_F(NotedDrops, SelfTest_UsesTheIndexBehindTheSlotsAndWaitsAsLongAsWasAsked) {
  auto with = options("dst-qp");
  with.quiet_ms = 300;
  const std::uint64_t before_ns = now_ns();
  ASSERT_TRUE(steering::FlowDrop::set_up(*context, with, {}));
  EXPECT_GE(now_ns() - before_ns, 600 * kMs);
  EXPECT_EQ(channel->told<prm::set_fte_in>(prm::Opcode::SET_FLOW_TABLE_ENTRY).get<"flow_index">(),
            with.slots);
}

}  // namespace
}  // namespace portcullis::testing
