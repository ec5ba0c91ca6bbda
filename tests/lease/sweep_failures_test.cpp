// SPDX-License-Identifier: BSD-3-Clause
//
// Every failure of every step of the deferred phase and every pair of them, behind each plan that
// has one, with and without a best-effort step lost before: where the slot ends, with which bits,
// which origin and which proof. The device is a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "tests/lease/manager_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Answer;
using ::portcullis::testing::kNever;
using ::portcullis::testing::kRefused;
using ::portcullis::testing::ManagerWorld;
using ::portcullis::testing::NotedKeyFreer;
using prm::Opcode;

/// A step of the deferred phase in its order, with what makes it fail.
struct Swept {
  Step step;
  Opcode opcode;  // 0 where it is no command
};
constexpr std::array kSwept{
    Swept{Step::RemoveDrop, {}},
    Swept{Step::ResetQp, Opcode::QP_2RST},
    Swept{Step::DestroyQp, Opcode::DESTROY_QP},
    Swept{Step::DestroyMkey, Opcode::DESTROY_MKEY},
    Swept{Step::DeallocPd, Opcode::DEALLOC_PD},
    Swept{Step::UnmapRegion, {}},
};

struct Case {
  const char* plan;
  bool loses_its_best_effort = false;
  std::set<std::size_t> failing;  // of kSwept
  Answer way;
};

void PrintTo(const Case& of, std::ostream* out) {
  *out << of.plan << (of.loses_its_best_effort ? " with its best effort lost" : "") << ':';
  for (const std::size_t at : of.failing) *out << ' ' << name(kSwept.at(at).step);
}

class SweepFailures : public ManagerWorld, public ::testing::WithParamInterface<Case> {
 protected:
  [[nodiscard]] bool has_plan(std::string_view plan) const {
    return std::string_view(GetParam().plan).starts_with(plan);
  }
  /// What the deferred phase has to do behind this plan.
  [[nodiscard]] bool sweeps(Step step) const {
    if (step == Step::RemoveDrop) return has_plan("seed");
    if (step == Step::DestroyMkey) return has_plan("umr") && !GetParam().loses_its_best_effort;
    return true;
  }
  [[nodiscard]] StepMask best_effort() const {
    if (!GetParam().loses_its_best_effort) return 0;
    if (has_plan("seed")) return bit(Step::InstallDrop);
    if (has_plan("umr")) return bit(Step::FreeKey);
    return has_plan("access-flags") ? bit(Step::ClearRights) : StepMask{0};
  }
  void let_fail_before() {
    drop.refuse = umr.refuse = GetParam().loses_its_best_effort;
    if (GetParam().loses_its_best_effort) function.channel.answer(Opcode::RTS2RTS_QP, kRefused);
  }
  void let_fail_behind() {
    function.channel.answers.clear();
    for (const std::size_t at : GetParam().failing) {
      const Swept& swept = kSwept.at(at);
      if (swept.step == Step::RemoveDrop) drop.refuse_remove = true;
      if (swept.step == Step::UnmapRegion) function.dma.refuse_unmap = true;
      if (swept.opcode != Opcode{}) function.channel.answer(swept.opcode, GetParam().way);
    }
  }
  /// The first step that is both to be done and failing; none: FREE.
  [[nodiscard]] std::optional<Step> first_failure() const {
    for (const std::size_t at : GetParam().failing)
      if (sweeps(kSwept.at(at).step)) return kSwept.at(at).step;
    return std::nullopt;
  }

  NotedKeyFreer umr;
};

TEST_P(SweepFailures, EndsFreeOrFencedAtTheFirstFailure) {
  host.steering = &drop;
  host.umr = &umr;
  start({.plan = parse_plan(GetParam().plan).value()});
  let_fail_before();
  const Verdict immediate = revoke(first.lease).verdict;
  ASSERT_EQ(immediate.outcome, Outcome::TornDown);
  ASSERT_EQ(immediate.failed_mask, best_effort());
  let_fail_behind();
  for (std::uint64_t at_ms = 6'000; at_ms <= 60'000; at_ms += 1'000) poll_at(at_ms);

  Verdict expected = immediate;
  const auto failed = first_failure();
  if (failed) {
    expected.outcome = Outcome::Fenced;
    expected.origin = Origin::Sweep;
    expected.failed_mask = static_cast<StepMask>(expected.failed_mask | bit(*failed));
  }
  EXPECT_EQ(state(first.lease), failed ? State::Fenced : State::Free);
  EXPECT_EQ(describe(manager->table().verdict(first.lease.slot)), describe(expected));
  function.dma.refuse_unmap = false;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* plan : {"seed", "nak-first", "umr", "access-flags", "indirect", "seed+overlap"})
    for (const bool loses : {false, true})
      for (std::size_t a = 0; a < kSwept.size(); ++a)
        for (std::size_t b = a; b < kSwept.size(); ++b)
          for (const Answer& way : {kRefused, kNever}) all.push_back({plan, loses, {a, b}, way});
  return all;
}

INSTANTIATE_TEST_SUITE_P(SinglesAndPairs, SweepFailures, ::testing::ValuesIn(cases()));

}  // namespace
}  // namespace portcullis::lease
