// SPDX-License-Identifier: BSD-3-Clause
//
// States by the numbers of their parts, given as they are met: the same states, steps and verdicts.
#include "failover/explore/parts.hpp"

#include <gtest/gtest.h>

#include <set>

#include "failover/explore/pairs.hpp"
#include "tests/failover/support.hpp"

namespace portcullis::failover {
namespace {

using testing::machine_of;
using testing::ModelBounds;

struct Sample {
  const char* name;
  const char* model;
  ModelBounds bounds;
};

class InParts : public ::testing::TestWithParam<Sample> {
 protected:
  Machine machine_ = machine_of(GetParam().model, GetParam().bounds);
};

/// All that the view's steps reach, spelled out.
std::set<AnyState> reached_in(Parts& parts) {
  std::set<AnyState> seen = {parts.view().initial};
  std::vector<AnyState> waiting = {parts.view().initial};
  while (!waiting.empty()) {
    const AnyState state = waiting.back();
    waiting.pop_back();
    for (unsigned actor = 0; actor < actor_count(parts.view()); ++actor)
      parts.for_each_step(state, actor,
                          [&](const AnyState& next, const AnyState&, const Label&, Violation) {
                            if (seen.insert(next).second) waiting.push_back(next);
                          });
  }
  std::set<AnyState> whole;
  for (const AnyState& state : seen) whole.insert(parts.whole(state));
  return whole;
}

TEST_P(InParts, StepsOfTheView_LeadToTheMachinesStates) {
  const std::unique_ptr<Parts> parts = Parts::of(machine_);
  ASSERT_NE(parts, nullptr);
  const std::vector<AnyState> plain = testing::reachable(machine_);
  EXPECT_EQ(reached_in(*parts), std::set<AnyState>(plain.begin(), plain.end()));
  EXPECT_FALSE(parts->is_overfull());
}

bool are_same(const Exploration& a, const Exploration& b) {
  return a.ending == b.ending && a.violation == b.violation && a.states == b.states &&
         a.transitions == b.transitions && a.depth == b.depth && a.stuck == b.stuck &&
         a.cut == b.cut && a.gives_up == b.gives_up;
}

TEST_P(InParts, Search_FindsWhatItFindsInTheStatesThemselves) {
  ExploreOptions whole;
  whole.collapses = false;
  const auto in_parts = explore(machine_, {}).value();
  EXPECT_TRUE(are_same(in_parts, explore(machine_, whole).value()));
  EXPECT_LT(in_parts.state_bits, machine_.bits);
}

TEST_P(InParts, TwoThreadsThatShareEveryLevel_FindTheSame) {
  ExploreOptions shared;
  shared.threads = 2;
  shared.shares_from = 0;
  EXPECT_TRUE(are_same(explore(machine_, shared).value(), explore(machine_, {}).value()));
}

TEST_P(InParts, NumbersThatTurnOutTooNarrow_AreWidenedAndTheSameIsFound) {
  ExploreOptions narrow;
  narrow.part_bits = {1};
  EXPECT_TRUE(are_same(explore(machine_, narrow).value(), explore(machine_, {}).value()));
}

TEST_P(InParts, Pairs_CountNoFewerStatesThanThereAre) {
  const std::unique_ptr<Parts> parts = Parts::of(machine_);
  ASSERT_NE(parts, nullptr);
  EXPECT_GE(Pairs(*parts).count(100'000, nullptr).value(),
            static_cast<double>(testing::reachable(machine_).size()));
}

INSTANTIATE_TEST_SUITE_P(
    Models, InParts,
    ::testing::Values(Sample{"Tags",
                             "tagged-help-write",
                             {.clients = 2, .late = 0, .timeouts = 0, .is_monitored = false}},
                      Sample{"TagsOfTwoOperations",
                             "tagged-help-cas",
                             {.clients = 2, .operations = 2, .late = 0, .timeouts = 0}},
                      Sample{
                          "WritersOfOwnCells",
                          "lease",
                          {.clients = 2, .timeouts = 0, .environment = Environment::OtherWriters}},
                      Sample{"OneMoreClient",
                             "receipt-before",
                             {.clients = 3, .late = 0, .timeouts = 0, .is_monitored = false}}),
    [](const auto& info) { return info.param.name; });

TEST(Parts, OneClient_HasNone) { EXPECT_EQ(Parts::of(machine_of("lease")), nullptr); }

TEST(Parts, History_HasNone) {
  EXPECT_EQ(Parts::of(machine_of("blind-read", {.clients = 2})), nullptr);
}

TEST(Parts, StatesOfOneWord_StayAsTheyAre) {
  EXPECT_EQ(Parts::of(machine_of("blind-fadd", {.clients = 2, .is_monitored = false})), nullptr);
}

TEST(Parts, NumbersThatAreTooNarrow_AreSaidToBe) {
  const Machine machine = machine_of("lease", {.clients = 2, .is_monitored = false});
  const std::unique_ptr<Parts> parts = Parts::of(machine, false, {1});
  (void)reached_in(*parts);
  EXPECT_TRUE(parts->is_overfull());
}

TEST(Pairs, MoreThanAskedFor_AreNotCounted) {
  const Machine machine = machine_of("lease", {.clients = 2, .is_monitored = false});
  EXPECT_FALSE(Pairs(*Parts::of(machine, false)).count(10, nullptr));
}

TEST(Pairs, ClientsThatDoNotMeet_AreCountedExactly) {
  const Machine machine = machine_of("lease", {.clients = 2, .is_monitored = false});
  EXPECT_EQ(Pairs(*Parts::of(machine, false)).count(100'000, nullptr).value(),
            static_cast<double>(explore(machine, {}).value().states));
}

}  // namespace
}  // namespace portcullis::failover
