// SPDX-License-Identifier: BSD-3-Clause
//
// A table that may be a root is disconnected before it goes, and stays where that cannot be had:
// also when nobody knows whether SET_FLOW_TABLE_ROOT was carried out.
#include "steering/flow_table.hpp"

#include <gtest/gtest.h>

#include "prm/opcodes.hpp"
#include "prm/status.hpp"
#include "tests/steering/steering_world.hpp"

namespace portcullis::testing {
namespace {

using Kind = model::CommandFaultRule::Kind;
using steering::FlowTable;

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

}  // namespace
}  // namespace portcullis::testing
