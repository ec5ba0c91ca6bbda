// SPDX-License-Identifier: BSD-3-Clause
//
// A table that may be a root is disconnected before it goes, and stays where that cannot be had:
// also when nobody knows whether SET_FLOW_TABLE_ROOT was carried out. And what a table or a group
// is after a move, a refusal and its end.
#include "steering/flow_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "prm/flow_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/status.hpp"
#include "tests/steering/noted_world.hpp"

namespace portcullis::testing {
namespace {

using Kind = model::CommandFaultRule::Kind;
using prm::FlowTableType;
using prm::Opcode;
using steering::FlowGroup;
using steering::FlowTable;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FlowTables : public SteeringWorld {
 protected:
  void SetUp() override { start(in_path()); }
  FlowTable table(prm::FlowTableType domain) {
    return FlowTable::create(hca->context(), domain, {}).value();
  }
  std::uint64_t commands() const { return model->counters().commands; }
  void let_root_fail(Kind kind) {
    model->inject({.opcode = prm::number(prm::Opcode::SET_FLOW_TABLE_ROOT),
                   .kind = kind,
                   .status = prm::number(prm::CommandStatus::BAD_PARAM_ERR)});
  }
};

TEST_F(FlowTables, Root_IsDisconnectedBeforeItGoes) {
  FlowTable root = table(prm::FlowTableType::NIC_RX);
  ASSERT_TRUE(root.make_root());
  const std::uint64_t before = commands();
  EXPECT_TRUE(root.destroy());
  EXPECT_EQ(commands() - before, 2U);
}

TEST_F(FlowTables, RefusedRoot_IsNone) {
  FlowTable refused = table(prm::FlowTableType::NIC_RX);
  let_root_fail(Kind::Status);
  ASSERT_FALSE(refused.make_root());
  const std::uint64_t before = commands();
  EXPECT_TRUE(refused.destroy());
  EXPECT_EQ(commands() - before, 1U);
}

TEST_F(FlowTables, RootThatNobodyAnswered_IsDisconnectedToo) {
  FlowTable lost = table(prm::FlowTableType::NIC_RX);
  let_root_fail(Kind::NeverReturns);
  ASSERT_EQ(lost.make_root(prm::kNoUnderlayQpn, deadline_ns()).error().code, Errc::Timeout);
  const std::uint64_t before = commands();
  EXPECT_TRUE(lost.destroy());
  EXPECT_EQ(commands() - before, 2U);
}

TEST_F(FlowTables, RootThatCannotBeDisconnected_KeepsItsTable) {
  start_infiniband({});
  const std::uint32_t qpn = prm::number(connect().target(0).qpn);
  {
    FlowTable lost = table(prm::FlowTableType::NIC_RX);
    let_root_fail(Kind::DeliveryStatus);
    ASSERT_FALSE(lost.make_root(qpn));
    EXPECT_FALSE(lost.destroy());
    EXPECT_EQ(model->census().flow_tables, 1U);
  }
  EXPECT_EQ(model->census().flow_tables, 1U);
}

// ---- what was refused, and what is over ----

class NotedTables : public NotedSteering {
 protected:
  void SetUp() override { start_noted(in_path()); }
  Result<FlowTable> table(FlowTableType domain) { return FlowTable::create(*context, domain, {}); }
  Result<FlowGroup> group(const FlowTable& in) {
    return FlowGroup::create(*context, in, {0, 0}, 0, prm::Buffer<prm::fte_match_param>().view());
  }
};

TEST_F(NotedTables, RefusedDestruction_IsToldAndTheRootIsDisconnectedOnce) {
  FlowTable root = table(FlowTableType::NIC_RX).value();
  ASSERT_TRUE(root.make_root());
  refuse(Opcode::DESTROY_FLOW_TABLE);
  channel->sent.clear();
  EXPECT_FALSE(root.destroy());
  EXPECT_TRUE(root.destroy());
  EXPECT_THAT(channel->opcodes(),
              ElementsAre(Opcode::SET_FLOW_TABLE_ROOT, Opcode::DESTROY_FLOW_TABLE,
                          Opcode::DESTROY_FLOW_TABLE));
}

TEST_F(NotedTables, RefusedGroup_IsToldAndAskedForAgain) {
  const FlowTable in = table(FlowTableType::RDMA_RX).value();
  FlowGroup made = group(in).value();
  refuse(Opcode::DESTROY_FLOW_GROUP);
  EXPECT_FALSE(made.destroy());
  EXPECT_TRUE(made.destroy());
  EXPECT_EQ(model->census().flow_groups, 0U);
}

TEST_F(NotedTables, WhatIsGone_IsNotDestroyedTwice) {
  {
    FlowTable in = table(FlowTableType::RDMA_RX).value();
    FlowGroup made = group(in).value();
    ASSERT_TRUE(made.destroy());
    ASSERT_TRUE(in.destroy());
    channel->sent.clear();
    EXPECT_TRUE(made.destroy());
    EXPECT_TRUE(in.destroy());
  }
  EXPECT_THAT(channel->sent, IsEmpty());
}

TEST_F(NotedTables, WhatWasGivenUp_IsAskedNoMore) {
  {
    FlowTable in = table(FlowTableType::RDMA_RX).value();
    FlowGroup made = group(in).value();
    in.give_up();
    made.give_up();
    const FlowTable moved_table = std::move(in);
    const FlowGroup moved_group = std::move(made);
    channel->sent.clear();
  }
  EXPECT_THAT(channel->sent, IsEmpty());
}

// ---- moves ----

TEST_F(NotedTables, MovedRoot_IsDisconnectedByTheOneThatHasIt) {
  const FlowTable root = [this] {
    FlowTable made = table(FlowTableType::RDMA_RX).value();
    EXPECT_TRUE(made.make_root());
    const std::uint32_t id = made.id();
    FlowTable moved = std::move(made);
    EXPECT_EQ(moved.id(), id);
    EXPECT_EQ(moved.domain(), FlowTableType::RDMA_RX);
    channel->sent.clear();
    return moved;
  }();
  EXPECT_THAT(channel->sent, IsEmpty());
  EXPECT_EQ(model->census().flow_tables, 1U);
}

TEST_F(NotedTables, MovedRootOfAQp_IsDisconnectedFromThatQp) {
  start_infiniband({});
  note();
  const std::uint32_t qpn = prm::number(connect().target(0).qpn);
  FlowTable made = table(FlowTableType::NIC_RX).value();
  ASSERT_TRUE(made.make_root(qpn));
  FlowTable moved = std::move(made);
  channel->sent.clear();
  ASSERT_TRUE(moved.destroy());
  const auto in = channel->told<prm::set_flow_table_root_in>(Opcode::SET_FLOW_TABLE_ROOT);
  EXPECT_EQ(in.get<"op_mod">(), prm::number(prm::FlowTableRootOpMod::DISCONNECT));
  EXPECT_EQ(in.get<"underlay_qpn">(), qpn);
}

TEST_F(NotedTables, MovedGroup_IsTheSame) {
  const FlowTable in = table(FlowTableType::RDMA_RX).value();
  FlowGroup made = group(in).value();
  const std::uint32_t id = made.id();
  FlowGroup moved = std::move(made);
  ASSERT_TRUE(moved.destroy());
  const auto gone = channel->told<prm::destroy_flow_group_in>(Opcode::DESTROY_FLOW_GROUP);
  EXPECT_EQ(gone.get<"table_type">(), prm::number(FlowTableType::RDMA_RX));
  EXPECT_EQ(gone.get<"table_id">(), in.id());
  EXPECT_EQ(gone.get<"group_id">(), id);
}

}  // namespace
}  // namespace portcullis::testing
