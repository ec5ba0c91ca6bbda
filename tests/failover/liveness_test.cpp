// SPDX-License-Identifier: BSD-3-Clause
//
// Progress, giving up, the order in which one QP places, a NIC that dies between acknowledging and
// placing: properties of protocols, on small ones that have or break each.
#include "failover/explore/liveness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "failover/explore/chart.hpp"
#include "failover/explore/verdict.hpp"
#include "failover/protocols/program.hpp"
#include "failover/protocols/table.hpp"
#include "failover/report/json_report.hpp"
#include "tests/failover/support.hpp"

namespace portcullis::failover {
namespace {

using namespace program;
using ::testing::HasSubstr;
using testing::machine_of;

constexpr Address kWord{Address::Space::Shared, 0};

WorkRequest write_of(unsigned operation, Word word, unsigned queue) {
  WorkRequest write;
  write.name = "WRITE";
  write.operation = operation;
  write.operand.word = word;
  write.queue = queue;
  return write;
}

/// One WRITE of 1, and what the client does about it.
Scenario one_write(std::vector<Instruction> program, Limits limits) {
  Scenario scenario;
  scenario.name = "one-write";
  scenario.work_requests = {write_of(0, 1, 0)};
  scenario.program = std::move(program);
  scenario.program.emplace_back();
  scenario.limits = limits;
  scenario.judges_placement_order = true;
  return scenario;
}

Judged judged(const Scenario& scenario) {
  return judge_protocol(compile(scenario).value(), {}).value();
}

TEST(Progress, ProbeThatWaitsForALostWrite_Hangs) {
  // Posts, and reads until the word is 1, which it never becomes once the packet is lost.
  const Scenario scenario =
      one_write({post(0, 1), probe(kWord, equals(1), 2, 1), report(0, Claim::Done, 3)}, {});
  const Judged found = judged(scenario);
  EXPECT_EQ(found.verdict(), Verdict::Hangs);
  EXPECT_EQ(found.explored.stuck, 0U);  // it reads for ever, which is no deadlock
  EXPECT_EQ(found.progress->hang.steps.back().label.action, Action::LosePacket);
}

TEST(Progress, WaitForAFenceThatNobodyOrdered_IsADeadlock) {
  const Judged found = judged(one_write({post(0, 1), await_fence(0, 2)}, {}));
  EXPECT_EQ(found.verdict(), Verdict::Hangs);
  EXPECT_GT(found.explored.stuck, found.explored.cut);
}

TEST(Progress, WaitThatTheBoundOnTimeoutsCuts_IsNotCalledAHang) {
  const Scenario scenario =
      one_write({post(0, 1), await(0, 2, 2), report(0, Claim::Done, 3)}, {.timeouts = 0});
  const Judged found = judged(scenario);
  EXPECT_EQ(found.verdict(), Verdict::Safe);
  EXPECT_EQ(found.explored.cut, found.explored.stuck);
  EXPECT_EQ(found.progress->cut, found.explored.cut);
  EXPECT_GT(found.explored.cut, 0U);
}

TEST(Progress, ErrorToTheApplication_IsGivingUp) {
  const Scenario scenario = one_write(
      {post(0, 1), await(0, 2, 3), report(0, Claim::Done, 4), report(0, Claim::Unknown, 4)}, {});
  const Judged found = judged(scenario);
  EXPECT_EQ(found.verdict(), Verdict::GivesUp);
  EXPECT_THAT(steps_text(compile(scenario).value(), found.progress->giving_up),
              HasSubstr("report operation 0 unknown"));
}

TEST(Progress, StatesBeyondTheLimit_AreNotLookedAt) {
  const Machine machine = machine_of("lease");
  EXPECT_FALSE(judge_progress(machine, 10).value().is_whole);
  EXPECT_FALSE(judge_protocol(machine, {}, 10).value().progress.has_value());
}

TEST(Progress, Stopped_IsNotWhole) {
  const std::atomic<bool> stop{true};
  EXPECT_FALSE(judge_progress(machine_of("lease"), 1'000'000, &stop).value().is_whole);
}

/// By the definition, state by state: forward from each to an end or a cut.
std::size_t hanging_by_search(const Machine& machine) {
  const auto can_end = [&](const AnyState& from) {
    std::set<AnyState> seen = {from};
    std::vector<AnyState> left = {from};
    bool is_found = false;
    while (!left.empty() && !is_found) {
      const AnyState at = left.back();
      left.pop_back();
      const auto steps = testing::steps_of(machine, at);
      is_found = !has_waiting_client(machine, at) || (steps.empty() && is_cut(machine, at));
      for (const auto& step : steps)
        if (seen.insert(step.next).second) left.push_back(step.next);
    }
    return is_found;
  };
  const auto states = testing::reachable(machine);
  return static_cast<std::size_t>(
      std::ranges::count_if(states, [&](const AnyState& state) { return !can_end(state); }));
}

TEST(Progress, HangingStates_AreThoseOfAPlainSearch) {
  Scenario scenario = one_write({post(0, 1), await(0, 4, 2), probe(kWord, equals(1), 4, 2),
                                 report(0, Claim::Done, 5), report(0, Claim::Done, 5)},
                                {});
  scenario.environment = {{"a reader takes the word", kWord, Word{1}, 2}};
  scenario.environment_budget = 1;
  const Machine machine = compile(scenario).value();
  const Liveness found = judge_progress(machine, 1'000'000).value();
  EXPECT_GT(found.hanging, 0U);
  EXPECT_EQ(found.hanging, hanging_by_search(machine));
}

/// W1; W2 to one word on one QP; after a timeout both again, in order, on another.
Scenario two_writes(bool judges_placement_order) {
  Scenario scenario;
  scenario.name = "two-writes";
  scenario.operations = 2;
  scenario.work_requests = {write_of(0, 1, 0), write_of(1, 2, 0), write_of(0, 1, 1),
                            write_of(1, 2, 1)};
  scenario.program = {post(0, 1),     post(1, 2),     await(0, 3, 4),
                      await(1, 8, 4), post(2, 5),     post(3, 6),
                      await(2, 7, 8), await(3, 8, 8), {}};
  scenario.judges_placement_order = judges_placement_order;
  scenario.counts_effects = true;
  return scenario;
}

TEST(PlacementOrder, BothWritesOfAQueuePairRepostedInOrder_IsRefuted) {
  Scenario scenario = two_writes(true);
  scenario.is_monitored = true;
  const Machine machine = compile(scenario).value();
  const auto trace = shortest_violation(machine, false, 1'000'000);
  EXPECT_EQ(trace->violation, Violation::PlacementOrder);
  EXPECT_EQ(trace->steps.back().label.action, Action::Execute);
  EXPECT_EQ(trace->steps.back().label.number, 2);  // the first WRITE again, over the second's data
}

TEST(PlacementOrder, WritesInOrderOnceEach_BreakNothing) {
  Scenario scenario = two_writes(true);
  scenario.program = {post(0, 1), post(1, 2), await(0, 3, 4), await(1, 4, 4), {}};
  EXPECT_EQ(judged(scenario).verdict(), Verdict::Safe);
}

TEST(PlacementOrder, RequestsOfTwoQueuePairs_HaveNone) {
  Scenario scenario = two_writes(true);
  scenario.work_requests = {write_of(0, 1, 0), write_of(1, 2, 1)};
  scenario.program = {post(0, 1), post(1, 2), await(0, 3, 4), await(1, 4, 4), {}};
  EXPECT_EQ(judged(scenario).verdict(), Verdict::Safe);
}

TEST(Fence, InEffect_RefusesWhatIsPostedOnItsQueuePairLater) {
  const Scenario scenario = one_write(
      {fence(0, 1), await_fence(0, 2), post(0, 3), await(0, 4, 5), report(0, Claim::Done, 5)}, {});
  const auto states = testing::reachable(compile(scenario).value());
  const Machine machine = compile(scenario).value();
  EXPECT_TRUE(std::ranges::none_of(
      states, [&](const AnyState& state) { return state.get(machine.shared[0]) != 0; }));
}

TEST(PlacementOrder, OperationsNumberedAgainstTheirPosting_HaveTheOrderOfPosting) {
  Scenario scenario = two_writes(true);
  scenario.work_requests = {write_of(1, 1, 0), write_of(0, 2, 0)};
  scenario.program = {post(0, 1), post(1, 2), await(0, 3, 4), await(1, 4, 4), {}};
  EXPECT_EQ(judged(scenario).verdict(), Verdict::Safe);
}

TEST(PlacementOrder, WriteThatCountsForNoOperation_HasNone) {
  Scenario scenario = two_writes(true);
  scenario.work_requests = {write_of(0, 1, 0), write_of(1, 2, 0), write_of(0, 3, 0)};
  scenario.work_requests[2].is_counted = false;
  scenario.program = {post(0, 1), post(1, 2), post(2, 3), await(2, 4, 4), {}};
  EXPECT_EQ(judged(scenario).verdict(), Verdict::Safe);
}

TEST(PlacementOrder, CasThatFailed_PlacedNothingThatCouldBeUndone) {
  Scenario scenario = two_writes(true);
  WorkRequest swap = write_of(1, 9, 0);
  swap.opcode = Opcode::CompareSwap;
  swap.compare.word = 8;  // which is never there
  WorkRequest again = swap;
  again.queue = 1;
  scenario.work_requests = {write_of(0, 1, 0), swap, again};
  scenario.program = {post(0, 1), post(1, 2), await(1, 4, 3), post(2, 4), {}};
  EXPECT_EQ(judged(scenario).verdict(), Verdict::Safe);
}

TEST(Fence, OrderedAgain_DoesNotOpenItsQueuePair) {
  const Scenario scenario =
      one_write({fence(0, 1), await_fence(0, 2), post(0, 3), fence(0, 4), await(0, 5, 5)}, {});
  const Machine machine = compile(scenario).value();
  const auto states = testing::reachable(machine);
  EXPECT_TRUE(std::ranges::none_of(
      states, [&](const AnyState& state) { return state.get(machine.shared[0]) != 0; }));
}

TEST(Flush, OfARequestBehindTheOneThatTimedOut_IsSeenByItsWait) {
  Scenario scenario = two_writes(false);
  scenario.work_requests.resize(2);
  scenario.program = {post(0, 1), post(1, 2), await(0, 3, 3), await(1, 4, 4), {}};
  const Machine machine = compile(scenario).value();
  EXPECT_EQ(judged(scenario).verdict(), Verdict::Safe);
  const AnyState failed =
      testing::after(machine, {Action::Post, Action::Post, Action::LosePacket, Action::TimeOut});
  const auto flushed = testing::steps_of(machine, failed, Action::Flush);
  ASSERT_EQ(flushed.size(), 1U);
  EXPECT_THAT(describe(machine, flushed[0].label), HasSubstr("is flushed, its QP is in error"));
}

TEST(Flush, OfARequestThatIsWaitedForWithoutATimeout_NeverComes) {
  Scenario scenario = two_writes(false);
  scenario.work_requests.resize(2);
  scenario.program = {post(0, 1), post(1, 2), await(0, 3, 3), await(1, 4, 4), {}};
  scenario.program[3].may_time_out = false;
  EXPECT_EQ(judged(scenario).verdict(), Verdict::Hangs);
}

TEST(Progress, LookThatWasStopped_IsNoVerdict) {
  Judged stopped;
  stopped.is_interrupted = true;
  EXPECT_EQ(stopped.verdict(), Verdict::Stopped);
  EXPECT_STREQ(verdict_name(stopped), "interrupted");
  stopped.explored.stuck = 1;  // a deadlock is seen without it
  EXPECT_EQ(stopped.verdict(), Verdict::Hangs);
}

TEST(Death, BetweenAcknowledgingAndPlacing_MakesACompletionUntrue) {
  Scenario scenario =
      one_write({post(0, 1), await(0, 2, 3), report(0, Claim::Done, 3)}, {.deaths = 1});
  const Machine machine = compile(scenario).value();
  const auto trace = shortest_violation(machine, false, 1'000'000);
  EXPECT_EQ(trace->violation, Violation::ExactlyOnce);
  EXPECT_THAT(trace_text(machine, *trace), HasSubstr("dies before it is in memory"));
  scenario.limits.deaths = 0;
  EXPECT_EQ(judged(scenario).verdict(), Verdict::Safe);
}

TEST(Death, AnswerThatCarriesAWord_IsNeverGivenBeforeItIsExecuted) {
  const Machine machine = [] {
    Scenario scenario =
        one_write({post(0, 1), await(0, 2, 3), report(0, Claim::Done, 3)}, {.deaths = 1});
    scenario.work_requests[0].opcode = Opcode::FetchAdd;
    return compile(scenario).value();
  }();
  EXPECT_EQ(judge_protocol(machine, {}).value().verdict(), Verdict::Safe);
}

TEST(Death, NothingPostedBehindIt_IsExecuted) {
  Scenario scenario = two_writes(false);
  scenario.limits = {.late = 1, .duplicates = 1, .timeouts = 1, .deaths = 1};
  scenario.is_monitored = false;
  const Machine machine = compile(scenario).value();
  bool is_placed_after = false;
  for (const AnyState& state : testing::reachable(machine))
    for (const auto& step : testing::steps_of(machine, state, Action::Execute))
      is_placed_after =
          is_placed_after || (step.label.number < 2 && state.get(machine.fields[0].dead[0]) != 0);
  EXPECT_FALSE(is_placed_after);
}

/// Each protocol by itself with as many timeouts as a bound holds: where it ends.
class Ends : public ::testing::TestWithParam<ModelInfo> {};

TEST_P(Ends, WithTimeoutsToSpare_NoClientHangs) {
  const Machine machine = machine_of(GetParam().name, {.timeouts = 7, .is_monitored = false});
  const Liveness found = judge_progress(machine, 2'000'000).value();
  EXPECT_TRUE(found.is_whole);
  EXPECT_EQ(found.hanging, 0U);
  EXPECT_EQ(found.cut, 0U);
}

INSTANTIATE_TEST_SUITE_P(Models, Ends, ::testing::ValuesIn(models()), [](const auto& info) {
  std::string name(info.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace portcullis::failover
