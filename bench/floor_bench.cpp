// SPDX-License-Identifier: BSD-3-Clause
//
// The floor: how long a client that ignores the outcome of a revoke goes on before its own QP tells
// it that a WRITE failed. Also when its last WRITE succeeded and when the region last changed, for
// these tell apart a retry budget that runs out, a late NAK, and a fence that is none.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "bench/common/suite.hpp"
#include "bench/common/tenancy.hpp"
#include "lease/fence_plan.hpp"
#include "prm/cqe.hpp"

namespace portcullis::bench {
namespace {

constexpr std::uint64_t kRecallNs = 12 * kNsPerMs;     // 001: the control plane's outcome
constexpr std::uint64_t kFloorNs = 1'400 * kNsPerMs;   // 001: what it saw on every path it tried
constexpr std::uint64_t kBudgetNs = 2'000 * kNsPerMs;  // 001: its regression budget
constexpr std::uint64_t kPropertyNs = kNsPerSecond;    // 001: the sub-second property

/// What the runs of one series came to.
struct Findings {
  std::map<int, std::uint64_t> statuses;  // of the first failing completion: how often
  std::uint64_t runs = 0;
  std::uint64_t censored = 0;
  std::uint64_t greatest_ns = 0;
  std::uint64_t last_success_ns = 0;        // the latest, from the revoke on
  std::uint64_t last_change_ns = 0;         // the latest, from the revoke on
  std::uint64_t changed_after_outcome = 0;  // runs in which bytes changed that a fence protects
  bool is_watched = true;                   // after the outcome; legacy frees the region with it

  [[nodiscard]] bool is_met(std::uint64_t limit_ns) const {
    return censored == 0 && greatest_ns <= limit_ns;
  }
};

/// By the name of the series, in the order of running.
class FindingsBySeries {
 public:
  [[nodiscard]] Findings& operator[](const std::string& name) {
    const auto same = std::find_if(all_.begin(), all_.end(),
                                   [&](const auto& entry) { return entry.first == name; });
    if (same != all_.end()) return same->second;
    return all_.emplace_back(name, Findings{}).second;
  }
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }

 private:
  std::deque<std::pair<std::string, Findings>> all_;  // references stay good
};

std::uint64_t since(std::uint64_t start, std::uint64_t then) {
  return then > start ? then - start : 0;
}

Result<std::optional<std::uint64_t>> one_run(Session& session, Tenancy& tenancy,
                                             const lease::Plan& plan, std::uint64_t deadline_ns,
                                             Findings& findings) {
  PORTCULLIS_TRY(tenancy.grant_all());
  PORTCULLIS_TRY(tenancy.start_traffic());
  const Client::Observation& seen = tenancy.client(0).seen();
  const std::uint64_t start = session.now_ns();
  PORTCULLIS_TRY(tenancy.revoke_all(plan));
  // What changed before the outcome is seen now, so what is seen later changed later.
  tenancy.client(0).watch_region();
  const std::uint64_t outcome = session.now_ns();
  PORTCULLIS_TRY_ASSIGN(const bool has_failed, session.run_until(start + deadline_ns, [&seen] {
    return seen.failure.has_value();
  }));

  ++findings.runs;
  findings.last_success_ns = std::max(findings.last_success_ns, since(start, seen.last_success_ns));
  findings.last_change_ns = std::max(findings.last_change_ns, since(start, seen.last_change_ns));
  if (seen.last_change_ns > outcome) ++findings.changed_after_outcome;
  std::optional<std::uint64_t> time;
  if (has_failed) {
    time = since(start, seen.failure_ns);
    findings.greatest_ns = std::max(findings.greatest_ns, *time);
    ++findings.statuses[static_cast<int>(seen.failure->status)];
  } else {
    ++findings.censored;
  }
  PORTCULLIS_TRY(tenancy.finish());
  return time;
}

/// "IBV_WC_RETRY_EXC_ERR (12)"; with their counts when runs differ.
std::string statuses_text(const Findings& findings) {
  std::string text;
  for (const auto& [status, count] : findings.statuses) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} ({})", prm::name(static_cast<prm::WcStatus>(status)), status);
    if (findings.statuses.size() > 1) text += fmt::format(" x{}", count);
  }
  if (findings.censored > 0)
    text += fmt::format("{}{} of {} runs censored: no failure before the deadline",
                        text.empty() ? "" : ", ", findings.censored, findings.runs);
  return text;
}

