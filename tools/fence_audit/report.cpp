// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fence_audit/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/histogram.hpp"
#include "prm/cqe.hpp"
#include "prm/status.hpp"

namespace portcullis::tools::fence_audit {
namespace {

std::string status_name(int status) {
  return std::string(prm::name(static_cast<prm::WcStatus>(status)));
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

template <class Map, class Name>
std::string object_of(const Map& map, Name&& name) {
  std::string text;
  for (const auto& [key, count] : map)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", json_string(name(key)), count);
  return "{" + text + "}";
}

std::string json_of(const proof::PlanAudit& audit) {
  return fmt::format(
      "    {{\"plan\": {}, \"load\": \"{}\", \"holds\": {}, \"fences\": {}, \"under_load\": {}, "
      "\"watched\": {}, \"watched_from_answer\": {}, \"unsettled\": {},\n"
      "     \"changed_after\": {}, \"executed_after\": {}, \"counted_after\": {},\n"
      "     \"last_success_after_outcome_ns\": {},\n"
      "     \"outcomes\": {},\n     \"client_statuses\": {}}}",
      json_string(audit.plan), audit.is_served ? "lease-verify" : "loopback", audit.holds(),
      audit.fences, audit.under_load, audit.watched, audit.from_answer, audit.unsettled,
      audit.changed, audit.executed, audit.has_counter ? std::to_string(audit.counted) : "null",
      audit.is_served ? "null" : std::to_string(audit.last_success_ns),
      object_of(audit.outcomes, [](const std::string& key) { return key; }),
      object_of(audit.statuses, status_name));
}

}  // namespace

std::string verdict_of(const std::vector<proof::PlanAudit>& audits) {
  if (std::ranges::all_of(audits, [](const auto& audit) { return audit.fences == 0; }))
    return "nothing was fenced";
  const bool holds =
      std::all_of(audits.begin(), audits.end(), [](const auto& audit) { return audit.holds(); });
  return holds ? "the fence held" : "the fence did not hold";
}

std::string text_of(const proof::PlanAudit& audit) {
  std::string text =
      fmt::format("{} {}: {} fences, {} {}\n", audit.holds() ? "ok   " : "WRONG", audit.plan,
                  audit.fences, audit.under_load,
                  audit.is_served ? "under load of lease-verify"
                                  : "with a WRITE outstanding when the key was to go");
  for (const auto& [outcome, count] : audit.outcomes)
    text += fmt::format("        {} x {}\n", count, outcome);
  text += fmt::format(
      "        bytes changed in {} of {} watched: {} from the answer for the key on, {} from the "
      "outcome on\n"
      "        in {} a WRITE landed between the last look and that answer, or just behind it\n",
      audit.changed, audit.watched, audit.from_answer, audit.watched - audit.from_answer,
      audit.unsettled);
  text += fmt::format("        {} WRITEs {}; Q counter: {}\n", audit.executed,
                      audit.is_served ? "moved the first word after an outcome"
                                      : "posted after an outcome executed",
                      audit.has_counter ? fmt::format("{} requests taken in after", audit.counted)
                                        : std::string("none on this function"));
  if (audit.is_served) return text + "        what the clients saw: their own lease-verify says\n";
  text += fmt::format("        last success of what was posted before: {} after the outcome\n",
                      duration_text(static_cast<double>(audit.last_success_ns)));
  for (const auto& [status, count] : audit.statuses)
    text += fmt::format("        {} clients saw {} ({})\n", count, status_name(status), status);
  return text;
}

std::string json_of(const std::string& device, const std::vector<proof::PlanAudit>& audits) {
  std::string plans;
  for (const proof::PlanAudit& audit : audits)
    plans += (plans.empty() ? "" : ",\n") + json_of(audit);
  return fmt::format("{{\n  \"device\": {},\n  \"verdict\": {},\n  \"plans\": [\n{}\n  ]\n}}\n",
                     json_string(device), json_string(verdict_of(audits)), plans);
}

}  // namespace portcullis::tools::fence_audit
