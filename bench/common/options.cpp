// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <string_view>

namespace portcullis::bench {
namespace {

constexpr std::string_view kBenchmarkPrefix = "--benchmark_";

constexpr const char* kFooter = R"(
Before `--` stand EAL arguments, after it ours and Google Benchmark's --benchmark_*:
  {0} -- --device=model,timing=cx5-16.35.4506
  {0} -l 2-3 -a 0000:03:00.0 -- --device=0000:03:00.0 --peer=loopback --out-dir=results
With the model and no EAL arguments the ones that need no privilege are supplied.
A model is emulated: its figures are never NIC latency. --benchmark_help lists Google Benchmark's.)";

std::string version_of(const ProgramInfo& info) {
  return fmt::format("{} (portcullis {})", info.name, PORTCULLIS_VERSION);
}

void add_common(CLI::App& app, const ProgramInfo& info, Options& options) {
  app.add_option("--device", options.device,
                 "a PCI address such as 0000:03:00.0, or\n"
                 "model[,timing=NAME][,behaviour=NAME].. (default model)")
      ->type_name("SPEC");
  app.add_option("--peer", options.peer, "where the client sits: loopback, a QP of the same device")
      ->type_name("PEER")
      ->check(CLI::IsMember({"loopback"}));
  app.add_option("--samples", options.samples,
                 fmt::format("samples of a wall-clock series (default {}, with --quick {});\n"
                             "a virtual-clock series is one value, run a few times to show it",
                             info.default_samples, info.quick_samples))
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}));
  app.add_option("--out-dir", options.out_dir,
                 fmt::format("directory for {0}.json, {0}.*.svg and\n"
                             "{0}.*.hgrm (HdrHistogram text); without it nothing is written",
                             info.name))
      ->type_name("DIR");
  app.add_flag("--quick", options.is_quick, "a few samples only: shows that everything runs");
}

void add_own(CLI::App& app, const ProgramInfo& info, Options& options) {
  if (info.has_plans)
    app.add_option("--plan", options.plans, "fence plans, comma separated (default all)")
        ->type_name("LIST")
        ->delimiter(',')
        ->check(CLI::IsMember(plan_names()));
  if (info.has_leases)
    app.add_option("--leases", options.leases,
                   "how many leases are revoked, comma separated (default 1,64)")
        ->type_name("LIST")
        ->delimiter(',')
        ->check(CLI::Range(1U, 1024U));
  if (info.has_retry) {
    app.add_option("--timeout", options.timeout,
                   "the client's ack timeout, 4.096 us x 2^N, 0 for ever (default 14)")
        ->type_name("0-31")
        ->check(CLI::Range(0U, 31U));
    app.add_option("--retry", options.retry, "the client's retry_cnt (default 7)")
        ->type_name("0-7")
        ->check(CLI::Range(0U, 7U));
  }
}

/// CLI11's texts may run over several lines; an error here is one.
tl::unexpected<Error> refuse(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return fail(Errc::InvalidArgument, std::move(text));
}

/// Options of ours that stand before `--`, where EAL would answer with its whole usage.
Result<void> check_eal_arguments(const CLI::App& app, const std::vector<std::string>& eal) {
  for (const std::string& argument : eal) {
    const std::string name = argument.substr(0, argument.find('='));
    const bool is_ours = app.get_option_no_throw(name) != nullptr;
    if (is_ours || argument.starts_with(kBenchmarkPrefix))
      return fail(Errc::InvalidArgument,
                  argument +
                      ": stands before --, where only EAL arguments are accepted; write -- " +
                      argument);
  }
  return {};
}

void set_defaults(const ProgramInfo& info, Options& options) {
  if (options.samples == 0)
    options.samples = options.is_quick ? info.quick_samples : info.default_samples;
  if (options.plans.empty()) options.plans = plan_names();
}

}  // namespace

const std::vector<std::string>& plan_names() {
  static const std::vector<std::string> names = {"seed", "nak-first", "legacy"};
  return names;
}

Result<CommandLine> parse_command_line(const ProgramInfo& info,
                                       std::span<const char* const> arguments) {
  CommandLine line;
  CLI::App app(info.summary, info.name + " [EAL arguments] --");  // as --help prints it
  app.footer(fmt::format(kFooter, info.name));
  app.set_version_flag("--version", version_of(info));
  add_common(app, info, line.options);
  add_own(app, info, line.options);

  std::vector<std::string> ours;
  bool is_behind = false;
  for (const std::string_view argument : arguments) {
    if (!is_behind && argument == "--")
      is_behind = true;
    else if (!is_behind && argument != "--help" && argument != "-h" && argument != "--version")
      line.eal.emplace_back(argument);
    else if (argument.starts_with(kBenchmarkPrefix))
      line.benchmark.emplace_back(argument);
    else
      ours.emplace_back(argument);
  }
  PORTCULLIS_TRY(check_eal_arguments(app, line.eal));
  try {  // CLI11 tells by exceptions; they end here
    std::reverse(ours.begin(), ours.end());
    app.parse(ours);
  } catch (const CLI::CallForHelp&) {
    line.text = app.help();
  } catch (const CLI::CallForVersion&) {
    line.text = version_of(info) + "\n";
  } catch (const CLI::ExtrasError& error) {
    return refuse(std::string(error.what()) + "; --help lists what is");
  } catch (const CLI::ParseError& error) {
    return refuse(error.what());
  }
  set_defaults(info, line.options);
  return line;
}

}  // namespace portcullis::bench
