// SPDX-License-Identifier: BSD-3-Clause
#include "light/facts.hpp"

// Errors say where the value stands, as "(/plans/0/revokes)". Its types are in a namespace of their
// own then, so that other sources have theirs without (nlohmann/detail/abi_macros.hpp, from 3.11).
#define JSON_DIAGNOSTICS 1

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "lease/fence_plan.hpp"
#include "proof/floor_fit.hpp"

namespace portcullis::light {

// nlohmann::json finds these by the type's namespace; a member that is missing is an error, but
// for types that have got members since: theirs have the value that they begin with.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepFact, name, state, why, took_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(DeviceFact, kind, is_emulated, clock, firmware,
                                                board, is_ethernet, is_virtual_function, link_up,
                                                frame_bytes, relaxed_ordering, keys_may_be_relaxed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CommandFact, command, answered, refused, unanswered, least_ns,
                                   median_ns, p99_ns, most_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LoopbackFact, is_run, short_write, long_write, met, writes,
                                   median_ns, most_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ReachFact, way, met)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KeyFact, is_run, takes_qpn, refusal, own_qp_served,
                                   other_qp_served, other_qp_refused)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EntryFact, shape, is_offered, is_installed, refusal, stops_new,
                                   stops_running, recovers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ProbeFact, probe, observed, verdict, as_seen,
                                                refusal)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanFact, plan, revokes, torn_down, as_promised, median_ns,
                                   most_ns, failed_clients, status, client_median_ns,
                                   client_uncertainty_ns, watched, served_late, last_change_ns,
                                   late_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(FloorFact, is_run, points, other_endings, mechanism,
                                                explanation, value, budget_fits, fits, why,
                                                torn_down, served_late, last_change_ns, late_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(PeerFact, is_run, vendor, part, firmware, leases,
                                                reached, unreached_status, round_trip_ns,
                                                clock_uncertainty_ns, ended, posted_late,
                                                perhaps_late, plans, floor)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AuditFact, plan, verdict, fences, under_load, watched,
                                   late_writes, late_reads, foreign, executed, counted, fell_back,
                                   look_median_ns, look_most_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(EndFact, is_run, comes_up_again, health, registers)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CrashDumpFact, step, state, why, space_bytes, words)

// As the macros have it, but that "reach", "peer" and "crash_dumps" may be missing.
static void to_json(nlohmann::json& json, const Facts& facts) {
  json = {{"device", facts.device},     {"steps", facts.steps},
          {"commands", facts.commands}, {"reach", facts.reach},
          {"loopback", facts.loopback}, {"key", facts.key},
          {"entries", facts.entries},   {"probes", facts.probes},
          {"plans", facts.plans},       {"floor", facts.floor},
          {"audits", facts.audits},     {"peer", facts.peer},
          {"end", facts.end},           {"crash_dumps", facts.crash_dumps}};
}

static void from_json(const nlohmann::json& json, Facts& facts) {
  json.at("device").get_to(facts.device);
  json.at("steps").get_to(facts.steps);
  json.at("commands").get_to(facts.commands);
  json.at("loopback").get_to(facts.loopback);
  if (json.contains("reach")) json.at("reach").get_to(facts.reach);
  json.at("key").get_to(facts.key);
  json.at("entries").get_to(facts.entries);
  json.at("probes").get_to(facts.probes);
  json.at("plans").get_to(facts.plans);
  json.at("floor").get_to(facts.floor);
  json.at("audits").get_to(facts.audits);
  if (json.contains("peer")) json.at("peer").get_to(facts.peer);
  json.at("end").get_to(facts.end);
  if (json.contains("crash_dumps")) json.at("crash_dumps").get_to(facts.crash_dumps);
}

namespace {

tl::unexpected<Error> malformed(std::string_view file, std::string_view what) {
  return fail(Errc::Malformed, std::string(file) + ": " + std::string(what));
}

/// What plans did not have: before version 4 nobody else's clock, and nobody said what was watched;
/// before version 5 not when it changed.
void complete_plans(nlohmann::json& facts, std::uint64_t version) {
  std::vector<std::string> members;
  if (version < 4) members = {"client_uncertainty_ns", "watched"};
  if (version < 5) members.insert(members.end(), {"last_change_ns", "late_ns"});
  const auto complete = [&members](nlohmann::json& all) {
    if (!all.contains("plans") || !all["plans"].is_array()) return;
    for (nlohmann::json& plan : all["plans"])
      for (const std::string& member : members)
        if (plan.is_object() && !plan.contains(member)) plan[member] = 0;
  };
  complete(facts);
  if (facts.contains("peer")) complete(facts["peer"]);
}

struct Count {
  std::string_view name;
  std::uint64_t value = 0;
};

/// Looks at a stranger's values as they are read: nlohmann::json would make a count of -1 or 1e300,
/// and a terminal would do what a word with ESC in it says.
class Values {
 public:
  using Json = nlohmann::json;

