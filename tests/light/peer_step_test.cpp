// SPDX-License-Identifier: BSD-3-Clause
//
// A client on another host, asked of models that are made to be one way and then the other: no
// conclusion may say of them what they are not, however far apart the two clocks are, and whatever
// the peer says.
#include "light/peer_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <utility>

#include "light/clock_offset.hpp"
#include "light/compare.hpp"
#include "light/revoke_steps.hpp"
#include "prm/cqe.hpp"
#include "tests/light/peer_double.hpp"
#include "tests/light/quick_run.hpp"

namespace portcullis::light {

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::of;
using testing::PeerDouble;
using ::testing::SizeIs;

constexpr std::int64_t kHourNs = 3'600'000'000'000;

/// A model with one port, and the peer at it.
struct TwoHosts {
  explicit TwoHosts(const std::string& behaviour = {})
      : port(service::ServedPort::open(attach::parse_device("model" + behaviour).value(),
                                       {.address = tools::testing::kOurs})
                 .value()),
        peer(*port) {
    peer.ahead_ns = -3 * kHourNs / 1000 + 5 * kHourNs;
    options.plans = {"seed", "nak-first"};
    options.revokes = 1;
    options.answer_ms = 200;
    for (const unsigned timeout : {8U, 10U, 12U, 14U})
      for (const unsigned retry : {1U, 4U}) options.points.emplace_back(timeout, retry);
  }

  /// The facts of a run with this step alone.
  Facts ask() {
    Facts facts;
    result = ask_peer(*port, peer, options, facts.peer);
    facts.steps = {{.name = "peer",
                    .state = result ? "done" : "failed",
                    .why = result ? "" : result.error().text}};
    return facts;
  }

