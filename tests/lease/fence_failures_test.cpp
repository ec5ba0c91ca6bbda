// SPDX-License-Identifier: BSD-3-Clause
//
// Every failure of every step of every plan, and every pair of failures, each in every way that a
// command can fail, for a lease alone and for two that were granted together: what the fence
// answers, which bits it records, which path it names, what proves the memory, and that no
// protection domain goes while something in it may be left. Expectations come from a table of words
// and from sets, written from the design and not from the fence. The device is a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lease/fence.hpp"
#include "tests/lease/noted_ports.hpp"
#include "tests/lease/scripted_function.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Answer;
using ::portcullis::testing::FakeDmaSpace;
using ::portcullis::testing::kNever;
using ::portcullis::testing::kRefused;
using ::portcullis::testing::NotedDropRule;
using ::portcullis::testing::NotedKeyFreer;
using ::portcullis::testing::ScriptedFunction;
using ::portcullis::testing::Sent;
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
  Entry,
};
constexpr unsigned kFaults = 14;
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
                                                       "DESTROY_MKEY of the tenant",
                                                       "the entry from the grant on"};
/// Those that each lease of a group can meet by itself; the others are of all of them.
constexpr std::array kFaultsOfOne{Fault::Error1, Fault::Error2,  Fault::Key,  Fault::Rights,
                                  Fault::Reset,  Fault::Destroy, Fault::Unmap};

bool is_of_one(Fault fault) { return std::ranges::find(kFaultsOfOne, fault) != kFaultsOfOne.end(); }

/// Where something goes wrong; what is of all leases stands with the first.
struct Place {
  Fault fault{};
  unsigned member = 0;
  auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr): the 0 of "< 0"
};
/// How it goes wrong there; a fault of the host has one way only.
using Faults = std::map<Place, Answer>;

/// How a command goes wrong.
constexpr std::array kWays{kRefused, Answer{.delivery_status = 1}, kNever};

constexpr unsigned kMostMembers = 2;
constexpr std::uint32_t kFirstQpn = 10;
constexpr std::uint32_t kFirstKey = 20;
constexpr std::uint32_t kTenantKey = 30;
constexpr std::uint32_t kPdn = 40;

struct Case {
  Plan plan;
  unsigned members = 1;         // granted together when there are more
  bool has_tenant_key = false;  // granted together with others, all of which are revoked
  bool may_reset = false;
  Faults faults = {};
};

std::string text_of(const Case& of) {
  std::string text = of.plan.full_name() + (of.has_tenant_key ? " with a tenant's key" : "") +
                     (of.may_reset ? ", reset allowed:" : ":");
  for (const auto& [place, way] : of.faults)
    text += std::string(" ") + kFaultNames[static_cast<std::size_t>(place.fault)] + " of " +
            std::to_string(place.member) + (way.never ? " never" : "");
  return text;
}

/// The command that a fault is of, and its object; none for what is no command.
std::optional<std::pair<Opcode, std::uint32_t>> command_of(const Place& place) {
  switch (place.fault) {
    case Fault::Error1:
    case Fault::Error2:
      return std::pair(Opcode::QP_2ERR, kFirstQpn + place.member);
    case Fault::Key:
      return std::pair(Opcode::DESTROY_MKEY, kFirstKey + place.member);
    case Fault::Rights:
      return std::pair(Opcode::RTS2RTS_QP, kFirstQpn + place.member);
    case Fault::Reset:
      return std::pair(Opcode::QP_2RST, kFirstQpn + place.member);
    case Fault::Destroy:
      return std::pair(Opcode::DESTROY_QP, kFirstQpn + place.member);
    case Fault::Pd:
      return std::pair(Opcode::DEALLOC_PD, kPdn);
    case Fault::TenantKey:
      return std::pair(Opcode::DESTROY_MKEY, kTenantKey);
    default:
      return std::nullopt;
  }
}

