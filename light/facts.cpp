// SPDX-License-Identifier: BSD-3-Clause
#include "light/facts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace portcullis::light {

// nlohmann::json finds these by the type's namespace; a member that is missing is an error.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepFact, name, state, why, took_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceFact, kind, is_emulated, clock, firmware, board,
                                   is_ethernet, link_up)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CommandFact, command, answered, refused, unanswered, least_ns,
                                   median_ns, p99_ns, most_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LoopbackFact, is_run, short_write, long_write, met, writes,
                                   median_ns, most_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KeyFact, is_run, takes_qpn, refusal, own_qp_served,
                                   other_qp_served, other_qp_refused)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EntryFact, shape, is_offered, is_installed, refusal, stops_new,
                                   stops_running, recovers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProbeFact, probe, observed, verdict, as_seen)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanFact, plan, revokes, torn_down, as_promised, median_ns,
                                   most_ns, failed_clients, status, client_median_ns, served_late)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FloorFact, is_run, points, mechanism, budget_fits, fits, why)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AuditFact, plan, verdict, fences, under_load, watched,
                                   late_writes, late_reads, foreign, executed, counted, fell_back,
                                   look_median_ns, look_most_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EndFact, is_run, comes_up_again, health)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Facts, device, steps, commands, loopback, key, entries, probes,
                                   plans, floor, audits, end)

namespace {

tl::unexpected<Error> malformed(std::string_view file, std::string_view what) {
  return fail(Errc::Malformed, std::string(file) + ": " + std::string(what));
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
  try {
    const auto json = nlohmann::json::parse(text);
    const auto version = json.at("version").get<std::uint64_t>();
    if (version != kFactsVersion)
      return malformed(file, "version " + std::to_string(version) + "; " +
                                 std::to_string(kFactsVersion) + " is accepted");
    return json.get<Facts>();
  } catch (const nlohmann::json::exception& error) {
    return malformed(file, error.what());
  }
}

}  // namespace portcullis::light
