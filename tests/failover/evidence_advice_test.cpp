// SPDX-License-Identifier: BSD-3-Clause
//
// Advice with evidence, held against the second opinion of sender.hpp restricted in the same way:
// only runs that agree with what was found count, and which these are is not derived, but looked at
// in each run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "failover/classify/evidence.hpp"
#include "tests/failover/second_opinion.hpp"

namespace portcullis::failover {
namespace {

using namespace testing::opinion;
using testing::Look;
using testing::Tale;

struct Ground {
  const char* name;
  bool is_fenced, is_queue_fenced;
  unsigned second_qp;
};

/// All of one or two requests, the first of unknown outcome, on the QPs of `ground`.
std::vector<Dump> dumps_on(const Ground& ground) {
  const Promise promise{Environment::Quiet, ground.is_fenced, false};
  std::vector<Dump> all;
  for (const OutstandingRequest& a : kinds()) {
    all.push_back({with(a, kUnknown, 1, promise)});
    for (const OutstandingRequest& b : kinds())
      for (const Completion& of_b : {kUnknown, kCompleted})
        all.push_back({with(a, kUnknown, 1, promise), with(b, of_b, ground.second_qp, promise)});
  }
  return all;
}
Promise promise_of(const Ground& ground) { return {Environment::Quiet, ground.is_fenced, false}; }
std::set<unsigned> closed_of(const Ground& ground) {
  return ground.is_queue_fenced ? std::set<unsigned>{1} : std::set<unsigned>{};
}

/// Beside that the two agree: which evidence cannot be so.
std::string difference_of(const Ground& ground, Dump dump, const QueuePairEvidence& said,
                          const std::vector<std::optional<bool>>& applied, const Look& look,
                          Tally& tally) {
  const Found found{look, closed_of(ground)};
  bool has_run = false;
  (void)shows(dump, {}, promise_of(ground), found, &has_run);
  const bool is_refused = weigh(dump, {said}, applied).has_value();
  if (is_refused == has_run) return "refused and possible, or neither: " + text_of(dump);
  return is_refused ? "" : difference(dump, promise_of(ground), tally, found);
}

class AdviceWithEvidence : public ::testing::TestWithParam<Ground> {
 protected:
  void expect_all_of_it(std::vector<std::string> differences) const {
    std::erase(differences, "");
    EXPECT_THAT(differences, ::testing::IsEmpty());
    EXPECT_GT(tally_.reposted + tally_.only_if, 0U);
    EXPECT_GT(tally_.never, 0U);
  }
  Tally tally_;
};

TEST_P(AdviceWithEvidence, OfReceives_IsWhatASecondOpinionFinds) {
  std::vector<std::string> differences;
  for (const Dump& dump : dumps_on(GetParam()))
    for (std::uint64_t count = 0; count <= 2; ++count)
      differences.push_back(difference_of(
          GetParam(), dump, {1, GetParam().is_queue_fenced, count, {}, {}},
          std::vector<std::optional<bool>>(dump.size()), received(dump, 1, count), tally_));
  expect_all_of_it(differences);
}

TEST_P(AdviceWithEvidence, OfTheExpectedPsn_IsWhatASecondOpinionFinds) {
  constexpr std::uint32_t kFirst = kPsnCount - 1;
  std::vector<std::string> differences;
  for (const Dump& one : dumps_on(GetParam())) {
    const Dump dump = numbered(one, kFirst);
    for (std::uint32_t packets = 0; packets <= 4; ++packets)
      differences.push_back(difference_of(
          GetParam(), dump,
          {1, GetParam().is_queue_fenced, {}, (kFirst + packets) % kPsnCount, 256},
          std::vector<std::optional<bool>>(dump.size()), executed(dump, 1, packets), tally_));
  }
  expect_all_of_it(differences);
}

TEST_P(AdviceWithEvidence, OfALog_IsWhatASecondOpinionFinds) {
  std::vector<std::string> differences;
  for (const Dump& dump : dumps_on(GetParam()))
    for (std::size_t of = 0; of < dump.size(); ++of)
      for (const bool is_applied : {false, true}) {
        std::vector<std::optional<bool>> applied(dump.size());
        applied[of] = is_applied;
        const unsigned cells = op_of(dump[of]).cells;
        differences.push_back(difference_of(
            GetParam(), dump, {1, GetParam().is_queue_fenced, {}, {}, {}}, applied,
            [of, is_applied, cells](const auto& done, const auto&) {
              return is_applied == (done[of] == cells);
            },
            tally_));
      }
  expect_all_of_it(differences);
}

// ---- Bytes read back
// ----------------------------------------------------------------

/// Apart, one request's bytes say nothing of another: then there is nothing new to compare.
bool are_explored_together(const Dump& dump) {
  return dump.size() == 1 || !classify(dump).value()[0].explored_with.empty();
}
/// The dumps of which that is so and whose first request `is_wanted`, their fenced QPs marked.
template <class Wanted>
std::vector<Dump> joint_dumps_on(const Ground& ground, const Wanted& is_wanted) {
  std::vector<Dump> all = dumps_on(ground);
  std::erase_if(all, [&](const Dump& dump) {
    return !is_wanted(*dump[0].opcode) || !are_explored_together(dump);
  });
  for (Dump& dump : all)
    for (OutstandingRequest& r : dump)
      r.evidence.is_queue_fenced = closed_of(ground).contains(*r.qp_num);
  return all;
}

std::string difference_of_memory(const Ground& ground, const Dump& dump, const Found& found,
                                 Tally& tally) {
  bool has_run = false;
  (void)shows(dump, {}, promise_of(ground), found, &has_run);
  const bool is_refused = !classify(dump).has_value();
  if (is_refused == has_run) return "refused and possible, or neither: " + text_of(dump);
  return is_refused ? "" : difference(dump, promise_of(ground), tally, found);
}

TEST_P(AdviceWithEvidence, OfAWordReadBack_IsWhatASecondOpinionFinds) {
  std::vector<std::string> differences;
  for (Dump dump : joint_dumps_on(GetParam(), is_atomic))
    for (const Word word : {5U, 6U, 7U})
      for (const std::optional<Word> before : {std::optional<Word>(), std::optional<Word>(5)}) {
        dump[0].evidence.word = word;
        dump[0].evidence.word_before = before;
        Found found{[word](const auto&, const auto& memory) { return memory[0] == word; },
                    closed_of(GetParam())};
        found.words = {3, 7};
        found.initial = before;
        differences.push_back(difference_of_memory(GetParam(), dump, found, tally_));
      }
  expect_all_of_it(differences);
}

TEST_P(AdviceWithEvidence, OfATargetHeldAgainstItsSource_IsWhatASecondOpinionFinds) {
  std::vector<std::string> differences;
  for (Dump dump : joint_dumps_on(GetParam(), carries_data))
    for (const bool holds : {false, true}) {
      dump[0].evidence.holds_source = holds;
      Found found{{}, closed_of(GetParam())};
      found.words = {10};  // what the WRITE carries was there before, or is another's, too
      found.look_of = [holds](const Tale& tale) -> Look {
        return [holds, op = tale.ops[0]](const auto&, const auto& memory) {
          bool is_so = true;
          for (unsigned cell = op.first; cell < op.first + op.cells; ++cell)
            is_so = is_so && memory[cell] == op.word;
          return is_so == holds;
        };
      };
      differences.push_back(difference_of_memory(GetParam(), dump, found, tally_));
    }
  expect_all_of_it(differences);
}

INSTANTIATE_TEST_SUITE_P(Advice, AdviceWithEvidence,
                         ::testing::Values(Ground{"OneQp", false, false, 1},
                                           Ground{"OneQpFencedKey", true, false, 1},
                                           Ground{"OneQpFencedAsAWhole", false, true, 1},
                                           Ground{"TwoQps", false, false, 2},
                                           Ground{"TwoQpsFencedKey", true, false, 2},
                                           Ground{"TwoQpsOneFencedAsAWhole", false, true, 2}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace portcullis::failover
