// SPDX-License-Identifier: BSD-3-Clause
#include "light/conclusions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "light/late.hpp"
#include "proof/audit.hpp"

namespace portcullis::light {
namespace {

constexpr std::string_view kContract = "docs/hca-contract.md";
constexpr std::string_view kSteering = "docs/steering.md";
constexpr std::string_view kRevocation = "docs/revocation.md";
constexpr std::string_view kFirstLight = "docs/first-light.md";

/// ibv_wc_status of infiniband/verbs.h.
constexpr std::int64_t kRemoteAccess = 10;
constexpr std::int64_t kRetryExceeded = 12;

struct Said {
  Answer answer = Answer::NotRun;
  std::string why;
};

Said yes(std::string why) { return {Answer::Confirmed, std::move(why)}; }
Said no(std::string why) { return {Answer::Refuted, std::move(why)}; }
Said either(std::string why) { return {Answer::Undecided, std::move(why)}; }
Said not_run(std::string why) { return {Answer::NotRun, std::move(why)}; }

/// Why a step left no facts.
Said of_step(const Facts& facts, std::string_view name) {
  const StepFact* const step = facts.step(name);
  if (step == nullptr)
    return not_run(fmt::format("step {} was not asked for{}", name,
                               name == "peer" ? "; --peer names a second host" : ""));
  if (step->state == "done") return not_run(fmt::format("step {} left nothing to judge", name));
  return not_run(fmt::format("step {}: {}", name, step->why));
}

template <class Fact>
const Fact* find(const std::vector<Fact>& all, std::string Fact::*member, std::string_view name) {
  const auto found = std::ranges::find(all, name, member);
  return found == all.end() ? nullptr : &*found;
}

// ---- What a fence rests on -------------------------------------------------------------------

/// As proof::PlanAudit::holds() has it; the word that stands beside the counts says no more.
bool is_broken(const AuditFact& audit) {
  return (audit.late_writes | audit.late_reads | audit.foreign | audit.executed | audit.counted) !=
         0;
}

std::string late_text(const AuditFact& audit) {
  return fmt::format(
      "of {} fences {} changed memory afterwards, {} were read late, {} executed later requests, "
      "{} left foreign words; {} requests counted afterwards",
      audit.fences, audit.late_writes, audit.late_reads, audit.executed, audit.foreign,
      audit.counted);
}

/// What the look at memory took, below which nothing late is seen.
std::string look_text(const Facts& facts, const AuditFact& audit) {
  // The audit opens the device by itself, and does not say by which clock.
  if (facts.device.clock == "virtual") return "the look takes no time on a virtual clock";
  if (facts.device.clock.empty() && audit.look_most_ns == 0)
    return "how long the look took was not measured";
  return fmt::format(
      "what is late by less than the look is not seen: {} ns by the median, {} at most",
      audit.look_median_ns, audit.look_most_ns);
}

/// Of a plan whose key step is the promise.
Said of_audit(const Facts& facts, std::string_view plan) {
  const auto* const audit = find(facts.audits, &AuditFact::plan, plan);
  if (audit == nullptr) return of_step(facts, "audit");
  if (is_broken(*audit)) return no(late_text(*audit));
  // Then another promise stood in for this one.
  if (audit->fell_back != 0)
    return either(fmt::format("in {} of {} fences the key went another way", audit->fell_back,
                              audit->fences));
  if (static_cast<double>(audit->under_load) <
          proof::kLeastShareUnderLoad * static_cast<double>(audit->fences) ||
      audit->fences == 0)
    return either(fmt::format("nothing was late, but only {} of {} fences met packets on their way",
                              audit->under_load, audit->fences));
  if (audit->watched == 0)
    return either(fmt::format("of {} fences none left its memory in view", audit->fences));
  return yes(fmt::format("nothing was late in {} fences, {} of them with packets on their way; {}",
                         audit->fences, audit->under_load, look_text(facts, *audit)));
}

/// What other steps saw change under a key of that step goes before an audit that held: that is of
/// its own load alone.
Said of_promise(const Facts& facts, std::string_view plan, KeyStep key_step) {
  Said audited = of_audit(facts, plan);
  if (audited.answer == Answer::Refuted) return audited;
  const auto* const audit = find(facts.audits, &AuditFact::plan, plan);
  for (const LateRegions& late : late_regions(facts)) {
    if (late.key_step != key_step) continue;
    // A plan that may take the key another way does not say in which fence it did.
    const bool is_of_step =
        key_step == KeyStep::Destroy || (audit != nullptr && audit->fell_back == 0);
    if (late.surely_torn_down != 0 && is_of_step) return no(text_of(late));
    audited = either(text_of(late) + ", and whether by this step is not known");
  }
  return audited;
}

Said a5(const Facts& /*facts*/) {
  return not_run("no step makes DESTROY_MKEY fail, which the third rung needs");
}
Said a7(const Facts& /*facts*/) { return not_run("no step drains a function under load"); }

// ---- Keys and loopback -----------------------------------------------------------------------

Said own_address(const Facts& facts) {
  if (!facts.loopback.is_run) return of_step(facts, "loopback");
  const bool arrives = facts.loopback.short_write && facts.loopback.long_write;
  const StepFact* const step = facts.step("loopback");
  if (arrives && step != nullptr && step->state == "failed")
    return either(fmt::format("WRITEs of one packet and of several did, and {} more; then: {}",
                              facts.loopback.writes, step->why));
  if (arrives && facts.loopback.writes == 0)
    return yes("WRITEs of one packet and of several; none more was timed");
  if (arrives)
    return yes(fmt::format("WRITEs of one packet and of several; {} more took {} ns by the median",
                           facts.loopback.writes, facts.loopback.median_ns));
  const std::string why = "a WRITE met " + facts.loopback.met;
  const auto* const forced = find(facts.reach, &ReachFact::way, kForcedWay);
  return no(forced != nullptr && forced->met == kArrived
                ? why + "; forced back one arrives: loopback=forced behind the device's name"
                : why);
}

/// Of one way alone.
Said of_way(const Facts& facts, std::string_view way) {
  const auto* const fact = find(facts.reach, &ReachFact::way, way);
  const StepFact* const step = facts.step("reach");
  if (fact == nullptr && way == kForcedWayWithoutLink && step != nullptr && step->state == "done")
    return not_run(!facts.device.is_ethernet
                       ? "the link of an InfiniBand port is the subnet manager's, and stays up"
                   : facts.device.is_virtual_function ? "a VF has no link of its own to take down"
                                                      : "the link was not taken down");
  if (fact == nullptr) return of_step(facts, "reach");
  if (fact->met.starts_with("not sent")) return not_run(fact->met);
  return fact->met == kArrived ? yes("a WRITE arrived") : no("a WRITE met " + fact->met);
}

/// Of those ways by the port's address that differ in nothing but the MTU.
Said path_mtus(const Facts& facts) {
  std::vector<std::string> arrived;
  std::vector<std::string> left;
  for (const ReachFact& fact : facts.reach) {
    constexpr std::string_view kOfMtu = "plain, MTU ";
    if (!fact.way.starts_with(kOfMtu) || fact.way.find(',', kOfMtu.size()) != std::string::npos)
      continue;
    const std::string mtu = fact.way.substr(kOfMtu.size());
    if (fact.met.starts_with("not sent")) {
      left.push_back(mtu);
    } else if (fact.met == kArrived) {
      arrived.push_back(mtu);
    } else {
      return no(fmt::format("with MTU {} a WRITE met {}", mtu, fact.met));
    }
  }
  if (arrived.empty()) return of_step(facts, "reach");
  return yes(fmt::format("WRITEs of several packets with MTU {}{}", fmt::join(arrived, ", "),
                         left.empty() ? ""
                                      : fmt::format("; {} not tried, for its frames are too "
                                                    "long for the port",
                                                    fmt::join(left, ", "))));
}

Said key_takes_qpn(const Facts& facts) {
  if (!facts.key.is_run) return of_step(facts, "key");
  return facts.key.takes_qpn ? yes("CREATE_MKEY answered 0") : no(facts.key.refusal);
}

Said key_checks_qpn(const Facts& facts) {
  if (!facts.key.is_run) return of_step(facts, "key");
  if (!facts.key.takes_qpn) return not_run("CREATE_MKEY refuses a QP number");
  if (!facts.key.own_qp_served) return either("the QP that the key names was not served either");
  if (facts.key.other_qp_served) return no("a WRITE through another QP of the domain succeeded");
  return facts.key.other_qp_refused
             ? yes("a WRITE through another QP of the domain met a remote access error")
             : either("a WRITE through another QP of the domain failed some other way");
}

// ---- Flow steering ---------------------------------------------------------------------------

Said of_probe(const Facts& facts, std::string_view name) {
  const auto* const probe = find(facts.probes, &ProbeFact::probe, name);
  if (probe == nullptr) return of_step(facts, "probes");
  if (!probe->refusal.empty()) return not_run(probe->refusal);
  const std::string why = probe->observed + ": " + probe->verdict;
  return probe->as_seen ? yes(why) : no(why);
}

Said nic_rx_bypassed(const Facts& facts) {
  if (!facts.device.is_ethernet) return not_run("an InfiniBand port carries no RoCE packet");
  return of_probe(facts, "nic-rx-drop");
}

/// `what` is sent to a connection that the entry is the first to see.
Said of_entry(const Facts& facts, std::string_view shape, std::string_view what) {
  const auto* const entry = find(facts.entries, &EntryFact::shape, shape);
  if (entry == nullptr) return of_step(facts, "entries");
  if (!entry->is_installed) return not_run("the device refuses the entry: " + entry->refusal);
  if (!entry->refusal.empty()) return either(entry->refusal);
  if (!entry->stops_new) return no(fmt::format("{} went through it", what));
  if (!entry->recovers) return either("a WRITE met silence, and went on to without the entry");
  return yes(fmt::format("{} met silence until the entry was gone", what));
}

Said dst_qp(const Facts& facts) {
  return of_entry(facts, "dst-qp", "a WRITE to the QP that the entry names");
}

Said bth_opcode(const Facts& facts) {
  return of_entry(facts, "opcode", "a WRITE of one packet, whose opcode the entry names,");
}

/// It was taken, and the WRITE that asked of it told nothing.
bool is_unlearnt(const EntryFact& entry) { return entry.is_installed && !entry.refusal.empty(); }

/// Of whichever entry stops a new connection: what a running one meets.
Said hot_qp(const Facts& facts) {
  const auto stops = std::ranges::find_if(facts.entries, [](const EntryFact& entry) {
    return entry.is_installed && entry.stops_new && entry.recovers;
  });
  if (stops == facts.entries.end()) {
    if (facts.entries.empty()) return of_step(facts, "entries");
    const auto unlearnt = std::ranges::find_if(facts.entries, &is_unlearnt);
    if (unlearnt != facts.entries.end())
      return not_run(fmt::format("of entry {} was not learnt whether it stops a new one: {}",
                                 unlearnt->shape, unlearnt->refusal));
    return not_run("no entry stops even a new connection");
  }
  return stops->stops_running
             ? yes(fmt::format("entry {} stopped a connection under traffic", stops->shape))
             : no(fmt::format("entry {} stopped a new connection and no running one",
                              stops->shape));
}

// ---- What a client sees ----------------------------------------------------------------------

std::string seen_by_clients(const PlanFact& plan) {
  const std::uint64_t unsure_ns = plan.client_uncertainty_ns;
  return fmt::format(
      "{} of {} clients failed, with status {} by the most, {}{} us after the revoke "
      "by the median",
      plan.failed_clients, plan.revokes, plan.status, plan.client_median_ns / kNsPerUs,
      unsure_ns == 0 ? "" : fmt::format(" +- {}", unsure_ns / kNsPerUs + 1));
}

Said of_status(const Facts& facts, const std::vector<PlanFact>& plans, std::string_view step,
               std::string_view name, std::int64_t status) {
  const auto* const plan = find(plans, &PlanFact::plan, name);
  if (plan == nullptr || plan->revokes == 0) return of_step(facts, step);
  if (plan->failed_clients == 0) return either("no client failed before its deadline");
  const std::string why = seen_by_clients(*plan);
  return plan->status == status ? yes(why) : no(why);
}

/// Of a step that asks every plan, which it did not; "": it did. The step may have failed later.
std::string not_judged(const Facts& facts, const std::vector<PlanFact>& plans,
                       std::string_view step_name) {
  for (const PlanFact& plan : plans)
    if (plan.revokes == 0) return fmt::format("plan {} was not judged", plan.plan);
  // A step that names each of its plans before it begins has told by now.
  const StepFact* const step = facts.step(step_name);
  if (step == nullptr || step->state == "done" || step_name == "peer") return {};
  return "not every plan was asked: " + step->why;
}

Said contract_of(const Facts& facts, const std::vector<PlanFact>& plans,
                 std::string_view step_name) {
  std::uint64_t most_ns = 0;
  std::uint64_t revokes = 0;
  for (const PlanFact& plan : plans) {
    revokes += plan.revokes;
    if (plan.as_promised != plan.revokes)
      return no(fmt::format("plan {}: {} of {} revokes came to what it promises", plan.plan,
                            plan.as_promised, plan.revokes));
    most_ns = std::max(most_ns, plan.most_ns);
  }
  if (revokes == 0) return of_step(facts, step_name);
  if (const std::string left = not_judged(facts, plans, step_name); !left.empty())
    return either(left);
  const std::string why = fmt::format("{} revokes by {} plans, {} us at most", revokes,
                                      plans.size(), most_ns / kNsPerUs);
  return most_ns <= kNsPerSecond ? yes(why) : no(why);
}

Said contract(const Facts& facts) { return contract_of(facts, facts.plans, "plans"); }

/// What no fence may leave open, whatever else its plan came to.
Said unchanged_of(const Facts& facts, bool is_at_peer) {
  const std::vector<PlanFact>& plans = is_at_peer ? facts.peer.plans : facts.plans;
  const std::string_view step_name = is_at_peer ? "peer" : "plans";
  for (const LateRegions& late : late_regions(facts))
    if (late.is_at_peer == is_at_peer) return no(text_of(late));
  std::uint64_t revokes = 0;
  std::uint64_t watched = 0;
  for (const PlanFact& plan : plans) {
    revokes += plan.revokes;
    watched += plan.watched;
  }
  if (revokes == 0) return of_step(facts, step_name);
  if (const std::string left = not_judged(facts, plans, step_name); !left.empty())
    return either(left);
  if (watched == 0)
    return either(fmt::format("of {} revokes none left its region in view", revokes));
  return yes(fmt::format("none of {} regions did; of {} revokes the others left none in view",
                         watched, revokes));
}

/// Which is the wrong explanation is as good an answer as which is right.
Said is_budget(const FloorFact& floor, const std::string& beside) {
  const std::string others =
      floor.other_endings == 0
          ? ""
          : fmt::format(" ({} clients more ended neither by a refusal nor by their budget)",
                        floor.other_endings);
  const std::string why = fmt::format("{} ({}), by {} points{}{}", floor.mechanism, floor.why,
                                      floor.points, others, beside);
  if (floor.mechanism == "budget") return yes(why);
  // So counts a device whose last timeout does not run, and one whose packets overtook each other.
  if (floor.mechanism == "budget without the last timeout") return either(why);
  const bool is_another = floor.mechanism != "undecided" && floor.mechanism != "censored";
  if (is_another) return no(why);
  // Which of several others it is stays open; that it is not the budget does not.
  return floor.fits != 0 && !floor.budget_fits ? no("not the budget alone; which other is " + why)
                                               : either(why);
}

/// Where no client's end says anything of a floor.
Said no_floor(const Facts& facts, const FloorFact& floor, std::string_view step) {
  if (floor.other_endings == 0) return of_step(facts, step);
  return either(fmt::format("{} clients ended neither by a refusal nor by their budget",
                            floor.other_endings));
}

Said floor_is_budget(const Facts& facts) {
  return facts.floor.is_run ? is_budget(facts.floor, "") : no_floor(facts, facts.floor, "floor");
}

// ---- What a client on another host sees ------------------------------------------------------

std::string clocks_text(const PeerFact& peer) {
  return fmt::format("the two clocks are known to {:.1f} us",
                     static_cast<double>(peer.clock_uncertainty_ns) / 1e3);
}

Said peer_reached(const Facts& facts) {
  const PeerFact& peer = facts.peer;
  if (peer.leases == 0) return of_step(facts, "peer");
  if (peer.reached == peer.leases)
    return yes(fmt::format("the first WRITE of each of {} leases did", peer.leases));
  return no(
      fmt::format("of {} leases {} were reached before any revoke; the first other WRITE met "
                  "status {}",
                  peer.leases, peer.reached, peer.unreached_status));
}

/// What was posted before the outcome may succeed behind it; what was posted later may not.
Said peer_ended(const Facts& facts) {
  const PeerFact& peer = facts.peer;
  if (peer.ended == 0) return of_step(facts, "peer");
  if (peer.posted_late != 0)
    return no(fmt::format("{} of {} clients had one; {}", peer.posted_late, peer.ended,
                          clocks_text(peer)));
  if (peer.perhaps_late != 0)
    return either(
        fmt::format("{} of {} clients say that they posted their last WRITE so near the outcome "
                    "that nobody can tell, or behind it, of which no byte changed here; {}",
                    peer.perhaps_late, peer.ended, clocks_text(peer)));
  return yes(
      fmt::format("none of {} clients had one, by what each looked at its clock before it "
                  "posted; {}",
                  peer.ended, clocks_text(peer)));
}

Said peer_floor(const Facts& facts) {
  if (!facts.peer.floor.is_run) return no_floor(facts, facts.peer.floor, "peer");
  return is_budget(facts.peer.floor, "; " + clocks_text(facts.peer));
}

struct Row {
  std::string_view id;
  std::string_view sentence;
  std::string_view where;
  Said (*judge)(const Facts&);
  bool is_promise = false;
};

constexpr std::array kRows{
    Row{"A1", "once DESTROY_MKEY has answered 0, no DMA under the key is pending", kContract,
        [](const Facts& facts) { return of_promise(facts, "nak-first", KeyStep::Destroy); }, true},
    Row{"A2", "once a UMR that frees a key has completed, no DMA under it is pending", kContract,
        [](const Facts& facts) { return of_promise(facts, "umr", KeyStep::Umr); }, true},
    Row{"A5", "once VFIO has unmapped pages, no DMA reaches them", kContract, &a5, true},
    Row{"A6", "A1 for an indirect key, of what came through it", kContract,
        [](const Facts& facts) { return of_promise(facts, "indirect", KeyStep::DestroyAll); },
        true},
    Row{"A7", "once bus mastering reads back as off, the function issues no DMA", kContract, &a7,
        true},
    Row{"loopback", "the port carries WRITEs to its own address", kSteering, &own_address},
    Row{"forced-loopback", "packets that are forced back (ads.fl) arrive", kSteering,
        [](const Facts& facts) { return of_way(facts, kForcedWay); }},
    Row{"forced-without-link", "they arrive while the link is down, too", kSteering,
        [](const Facts& facts) { return of_way(facts, kForcedWayWithoutLink); }},
    Row{"path-mtus", "packets of each path MTU arrive whose frames the port carries", kSteering,
        &path_mtus},
    Row{"mkc-qpn-taken", "CREATE_MKEY takes a QP number in mkc.qpn", kRevocation, &key_takes_qpn},
    Row{"mkc-qpn-checked", "a key that names a QP serves no other QP of its domain", kRevocation,
        &key_checks_qpn},
    Row{"rdma-rx-in-path", "a DROP entry of RDMA_RX that matches everything stops WRITEs",
        kSteering, [](const Facts& facts) { return of_probe(facts, "rdma-rx-catchall-drop"); }},
    Row{"nic-rx-bypassed", "RoCE packets do not meet a DROP entry of NIC_RX", kSteering,
        &nic_rx_bypassed},
    Row{"bth-opcode", "an entry on bth_opcode stops a new connection", kSteering, &bth_opcode},
    Row{"bth-dst-qp", "an entry on bth_dst_qp stops a new connection", kSteering, &dst_qp},
    Row{"running-qp", "an entry stops a connection that runs", kSteering, &hot_qp},
    Row{"contract", "each plan comes to what it promises, within a second", kRevocation, &contract},
    Row{"unchanged", "no region changes behind the outcome of its revoke", kRevocation,
        [](const Facts& facts) { return unchanged_of(facts, false); }, true},
    Row{"silence", "a client of plan seed meets silence: RETRY_EXC_ERR (12)", kRevocation,
        [](const Facts& facts) {
          return of_status(facts, facts.plans, "plans", "seed", kRetryExceeded);
        }},
    Row{"nak", "a client of plan nak-first is refused: REM_ACCESS_ERR (10)", kRevocation,
        [](const Facts& facts) {
          return of_status(facts, facts.plans, "plans", "nak-first", kRemoteAccess);
        }},
    Row{"floor-is-budget", "a client that ignores the outcome goes on for its retry budget",
        kRevocation, &floor_is_budget},
    Row{"peer-reached", "WRITEs of a client on another host arrive before any revoke", kFirstLight,
        &peer_reached},
    Row{"peer-ended", "no WRITE that a client on another host posts behind the outcome succeeds",
        kFirstLight, &peer_ended, true},
    Row{"peer-contract",
        "with a client on another host each plan comes to what it promises, in a second",
        kRevocation,
        [](const Facts& facts) { return contract_of(facts, facts.peer.plans, "peer"); }},
    Row{"peer-unchanged",
        "no region that a client on another host writes changes behind the outcome", kRevocation,
        [](const Facts& facts) { return unchanged_of(facts, true); }, true},
    Row{"peer-silence", "a client on another host meets silence of plan seed: RETRY_EXC_ERR (12)",
        kRevocation,
        [](const Facts& facts) {
          return of_status(facts, facts.peer.plans, "peer", "seed", kRetryExceeded);
        }},
    Row{"peer-nak", "a client on another host is refused by plan nak-first: REM_ACCESS_ERR (10)",
        kRevocation,
        [](const Facts& facts) {
          return of_status(facts, facts.peer.plans, "peer", "nak-first", kRemoteAccess);
        }},
    Row{"peer-floor-is-budget",
        "a client on another host goes on for its retry budget, by the clocks of both", kRevocation,
        &peer_floor},
};

bool is_promise(std::string_view id) noexcept {
  const auto* const row = std::ranges::find(kRows, id, &Row::id);
  return row != kRows.end() && row->is_promise;
}

}  // namespace

std::string_view name(Answer answer) noexcept {
  constexpr std::array<std::string_view, 4> kNames{"confirmed", "refuted", "undecided", "not run"};
  return kNames[static_cast<std::size_t>(answer)];
}

std::vector<Conclusion> conclude(const Facts& facts) {
  std::vector<Conclusion> all;
  for (const Row& row : kRows) {
    Said said = row.judge(facts);
    all.push_back({std::string(row.id), std::string(row.sentence), said.answer, std::move(said.why),
                   std::string(row.where)});
  }
  return all;
}

bool breaks_a_promise(const std::vector<Conclusion>& conclusions) noexcept {
  return std::ranges::any_of(conclusions, [](const Conclusion& each) {
    return each.answer == Answer::Refuted && is_promise(each.id);
  });
}

}  // namespace portcullis::light