void script(const Case& of, ScriptedFunction& host) {
  for (const auto& [place, way] : of.faults) {
    const auto command = command_of(place);
    if (!command) continue;
    if (place.fault == Fault::Error2 && !of.faults.contains({Fault::Error1, place.member}))
      host.channel.answer_on(command->first, command->second, {});
    host.channel.answer_on(command->first, command->second, way,
                           place.fault == Fault::Rights ? 2 : 1);
  }
}

/// When the domain goes, the device has said of everything in it that it is gone.
void watch_the_domain(const Case& of, ScriptedFunction& host) {
  host.channel.on_submit = [&of, &host](const Sent& command) {
    if (command.opcode != Opcode::DEALLOC_PD) return;
    const auto gone = std::ranges::count_if(host.channel.sent, [](const Sent& one) {
      return one.succeeded &&
             (one.opcode == Opcode::DESTROY_QP || one.opcode == Opcode::DESTROY_MKEY);
    });
    EXPECT_EQ(gone, 2 * of.members + (of.has_tenant_key ? 1 : 0)) << text_of(of);
  };
}

FenceTarget target_of(const Case& of, unsigned member, DmaMemory& region) {
  FenceTarget target{.slot = 3 + member,
                     .qpn = prm::QpNumber{kFirstQpn + member},
                     .mkey_index = prm::MkeyIndex{kFirstKey + member},
                     .pdn = prm::PdNumber{kPdn},
                     .group = of.members > 1 ? 1U : 0U,
                     .tenant_mkey_index = prm::MkeyIndex{kTenantKey},
                     .region = &region};
  target.note_made(bit(Step::RemoveDrop));
  if (of.has_tenant_key) target.note_made(bit(Step::DestroyTenantKey));
  return target;
}

/// The plan run on a function where just these things go wrong; within its deadline.
std::vector<Verdict> run(const Case& of) {
  ScriptedFunction host;
  NotedDropRule drop;
  NotedKeyFreer umr;
  std::array<FakeDmaSpace, kMostMembers> spaces;
  std::vector<DmaMemory> regions;
  for (unsigned i = 0; i < of.members; ++i) {
    regions.push_back(DmaMemory::create(spaces[i], kPageBytes).value());
    spaces[i].refuse_unmap = of.faults.contains({Fault::Unmap, i});
  }
  script(of, host);
  watch_the_domain(of, host);
  drop.refuse = of.faults.contains({Fault::Drop});
  drop.refuse_remove = of.faults.contains({Fault::Entry});
  umr.refuse = of.faults.contains({Fault::Umr});
  host.function.refuse_bus_master = of.faults.contains({Fault::BusMaster});
  host.function.refuse_reset = of.faults.contains({Fault::FunctionReset});

  const FencePort port{
      .device = &host.device, .commands = &host.channel, .steering = &drop, .umr = &umr};
  std::vector<FenceTarget> targets;
  for (unsigned i = 0; i < of.members; ++i) targets.push_back(target_of(of, i, regions[i]));
  Fence fence(port, of.plan, targets, {.may_reset_function = of.may_reset});
  while (!fence.advance()) host.now_ns = fence.lingers_until_ns();
  EXPECT_LE(host.now_ns, ScriptedFunction::kStartNs + 800 * kNsPerMs) << text_of(of);
  for (FakeDmaSpace& space : spaces) space.refuse_unmap = false;  // so that the regions can go
  std::vector<Verdict> verdicts;
  for (unsigned i = 0; i < of.members; ++i) verdicts.push_back(fence.verdict(i));
  return verdicts;
}

// ---- what the design says, in sets ----