void annotate(benchmark::State& state, const Findings& findings) {
  const auto most =
      std::max_element(findings.statuses.begin(), findings.statuses.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  state.counters["status"] = most == findings.statuses.end() ? 0 : most->first;
  state.counters["censored"] = static_cast<double>(findings.censored);
  state.counters["last_success"] = static_cast<double>(findings.last_success_ns);
  state.counters["last_change"] = static_cast<double>(findings.last_change_ns);
  state.counters["changed_after_outcome"] = static_cast<double>(findings.changed_after_outcome);
  state.counters["sub_second_met"] = findings.is_met(kPropertyNs) ? 1 : 0;
  state.counters["budget_met"] = findings.is_met(kBudgetNs) ? 1 : 0;
  state.SetLabel(statuses_text(findings));
}

SeriesPlan series_of(const Options& options, const lease::Plan& plan,
                     const std::shared_ptr<FindingsBySeries>& all) {
  SeriesPlan series;
  series.name = fmt::format("floor/plan:{}/timeout:{}/retry:{}", plan.full_name(), options.timeout,
                            options.retry);
  series.wall_samples = options.samples;
  const std::uint64_t deadline_ns = options.deadline_ms * kNsPerMs;
  const TenancyOptions tenancy_options{1, static_cast<std::uint8_t>(options.timeout),
                                       static_cast<std::uint8_t>(options.retry)};
  // One execution after the other prepares, samples and annotates; what it found is kept for the
  // end.
  const auto current = std::make_shared<std::string>();
  series.prepare = [=, name = series.name](Session& session) -> Result<Sampler> {
    *current = fmt::format("{}/clock:{}", name, session.device().clock.name());
    PORTCULLIS_TRY_ASSIGN(auto made, Tenancy::create(session, tenancy_options));
    std::shared_ptr<Tenancy> tenancy = std::move(made);
    Findings& findings = (*all)[*current];
    findings.is_watched = plan.has_grace;
    return Sampler([&session, tenancy, plan, deadline_ns, &findings] {
      return one_run(session, *tenancy, plan, deadline_ns, findings);
    });
  };
  series.annotate = [all, current](benchmark::State& state) { annotate(state, (*all)[*current]); };
  return series;
}

std::vector<SeriesPlan> series(const Options& options,
                               const std::shared_ptr<FindingsBySeries>& findings) {
  std::vector<SeriesPlan> all;
  for (const lease::Plan& plan : plans_of(options))
    all.push_back(series_of(options, plan, findings));
  return all;
}

std::string region_text(const Findings& findings) {
  if (findings.changed_after_outcome > 0)
    return fmt::format("BYTES CHANGED AFTER THE OUTCOME in {} of {} runs",
                       findings.changed_after_outcome, findings.runs);
  return findings.is_watched ? "no byte changed after the outcome"
                             : "the region was unmapped with the outcome";
}

void conclude(const FindingsBySeries& all) {
  fmt::print("\nverdicts (001: sub-second property, {} regression budget)\n",
             duration_text(static_cast<double>(kBudgetNs)));
  for (const auto& [name, findings] : all) {
    fmt::print("{}: {}\n", name, statuses_text(findings));
    fmt::print("  sub-second property {}, 2000 ms budget {}\n",
               findings.is_met(kPropertyNs) ? "met" : "NOT met",
               findings.is_met(kBudgetNs) ? "met" : "NOT met");
    fmt::print("  last success {} after the revoke, last changed byte {}; {}\n",
               duration_text(static_cast<double>(findings.last_success_ns)),
               duration_text(static_cast<double>(findings.last_change_ns)), region_text(findings));
  }
}

}  // namespace
}  // namespace portcullis::bench

int main(int argc, char** argv) {
  namespace bench = portcullis::bench;
  const auto findings = std::make_shared<bench::FindingsBySeries>();
  bench::Suite suite;
  suite.info = {.name = "floor_bench",
                .summary =
                    "When a client that ignores the outcome of a revoke sees its first "
                    "failing completion.",
                .has_plans = true,
                .has_leases = false,
                .has_retry = true,
                .default_samples = 10,
                .quick_samples = 1};
  suite.title = "floor_bench: revoke to the first failing completion";
  suite.references = {{"12 ms recall (001)", bench::kRecallNs},
                      {"1.4 s floor (001)", bench::kFloorNs},
                      {"2000 ms budget (001)", bench::kBudgetNs}};
  suite.series = [findings](const bench::Options& options) {
    return bench::series(options, findings);
  };
  suite.conclude = [findings](const bench::Report&) { bench::conclude(*findings); };
  return bench::run_suite(argc, argv, suite);
}
