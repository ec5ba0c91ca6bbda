// SPDX-License-Identifier: BSD-3-Clause
//
// What steering tells the device, field by field, and that every deadline it is given is the one
// that its commands have. The model answers; what stands between is tests/steering/noted_channel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "prm/flow_commands.hpp"
#include "prm/status.hpp"
#include "steering/drop_group.hpp"
#include "steering/underlay_drop.hpp"
#include "tests/steering/noted_world.hpp"

namespace portcullis::testing {
namespace {

using prm::FlowTableType;
using prm::Opcode;
using steering::DropGroup;
using steering::EntryPlan;
using steering::FlowGroup;
using steering::FlowTable;
using steering::Shape;
using steering::UnderlayDrop;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class SteeringWire : public NotedSteering {
 protected:
  void SetUp() override { start_noted(in_path()); }
  void TearDown() override {
    underlay.reset();
    SteeringWorld::TearDown();
  }
  DropGroup group(Shape shape) {
    return DropGroup::create(*context, {.shape = shape, .entries = 4}).value();
  }

  std::unique_ptr<UnderlayDrop> underlay;
};

// ---- tables and groups ----

TEST_F(SteeringWire, Table_IsOfItsDomainLevelAndSizeAndLetsTheRestPass) {
  (void)FlowTable::create(*context, FlowTableType::NIC_RX, {.log_size = 3, .level = 5});
  const auto in = channel->told<prm::create_flow_table_in>(Opcode::CREATE_FLOW_TABLE);
  EXPECT_EQ(in.get<"table_type">(), prm::number(FlowTableType::NIC_RX));
  EXPECT_EQ(in.get<"flow_table_context.level">(), 5U);
  EXPECT_EQ(in.get<"flow_table_context.log_size">(), 3U);
  EXPECT_EQ(in.get<"flow_table_context.table_miss_action">(), prm::number(prm::FlowTableMiss::DEF));
}

TEST_F(SteeringWire, Root_IsSetByItsNumberAndDisconnectedWithoutOne) {
  auto table = FlowTable::create(*context, FlowTableType::NIC_RX, {}).value();
  ASSERT_TRUE(table.make_root());
  const auto set = channel->told<prm::set_flow_table_root_in>(Opcode::SET_FLOW_TABLE_ROOT);
  EXPECT_EQ(set.get<"op_mod">(), prm::number(prm::FlowTableRootOpMod::SET));
  EXPECT_EQ(set.get<"table_type">(), prm::number(FlowTableType::NIC_RX));
  EXPECT_EQ(set.get<"table_id">(), table.id());
  EXPECT_EQ(set.get<"underlay_qpn">(), prm::kNoUnderlayQpn);
  const std::uint32_t id = table.id();
  ASSERT_TRUE(table.destroy());
  const auto gone = channel->told<prm::set_flow_table_root_in>(Opcode::SET_FLOW_TABLE_ROOT, 1);
  EXPECT_EQ(gone.get<"op_mod">(), prm::number(prm::FlowTableRootOpMod::DISCONNECT));
  EXPECT_EQ(gone.get<"table_type">(), prm::number(FlowTableType::NIC_RX));
  EXPECT_EQ(gone.get<"table_id">(), 0U);
  const auto destroyed = channel->told<prm::destroy_flow_table_in>(Opcode::DESTROY_FLOW_TABLE);
  EXPECT_EQ(destroyed.get<"table_type">(), prm::number(FlowTableType::NIC_RX));
  EXPECT_EQ(destroyed.get<"table_id">(), id);
}

TEST_F(SteeringWire, Group_HasItsRangeAndItsMask) {
  auto table = FlowTable::create(*context, FlowTableType::RDMA_RX, {.log_size = 3}).value();
  prm::Buffer<prm::fte_match_param> mask;
  const std::uint32_t enable = steering::put_mask(Shape::DstQp, mask.view());
  auto made = FlowGroup::create(*context, table, {2, 6}, enable, mask.view()).value();
  const auto in = channel->told<prm::create_flow_group_in>(Opcode::CREATE_FLOW_GROUP);
  EXPECT_EQ(in.get<"table_type">(), prm::number(FlowTableType::RDMA_RX));
  EXPECT_EQ(in.get<"table_id">(), table.id());
  EXPECT_EQ(in.get<"start_flow_index">(), 2U);
  EXPECT_EQ(in.get<"end_flow_index">(), 6U);
  EXPECT_EQ(in.get<"match_criteria_enable">(), 2U);  // MISC
  EXPECT_EQ(in.get<"match_criteria.misc_parameters.bth_dst_qp">(), 0xffffffU);
  ASSERT_TRUE(made.destroy());
  const auto gone = channel->told<prm::destroy_flow_group_in>(Opcode::DESTROY_FLOW_GROUP);
  EXPECT_EQ(gone.get<"table_type">(), prm::number(FlowTableType::RDMA_RX));
  EXPECT_EQ(gone.get<"table_id">(), table.id());
  EXPECT_EQ(gone.get<"group_id">(), made.id());
}

TEST_F(SteeringWire, DropGroup_HoldsTheEntriesThatWereAskedFor) {
  const DropGroup made = group(Shape::DstQp);
  EXPECT_EQ(channel->told<prm::create_flow_table_in>(Opcode::CREATE_FLOW_TABLE)
                .get<"flow_table_context.log_size">(),
            2U);
  EXPECT_EQ(
      channel->told<prm::create_flow_group_in>(Opcode::CREATE_FLOW_GROUP).get<"end_flow_index">(),
      3U);
}

// ---- entries ----

TEST_F(SteeringWire, Entry_IsSetAtItsSlotInAFenceSlotByItsDeadline) {
  DropGroup made = group(Shape::DstQp);
  const std::uint64_t until_ns = odd_ns();
  ASSERT_TRUE(
      made.set({.slot = 3, .qpn = prm::QpNumber{0x123456}}, prm::FlowAction::DROP, until_ns));
  const auto in = channel->told<prm::set_fte_in>(Opcode::SET_FLOW_TABLE_ENTRY);
  const auto table = channel->told<prm::create_flow_group_in>(Opcode::CREATE_FLOW_GROUP);
  EXPECT_EQ(in.get<"op_mod">(), prm::number(prm::SetFteOpMod::SET));
  EXPECT_EQ(in.get<"table_type">(), prm::number(FlowTableType::RDMA_RX));
  EXPECT_EQ(in.get<"table_id">(), table.get<"table_id">());
  EXPECT_EQ(in.get<"modify_enable_mask">(), 0U);
  EXPECT_EQ(in.get<"flow_index">(), 3U);
  EXPECT_EQ(in.get<"flow_context.action">(), prm::number(prm::FlowAction::DROP));
  EXPECT_EQ(in.get<"flow_context.destination_list_size">(), 0U);
  EXPECT_EQ(in.get<"flow_context.match_value.misc_parameters.bth_dst_qp">(), 0x123456U);
  EXPECT_EQ(channel->sent.back().slot_class, pmd::SlotClass::Fence);
  EXPECT_EQ(channel->sent.back().deadline_ns, until_ns);
}

TEST_F(SteeringWire, ModifiedEntry_SaysThatItsActionChanges) {
  DropGroup made = group(Shape::DstQp);
  const steering::DropTarget target{.slot = 1, .qpn = prm::QpNumber{9}};
  ASSERT_TRUE(made.set(target, prm::FlowAction::ALLOW, deadline_ns()));
  const std::uint64_t until_ns = odd_ns();
  ASSERT_TRUE(made.modify(target, prm::FlowAction::DROP, until_ns));
  const auto in = channel->told<prm::set_fte_in>(Opcode::SET_FLOW_TABLE_ENTRY, 1);
  EXPECT_EQ(in.get<"op_mod">(), prm::number(prm::SetFteOpMod::MODIFY));
  EXPECT_EQ(in.get<"modify_enable_mask">(), 1U);  // ACTION
  EXPECT_EQ(in.get<"flow_context.action">(), prm::number(prm::FlowAction::DROP));
  EXPECT_EQ(channel->sent.back().deadline_ns, until_ns);
}

TEST_F(SteeringWire, ForwardingEntry_CarriesWhereTo) {
  DropGroup made = group(Shape::DstQp);
  const std::uint64_t until_ns = odd_ns();
  (void)made.modify({.slot = 1, .qpn = prm::QpNumber{9}}, prm::FlowAction::FWD_DEST, until_ns,
                    0xabcdef);
  const auto in = channel->told<prm::set_fte_in>(Opcode::SET_FLOW_TABLE_ENTRY);
  EXPECT_EQ(in.get<"modify_enable_mask">(), 5U);  // ACTION and DESTINATION_LIST
  EXPECT_EQ(in.get<"flow_context.destination_list_size">(), 1U);
  const auto to =
      prm::ConstView<prm::dest_format_struct>::at(channel->sent.back().in, prm::set_fte_in::bytes);
  EXPECT_EQ(to.get<"destination_type">(), prm::number(prm::FlowDestination::TIR));
  EXPECT_EQ(to.get<"destination_id">(), 0xabcdefU);
  EXPECT_EQ(channel->sent.back().slot_class, pmd::SlotClass::Fence);
  EXPECT_EQ(channel->sent.back().deadline_ns, until_ns);
}

TEST_F(SteeringWire, RemovedEntry_IsNamedByTableAndIndex) {
  DropGroup made = group(Shape::DstQp);
  ASSERT_TRUE(made.set({.slot = 2, .qpn = prm::QpNumber{9}}, prm::FlowAction::DROP, deadline_ns()));
  const std::uint64_t until_ns = odd_ns();
  ASSERT_TRUE(made.remove(2, until_ns));
  const auto in = channel->told<prm::delete_fte_in>(Opcode::DELETE_FLOW_TABLE_ENTRY);
  EXPECT_EQ(in.get<"table_type">(), prm::number(FlowTableType::RDMA_RX));
  EXPECT_EQ(in.get<"table_id">(),
            channel->told<prm::set_fte_in>(Opcode::SET_FLOW_TABLE_ENTRY).get<"table_id">());
  EXPECT_EQ(in.get<"flow_index">(), 2U);
  EXPECT_EQ(channel->sent.back().slot_class, pmd::SlotClass::Fence);
  EXPECT_EQ(channel->sent.back().deadline_ns, until_ns);
}

TEST_F(SteeringWire, IndexPastTheGroup_IsNeitherModifiedNorRemoved) {
  DropGroup made = group(Shape::DstQp);
  channel->sent.clear();
  EXPECT_FALSE(
      made.modify({.slot = 4, .qpn = prm::QpNumber{9}}, prm::FlowAction::DROP, deadline_ns()));
  EXPECT_FALSE(made.remove(4, deadline_ns()));
  EXPECT_THAT(channel->sent, IsEmpty());
}

TEST_F(SteeringWire, QpNumberThatIsTooWide_IsNotSentAndLeavesTheIndexEmpty) {
  DropGroup made = group(Shape::DstQp);
  channel->sent.clear();
  EXPECT_FALSE(
      made.set({.slot = 0, .qpn = prm::QpNumber{1U << 24}}, prm::FlowAction::DROP, deadline_ns()));
  EXPECT_THAT(channel->sent, IsEmpty());
  EXPECT_FALSE(made.has(0));
}

// ---- deadlines ----

TEST_F(SteeringWire, GroupMadeAndDestroyedByADeadline_EveryCommandHasIt) {
  const std::uint64_t until_ns = odd_ns();
  auto made =
      DropGroup::create_apart(*context, {.shape = Shape::DstQp, .entries = 4}, until_ns).value();
  ASSERT_TRUE(made.make_root(prm::kNoUnderlayQpn, until_ns));
  ASSERT_TRUE(made.set({.slot = 0, .qpn = prm::QpNumber{9}}, prm::FlowAction::DROP, until_ns));
  ASSERT_TRUE(made.destroy(until_ns));
  EXPECT_THAT(channel->opcodes(),
              ElementsAre(Opcode::CREATE_FLOW_TABLE, Opcode::CREATE_FLOW_GROUP,
                          Opcode::SET_FLOW_TABLE_ROOT, Opcode::SET_FLOW_TABLE_ENTRY,
                          Opcode::DELETE_FLOW_TABLE_ENTRY, Opcode::DESTROY_FLOW_GROUP,
                          Opcode::SET_FLOW_TABLE_ROOT, Opcode::DESTROY_FLOW_TABLE));
  EXPECT_THAT(channel->deadlines_ns(), Each(until_ns));
}

TEST_F(SteeringWire, RefusedGroup_ItsTableGoesByTheSameDeadline) {
  model->inject({.opcode = prm::number(Opcode::CREATE_FLOW_GROUP),
                 .status = prm::number(prm::CommandStatus::NO_RES_ERR)});
  const std::uint64_t until_ns = odd_ns();
  EXPECT_FALSE(DropGroup::create_apart(*context, {.shape = Shape::DstQp, .entries = 4}, until_ns));
  EXPECT_THAT(channel->opcodes(), ElementsAre(Opcode::CREATE_FLOW_TABLE, Opcode::CREATE_FLOW_GROUP,
                                              Opcode::DESTROY_FLOW_TABLE));
  EXPECT_THAT(channel->deadlines_ns(), Each(until_ns));
}

TEST_F(SteeringWire, EveryCallOfARule_HasItsOwnDeadline) {
  auto rule = steering::FlowDrop::set_up(*context, options("dst-qp"), {}).value();
  channel->sent.clear();
  const std::uint64_t until_ns = odd_ns();
  const steering::DropTarget target{
      .slot = 1, .qpn = prm::QpNumber{9}, .entry = EntryPlan::AllowReplace};
  ASSERT_TRUE(rule->prepare(target, until_ns).value());
  ASSERT_TRUE(rule->install(target, until_ns + 1));
  ASSERT_TRUE(rule->remove(target, until_ns + 2));
  EXPECT_THAT(channel->opcodes(),
              ElementsAre(Opcode::SET_FLOW_TABLE_ENTRY, Opcode::DELETE_FLOW_TABLE_ENTRY,
                          Opcode::SET_FLOW_TABLE_ENTRY, Opcode::DELETE_FLOW_TABLE_ENTRY));
  EXPECT_THAT(channel->deadlines_ns(),
              ElementsAre(until_ns, until_ns + 1, until_ns + 1, until_ns + 2));
}

TEST_F(SteeringWire, ModifyingRule_HasItsDeadlineToo) {
  auto rule = steering::FlowDrop::set_up(*context, options("dst-qp"), {}).value();
  const steering::DropTarget target{
      .slot = 1, .qpn = prm::QpNumber{9}, .entry = EntryPlan::AllowModify};
  ASSERT_TRUE(rule->prepare(target, deadline_ns()).value());
  channel->sent.clear();
  const std::uint64_t until_ns = odd_ns();
  ASSERT_TRUE(rule->install(target, until_ns));
  EXPECT_EQ(channel->told<prm::set_fte_in>(Opcode::SET_FLOW_TABLE_ENTRY).get<"op_mod">(),
            prm::number(prm::SetFteOpMod::MODIFY));
  EXPECT_THAT(channel->deadlines_ns(), ElementsAre(until_ns));
}

/// What it dropped of the function before, it drops no more.
TEST_F(SteeringWire, NextLeaseOfAFunctionScopeRule_EntriesAreLiftedByItsDeadline) {
  auto rule = steering::FlowDrop::set_up(*context, options("match-all"), {}).value();
  rule->set_active_count([] { return 0U; });
  ASSERT_TRUE(rule->install({.slot = 3, .qpn = prm::QpNumber{9}}, deadline_ns()));
  channel->sent.clear();
  const std::uint64_t until_ns = odd_ns();
  EXPECT_FALSE(rule->prepare({.slot = 1, .qpn = prm::QpNumber{10}}, until_ns).value());
  EXPECT_THAT(channel->opcodes(), ElementsAre(Opcode::DELETE_FLOW_TABLE_ENTRY));
  EXPECT_THAT(channel->deadlines_ns(), ElementsAre(until_ns));
}

TEST_F(SteeringWire, EntryThatNobodyWantedFromTheStart_SendsNothing) {
  auto rule = steering::FlowDrop::set_up(*context, options("dst-qp"), {}).value();
  channel->sent.clear();
  EXPECT_FALSE(rule->prepare({.slot = 1, .qpn = prm::QpNumber{9}}, deadline_ns()).value());
  EXPECT_THAT(rule->prepare({.slot = 1, .qpn = prm::QpNumber{9}, .entry = EntryPlan::Underlay},
                            deadline_ns())
                  .error()
                  .text,
              HasSubstr("no underlay"));
  EXPECT_THAT(channel->sent, IsEmpty());
}

// ---- the underlay ----

class UnderlayWire : public SteeringWire {
 protected:
  void SetUp() override {
    start_infiniband({});
    note();
  }
  Result<std::unique_ptr<UnderlayDrop>> make() {
    return UnderlayDrop::set_up(*context, {.slots = 2, .loopback = path});
  }
  std::string refusal() { return make().error().text; }
};

TEST_F(UnderlayWire, EveryCall_HasItsOwnDeadline) {
  underlay = make().value();
  const auto target = connect().target(1);
  channel->sent.clear();
  const std::uint64_t until_ns = odd_ns();
  ASSERT_TRUE(underlay->prepare(target, until_ns));
  EXPECT_THAT(channel->deadlines_ns(), Each(until_ns));
  channel->sent.clear();
  ASSERT_TRUE(underlay->install(target, until_ns + 1));
  EXPECT_THAT(channel->deadlines_ns(), ElementsAre(until_ns + 1));
  channel->sent.clear();
  ASSERT_TRUE(underlay->remove(target, until_ns + 2));
  EXPECT_THAT(channel->sent, Not(IsEmpty()));
  EXPECT_THAT(channel->deadlines_ns(), Each(until_ns + 2));
}

TEST_F(UnderlayWire, Attached_RootAndEntryAreOfTheLeasesQp) {
  underlay = make().value();
  const auto target = connect().target(1);
  channel->sent.clear();
  ASSERT_TRUE(underlay->prepare(target, deadline_ns()));
  const auto root = channel->told<prm::set_flow_table_root_in>(Opcode::SET_FLOW_TABLE_ROOT);
  EXPECT_EQ(root.get<"table_type">(), prm::number(FlowTableType::NIC_RX));
  EXPECT_EQ(root.get<"underlay_qpn">(), prm::number(target.qpn));
  const auto entry = channel->told<prm::set_fte_in>(Opcode::SET_FLOW_TABLE_ENTRY);
  EXPECT_EQ(entry.get<"table_type">(), prm::number(FlowTableType::NIC_RX));
  EXPECT_EQ(entry.get<"flow_index">(), 0U);
  EXPECT_EQ(entry.get<"flow_context.action">(), prm::number(prm::FlowAction::ALLOW));
  EXPECT_EQ(entry.get<"flow_context.match_value.misc_parameters.bth_dst_qp">(),
            prm::number(target.qpn));
}

TEST_F(UnderlayWire, Installed_EntryForwardsToTheTargetsTir) {
  underlay = make().value();
  const auto target = connect().target(0);
  ASSERT_TRUE(underlay->prepare(target, deadline_ns()));
  channel->sent.clear();
  ASSERT_TRUE(underlay->install(target, deadline_ns()));
  const auto entry = channel->told<prm::set_fte_in>(Opcode::SET_FLOW_TABLE_ENTRY);
  EXPECT_EQ(entry.get<"op_mod">(), prm::number(prm::SetFteOpMod::MODIFY));
  EXPECT_EQ(entry.get<"flow_index">(), 0U);
  EXPECT_EQ(entry.get<"flow_context.match_value.misc_parameters.bth_dst_qp">(),
            prm::number(target.qpn));
}

TEST_F(UnderlayWire, CapabilityOfTheFunctionMissing_RefusedByItsName) {
  context->caps.log_max_transport_domain = 0;
  EXPECT_THAT(refusal(), HasSubstr("the capability log_max_transport_domain is 0"));
  context->caps = hca->context().caps;
  context->caps.log_max_rq = 0;
  EXPECT_THAT(refusal(), HasSubstr("the capability log_max_rq is 0"));
  context->caps = hca->context().caps;
  context->caps.log_max_tir = 0;
  EXPECT_THAT(refusal(), HasSubstr("the capability log_max_tir is 0"));
}

TEST_F(UnderlayWire, CapabilityOfTheDomainMissing_RefusedByItsName) {
  let_nic_rx([](auto caps) { caps.template set<"ft_support", 0>(); });
  EXPECT_THAT(refusal(), HasSubstr("the capability ft_support of NIC_RX is 0"));
  let_nic_rx([](auto caps) { caps.template set<"modify_root", 0>(); });
  EXPECT_THAT(refusal(), HasSubstr("the capability modify_root of NIC_RX is 0"));
  let_nic_rx([](auto caps) { caps.template set<"ft_field_support.bth_dst_qp", 0>(); });
  EXPECT_THAT(refusal(), HasSubstr("the capability bth_dst_qp of NIC_RX is 0"));
  let_nic_rx([](auto caps) { caps.template set<"flow_modify_en", 0>(); });
  EXPECT_THAT(refusal(), HasSubstr("the capability flow_modify_en of NIC_RX is 0"));
}

TEST_F(UnderlayWire, SlotPastTheLast_IsNeitherInstalledNorRemoved) {
  underlay = make().value();
  EXPECT_EQ(underlay->install({.slot = 3, .qpn = prm::QpNumber{5}}, deadline_ns()).error().code,
            Errc::OutOfResources);
  EXPECT_EQ(underlay->remove({.slot = 3, .qpn = prm::QpNumber{5}}, deadline_ns()).error().code,
            Errc::OutOfResources);
}

}  // namespace
}  // namespace portcullis::testing
