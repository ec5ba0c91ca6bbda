// SPDX-License-Identifier: BSD-3-Clause
//
// Every failure of every step of every plan, and every pair of failures, each in every way that a
// command can fail: what the fence answers, which bits it records, which path it names and what
// proves the memory. Expectations come from a table of words and from sets, written from the design
// and not from the fence. The device is a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lease/fence.hpp"
#include "tests/lease/noted_ports.hpp"
#include "tests/lease/scripted_function.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Answer;
using ::portcullis::testing::kNever;
using ::portcullis::testing::kRefused;
using ::portcullis::testing::NotedDropRule;
using ::portcullis::testing::NotedKeyFreer;
using ::portcullis::testing::ScriptedFunction;
using prm::Opcode;
using ::testing::IsEmpty;

/// What can go wrong. 2ERR_QP can go wrong twice, in the plan and on the ladder.
enum class Fault : std::uint8_t {
  Error1,
  Error2,
  Key,
  Rights,
  Drop,
  Umr,
  Reset,
  Destroy,
  Pd,
  Unmap,
  BusMaster,
  FunctionReset,
  TenantKey,
};
constexpr unsigned kFaults = 13;
constexpr std::array<const char*, kFaults> kFaultNames{"2ERR_QP",
                                                       "2ERR_QP again",
                                                       "DESTROY_MKEY",
                                                       "RTS2RTS_QP",
                                                       "DROP",
                                                       "UMR",
                                                       "2RST_QP",
                                                       "DESTROY_QP",
                                                       "DEALLOC_PD",
                                                       "unmap",
                                                       "bus master",
                                                       "reset",
                                                       "DESTROY_MKEY of the tenant"};
using Faults = std::set<Fault>;

/// How a command goes wrong.
constexpr std::array kWays{kRefused, Answer{.delivery_status = 1}, kNever};

constexpr std::array kOpcodeOf{Opcode::QP_2ERR,    Opcode::QP_2ERR,    Opcode::DESTROY_MKEY,
                               Opcode::RTS2RTS_QP, Opcode{},           Opcode{},
                               Opcode::QP_2RST,    Opcode::DESTROY_QP, Opcode::DEALLOC_PD};

struct Case {
  Plan plan;
  bool has_tenant_key = false;  // granted together with others, all of which are revoked
  bool may_reset = false;
  Faults faults = {};
  /// Of the faults in their order; those of the host have one way only.
  std::vector<Answer> ways = {};
};

std::string text_of(const Case& of) {
  std::string text = of.plan.full_name() + (of.has_tenant_key ? " with a tenant's key" : "") +
                     (of.may_reset ? ", reset allowed:" : ":");
  for (const Fault fault : of.faults)
    text += std::string(" ") + kFaultNames[static_cast<std::size_t>(fault)];
  return text;
}

/// Of the ways, the fault's own; success where it is not among the faults.
Answer answer_of(const Case& of, Fault fault) {
  const auto found = of.faults.find(fault);
  if (found == of.faults.end()) return {};
  return of.ways[static_cast<std::size_t>(std::distance(of.faults.begin(), found))];
}

/// The same opcode for both keys: legacy takes the lease's own first, indirect the tenant's.
void script_keys(const Case& of, ScriptedFunction& host) {
  const Answer own = answer_of(of, Fault::Key);
  const Answer tenants = answer_of(of, Fault::TenantKey);
  std::vector<Answer> order{own};
  if (of.has_tenant_key)
    order = of.plan.name == "legacy" ? std::vector{own, tenants} : std::vector{tenants, own};
  for (const Answer& answer : order) host.channel.answer(Opcode::DESTROY_MKEY, answer);
}

