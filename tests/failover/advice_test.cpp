// SPDX-License-Identifier: BSD-3-Clause
//
// Advice held against a second opinion (sender.hpp), over all dumps of one and two requests and
// many of three: what may be reposted never shows, what may not does, and what is said to be enough
// is enough.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "failover/classify/classify.hpp"
#include "tests/failover/sender.hpp"
#include "tests/failover/support.hpp"

namespace portcullis::failover {
namespace {

using testing::Op;
using testing::Sender;
using testing::Tale;
using Dump = std::vector<OutstandingRequest>;

/// Cell 0 is a word, cell 1 what follows it; a WRITE of both has several packets.
constexpr std::uint64_t kWordBytes = 8;
constexpr std::uint64_t kLongBytes = 264;

OutstandingRequest request(Opcode opcode, unsigned cell, unsigned cells = 1, Word compare_add = 0,
                           Word swap = 0) {
  OutstandingRequest made;
  made.opcode = opcode;
  made.remote_addr = cell * kWordBytes;
  made.length = cells == 2 ? kLongBytes : kWordBytes;
  if (cell == 1) made.length = kLongBytes - kWordBytes;
  made.compare_add = compare_add;
  made.swap = swap;
  made.contract.environment = Environment::Quiet;
  return made;
}

std::vector<OutstandingRequest> kinds() {
  return {request(Opcode::Write, 0),
          request(Opcode::Write, 0, 2),
          request(Opcode::Write, 1),
          request(Opcode::Read, 0),
          request(Opcode::CompareSwap, 0, 1, 5, 6),
          request(Opcode::CompareSwap, 0, 1, 6, 5),
          request(Opcode::CompareSwap, 0, 1, 5, 5),
          request(Opcode::FetchAdd, 0, 1, 1),
          request(Opcode::FetchAdd, 0, 1, 0),
          request(Opcode::WriteWithImm, 0),
          request(Opcode::Send, 0)};
}

struct State {
  Outcome outcome;
  const char* status;
};
constexpr State kUnknown = {Outcome::Unknown, "RETRY_EXC_ERR"};
constexpr State kCompleted = {Outcome::Completed, "SUCCESS"};
constexpr State kUnmodelled = {Outcome::Unmodelled, "LOC_PROT_ERR"};

struct Promise {
  Environment environment = Environment::Quiet;
  bool is_fenced = false;
  bool is_nothing_later = false;
};
constexpr Promise kQuietPromises[] = {{Environment::Quiet, false, false},
                                      {Environment::Quiet, true, false},
                                      {Environment::Quiet, false, true}};

/// "Never" is shown with all of it: quiet, fenced, nothing later.
constexpr Promise kMostPromised = {Environment::Quiet, true, true};

OutstandingRequest with(OutstandingRequest made, const State& state, unsigned qp_num,
                        const Promise& promise) {
  made.outcome = state.outcome;
  made.status_name = state.status;
  made.qp_num = qp_num;
  made.contract.environment = promise.environment;
  made.contract.is_fenced = promise.is_fenced;
  made.contract.is_nothing_later = promise.is_nothing_later;
  return made;
}

std::string text_of(const Dump& dump) {
  std::string text;
  for (const OutstandingRequest& r : dump)
    text += std::string(name_of(*r.opcode)) + " cell " +
            std::to_string(*r.remote_addr / kWordBytes) + "+" + std::to_string(*r.length) + " " +
            std::to_string(r.compare_add) + "," + std::to_string(r.swap) + " QP " +
            std::to_string(r.qp_num.value_or(0)) + " " + r.status_name +
            (r.contract.is_fenced ? " fenced" : "") +
            (r.contract.is_nothing_later ? " nothing later; " : "; ");
  return text;
}

Op op_of(const OutstandingRequest& r) {
  Op op;
  op.first = static_cast<unsigned>(*r.remote_addr / kWordBytes);
  op.cells = *r.length == kLongBytes ? 2 : 1;
  op.word = r.opcode == Opcode::CompareSwap ? r.swap : r.compare_add;
  op.compare = r.compare_add;
  op.notifies = r.opcode == Opcode::Send || r.opcode == Opcode::WriteWithImm;
  op.queue = *r.qp_num;
  op.is_completed = r.outcome == Outcome::Completed;
  const std::pair<Opcode, Op::Kind> pairs[] = {
      {Opcode::Write, Op::Kind::Write},  {Opcode::WriteWithImm, Op::Kind::Write},
      {Opcode::Read, Op::Kind::Read},    {Opcode::CompareSwap, Op::Kind::Cas},
      {Opcode::FetchAdd, Op::Kind::Add}, {Opcode::Send, Op::Kind::Message}};
  op.kind = std::ranges::find(pairs, *r.opcode, &std::pair<Opcode, Op::Kind>::first)->second;
  return op;
}

/// What the sender may overwrite later for the sake of those that are reposted: their cells, and
/// those of requests that meet them.
std::vector<unsigned> cells_of(const Tale& tale) {
  std::set<unsigned> cells;
  const bool spans = std::ranges::any_of(tale.ops, [](const Op& op) { return op.cells == 2; });
  for (const Op& op : tale.ops) {
    if (!op.is_reposted || op.kind == Op::Kind::Message) continue;
    cells.insert(op.first);
    if (spans) cells = {0, 1};
  }
  return {cells.begin(), cells.end()};
}

/// Each WRITE carries a word of its own, or one that a CAS expects.
void fill_in(const Dump& dump, std::size_t way, Tale& tale) {
  for (std::size_t i = 0; i < dump.size(); ++i) {
    if (!carries_data(*dump[i].opcode)) continue;
    tale.ops[i].word = way % 3 == 0 ? 10 + i : 4 + way % 3;
    way /= 3;
  }
}

/// Whether reposting the requests of `reposted` can be seen, whatever was in memory and was
/// written.
bool shows(const Dump& dump, const std::vector<std::size_t>& reposted, const Promise& promise) {
  Tale tale;
  for (const OutstandingRequest& r : dump) tale.ops.push_back(op_of(r));
  for (const std::size_t index : reposted) tale.ops[index].is_reposted = true;
  tale.is_fenced = promise.is_fenced;
  tale.later_cells = cells_of(tale);
  const std::vector<std::vector<std::optional<std::uint64_t>>> laters = {{std::nullopt, 50, 5, 6},
                                                                         {std::nullopt}};
  const bool has_stranger = promise.environment != Environment::Quiet;
  std::size_t ways = 1;  // of what the WRITEs carried
  for (const OutstandingRequest& r : dump) ways *= carries_data(*r.opcode) ? 3 : 1;
  for (const std::uint64_t initial : {4U, 5U, 6U})
    for (std::size_t way = 0; way < ways; ++way)
      for (const auto& later : laters[promise.is_nothing_later ? 1 : 0])
        for (unsigned stranger = has_stranger ? 1 : 0; stranger <= (has_stranger ? 3U : 0U);
             ++stranger) {
          tale.initial = initial;
          tale.later = tale.later_cells.empty() ? std::nullopt : later;
          if (has_stranger) tale.stranger = testing::Stranger{std::uint64_t{stranger} + 3, 90};
          if (stranger == 3) tale.stranger = testing::Stranger{10, initial};
          fill_in(dump, way, tale);
          if (Sender(tale).can_break()) return true;
        }
  return false;
}

std::vector<std::size_t> with_advice(const std::vector<Classification>& advice, Advice wanted) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < advice.size(); ++i)
    if (advice[i].advice == wanted) found.push_back(i);
  return found;
}

