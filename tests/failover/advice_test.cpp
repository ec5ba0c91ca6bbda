// SPDX-License-Identifier: BSD-3-Clause
//
// Advice held against a second opinion (sender.hpp), over all dumps of one and two requests and
// many of three: what may be reposted never shows, what may not does, and what is said to be enough
// is enough.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/failover/second_opinion.hpp"
#include "tests/failover/support.hpp"

namespace portcullis::failover {
namespace {

using namespace testing::opinion;

std::vector<std::string> differences_of_pairs(const Promise& promise, unsigned second_qp,
                                              Tally& tally) {
  std::vector<std::string> found;
  for (const OutstandingRequest& a : kinds())
    for (const OutstandingRequest& b : kinds())
      for (const Completion& of_a : {kUnknown, kCompleted, kUnmodelled})
        for (const Completion& of_b : {kUnknown, kCompleted}) {
          const Dump dump = {with(a, of_a, 1, promise), with(b, of_b, second_qp, promise)};
          const std::string different = difference(dump, promise, tally);
          if (!different.empty()) found.push_back(different);
        }
  return found;
}

struct Pairs {
  const char* name;
  Promise promise;
  unsigned second_qp;
};

class AdviceForTwo : public ::testing::TestWithParam<Pairs> {};

TEST_P(AdviceForTwo, IsWhatASecondOpinionFinds) {
  Tally tally;
  EXPECT_THAT(differences_of_pairs(GetParam().promise, GetParam().second_qp, tally),
              ::testing::IsEmpty());
  EXPECT_GT(tally.reposted, 0U);
  EXPECT_GT(tally.never, 0U);
}

INSTANTIATE_TEST_SUITE_P(Advice, AdviceForTwo,
                         ::testing::Values(Pairs{"OneQp", kQuietPromises[0], 1},
                                           Pairs{"OneQpFenced", kQuietPromises[1], 1},
                                           Pairs{"OneQpNothingLater", kQuietPromises[2], 1},
                                           Pairs{"TwoQps", kQuietPromises[0], 2},
                                           Pairs{"TwoQpsFenced", kQuietPromises[1], 2},
                                           Pairs{"TwoQpsNothingLater", kQuietPromises[2], 2}),
                         [](const auto& info) { return info.param.name; });

TEST(Advice, ForOneRequest_IsWhatASecondOpinionFinds) {
  Tally tally;
  for (const Promise& promise : kQuietPromises)
    for (const OutstandingRequest& kind : kinds())
      EXPECT_EQ(difference({with(kind, kUnknown, 1, promise)}, promise, tally), "");
  EXPECT_GT(tally.only_if, 0U);
}

bool share_a_cell(const OutstandingRequest& a, const OutstandingRequest& b) {
  const testing::Op one = op_of(a), other = op_of(b);
  return one.kind != testing::Op::Kind::Message && other.kind != testing::Op::Kind::Message &&
         one.first < other.first + other.cells && other.first < one.first + one.cells;
}

/// Two on one QP, and one before another in the same bytes that has completed on its own.
std::vector<Dump> beside_others(const OutstandingRequest& a, const OutstandingRequest& b,
                                bool is_fenced) {
  const Promise promise = {Environment::OtherWriters, is_fenced, false};
  const OutstandingRequest first = with(a, kUnknown, 1, promise);
  std::vector<Dump> dumps = {{first, with(b, kUnknown, 1, promise)}};
  if (share_a_cell(a, b)) dumps.push_back({first, with(b, kCompleted, 2, promise)});
  return dumps;
}

/// Others act: what may be reposted does not show beside a stranger either.
TEST(Advice, RepostAmongOtherWriters_NeverShows) {
  Tally tally;
  std::vector<std::string> shown;
  for (const bool is_fenced : {false, true})
    for (const OutstandingRequest& a : kinds())
      for (const OutstandingRequest& b : kinds())
        for (const Dump& dump : beside_others(a, b, is_fenced)) {
          const auto advice = classify(dump).value();
          const auto reposted = with_advice(advice, Advice::Repost);
          Found told;
          told.answered = answered_by(advice, reposted);
          tally.reposted += static_cast<unsigned>(reposted.size());
          const Promise promise = {Environment::OtherWriters, is_fenced, false};
          if (!reposted.empty() && shows(dump, reposted, promise, told))
            shown.push_back(text_of(dump));
        }
  EXPECT_THAT(shown, ::testing::IsEmpty());
  EXPECT_GT(tally.reposted, 0U);
}

TEST(Advice, ForThreeOnOneQp_IsWhatASecondOpinionFinds) {
  const OutstandingRequest few[] = {request(Opcode::Write, 0), request(Opcode::Write, 0, 2),
                                    request(Opcode::Read, 0),
                                    request(Opcode::CompareSwap, 0, 1, 5, 6)};
  Tally tally;
  std::vector<std::string> found;
  for (const Promise& promise : {kQuietPromises[0], kQuietPromises[1]})
    for (const OutstandingRequest& a : few)
      for (const OutstandingRequest& b : few)
        for (const OutstandingRequest& c : few) {
          const Dump dump = {with(a, kUnknown, 1, promise), with(b, kUnknown, 1, promise),
                             with(c, kUnknown, 1, promise)};
          found.push_back(difference(dump, promise, tally));
        }
  EXPECT_THAT(found, ::testing::Each(""));
  EXPECT_GT(tally.reposted, 0U);
}

/// Requests of all kinds, with and without bytes, at places that often overlap.
Dump many_drawn(unsigned seed) {
  std::mt19937 draw(seed);
  Dump dump;
  for (unsigned i = 0; i < 60; ++i) {
    OutstandingRequest one = kinds()[draw() % kinds().size()];
    one.remote_addr = 8 * (draw() % 400);
    one.length = draw() % 9 == 0 ? 0 : 8 * (1 + draw() % 3);
    one.rkey = draw() % 50 == 0 ? 2 : 1;
    one.contract.environment = draw() % 2 == 0 ? Environment::Quiet : Environment::OtherWriters;
    if (draw() % 60 == 0) one.remote_addr.reset();
    if (draw() % 60 == 0) one.length = ~std::uint64_t{0};
    if (draw() % 60 == 0) one.opcode.reset();
    one.side_effect = draw() % 2 == 0 ? SideEffect::Any : SideEffect::Message;
    if (draw() % 20 == 0) one.outcome = Outcome::Refused;
    dump.push_back(one);
  }
  return dump;
}
/// The lowest request that one meets, directly or through others, when each two are looked at.
std::vector<unsigned> met_pair_by_pair(const Dump& dump) {
  std::vector<unsigned> lowest(dump.size());
  std::iota(lowest.begin(), lowest.end(), 0U);
  for (unsigned a = 0; a < dump.size(); ++a)
    for (unsigned b = a + 1; b < dump.size(); ++b) {
      const Dump two = {dump[a], dump[b]};
      if (groups_of(two, Letters(two))->size() == 2) continue;
      const auto [low, high] = std::minmax({lowest[a], lowest[b]});
      std::ranges::replace(lowest, high, low);
    }
  return lowest;
}

TEST(Groups, OfManyRequests_AreThoseThatEachTwoOfThemMake) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Dump dump = many_drawn(seed);
    std::vector<unsigned> lowest(dump.size());
    const std::vector<Group> groups = groups_of(dump, Letters(dump)).value();
    for (const Group& group : groups)
      for (const unsigned member : group.members) lowest[member] = group.members.front();
    EXPECT_EQ(lowest, met_pair_by_pair(dump)) << seed;
  }
}

