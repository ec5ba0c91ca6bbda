// SPDX-License-Identifier: BSD-3-Clause
//
// The steps as such: a device that fails in one loses that one, deadlines and stops are heeded.
#include "light/steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/light/quick_run.hpp"
#include "trace/compare.hpp"

namespace portcullis::light {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::light_of;
using testing::little_of;
using testing::of;
using ::testing::SizeIs;

TEST(ParseSteps, Words_AreStepsOrNamed) {
  EXPECT_THAT(parse_steps("key,audit").value(), ElementsAre("key", "audit"));
  const auto refused = parse_steps("key,audits");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, AllOf(HasSubstr("\"audits\""), HasSubstr("bring-up, ")));
  EXPECT_FALSE(parse_steps("key,"));
}

TEST(Run, EveryStep_IsDoneOnTheModel) {
  const Facts facts = light_of("model,behaviour=data-path-ns=1000");
  EXPECT_THAT(facts.steps, SizeIs(step_names().size() - 1));  // without a peer
  EXPECT_THAT(facts.steps, Each(Field(&StepFact::state, "done")));
  EXPECT_EQ(facts.device.kind, "model");
  EXPECT_TRUE(facts.device.is_emulated);
  EXPECT_TRUE(facts.end.comes_up_again);
}

TEST(Run, VirtualFunctionAndInfiniBand_AreDoneToo) {
  const char* const steps = "bring-up,commands,loopback,key,plans,floor,audit,end";
  EXPECT_THAT(light_of("model,vf", steps).steps, Each(Field(&StepFact::state, "done")));
  const Facts infiniband = light_of("model,port=ib", steps);
  EXPECT_THAT(infiniband.steps, Each(Field(&StepFact::state, "done")));
  EXPECT_FALSE(infiniband.device.is_ethernet);
}

/// The firmware breaks in the audit; the steps before and behind it have devices of their own.
TEST(Run, StepThatTheDeviceDiesIn_CostsTheOthersNothing) {
  const Facts facts = light_of("model,behaviour=internal-error=9", "bring-up,audit,end");
  EXPECT_EQ(facts.step("bring-up")->state, "done");
  EXPECT_EQ(facts.step("audit")->state, "failed");
  EXPECT_THAT(facts.step("audit")->why, HasSubstr("plan "));
  EXPECT_EQ(facts.step("end")->state, "done");
  EXPECT_EQ(of(facts, "A1").answer, Answer::NotRun);
  EXPECT_THAT(of(facts, "A1").why, HasSubstr("step audit: plan "));
}

TEST(Run, DeviceThatNeverComesUp_FailsEachStepAndClaimsNothing) {
  const Facts facts = light_of("model,behaviour=cmdif-rev-6");
  EXPECT_THAT(facts.steps, Each(Field(&StepFact::state, "failed")));
  EXPECT_THAT(conclude(facts), Each(Field(&Conclusion::answer, Answer::NotRun)));
}

TEST(Run, DeadlineOfAStep_EndsItAlone) {
  Options options = little_of("model", "commands,loopback");
  options.rounds = 1'000'000'000;
  options.step_deadline_ms = 50;
  const Facts facts = run(options);
  EXPECT_EQ(facts.step("commands")->state, "failed");
  EXPECT_THAT(facts.step("commands")->why, HasSubstr("50 ms"));
  EXPECT_EQ(facts.step("loopback")->state, "done");
}

/// What a program keeps before each step is whole in itself: it says what is left.
TEST(Run, FactsBeforeEachStep_HaveWhatWasFoundAndNameWhatIsLeft) {
  Options options = little_of("model", "bring-up,loopback,key");
  std::vector<Facts> heard;
  options.on_facts = [&heard](const Facts& facts) { heard.push_back(facts); };
  (void)run(options);
  ASSERT_THAT(heard, SizeIs(3));
  const auto state_is = [](const char* state) { return Field(&StepFact::state, state); };
  EXPECT_THAT(heard[0].steps,
              ElementsAre(state_is("failed"), state_is("not run"), state_is("not run")));
  EXPECT_THAT(heard[1].steps,
              ElementsAre(state_is("done"), state_is("failed"), state_is("not run")));
  EXPECT_THAT(heard[2].steps, ElementsAre(state_is("done"), state_is("done"), state_is("failed")));
  EXPECT_EQ(heard[1].steps[1].why, "the program ended in it");
  EXPECT_EQ(heard[1].steps[2].name, "key");
  EXPECT_TRUE(heard[0].commands.empty());
  EXPECT_FALSE(heard[1].commands.empty());
  EXPECT_FALSE(heard[1].loopback.is_run);
  EXPECT_TRUE(heard[2].loopback.short_write);
}

