// SPDX-License-Identifier: BSD-3-Clause
//
// CASes that swap a word for itself and FADDs of 0 among others: a CAS whose compare is its swap
// is a READ in effect, and what a repost of it returns is its answer. Drawn dumps, whose advice is
// held against the second opinion of sender.hpp, and whose rules against the explorer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/failover/ruled.hpp"

namespace portcullis::failover {
namespace {

using namespace testing::opinion;
using namespace testing::ruled;

/// Of the same bytes, so that each two that are answered have an order.
bool is_on_the_word(const OutstandingRequest& r) {
  return r.opcode != Opcode::Send && r.remote_addr == 0U;
}

std::vector<OutstandingRequest> without_effect() {
  return {request(Opcode::CompareSwap, 0, 1, 5, 5), request(Opcode::FetchAdd, 0, 1, 0)};
}
std::vector<OutstandingRequest> on_the_word() {
  std::vector<OutstandingRequest> all = kinds();
  all.push_back(request(Opcode::FetchAdd, 0, 1, ~Word{0}));
  std::erase_if(all, [](const OutstandingRequest& r) { return !is_on_the_word(r); });
  return all;
}

/// So many are drawn; PORTCULLIS_RUNS=5000 in front of the test draws more.
unsigned runs() {
  const char* const asked = std::getenv("PORTCULLIS_RUNS");
  return asked == nullptr ? 150U : static_cast<unsigned>(std::strtoul(asked, nullptr, 10));
}

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  Promise promise(Environment environment) { return {environment, below(2) == 0, below(3) == 0}; }
  /// One to three requests on two QPs; one without effect is unknown.
  Dump dump(const Promise& promise) {
    for (;;) {
      Dump dump;
      const unsigned count = 1 + below(3), asked = below(count);
      for (unsigned i = 0; i < count; ++i) {
        const auto& from = i == asked || below(3) == 0 ? without_effect_ : on_the_word_;
        const Completion& outcome = i == asked || below(3) != 0 ? kUnknown : kCompleted;
        dump.push_back(
            with(from[below(static_cast<unsigned>(from.size()))], outcome, 1 + below(2), promise));
      }
      Dump settled = dump;  // no SUCCESS stands behind an error on its QP
      if (std::ranges::none_of(settle_outcomes(settled),
                               [](auto later) { return later.has_value(); }))
        return dump;
    }
  }

 private:
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }

  std::mt19937 random_;
  std::vector<OutstandingRequest> without_effect_ = without_effect();
  std::vector<OutstandingRequest> on_the_word_ = on_the_word();
};

/// Words that an FADD makes of others, beside those that are always tried.
Found more_words() {
  Found found;
  found.words = {4, 7};
  return found;
}

TEST(AdviceOfNoEffect, InDrawnDumps_IsWhatASecondOpinionFinds) {
  Draw draw(18);
  Tally tally;
  std::vector<std::string> differences;
  for (unsigned run = 0; run < runs(); ++run) {
    const Promise promise = draw.promise(Environment::Quiet);
    differences.push_back(difference(draw.dump(promise), promise, tally, more_words()));
  }
  std::erase(differences, "");
  EXPECT_THAT(differences, ::testing::IsEmpty());
  EXPECT_GT(tally.reposted, 0U);
  EXPECT_GT(tally.only_if, 0U);
  EXPECT_GT(tally.never, 0U);
}

TEST(AdviceOfNoEffect, AmongOtherWriters_NeverShowsWhereItIsReposted) {
  Draw draw(7684);
  unsigned reposted_ones = 0;
  std::vector<std::string> shown;
  for (unsigned run = 0; run < runs(); ++run) {
    const Promise promise = draw.promise(Environment::OtherWriters);
    const Dump dump = draw.dump(promise);
    const auto advice = classify(dump).value();
    const auto reposted = with_advice(advice, Advice::Repost);
    Found told = more_words();
    told.answered = answered_by(advice, reposted);
    reposted_ones += static_cast<unsigned>(reposted.size());
    if (shows(dump, reposted, promise, told) && !shows(dump, {}, promise, told))
      shown.push_back(text_of(dump));
  }
  EXPECT_THAT(shown, ::testing::IsEmpty());
  EXPECT_GT(reposted_ones, 0U);
}

TEST(AdviceOfNoEffect, ByRule_IsWhatTheExplorerFinds) {
  Draw draw(5);
  Compared found;
  for (unsigned run = 0; run < runs(); ++run)
    for (const Contract& contract : contracts()) {
      Dump dump = draw.dump({});
      for (OutstandingRequest& each : dump) each.contract = contract;
      compare(dump, found);
    }
  EXPECT_THAT(found.differences, ::testing::IsEmpty());
  EXPECT_GT(found.ruled, 0U);
}

/// Nobody changes the word between the two, or whoever does is not undone.
TEST(AdviceOfNoEffect, OfASwapOfAWordForItself_TakesTheAnswerOfTheRepost) {
  for (const Contract& contract : contracts()) {
    OutstandingRequest same = with(request(Opcode::CompareSwap, 0, 1, 5, 5), kUnknown, 1, {});
    same.contract = contract;
    const Classification told = classify({same}).value()[0];
    EXPECT_EQ(told.advice, Advice::Repost);
    EXPECT_THAT(answered_by({told}, {0}), ::testing::ElementsAre(0));
  }
}

/// A run of the sender tells: behind another CAS whose answer is known the word may be told late.
TEST(AdviceOfNoEffect, OfASwapBeforeOneThatWasAnswered_IsNotTheAnswerOfTheRepost) {
  const Dump dump = {with(request(Opcode::CompareSwap, 0, 1, 5, 5), kUnknown, 1, {}),
                     with(request(Opcode::CompareSwap, 0, 1, 5, 6), kCompleted, 2, {})};
  const auto advice = classify(dump).value();
  ASSERT_EQ(advice[0].advice, Advice::Repost);
  EXPECT_THAT(answered_by(advice, {0}), ::testing::IsEmpty());
}

}  // namespace
}  // namespace portcullis::failover
