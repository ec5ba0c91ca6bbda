// SPDX-License-Identifier: BSD-3-Clause
//
// fence_proof: seeded runs of every fence plan under an adversary, and every mutant.
#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <thread>

#include "tools/fence_proof/report.hpp"

namespace {

using namespace portcullis;
using namespace portcullis::fence_proof;

constexpr int kRefused = 1;
constexpr int kNotShown = 2;
constexpr std::uint64_t kMutantRuns = 1000;

constexpr const char* kFooter = R"(
Each run grants two leases on a ConnectX-5 in software, revokes one under traffic, lets its slot and
numbers come back, and revokes the next tenant too. An adversary holds packets and DMA wherever they
may stand and lets them go in any order. An observer of the device's DMA, which knows nothing of
leases, says whether a region was touched after its outcome.

Without --mutant the plans are put to the proof first; then every mutant is, which must be found:
the fence broken on purpose, or the card. What a violation takes is cut down to the smallest run.

Status 0: shown, and every mutant found. 2: a violation, a position nobody ever stood at, or a
mutant that was not found. What is shown rests on docs/hca-contract.md.)";

struct Arguments {
  ProofOptions options;
  std::vector<std::string> plans;
  std::string mutant = "all";
};

int refuse(const Error& error) {
  fmt::print(stderr, "fence_proof: {}\n", error.text);
  return kRefused;
}

Result<void> choose_plans(Arguments& arguments) {
  if (arguments.plans.empty()) {
    arguments.options.plans = provable_plans();
    return {};
  }
  for (const std::string& text : arguments.plans) {
    PORTCULLIS_TRY_ASSIGN(const lease::Plan plan, lease::parse_plan(text));
    arguments.options.plans.push_back(plan);
  }
  return {};
}

Result<bool> prove_plans(const ProofOptions& options) {
  PORTCULLIS_TRY_ASSIGN(const ProofReport report, prove(options));
  fmt::print("{}", describe(report));
  if (report.first) fmt::print("{}\n", describe(shrink(*report.first)));
  return report.is_shown();
}

/// One mutant, until it is found.
Result<bool> find_mutant(ProofOptions options, const MutantInfo& info) {
  options.mutant = info.mutant;
  options.stops_at_first = true;
  PORTCULLIS_TRY_ASSIGN(const ProofReport report, prove(options));
  fmt::print("{}", describe_mutant(info, report));
  if (report.first) fmt::print("  {}\n", describe(shrink(*report.first)));
  std::fflush(stdout);
  return report.first.has_value();
}

Result<bool> find_mutants(const ProofOptions& options) {
  bool all_found = true;
  for (const MutantInfo& info : mutants()) {
    PORTCULLIS_TRY_ASSIGN(const bool is_found, find_mutant(options, info));
    all_found = all_found && is_found;
  }
  return all_found;
}

Result<int> act(Arguments& arguments) {
  PORTCULLIS_TRY(choose_plans(arguments));
  ProofOptions& options = arguments.options;
  if (arguments.mutant != "all" && arguments.mutant != "none") {
    PORTCULLIS_TRY_ASSIGN(const Mutant mutant, parse_mutant(arguments.mutant));
    const auto info = std::ranges::find(mutants(), mutant, &MutantInfo::mutant);
    PORTCULLIS_TRY_ASSIGN(const bool is_found, find_mutant(options, *info));
    return is_found ? 0 : kNotShown;
  }
  PORTCULLIS_TRY_ASSIGN(bool is_shown, prove_plans(options));
  if (arguments.mutant == "all") {
    fmt::print("\nmutants\n");
    ProofOptions hunt = options;
    hunt.runs = kMutantRuns;
    PORTCULLIS_TRY_ASSIGN(const bool all_found, find_mutants(hunt));
    is_shown = is_shown && all_found;
  }
  return is_shown ? 0 : kNotShown;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Shows that a fence holds under every schedule an adversary can think of, and that "
      "it would be seen if it did not.",
      "fence_proof"};
  Arguments arguments;
  ProofOptions& options = arguments.options;
  options.jobs = std::max(1U, std::thread::hardware_concurrency());
  app.add_option("--runs", options.runs, "seeded runs (default 10000; 1000000 is for a night)")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}));
  app.add_option("--seed", options.first_seed, "seed of the first run; the others follow")
      ->type_name("N");
  app.add_option("--plan", arguments.plans,
                 "plans, comma separated (default those that may answer TornDown)")
      ->type_name("LIST")
      ->delimiter(',');
  std::string names;
  for (const MutantInfo& info : mutants()) names += ", " + std::string(info.name);
  app.add_option("--mutant", arguments.mutant, "none, all (default, after the plans)" + names)
      ->type_name("NAME");
  app.add_option("--operations", options.operations, "of a run, at least (default 300)")
      ->type_name("N")
      ->check(CLI::Range(0U, 1'000'000U));
  app.add_option("--holds", options.holds, "steps that the adversary may hold in a run")
      ->type_name("N");
  app.add_option("--jobs", options.jobs, "threads (default one a core)")
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U));
  app.footer(kFooter);
  CLI11_PARSE(app, argc, argv);
  const auto status = act(arguments);
  return status ? *status : refuse(status.error());
}
