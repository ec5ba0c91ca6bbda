// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/floor_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/histogram.hpp"
#include "bench/common/report.hpp"
#include "prm/cqe.hpp"

namespace portcullis::bench {
namespace {

constexpr std::uint64_t kBudgetNs = 2'000 * kNsPerMs;  // floor document, section 3.3
constexpr std::uint64_t kPropertyNs = kNsPerSecond;    // floor document, section 1.2
constexpr std::size_t kRunsShown = 10;

std::string time_text(std::uint64_t ns) { return duration_text(static_cast<double>(ns)); }

std::string region_text(const FloorFindings& findings) {
  if (findings.served > 0)
    return fmt::format("BYTES CHANGED AFTER THE OUTCOME in {} of {} runs: the fence is no fence",
                       findings.served, findings.runs.size());
  return findings.is_watched ? "no byte changed after the outcome"
                             : "the region was unmapped with the outcome";
}

std::string counters_text(const FloorRun& run) {
  if (!run.counters) return "none on this function";
  std::string text;
  for (const auto& [counter, count] : run.counters->named())
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counter, count);
  return text.empty() ? "nothing counted" : text;
}

std::string run_text(const FloorRun& run) {
  const std::string failure = run.failure_ns ? fmt::format("first failure {} with status {}",
                                                           time_text(*run.failure_ns), run.status)
                                             : "no failure before the deadline";
  return fmt::format("outcome {}, last success {}, last changed byte {}, {}: {}; Q counters: {}",
                     time_text(run.outcome_ns), time_text(run.last_success_ns),
                     time_text(run.last_change_ns), failure, name(run.seen()), counters_text(run));
}

}  // namespace

std::string_view name(FloorSeen seen) noexcept {
  switch (seen) {
    case FloorSeen::Silence:
      return "silence";
    case FloorSeen::Nak:
      return "nak";
    case FloorSeen::ServedAfterFence:
      return "served-after-fence";
    case FloorSeen::Nothing:
      break;
  }
  return "censored";
}

FloorSeen FloorRun::seen() const noexcept {
  if (is_served) return FloorSeen::ServedAfterFence;
  if (!failure_ns) return FloorSeen::Nothing;
  return status == static_cast<int>(prm::WcStatus::RETRY_EXC_ERR) ? FloorSeen::Silence
                                                                  : FloorSeen::Nak;
}

void FloorFindings::add(const FloorRun& run) {
  runs.push_back(run);
  last_success_ns = std::max(last_success_ns, run.last_success_ns);
  last_change_ns = std::max(last_change_ns, run.last_change_ns);
  if (run.is_served) ++served;
  if (run.failure_ns) {
    greatest_ns = std::max(greatest_ns, *run.failure_ns);
    ++statuses[run.status];
  } else {
    ++censored;
  }
}

std::vector<std::pair<std::string_view, std::uint64_t>> FloorFindings::counted() const {
  std::vector<std::pair<std::string_view, std::uint64_t>> sums;
  for (const auto& [counter, nothing] : pmd::QCounterValues{}.named())
    sums.emplace_back(counter, nothing);
  for (const FloorRun& run : runs)
    for (std::size_t i = 0; run.counters && i < sums.size(); ++i)
      sums[i].second += run.counters->named()[i].second;
  std::erase_if(sums, [](const auto& sum) { return sum.second == 0; });
  return sums;
}

std::string FloorFindings::seen_text() const {
  std::string text;
  for (const auto& [status, count] : statuses) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} ({})", prm::name(static_cast<prm::WcStatus>(status)), status);
    if (statuses.size() > 1) text += fmt::format(" x{}", count);
  }
  if (censored > 0)
    text += fmt::format("{}{} of {} runs censored: no failure before the deadline",
                        text.empty() ? "" : ", ", censored, runs.size());
  std::map<std::string_view, std::size_t> names;
  for (const FloorRun& run : runs) ++names[name(run.seen())];
  std::string seen;
  for (const auto& [each, count] : names) seen += (seen.empty() ? "" : ", ") + std::string(each);
  return text + ": " + seen;
}

