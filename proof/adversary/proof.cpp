// SPDX-License-Identifier: BSD-3-Clause
#include "proof/adversary/proof.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

namespace portcullis::proof::adversary {
namespace {

bool is_crowded(const Occupancy& occupancy) noexcept {
  return occupancy.packets >= kCrowdedPackets && occupancy.dmas >= kCrowdedDmas;
}

/// What the threads share.
class Tally {
 public:
  explicit Tally(const ProofOptions& options) : options_(options) {
    report_.asked = options.runs;
    for (const lease::Plan& plan : options.plans)
      report_.plans.push_back({.plan = plan.full_name()});
  }

  /// The next run; none when all are given out, or one has failed.
  std::optional<std::uint64_t> take() {
    const std::lock_guard locked(mutex_);
    const bool is_over = error_ || next_ == options_.runs ||
                         (options_.stops_at_first && report_.violations != 0) ||
                         (options_.stop != nullptr && options_.stop->load());
    if (is_over) return std::nullopt;
    return next_++;
  }
  [[nodiscard]] RunSpec spec_of(std::uint64_t run) const {
    return {.seed = options_.first_seed + run,
            .plan = options_.plans[run % options_.plans.size()],
            .mutant = options_.mutant,
            .operations = options_.operations,
            .holds = options_.holds,
            .pcap_path = options_.pcap_path,
            .trace_path = options_.trace_path,
            .on_recording_lost = options_.on_recording_lost};
  }
  void add(std::uint64_t run, const RunSpec& spec, const Result<RunResult>& result) {
    const std::lock_guard locked(mutex_);
    if (result)
      add(report_.plans[run % options_.plans.size()], spec, *result);
    else if (!error_)
      error_ = Error{result.error().code, "seed " + std::to_string(spec.seed) + ", plan " +
                                              spec.plan.full_name() + ": " + result.error().text};
  }
  Result<ProofReport> finish() && {
    if (error_) return tl::unexpected<Error>(*std::move(error_));
    return std::move(report_);
  }

 private:
  void add(PlanTally& plan, const RunSpec& spec, const RunResult& result) {
    ++report_.runs;
    ++plan.runs;
    plan.torn_down += result.torn_down;
    plan.fenced += result.fenced;
    plan.unproved += result.unproved;
    plan.steered += result.steered;
    for (std::size_t i = 0; i < kOperations.size(); ++i) {
      report_.posted[i] += result.posted[i];
      report_.succeeded[i] += result.succeeded[i];
    }
    report_.holds += result.holds;
    report_.touched += result.touched;
    report_.joined += result.joined;
    report_.reached_over += result.reached_over;
    report_.drained += result.drained;
    report_.faked += result.faked;
    report_.long_grace += outlasts_budget(spec) ? 1 : 0;
    report_.key_steps += result.occupancies.size();
    report_.crowded += std::ranges::any_of(result.occupancies, is_crowded) ? 1 : 0;
    for (const Occupancy& occupancy : result.occupancies)
      for (std::size_t i = 0; i < kPositions.size(); ++i)
        report_.occupied[i] += occupancy.at[i] != 0 ? 1 : 0;
    if (!result.violation) return;
    ++report_.violations;
    ++plan.violations;
    if (!report_.first || spec.seed < report_.first->spec.seed)
      report_.first = Finding{spec, *result.violation};
  }

  const ProofOptions& options_;
  std::mutex mutex_;
  ProofReport report_;
  std::optional<Error> error_;
  std::uint64_t next_ = 0;
};

/// The violation of `spec`, if it still has one.
std::optional<Finding> try_run(const RunSpec& spec) {
  const auto result = run(spec);
  if (!result || !result->violation) return std::nullopt;
  return Finding{spec, *result->violation};
}

/// The least power of two with which the violation is still there, then ever less taken off. Fewer
/// operations are another run, so this is a search, not a bisection.
template <class Number>
void lessen(Finding& finding, Number RunSpec::*number, Number most) {
  const auto take = [&](Number value) {
    RunSpec spec = finding.spec;
    spec.*number = value;
    auto smaller = try_run(spec);
    if (!smaller) return false;
    finding = *std::move(smaller);
    return true;
  };
  Number reached = 0;
  if (take(0)) return;
  for (reached = 1; reached < most && !take(reached); reached *= 2) {
  }
  reached = std::min(reached, most);
  for (Number cut = reached / 2; cut > 0; cut /= 2)
    while (reached > cut && take(reached - cut)) reached -= cut;
}

}  // namespace

bool ProofReport::is_shown() const noexcept {
  const auto is_zero = [](std::uint64_t count) { return count == 0; };
  return violations == 0 && runs == asked && 2 * crowded >= runs &&
         std::ranges::none_of(occupied, is_zero) && std::ranges::none_of(succeeded, is_zero);
}

std::vector<lease::Plan> provable_plans() {
  std::vector<lease::Plan> plans;
  for (const auto list : {lease::plans(), lease::entry_plans()}) {
    for (const lease::Plan& plan : list) {
      if (plan.best_outcome() != lease::Outcome::TornDown) continue;
      plans.push_back(plan);
      if (const auto together = plan.overlapped()) plans.push_back(*together);
    }
  }
  return plans;
}

std::vector<lease::Plan> plans_for(const MutantInfo& info) {
  const auto own = lease::parse_plan(info.plan);
  return own ? std::vector{*own} : provable_plans();
}

Result<ProofReport> prove(const ProofOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Tally tally(options);
  const auto work = [&tally] {
    while (const auto number = tally.take()) {
      const RunSpec spec = tally.spec_of(*number);
      tally.add(*number, spec, run(spec));
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < options.jobs; ++i) threads.emplace_back(work);
    work();
  }
  PORTCULLIS_TRY_ASSIGN(ProofReport report, std::move(tally).finish());
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

Finding shrink(const Finding& finding) {
  Finding smallest = finding;
  // The smaller runs leave nothing behind, so that what there is stays the violation's.
  smallest.spec.pcap_path.clear();
  smallest.spec.trace_path.clear();
  const auto result = run(smallest.spec);
  if (!result) return smallest;
  lessen(smallest, &RunSpec::operations, smallest.spec.operations);
  lessen(smallest, &RunSpec::holds, result->holds);
  return smallest;
}

}  // namespace portcullis::proof::adversary
