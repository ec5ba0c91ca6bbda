// SPDX-License-Identifier: BSD-3-Clause
//
// The floor: how long a client that ignores the outcome of a revoke goes on before its own QP tells
// it that a WRITE failed. Also when its last WRITE succeeded and when the region last changed, for
// these tell apart a retry budget that runs out, a late NAK, and a fence that is none. A sweep over
// ack timeouts and retry counts says which mechanism takes the time.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "attach/open_device.hpp"
#include "bench/common/floor_report.hpp"
#include "bench/common/suite.hpp"
#include "lease/fence_plan.hpp"
#include "model/model.hpp"
#include "program/output_file.hpp"
#include "proof/tenancy.hpp"

namespace portcullis::bench {
namespace {

// The figures of the floor document.
constexpr std::uint64_t kRecallNs = 12 * kNsPerMs;     // of the control plane, section 1.1
constexpr std::uint64_t kFloorNs = 1'400 * kNsPerMs;   // on every path tried, section 3.1
constexpr std::uint64_t kBudgetNs = 2'000 * kNsPerMs;  // of its regression test, section 3.3
constexpr std::uint64_t kPropertyNs = kNsPerSecond;    // the sub-second property, section 1.2
constexpr int kServedAfterFence = 2;                   // exit status

std::uint64_t since(std::uint64_t start, std::uint64_t then) {
  return then > start ? then - start : 0;
}

/// What a series is run on.
struct Ground {
  std::optional<pmd::QCounter> counter;  // outlives the QPs that it counts for
  std::unique_ptr<proof::Tenancy> tenancy;
};

/// None on a function without counters.
Result<std::optional<pmd::QCounterValues>> counted(const Ground& ground, bool clear) {
  if (!ground.counter) return std::optional<pmd::QCounterValues>();
  PORTCULLIS_TRY_ASSIGN(const auto values, ground.counter->query(clear));
  return std::optional(values);
}

Result<std::optional<std::uint64_t>> one_run(proof::Session& session, Ground& ground,
                                             const lease::Plan& plan, std::uint64_t deadline_ns,
                                             FloorFindings& findings) {
  proof::Tenancy& tenancy = *ground.tenancy;
  PORTCULLIS_TRY(tenancy.grant_all());
  PORTCULLIS_TRY(tenancy.start_traffic());
  PORTCULLIS_TRY(counted(ground, /*clear=*/true));
  const proof::Client::Observation& seen = tenancy.client(0).seen();
  const std::uint64_t start = session.now_ns();
  PORTCULLIS_TRY(tenancy.revoke_all(plan));
  // What changed before the outcome is seen now, so what is seen later changed later.
  tenancy.client(0).watch_region();
  const std::uint64_t outcome = session.now_ns();
  PORTCULLIS_TRY_ASSIGN(const bool has_failed, session.run_until(start + deadline_ns, [&seen] {
    return seen.failure.has_value();
  }));

  FloorRun run{.outcome_ns = since(start, outcome),
               .last_success_ns = since(start, seen.last_success_ns),
               .last_change_ns = since(start, seen.last_change_ns),
               .is_served = seen.last_change_ns > outcome};
  if (has_failed) {
    run.failure_ns = since(start, seen.failure_ns);
    run.status = static_cast<int>(seen.failure->status);
  }
  PORTCULLIS_TRY_ASSIGN(run.counters, counted(ground, /*clear=*/false));
  findings.add(run);
  PORTCULLIS_TRY(tenancy.finish());
  return run.failure_ns;
}

void annotate(benchmark::State& state, const FloorFindings& findings) {
  const auto most =
      std::max_element(findings.statuses.begin(), findings.statuses.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  state.counters["status"] = most == findings.statuses.end() ? 0 : most->first;
  state.counters["censored"] = static_cast<double>(findings.censored);
  state.counters["last_success"] = static_cast<double>(findings.last_success_ns);
  state.counters["last_change"] = static_cast<double>(findings.last_change_ns);
  state.counters["changed_after_outcome"] = static_cast<double>(findings.served);
  state.counters["watched"] = findings.is_watched ? 1 : 0;
  state.counters["sub_second_met"] = findings.is_met(kPropertyNs) ? 1 : 0;
  state.counters["budget_met"] = findings.is_met(kBudgetNs) ? 1 : 0;
  for (const auto& [counter, count] : findings.counted())
    state.counters["q:" + std::string(counter)] = static_cast<double>(count);
  state.SetLabel(findings.seen_text());
}

SeriesPlan series_of(const Options& options, const lease::Plan& plan,
                     const std::shared_ptr<FloorReport>& all,
                     const std::optional<proof::DropTrial>& drop = std::nullopt) {
  SeriesPlan series;
  series.name = fmt::format("floor/{}/timeout:{}/retry:{}",
                            drop ? "approach:" + name(*drop) : "plan:" + plan.full_name(),
                            options.timeout, options.retry);
  series.wall_samples = options.samples;
  const std::uint64_t deadline_ns = options.deadline_ms * kNsPerMs;
  proof::TenancyOptions tenancy_options{1, static_cast<std::uint8_t>(options.timeout),
                                        static_cast<std::uint8_t>(options.retry)};
  tenancy_options.are_together = plan.is_for_groups();
  tenancy_options.entry = plan.entry;
  tenancy_options.drop = drop;
  // One execution after the other prepares, samples and annotates; what it found is kept for the
  // end.
  const auto current = std::make_shared<std::string>();
  series.prepare = [=, name = series.name](proof::Session& session) -> Result<Sampler> {
    *current = fmt::format("{}/clock:{}", name, session.device().clock.name());
    const auto ground = std::make_shared<Ground>();
    if (auto counter = pmd::QCounter::create(session.context()))
      ground->counter.emplace(std::move(*counter));
    proof::TenancyOptions counting = tenancy_options;
    counting.counter_set = ground->counter ? ground->counter->id() : std::uint8_t{0};
    PORTCULLIS_TRY_ASSIGN(ground->tenancy, proof::Tenancy::create(session, counting));
    FloorFindings& findings = (*all)[*current];
    findings.plan = plan.full_name();
    findings.timeout = tenancy_options.timeout;
    findings.retry = tenancy_options.retry;
    findings.deadline_ns = deadline_ns;
    findings.is_watched = plan.has_grace;
    return Sampler([&session, ground, plan, deadline_ns, &findings] {
      return one_run(session, *ground, plan, deadline_ns, findings);
    });
  };
  series.annotate = [all, current](benchmark::State& state) { annotate(state, (*all)[*current]); };
  series.give_up = [all](const std::string& name, const Error& error) {
    (*all)[name].not_measured = error.text;
  };
  return series;
}

std::vector<SeriesPlan> series(const Options& options, const std::shared_ptr<FloorReport>& report) {
  constexpr unsigned kFirstTimeout = 8;
  constexpr unsigned kLastTimeout = 18;
  constexpr unsigned kMostRetries = 7;
  std::vector<SeriesPlan> all;
  for (const lease::Plan& plan : plans_of(options)) {
    if (!options.is_sweep) {
      all.push_back(series_of(options, plan, report));
      continue;
    }
    Options one = options;
    for (one.timeout = kFirstTimeout; one.timeout <= kLastTimeout; ++one.timeout)
      for (one.retry = 1; one.retry <= kMostRetries; ++one.retry)
        all.push_back(series_of(one, plan, report));
  }
  for (const proof::DropTrial& drop : drops_of(options))
    all.push_back(series_of(options, lease::seed_plan(), report, drop));
  return all;
}

/// In force in the model; empty on a card.
std::string behaviours_of(const Options& options) {
  const auto spec = attach::parse_device(options.device);
  const auto* model = spec ? std::get_if<model::Options>(&spec->kind) : nullptr;
  return model == nullptr ? "" : model::behaviours_in_force(*model).value_or("");
}

Result<void> write_csv(const FloorReport& report, const std::string& directory) {
  const std::string path = directory + "/floor_bench.runs.csv";
  return program::write_output(path, report.csv());
}

Result<void> conclude(const FloorReport& report, const Options& options) {
  if (!options.is_sweep) {
    fmt::print("\nverdicts (the floor document's: sub-second property, {} regression budget)\n",
               duration_text(static_cast<double>(kBudgetNs)));
    for (const auto& [name, findings] : report) fmt::print("{}", describe(name, findings));
  }
  for (const auto& [plan, points] : report.points())
    if (options.is_sweep) fmt::print("\nplan {}: {}", plan, describe(proof::explain_floor(points)));
  fmt::print("{}", chosen_mechanism(behaviours_of(options)));
  if (report.is_served_after_fence())
    fmt::print("served-after-fence: bytes changed after an outcome; status {}\n",
               kServedAfterFence);
  if (options.out_dir.empty()) return {};
  return write_csv(report, options.out_dir);
}

}  // namespace
}  // namespace portcullis::bench

int main(int argc, char** argv) {
  namespace bench = portcullis::bench;
  const auto report = std::make_shared<bench::FloorReport>();
  const auto options = std::make_shared<bench::Options>();
  bench::Suite suite;
  suite.info = {.name = "floor_bench",
                .summary =
                    "When a client that ignores the outcome of a revoke sees its first "
                    "failing completion, and what takes the time. Status 2: bytes changed "
                    "after an outcome.",
                .has_plans = true,
                .has_leases = false,
                .has_retry = true,
                .default_samples = 10,
                .quick_samples = 1};
  suite.title = "floor_bench: revoke to the first failing completion";
  suite.references = {{"floor document: 12 ms", bench::kRecallNs},
                      {"floor document: 1.4 s", bench::kFloorNs},
                      {"floor document: 2000 ms", bench::kBudgetNs}};
  suite.series = [report, options](const bench::Options& given) {
    *options = given;
    return bench::series(given, report);
  };
  suite.conclude = [report, options](const bench::Report&) {
    return bench::conclude(*report, *options);
  };
  const int status = bench::run_suite(argc, argv, suite);
  return report->is_served_after_fence() ? bench::kServedAfterFence : status;
}
