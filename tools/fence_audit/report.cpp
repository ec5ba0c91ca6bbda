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

/// p50, p99 and max of bytes, or of ns.
std::string json_of(const Histogram& histogram) {
  return fmt::format("{{\"p50\": {}, \"p99\": {}, \"max\": {}}}", histogram.percentile_ns(0.5),
                     histogram.percentile_ns(0.99), histogram.max_ns());
}

std::string json_of(const proof::PlanAudit::Load& load) {
  return fmt::format(
      "     \"bytes_in_flight_at_command\": {}, \"bytes_landed_by_answer\": {},\n"
      "     \"bytes_in_flight_at_answer\": {}, \"read_bytes_at_command\": {},\n"
      "     \"read_bytes_served_since\": {}, \"read_bytes_at_answer\": {}, \"look_ns\": {},\n",
      json_of(load.in_flight_at_command), json_of(load.landed_by_answer),
      json_of(load.in_flight_at_answer), json_of(load.reads_at_command), json_of(load.reads_served),
      json_of(load.reads_at_answer), json_of(load.look_ns));
}

std::string_view word_of(proof::AuditVerdict verdict) {
  switch (verdict) {
    case proof::AuditVerdict::Held:
      return "held";
    case proof::AuditVerdict::Broken:
      return "broken";
    case proof::AuditVerdict::NoEvidence:
      return "no evidence";
  }
  return "unknown";
}

std::string json_of(const proof::PlanAudit& audit) {
  const std::string own =
      audit.is_served
          ? fmt::format("     \"unsettled\": {},\n", audit.unsettled)
          : fmt::format("     \"read_late\": {}, \"foreign\": {}, \"load_lcore\": {},\n",
                        audit.read_late, audit.foreign,
                        audit.load_lcore ? std::to_string(*audit.load_lcore) : "null") +
                json_of(audit.load);
  return fmt::format(
      "    {{\"plan\": {}, \"load\": \"{}\", \"verdict\": \"{}\", \"fences\": {}, "
      "\"under_load\": {}, \"watched\": {}, \"watched_from_answer\": {},\n"
      "     \"changed_after\": {}, \"executed_after\": {}, \"counted_after\": {},\n{}"
      "     \"last_success_after_outcome_ns\": {},\n"
      "     \"outcomes\": {},\n     \"client_statuses\": {}}}",
      json_string(audit.plan), audit.is_served ? "lease-verify" : "loopback",
      word_of(audit.verdict()), audit.fences, audit.under_load, audit.watched, audit.from_answer,
      audit.changed, audit.executed, audit.has_counter ? std::to_string(audit.counted) : "null",
      own, audit.is_served ? "null" : std::to_string(audit.last_success_ns),
      object_of(audit.outcomes, [](const std::string& key) { return key; }),
      object_of(audit.statuses, status_name));
}

std::string_view label_of(proof::AuditVerdict verdict) {
  switch (verdict) {
    case proof::AuditVerdict::Held:
      return "ok   ";
    case proof::AuditVerdict::Broken:
      return "WRONG";
    case proof::AuditVerdict::NoEvidence:
      return "none ";
  }
  return "?    ";
}

std::string bytes_text(const Histogram& histogram) {
  const auto kib = [](std::uint64_t bytes) {
    return fmt::format("{:.3g}", static_cast<double>(bytes) / 1024);
  };
  return fmt::format("{} / {} / {} KiB", kib(histogram.percentile_ns(0.5)),
                     kib(histogram.percentile_ns(0.99)), kib(histogram.max_ns()));
}

/// Clients of our own: what they had under way, and how soon memory was looked at.
std::string load_text(const proof::PlanAudit& audit) {
  const auto time = [](std::uint64_t ns) { return duration_text(static_cast<double>(ns)); };
  const proof::PlanAudit::Load& load = audit.load;
  return fmt::format(
      "        load: WRITEs of 1 KiB to 64 KiB and READs {}\n"
      "        of each key, p50 / p99 / max:\n"
      "          WRITEs not in memory at the command {}, of those landed by its answer {},\n"
      "          not in memory at its answer {}\n"
      "          READs not completed at the command {}, served from then on {}, not completed at "
      "its "
      "answer {}\n"
      "          memory was looked at {} / {} / {} behind the last poll without an answer; DMA "
      "that is late by less may go unseen\n",
      audit.load_lcore ? fmt::format("from lcore {}", *audit.load_lcore)
                       : std::string("between the polls of the thread that fences (a second lcore, "
                                     "-l 2-3, would have them to itself)"),
      bytes_text(load.in_flight_at_command), bytes_text(load.landed_by_answer),
      bytes_text(load.in_flight_at_answer), bytes_text(load.reads_at_command),
      bytes_text(load.reads_served), bytes_text(load.reads_at_answer),
      time(load.look_ns.percentile_ns(0.5)), time(load.look_ns.percentile_ns(0.99)),
      time(load.look_ns.max_ns()));
}