/// The plan run on a function where just these things go wrong; within its deadline.
Verdict run(const Case& of) {
  ScriptedFunction host;
  NotedDropRule drop;
  NotedKeyFreer umr;
  host.dma.refuse_unmap = false;
  DmaMemory region = DmaMemory::create(host.dma, kPageBytes).value();
  script_keys(of, host);
  for (const Fault fault : of.faults) {
    if (fault == Fault::Error2 && !of.faults.contains(Fault::Error1))
      host.channel.answer(Opcode::QP_2ERR, {});
    if (fault != Fault::Key &&
        (fault <= Fault::Rights || (fault >= Fault::Reset && fault <= Fault::Pd)))
      host.channel.answer(kOpcodeOf[static_cast<std::size_t>(fault)], answer_of(of, fault),
                          fault == Fault::Rights ? 2 : 1);
  }
  drop.refuse = of.faults.contains(Fault::Drop);
  umr.refuse = of.faults.contains(Fault::Umr);
  host.dma.refuse_unmap = of.faults.contains(Fault::Unmap);
  host.function.refuse_bus_master = of.faults.contains(Fault::BusMaster);
  host.function.refuse_reset = of.faults.contains(Fault::FunctionReset);

  const FencePort port{
      .device = &host.device, .commands = &host.channel, .steering = &drop, .umr = &umr};
  FenceTarget target{.slot = 3, .qpn = 1, .mkey_index = 2, .pdn = 3, .region = &region};
  if (of.has_tenant_key) target.absent = 0;
  Fence fence(port, of.plan, target, {.may_reset_function = of.may_reset});
  while (!fence.advance()) host.now_ns = fence.lingers_until_ns();
  EXPECT_LE(host.now_ns, ScriptedFunction::kStartNs + 800 * kNsPerMs) << text_of(of);
  host.dma.refuse_unmap = false;  // so that the region can go
  return fence.verdict(0);
}

// ---- what the design says, in sets ----

class Expectation {
 public:
  explicit Expectation(const Case& of) : of_(of) {}

  Verdict verdict() {
    Verdict verdict{.outcome = Outcome::TornDown, .proof = key_proof()};
    note_the_plans_own();
    const bool is_proved = verdict.proof != Proof::None;
    const bool is_key_dead = is_proved && !(needs_own_key() && fails(Fault::Key));
    const bool is_silenced = !is("drop-only") && !fails(Fault::Error1);
    const bool is_given_back = is_silenced && is_key_dead && give_back();
    if (!is_silenced) second_rung();
    if (!is_proved) verdict.proof = prove_otherwise();
    if (!is_silenced || !is_key_dead || (is("legacy") && !is_given_back)) {
      verdict.outcome = Outcome::Fenced;
      verdict.origin = is("legacy") ? Origin::Legacy : Origin::Revoke;
    }
    if (is("seed") || is("drop-only"))
      verdict.steering = fails(Fault::Drop) ? SteeringState::Degraded : SteeringState::Ok;
    verdict.failed_mask = mask_;
    return verdict;
  }

 private:
  [[nodiscard]] bool is(const char* name) const { return of_.plan.name == name; }
  [[nodiscard]] bool fails(Fault fault) const { return of_.faults.contains(fault); }
  /// Tries; a failure is recorded.
  bool works(Fault fault, unsigned bit_number) {
    if (fails(fault)) mask_ = static_cast<StepMask>(mask_ | 1U << bit_number);
    return !fails(fault);
  }

  [[nodiscard]] Proof key_proof() const {
    if (is("drop-only")) return Proof::None;
    if (has_tenant_step() && !fails(Fault::TenantKey)) return Proof::TenantMkey;
    if (is("umr") && !fails(Fault::Umr)) return Proof::Umr;
    if (!fails(Fault::Key)) return Proof::Mkey;
    return of_.has_tenant_key && !fails(Fault::TenantKey) ? Proof::TenantMkey : Proof::None;
  }
  [[nodiscard]] bool has_tenant_step() const { return is("indirect") && of_.has_tenant_key; }
  [[nodiscard]] bool needs_own_key() const {
    if (is("umr")) return fails(Fault::Umr);
    return !has_tenant_step() || fails(Fault::TenantKey);
  }
  void note_the_plans_own() {
    if (of_.has_tenant_key) works(Fault::TenantKey, 12);
    if (is("seed") || is("drop-only")) works(Fault::Drop, 2);
    if (is("umr")) works(Fault::Umr, 11);
    if (is("access-flags")) works(Fault::Rights, 8);
    if (!is("drop-only")) works(Fault::Error1, 0);
    if (!is("drop-only") && needs_own_key()) works(Fault::Key, 1);
  }
  /// Nothing is given back behind a failure.
  bool give_back() {
    return !is("legacy") || (works(Fault::Reset, 4) && works(Fault::Destroy, 5) &&
                             works(Fault::Pd, 6) && works(Fault::Unmap, 7));
  }
  void second_rung() {
    const Fault attempt = is("drop-only") ? Fault::Error1 : Fault::Error2;
    if (!works(attempt, 0)) works(Fault::Rights, 8);
  }
  Proof prove_otherwise() {
    if (works(Fault::Unmap, 7)) return Proof::Unmap;
    if (!of_.may_reset || !works(Fault::BusMaster, 9)) return Proof::None;
    works(Fault::FunctionReset, 10);
    return Proof::Function;
  }

