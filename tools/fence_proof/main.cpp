// SPDX-License-Identifier: BSD-3-Clause
//
// fence_proof: seeded runs of every fence plan under an adversary, and every mutant.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <thread>

#include "program/command_line.hpp"
#include "program/signals.hpp"
#include "program/standard_streams.hpp"
#include "tools/fence_proof/report.hpp"

namespace {

using namespace portcullis;
using namespace portcullis::proof::adversary;
using namespace portcullis::tools::fence_proof;

constexpr int kRefused = 1;
constexpr int kNotShown = 2;
constexpr std::uint64_t kMutantRuns = 1000;
constexpr std::uint64_t kGreatest = std::uint64_t{1} << 62;  // so that no sum of two wraps

constexpr const char* kFooter = R"(
Each run grants two leases on a ConnectX-5 in software, revokes one under traffic, lets its slot and
numbers come back, and revokes the next tenant too; in some the leases are granted together, reached
by one indirect key. An adversary holds packets and DMA wherever they may stand and lets them go in
any order. An observer of the device's DMA, which knows nothing of leases, says whether a region was
touched after its outcome, and whether anything was read, written or changed in it, or came to a
client's hands, that its own client had not asked for.

Plan drop-only stands outside: it takes no key, so it never answers TornDown. What it comes to, an
unmapped region, is what every plan comes to when its key step fails, as it does in some runs.

Without --mutant the plans are put to the proof first; then every mutant is, which must be found:
the fence broken on purpose, or the card. What a violation takes is cut down to the smallest run,
and the command that shows it again is printed; --pcap and --trace record what happens there.

Ctrl-C ends it after the runs under way and tells what they came to; twice, at once.

Status 0: shown, and every mutant found. 2: a violation, an outcome that nothing explains, a
position nobody ever stood at, an operation that never succeeded, too few packets in flight, or a
mutant that was not found. The report says what luck the adversary is not granted and what was not
looked at. 130: stopped. Any other: nothing was shown, and the line on stderr says why. What is
shown rests on docs/hca-contract.md.

Mutants)";

std::string footer() {
  std::string text = kFooter;
  for (const MutantInfo& info : mutants()) {
    text += fmt::format("\n  {:<26}{}", info.name, info.what);
    if (!info.plan.empty()) text += fmt::format(" (plan {})", info.plan);
  }
  return text;
}

/// The runs under way end, and what they came to is told.
std::atomic<bool> stop = false;

struct Arguments {
  ProofOptions options;
  std::vector<std::string> plans;
  std::string mutant = "all";
  std::string program;  // as it was called
};

int refuse(const Error& error) {
  fmt::print(stderr, "fence_proof: {}\n", error.text);
  return kRefused;
}

Result<std::vector<lease::Plan>> parse_plans(const std::vector<std::string>& texts) {
  std::vector<lease::Plan> plans;
  for (const std::string& text : texts) {
    PORTCULLIS_TRY_ASSIGN(const lease::Plan plan, lease::parse_plan(text));
    if (plan.best_outcome() != lease::Outcome::TornDown)
      return fail(Errc::InvalidArgument,
                  "plan '" + text +
                      "' never answers TornDown, so it has no key step to be put to "
                      "the proof; every other plan is accepted");
    plans.push_back(plan);
  }
  return plans;
}

Result<void> check_recording(const ProofOptions& options) {
  if (options.runs == 1 || (options.pcap_path.empty() && options.trace_path.empty())) return {};
  return fail(Errc::InvalidArgument, "--pcap and --trace record one run; --runs=1 expected, not " +
                                         std::to_string(options.runs));
}

void print(const Arguments& arguments, const Finding& finding) {
  fmt::print("  {}\n", describe(shrink(finding), arguments.program));
  std::fflush(stdout);
}

Result<bool> prove_plans(const Arguments& arguments) {
  ProofOptions options = arguments.options;
  if (options.plans.empty()) options.plans = provable_plans();
  PORTCULLIS_TRY_ASSIGN(const ProofReport report, prove(options));
  fmt::print("{}", describe(report));
  if (report.first) print(arguments, *report.first);
  return report.is_shown();
}

