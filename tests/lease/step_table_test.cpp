// SPDX-License-Identifier: BSD-3-Clause
//
// The table of fence steps, row by row: what each sends or does, what it proves, and what may rest
// on it.
#include "lease/step_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "lease/fence_plan.hpp"
#include "prm/opcodes.hpp"
#include "tests/lease/noted_ports.hpp"
#include "tests/lease/scripted_function.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::NotedDropRule;
using ::portcullis::testing::NotedKeyFreer;
using ::portcullis::testing::ScriptedFunction;
using ::testing::ElementsAre;
using ::testing::SizeIs;

/// A step, and all that carrying it out comes to.
struct Carried {
  Step step;
  std::string does;
  Proof proves = Proof::None;
};

void PrintTo(const Carried& of, std::ostream* out) { *out << name(of.step); }

class EveryStep : public ::testing::TestWithParam<Carried> {
 protected:
  /// By its row alone.
  std::string carry_out(const StepRow& how) {
    const bool is_done =
        how.is_command()
            ? how.submit(function.channel, target, pmd::SlotClass::Fence).has_value()
            : how.act({.port = &port, .target = &target, .is_key_dead = true, .until_ns = kUntilNs})
                  .has_value();
    return is_done ? seen() : "refused";
  }
  std::string seen() const {
    std::string text;
    for (const auto& sent : function.channel.sent)
      text += std::string(prm::name(sent.opcode)) + " of " + std::to_string(sent.id);
    for (const std::string& done : function.function.done) text += done;
    for (const std::uint32_t slot : steering.installed) text += "entry " + std::to_string(slot);
    for (const std::uint32_t slot : steering.removed) text += "no entry " + std::to_string(slot);
    for (const prm::Rkey key : umr.freed) text += "UMR of " + std::to_string(prm::number(key));
    return text + (region.is_mapped() ? "" : "unmapped");
  }

  static constexpr std::uint64_t kUntilNs = 2 * ScriptedFunction::kStartNs;

  ScriptedFunction function;
  NotedDropRule steering;
  NotedKeyFreer umr;
  DmaMemory region = DmaMemory::create(function.dma, kPageBytes).value();
  FenceTarget target{.slot = 5,
                     .qpn = prm::QpNumber{11},
                     .mkey_index = prm::MkeyIndex{22},
                     .key = prm::Rkey{5632},
                     .pdn = prm::PdNumber{33},
                     .tenant_mkey_index = prm::MkeyIndex{44},
                     .region = &region};
  FencePort port{.device = &function.device,
                 .commands = &function.channel,
                 .steering = &steering,
                 .umr = &umr};
};

TEST_P(EveryStep, CarriedOutByItsRow_DoesThatAndNothingElse) {
  function.forget();
  EXPECT_EQ(carry_out(row(GetParam().step)), GetParam().does);
}

TEST_P(EveryStep, ItsRow_StandsForItAndProvesNoMore) {
  EXPECT_EQ(row(GetParam().step).step, GetParam().step);
  EXPECT_EQ(row(GetParam().step).proves, GetParam().proves);
}

const std::vector<Carried> every_step{
    {Step::ErrorQp, "2ERR_QP of 11"},
    {Step::DestroyMkey, "DESTROY_MKEY of 22", Proof::Mkey},
    {Step::InstallDrop, "entry 5"},
    {Step::RemoveDrop, "no entry 5"},
    {Step::ResetQp, "2RST_QP of 11"},
    {Step::DestroyQp, "DESTROY_QP of 11"},
    {Step::DeallocPd, "DEALLOC_PD of 33"},
    {Step::UnmapRegion, "unmapped", Proof::Unmap},
    {Step::ClearRights, "RTS2RTS_QP of 11"},
    {Step::BusMasterOff, "bus master off", Proof::Function},
    {Step::ResetFunction, "reset"},
    {Step::FreeKey, "UMR of 5632", Proof::Umr},
    {Step::DestroyTenantKey, "DESTROY_MKEY of 44", Proof::TenantMkey},
};
INSTANTIATE_TEST_SUITE_P(OfTheTable, EveryStep, ::testing::ValuesIn(every_step));

TEST(StepTable, EveryCommandWithANumberTooWide_RefusedAndNotSent) {
  ScriptedFunction function;
  const FenceTarget wide{.qpn = prm::QpNumber{1U << 24},
                         .mkey_index = prm::MkeyIndex{1U << 24},
                         .pdn = prm::PdNumber{1U << 24},
                         .tenant_mkey_index = prm::MkeyIndex{1U << 24}};
  for (const StepRow& row : step_rows())
    EXPECT_FALSE(row.is_command() && row.submit(function.channel, wide, pmd::SlotClass::Fence))
        << row.name;
  EXPECT_THAT(function.channel.sent, SizeIs(0));
}

template <class Holds>
std::vector<Step> where(Holds holds) {
  std::vector<Step> steps;
  for (const StepRow& row : step_rows())
    if (holds(row)) steps.push_back(row.step);
  return steps;
}

TEST(StepTable, Tests_CoverEveryRow) { EXPECT_THAT(every_step, SizeIs(step_rows().size())); }

TEST(StepTable, Names_DifferAll) {
  std::set<std::string_view> names;
  for (const StepRow& row : step_rows()) names.insert(row.name);
  EXPECT_THAT(names, SizeIs(step_rows().size()));
}

TEST(StepTable, GivenBack_WhatCouldStillBeInUse) {
  EXPECT_THAT(where([](const StepRow& row) { return row.gives_back; }),
              ElementsAre(Step::RemoveDrop, Step::ResetQp, Step::DestroyQp, Step::DeallocPd,
                          Step::UnmapRegion));
}

TEST(StepTable, Shared_DomainAndTenantsKey) {
  EXPECT_THAT(where([](const StepRow& row) { return row.is_shared; }),
              ElementsAre(Step::DeallocPd, Step::DestroyTenantKey));
}

TEST(StepTable, AfterWhichTheQpRefuses_KeysAndRights) {
  EXPECT_THAT(
      where([](const StepRow& row) { return row.makes_qp_refuse; }),
      ElementsAre(Step::DestroyMkey, Step::ClearRights, Step::FreeKey, Step::DestroyTenantKey));
}

TEST(StepTable, BestEffort_AndTheTenantsKeyWhereASweepFollows) {
  EXPECT_EQ(names(best_effort_steps(/*is_swept_later=*/false)),
            "SET_FLOW_TABLE_ENTRY|RTS2RTS_QP|UMR");
  EXPECT_EQ(names(best_effort_steps(/*is_swept_later=*/true)),
            "SET_FLOW_TABLE_ENTRY|RTS2RTS_QP|UMR|DESTROY_MKEY of the tenant");
}

TEST(StepTable, Subjects_EveryStepOfOneIsOnIt) {
  EXPECT_EQ(names(steps_on(Subject::Qp)), "2ERR_QP|2RST_QP|DESTROY_QP|RTS2RTS_QP");
  EXPECT_EQ(names(steps_on(Subject::Key)), "DESTROY_MKEY|UMR");
  EXPECT_EQ(names(steps_on(Subject::Always)), "SET_FLOW_TABLE_ENTRY|bus master off|function reset");
}

TEST(StepTable, NoStep_HasNoName) { EXPECT_EQ(name(Step::End), "unknown step"); }

}  // namespace
}  // namespace portcullis::lease