  Case of_;
  StepMask mask_ = 0;
};

// ---- all of them ----

std::vector<Plan> every_plan() {
  std::vector<Plan> all(plans().begin(), plans().end());
  for (const Plan& plan : plans())
    if (const auto together = plan.overlapped()) all.push_back(*together);
  return all;
}

std::vector<Faults> singles_and_pairs() {
  std::vector<Faults> all{{}};
  for (unsigned a = 0; a < kFaults; ++a)
    for (unsigned b = a; b < kFaults; ++b) all.push_back({Fault(a), Fault(b)});
  return all;
}

std::vector<Case> every_case() {
  std::vector<Case> all;
  for (const Plan& plan : every_plan())
    for (const bool has_tenant_key : {false, true})
      for (const bool may_reset : {false, true})
        for (const Faults& faults : singles_and_pairs())
          for (const Answer& first : kWays)
            for (const Answer& second : kWays)
              if (!has_tenant_key || plan.has(Step::DestroyTenantKey))
                all.push_back({plan, has_tenant_key, may_reset, faults, {first, second}});
  return all;
}

TEST(FenceFailures, EverySingleAndPair_AnsweredAsTheDesignSays) {
  std::vector<std::string> wrong;
  const std::vector<Case> cases = every_case();
  for (const Case& one : cases) {
    const Verdict verdict = run(one);
    const Verdict expected = Expectation(one).verdict();
    if (verdict != expected)
      wrong.push_back(text_of(one) + ": " + describe(verdict) + "; expected " + describe(expected));
  }
  EXPECT_THAT(wrong, IsEmpty());
  EXPECT_EQ(cases.size(), 17u * 2 * 92 * 9);
}

TEST(FenceFailures, TornDownOnlyWithTheKeyDeadAndTheQpSilent) {
  std::vector<std::string> wrong;
  for (const Case& one : every_case()) {
    const Verdict verdict = run(one);
    const bool is_key_proved = verdict.proof == Proof::Mkey || verdict.proof == Proof::Umr ||
                               verdict.proof == Proof::TenantMkey;
    // All but the entry, the rights, the UMR and the tenant's key.
    const bool is_clean = (verdict.failed_mask & 0b0110'1111'1011) == 0;
    if (verdict.outcome == Outcome::TornDown && !(is_key_proved && is_clean))
      wrong.push_back(text_of(one));
  }
  EXPECT_THAT(wrong, IsEmpty());
}

// ---- the same by hand, where it matters most ----

struct Row {
  const char* plan;
  Faults faults;
  bool may_reset;
  const char* says;  // outcome, failed, origin, steering, what proves the memory
};

class FenceFailureRow : public ::testing::TestWithParam<Row> {};

TEST_P(FenceFailureRow, SaysSo) {
  const Row& row = GetParam();
  const Case one{parse_plan(row.plan).value(),
                 std::string_view(row.plan).starts_with("indirect"),
                 row.may_reset,
                 row.faults,
                 {kRefused, kRefused}};
  const Verdict verdict = run(one);
  std::string proof(name(verdict.proof));
  if (verdict.proof != Proof::None) proof.erase(0, std::string_view("proved by ").size());
  EXPECT_EQ(std::string(name(verdict.outcome)) + ", " + names(verdict.failed_mask) + ", " +
                std::string(name(verdict.origin)) + ", " + std::string(name(verdict.steering)) +
                ", " + proof,
            row.says);
}

