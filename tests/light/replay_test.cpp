// SPDX-License-Identifier: BSD-3-Clause
//
// The round trip: a device is asked, a model is told what was found, and that model is asked the
// same. Whatever the first one was, the second answers as it did.
#include "light/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "light/revoke_steps.hpp"
#include "tests/light/agreement.hpp"
#include "tests/light/quick_run.hpp"

namespace portcullis::light {
namespace {

using testing::disagreements;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::little_of;

struct Asked {
  Facts facts;
  trace::DeviceProfile profile;
};

Asked ask(Options options) {
  trace::ProfileBuilder commands;
  options.on_command = [&commands](const auto& command) { commands.add(command); };
  Facts facts = run(options);
  trace::DeviceProfile profile = profile_of(facts, commands);
  return {std::move(facts), std::move(profile)};
}

/// The model that a profile makes, through its text.
Asked ask_again(const trace::DeviceProfile& profile, std::uint64_t seed,
                const std::string& steps = {}) {
  Options options = little_of("model", steps);
  auto& model = std::get<model::Options>(options.device.kind);
  auto read = trace::profile_from_json(trace::to_json(profile), "profile.json");
  EXPECT_TRUE(read) << read.error().text;
  EXPECT_TRUE(model::adopt(model, std::move(read).value(), "profile.json"));
  model.seed = seed;
  return ask(options);
}

class RoundTrip : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(RoundTrip, SecondModel_AnswersAsTheFirst) {
  const std::vector<std::string> switches{"a1-off=20us",
                                          "a2-off",
                                          "a6-off",
                                          "read-untracked",
                                          "rdma-rx-in-path",
                                          "dst-qp-inert",
                                          "no-bth-opcode",
                                          "nic-rx-bypassed-for-roce",
                                          "page-starved",
                                          "reuse-numbers",
                                          "bth-opcode-not-parsed",
                                          "hot-qp-ignores-new-rules",
                                          "no-occupied-index",
                                          "rdma-rx-refused",
                                          "rdma-rx-silent-null",
                                          "dispatch-cache=500",
                                          "retx-total=900",
                                          "min-ack-timeout=14",
                                          "mkc-qpn=refused",
                                          "mkc-qpn=unchecked",
                                          "loopback=refused",
                                          "loopback=needs-link",
                                          "pmtu=2000",
                                          "relaxed-ordering",
                                          "strict-pci-ordering"};
  std::mt19937 chance(GetParam());
  std::vector<std::string> chosen;
  std::ranges::sample(switches, std::back_inserter(chosen),
                      1 + static_cast<std::ptrdiff_t>(chance() % 6), chance);
  const std::vector<std::string> devices{"model", "model,timing=cx5-16.35.4506", "model,vf",
                                         "model,port=ib"};
  std::string device = devices[chance() % devices.size()] + ",seed=" + std::to_string(GetParam()) +
                       ",behaviour=data-path-ns=20000";
  for (const std::string& each : chosen) device += "+" + each;
  const Asked first = ask(little_of(device));
  const Asked second = ask_again(first.profile, GetParam() + 1000);
  EXPECT_THAT(disagreements(first.facts, second.facts), IsEmpty()) << device;
  EXPECT_EQ(first.profile.behaviours, second.profile.behaviours) << device;
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

INSTANTIATE_TEST_SUITE_P(Sets, RoundTrip, ::testing::Range(0U, 50U));

}  // namespace
}  // namespace portcullis::light
