// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fence_proof/report.hpp"

#include <fmt/format.h>

#include <numeric>

namespace portcullis::tools::fence_proof {
namespace {

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

/// What was shown, what luck it needs and what nobody looked at: no more than was computed.
std::string claim(const adversary::ProofReport& report) {
  constexpr auto kClaim =
      R"(shown: no DMA for a lease whose outcome stood, there or in the region of the next tenant
claimed, of {} outcomes in {} runs
  - from the outcome on no DMA, read or write, touched the region
  - nothing of an old client was written to, read from or changed by an atomic in the region of the
    tenant that had its QP number next, and no client got words of another's lease, nor reached the
    next tenant's by the key of a group that had the lease before
  - no QP was reset before GRACE was over, and no number came back before its rest was, but by plan
    legacy, which has neither
  - no revoke was answered before its outcome stood, and none was Fenced, or unproved, without a
    failure that was put there for it
luck that the adversary may have
  - any, against a region whose outcome stands
  - the PSN that is expected, for what names a key, and for all that lives no longer than the number
    rests: for GRACE, or for the client's retry budget where that is longer
luck that he is not granted
  - the PSN, for what names no key (a SEND, a WRITE but for its first packet) and lives longer, or
    is begun by a client that has heard nothing: 1 in 2^24 for each packet
{}it rests on promises A1, A2, A5, A6 and A7 of docs/hca-contract.md; nobody looked at
  - a card: it is the model that kept them
  - what became of {} regions whose unmap was made to fail, and which were told to be unproved
  - a READ or atomic of an old client where the tenant's own asks for the same bytes
  - more than {} leases at a time, other QPs than the lease's own and the one that has its number
    next, and plan drop-only)";
  std::uint64_t outcomes = 0;
  std::uint64_t unproved = 0;
  bool has_legacy = false;
  for (const adversary::PlanTally& plan : report.plans) {
    outcomes += plan.torn_down + plan.fenced;
    unproved += plan.unproved;
    has_legacy = has_legacy || plan.plan.starts_with(lease::legacy_plan().name);
  }
  return fmt::format(kClaim, outcomes - unproved, report.runs,
                     has_legacy ? "  - the same at once in plan legacy, which has no rest\n" : "",
                     unproved, adversary::kMostLeases);
}

std::string verdict(const adversary::ProofReport& report) {
  if (report.violations != 0)
    return fmt::format("NOT SHOWN: {} of {} runs violate the fence", report.violations,
                       report.runs);
  if (report.runs != report.asked)
    return fmt::format("NOT SHOWN: stopped after {} of {} runs, none of which violates the fence",
                       report.runs, report.asked);
  for (std::size_t i = 0; i < adversary::kPositions.size(); ++i)
    if (report.occupied[i] == 0)
      return fmt::format("NOT SHOWN: nothing ever stood at \"{}\"", name(adversary::kPositions[i]));
  for (std::size_t i = 0; i < adversary::kOperations.size(); ++i)
    if (report.succeeded[i] == 0)
      return fmt::format("NOT SHOWN: no {} was ever carried out", adversary::kOperations[i].name);
  if (!report.is_shown())
    return fmt::format("NOT SHOWN: only {:.0f} % of the runs are crowded, 50 % expected",
                       share(report.crowded, report.runs));
  return claim(report);
}

/// Means.
std::string operations_of_a_run(const adversary::ProofReport& report) {
  const auto mean = [&report](std::uint64_t total) {
    return report.runs == 0 ? 0 : static_cast<double>(total) / static_cast<double>(report.runs);
  };
  const auto sum = [](const adversary::OperationCounts& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  std::string text =
      fmt::format("\n{:<24}{:>9}{:>12}\n", "operations of a run", "posted", "successful");
  for (std::size_t i = 0; i < adversary::kOperations.size(); ++i)
    text += fmt::format("  {:<22}{:>9.1f}{:>12.1f}\n", adversary::kOperations[i].name,
                        mean(report.posted[i]), mean(report.succeeded[i]));
  return text + fmt::format(
                    "  {:<22}{:>9.1f}{:>12.1f}\n{:.0f} steps held, {:.0f} accesses to "
                    "leased memory\n",
                    "together", mean(sum(report.posted)), mean(sum(report.succeeded)),
                    mean(report.holds), mean(report.touched));
}

std::string circumstances(const adversary::ProofReport& report) {
  return fmt::format(
      "GRACE outlasts the retry budget in {} runs, and the budget GRACE in {}; {} revokes joined "
      "one under way; {} leases ended by a drain\n"
      "{} messages by the key of a group went to where a lease of it had been; {} commands of "
      "fences\nwere answered by a kernel that took the device for broken\n",
      report.long_grace, report.runs - report.long_grace, report.joined, report.drained,
      report.reached_over, report.faked);
}

}  // namespace

std::string describe(const adversary::ProofReport& report) {
  constexpr auto kRow = "{:<24}{:>9}{:>11}{:>9}{:>11}{:>9}{:>12}\n";
  std::string text =
      fmt::format(kRow, "plan", "runs", "TornDown", "Fenced", "unproved", "DROP", "violations");
  for (const adversary::PlanTally& plan : report.plans)
    text += fmt::format(kRow, plan.plan, plan.runs, plan.torn_down, plan.fenced, plan.unproved,
                        plan.steered, plan.violations);
  text += fmt::format("\nat the instant of the mkey step, of {} such steps:\n", report.key_steps);
  for (std::size_t i = 0; i < adversary::kPositions.size(); ++i)
    text += fmt::format("  {:<32}{:>9}  {:5.1f} %\n", name(adversary::kPositions[i]),
                        report.occupied[i], share(report.occupied[i], report.key_steps));
  text += fmt::format("  {} packets and {} DMAs in flight, of {} runs: {}  {:.1f} %\n",
                      adversary::kCrowdedPackets, adversary::kCrowdedDmas, report.runs,
                      report.crowded, share(report.crowded, report.runs));
  text += operations_of_a_run(report) + circumstances(report);
  text += fmt::format("\n{} runs in {:.1f} s\n{}\n", report.runs, report.seconds, verdict(report));
  return text;
}

std::string describe(const adversary::Finding& finding, std::string_view program) {
  const adversary::RunSpec& spec = finding.spec;
  const bool is_limited = spec.holds != adversary::RunSpec::kNoLimit;
  const std::string held = is_limited ? fmt::format(", {} steps held at most", spec.holds) : "";
  const std::string holds = is_limited ? fmt::format(" --holds={}", spec.holds) : "";
  return fmt::format(
      "seed {}, plan {}, {} operations{}: {}\n"
      "  again: {} --runs=1 --seed={} --plan={} --mutant={} --operations={}{}",
      spec.seed, spec.plan.full_name(), spec.operations, held, describe(finding.violation), program,
      spec.seed, spec.plan.full_name(), name(spec.mutant), spec.operations, holds);
}

std::string describe_mutant(const adversary::MutantInfo& info,
                            const adversary::ProofReport& report) {
  if (report.violations == 0 && report.runs != report.asked)
    return fmt::format("{:<26}stopped after {} runs: {}\n", info.name, report.runs, info.what);
  if (report.violations == 0)
    return fmt::format("{:<26}NOT FOUND in {} runs: {}\n", info.name, report.runs, info.what);
  return fmt::format("{:<26}found in run {}: {}\n", info.name, report.runs, info.what);
}

}  // namespace portcullis::tools::fence_proof
