// SPDX-License-Identifier: BSD-3-Clause
//
// The rules held against the explorer for every dump of up to three requests with one region, of
// two requests in two regions or with fields left out, and of three in two regions with fewer kinds
// and contracts. What is enumerated, up to renaming of addresses, words and queue pairs:
//
// - of each request one of the kinds below: each opcode of verbs.h that is modelled, the others as
//   the three things that they may do to a receiver; a WRITE of one packet and of several, a CAS
//   and one that swaps back, operands that change nothing;
// - of each its completion: RETRY_EXC_ERR, SUCCESS, LOC_PROT_ERR, REM_ACCESS_ERR. Of up to two
//   requests also none: before a SUCCESS of its queue pair that is SUCCESS, and else what
//   RETRY_EXC_ERR is, but for a condition on the request itself;
// - which of them lie on the same bytes, on a part of them, or apart;
// - which of them share a queue pair;
// - all 64 contracts of the region;
// - of two requests with a key each in a region of its own all 64 x 64; of three in two regions, in
//   every way that both have one, those of three environments, fenced or not;
// - of two requests in one region also each without an address, without a length or with one of 0,
//   and without a queue pair, in every combination.
//
// Dumps that read_dump() refuses, and those in which nothing is unknown, are passed over. Each is
// asked twice: by rule, and by exploring for each request that a rule answers what the whole dump
// makes of it. What was explored once is remembered (findings.hpp): dumps have it in common.
// Fields left out of three requests are drawn, in rules_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/failover/ruled.hpp"

