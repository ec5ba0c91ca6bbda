// SPDX-License-Identifier: BSD-3-Clause
//
// The small steps: what may happen in a state, and what may not.
#include "failover/semantics/step.hpp"

#include <gtest/gtest.h>

#include "tests/failover/support.hpp"

namespace portcullis::failover {
namespace {

using testing::after;
using testing::machine_of;
using testing::steps_of;

Word shared_word(const Machine& machine, const AnyState& state) {
  return machine.words[state.get(machine.shared[0])];
}

TEST(Step, AtFirst_OnlyThePostIsPossible) {
  const Machine machine = machine_of("blind-fadd");
  const auto steps = steps_of(machine, machine.initial);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].label.action, Action::Post);
}

TEST(Step, PostedPacket_MayExecuteOrBeLost) {
  const Machine machine = machine_of("blind-fadd");
  const AnyState posted = after(machine, {Action::Post});
  EXPECT_EQ(steps_of(machine, posted, Action::Execute).size(), 1U);
  EXPECT_EQ(steps_of(machine, posted, Action::LosePacket).size(), 1U);
  EXPECT_TRUE(steps_of(machine, posted, Action::Complete).empty());
}

TEST(Step, Execution_ChangesMemoryAndSendsAnAcknowledgement) {
  const Machine machine = machine_of("blind-fadd");
  const AnyState executed = after(machine, {Action::Post, Action::Execute});
  EXPECT_EQ(shared_word(machine, executed), 1U);
  EXPECT_EQ(steps_of(machine, executed, Action::Complete).size(), 1U);
}

TEST(Step, NothingMayBeLate_NoTimeoutWhileAPacketIsOnItsWay) {
  const Machine machine = machine_of("blind-fadd", {.late = 0});
  const AnyState posted = after(machine, {Action::Post});
  const AnyState lost = after(machine, {Action::Post, Action::LosePacket});
  EXPECT_TRUE(steps_of(machine, posted, Action::TimeOut).empty());
  EXPECT_EQ(steps_of(machine, lost, Action::TimeOut).size(), 1U);
}

TEST(Step, LatePacket_ExecutesAfterTheTimeout) {
  const Machine machine = machine_of("blind-fadd");
  const AnyState late = after(machine, {Action::Post, Action::TimeOut, Action::Execute});
  EXPECT_EQ(shared_word(machine, late), 1U);
  EXPECT_TRUE(steps_of(machine, late, Action::Complete).empty()) << "its QP is in error";
}

TEST(Step, TimeoutsUsedUp_TheSenderWaits) {
  const Machine machine = machine_of("blind-fadd", {.timeouts = 0});
  const AnyState lost = after(machine, {Action::Post, Action::LosePacket});
  EXPECT_TRUE(steps_of(machine, lost).empty());
}

TEST(Step, DuplicateOfAnExecutedAtomic_IsAnsweredAndNotExecuted) {
  const Machine machine = machine_of("blind-fadd", {.duplicates = 1});
  const AnyState twice =
      after(machine, {Action::Post, Action::Duplicate, Action::Execute, Action::LoseAck});
  EXPECT_TRUE(steps_of(machine, twice, Action::Execute).empty());
  const auto again = steps_of(machine, twice, Action::AcknowledgeAgain);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(shared_word(machine, again[0].next), 1U);
  EXPECT_EQ(steps_of(machine, again[0].next, Action::Complete).size(), 1U);
}

TEST(Step, RetransmissionOfALostPacket_IsADuplicateFromTheBudget) {
  const Machine machine = machine_of("blind-fadd", {.duplicates = 1});
  const AnyState resent = after(machine, {Action::Post, Action::LosePacket, Action::Duplicate});
  EXPECT_EQ(steps_of(machine, resent, Action::Execute).size(), 1U);
  EXPECT_TRUE(steps_of(machine, resent, Action::Duplicate).empty());
}

TEST(Step, LaterPsn_WaitsForTheEarlierOne) {
  const Machine machine = machine_of("receipt-after");
  const AnyState both = after(machine, {Action::Post, Action::Post});
  const auto executable = steps_of(machine, both, Action::Execute);
  ASSERT_EQ(executable.size(), 1U);
  EXPECT_EQ(executable[0].label.number, 0U) << "the CAS, which was posted first";
}

TEST(Step, LostPacket_StopsEverythingBehindItOnItsQp) {
  const Machine machine = machine_of("receipt-after");
  const AnyState gap = after(machine, {Action::Post, Action::Post, Action::LosePacket});
  EXPECT_TRUE(steps_of(machine, gap, Action::Execute).empty());
}

TEST(Step, MultiPacketWrite_ExecutesInOrderAndAnswersAtTheEnd) {
  const Machine machine = machine_of("lease");
  const AnyState half = after(machine, {Action::Post, Action::Execute});
  EXPECT_EQ(machine.words[half.get(machine.fields[0].cells[0])], 1U);
  EXPECT_EQ(machine.words[half.get(machine.fields[0].cells[1])], 0U);
  EXPECT_TRUE(steps_of(machine, half, Action::Complete).empty());
  const auto rest = steps_of(machine, half, Action::Execute);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(steps_of(machine, rest[0].next, Action::Complete).size(), 1U);
}

