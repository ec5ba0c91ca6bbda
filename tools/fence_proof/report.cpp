// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fence_proof/report.hpp"

#include <fmt/format.h>

namespace portcullis::fence_proof {
namespace {

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string verdict(const ProofReport& report) {
  if (report.violations != 0)
    return fmt::format("NOT SHOWN: {} of {} runs violate the fence", report.violations,
                       report.runs);
  for (std::size_t i = 0; i < kPositions.size(); ++i)
    if (report.occupied[i] == 0)
      return fmt::format("NOT SHOWN: nothing ever stood at \"{}\"", name(kPositions[i]));
  if (!report.is_shown())
    return fmt::format("NOT SHOWN: only {:.0f} % of the runs are crowded, 50 % expected",
                       share(report.crowded, report.runs));
  return "shown: no DMA touched a region after its outcome";
}

}  // namespace

std::string describe(const ProofReport& report) {
  std::string text = fmt::format("{:<24}{:>9}{:>11}{:>9}{:>11}{:>12}\n", "plan", "runs", "TornDown",
                                 "Fenced", "unproved", "violations");
  for (const PlanTally& plan : report.plans)
    text += fmt::format("{:<24}{:>9}{:>11}{:>9}{:>11}{:>12}\n", plan.plan, plan.runs,
                        plan.torn_down, plan.fenced, plan.unproved, plan.violations);
  text += fmt::format("\nat the instant of the mkey step, of {} such steps:\n", report.key_steps);
  for (std::size_t i = 0; i < kPositions.size(); ++i)
    text += fmt::format("  {:<32}{:>9}  {:5.1f} %\n", name(kPositions[i]), report.occupied[i],
                        share(report.occupied[i], report.key_steps));
  text +=
      fmt::format("  {} packets and {} DMAs in flight, of {} runs: {}  {:.1f} %\n", kCrowdedPackets,
                  kCrowdedDmas, report.runs, report.crowded, share(report.crowded, report.runs));
  const auto runs = static_cast<double>(report.runs == 0 ? 1 : report.runs);
  text += fmt::format(
      "\na run: {:.0f} operations, {:.0f} of them successful, {:.0f} steps held, {:.0f} accesses "
      "to leased memory\n{} runs in {:.1f} s\n{}\n",
      static_cast<double>(report.operations) / runs, static_cast<double>(report.succeeded) / runs,
      static_cast<double>(report.holds) / runs, static_cast<double>(report.touched) / runs,
      report.runs, report.seconds, verdict(report));
  return text;
}

std::string describe(const Finding& finding) {
  const RunSpec& spec = finding.spec;
  std::string command =
      fmt::format("fence_proof --runs=1 --seed={} --plan={} --mutant={} --operations={}", spec.seed,
                  spec.plan.name, name(spec.mutant), spec.operations);
  if (spec.holds != RunSpec::kNoLimit) command += fmt::format(" --holds={}", spec.holds);
  return fmt::format("seed {}: {}\n  again: {}", spec.seed, describe(finding.violation), command);
}

std::string describe_mutant(const MutantInfo& info, const ProofReport& report) {
  if (report.violations == 0)
    return fmt::format("{:<26}NOT FOUND in {} runs: {}\n", info.name, report.runs, info.what);
  return fmt::format("{:<26}found in run {}: {}\n", info.name, report.runs, info.what);
}

}  // namespace portcullis::fence_proof
