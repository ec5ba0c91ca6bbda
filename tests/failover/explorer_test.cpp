// SPDX-License-Identifier: BSD-3-Clause
//
// The explorer against a plain one, and against itself: threads, sets, seeds, symmetry, limits.
#include "failover/explore/explorer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "failover/explore/estimate.hpp"
#include "failover/explore/symmetry.hpp"
#include "tests/failover/support.hpp"

namespace portcullis::failover {
namespace {

using ::testing::HasSubstr;
using testing::machine_of;
using testing::ModelBounds;

struct Sample {
  const char* model;
  ModelBounds bounds;
};

class Explorer : public ::testing::TestWithParam<Sample> {
 protected:
  Machine machine_ = [] {
    ModelBounds bounds = GetParam().bounds;
    bounds.is_monitored = false;
    return machine_of(GetParam().model, bounds);
  }();
};

/// By the plain search: nothing can happen any more, and a client waits.
std::size_t stuck_states(const Machine& machine) {
  const auto states = testing::reachable(machine);
  return static_cast<std::size_t>(std::ranges::count_if(states, [&](const AnyState& state) {
    return testing::steps_of(machine, state).empty() && has_waiting_client(machine, state);
  }));
}

TEST(Exploration, StatesThatLeaveAClientWaiting_AreCounted) {
  const Machine hangs = machine_of("lease", {.clients = 2, .timeouts = 0});
  const auto explored = explore(hangs, {}).value();
  EXPECT_EQ(explored.ending, Ending::Complete);
  EXPECT_GT(explored.stuck, 0U);
  EXPECT_EQ(explored.stuck, stuck_states(hangs));
}

TEST(Exploration, ModelInWhichNobodyWaitsForEver_HasNone) {
  EXPECT_EQ(explore(machine_of("blind-read"), {}).value().stuck,
            stuck_states(machine_of("blind-read")));
}

TEST_P(Explorer, Counts_AreThoseOfAPlainSearch) {
  const auto levels = testing::levels(machine_);
  std::size_t states = 0;
  std::size_t transitions = 0;
  for (const auto& level : levels) {
    states += level.size();
    for (const AnyState& state : level) transitions += testing::steps_of(machine_, state).size();
  }
  const auto explored = explore(machine_, {}).value();
  EXPECT_EQ(explored.states, states);
  EXPECT_EQ(explored.transitions, transitions);
  EXPECT_EQ(explored.depth + 1, levels.size());
}

using Flips = std::vector<std::pair<AnyState, Violation>>;

Flips flips_of(const Machine& machine, const AnyState& state, unsigned actor) {
  Flips flips;
  const auto note = [&](const AnyState& next, const Label&, Violation violation) {
    AnyState changed;
    for (unsigned i = 0; i < kMaxStateWords; ++i) changed.words[i] = next.words[i] ^ state.words[i];
    flips.push_back({changed, violation});
  };
  Stepper<kMaxStateWords, decltype(note)>(machine, state, note).run(actor);
  return flips;
}

TEST_P(Explorer, StatesThatAgreeInAFootprint_HaveTheSameSteps) {
  std::map<std::pair<unsigned, AnyState>, Flips> known;
  std::size_t differing = 0;
  std::size_t beyond = 0;
  for (const AnyState& state : testing::reachable(machine_))
    for (unsigned actor = 0; actor < actor_count(machine_); ++actor) {
      const AnyState bits = footprint(machine_, actor);
      AnyState seen = bits;
      for (unsigned i = 0; i < kMaxStateWords; ++i) seen.words[i] &= state.words[i];
      const Flips flips = flips_of(machine_, state, actor);
      for (const auto& [flipped, violation] : flips)
        for (unsigned i = 0; i < kMaxStateWords; ++i)
          beyond += (flipped.words[i] & ~bits.words[i]) != 0;
      differing += known.try_emplace({actor, seen}, flips).first->second != flips;
    }
  EXPECT_EQ(differing, 0U);
  EXPECT_EQ(beyond, 0U);
}

TEST_P(Explorer, Symmetry_KeepsTheDepth) {
  ExploreOptions options;
  options.uses_symmetry = true;
  EXPECT_EQ(explore(machine_, options).value().depth, explore(machine_, {}).value().depth);
}

AnyState flipped(AnyState state, const AnyState& flips) {
  for (unsigned i = 0; i < kMaxStateWords; ++i) state.words[i] ^= flips.words[i];
  return state;
}

/// Whether `actor` has the step that flips `wanted`, once `first` is flipped in `state`.
bool can_flip(const Machine& machine, const AnyState& state, const AnyState& first, unsigned actor,
              const AnyState& wanted) {
  const Flips flips = flips_of(machine, flipped(state, first), actor);
  return std::any_of(flips.begin(), flips.end(),
                     [&](const auto& flip) { return flip.first == wanted; });
}

struct Step {
  unsigned actor;
  AnyState flips;
  bool touches_memory;
};

std::vector<Step> steps_of_all(const Machine& machine, const AnyState& state) {
  std::vector<Step> steps;
  for (unsigned actor = 0; actor < actor_count(machine); ++actor) {
    const auto note = [&](const AnyState& next, const Label& label, Violation) {
      steps.push_back({actor, flipped(next, state), touches_memory(machine, label)});
    };
    Stepper<kMaxStateWords, decltype(note)>(machine, state, note).run(actor);
  }
  return steps;
}

TEST_P(Explorer, StepsOfTwoActorsThatDoNotBothTouchMemory_Commute) {
  std::size_t differing = 0;
  for (const AnyState& state : testing::reachable(machine_)) {
    const std::vector<Step> steps = steps_of_all(machine_, state);
    for (const Step& a : steps)
      for (const Step& b : steps) {
        if (a.actor == b.actor || (a.touches_memory && b.touches_memory)) continue;
        differing += !can_flip(machine_, state, a.flips, b.actor, b.flips);
      }
  }
  EXPECT_EQ(differing, 0U);
}

// What is not followed behind a step must have been possible before it.
TEST_P(Explorer, StepsOfTwoActorsThatDoNotBothTouchMemory_DoNotEnableEachOther) {
  std::size_t enabled = 0;
  for (const AnyState& state : testing::reachable(machine_))
    for (const Step& a : steps_of_all(machine_, state))
      for (const Step& b : steps_of_all(machine_, flipped(state, a.flips))) {
        if (a.actor == b.actor || (a.touches_memory && b.touches_memory)) continue;
        enabled += !can_flip(machine_, state, {}, b.actor, b.flips);
      }
  EXPECT_EQ(enabled, 0U);
}

TEST_P(Explorer, ThreeThreads_CountTheSame) {
  ExploreOptions options;
  options.threads = 3;
  options.shares_from = 0;
  const auto one = explore(machine_, {}).value();
  const auto three = explore(machine_, options).value();
  EXPECT_EQ(three.states, one.states);
  EXPECT_EQ(three.transitions, one.transitions);
  EXPECT_EQ(three.depth, one.depth);
}

TEST_P(Explorer, LevelsThatOneOfThreeThreadsExpandsAlone_CountTheSame) {
  ExploreOptions options;
  options.threads = 3;
  options.shares_from = 100;  // some levels are shared, and some are not
  const auto one = explore(machine_, {}).value();
  const auto three = explore(machine_, options).value();
  EXPECT_EQ(three.states, one.states);
  EXPECT_EQ(three.transitions, one.transitions);
  EXPECT_EQ(three.depth, one.depth);
}

TEST_P(Explorer, StatesByTheNumbersOfTheirParts_CountTheSame) {
  ExploreOptions whole;
  whole.collapses = false;
  const auto numbered = explore(machine_, {}).value();
  const auto spelled_out = explore(machine_, whole).value();
  EXPECT_EQ(numbered.states, spelled_out.states);
  EXPECT_EQ(numbered.transitions, spelled_out.transitions);
  EXPECT_EQ(numbered.depth, spelled_out.depth);
}

TEST_P(Explorer, Fingerprints_CountTheSameWithTwoSeeds) {
  ExploreOptions options;
  options.set = SetKind::Fingerprint;
  const auto first = explore(machine_, options).value();
  options.seed = 12345;
  const auto second = explore(machine_, options).value();
  const auto exact = explore(machine_, {}).value();
  EXPECT_EQ(first.states, exact.states);
  EXPECT_EQ(second.states, exact.states);
}

TEST_P(Explorer, Symmetry_KeepsOneStateOfEachClass) {
  const Symmetry symmetry(machine_);
  std::set<AnyState> classes;
  for (const AnyState& state : testing::reachable(machine_))
    classes.insert(symmetry.canonical(state));
  ExploreOptions options;
  options.uses_symmetry = true;
  EXPECT_EQ(explore(machine_, options).value().states, classes.size());
}

TEST(Symmetry, ClientsOfMorePiecesThanWords_AreExchangedWhole) {
  const Machine machine = machine_of("tagged-help-cas", {.clients = 2,
                                                         .operations = 2,
                                                         .late = 0,
                                                         .duplicates = 3,
                                                         .environment = Environment::OtherWriters,
                                                         .is_monitored = false});
  ASSERT_GT(machine.pieces[0].size(), kMaxStateWords);
  const Symmetry symmetry(machine);
  const auto steps = testing::steps_of(machine, machine.initial);  // one of each client, and others
  EXPECT_NE(steps.at(0).next, steps.at(1).next);
  EXPECT_EQ(symmetry.canonical(steps.at(0).next), symmetry.canonical(steps.at(1).next));
}

INSTANTIATE_TEST_SUITE_P(
    Models, Explorer,
    ::testing::Values(Sample{"blind-fadd", {.clients = 2, .duplicates = 1}},
                      Sample{"psn-token", {.clients = 3}},
                      Sample{"lease", {.environment = Environment::Reuse}},
                      Sample{"probe-record-prompt", {.clients = 2, .late = 0}},
                      Sample{"log-dedup",
                             {.operations = 2, .environment = Environment::OtherWriters}},
                      Sample{"receipt-before", {.clients = 2, .environment = Environment::Aba}},
                      Sample{"tagged-help-write", {.clients = 2, .late = 0, .timeouts = 0}}),
    [](const auto& info) {
      std::string name = info.param.model;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(ExplorerLimits, StopAsked_EndsWithWhatWasReached) {
  const std::atomic<bool> stop{true};
  ExploreOptions options;
  options.stop = &stop;
  const auto explored = explore(machine_of("lease", {.clients = 2}), options).value();
  EXPECT_EQ(explored.ending, Ending::Interrupted);
  EXPECT_GE(explored.states, 1U);
}

TEST(ExplorerLimits, MemoryLimit_EndsTheRun) {
  ExploreOptions options;
  options.memory_limit_bytes = 1;
  const auto explored = explore(machine_of("lease", {.clients = 2}), options).value();
  EXPECT_EQ(explored.ending, Ending::MemoryLimit);
}

class ExplorerMemory : public ::testing::TestWithParam<std::tuple<unsigned, std::uint64_t>> {};

/// Of a table that doubles the next half is beyond it before anybody looks.
TEST_P(ExplorerMemory, LimitThatEndsTheRun_IsNotPassed) {
  ExploreOptions options;
  std::tie(options.threads, options.memory_limit_bytes) = GetParam();
  const Machine machine = machine_of("lease", {.clients = 3, .duplicates = 1});
  const auto explored = explore(machine, options).value();
  EXPECT_EQ(explored.ending, Ending::MemoryLimit);
  EXPECT_LE(explored.bytes, options.memory_limit_bytes);
  EXPECT_GT(explored.bytes, options.memory_limit_bytes / 2);
}

INSTANTIATE_TEST_SUITE_P(Explorer, ExplorerMemory,
                         ::testing::Combine(::testing::Values(1U, 2U),
                                            ::testing::Values(500'000U, 1'000'000U, 3'000'000U,
                                                              5'000'000U, 7'000'000U)));

TEST(ExplorerLimits, MachineWithoutMemoryLeft_EndsTheRun) {
  ExploreOptions options;
  options.leave_bytes = ~std::uint64_t{0};  // more than any has
  const auto explored = explore(machine_of("lease", {.clients = 2}), options).value();
  EXPECT_EQ(explored.ending, Ending::MemoryLimit);
  EXPECT_GE(explored.states, 1U);
}

TEST(ExplorerLimits, StateLimit_EndsTheRun) {
  ExploreOptions options;
  options.state_limit = 100;
  const auto explored = explore(machine_of("lease", {.clients = 2}), options).value();
  EXPECT_EQ(explored.ending, Ending::StateLimit);
  EXPECT_GT(explored.states, 100U);
}

TEST(ExplorerLimits, NoThreads_AreRefused) {
  ExploreOptions options;
  options.threads = 0;
  EXPECT_THAT(explore(machine_of("lease"), options).error().text,
              HasSubstr("threads is 0, accepted are 1 to 16"));
}

TEST(ExplorerLimits, SymmetryWithAHistory_IsRefused) {
  ExploreOptions options;
  options.uses_symmetry = true;
  EXPECT_THAT(explore(machine_of("blind-read"), options).error().text, HasSubstr("history"));
}

TEST(OmissionBound, TenMillionStates_AreAFewInAMillion) {
  Exploration explored;
  explored.states = 10'000'000;
  explored.is_exact = false;
  EXPECT_NEAR(omission_bound(explored), 2.71e-6, 0.01e-6);
}

TEST(OmissionBound, StatesThatFitTheirFingerprints_AreNeverTakenForOneAnother) {
  ExploreOptions options;
  options.set = SetKind::Fingerprint;
  const Machine machine = machine_of("lease", {.clients = 2, .is_monitored = false});
  const auto collapsed = explore(machine, options).value();
  options.collapses = false;
  const auto wide = explore(machine, options).value();
  EXPECT_EQ(omission_bound(collapsed), 0);
  EXPECT_GT(omission_bound(wide), 0);
}

TEST(Estimate, IndependentClients_AreEstimatedExactly) {
  const auto scenario = make_model("lease", {.clients = 2}).value();
  ExploreOptions options;
  const Machine machine = machine_of("lease", {.clients = 2, .is_monitored = false});
  const auto guessed = estimate(scenario, options).value();
  EXPECT_EQ(guessed.states, static_cast<double>(explore(machine, options).value().states));
}

TEST(Estimate, Symmetry_DividesByTheOrders) {
  const auto scenario = make_model("lease", {.clients = 3}).value();
  ExploreOptions symmetric;
  symmetric.uses_symmetry = true;
  EXPECT_DOUBLE_EQ(estimate(scenario, symmetric).value().states * 6,
                   estimate(scenario, {}).value().states);
}

TEST(Estimate, AvailableMemory_IsRead) { EXPECT_GT(available_memory_bytes(), 1'000'000U); }

}  // namespace
}  // namespace portcullis::failover
