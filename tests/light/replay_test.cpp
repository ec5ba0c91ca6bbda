// SPDX-License-Identifier: BSD-3-Clause
//
// The round trip: a device is asked, a model is told what was found, and that model is asked the
// same. Whatever the first one was, the second answers as it did.
#include "light/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "light/revoke_steps.hpp"
#include "tests/light/agreement.hpp"
#include "tests/light/quick_run.hpp"
#include "tests/light/round_trip.hpp"

namespace portcullis::light {
namespace {

using testing::ask;
using testing::ask_again;
using testing::Asked;
using testing::disagreements;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::little_of;

class RoundTrip : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(RoundTrip, SecondModel_AnswersAsTheFirst) {
  const auto [device, differences] = testing::round_trip(GetParam());
  EXPECT_THAT(differences, IsEmpty()) << device;
}

/// What keys may ask for and what the function may do are two facts, and come back as two.
class Ordering : public ::testing::TestWithParam<const char*> {};

TEST_P(Ordering, OfDmaAndOfKeys_ComesBackAsItWas) {
  const Asked first = ask(little_of(std::string("model") + GetParam(), "bring-up"));
  const Asked second = ask_again(first.profile, 7, "bring-up");
  EXPECT_EQ(second.facts.device.relaxed_ordering, first.facts.device.relaxed_ordering);
  EXPECT_EQ(second.facts.device.keys_may_be_relaxed, first.facts.device.keys_may_be_relaxed);
}

INSTANTIATE_TEST_SUITE_P(Sides, Ordering,
                         ::testing::Values("", ",behaviour=relaxed-ordering",
                                           ",behaviour=relaxed-ordering+strict-pci-ordering",
                                           ",behaviour=strict-pci-ordering",
                                           ",vf,behaviour=relaxed-ordering"));

TEST(Replay, PciOrderingThatIsOffUnderKeysThatMayAsk_IsOffInTheModelToo) {
  const Asked first =
      ask(little_of("model,behaviour=relaxed-ordering+strict-pci-ordering", "bring-up"));
  EXPECT_EQ(ask_again(first.profile, 7, "bring-up").facts.device.relaxed_ordering, "off");
}

/// Of an unsafe device no bundle makes a safe model, whichever steps saw it.
struct Unsafe {
  const char* behaviour;
  const char* steps;
  const char* id;
};
class UnsafeDevice : public ::testing::TestWithParam<Unsafe> {};

TEST_P(UnsafeDevice, MakesAnUnsafeModel) {
  const std::string steps = std::string("bring-up,") + GetParam().steps;
  const Asked first = ask(little_of(std::string("model,behaviour=") + GetParam().behaviour, steps));
  ASSERT_EQ(testing::of(first.facts, GetParam().id).answer, Answer::Refuted);
  const Asked second = ask_again(first.profile, 7, steps);
  EXPECT_EQ(testing::of(second.facts, GetParam().id).answer, Answer::Refuted);
  EXPECT_THAT(disagreements(first.facts, second.facts), IsEmpty());
  EXPECT_EQ(first.profile.behaviours, second.profile.behaviours);
}

constexpr const char* kKept = "data-path-ns=1000+dispatch-cache=20+dispatch-cache-keeps-key";
INSTANTIATE_TEST_SUITE_P(
    Of, UnsafeDevice,
    ::testing::Values(Unsafe{kKept, "loopback,plans", "unchanged"},
                      Unsafe{kKept, "loopback,floor", "unchanged"},
                      Unsafe{kKept, "loopback,plans,floor,audit", "unchanged"},
                      Unsafe{"data-path-ns=1000+dispatch-cache=1+dispatch-cache-keeps-key+"
                             "retx-total=1",
                             "loopback,plans,floor", "unchanged"},
                      Unsafe{"data-path-ns=1000+dispatch-cache=5+dispatch-cache-keeps-key+"
                             "min-ack-timeout=14",
                             "loopback,plans,floor", "unchanged"},
                      Unsafe{"a1-off=20us", "plans", "unchanged"},
                      Unsafe{"a1-off=1us", "audit", "A1"}),
    [](const auto& one) { return "Set" + std::to_string(one.index); });

/// What the report names is what the profile is made of: a cache of two seconds looks like a fixed
/// total as well.
TEST(Replay, FloorOfACacheAsLongAsThePatience_IsTheCacheInReportAndProfile) {
  constexpr std::uint64_t kServedNs = 2'000'000'000;
  FloorTally tally;
  for (const unsigned timeout : {8U, 9U, 10U, 11U, 12U, 13U, 14U})
    for (const unsigned retry : {1U, 3U, 5U, 6U})
      tally.add({.outcome = lease::Outcome::TornDown,
                 .outcome_ns = 1000,
                 .failure_ns = kServedNs + (retry + 1) * (4096ULL << timeout),
                 .status = 12,
                 .is_watched = true,
                 .is_served_late = true,
                 .last_change_ns = kServedNs},
                {.timeout = timeout, .retry = retry, .deadline_ns = 2 * kServedNs});
  Facts facts;
  facts.floor = tally.fact();
  EXPECT_EQ(facts.floor.mechanism, "cache plus budget");
  EXPECT_EQ(facts.floor.explanation, facts.floor.mechanism);
  EXPECT_THAT(behaviours_of(facts, trace::ProfileBuilder()),
              ElementsAre("dispatch-cache=2000", "dispatch-cache-keeps-key"));
}

/// Those of the fifty that no file for slow runs has: replay_runs_test.cpp.
INSTANTIATE_TEST_SUITE_P(Sets, RoundTrip, ::testing::Range(0U, 6U));

}  // namespace
}  // namespace portcullis::light
