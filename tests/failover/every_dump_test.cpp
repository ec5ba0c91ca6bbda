// SPDX-License-Identifier: BSD-3-Clause
//
// The rules held against the explorer for every dump of up to three requests with one region. What
// is enumerated, up to renaming of addresses, words and queue pairs:
//
// - of each request one of the kinds below: each opcode of verbs.h that is modelled, the others as
//   the three things that they may do to a receiver; a WRITE of one packet and of several, a CAS
//   and one that swaps back, operands that change nothing;
// - of each its completion: RETRY_EXC_ERR, SUCCESS, LOC_PROT_ERR, REM_ACCESS_ERR. Of up to two
//   requests also none: before a SUCCESS of its queue pair that is SUCCESS, and else what
//   RETRY_EXC_ERR is, but for a condition on the request itself;
// - which of them lie on the same bytes, on a part of them, or apart;
// - which of them share a queue pair;
// - all 64 contracts of the region.
//
// Dumps that read_dump() refuses, and those in which nothing is unknown, are passed over. Each is
// asked twice: by rule, and by exploring for each request that a rule answers what the whole dump
// makes of it. What was explored once is remembered (findings.hpp): dumps have it in common.
// Several regions and fields left out are drawn, in rules_test.cpp.
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

/// On the bytes of one before, on the last half of them, or apart from all.
std::vector<std::uint64_t> places_after(const Dump& dump, const OutstandingRequest& next) {
  constexpr std::uint64_t kApart = 1U << 20;
  std::set<std::uint64_t> places;
  if (!has_address(next)) return {0};
  for (const OutstandingRequest& r : dump)
    if (has_address(r)) places.insert(*r.remote_addr / kApart * kApart);
  const std::uint64_t apart = places.empty() ? 0 : *places.rbegin() + kApart;
  for (const std::uint64_t place : std::set<std::uint64_t>(places)) places.insert(place + 4);
  places.insert(apart);
  return {places.begin(), places.end()};
}

unsigned queues_after(const Dump& dump) {
  unsigned last = 0;
  for (const OutstandingRequest& r : dump) last = std::max(last, *r.qp_num);
  return last + 1;
}

constexpr Completion kNone = {Outcome::Unknown, ""};
constexpr Completion kRefused = {Outcome::Refused, "REM_ACCESS_ERR"};
using Completions = std::vector<Completion>;

/// Each of `dumps` with one more request, in every way that differs.
std::vector<Dump> longer(const std::vector<Dump>& dumps,
                         const std::vector<OutstandingRequest>& kinds,
                         const Completions& completions) {
  std::vector<Dump> all;
  for (const Dump& dump : dumps)
    for (const OutstandingRequest& kind : kinds) {
      if (is_renamed(dump, kind)) continue;
      for (const std::uint64_t place : places_after(dump, kind))
        for (unsigned queue = 1; queue <= queues_after(dump); ++queue)
          for (const Completion& completion : completions) {
            all.push_back(dump);
            all.back().push_back(with(at(place, kind), completion, queue, {}));
          }
    }
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
void try_contracts(const std::vector<Dump>& dumps, Tried& tried) {
  const std::vector<Contract> all = contracts();
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

void expect_no_difference(const Tried& tried) {
  ::testing::Test::RecordProperty("dumps", std::to_string(tried.dumps));
  ::testing::Test::RecordProperty("ruled", std::to_string(tried.found.ruled));
  ::testing::Test::RecordProperty("explored", std::to_string(tried.findings.size()));
  EXPECT_THAT(tried.found.differences, ::testing::IsEmpty());
  EXPECT_GT(tried.found.ruled, 0U);
}

TEST(RulesOfAll, DumpsOfOneAndTwo_AreWhatTheExplorerFindsForTheWhole) {
  const Completions completions = {kNone, kUnknown, kCompleted, kUnmodelled, kRefused};
  Tried tried;
  const auto ones = longer({{}}, kinds_by_name(), completions);
  try_contracts(ones, tried);
  try_contracts(longer(ones, kinds_by_name(), completions), tried);
  expect_no_difference(tried);
}

class RulesOfAllThat : public ::testing::TestWithParam<std::size_t> {};

TEST_P(RulesOfAllThat, BeginWithOneKind_AreWhatTheExplorerFindsForTheWhole) {
  const Completions completions = {kUnknown, kCompleted, kUnmodelled, kRefused};
  const std::vector<OutstandingRequest> kinds = kinds_by_name();
  Tried tried;
  const auto twos = longer(longer({{}}, {kinds[GetParam()]}, completions), kinds, completions);
  for (const OutstandingRequest& third : kinds)
    try_contracts(longer(twos, {third}, completions), tried);
  expect_no_difference(tried);
}

/// A CAS that swaps back comes first nowhere.
INSTANTIATE_TEST_SUITE_P(DumpsOfThree, RulesOfAllThat,
                         ::testing::Values(0U, 1U, 2U, 3U, 5U, 6U, 7U, 8U, 9U, 10U, 11U, 12U));

}  // namespace
}  // namespace portcullis::failover
