// SPDX-License-Identifier: BSD-3-Clause
//
// The explorer in several threads that share every level, however small: what one thread finds, in
// each kind of set and each way to hold states, and its limits. ThreadSanitizer runs this file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <tuple>

#include "failover/explore/collapse.hpp"
#include "failover/explore/parts.hpp"
#include "tests/failover/support.hpp"

namespace portcullis::failover {
namespace {

using testing::machine_of;
using testing::ModelBounds;

auto found_of(const Exploration& e) {
  return std::tuple(e.ending, e.violation, e.states, e.transitions, e.stuck, e.cut, e.gives_up,
                    e.depth, e.unreached);
}

ExploreOptions shared_by(unsigned threads, ExploreOptions options = {}) {
  options.threads = threads;
  options.shares_from = 0;
  return options;
}

struct Sample {
  const char* name;
  const char* model;
  ModelBounds bounds;
  ExploreOptions options;
};

class SharedSearch : public ::testing::TestWithParam<Sample> {
 protected:
  Machine machine_ = machine_of(GetParam().model, GetParam().bounds);
};

TEST_P(SharedSearch, OfTwoAndFiveThreads_FindsWhatOneDoes) {
  const auto alone = found_of(explore(machine_, GetParam().options).value());
  for (const unsigned threads : {2U, 5U})
    EXPECT_EQ(found_of(explore(machine_, shared_by(threads, GetParam().options)).value()), alone)
        << threads;
}

constexpr ModelBounds kTags{.clients = 2, .operations = 2, .late = 0, .timeouts = 0};
constexpr ModelBounds kApart{.clients = 2, .is_monitored = false};

INSTANTIATE_TEST_SUITE_P(
    Ways, SharedSearch,
    ::testing::Values(
        Sample{"Collapsed", "lease", kApart, {}},
        Sample{"AsTheyAre", "lease", kApart, {.collapses = false}},
        Sample{"AsTheyAreByFingerprints",
               "lease",
               kApart,
               {.set = SetKind::Fingerprint, .collapses = false}},
        Sample{"NumberedAsTheyAreMet", "tagged-help-cas", kTags, {}},
        Sample{"NumberedAnewWhereTooNarrow", "tagged-help-cas", kTags, {.part_bits = {1}}},
        Sample{"ClassesOfAlikeClients", "psn-token", {.clients = 3}, {.uses_symmetry = true}},
        Sample{"ClassesOfTags", "tagged-help-cas", kTags, {.uses_symmetry = true}},
        Sample{"Refuted", "blind-fadd", {.clients = 2, .duplicates = 1}, {}}),
    [](const auto& info) { return info.param.name; });

TEST(SharedSearch, HoldsStatesInEachWay) {  // or the samples above would not be what they say
  EXPECT_NE(Collapse::of(machine_of("lease", kApart)), nullptr);
  EXPECT_NE(Parts::of(machine_of("tagged-help-cas", kTags)), nullptr);
}

TEST(SharedSearch, StoppedByAnotherThread_EndsWithWhatItHas) {
  std::atomic<bool> stop{false};
  ExploreOptions options = shared_by(2);
  options.stop = &stop;
  const Machine machine = machine_of("log-fenced", {.clients = 4, .is_monitored = false});
  std::thread stopper([&] { stop = true; });
  const auto explored = explore(machine, options).value();
  stopper.join();
  EXPECT_EQ(explored.ending, Ending::Interrupted);
  EXPECT_GE(explored.states, 1U);
}

TEST(SharedSearch, BeyondItsMemory_EndsWithWhatItHas) {
  ExploreOptions options = shared_by(2);
  options.memory_limit_bytes = 1;
  const auto explored = explore(machine_of("tagged-help-cas", kTags), options).value();
  EXPECT_EQ(explored.ending, Ending::MemoryLimit);
}

}  // namespace
}  // namespace portcullis::failover