  std::unique_ptr<service::ServedPort> port;
  PeerDouble peer;
  PeerOptions options;
  Result<void> result;
};

struct Case {
  const char* behaviour;
  const char* id;
  Answer answer;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.behaviour << " " << one.id; }

class AcrossHosts : public ::testing::TestWithParam<Case> {};

TEST_P(AcrossHosts, IsAnsweredAsTheModelIs) {
  TwoHosts hosts(GetParam().behaviour);
  const Conclusion found = of(hosts.ask(), GetParam().id);
  EXPECT_EQ(found.answer, GetParam().answer) << found.why;
}

INSTANTIATE_TEST_SUITE_P(
    Models, AcrossHosts,
    ::testing::Values(
        Case{"", "peer-reached", Answer::Confirmed}, Case{"", "peer-ended", Answer::Confirmed},
        Case{"", "peer-contract", Answer::Confirmed}, Case{"", "peer-silence", Answer::Confirmed},
        Case{"", "peer-nak", Answer::Confirmed},
        Case{"", "peer-floor-is-budget", Answer::Confirmed},
        Case{",behaviour=min-ack-timeout=13", "peer-floor-is-budget", Answer::Refuted},
        Case{",behaviour=retx-total=600", "peer-floor-is-budget", Answer::Refuted},
        Case{",behaviour=dispatch-cache=300", "peer-floor-is-budget", Answer::Refuted},
        Case{",behaviour=dispatch-cache=300", "peer-silence", Answer::Refuted},
        Case{",behaviour=a1-off=20us", "peer-silence", Answer::Confirmed}));

TEST(PeerStep, WithoutIt_NothingIsClaimedAndTheWayToItIsNamed) {
  const Conclusion floor = of({}, "peer-floor-is-budget");
  EXPECT_EQ(floor.answer, Answer::NotRun);
  EXPECT_THAT(floor.why, HasSubstr("--peer names a second host"));
}

TEST(PeerStep, Facts_NameTheNicAndNoMachine) {
  TwoHosts hosts;
  const Facts facts = hosts.ask();
  EXPECT_TRUE(hosts.result);
  EXPECT_TRUE(hosts.peer.is_over);
  EXPECT_EQ(facts.peer.vendor, 0x2c9u);
  EXPECT_EQ(facts.peer.part, 4119u);
  EXPECT_EQ(facts.peer.firmware, "16.1");
  EXPECT_EQ(facts.peer.reached, facts.peer.leases);
  EXPECT_EQ(hosts.peer.leases, 2 + hosts.options.points.size());
  EXPECT_THAT(facts.peer.plans, SizeIs(2));
  EXPECT_EQ(facts.peer.plans[1].status, 10);
}

TEST(PeerStep, Facts_ComeBackFromTextAndAreCompared) {
  TwoHosts hosts;
  Facts facts = hosts.ask();
  facts.crash_dumps = {{.step = "end", .state = "none", .why = "held"}};
  const auto back = facts_from_json(to_json(facts), "facts.json");
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(to_json(*back), to_json(facts));
  EXPECT_EQ(back->peer.floor.points, hosts.options.points.size());
  EXPECT_EQ(back->crash_dumps.front().why, "held");
  Facts other = *back;
  other.peer.firmware = "16.2";
  other.peer.floor.mechanism = "fixed total";
  EXPECT_THAT(compare(facts, *back), IsEmpty());
  EXPECT_THAT(compare(facts, other), ElementsAre(Field(&Difference::what, "peer-floor-is-budget"),
                                                 Field(&Difference::what, "peer"),
                                                 Field(&Difference::what, "peer floor")));
}

// ---- The two clocks ----------------------------------------------------------------------------

TEST(ClockOffset, BoundsHoldWhateverTheWaysTake) {
  ClockOffset offset;
  // Ahead by 1000; 10 there and 300 back, then 200 there and 5 back.
  offset.add(100, 1110, 1112, 412);
  offset.add(500, 1700, 1701, 706);
  EXPECT_LE(offset.least_ns, 1000);
  EXPECT_GE(offset.most_ns, 1000);
  EXPECT_EQ(offset.least_ns, 995);
  EXPECT_EQ(offset.most_ns, 1010);
  EXPECT_EQ(offset.uncertainty_ns(), 8u);
}

TEST(ClockOffset, ClockThatWasSetMeanwhile_HasNone) {
  ClockOffset offset;
  offset.add(100, 1110, 1112, 150);
  offset.add(500, 9000, 9001, 520);
  EXPECT_FALSE(offset.is_possible());
}

TEST(ClockOffset, BetweenTwoLooks_ItIsOneOfThemOrBetween) {
  const auto between =
      ClockOffset::between({.least_ns = 1, .most_ns = 5}, {.least_ns = 3, .most_ns = 9});
  EXPECT_EQ(between.least_ns, 1);
  EXPECT_EQ(between.most_ns, 9);
}

/// 50 ppm is what a crystal may have; the way back takes thirty times the way there.
TEST(PeerStep, ClockAheadAndDrifting_IsBoundedWithTheTruthInside) {
  TwoHosts hosts;
  hosts.options.plans = {"seed"};
  hosts.options.points.clear();
  hosts.peer.drift_ppm = 50;
  hosts.peer.there_ns = 10 * kNsPerUs;
  hosts.peer.back_ns = 300 * kNsPerUs;
  const PeerFact exact = [] {
    TwoHosts near;
    near.options.plans = {"seed"};
    near.options.points.clear();
    return near.ask().peer;
  }();
  const PeerFact found = hosts.ask().peer;
  // The ways are of no consequence to when the client failed.
  ASSERT_THAT(found.plans, SizeIs(1));
  const auto off = std::abs(static_cast<double>(found.plans[0].client_median_ns) -
                            static_cast<double>(exact.plans[0].client_median_ns));
  EXPECT_GE(found.clock_uncertainty_ns, 155 * kNsPerUs);
  EXPECT_LE(found.clock_uncertainty_ns, 400 * kNsPerUs);
  EXPECT_LE(off, static_cast<double>(found.clock_uncertainty_ns + exact.clock_uncertainty_ns) +
                     0.02 * static_cast<double>(exact.plans[0].client_median_ns));
}

TEST(PeerStep, ClocksThatAreNotKnownWellEnough_DecideNothing) {
  TwoHosts hosts;
  hosts.peer.there_ns = 20 * kNsPerMs;
  hosts.peer.back_ns = 20 * kNsPerMs;
  const Conclusion floor = of(hosts.ask(), "peer-floor-is-budget");
  EXPECT_EQ(floor.answer, Answer::Undecided) << floor.why;
  EXPECT_THAT(floor.why, AllOf(HasSubstr("clocks are not known well enough"), HasSubstr("20")));
}

/// Far away, and yet told apart: all budgets are long beside what the clocks do not tell.
TEST(PeerStep, ClocksWithinAPercentOfEachBudget_StillNameIt) {
  TwoHosts hosts;
  hosts.peer.there_ns = 100 * kNsPerUs;
  hosts.peer.back_ns = 900 * kNsPerUs;
  hosts.options.points.clear();
  for (const unsigned timeout : {12U, 13U, 14U})
    for (const unsigned retry : {1U, 3U, 5U}) hosts.options.points.emplace_back(timeout, retry);
  const Conclusion floor = of(hosts.ask(), "peer-floor-is-budget");
  EXPECT_EQ(floor.answer, Answer::Confirmed) << floor.why;
  EXPECT_THAT(floor.why, HasSubstr("the two clocks are known to 5"));
}

TEST(PeerStep, FailureThatIsNeitherARefusalNorASpentBudget_ExplainsNothing) {
  TwoHosts hosts;
  hosts.peer.tamper_seen = [](service::exchange::SweepSeen& seen) {
    seen.status = static_cast<std::uint8_t>(prm::WcStatus::RNR_RETRY_EXC_ERR);
  };
  const Facts facts = hosts.ask();
  const Conclusion floor = of(facts, "peer-floor-is-budget");
  EXPECT_EQ(floor.answer, Answer::Undecided) << floor.why;
  EXPECT_EQ(floor.why, "8 clients ended neither by a refusal nor by their budget");
  EXPECT_FALSE(facts.peer.floor.is_run);
}

/// The budget is another one by far, but every time is a delay of one way off.
TEST(PeerStep, DelayOfOneWayAlone_LeavesWhatIsSoPossible) {
  TwoHosts hosts(",behaviour=min-ack-timeout=13");
  hosts.peer.there_ns = 50 * kNsPerMs;
  const Conclusion floor = of(hosts.ask(), "peer-floor-is-budget");
  EXPECT_EQ(floor.answer, Answer::Undecided) << floor.why;
  EXPECT_THAT(floor.why,
              AllOf(HasSubstr("the clocks are not known well enough"), HasSubstr("may fit too")));
}

TEST(PeerStep, TimesOfAClient_AreToldWithTheirUncertaintyAndTheTruthInside) {
  const auto nak_of = [](std::uint64_t there_ns, std::uint64_t back_ns) {
    TwoHosts hosts;
    hosts.options.plans = {"nak-first"};
    hosts.options.points.clear();
    hosts.peer.there_ns = there_ns;
    hosts.peer.back_ns = back_ns;
    return hosts.ask();
  };
  const PlanFact exact = nak_of(0, 0).peer.plans.at(0);
  for (const auto& [there_ms, back_ms] :
       {std::pair{5U, 0U}, std::pair{0U, 5U}, std::pair{3U, 2U}}) {
    const Facts facts = nak_of(there_ms * kNsPerMs, back_ms * kNsPerMs);
    const PlanFact& found = facts.peer.plans.at(0);
    EXPECT_LE(found.client_median_ns,
              exact.client_median_ns + exact.client_uncertainty_ns + found.client_uncertainty_ns);
    EXPECT_GE(found.client_median_ns + found.client_uncertainty_ns + exact.client_uncertainty_ns,
              exact.client_median_ns);
  }
  EXPECT_THAT(of(nak_of(0, 5 * kNsPerMs), "peer-nak").why, HasSubstr(" +- 250"));
}

TEST(PeerStep, ClientThatFailedBeforeTheRevoke_FailsTheStep) {
  TwoHosts hosts;
  hosts.options.plans = {"seed"};
  hosts.peer.tamper_seen = [&hosts](service::exchange::SweepSeen& seen) {
    seen.first_failure_ns = hosts.peer.went_ns;
    seen.failed_post_ns = hosts.peer.went_ns;
  };
  hosts.ask();
  ASSERT_FALSE(hosts.result);
  EXPECT_EQ(hosts.result.error().text, "the peer's client met status 12 before any revoke");
}

TEST(FloorTally, ClientsThatEndOtherwise_AreCountedAndNoPoints) {
  FloorTally tally;
  tally.add({.failure_ns = 5, .status = 13}, {.timeout = 8, .retry = 1, .deadline_ns = 100});
  Facts facts;
  facts.floor = tally.fact();
  EXPECT_EQ(of(facts, "floor-is-budget").answer, Answer::Undecided);
  tally.add({.failure_ns = 5, .status = 12}, {.timeout = 8, .retry = 1, .deadline_ns = 100});
  tally.add({}, {.timeout = 8, .retry = 2, .deadline_ns = 100});
  facts.floor = tally.fact();
  EXPECT_EQ(facts.floor.points, 2u);
  EXPECT_THAT(of(facts, "floor-is-budget").why,
              HasSubstr("by 2 points (1 clients more ended neither"));
}

// ---- What a WRITE behind the outcome says -------------------------------------------------------

TEST(PeerStep, WriteThatWasPostedBehindTheOutcomeAndSucceeded_RefutesAPromise) {
  TwoHosts hosts(",behaviour=dispatch-cache=50+dispatch-cache-keeps-key+data-path-ns=1000");
  const Facts facts = hosts.ask();
  EXPECT_EQ(of(facts, "peer-ended").answer, Answer::Refuted) << of(facts, "peer-ended").why;
  EXPECT_EQ(of(facts, "peer-unchanged").answer, Answer::Refuted);
  EXPECT_TRUE(breaks_a_promise(conclude(facts)));
}

/// No byte of the region changed: what a peer claims against our own memory decides nothing.
TEST(PeerStep, WriteThatAPeerOnlyClaims_IsUndecided) {
  TwoHosts hosts;
  hosts.options.plans = {"seed"};
  hosts.options.points.clear();
  hosts.peer.tamper_seen = [](service::exchange::SweepSeen& seen) {
    seen.last_success_post_ns = seen.failed_post_ns + kNsPerUs;
    seen.last_success_ns = seen.last_success_post_ns + kNsPerUs;
  };
  const Facts facts = hosts.ask();
  EXPECT_EQ(of(facts, "peer-ended").answer, Answer::Undecided) << of(facts, "peer-ended").why;
  EXPECT_EQ(of(facts, "peer-unchanged").answer, Answer::Confirmed)
      << of(facts, "peer-unchanged").why << facts.steps[0].why;
  EXPECT_FALSE(breaks_a_promise(conclude(facts)));
}

TEST(PeerStep, WriteSoNearTheOutcomeThatTheClocksDoNotTell_IsUndecided) {
  TwoHosts hosts;
  hosts.peer.there_ns = 5 * kNsPerMs;
  hosts.peer.back_ns = 5 * kNsPerMs;
  hosts.peer.tamper_seen = [](service::exchange::SweepSeen& seen) {
    seen.last_success_post_ns = seen.failed_post_ns + kNsPerMs;
    seen.last_success_ns = seen.last_success_post_ns + kNsPerUs;
  };
  const Facts facts = hosts.ask();
  EXPECT_EQ(of(facts, "peer-ended").answer, Answer::Undecided);
  EXPECT_FALSE(breaks_a_promise(conclude(facts)));
}

TEST(PeerStep, ClientThatNeverReachedItsLease_IsNoEvidenceOfAFence) {
  TwoHosts hosts;
  hosts.peer.first_status = 12;
  const Facts facts = hosts.ask();
  EXPECT_EQ(of(facts, "peer-reached").answer, Answer::Refuted);
  EXPECT_EQ(of(facts, "peer-silence").answer, Answer::NotRun);
  EXPECT_EQ(of(facts, "peer-floor-is-budget").answer, Answer::NotRun);
  EXPECT_THAT(facts.peer.plans, ::testing::Each(Field(&PlanFact::revokes, 0u)));
  ASSERT_FALSE(hosts.result);
  EXPECT_EQ(hosts.result.error().text,
            "left out: plan seed: the first WRITE to a lease did not arrive");
}

/// All of it is done that can be, and the step has failed.
TEST(PeerStep, LeaseOfOnePlanThatIsNotReached_LeavesThatPlanUnjudged) {
  TwoHosts hosts;
  hosts.peer.tamper = [](std::string line) -> std::optional<std::string> {
    if (line == "sweep-ready version=1 number=2 status=0")
      return "sweep-ready version=1 number=2 status=5";
    return line;
  };
  const Facts facts = hosts.ask();
  EXPECT_FALSE(hosts.result);
  EXPECT_EQ(of(facts, "peer-contract").why, "plan nak-first was not judged");
  EXPECT_EQ(of(facts, "peer-floor-is-budget").answer, Answer::Confirmed);
}

TEST(PeerStep, PortOfShortFrames_GrantsAShorterPathMtu) {
  TwoHosts hosts(",behaviour=pmtu=1024");
  const Facts facts = hosts.ask();
  EXPECT_TRUE(hosts.result) << hosts.result.error().text;
  EXPECT_EQ(of(facts, "peer-contract").answer, Answer::Confirmed);
}

TEST(PeerStep, ClientThatTellsOfNoFailureLongBeforeTheLimit_IsNotBelieved) {
  TwoHosts hosts;
  hosts.peer.tamper_seen = [](service::exchange::SweepSeen& seen) {
    seen = {.number = seen.number};
  };
  const Facts facts = hosts.ask();
  ASSERT_FALSE(hosts.result);
  EXPECT_THAT(hosts.result.error().text, HasSubstr("no failure within"));
  EXPECT_NE(of(facts, "peer-ended").answer, Answer::Confirmed);
}

// ---- A peer that is not what it should be -------------------------------------------------------

struct Nonsense {
  const char* name;
  const char* instead_of;  // the kind of line
  const char* line;        // "": it says nothing
  const char* told;
};

class BadPeer : public ::testing::TestWithParam<Nonsense> {};

TEST_P(BadPeer, IsOneLineAndClaimsNothing) {
  TwoHosts hosts;
  hosts.peer.tamper = [&bad = GetParam()](std::string line) -> std::optional<std::string> {
    if (service::exchange::kind_of(line) != bad.instead_of) return line;
    if (*bad.line == '\0') return std::nullopt;
    return bad.line;
  };
  const Facts facts = hosts.ask();
  ASSERT_FALSE(hosts.result);
  EXPECT_THAT(hosts.result.error().text, AllOf(HasSubstr(GetParam().told), Not(HasSubstr("\n"))));
  EXPECT_EQ(of(facts, "peer-floor-is-budget").answer, Answer::NotRun);
  EXPECT_EQ(of(facts, "peer-silence").answer, Answer::NotRun);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadPeer,
    ::testing::Values(
        Nonsense{"Silent", "sweep-peer", "", "the peer sent no whole line for 200 ms"},
        Nonsense{"Junk", "sweep-peer", "HTTP/1.1 400 Bad Request", "sweep-peer is accepted"},
        Nonsense{"NoNic", "lease-request", "sweep-failed port 1 of rxe0 is DOWN",
                 "the peer gave up: port 1 of rxe0 is DOWN"},
        Nonsense{"SilentRequest", "lease-request", "", "sent no whole line"},
        Nonsense{"OtherNumber", "sweep-ready", "sweep-ready version=1 number=77 status=0",
                 "answers number 77; 1 was asked"},
        Nonsense{"OtherClock", "sweep-clock", "sweep-clock version=1 number=1 received=9 sent=8",
                 "sent=8"},
        Nonsense{"ClockThatStands", "sweep-clock",
                 "sweep-clock version=1 number=1 received=1 sent=1", "number 1; 2 was asked"},
        Nonsense{"StatusWithoutFailure", "sweep-seen",
                 "sweep-seen version=1 number=1 succeeded=1 last-success=2 last-success-post=1 "
                 "failed-post=0 first-failure=0 status=12",
                 "status=12"},
        Nonsense{"TimesOfAnotherDay", "sweep-seen",
                 "sweep-seen version=1 number=1 succeeded=1 last-success=2 last-success-post=1 "
                 "failed-post=2 first-failure=3 status=12",
                 "a time that its own clock did not have"},
        Nonsense{"SilentOfTheEnd", "sweep-seen", "", "sent no whole line for 11000 ms"}),
    [](const auto& info) { return info.param.name; });

TEST(PeerStep, PeerThatDiesMidway_LeavesWhatWasFoundAndAPortThatServes) {
  TwoHosts hosts;
  hosts.options.points.clear();
  hosts.peer.hangs_up_after = 40;  // in the second lease
  const Facts facts = hosts.ask();
  ASSERT_FALSE(hosts.result);
  EXPECT_THAT(hosts.result.error().text, HasSubstr("hung up"));
  EXPECT_EQ(of(facts, "peer-silence").answer, Answer::Confirmed);
  EXPECT_EQ(of(facts, "peer-nak").answer, Answer::NotRun);
  EXPECT_EQ(of(facts, "peer-contract").answer, Answer::Undecided);
  PeerDouble next(*hosts.port);
  PeerFact again;
  EXPECT_TRUE(ask_peer(*hosts.port, next, hosts.options, again));
}

TEST(PeerStep, ToldToStop_EndsInItsNextWait) {
  TwoHosts hosts;
  int asked = 0;
  hosts.options.check_time = [&asked]() -> Result<void> {
    if (++asked < 20) return {};
    return fail(Errc::Busy, "stopped");
  };
  (void)hosts.ask();
  EXPECT_EQ(hosts.result.error().text, "stopped");
}

/// Another process may be the device's other end; a model in this one has nobody.
TEST(PeerStep, ModelInThisProcess_IsNotRunAndSaysWhy) {
  Options options = testing::little_of("model", "bring-up,peer");
  options.peer.server = "127.0.0.1:1";
  const Facts facts = run(options);
  EXPECT_EQ(facts.step("peer")->state, "not run");
  EXPECT_THAT(facts.step("peer")->why, HasSubstr("hca-server"));
}

}  // namespace
}  // namespace portcullis::light
