// SPDX-License-Identifier: BSD-3-Clause
//
// The table of rules held against the explorer: every request that it answers gets what exploring
// the whole dump finds.
#include "failover/classify/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/failover/ruled.hpp"

namespace portcullis::failover {
namespace {

using namespace testing::opinion;
using namespace testing::ruled;

OutstandingRequest long_one(Opcode opcode) {
  OutstandingRequest made = request(opcode, 0);
  made.length = 8192;
  return made;
}
/// All there are, and words that are 0.
std::vector<OutstandingRequest> all_kinds() {
  std::vector<OutstandingRequest> all = kinds();
  for (const Opcode opcode : {Opcode::Read, Opcode::Write, Opcode::WriteWithImm, Opcode::Send})
    all.push_back(long_one(opcode));
  for (const Opcode opcode : {Opcode::WriteWithImm, Opcode::Send}) {  // a notification alone
    all.push_back(request(opcode, 0));
    all.back().length = 0;
  }
  all.push_back(request(Opcode::CompareSwap, 0, 1, 0, 6));
  all.push_back(request(Opcode::CompareSwap, 0, 1, 6, 0));
  return all;
}

TEST(Rules, OfEveryRequestUnderEveryContract_AreWhatTheExplorerFinds) {
  Compared found;
  for (const OutstandingRequest& kind : all_kinds())
    for (const Contract& contract : contracts()) {
      OutstandingRequest one = with(kind, kUnknown, 1, {});
      one.contract = contract;
      compare({one}, found);
    }
  EXPECT_THAT(found.differences, ::testing::IsEmpty());
  EXPECT_EQ(found.ruled, all_kinds().size() * contracts().size());
}

TEST(Rules, InDumpsOfTwo_AreWhatTheExplorerFindsForTheWhole) {
  Compared found;
  const Promise promises[] = {kQuietPromises[0],
                              {Environment::Reuse, true, false},
                              {Environment::OtherWriters, false, true}};
  for (const Promise& promise : promises)
    for (const OutstandingRequest& a : kinds())
      for (const OutstandingRequest& b : kinds())
        for (const Completion& of_b : {kUnknown, kCompleted, kUnmodelled})
          for (const std::uint64_t place : kPlaces)
            for (const unsigned second_qp : {1U, 2U})
              compare({with(a, kUnknown, 1, promise), with(at(place, b), of_b, second_qp, promise)},
                      found);
  EXPECT_THAT(found.differences, ::testing::IsEmpty());
  EXPECT_GT(found.ruled, 0U);
  EXPECT_GT(found.open, 0U);
}

/// Dumps of these requests: where they lie, on which QPs, what became of them and what is promised
/// of their keys is drawn, and now and then a field is left out.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}

  /// Four to eight of any kind.
  std::vector<OutstandingRequest> many() {
    std::vector<OutstandingRequest> all(4 + below(5));
    for (OutstandingRequest& each : all)
      each = opcodes_[below(static_cast<unsigned>(opcodes_.size()))];
    return all;
  }
  Dump of(const std::vector<OutstandingRequest>& requests) {
    const Contract one = contract(), other = contract();
    Dump dump;
    for (const OutstandingRequest& each : requests) {
      const bool has_key = below(6) != 0;
      OutstandingRequest made = with(at(kPlaces[below(3)], each), outcome(), 1 + below(2), {});
      made.rkey = has_key ? 1 : 2;
      made.contract = has_key ? one : other;
      leave_out(made);
      dump.push_back(std::move(made));
    }
    OutstandingRequest& asked = dump[below(static_cast<unsigned>(dump.size()))];
    asked.outcome = kUnknown.outcome;
    asked.status_name = kUnknown.status;
    return dump;
  }

 private:
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }
  Contract contract() {
    return all_contracts_[below(static_cast<unsigned>(all_contracts_.size()))];
  }
  Completion outcome() {
    constexpr Completion kRefused = {Outcome::Refused, "REM_ACCESS_ERR"};
    constexpr Completion kNone = {Outcome::Unknown, ""};
    constexpr Completion kGeneral = {Outcome::Unknown, "GENERAL_ERR"};
    const Completion all[] = {kUnknown, kUnknown,   kUnknown,    kNone,   kNone,
                              kGeneral, kCompleted, kUnmodelled, kRefused};
    return all[below(static_cast<unsigned>(std::size(all)))];
  }
  void leave_out(OutstandingRequest& made) {
    const unsigned which = below(30);
    if (which == 0) made.remote_addr.reset();
    if (which == 1) made.length.reset();
    if (which == 2) made.length = 0;
    if (which < 6 && which > 2) made.qp_num.reset();
  }

  std::mt19937 random_;
  std::vector<Contract> all_contracts_ = contracts();
  std::vector<OutstandingRequest> opcodes_ = every_opcode();
};

/// So many dumps of each three opcodes; PORTCULLIS_RUNS=100 in front of the test draws more.
unsigned runs() {
  const char* const asked = std::getenv("PORTCULLIS_RUNS");
  return asked == nullptr ? 6U : static_cast<unsigned>(std::strtoul(asked, nullptr, 10));
}

TEST(Rules, InDumpsOfAnyThreeOpcodes_AreWhatTheExplorerFindsForTheWhole) {
  Compared found;
  Draw draw(18);
  for (const OutstandingRequest& a : every_opcode())
    for (const OutstandingRequest& b : every_opcode())
      for (const OutstandingRequest& c : every_opcode())
        for (unsigned run = 0; run < runs(); ++run) compare(draw.of({a, b, c}), found);
  EXPECT_THAT(found.differences, ::testing::IsEmpty());
  EXPECT_GT(found.ruled, 0U);
  EXPECT_GT(found.open, 0U);
}

TEST(Rules, InDrawnDumpsOfFourToEight_AreWhatTheExplorerFindsForTheWhole) {
  Compared found;
  Findings findings;
  Draw draw(8);
  for (unsigned run = 0; run < 300 * runs(); ++run) compare(draw.of(draw.many()), found, &findings);
  EXPECT_THAT(found.differences, ::testing::IsEmpty());
  EXPECT_GT(found.ruled, 0U);
  EXPECT_GT(found.open, 0U);
}

TEST(Rules, OfRequestsThatMeet_SayNothing) {
  const OutstandingRequest write = with(request(Opcode::Write, 0), kUnknown, 1, {});
  const auto advice = classify({write, write}, nullptr, Effort::Rules).value();
  EXPECT_EQ(advice[0].advice, Advice::NoAdvice);
  EXPECT_EQ(advice[0].reason, "no rule covers it: it has to be explored");
}

TEST(Rules, OfARequestWithEvidence_SayNothing) {
  OutstandingRequest add = with(request(Opcode::FetchAdd, 0, 1, 1), kUnknown, 1, {});
  add.evidence.most = Part::Nothing;
  EXPECT_EQ(classify({add}, nullptr, Effort::Rules).value()[0].advice, Advice::NoAdvice);
}

/// Its first packet alone leaves torn bytes, with or without a repost.
TEST(Classify, WriteWithImmOfSeveralPackets_IsNeverReposted) {
  const auto advice = classify({with(long_one(Opcode::WriteWithImm), kUnknown, 1, {})}).value();
  EXPECT_EQ(advice[0].advice, Advice::Never);
  EXPECT_EQ(advice[0].trace.value().violation, Violation::DuplicateNotification);
}

}  // namespace
}  // namespace portcullis::failover