FloorFindings& FloorReport::operator[](const std::string& name) {
  const auto same = std::find_if(all_.begin(), all_.end(),
                                 [&](const auto& entry) { return entry.first == name; });
  if (same != all_.end()) return same->second;
  return all_.emplace_back(name, FloorFindings{}).second;
}

bool FloorReport::is_served_after_fence() const noexcept {
  return std::ranges::any_of(all_, [](const auto& entry) { return entry.second.served > 0; });
}

std::vector<std::pair<std::string, std::vector<proof::FloorPoint>>> FloorReport::points() const {
  std::vector<std::pair<std::string, std::vector<proof::FloorPoint>>> plans;
  for (const auto& [series, findings] : all_) {
    if (!findings.not_measured.empty()) continue;
    const auto& plan = findings.plan;
    auto of_plan = std::ranges::find(plans, plan, [](const auto& entry) { return entry.first; });
    if (of_plan == plans.end()) of_plan = plans.insert(plans.end(), {plan, {}});
    for (const FloorRun& run : findings.runs)
      of_plan->second.push_back({.timeout = findings.timeout,
                                 .retry = findings.retry,
                                 .failure_ns = run.failure_ns,
                                 .deadline_ns = findings.deadline_ns,
                                 .last_change_ns = run.last_change_ns,
                                 .is_nak = run.seen() == FloorSeen::Nak});
  }
  return plans;
}

std::string FloorReport::csv() const {
  std::string text =
      "series,run,outcome_ns,last_success_ns,last_change_ns,first_failure_ns,status,seen";
  for (const auto& [counter, nothing] : pmd::QCounterValues{}.named())
    text += "," + std::string(counter);
  text += '\n';
  for (const auto& [series, findings] : all_)
    for (std::size_t i = 0; i < findings.runs.size(); ++i) {
      const FloorRun& run = findings.runs[i];
      text +=
          fmt::format("{},{},{},{},{},{},{},{}", series, i + 1, run.outcome_ns, run.last_success_ns,
                      run.last_change_ns, run.failure_ns ? std::to_string(*run.failure_ns) : "",
                      run.status, name(run.seen()));
      for (const auto& [counter, count] : run.counters.value_or(pmd::QCounterValues{}).named())
        text += run.counters ? fmt::format(",{}", count) : ",";
      text += '\n';
    }
  return text;
}

std::string chosen_mechanism(std::string_view behaviours) {
  constexpr std::array<std::string_view, 4> kMechanisms{"retx-total", "min-ack-timeout",
                                                        "retry-total", "dispatch-cache"};
  const bool is_chosen = std::ranges::any_of(kMechanisms, [behaviours](std::string_view each) {
    return behaviours.find(each) != std::string_view::npos;
  });
  if (!is_chosen) return {};
  return fmt::format(
      "the mechanism was chosen (behaviour={}): what the model was told to do comes out again, "
      "which says nothing of a card\n",
      behaviours);
}

std::string describe(const std::string& series, const FloorFindings& findings) {
  if (!findings.not_measured.empty())
    return fmt::format("{}: not measured, {} ended runs: {}{}\n", series, findings.runs.size(),
                       findings.not_measured,
                       findings.served > 0 ? "; " + region_text(findings) : "");
  std::string text = fmt::format("{}: {}\n", series, findings.seen_text());
  text += fmt::format("  sub-second property {}, 2000 ms budget {}\n",
                      findings.is_met(kPropertyNs) ? "met" : "NOT met",
                      findings.is_met(kBudgetNs) ? "met" : "NOT met");
  text += fmt::format("  last success {} after the revoke, last changed byte {}; {}\n",
                      time_text(findings.last_success_ns), time_text(findings.last_change_ns),
                      region_text(findings));
  for (std::size_t i = 0; i < std::min(kRunsShown, findings.runs.size()); ++i)
    text += fmt::format("  run {}: {}\n", i + 1, run_text(findings.runs[i]));
  return text;
}

}  // namespace portcullis::bench