/// Follows a trace through the machine's own steps; what the last of them breaks.
Violation replayed(const Machine& machine, const Trace& trace) {
  AnyState now = machine.initial;
  Violation broken = Violation::None;
  for (const TraceStep& step : trace.steps) {
    const auto possible = testing::steps_of(machine, now);
    const auto found = std::ranges::find_if(possible, [&](const auto& one) {
      return one.label == step.label && one.next == step.state;
    });
    if (found == possible.end() || broken != Violation::None) return Violation::None;
    broken = found->violation;
    now = step.state;
  }
  return broken == Violation::None ? judge(machine, now) : broken;
}

std::vector<Classification> refusals_of(const Dump& dump) {
  std::vector<Classification> advice = classify(dump).value();
  std::erase_if(advice, [](const Classification& c) {
    return c.advice != Advice::Never && c.advice != Advice::OnlyIf;
  });
  return advice;
}

TEST(Advice, EveryRefusal_HasARunThatShowsIt) {
  unsigned refusals = 0;
  for (const OutstandingRequest& a : kinds())
    for (const OutstandingRequest& b : kinds())
      for (const Classification& c : refusals_of({with(a, kUnknown, 1, kQuietPromises[0]),
                                                  with(b, kUnknown, 1, kQuietPromises[0])})) {
        ++refusals;
        EXPECT_NE(replayed(*c.machine, *c.trace), Violation::None) << text_of({a, b});
      }
  EXPECT_GT(refusals, 0U);
}

}  // namespace
}  // namespace portcullis::failover