/// One mutant, until it is found: by the plans that were asked for, or by those that it is about.
Result<bool> find_mutant(const Arguments& arguments, const MutantInfo& info) {
  ProofOptions options = arguments.options;
  if (options.plans.empty()) options.plans = plans_for(info);
  options.mutant = info.mutant;
  options.stops_at_first = true;
  PORTCULLIS_TRY_ASSIGN(const ProofReport report, prove(options));
  fmt::print("{}", describe_mutant(info, report));
  if (report.first) print(arguments, *report.first);
  return report.first.has_value();
}

Result<bool> find_mutants(Arguments arguments) {
  fmt::print("\nmutants\n");
  arguments.options.runs = kMutantRuns;
  arguments.options.plans.clear();
  arguments.options.pcap_path.clear();
  arguments.options.trace_path.clear();
  bool all_found = true;
  for (const MutantInfo& info : mutants()) {
    if (stop) return false;
    PORTCULLIS_TRY_ASSIGN(const bool is_found, find_mutant(arguments, info));
    all_found = all_found && is_found;
  }
  return all_found;
}

Result<int> act(Arguments& arguments) {
  PORTCULLIS_TRY_ASSIGN(arguments.options.plans, parse_plans(arguments.plans));
  PORTCULLIS_TRY(check_recording(arguments.options));
  if (arguments.mutant != "all" && arguments.mutant != "none") {
    PORTCULLIS_TRY_ASSIGN(const Mutant mutant, parse_mutant(arguments.mutant));
    const auto info = std::ranges::find(mutants(), mutant, &MutantInfo::mutant);
    PORTCULLIS_TRY_ASSIGN(const bool is_found, find_mutant(arguments, *info));
    return is_found ? 0 : kNotShown;
  }
  PORTCULLIS_TRY_ASSIGN(bool is_shown, prove_plans(arguments));
  if (arguments.mutant == "all" && !stop) {
    PORTCULLIS_TRY_ASSIGN(const bool all_found, find_mutants(arguments));
    is_shown = is_shown && all_found;
  }
  return is_shown ? 0 : kNotShown;
}

int run_program(int argc, char** argv) {
  CLI::App app{
      "Shows that a fence holds under every schedule an adversary can think of, and that "
      "it would be seen if it did not.",
      "fence_proof"};
  Arguments arguments;
  arguments.program = argv[0];
  arguments.options.stop = &stop;
  arguments.options.on_recording_lost = program::note_lost_file;
  program::ask_once(SIGINT, stop);
  ProofOptions& options = arguments.options;
  options.jobs = std::max(1U, std::thread::hardware_concurrency());
  app.add_option("--runs", options.runs, "seeded runs (default 10000; 1000000 is for a night)")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}, "1 to 1000000000"));
  app.add_option("--seed", options.first_seed, "seed of the first run; the others follow")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{0}, kGreatest, "0 to 2^62"));
  app.add_option("--plan", arguments.plans,
                 "plans, comma separated (default all that may answer TornDown, with +overlap)")
      ->type_name("LIST")
      ->delimiter(',');
  app.add_option("--mutant", arguments.mutant,
                 "none, one of those below, or all (default, after the plans)")
      ->type_name("NAME");
  app.add_option("--operations", options.operations, "of a run, at least (default 300)")
      ->type_name("N")
      ->check(CLI::Range(0U, 1'000'000U, "0 to 1000000"));
  app.add_option("--holds", options.holds, "steps that the adversary may hold in a run")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{0}, kGreatest, "0 to 2^62"));
  app.add_option("--pcap", options.pcap_path, "records the packets of the one run in FILE")
      ->type_name("FILE");
  app.add_option("--trace", options.trace_path, "records its commands (docs/trace-format.md)")
      ->type_name("FILE");
  app.add_option("--jobs", options.jobs, "threads (default one a core)")
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U, "1 to 1024"));
  app.footer(footer());
  const auto text = program::parse_arguments(app, {argv + 1, argv + argc});
  if (!text) return refuse(text.error());
  if (*text) {
    fmt::print("{}", **text);
    return 0;
  }
  const auto status = act(arguments);
  if (stop) return program::kInterruptedStatus;
  return status ? *status : refuse(status.error());
}

}  // namespace

int main(int argc, char** argv) {
  return program::run_main(
      "fence_proof", [&] { return run_program(argc, argv); }, &stop);
}
