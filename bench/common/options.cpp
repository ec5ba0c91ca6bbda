// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <string_view>

#include "attach/open_device.hpp"
#include "lease/fence_plan.hpp"
#include "model/model.hpp"
#include "probes/probe.hpp"
#include "program/eal_options.hpp"
#include "program/version.hpp"

namespace portcullis::bench {
namespace {

constexpr std::string_view kBenchmarkPrefix = "--benchmark_";
constexpr std::string_view kAllDrops = "all";

constexpr const char* kFooter = R"(
Before `--` stand EAL arguments, after it ours and Google Benchmark's (--benchmark_help):
  {0} -- --device=model,timing=cx5-16.35.4506
  {0} -l 2-3 -a 0000:03:00.0 -- --device=0000:03:00.0 --peer=loopback --out-dir=results
With the model and no EAL arguments the ones that need no privilege are supplied.
A model is emulated: its figures are never NIC latency. Its behaviours (NAME=off takes back what a
timing switches on):
{1})";

std::vector<std::string> default_plans(const Options& options) {
  if (options.is_sweep) return {"seed"};
  const auto spec = attach::parse_device(options.device);
  return lease::names_of_plans(spec && spec->is_kept());
}

/// CLI11's way to refuse: the text, or nothing.
std::string check_plan(const std::string& name) {
  const auto plan = lease::parse_plan(name);
  return plan ? std::string() : plan.error().text;
}

std::string check_drop(const std::string& name) {
  if (name == kAllDrops) return {};
  const auto row = proof::parse_drop_row(name);
  return row ? std::string() : row.error().text + ", all";
}

std::string version_of(const ProgramInfo& info) {
  const std::string probes = probes::build_note();
  return program::version_text(info.name, probes.empty() ? probes : "with " + probes);
}

void add_common(CLI::App& app, const ProgramInfo& info, Options& options) {
  app.add_option("--device", options.device,
                 "a PCI address such as 0000:03:00.0, an RDMA device of the\n"
                 "kernel's such as mlx5_0, shm:PATH (of hca-server --shm), or\n"
                 "model[,timing=NAME][,behaviour=NAME[=VALUE]+..].. (default model)")
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
                 fmt::format("directory for {0}.json, {0}.*.svg and *.hgrm\n"
                             "(HdrHistogram text); without it nothing is written",
                             info.name))
      ->type_name("DIR");
  app.add_flag("--quick", options.is_quick, "a few samples only: shows that everything runs");
}

void add_own(CLI::App& app, const ProgramInfo& info, Options& options) {
  if (info.has_plans)
    app.add_option(
           "--plan", options.plans,
           fmt::format("fence plans, comma separated (default all but the last three):\n{};\n"
                       "+overlap behind a name issues its commands together",
                       lease::plan_names()))
        ->type_name("LIST")
        ->delimiter(',')
        ->check(check_plan, "");
  if (info.has_plans)
    app.add_option("--drop", options.drops,
                   fmt::format("also plan seed with a DROP entry of the floor document, section\n"
                               "3.1, as its third step, put in before traffic and under it "
                               "(default none): all, or\n{}",
                               proof::drop_row_names()))
        ->type_name("LIST")
        ->delimiter(',')
        ->check(check_drop, "");
  if (info.has_leases)
    app.add_option("--leases", options.leases,
                   "how many leases are revoked, comma separated\n"
                   "(default 1,64,1024, with --quick 1)")
        ->type_name("LIST")
        ->delimiter(',')
        ->check(CLI::Range(1U, 4096U));
  if (info.has_retry) {
    app.add_option("--timeout", options.timeout,
                   "the client's ack timeout, 4.096 us x 2^N (default 14)")
        ->type_name("1-31")
        ->check(CLI::Range(1U, 31U));
    app.add_option("--retry", options.retry, "the client's retry_cnt (default 7)")
        ->type_name("0-7")
        ->check(CLI::Range(0U, 7U));
    app.add_flag("--sweep", options.is_sweep,
                 "ack timeouts 8 to 18 with retry counts 1 to 7 each (plan seed, unless --plan\n"
                 "says otherwise; with the model on the virtual clock), and what explains them");
    app.add_option("--deadline-ms", options.deadline_ms,
                   "how long to wait for the client's failure; what is later is censored\n"
                   "(default 10000)")
        ->type_name("MS")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{600'000}));
  }
}

void set_defaults(const ProgramInfo& info, Options& options) {
  if (options.samples == 0)
    options.samples = options.is_quick ? info.quick_samples : info.default_samples;
  if (options.leases.empty() && options.is_quick) options.leases = {1};
  if (options.leases.empty()) options.leases = {1, 64, 1024};
  if (options.plans.empty()) options.plans = default_plans(options);
}

}  // namespace

std::vector<lease::Plan> plans_of(const Options& options) {
  std::vector<lease::Plan> plans;
  for (const std::string& name : options.plans)
    if (auto plan = lease::parse_plan(name)) plans.push_back(*plan);
  return plans;
}

std::vector<proof::DropTrial> drops_of(const Options& options) {
  const auto asks_for = [&options](const proof::DropRow& row) {
    return std::ranges::any_of(options.drops, [&row](const std::string& name) {
      return name == kAllDrops || name == row.name;
    });
  };
  std::vector<proof::DropTrial> trials;
  for (const proof::Install install : {proof::Install::Pre, proof::Install::Mid})
    for (const proof::DropRow& row : proof::drop_rows())
      if (asks_for(row)) trials.push_back({row, install});
  return trials;
}

Result<CommandLine> parse_command_line(const ProgramInfo& info, int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app(info.summary, info.name + " [EAL arguments] --");  // as --help prints it
  app.footer(fmt::format(kFooter, info.name, model::behaviour_help()));
  app.set_version_flag("--version", version_of(info));
  add_common(app, info, line.options);
  add_own(app, info, line.options);

  PORTCULLIS_TRY_ASSIGN(auto parsed, program::parse_behind_eal(app, argc, argv, kBenchmarkPrefix));
  line.eal = std::move(parsed.eal);
  line.benchmark = std::move(parsed.foreign);
  line.text = std::move(parsed.text);
  set_defaults(info, line.options);
  return line;
}

}  // namespace portcullis::bench