TEST(Step, FenceOrdered_PacketsStillExecuteUntilItTakesEffect) {
  const Machine machine = machine_of("psn-token-fenced");
  const AnyState ordered = after(machine, {Action::Post, Action::TimeOut, Action::OrderFence});
  EXPECT_EQ(steps_of(machine, ordered, Action::Execute).size(), 1U);
  EXPECT_TRUE(steps_of(machine, ordered, Action::SeeFence).empty());
}

TEST(Step, FenceInEffect_NoOldPacketExecutes) {
  const Machine machine = machine_of("psn-token-fenced");
  const AnyState fenced =
      after(machine, {Action::Post, Action::TimeOut, Action::OrderFence, Action::FenceTakesEffect});
  EXPECT_TRUE(steps_of(machine, fenced, Action::Execute).empty());
  EXPECT_EQ(steps_of(machine, fenced, Action::SeeFence).size(), 1U);
}

Machine fenced_send(FenceKind kind) {
  Scenario scenario;
  scenario.name = "fenced send";
  WorkRequest send;
  send.name = "SEND";
  send.opcode = Opcode::Send;
  scenario.work_requests = {send};
  Instruction post;
  post.act = Act::Post;
  post.next = post.otherwise = 1;
  Instruction fence;
  fence.act = Act::Fence;
  fence.next = fence.otherwise = 2;
  scenario.program = {post, fence, Instruction{}};
  scenario.fence_kind = kind;
  return compile(scenario).value();
}

TEST(Step, MkeyFence_LetsASendPass) {
  const Machine machine = fenced_send(FenceKind::Mkey);
  const AnyState fenced =
      after(machine, {Action::Post, Action::OrderFence, Action::FenceTakesEffect});
  EXPECT_EQ(steps_of(machine, fenced, Action::Execute).size(), 1U);
}

TEST(Step, EpochFence_StopsASend) {
  const Machine machine = fenced_send(FenceKind::Epoch);
  const AnyState fenced =
      after(machine, {Action::Post, Action::OrderFence, Action::FenceTakesEffect});
  EXPECT_TRUE(steps_of(machine, fenced, Action::Execute).empty());
}

TEST(Step, LogCell_IsSetByTheExecutionItself) {
  const Machine machine = machine_of("log");
  const AnyState executed = after(machine, {Action::Post, Action::Execute});
  EXPECT_EQ(machine.words[executed.get(machine.fields[0].cells[0])], 1U);
}

TEST(Step, DeduplicatedRepost_ExecutesWithoutEffect) {
  const Machine machine = machine_of("log-dedup", {.late = 0});
  const AnyState lost_answer =
      after(machine, {Action::Post, Action::Execute, Action::LoseAck, Action::TimeOut});
  EXPECT_EQ(shared_word(machine, lost_answer), 1U);
  const AnyState probed = steps_of(machine, lost_answer, Action::Probe).at(0).next;
  EXPECT_EQ(steps_of(machine, probed, Action::Report).size(), 1U);
}

TEST(Step, Environment_ActsWithinItsBudget) {
  const Machine machine = machine_of("blind-fadd", {.environment = Environment::OtherWriters});
  const auto first = steps_of(machine, machine.initial, Action::Write);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(shared_word(machine, first[0].next), 7U);
  EXPECT_TRUE(steps_of(machine, first[0].next, Action::Write).empty());
}

TEST(Step, PromptReceiver_ProbeWaitsForIt) {
  const std::vector<Action> timed_out = {Action::Post, Action::Execute, Action::LoseAck,
                                         Action::TimeOut};
  const Machine slow = machine_of("probe-record");
  const Machine prompt = machine_of("probe-record-prompt");
  EXPECT_EQ(steps_of(slow, after(slow, timed_out), Action::Probe).size(), 1U);
  EXPECT_TRUE(steps_of(prompt, after(prompt, timed_out), Action::Probe).empty());
}

TEST(Step, SecondExecution_IsReportedByTheStepThatDoesIt) {
  const Machine machine = machine_of("blind-fadd");
  const AnyState twice =
      after(machine, {Action::Post, Action::TimeOut, Action::Post, Action::Execute});
  const auto second = steps_of(machine, twice, Action::Execute);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].violation, Violation::AtMostOnce);
}

TEST(Step, WithoutMonitors_NothingIsAViolation) {
  const Machine machine = machine_of("blind-fadd", {.is_monitored = false});
  const AnyState twice =
      after(machine, {Action::Post, Action::TimeOut, Action::Post, Action::Execute});
  EXPECT_EQ(steps_of(machine, twice, Action::Execute).at(0).violation, Violation::None);
}

}  // namespace
}  // namespace portcullis::failover