namespace portcullis::failover {
namespace {

using namespace testing::opinion;
using namespace testing::ruled;

std::vector<OutstandingRequest> kinds_by_name() {
  std::vector<OutstandingRequest> all = every_opcode();
  // A WRITE elsewhere: places say so.
  std::erase_if(all, [](const OutstandingRequest& r) { return r.remote_addr != 0U; });
  return all;
}

bool has_address(const OutstandingRequest& r) { return r.opcode && r.opcode != Opcode::Send; }

/// It swaps what no CAS before it has swapped the other way round: by renaming the words it does.
bool is_renamed(const Dump& dump, const OutstandingRequest& next) {
  return next.opcode == Opcode::CompareSwap && next.compare_add > next.swap &&
         std::ranges::none_of(dump, [&](const OutstandingRequest& r) {
           return r.opcode == Opcode::CompareSwap && r.compare_add == next.swap &&
                  r.swap == next.compare_add;
         });
}

/// Nothing where the dump does not say.
using Place = std::optional<std::uint64_t>;
using Queue = std::optional<std::uint32_t>;
using Length = std::optional<std::uint64_t>;

enum class Fields : std::uint8_t {
  All,
  LeftOut,           // each of these, in every combination
  LeftOutOrNothing,  // and lengths of 0
};

/// On the bytes of one before, on the last half of them, or apart from all.
std::vector<Place> places_after(const Dump& dump, const OutstandingRequest& next, Fields fields) {
  constexpr std::uint64_t kApart = 1U << 20;
  std::set<std::uint64_t> places;
  if (!has_address(next)) return {0};
  for (const OutstandingRequest& r : dump)
    if (has_address(r) && r.remote_addr) places.insert(*r.remote_addr / kApart * kApart);
  const std::uint64_t apart = places.empty() ? 0 : *places.rbegin() + kApart;
  for (const std::uint64_t place : std::set<std::uint64_t>(places)) places.insert(place + 4);
  places.insert(apart);
  std::vector<Place> all(places.begin(), places.end());
  if (fields != Fields::All) all.emplace_back();
  return all;
}

std::vector<Queue> queues_after(const Dump& dump, Fields fields) {
  std::uint32_t last = 0;
  for (const OutstandingRequest& r : dump) last = std::max(last, r.qp_num.value_or(0));
  std::vector<Queue> all;
  for (std::uint32_t queue = 1; queue <= last + 1; ++queue) all.emplace_back(queue);
  if (fields != Fields::All) all.emplace_back();
  return all;
}

std::vector<Length> lengths_of(const OutstandingRequest& next, Fields fields) {
  if (fields == Fields::All || !next.opcode) return {next.length};
  if (fields == Fields::LeftOut) return {next.length, std::nullopt};
  return {next.length, 0, std::nullopt};
}

constexpr Completion kNone = {Outcome::Unknown, ""};
constexpr Completion kRefused = {Outcome::Refused, "REM_ACCESS_ERR"};
using Completions = std::vector<Completion>;
const Completions every_completion = {kNone, kUnknown, kCompleted, kUnmodelled, kRefused};

OutstandingRequest placed(OutstandingRequest made, const Place& place, const Queue& queue,
                          const Length& length) {
  made.remote_addr = place ? Place(*made.remote_addr + *place) : place;
  made.qp_num = queue;
  made.length = length;
  return made;
}

/// A dump with one more request, in every way that differs.
void add_longer(const Dump& dump, const OutstandingRequest& kind, const Completions& completions,
                Fields fields, std::vector<Dump>& all) {
  for (const Place& place : places_after(dump, kind, fields))
    for (const Queue& queue : queues_after(dump, fields))
      for (const Length& length : lengths_of(kind, fields))
        for (const Completion& completion : completions) {
          all.push_back(dump);
          all.back().push_back(placed(with(kind, completion, 1, {}), place, queue, length));
        }
}
std::vector<Dump> longer(const std::vector<Dump>& dumps,
                         const std::vector<OutstandingRequest>& kinds,
                         const Completions& completions, Fields fields = Fields::All) {
  std::vector<Dump> all;
  for (const Dump& dump : dumps)
    for (const OutstandingRequest& kind : kinds)
      if (!is_renamed(dump, kind)) add_longer(dump, kind, completions, fields, all);
  return all;
}

/// Something is unknown, and no SUCCESS stands behind an error on its queue pair.
bool is_asked(const Dump& dump) {
  Dump settled = dump;
  const auto contradictions = settle_outcomes(settled);
  const bool is_consistent =
      std::ranges::none_of(contradictions, [](const auto& later) { return later.has_value(); });
  return is_consistent && std::ranges::any_of(settled, [](const OutstandingRequest& r) {
           return r.opcode && r.outcome == Outcome::Unknown;
         });
}

struct Tried {
  std::uint64_t dumps = 0;
  Compared found;
  Findings findings;
};

/// Under every contract; what has no key has none.
void try_contracts(const std::vector<Dump>& dumps, Tried& tried,
                   const std::vector<Contract>& all = contracts()) {
  for (Dump dump : dumps) {
    if (!is_asked(dump)) continue;
    const bool has_key = std::ranges::any_of(dump, has_address);
    for (std::size_t i = 0; i < (has_key ? all.size() : 1); ++i) {
      for (OutstandingRequest& each : dump)
        if (has_address(each)) each.contract = all[i];
      ++tried.dumps;
      compare(dump, tried.found, &tried.findings);
    }
  }
}

/// Under every two contracts, in every way that puts some of what has a key behind another key than
/// the first of it.
void try_regions(const std::vector<Dump>& dumps, const std::vector<Contract>& all, Tried& tried) {
  for (Dump dump : dumps) {
    if (!is_asked(dump)) continue;
    std::vector<OutstandingRequest*> with_key;
    for (OutstandingRequest& each : dump)
      if (has_address(each)) with_key.push_back(&each);
    for (unsigned others = 2; others < 1U << with_key.size(); others += 2)
      for (const Contract& first : all)
        for (const Contract& second : all) {
          for (std::size_t i = 0; i < with_key.size(); ++i) {
            const bool is_other = (others >> i & 1U) != 0;
            with_key[i]->rkey = is_other ? 2 : 1;
            with_key[i]->contract = is_other ? second : first;
          }
          ++tried.dumps;
          compare(dump, tried.found, &tried.findings);
        }
  }
}

void expect_no_difference(const Tried& tried) {
  ::testing::Test::RecordProperty("dumps", std::to_string(tried.dumps));
  ::testing::Test::RecordProperty("ruled", std::to_string(tried.found.ruled));
  ::testing::Test::RecordProperty("explored", std::to_string(tried.findings.size()));
  EXPECT_THAT(tried.found.differences, ::testing::IsEmpty());
  EXPECT_GT(tried.found.ruled, 0U);
}

TEST(RulesOfAll, DumpsOfOneAndTwo_AreWhatTheExplorerFindsForTheWhole) {
  Tried tried;
  const auto ones = longer({{}}, kinds_by_name(), every_completion);
  try_contracts(ones, tried);
  try_contracts(longer(ones, kinds_by_name(), every_completion), tried);
  expect_no_difference(tried);
}

/// By the kind of their first request. A CAS that swaps back comes first nowhere.
class ByFirstKind : public ::testing::TestWithParam<std::size_t> {
 protected:
  const std::vector<OutstandingRequest> kinds_ = kinds_by_name();
  const std::vector<OutstandingRequest> first_ = {kinds_[GetParam()]};
  Tried tried_;
};
constexpr std::size_t kWithKey[] = {0, 1, 2, 3, 5, 6, 7, 8}, kWithout[] = {9, 10, 11, 12};

class RulesOfAllThat : public ByFirstKind {};

TEST_P(RulesOfAllThat, BeginWithOneKind_AreWhatTheExplorerFindsForTheWhole) {
  const Completions completions = {kUnknown, kCompleted, kUnmodelled, kRefused};
  const auto twos = longer(longer({{}}, first_, completions), kinds_, completions);
  for (const OutstandingRequest& third : kinds_)
    try_contracts(longer(twos, {third}, completions), tried_);
  expect_no_difference(tried_);
}

INSTANTIATE_TEST_SUITE_P(DumpsOfThree, RulesOfAllThat, ::testing::ValuesIn(kWithKey));
INSTANTIATE_TEST_SUITE_P(DumpsOfThreeWithoutKey, RulesOfAllThat, ::testing::ValuesIn(kWithout));

class RulesOfAllThatLack : public ByFirstKind {};

TEST_P(RulesOfAllThatLack, FieldsOfTwo_AreWhatTheExplorerFindsForTheWhole) {
  const auto ones = longer({{}}, first_, every_completion, Fields::LeftOutOrNothing);
  for (const OutstandingRequest& second : kinds_)
    try_contracts(longer(ones, {second}, every_completion, Fields::LeftOutOrNothing), tried_);
  expect_no_difference(tried_);
}

INSTANTIATE_TEST_SUITE_P(Dumps, RulesOfAllThatLack, ::testing::ValuesIn(kWithKey));
INSTANTIATE_TEST_SUITE_P(DumpsWithoutKey, RulesOfAllThatLack, ::testing::ValuesIn(kWithout));

/// Quiet, with a notified consumer, and with other writers; each fenced and not.
std::vector<Contract> few_contracts() {
  std::vector<Contract> few = contracts();
  std::erase_if(few, [](const Contract& c) {
    const bool is_notified = c.consumer == Consumer::Notified;
    return c.environment == Environment::Aba || c.has_unique_tags || c.is_nothing_later ||
           is_notified != (c.environment == Environment::Reuse);
  });
  return few;
}
/// A WRITE, a long one, a READ, a CAS, an FADD, a WRITE_WITH_IMM, a SEND and one that invalidates.
constexpr std::size_t kFew[] = {0, 1, 2, 3, 6, 8, 9, 11};
const Completions few_completions = {kUnknown, kCompleted};

class RulesOfAllInTwoRegions : public ByFirstKind {};

TEST_P(RulesOfAllInTwoRegions, OfTwo_AreWhatTheExplorerFindsForTheWhole) {
  const auto ones = longer({{}}, first_, every_completion);
  try_regions(longer(ones, kinds_, every_completion), contracts(), tried_);
  expect_no_difference(tried_);
}

TEST_P(RulesOfAllInTwoRegions, OfTwoThatLackFields_AreWhatTheExplorerFindsForTheWhole) {
  const auto ones = longer({{}}, first_, every_completion, Fields::LeftOutOrNothing);
  for (const OutstandingRequest& second : kinds_)
    try_regions(longer(ones, {second}, every_completion, Fields::LeftOutOrNothing), few_contracts(),
                tried_);
  expect_no_difference(tried_);
}

INSTANTIATE_TEST_SUITE_P(Dumps, RulesOfAllInTwoRegions, ::testing::ValuesIn(kWithKey));

class RulesOfFewKinds : public ByFirstKind {
 protected:
  RulesOfFewKinds() {
    for (const std::size_t each : kFew) few_.push_back(kinds_[each]);
  }
  std::vector<OutstandingRequest> few_;
};

TEST_P(RulesOfFewKinds, OfThreeInTwoRegions_AreWhatTheExplorerFindsForTheWhole) {
  const auto twos = longer(longer({{}}, first_, few_completions), few_, few_completions);
  try_regions(longer(twos, few_, few_completions), few_contracts(), tried_);
  expect_no_difference(tried_);
}

TEST_P(RulesOfFewKinds, OfThreeThatLackFields_AreWhatTheExplorerFindsForTheWhole) {
  const auto ones = longer({{}}, first_, few_completions, Fields::LeftOut);
  for (const Dump& two : longer(ones, few_, few_completions, Fields::LeftOut))
    try_contracts(longer({two}, few_, few_completions, Fields::LeftOut), tried_, few_contracts());
  expect_no_difference(tried_);
}

INSTANTIATE_TEST_SUITE_P(Dumps, RulesOfFewKinds, ::testing::ValuesIn(kFew));

}  // namespace
}  // namespace portcullis::failover