std::vector<Row> rows() {
  using enum Fault;
  return {
      {"seed", {}, false, "TornDown, none, none, ok, DESTROY_MKEY"},
      {"seed", {Drop}, false, "TornDown, SET_FLOW_TABLE_ENTRY, none, degraded, DESTROY_MKEY"},
      {"seed", {Error1}, false, "Fenced, 2ERR_QP, REVOKE, ok, DESTROY_MKEY"},
      {"seed", {Key}, false, "Fenced, DESTROY_MKEY, REVOKE, ok, IOMMU unmap"},
      {"seed", {Error1, Key}, false, "Fenced, 2ERR_QP|DESTROY_MKEY, REVOKE, ok, IOMMU unmap"},
      {"seed", {Key, Unmap}, false, "Fenced, DESTROY_MKEY|unmap, REVOKE, ok, unproved"},
      {"seed", {Key, Unmap}, true, "Fenced, DESTROY_MKEY|unmap, REVOKE, ok, bus master off"},
      {"seed", {Unmap}, false, "TornDown, none, none, ok, DESTROY_MKEY"},
      {"nak-first", {Key}, false, "Fenced, DESTROY_MKEY, REVOKE, absent, IOMMU unmap"},
      {"nak-first", {Error1, Error2}, false, "Fenced, 2ERR_QP, REVOKE, absent, DESTROY_MKEY"},
      {"legacy", {Pd}, false, "Fenced, DEALLOC_PD, LEGACY, absent, DESTROY_MKEY"},
      {"legacy", {Reset, Destroy}, false, "Fenced, 2RST_QP, LEGACY, absent, DESTROY_MKEY"},
      {"legacy", {Unmap}, false, "Fenced, unmap, LEGACY, absent, DESTROY_MKEY"},
      {"umr", {}, false, "TornDown, none, none, absent, UMR"},
      {"umr", {Umr}, false, "TornDown, UMR, none, absent, DESTROY_MKEY"},
      {"umr", {Umr, Key}, false, "Fenced, DESTROY_MKEY|UMR, REVOKE, absent, IOMMU unmap"},
      {"umr", {Key}, false, "TornDown, none, none, absent, UMR"},
      {"access-flags", {Rights}, false, "TornDown, RTS2RTS_QP, none, absent, DESTROY_MKEY"},
      {"access-flags", {Key}, false, "Fenced, DESTROY_MKEY, REVOKE, absent, IOMMU unmap"},
      {"access-flags", {Error1, Error2}, false, "Fenced, 2ERR_QP, REVOKE, absent, DESTROY_MKEY"},
      {"indirect", {}, false, "TornDown, none, none, absent, DESTROY_MKEY of the tenant"},
      {"indirect", {Key}, false, "TornDown, none, none, absent, DESTROY_MKEY of the tenant"},
      {"indirect",
       {TenantKey},
       false,
       "TornDown, DESTROY_MKEY of the tenant, none, absent, DESTROY_MKEY"},
      {"indirect",
       {Key, TenantKey},
       false,
       "Fenced, DESTROY_MKEY|DESTROY_MKEY of the tenant, REVOKE, absent, IOMMU unmap"},
      {"indirect",
       {Error1, Error2},
       false,
       "Fenced, 2ERR_QP, REVOKE, absent, DESTROY_MKEY of the tenant"},
      {"drop-only", {}, false, "Fenced, none, REVOKE, ok, IOMMU unmap"},
      {"drop-only",
       {Drop, Unmap},
       false,
       "Fenced, SET_FLOW_TABLE_ENTRY|unmap, REVOKE, degraded, unproved"},
      {"drop-only", {Unmap, BusMaster}, true, "Fenced, unmap|bus master off, REVOKE, ok, unproved"},
  };
}

INSTANTIATE_TEST_SUITE_P(ByHand, FenceFailureRow, ::testing::ValuesIn(rows()));

}  // namespace
}  // namespace portcullis::lease