  bool take(int depth, Json::parse_event_t event, Json& value) {
    constexpr int kMostDepth = 8;
    if (depth > kMostDepth) note("is deeper than facts are");
    if (event == Json::parse_event_t::key) {
      value.get_to(member_);
      make_plain(member_);
    } else if (event == Json::parse_event_t::value) {
      look_at(value);
    }
    return wrong_.empty();
  }
  [[nodiscard]] const std::string& wrong() const noexcept { return wrong_; }

 private:
  static void make_plain(std::string& text) {
    std::ranges::replace_if(
        text, [](char c) { return c < ' ' || c > '~'; }, '?');
  }

  void look_at(Json& value) {
    // ibv_wc_status is an int; the rest are counts, times and lengths.
    const bool is_whole =
        value.is_number_unsigned() || (value.is_number_integer() && member_ == "status");
    if (value.is_number() && !is_whole)
      note(value.dump().substr(0, kShownOfMember) + "; a whole number is accepted");
    // Of time and of everything else that is counted more than any run can have.
    constexpr std::uint64_t kMostNs = 1'000'000'000'000'000;
    constexpr std::uint64_t kMostCount = std::uint64_t{1} << 40;
    const std::uint64_t most =
        member_.ends_with("_ns") || member_ == "value" ? kMostNs : kMostCount;
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > most)
      note(value.dump() + "; at most " + std::to_string(most) + " is accepted");
    if (value.is_string()) make_plain(value.get_ref<std::string&>());
  }

  void note(const std::string& what) {
    if (wrong_.empty()) wrong_ = member_.substr(0, kShownOfMember) + ": " + what;
  }

  static constexpr std::size_t kShownOfMember = 64;
  std::string member_;  // whose value is read; in an array the last before it
  std::string wrong_;
};

// ---- What cannot all be so ---------------------------------------------------------------------

/// Finds the first contradiction; nothing is kept of the others.
class Contradictions {
 public:
  /// Each count is at most the one before it.
  void falling(const std::string& what, std::initializer_list<Count> counts) {
    const auto* const rising = std::ranges::adjacent_find(
        counts, [](const Count& a, const Count& b) { return b.value > a.value; });
    if (rising == counts.end()) return;
    note(what + ": " + std::string(rising[1].name) + " " + std::to_string(rising[1].value) +
         "; at most " + std::string(rising->name) + ", " + std::to_string(rising->value) +
         ", is accepted");
  }
  void one_of(const std::string& what, const std::string& word,
              std::span<const std::string_view> accepted) {
    if (std::ranges::find(accepted, word) != accepted.end()) return;
    std::string text = what + ": \"" + word.substr(0, kShown) + "\"; accepted:";
    for (const std::string_view each : accepted) text += " \"" + std::string(each) + "\"";
    note(std::move(text));
  }
  void never(bool is_so, std::string what) {
    if (is_so) note(std::move(what));
  }
  /// Each name stands once, for a reader would look at the first alone.
  template <class Fact>
  void once(const std::string& what, const std::vector<Fact>& all, std::string Fact::*name) {
    std::vector<std::string> names;
    for (const Fact& one : all) names.push_back(one.*name);
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice != names.end())
      note(what + ": \"" + twice->substr(0, kShown) + "\" a second time; once is accepted");
  }
  [[nodiscard]] std::string first() const { return first_; }

 private:
  static constexpr std::size_t kShown = 64;
  void note(std::string what) {
    if (first_.empty()) first_ = std::move(what);
  }
  std::string first_;
};

