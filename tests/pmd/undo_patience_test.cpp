// SPDX-License-Identifier: BSD-3-Clause
//
// Commands that take something back for nobody who waits, against a device that is silent, late or
// broken: how long they are waited for, which of them are sent, and what is said of the others.
#include "pmd/undo_patience.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <vector>

#include "pmd/command_queue.hpp"
#include "tests/pmd/scripted_device.hpp"

namespace portcullis::pmd {
namespace {

using portcullis::testing::ScriptedDevice;
using ::testing::HasSubstr;

using Command = ScriptedDevice::Command;
using Reply = ScriptedDevice::Reply;

// MLX5_CMD_OP_* of include/linux/mlx5/mlx5_ifc.h.
constexpr std::uint16_t kDestroyCq = 0x401;
constexpr std::uint16_t kDestroyQp = 0x501;

struct UndoTest : ::testing::Test {
  void SetUp() override { queue = CommandQueue::create(device, arena, health).value(); }

  Result<void> run(std::uint16_t opcode) {
    std::vector<std::byte> in(16);
    in[0] = static_cast<std::byte>(opcode >> 8);
    in[1] = static_cast<std::byte>(opcode);
    std::vector<std::byte> out(16);
    return queue->execute(in, out, SlotClass::Common, queue->default_deadline_ns());
  }
  Result<void> undo(std::uint16_t opcode = kDestroyCq) {
    const UndoScope scope(*queue);
    return run(opcode);
  }
  void fall_silent() {
    scripted.firmware = [](const Command&) { return Reply{.returns = false}; };
  }
  void answer_behind(std::uint64_t delay_ns) {
    scripted.firmware = [delay_ns](const Command&) { return Reply{.delay_ns = delay_ns}; };
  }
  [[nodiscard]] std::uint64_t taken_ms() const { return (scripted.now_ns - start_ns) / kNsPerMs; }

  ScriptedDevice scripted;
  Device device = scripted.device();
  DmaArena arena{scripted.space};
  Health health{device};
  std::unique_ptr<CommandQueue> queue;
  std::uint64_t start_ns = scripted.now_ns;
};

TEST_F(UndoTest, SilentDevice_IsWaitedForOnceAndSentTwoCommands) {
  fall_silent();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(undo().error().code, Errc::Timeout);
  EXPECT_EQ(taken_ms(), 3'050U);
  EXPECT_EQ(scripted.commands.size(), 2U);
}

TEST_F(UndoTest, WhatWasNotDone_IsNamedWithTheFirstReason) {
  fall_silent();
  (void)undo(kDestroyQp);
  (void)undo();
  (void)undo();
  EXPECT_EQ(queue->undone().left(), "2 DESTROY_CQ, 1 DESTROY_QP");
  EXPECT_THAT(queue->undone().why(), HasSubstr("DESTROY_QP was not answered"));
}

TEST_F(UndoTest, DeviceThatAnswers_LeavesNothingToName) {
  EXPECT_TRUE(undo().has_value());
  EXPECT_EQ(queue->undone().left(), "");
}

TEST_F(UndoTest, CommandLostAlone_CostsNoOtherItsUndoing) {
  fall_silent();
  EXPECT_FALSE(run(kDestroyQp).has_value());
  answer_behind(0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(undo().has_value());
  EXPECT_EQ(queue->undone().left(), "");
}

TEST_F(UndoTest, DeviceThatAnsweredLate_IsSentTheNext) {
  fall_silent();
  EXPECT_FALSE(undo().has_value());
  EXPECT_FALSE(undo().has_value());
  scripted.answer_late(scripted.commands.back().slot);
  answer_behind(0);
  EXPECT_TRUE(undo().has_value());
}

/// 1 s each, of which the first look (10 ms) and 50 ms are every command's own: the fourth finds
/// 180 ms left.
TEST_F(UndoTest, SlowDevice_HasTheTimeOfAllTogether) {
  answer_behind(kNsPerSecond);
  EXPECT_TRUE(undo().has_value());
  EXPECT_TRUE(undo().has_value());
  EXPECT_TRUE(undo().has_value());
  EXPECT_FALSE(undo().has_value());
  EXPECT_EQ(taken_ms(), 3'180U);
}

TEST_F(UndoTest, CommandOfSomebodyWhoWaits_IsSentToASilentDeviceAndHasItsTime) {
  fall_silent();
  (void)undo();
  (void)undo();
  start_ns = scripted.now_ns;
  EXPECT_FALSE(run(kDestroyQp).has_value());
  EXPECT_EQ(scripted.commands.size(), 3U);
  EXPECT_EQ(taken_ms(), 60'000U);
}

TEST_F(UndoTest, BrokenFunction_IsSentNothingAndWhatItKeepsIsNamed) {
  health.report_failure("the function has been reset");
  EXPECT_EQ(undo().error().code, Errc::DeviceFailed);
  EXPECT_EQ(queue->undone().left(), "1 DESTROY_CQ");
  EXPECT_THAT(queue->undone().why(), HasSubstr("has been reset"));
  EXPECT_TRUE(scripted.commands.empty());
}

}  // namespace
}  // namespace portcullis::pmd
