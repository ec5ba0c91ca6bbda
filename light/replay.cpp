// SPDX-License-Identifier: BSD-3-Clause
#include "light/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "light/late.hpp"
#include "light/revoke_steps.hpp"
#include "pmd/port.hpp"

namespace portcullis::light {
namespace {

using Words = std::vector<std::string>;

/// Most that the model's switch takes.
constexpr std::uint64_t kMostDataPathNs = 60 * kNsPerSecond;
constexpr std::uint64_t kMostCacheMs = 600'000;

template <class Fact>
const Fact* find(const std::vector<Fact>& all, std::string Fact::*member, std::string_view name) {
  const auto found = std::ranges::find(all, name, member);
  return found == all.end() ? nullptr : &*found;
}

std::uint64_t whole_ms(std::uint64_t ns) { return (ns + kNsPerMs / 2) / kNsPerMs; }

/// An entry that was made in an order that shows it: the table is in the path, and this one stops
/// nothing.
bool is_inert(const Facts& facts, std::string_view shape) {
  const auto* const entry = find(facts.entries, &EntryFact::shape, shape);
  return entry != nullptr && entry->is_installed && entry->refusal.empty() && !entry->stops_new;
}

bool is_rdma_rx_in_path(const Facts& facts) {
  const auto* const catchall = find(facts.probes, &ProbeFact::probe, "rdma-rx-catchall-drop");
  return (catchall != nullptr && catchall->as_seen) ||
         std::ranges::any_of(facts.entries, [](const EntryFact& entry) {
           return entry.stops_new && entry.recovers;
         });
}

/// Something was asked that would have shown it, and nothing answered.
bool is_path_unlearnt(const Facts& facts) {
  const auto* const catchall = find(facts.probes, &ProbeFact::probe, "rdma-rx-catchall-drop");
  const bool is_answered = catchall != nullptr && catchall->refusal.empty();
  return !is_answered && !is_rdma_rx_in_path(facts) &&
         std::ranges::any_of(facts.entries, [](const EntryFact& entry) {
           return entry.is_installed && !entry.refusal.empty();
         });
}

void add_steering(const Facts& facts, const trace::ProfileBuilder& commands, Words& words) {
  const bool is_in_path = is_rdma_rx_in_path(facts);
  if (is_in_path) words.emplace_back("rdma-rx-in-path");
  const auto* const nic = find(facts.probes, &ProbeFact::probe, "nic-rx-drop");
  if (facts.device.is_ethernet && nic != nullptr && nic->as_seen)
    words.emplace_back("nic-rx-bypassed-for-roce");
  const auto* const table = find(facts.probes, &ProbeFact::probe, "rdma-rx-ft");
  if (table != nullptr && table->verdict.starts_with("a SILENT NULL"))
    words.emplace_back("rdma-rx-silent-null");
  if (is_in_path && is_inert(facts, "dst-qp")) words.emplace_back("dst-qp-inert");
  const auto* const opcode = find(facts.entries, &EntryFact::shape, "opcode");
  const auto* const flow = find(facts.entries, &EntryFact::shape, "client-flow");
  if (opcode != nullptr && flow != nullptr && flow->is_offered && !opcode->is_offered)
    words.emplace_back("no-bth-opcode");
  else if (is_in_path && is_inert(facts, "opcode"))
    words.emplace_back("bth-opcode-not-parsed");
  const bool is_passed_by_running = std::ranges::any_of(facts.entries, [](const auto& entry) {
    return entry.stops_new && entry.recovers && !entry.stops_running;
  });
  if (is_passed_by_running) words.emplace_back("hot-qp-ignores-new-rules");
  if (commands.entries_in_the_way() != 0) words.emplace_back("no-occupied-index");
}

bool wrote_late(const Facts& facts, std::string_view plan) {
  const auto* const audit = find(facts.audits, &AuditFact::plan, plan);
  return audit != nullptr && audit->late_writes != 0;
}

/// As loopback has it, for all that the model knows: a round trip there is one way.
std::uint64_t path_of(const Facts& facts) {
  return std::min(facts.loopback.median_ns, kMostDataPathNs);
}

/// The model's dispatch cache, which begins with 2ERR_QP, does the same: the device served behind
/// the outcome. What is late by less was on its way.
bool is_of_cache(const Facts& facts, const LateRegions& late) {
  return late.is_silenced_first && late.is_served(path_of(facts));
}

/// What changed behind an outcome changes in the model too, whatever the audit met.
bool changed_late(const Facts& facts, KeyStep key_step) {
  return std::ranges::any_of(late_regions(facts), [&](const LateRegions& late) {
    return late.key_step == key_step && !is_of_cache(facts, late);
  });
}

/// Where no loopback was asked, so much later than its key check memory was touched at least; 0:
/// nothing on its way was late.
std::uint64_t late_on_its_way_ns(const Facts& facts) {
  constexpr std::uint64_t kAssumedNs = 1000;  // an audit does not say how late
  const bool is_audited_late = std::ranges::any_of(facts.audits, [](const AuditFact& audit) {
    return audit.late_writes + audit.late_reads != 0;
  });
  std::uint64_t most_ns = is_audited_late ? kAssumedNs : 0;
  for (const LateRegions& late : late_regions(facts))
    if (!is_of_cache(facts, late))
      most_ns = std::max(most_ns, std::clamp<std::uint64_t>(late.late_ns, 1, kMostDataPathNs));
  return most_ns;
}

/// Which of the promises are kept.
void add_promises(const Facts& facts, Words& words) {
  if (wrote_late(facts, "nak-first") || changed_late(facts, KeyStep::Destroy))
    words.emplace_back("a1-off");
  if (wrote_late(facts, "umr") || changed_late(facts, KeyStep::Umr)) words.emplace_back("a2-off");
  if (changed_late(facts, KeyStep::None)) words.emplace_back("a5-off");
  if (wrote_late(facts, "indirect") || changed_late(facts, KeyStep::DestroyAll))
    words.emplace_back("a6-off");
  // Where WRITEs are not late either the fence waits for them, and for READs it does not.
  const bool reads_alone = std::ranges::any_of(facts.audits, [](const AuditFact& audit) {
    return audit.late_reads != 0 && audit.late_writes == 0;
  });
  if (reads_alone) words.emplace_back("read-untracked");
}

/// What a client of step plans that met silence says of requesters, where the floor says nothing.
void add_patience_of_plans(const Facts& facts, std::uint64_t before_ns, Words& words) {
  constexpr std::int64_t kRetryExceeded = 12;
  constexpr double kTicks = 4096.0 * (kPlanRetry + 1);  // of a budget with timeout 0
  constexpr double kNear = 0.03;
  const auto silent = std::ranges::find_if(facts.plans, [](const PlanFact& plan) {
    return plan.status == kRetryExceeded && plan.failed_clients != 0;
  });
  if (silent == facts.plans.end() || silent->client_median_ns <= before_ns) return;
  const auto took = static_cast<double>(silent->client_median_ns - before_ns);
  const double exponent = std::round(std::log2(took / kTicks));
  if (exponent <= kPlanTimeout) return;
  const double budget = std::ldexp(kTicks, static_cast<int>(exponent));
  words.push_back(std::abs(took - budget) <= kNear * budget
                      ? fmt::format("min-ack-timeout={:.0f}", exponent)
                      : fmt::format("retx-total={}", whole_ms(static_cast<std::uint64_t>(took))));
}

/// A client of plan seed heard from the device behind 2ERR_QP, and then that the key has gone.
bool is_nak_behind_error(const Facts& facts) {
  constexpr std::int64_t kRemoteAccess = 10;
  const auto* const seed = find(facts.plans, &PlanFact::plan, "seed");
  return facts.floor.mechanism == "nak" || (seed != nullptr && seed->status == kRemoteAccess);
}

constexpr std::uint64_t kAssumedCacheNs = 500 * kNsPerMs;

/// How long a cache that keeps the key served at least, from 2ERR_QP on; 0: nothing says that there
/// is one. Whole milliseconds, as the switch has them.
std::uint64_t served_ms(const Facts& facts, std::uint64_t before_ns) {
  std::uint64_t most_ms = 0;
  for (const LateRegions& late : late_regions(facts)) {
    if (!is_of_cache(facts, late)) continue;
    // What is seen last was let through before that.
    const std::uint64_t less_ns = std::min(late.last_change_ns, before_ns + path_of(facts));
    const std::uint64_t ms = (late.last_change_ns - less_ns + kNsPerMs - 1) / kNsPerMs;
    most_ms = std::clamp<std::uint64_t>(ms, std::max<std::uint64_t>(most_ms, 1), kMostCacheMs);
  }
  return most_ms;
}

/// Of requesters alone, once nobody serves them: `before_ns` after the revoke.
void add_patience_of_floor(const Facts& facts, std::uint64_t before_ns, Words& words) {
  const FloorFact& floor = facts.floor;
  const std::uint64_t ms = whole_ms(floor.value - std::min(floor.value, before_ns));
  if (floor.explanation == "minimum timeout, budget")
    words.push_back(fmt::format("min-ack-timeout={}", floor.value));
  if (floor.explanation == "fixed total" && ms != 0)
    words.push_back(fmt::format("retx-total={}", ms));
  if (floor.explanation == "budget without the last timeout") words.emplace_back("retry-total=7T");
  if (floor.explanation.empty()) add_patience_of_plans(facts, before_ns, words);
}

/// How long requesters and a dispatch cache go on. Times of the floor count from the revoke, whose
/// first command is 2ERR_QP.
void add_patience(const Facts& facts, Words& words) {
  const FloorFact& floor = facts.floor;
  const auto* const first = find(facts.commands, &CommandFact::command, "2ERR_QP");
  const std::uint64_t before_ns = first == nullptr ? 0 : first->median_ns;
  const std::uint64_t kept_ms = served_ms(facts, before_ns);
  std::uint64_t cache_ms = kept_ms;
  // It answered behind 2ERR_QP; how long it would have, the key's end hides. What a plan without
  // that end took beyond the cache is the requester's.
  const bool is_hidden = is_nak_behind_error(facts);
  if (is_hidden) cache_ms = std::max(cache_ms, kAssumedCacheNs / kNsPerMs);
  // That it began late enough to be seen in the times alone.
  if (cache_ms == 0 && floor.explanation == "cache plus budget")
    cache_ms = whole_ms(floor.value - std::min(floor.value, before_ns));
  if (cache_ms != 0) words.push_back(fmt::format("dispatch-cache={}", cache_ms));
  if (kept_ms != 0) words.emplace_back("dispatch-cache-keeps-key");
  const std::uint64_t patient_from_ns = before_ns + cache_ms * kNsPerMs;
  if (is_hidden)
    add_patience_of_plans(facts, patient_from_ns, words);
  else
    add_patience_of_floor(facts, patient_from_ns, words);
}

bool arrives(const Facts& facts, std::string_view way) {
  const auto* const fact = find(facts.reach, &ReachFact::way, way);
  return fact != nullptr && fact->met == kArrived;
}

/// Nothing answered, for as long as the requester tried or for as long as somebody waited.
bool is_silence(std::string_view met) { return met == "silence" || met == "IBV_WC_RETRY_EXC_ERR"; }

void add_port(const Facts& facts, Words& words) {
  constexpr std::uint64_t kOfEveryMtu = pmd::frame_bytes(prm::QpcMtu::MTU_4096);
  const std::uint64_t frame_bytes = facts.device.frame_bytes;
  if (facts.device.is_ethernet && frame_bytes != 0 && frame_bytes < kOfEveryMtu)
    words.push_back(fmt::format("pmtu={}", frame_bytes));
  const auto* const forced = find(facts.reach, &ReachFact::way, kForcedWay);
  const auto* const without_link = find(facts.reach, &ReachFact::way, kForcedWayWithoutLink);
  if (forced != nullptr && forced->met.starts_with("refused"))
    words.emplace_back("loopback=refused");
  else if (arrives(facts, kForcedWay) && !arrives(facts, "plain, MTU 1024"))
    words.emplace_back("loopback=forced-only");
  else if (arrives(facts, kForcedWay) && without_link != nullptr && is_silence(without_link->met))
    words.emplace_back("loopback=needs-link");
}

void add_keys(const Facts& facts, Words& words) {
  if (facts.key.is_run && !facts.key.takes_qpn) words.emplace_back("mkc-qpn=refused");
  if (facts.key.takes_qpn && facts.key.other_qp_served) words.emplace_back("mkc-qpn=unchecked");
  if (facts.device.keys_may_be_relaxed || facts.device.relaxed_ordering == "on")
    words.emplace_back("relaxed-ordering");
  if (facts.device.keys_may_be_relaxed && facts.device.relaxed_ordering == "off")
    words.emplace_back("strict-pci-ordering");
}

}  // namespace

std::vector<std::string> behaviours_of(const Facts& facts, const trace::ProfileBuilder& commands) {
  // Linux's firmware asks for memory now and then; this one for every few objects.
  constexpr std::uint64_t kObjectsPerPage = 8;
  Words words;
  if (commands.pages_given() != 0 &&
      commands.pages_given() * kObjectsPerPage >= commands.objects_made())
    words.emplace_back("page-starved");
  if (const std::uint64_t path_ns = path_of(facts); path_ns != 0)
    words.push_back(fmt::format("data-path-ns={}", path_ns));
  else if (const std::uint64_t late_ns = late_on_its_way_ns(facts); late_ns != 0)
    words.push_back(fmt::format("data-path-ns={}", late_ns));
  add_port(facts, words);
  add_keys(facts, words);
  add_steering(facts, commands, words);
  add_promises(facts, words);
  add_patience(facts, words);
  return words;
}

std::vector<std::string> assumed_by_model(const Facts& facts) {
  Words lines;
  if (is_nak_behind_error(facts))
    lines.push_back(
        fmt::format("a model of this bundle has a dispatch cache that serves for {} ms; the NAK "
                    "that ends it hides how long it would have",
                    kAssumedCacheNs / kNsPerMs));
  if (is_path_unlearnt(facts))
    lines.emplace_back(
        "a model of this bundle has RDMA_RX out of the path of packets; what was asked of its "
        "entries was not learnt");
  return lines;
}

trace::DeviceProfile profile_of(const Facts& facts, const trace::ProfileBuilder& commands) {
  trace::DeviceProfile profile = commands.profile();
  profile.source = "first-light, " + facts.device.kind;
  profile.firmware = facts.device.firmware;
  profile.is_ethernet = facts.device.is_ethernet;
  profile.is_virtual_function = facts.device.is_virtual_function;
  profile.behaviours = behaviours_of(facts, commands);
  return profile;
}

}  // namespace portcullis::light