void look_at(const std::string& at, const std::vector<PlanFact>& plans, Contradictions& found) {
  for (const PlanFact& plan : plans) {
    const std::string name = at + " " + plan.plan;
    found.falling(name, {{"revokes", plan.revokes}, {"torn_down", plan.torn_down}});
    found.falling(name, {{"revokes", plan.revokes}, {"as_promised", plan.as_promised}});
    const auto known = lease::parse_plan(plan.plan);
    const bool promises_torn_down = known && known->best_outcome() == lease::Outcome::TornDown;
    found.never(promises_torn_down && plan.as_promised != plan.torn_down,
                name + ": as_promised " + std::to_string(plan.as_promised) +
                    "; as many as torn_down, " + std::to_string(plan.torn_down) + ", are accepted");
    found.falling(name, {{"revokes", plan.revokes}, {"failed_clients", plan.failed_clients}});
    found.falling(
        name,
        {{"revokes", plan.revokes}, {"watched", plan.watched}, {"served_late", plan.served_late}});
    found.falling(name, {{"most_ns", plan.most_ns}, {"median_ns", plan.median_ns}});
  }
}

void look_at(const std::string& at, const FloorFact& floor, Contradictions& found) {
  constexpr std::uint64_t kMostPoints = 1'000'000;
  if (!floor.is_run) return;
  found.one_of(at + ": mechanism", floor.mechanism, proof::kMechanisms);
  found.never(floor.points == 0, at + ": no point; one or more are accepted");
  found.falling(at, {{"most of them", kMostPoints}, {"points", floor.points}});
  // The first version had no more than the mechanism.
  const bool has_fits = !floor.explanation.empty();
  found.never(has_fits && floor.mechanism == "budget" && !floor.budget_fits,
              at + ": mechanism \"budget\" beside budget_fits false");
  const bool names_fit =
      floor.mechanism != "nak" && floor.mechanism != "censored" && floor.mechanism != "undecided";
  found.never(has_fits && names_fit && floor.explanation != floor.mechanism,
              at + ": explanation \"" + floor.explanation.substr(0, 64) + "\" beside mechanism \"" +
                  floor.mechanism + "\"");
  found.never(floor.budget_fits && floor.mechanism == "nak",
              at + ": mechanism \"nak\" beside budget_fits true");
}

void look_at(const PeerFact& peer, Contradictions& found) {
  found.falling("peer",
                {{"leases", peer.leases}, {"reached", peer.reached}, {"ended", peer.ended}});
  found.falling("peer", {{"ended", peer.ended}, {"posted_late", peer.posted_late}});
  found.falling("peer", {{"ended less posted_late", peer.ended - peer.posted_late},
                         {"perhaps_late", peer.perhaps_late}});
  std::uint64_t left = peer.reached;
  for (const PlanFact& plan : peer.plans) {
    found.falling("peer: plan " + plan.plan,
                  {{"reached and in no plan before", left}, {"revokes", plan.revokes}});
    left -= std::min(left, plan.revokes);
  }
  found.falling("peer: floor", {{"reached and in no plan", left}, {"points", peer.floor.points}});
  look_at("peer: plan", peer.plans, found);
  look_at("peer: floor", peer.floor, found);
}

void look_at(const AuditFact& audit, Contradictions& found) {
  constexpr std::array<std::string_view, 3> kVerdicts{"held", "broken", "no evidence"};
  const std::string name = "audit " + audit.plan;
  found.one_of(name + ": verdict", audit.verdict, kVerdicts);
  for (const Count& each : {Count{"under_load", audit.under_load}, Count{"watched", audit.watched},
                            Count{"late_writes", audit.late_writes},
                            Count{"late_reads", audit.late_reads}, Count{"foreign", audit.foreign},
                            Count{"executed", audit.executed}, Count{"fell_back", audit.fell_back}})
    found.falling(name, {{"fences", audit.fences}, each});
  found.falling(name,
                {{"look_most_ns", audit.look_most_ns}, {"look_median_ns", audit.look_median_ns}});
  found.never(audit.verdict == "held" && (audit.late_writes != 0 || audit.late_reads != 0),
              name + ": verdict \"held\" beside fences with late writes or reads");
  found.never(audit.verdict == "held" && audit.fences == 0,
              name + ": verdict \"held\" of no fence");
  found.never(audit.verdict == "broken" && audit.late_writes == 0 && audit.late_reads == 0 &&
                  audit.foreign == 0 && audit.executed == 0 && audit.counted == 0,
              name + ": verdict \"broken\" and nothing that was late");
}

/// What a step that was not run, or not asked for, cannot have found.
void look_at_steps(const Facts& facts, Contradictions& found) {
  const auto must = [&](std::string_view name, bool has_found) {
    const StepFact* const step = facts.step(name);
    const bool was_run = step != nullptr && step->state != "not run";
    found.never(has_found && !was_run,
                std::string(name) + ": facts of a step that was not run; none are accepted");
  };
  must("loopback", facts.loopback.is_run);
  must("reach", !facts.reach.empty());
  must("key", facts.key.is_run);
  must("entries", !facts.entries.empty());
  must("probes", !facts.probes.empty());
  must("plans", !facts.plans.empty());
  must("floor", facts.floor.is_run);
  must("audit", !facts.audits.empty());
  must("peer", facts.peer.is_run);
  must("end", facts.end.is_run);
}