struct Dumped {
  std::string step;
  std::size_t words = 0;
};

TEST(Run, CrashDump_IsReadBehindTheLastStepAndBehindOneThatFailed) {
  Options options = little_of("model,behaviour=internal-error=9", "bring-up,audit,end");
  std::vector<Dumped> heard;
  options.on_crash_dump = [&heard](const std::string& step, const pmd::CrashDump& dump) {
    heard.push_back({step, dump.words.size()});
  };
  const Facts facts = run(options);
  ASSERT_THAT(facts.crash_dumps, SizeIs(2));
  EXPECT_EQ(facts.crash_dumps[0].step, "audit");
  EXPECT_EQ(facts.crash_dumps[1].step, "end");
  EXPECT_THAT(facts.crash_dumps, Each(Field(&CrashDumpFact::state, "whole")));
  ASSERT_THAT(heard, SizeIs(2));
  EXPECT_EQ(heard[0].words, facts.crash_dumps[0].words);
}

TEST(Run, CrashDumpOfAStepThatFailed_IsReadBeforeTheFunctionIsReset) {
  Options options = little_of("model", "commands");
  options.rounds = 1'000'000'000;
  options.step_deadline_ms = 50;
  std::vector<std::string> seen;
  options.on_command = [&seen](const auto& command) {
    seen.push_back(trace::identity(command).substr(0, 12));
  };
  options.on_crash_dump = [&seen](const auto&, const auto&) { seen.emplace_back("dump"); };
  EXPECT_EQ(run(options).step("commands")->state, "failed");
  const auto dump = std::ranges::find(seen, "dump");
  EXPECT_EQ(std::count(seen.begin(), dump, "TEARDOWN_HCA"), 0);
  EXPECT_EQ(std::count(dump, seen.end(), "TEARDOWN_HCA"), 1);
}

TEST(Run, CrashDumpThatIsNotToBeHad_IsOneLineAndCostsNothing) {
  Options options = little_of("model,behaviour=crash-dump=absent", "bring-up");
  options.on_crash_dump = [](const std::string&, const pmd::CrashDump&) { ADD_FAILURE(); };
  const Facts facts = run(options);
  ASSERT_THAT(facts.crash_dumps, SizeIs(1));
  EXPECT_EQ(facts.crash_dumps[0].state, "none");
  EXPECT_THAT(facts.crash_dumps[0].why, HasSubstr("no vendor specific capability"));
  EXPECT_EQ(facts.step("bring-up")->state, "done");
}

TEST(Run, CrashDumpThatNobodyAskedFor_IsNotRead) {
  EXPECT_TRUE(light_of("model", "bring-up").crash_dumps.empty());
}

TEST(Run, StopBetweenSteps_LeavesTheRestNotRun) {
  Options options = little_of("model", "bring-up,loopback,key");
  bool is_stopped = false;
  options.is_stopped = [&is_stopped] { return is_stopped; };
  options.on_step = [&is_stopped](const StepFact& step) { is_stopped |= step.state == "done"; };
  const Facts facts = run(options);
  EXPECT_EQ(facts.step("bring-up")->state, "done");
  EXPECT_EQ(facts.step("loopback")->state, "not run");
  EXPECT_EQ(facts.step("key")->state, "not run");
}

TEST(Run, Commands_AreHeardAndCounted) {
  Options options = little_of("model,timing=cx5-16.35.4506", "commands");
  std::uint64_t heard = 0;
  options.on_command = [&heard](const trace::TraceCommand& command) {
    heard += static_cast<std::uint64_t>(command.opcode() == prm::Opcode::CREATE_QP);
  };
  const Facts facts = run(options);
  EXPECT_EQ(heard, 4u);  // two rounds of a pair
  const auto counted = std::ranges::find(facts.commands, "CREATE_QP", &CommandFact::command);
  ASSERT_NE(counted, facts.commands.end());
  EXPECT_EQ(counted->answered, 4u);
  EXPECT_GT(counted->median_ns, 0u);
  EXPECT_EQ(counted->p99_ns, 0u);  // of four, nothing is told
}

}  // namespace
}  // namespace portcullis::light
