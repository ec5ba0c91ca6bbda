// SPDX-License-Identifier: BSD-3-Clause
//
// Entries of one shape on the model: installed, refused, removed, and nothing left behind.
#include "steering/drop_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "prm/flow_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/status.hpp"
#include "tests/steering/noted_world.hpp"

namespace portcullis::testing {
namespace {

using prm::Opcode;
using steering::DropGroup;
using steering::Shape;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DropGroups : public SteeringWorld {
 protected:
  void SetUp() override { start(in_path()); }
  DropGroup group(Shape shape, std::uint32_t entries = 4) {
    return DropGroup::create(hca->context(), {.shape = shape, .entries = entries}).value();
  }
  Result<void> set(DropGroup& in, const steering::DropTarget& target) {
    return in.set(target, prm::FlowAction::DROP, deadline_ns());
  }
};

TEST_F(DropGroups, Destruction_LeavesNothingOnTheDevice) {
  {
    DropGroup made = group(Shape::DstQp);
    ASSERT_TRUE(set(made, {.slot = 3, .qpn = prm::QpNumber{9}}));
    EXPECT_EQ(model->census().flow_entries, 1U);
  }
  EXPECT_EQ(model->census().flow_tables + model->census().flow_groups, 0U);
}

TEST_F(DropGroups, FailedGroup_LeavesNoTable) {
  start({"no-bth-opcode"});
  EXPECT_FALSE(DropGroup::create(hca->context(), {.shape = Shape::Opcode, .entries = 4}));
  EXPECT_EQ(model->census().flow_tables, 0U);
}

TEST_F(DropGroups, IndexPastTheGroup_IsRefusedAndNothingSent) {
  DropGroup made = group(Shape::DstQp);
  EXPECT_EQ(set(made, {.slot = 4}).error().text, "steering: entry 4; the group holds 0 to 3");
  EXPECT_EQ(model->census().flow_entries, 0U);
}

TEST_F(DropGroups, OccupiedIndex_IsBusy) {
  DropGroup made = group(Shape::DstQp);
  ASSERT_TRUE(set(made, {.slot = 0, .qpn = prm::QpNumber{9}}));
  EXPECT_EQ(set(made, {.slot = 0, .qpn = prm::QpNumber{9}}).error().code, Errc::Busy);
}

TEST_F(DropGroups, RemovingNothing_IsDone) {
  DropGroup made = group(Shape::DstQp);
  EXPECT_TRUE(made.remove(2, deadline_ns()));
}

TEST_F(DropGroups, RefusedEntry_IsRemovedAsIfItWereThere) {
  DropGroup made = group(Shape::DstQp);
  model->inject({.opcode = prm::number(prm::Opcode::SET_FLOW_TABLE_ENTRY),
                 .status = prm::number(prm::CommandStatus::LIM_ERR)});
  ASSERT_FALSE(set(made, {.slot = 1, .qpn = prm::QpNumber{9}}));
  EXPECT_TRUE(made.has(1));
  EXPECT_TRUE(made.remove(1, deadline_ns()));
  EXPECT_FALSE(made.has(1));
}

TEST_F(DropGroups, EntryWhoseAnswerWasLost_IsRemoved) {
  DropGroup made = group(Shape::DstQp);
  model->inject({.opcode = prm::number(prm::Opcode::SET_FLOW_TABLE_ENTRY),
                 .kind = model::CommandFaultRule::Kind::StatusAfter,
                 .status = prm::number(prm::CommandStatus::INT_ERR)});
  ASSERT_FALSE(set(made, {.slot = 1, .qpn = prm::QpNumber{9}}));
  ASSERT_EQ(model->census().flow_entries, 1U);
  EXPECT_TRUE(made.remove(1, deadline_ns()));
  EXPECT_EQ(model->census().flow_entries, 0U);
}

TEST_F(DropGroups, RefusedRemoval_IsTold) {
  DropGroup made = group(Shape::DstQp);
  ASSERT_TRUE(set(made, {.slot = 1, .qpn = prm::QpNumber{9}}));
  model->inject({.opcode = prm::number(prm::Opcode::DELETE_FLOW_TABLE_ENTRY),
                 .status = prm::number(prm::CommandStatus::INT_ERR)});
  EXPECT_FALSE(made.remove(1, deadline_ns()));
  EXPECT_TRUE(made.has(1));
}

TEST_F(DropGroups, DeviceThatDoesNotAnswer_IsWaitedForOnceAndNotForEveryEntry) {
  const std::uint64_t start_ns = model->device().clock.now_ns();
  const std::uint64_t patience_ns = hca->context().commands->default_deadline_ns() - start_ns;
  {
    DropGroup made = group(Shape::DstQp, 64);
    for (std::uint32_t i = 0; i < 64; ++i)
      ASSERT_TRUE(set(made, {.slot = i, .qpn = prm::QpNumber{i}}));
    model->inject(
        {.opcode = 0, .kind = model::CommandFaultRule::Kind::NeverReturns, .repeat = true});
  }
  EXPECT_LT(model->device().clock.now_ns() - start_ns, 2 * patience_ns);
}

TEST_F(DropGroups, RefusedEntry_DoesNotKeepTheOthersFromGoing) {
  DropGroup made = group(Shape::DstQp);
  for (std::uint32_t i = 0; i < 3; ++i)
    ASSERT_TRUE(set(made, {.slot = i, .qpn = prm::QpNumber{i}}));
  model->inject({.opcode = prm::number(prm::Opcode::DELETE_FLOW_TABLE_ENTRY),
                 .status = prm::number(prm::CommandStatus::INT_ERR)});
  EXPECT_FALSE(made.destroy());
  EXPECT_EQ(model->census().flow_entries, 1U);
}

TEST_F(DropGroups, DropByQp_StopsThatQpAlone) {
  DropGroup made = group(Shape::DstQp);
  connect();
  ASSERT_TRUE(passes(1));
  auto other = steering::LoopbackPair::create(hca->context(), path).value();
  ASSERT_TRUE(set(made, other->target(0)));
  EXPECT_TRUE(passes(2));
  std::swap(pair, other);
  EXPECT_FALSE(passes(3));
}

TEST_F(DropGroups, Modify_TurnsAnAllowEntryIntoADrop) {
  start({"rdma-rx-in-path", "no-occupied-index"});
  DropGroup made = group(Shape::DstQp);
  const auto target = connect().target(0);
  ASSERT_TRUE(made.set(target, prm::FlowAction::ALLOW, deadline_ns()));
  ASSERT_TRUE(passes(1));
  ASSERT_TRUE(made.modify(target, prm::FlowAction::DROP, deadline_ns()));
  EXPECT_FALSE(passes(2));
}

TEST_F(DropGroups, DropOfWriteOnly_LetsWritesOfSeveralPacketsPass) {
  DropGroup made = group(Shape::Opcode);
  connect();
  ASSERT_TRUE(set(made, pair->target(0)));
  ASSERT_TRUE(pair->post_bytes(4096));
  EXPECT_EQ(pair->outcome(50 * kMs).value(), prm::WcStatus::SUCCESS);
}

// ---- what was refused ----

class NotedGroups : public NotedSteering {
 protected:
  void SetUp() override { start_noted(in_path()); }
  Result<DropGroup> group(std::optional<std::uint64_t> until_ns = std::nullopt) {
    return DropGroup::create_apart(*context, {.shape = Shape::DstQp, .entries = 4}, until_ns);
  }
  Result<void> set(DropGroup& in, const steering::DropTarget& target) {
    return in.set(target, prm::FlowAction::DROP, deadline_ns());
  }
};

TEST_F(NotedGroups, RefusedRoot_NoGroupAndNothingLeft) {
  refuse(Opcode::SET_FLOW_TABLE_ROOT);
  EXPECT_FALSE(DropGroup::create(*context, {.shape = Shape::DstQp, .entries = 4}));
  EXPECT_EQ(model->census().flow_tables + model->census().flow_groups, 0U);
}

TEST_F(NotedGroups, GroupThatIsNeverAnswered_TheDeviceIsAskedNoMore) {
  swallow(Opcode::CREATE_FLOW_GROUP);
  EXPECT_EQ(group(odd_ns()).error().code, Errc::Timeout);
  EXPECT_THAT(channel->opcodes(),
              ElementsAre(Opcode::CREATE_FLOW_TABLE, Opcode::CREATE_FLOW_GROUP));
}

TEST_F(NotedGroups, RefusedGroupWhoseTableStays_TheTableIsAskedForOnce) {
  refuse(Opcode::CREATE_FLOW_GROUP);
  refuse(Opcode::DESTROY_FLOW_TABLE);
  EXPECT_EQ(group().error().code, Errc::CommandFailed);
  EXPECT_THAT(channel->opcodes(), ElementsAre(Opcode::CREATE_FLOW_TABLE, Opcode::CREATE_FLOW_GROUP,
                                              Opcode::DESTROY_FLOW_TABLE));
}

TEST_F(NotedGroups, RefusedDestruction_IsToldAndNeitherPartIsAskedForAgain) {
  {
    DropGroup made = group().value();
    refuse(Opcode::DESTROY_FLOW_GROUP);
    refuse(Opcode::DESTROY_FLOW_TABLE);
    channel->sent.clear();
    EXPECT_FALSE(made.destroy());
  }
  EXPECT_THAT(channel->opcodes(),
              ElementsAre(Opcode::DESTROY_FLOW_GROUP, Opcode::DESTROY_FLOW_TABLE));
}

TEST_F(NotedGroups, DestroyedGroup_SendsNothingMore) {
  {
    DropGroup made = group().value();
    ASSERT_TRUE(made.destroy());
    channel->sent.clear();
  }
  EXPECT_THAT(channel->sent, IsEmpty());
}

TEST_F(NotedGroups, MovedGroup_HasWhatItHadAndTheFirstSendsNothing) {
  DropGroup made = group().value();
  ASSERT_TRUE(set(made, {.slot = 2, .qpn = prm::QpNumber{9}}));
  channel->sent.clear();
  {
    DropGroup moved = std::move(made);
    EXPECT_EQ(moved.shape(), Shape::DstQp);
    EXPECT_TRUE(moved.has(2));
    EXPECT_TRUE(set(moved, {.slot = 3, .qpn = prm::QpNumber{9}}));
    const DropGroup gone = std::move(made);  // NOLINT(bugprone-use-after-move): that is the test
    EXPECT_THAT(channel->opcodes(), ElementsAre(Opcode::SET_FLOW_TABLE_ENTRY));
  }
  EXPECT_EQ(model->census().flow_tables + model->census().flow_entries, 0U);
}

TEST_F(NotedGroups, TirNumberThatIsTooWide_IsNotSent) {
  DropGroup made = group().value();
  channel->sent.clear();
  EXPECT_EQ(made.set({.slot = 1, .qpn = prm::QpNumber{9}}, prm::FlowAction::FWD_DEST, deadline_ns(),
                     1U << 24)
                .error()
                .text,
            "steering: TIR number 16777216 is wider than 24 bits");
  EXPECT_THAT(channel->sent, IsEmpty());
}

TEST_F(NotedGroups, RemovalOfADoubtfulEntryThatIsRefusedOtherwise_IsTold) {
  DropGroup made = group().value();
  refuse(Opcode::SET_FLOW_TABLE_ENTRY);
  ASSERT_FALSE(set(made, {.slot = 1, .qpn = prm::QpNumber{9}}));
  refuse(Opcode::DELETE_FLOW_TABLE_ENTRY);
  EXPECT_FALSE(made.remove(1, deadline_ns()));
  EXPECT_TRUE(made.has(1));
}

TEST_F(NotedGroups, GroupForNoEntry_HoldsNoneAndIsMadeForOne) {
  DropGroup made = DropGroup::create_apart(*context, {.entries = 0}).value();
  EXPECT_EQ(
      channel->told<prm::create_flow_group_in>(Opcode::CREATE_FLOW_GROUP).get<"end_flow_index">(),
      0U);
  EXPECT_FALSE(set(made, {.slot = 0, .qpn = prm::QpNumber{9}}));
}

}  // namespace
}  // namespace portcullis::testing