void look_at_names(const Facts& facts, Contradictions& found) {
  found.once("steps", facts.steps, &StepFact::name);
  found.once("commands", facts.commands, &CommandFact::command);
  found.once("reach", facts.reach, &ReachFact::way);
  found.once("entries", facts.entries, &EntryFact::shape);
  found.once("probes", facts.probes, &ProbeFact::probe);
  found.once("plans", facts.plans, &PlanFact::plan);
  found.once("audits", facts.audits, &AuditFact::plan);
  found.once("peer: plans", facts.peer.plans, &PlanFact::plan);
}

std::string contradiction_in(const Facts& facts) {
  constexpr std::array<std::string_view, 3> kStates{"done", "failed", "not run"};
  constexpr std::array<std::string_view, 3> kDumps{"whole", "part", "none"};
  Contradictions found;
  look_at_names(facts, found);
  look_at_steps(facts, found);
  for (const StepFact& step : facts.steps) found.one_of("step " + step.name, step.state, kStates);
  for (const CommandFact& each : facts.commands)
    if (each.answered != 0)
      found.falling(each.command, {{"most_ns", each.most_ns},
                                   {"p99_ns", each.p99_ns == 0 ? each.median_ns : each.p99_ns},
                                   {"median_ns", each.median_ns},
                                   {"least_ns", each.least_ns}});
  found.never(facts.loopback.writes == 0 && facts.loopback.median_ns != 0,
              "loopback: median_ns " + std::to_string(facts.loopback.median_ns) +
                  " of writes 0; none is accepted");
  found.falling("loopback",
                {{"most_ns", facts.loopback.most_ns}, {"median_ns", facts.loopback.median_ns}});
  look_at("plan", facts.plans, found);
  look_at("floor", facts.floor, found);
  for (const AuditFact& audit : facts.audits) look_at(audit, found);
  look_at(facts.peer, found);
  for (const CrashDumpFact& dump : facts.crash_dumps)
    found.one_of("crash dump behind step " + dump.step, dump.state, kDumps);
  return found.first();
}

/// nlohmann::json begins each message with "[json.exception.type_error.302] ", and may end it with
/// all of a number.
std::string_view shown(std::string_view text) {
  constexpr std::size_t kMost = 160;
  const std::size_t end = text.starts_with('[') ? text.find("] ") : std::string_view::npos;
  return (end == std::string_view::npos ? text : text.substr(end + 2)).substr(0, kMost);
}

}  // namespace

const StepFact* Facts::step(std::string_view name) const noexcept {
  const auto found = std::ranges::find(steps, name, &StepFact::name);
  return found == steps.end() ? nullptr : &*found;
}

std::string to_json(const Facts& facts) {
  nlohmann::json json = facts;
  json["version"] = kFactsVersion;
  // Words of a device may be no UTF-8.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<Facts> facts_from_json(std::string_view text, std::string_view file) {
  // A bundle is from somebody else: whatever is wrong with it is one line.
  if (text.size() > kMostFactsBytes)
    return malformed(file, std::to_string(text.size()) + " bytes; at most " +
                               std::to_string(kMostFactsBytes) + " are accepted");
  try {
    Values values;
    auto json = nlohmann::json::parse(text, [&values](int depth, auto event, auto& value) {
      return values.take(depth, event, value);
    });
    if (!values.wrong().empty()) return malformed(file, values.wrong());
    const auto version = json.at("version").get<std::uint64_t>();
    if (version < kOldestFacts || version > kFactsVersion)
      return malformed(file, "version " + std::to_string(version) + "; " +
                                 std::to_string(kOldestFacts) + " to " +
                                 std::to_string(kFactsVersion) + " are accepted");
    complete_plans(json, version);
    const auto facts = json.get<Facts>();
    const std::string wrong = contradiction_in(facts);
    if (!wrong.empty()) return malformed(file, wrong);
    return facts;
  } catch (const nlohmann::json::parse_error& error) {
    return malformed(file, "no JSON from byte " + std::to_string(error.byte) + " on");
  } catch (const nlohmann::json::exception& error) {
    return malformed(file, shown(error.what()));
  }
}

}  // namespace portcullis::light