std::string own_text(const proof::PlanAudit& audit) {
  std::string text = load_text(audit);
  if (audit.watched < audit.fences)
    text += fmt::format("        of {} the memory was gone before it could be watched\n",
                        audit.fences - audit.watched);
  text += fmt::format(
      "        WRITEs landed late in {} of {} watched: {} from the answer for the key on, {} from "
      "the outcome on; words of nobody in {}\n"
      "        READs brought what was put there after it in {}; requests posted later executed in "
      "{}\n",
      audit.changed, audit.watched, audit.from_answer, audit.watched - audit.from_answer,
      audit.foreign, audit.read_late, audit.executed);
  return text;
}

std::string served_text(const proof::PlanAudit& audit) {
  return fmt::format(
      "        bytes changed in {} of {} watched: {} from the answer for the key on, {} from the "
      "outcome on\n"
      "        in {} a WRITE landed between the last look and that answer, or just behind it\n"
      "        {} WRITEs moved the first word after an outcome; READs that are served late are not "
      "looked for\n",
      audit.changed, audit.watched, audit.from_answer, audit.watched - audit.from_answer,
      audit.unsettled, audit.executed);
}

}  // namespace

proof::AuditVerdict verdict(const std::vector<proof::PlanAudit>& audits) {
  using proof::AuditVerdict;
  const auto is = [](AuditVerdict wanted) {
    return [wanted](const proof::PlanAudit& audit) { return audit.verdict() == wanted; };
  };
  if (std::ranges::any_of(audits, is(AuditVerdict::Broken))) return AuditVerdict::Broken;
  if (audits.empty() || std::ranges::any_of(audits, is(AuditVerdict::NoEvidence)))
    return AuditVerdict::NoEvidence;
  return AuditVerdict::Held;
}

std::string verdict_of(const std::vector<proof::PlanAudit>& audits) {
  using proof::AuditVerdict;
  if (std::ranges::all_of(audits, [](const auto& audit) { return audit.fences == 0; }))
    return "no evidence: nothing was fenced";
  switch (verdict(audits)) {
    case AuditVerdict::Held:
      return "the fence held";
    case AuditVerdict::Broken:
      return "the fence did not hold";
    case AuditVerdict::NoEvidence:
      break;
  }
  std::string lacking;
  for (const proof::PlanAudit& audit : audits)
    if (audit.verdict() == AuditVerdict::NoEvidence)
      lacking += fmt::format("{}{} ({} of {})", lacking.empty() ? "" : ", ", audit.plan,
                             audit.under_load, audit.fences);
  return fmt::format(
      "no evidence: nothing was late, but fewer than half of the fences met packets of their key: "
      "{}",
      lacking);
}

std::string text_of(const proof::PlanAudit& audit) {
  std::string text =
      fmt::format("{} {}: {} fences, {} ({:.1f} %) {}\n", label_of(audit.verdict()), audit.plan,
                  audit.fences, audit.under_load, 100 * audit.share_under_load(),
                  audit.is_served ? "under load of lease-verify" : "met packets of their key");
  for (const auto& [outcome, count] : audit.outcomes)
    text += fmt::format("        {} x {}\n", count, outcome);
  text += audit.is_served ? served_text(audit) : own_text(audit);
  text += fmt::format("        Q counter: {}\n",
                      audit.has_counter ? fmt::format("{} requests taken in after", audit.counted)
                                        : std::string("none on this function"));
  if (audit.is_served) return text + "        what the clients saw: their own lease-verify says\n";
  text += fmt::format("        last success of what was posted before: {} after the outcome\n",
                      duration_text(static_cast<double>(audit.last_success_ns)));
  for (const auto& [status, count] : audit.statuses)
    text += fmt::format("        {} clients saw {} ({})\n", count, status_name(status), status);
  return text;
}

std::string_view lines_header() noexcept {
  return "plan,fence,watched,in_flight_at_command,landed_by_answer,in_flight_at_answer,"
         "reads_at_command,reads_served,reads_at_answer,look_ns,late_writes,late_reads,executed_"
         "later,"
         "foreign_words\n";
}

std::string line_of(const std::string& plan, const proof::FenceRecord& record) {
  return fmt::format("{},{},{:d},{},{},{},{},{},{},{},{},{},{:d},{}\n", plan, record.number,
                     record.is_watched, record.in_flight_at_command, record.landed_by_answer,
                     record.in_flight_at_answer, record.reads_at_command, record.reads_served,
                     record.reads_at_answer, record.look_ns, record.late_writes, record.late_reads,
                     record.has_executed_later, record.foreign_words);
}

std::string json_of(const std::string& device, const std::vector<proof::PlanAudit>& audits) {
  std::string plans;
  for (const proof::PlanAudit& audit : audits)
    plans += (plans.empty() ? "" : ",\n") + json_of(audit);
  return fmt::format("{{\n  \"device\": {},\n  \"verdict\": {},\n  \"plans\": [\n{}\n  ]\n}}\n",
                     json_string(device), json_string(verdict_of(audits)), plans);
}

}  // namespace portcullis::tools::fence_audit