bool promises(const std::vector<Proviso>& provisos, Proviso proviso) {
  return std::ranges::find(provisos, proviso) != provisos.end();
}

struct Tally {
  unsigned reposted = 0, only_if = 0, never = 0;
};

/// Where the two opinions differ; nothing where they agree.
std::string difference(const Dump& dump, const Promise& promise, Tally& tally) {
  const auto advice = classify(dump).value();
  const auto reposted = with_advice(advice, Advice::Repost);
  tally.reposted += static_cast<unsigned>(reposted.size());
  if (!reposted.empty() && shows(dump, reposted, promise)) return "repost shows: " + text_of(dump);
  for (std::size_t i = 0; i < dump.size(); ++i) {
    const bool is_restricted =
        advice[i].advice == Advice::OnlyIf || advice[i].advice == Advice::Never;
    if (dump[i].outcome != Outcome::Unknown || !is_restricted) continue;
    ++(advice[i].advice == Advice::OnlyIf ? tally.only_if : tally.never);
    if (!shows(dump, {i}, advice[i].advice == Advice::Never ? kMostPromised : promise))
      return "nothing shows for " + std::to_string(i) + ": " + text_of(dump);
    for (const auto& provisos : advice[i].one_of) {
      Promise more = promise;
      more.is_fenced = more.is_fenced || promises(provisos, Proviso::FenceDone);
      more.is_nothing_later = more.is_nothing_later || promises(provisos, Proviso::NothingLater);
      if (promises(provisos, Proviso::TargetQuiet)) more.environment = Environment::Quiet;
      if (promises(provisos, Proviso::TagUnique)) continue;
      if (shows(dump, {i}, more))
        return "not enough for " + std::to_string(i) + ": " + text_of(dump);
    }
  }
  return {};
}

std::vector<std::string> differences_of_pairs(const Promise& promise, unsigned second_qp,
                                              Tally& tally) {
  std::vector<std::string> found;
  for (const OutstandingRequest& a : kinds())
    for (const OutstandingRequest& b : kinds())
      for (const State& of_a : {kUnknown, kCompleted, kUnmodelled})
        for (const State& of_b : {kUnknown, kCompleted}) {
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

/// Others act: what may be reposted does not show beside a stranger either.
TEST(Advice, RepostAmongOtherWriters_NeverShows) {
  Tally tally;
  unsigned shown = 0;
  for (const bool is_fenced : {false, true})
    for (const OutstandingRequest& a : kinds())
      for (const OutstandingRequest& b : kinds()) {
        const Promise promise = {Environment::OtherWriters, is_fenced, false};
        const Dump dump = {with(a, kUnknown, 1, promise), with(b, kUnknown, 1, promise)};
        const auto reposted = with_advice(classify(dump).value(), Advice::Repost);
        tally.reposted += static_cast<unsigned>(reposted.size());
        shown += !reposted.empty() && shows(dump, reposted, promise) ? 1 : 0;
      }
  EXPECT_EQ(shown, 0U);
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
