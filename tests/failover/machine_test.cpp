// SPDX-License-Identifier: BSD-3-Clause
//
// Scenarios become machines, or are refused in one line that says what is accepted.
#include "failover/semantics/machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/failover/support.hpp"

namespace portcullis::failover {
namespace {

using ::testing::HasSubstr;

Scenario fadd() { return make_model("blind-fadd", {}).value(); }

TEST(Machine, AddendOfMinusOne_WrapsAmongTheWords) {
  Scenario scenario = fadd();
  for (WorkRequest& request : scenario.work_requests) request.operand.word = ~Word{0};
  const Machine machine = compile(scenario).value();
  EXPECT_THAT(machine.words, ::testing::Contains(~Word{0}));
  EXPECT_THAT(machine.words, ::testing::Contains(~Word{0} - 1));
}

// Estimates add more often than any run does.
TEST(Machine, SumThatNoRunComesTo_IsAWordAllTheSame) {
  Parameters parameters;
  parameters.clients = 2;
  parameters.environment = Environment::OtherWriters;
  const Machine machine = compile(make_model("blind-fadd", parameters).value()).value();
  EXPECT_THAT(machine.clients[0].requests[0].after,
              ::testing::Each(::testing::Lt(machine.words.size())));
}

TEST(Machine, InitialWord_IsWhatEveryCellHolds) {
  Scenario scenario = fadd();
  scenario.initial_shared = 40;
  const Machine machine = compile(scenario).value();
  EXPECT_EQ(machine.words[machine.initial.get(machine.shared[0])], 40U);
}

TEST(Machine, Fields_DoNotOverlap) {
  const Machine machine = testing::machine_of("lease", {.clients = 2, .duplicates = 1});
  AnyState used;
  unsigned bits = 0;
  for (const auto& pieces : machine.pieces)
    for (const Piece& piece : pieces) {
      used.set(piece.field, piece.field.mask);
      bits += piece.field.width;
    }
  unsigned set = 0;
  for (const std::uint64_t word : used.words) set += static_cast<unsigned>(std::popcount(word));
  EXPECT_EQ(set, bits);
}

TEST(Machine, WorkRequestOfAnUnknownCell_IsRefusedByName) {
  Scenario scenario = fadd();
  scenario.work_requests[0].address.cell = 3;
  EXPECT_THAT(compile(scenario).error().text,
              HasSubstr("work request FADD cell is 3, accepted are 0 to 0"));
}

TEST(Machine, JumpOutOfTheProgram_IsRefused) {
  Scenario scenario = fadd();
  scenario.program[1].next = 99;
  EXPECT_THAT(compile(scenario).error().text,
              HasSubstr("instruction 1 target is 99, accepted are 0 to 6"));
}

TEST(Machine, DeduplicationWithoutALog_IsRefused) {
  Scenario scenario = fadd();
  scenario.work_requests[0].is_deduplicated = true;
  EXPECT_THAT(compile(scenario).error().text, HasSubstr("has no log_cell"));
}

TEST(Machine, TooManyWords_IsRefused) {
  Scenario scenario = fadd();
  for (unsigned word = 0; word < kMaxWords; ++word)
    scenario.environment.push_back({"writer", {}, std::nullopt, 1000 + word});
  EXPECT_THAT(compile(scenario).error().text, HasSubstr("more than 200 different words"));
}

TEST(Machine, StateOfTooManyBits_IsRefusedWithTheirNumber) {
  const auto scenario = make_model("lease", {.clients = 8, .operations = 4});
  EXPECT_THAT(compile(*scenario).error().text, HasSubstr("at most 8 words are accepted"));
}

TEST(Models, UnknownName_IsRefusedWithTheNames) {
  const auto refused = make_model("nope", {});
  EXPECT_THAT(refused.error().text, HasSubstr("'nope' is unknown, accepted are blind-read"));
}

TEST(Models, TooManyClients_AreRefused) {
  const auto refused = make_model("lease", {.clients = 9});
  EXPECT_THAT(refused.error().text, HasSubstr("clients is 9, accepted are 1 to 8"));
}

TEST(Models, UnknownEnvironment_IsRefusedWithTheNames) {
  EXPECT_THAT(environment_named("calm").error().text,
              HasSubstr("'calm' is unknown, accepted are quiet, reuse, other-writers, aba"));
}

}  // namespace
}  // namespace portcullis::failover