/// Of one lease.
class Expectation {
 public:
  Expectation(const Case& of, unsigned member) : of_(of), member_(member) {}

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
  [[nodiscard]] bool fails(Fault fault) const { return fails(fault, member_); }
  [[nodiscard]] bool fails(Fault fault, unsigned member) const {
    return of_.faults.contains({fault, is_of_one(fault) ? member : 0});
  }
  /// Tries; a failure is recorded.
  bool works(Fault fault, unsigned bit_number) {
    if (fails(fault)) mask_ = static_cast<StepMask>(mask_ | 1U << bit_number);
    return !fails(fault);
  }

  [[nodiscard]] bool takes_tenant_key() const {
    return of_.has_tenant_key && (is("indirect") || is("legacy"));
  }
  [[nodiscard]] bool rests_on_tenant_key() const { return is("indirect") && takes_tenant_key(); }
  [[nodiscard]] Proof key_proof() const {
    if (is("drop-only")) return Proof::None;
    if (rests_on_tenant_key() && !fails(Fault::TenantKey)) return Proof::TenantMkey;
    if (is("umr") && !fails(Fault::Umr)) return Proof::Umr;
    if (!fails(Fault::Key)) return Proof::Mkey;
    return takes_tenant_key() && !fails(Fault::TenantKey) ? Proof::TenantMkey : Proof::None;
  }
  [[nodiscard]] bool needs_own_key() const {
    if (is("umr")) return fails(Fault::Umr);
    return !rests_on_tenant_key() || fails(Fault::TenantKey);
  }
  void note_the_plans_own() {
    if (takes_tenant_key()) works(Fault::TenantKey, 12);
    if (is("seed") || is("drop-only")) works(Fault::Drop, 2);
    if (is("umr")) works(Fault::Umr, 11);
    if (is("access-flags")) works(Fault::Rights, 8);
    if (!is("drop-only")) works(Fault::Error1, 0);
    if (!is("drop-only") && needs_own_key()) works(Fault::Key, 1);
  }
  /// Nothing is given back behind a failure: not the tenant's key either, which no sweep takes
  /// again. The domain stays when another lease has kept something in it, and that is no failure.
  bool give_back() {
    if (!is("legacy")) return true;
    const bool is_own_gone = works(Fault::Entry, 3) && works(Fault::Reset, 4) &&
                             works(Fault::Destroy, 5) &&
                             !(takes_tenant_key() && fails(Fault::TenantKey));
    return is_own_gone && (is_domain_kept() || works(Fault::Pd, 6)) && works(Fault::Unmap, 7);
  }
  [[nodiscard]] bool is_domain_kept() const {
    for (unsigned other = 0; other < of_.members; ++other)
      for (const Fault fault : {Fault::Error1, Fault::Key, Fault::Reset, Fault::Destroy})
        if (other != member_ && fails(fault, other)) return true;
    return false;
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
  unsigned member_;
  StepMask mask_ = 0;
};

// ---- all of them ----

std::vector<Plan> every_plan() {
  std::vector<Plan> all(plans().begin(), plans().end());
  for (const Plan& plan : plans())
    if (const auto together = plan.overlapped()) all.push_back(*together);
  return all;
}

std::vector<Faults> singles_and_pairs(const std::vector<Place>& places) {
  std::vector<Faults> all;
  for (const Answer& first : kWays)
    for (const Answer& second : kWays) {
      all.emplace_back();
      for (auto a = places.begin(); a != places.end(); ++a)
        for (auto b = a; b != places.end(); ++b) all.push_back({{*a, first}, {*b, second}});
    }
  return all;
}

/// Of a lease alone.
std::vector<Place> places_of_one() {
  std::vector<Place> all;
  for (unsigned fault = 0; fault < kFaults; ++fault) all.push_back({Fault(fault)});
  return all;
}

/// Of two leases, the device and the host.
std::vector<Place> places_of_two() {
  std::vector<Place> all{
      {Fault::Drop}, {Fault::Umr}, {Fault::Pd}, {Fault::TenantKey}, {Fault::Entry}};
  for (const Fault fault : kFaultsOfOne)
    for (unsigned member = 0; member < 2; ++member) all.push_back({fault, member});
  return all;
}

std::vector<Case> every_case() {
  std::vector<Case> all;
  const auto of_one = singles_and_pairs(places_of_one());
  const auto of_two = singles_and_pairs(places_of_two());
  for (const Plan& plan : every_plan()) {
    for (const bool has_tenant_key : {false, true})
      for (const bool may_reset : {false, true})
        for (const Faults& faults : of_one)
          if (!has_tenant_key || plan.has(Step::DestroyTenantKey))
            all.push_back({plan, 1, has_tenant_key, may_reset, faults});
    for (const Faults& faults : of_two) all.push_back({plan, 2, true, false, faults});
  }
  return all;
}

TEST(FenceFailures, EverySingleAndPair_AnsweredAsTheDesignSays) {
  std::vector<std::string> wrong;
  const std::vector<Case> cases = every_case();
  for (const Case& one : cases) {
    const std::vector<Verdict> verdicts = run(one);
    for (unsigned i = 0; i < one.members; ++i) {
      const Verdict expected = Expectation(one, i).verdict();
      if (verdicts[i] != expected)
        wrong.push_back(text_of(one) + ": lease " + std::to_string(i) + " " +
                        describe(verdicts[i]) + "; expected " + describe(expected));
    }
  }
  EXPECT_THAT(wrong, IsEmpty());
  EXPECT_EQ(cases.size(), 9u * (17u * 2 * 106 + 13u * 191));
}

/// Steps of which nothing is left when they fail: the entry, the rights and the UMR; the tenant's
/// key where a sweep follows, which takes it again.
StepMask harmless_in(const Plan& plan) { return plan.name == "legacy" ? 0x904 : 0x1904; }

TEST(FenceFailures, TornDownOnlyWithTheKeyDeadAndTheQpSilent) {
  std::vector<std::string> wrong;
  for (const Case& one : every_case()) {
    for (const Verdict& verdict : run(one)) {
      const bool is_key_proved = verdict.proof == Proof::Mkey || verdict.proof == Proof::Umr ||
                                 verdict.proof == Proof::TenantMkey;
      const bool is_clean = (verdict.failed_mask & ~harmless_in(one.plan)) == 0;
      if (verdict.outcome == Outcome::TornDown && !(is_key_proved && is_clean))
        wrong.push_back(text_of(one));
    }
  }
  EXPECT_THAT(wrong, IsEmpty());
}

// ---- the same by hand, where it matters most ----

struct Row {
  const char* plan;
  std::set<Fault> faults;
  bool may_reset;
  const char* says;  // outcome, failed, origin, steering, what proves the memory
};

class FenceFailureRow : public ::testing::TestWithParam<Row> {};

TEST_P(FenceFailureRow, SaysSo) {
  const Row& row = GetParam();
  const bool has_tenant_key =
      std::string_view(row.plan) == "indirect" || row.faults.contains(Fault::TenantKey);
  Case one{parse_plan(row.plan).value(), 1, has_tenant_key, row.may_reset, {}};
  for (const Fault fault : row.faults) one.faults[{fault}] = kRefused;
  const Verdict verdict = run(one).front();
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
      {"legacy", {Entry}, false, "Fenced, DELETE_FLOW_TABLE_ENTRY, LEGACY, absent, DESTROY_MKEY"},
      {"legacy", {Pd}, false, "Fenced, DEALLOC_PD, LEGACY, absent, DESTROY_MKEY"},
      {"legacy", {Reset, Destroy}, false, "Fenced, 2RST_QP, LEGACY, absent, DESTROY_MKEY"},
      {"legacy", {Unmap}, false, "Fenced, unmap, LEGACY, absent, DESTROY_MKEY"},
      {"legacy",
       {TenantKey, Pd},
       false,
       "Fenced, DESTROY_MKEY of the tenant, LEGACY, absent, DESTROY_MKEY"},
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
