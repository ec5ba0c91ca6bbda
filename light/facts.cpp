// SPDX-License-Identifier: BSD-3-Clause
#include "light/facts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

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
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProbeFact, probe, observed, verdict, as_seen)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanFact, plan, revokes, torn_down, as_promised, median_ns,
                                   most_ns, failed_clients, status, client_median_ns, served_late)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(FloorFact, is_run, points, mechanism, explanation,
                                                value, budget_fits, fits, why)
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
    if (value.is_number() && !is_whole) note(value.dump() + "; a whole number is accepted");
    if (value.is_string()) make_plain(value.get_ref<std::string&>());
  }

  void note(const std::string& what) {
    if (wrong_.empty()) wrong_ = member_.substr(0, kShownOfMember) + ": " + what;
  }

  static constexpr std::size_t kShownOfMember = 64;
  std::string member_;  // whose value is read; in an array the last before it
  std::string wrong_;
};

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
    const auto json = nlohmann::json::parse(text, [&values](int depth, auto event, auto& value) {
      return values.take(depth, event, value);
    });
    if (!values.wrong().empty()) return malformed(file, values.wrong());
    const auto version = json.at("version").get<std::uint64_t>();
    if (version < kOldestFacts || version > kFactsVersion)
      return malformed(file, "version " + std::to_string(version) + "; " +
                                 std::to_string(kOldestFacts) + " to " +
                                 std::to_string(kFactsVersion) + " are accepted");
    return json.get<Facts>();
  } catch (const nlohmann::json::exception& error) {
    return malformed(file, error.what());
  }
}

}  // namespace portcullis::light
