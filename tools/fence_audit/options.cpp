// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fence_audit/options.hpp"

#include <algorithm>
#include <CLI/CLI.hpp>

#include "attach/open_device.hpp"
#include "lease/fence_plan.hpp"
#include "program/command_line.hpp"
#include "tools/own_port.hpp"

namespace portcullis::tools::fence_audit {
namespace {

constexpr const char* kFooter = R"(
EXAMPLES
  fence-audit                                     the ConnectX-5 in software, in this process
  fence-audit 0000:03:00.0 --json audit.json      a card bound to vfio-pci (`doctor` helps)
  fence-audit -l 2-3 -- 0000:03:00.0              EAL arguments stand before `--`
  fence-audit -l 2 -- 0000:03:00.0 --listen 7471 --address 192.0.2.1 --fences 100
    and on another host:  while lease-verify --server HOST:7471 --revoke-test; do :; done
EXIT STATUS  0 the fence held, 1 the audit could not be done, 2 bytes changed after the device had
answered for the key, or requests executed after an outcome. A model is emulated: what holds there
says nothing of a card.)";

std::string check_plan(const std::string& name) {
  const auto plan = lease::parse_plan(name);
  return plan ? std::string() : plan.error().text;
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("DEVICE", options.device,
                 "a PCI address such as 0000:03:00.0, an RDMA device of the\n"
                 "kernel's such as mlx5_0, or\n"
                 "model[,timing=NAME][,behaviour=NAME].. (default model)");
  app.add_option("--plan", options.plans,
                 "fence plans, comma separated (default all but the last three,\n"
                 "of a kernel's device without drop-only too):\n" +
                     lease::plan_names())
      ->type_name("LIST")
      ->delimiter(',')
      ->check(check_plan, "");
  app.add_option("--fences", options.audit.fences, "fences for each plan (default 10000)")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32));
  auto* leases = app.add_option("--leases", options.audit.leases,
                                "leases under traffic at a time (default 16)")
                     ->type_name("N")
                     ->check(CLI::Range(1U, 256U));
  auto* listen =
      app.add_option("--listen", options.listen,
                     "fence leases of whoever asks here, one at a time, instead of clients\n"
                     "on the same port: lease-verify --revoke-test, over and over")
          ->type_name("[HOST:]PORT")
          ->excludes(leases);
  add_address_option(app, options.address)->needs(listen);
  app.add_option("--interval-ns", options.audit.interval_ns,
                 "between two WRITEs of 64 bytes, all clients together (default 2000); the report\n"
                 "says how many fences met one that was outstanding")
      ->type_name("NS")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
      ->excludes(listen);
  app.add_option("--watch-ms", options.audit.watch_ms,
                 "how long memory is watched after the last outcome (default 5)")
      ->type_name("MS")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{60'000}));
  app.add_option("--timeout", options.audit.timeout,
                 "the clients' ack timeout, 4.096 us x 2^N (default 8)")
      ->type_name("1-31")
      ->check(CLI::Range(1U, 31U));
  app.add_option("--retry", options.audit.retry, "the clients' retry_cnt (default 3)")
      ->type_name("0-7")
      ->check(CLI::Range(0U, 7U));
  app.add_option("--json", options.json, "the same as a file")->type_name("FILE");
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  std::vector<std::string> ours;
  const auto split = std::find(argv + 1, argv + argc, std::string_view("--"));
  const bool has_eal = split != argv + argc;
  options.eal = {argv[0]};
  if (has_eal) options.eal.insert(options.eal.end(), argv + 1, split);
  ours.assign(has_eal ? split + 1 : argv + 1, argv + argc);

  CLI::App app(
      "Fences leases under WRITE traffic and looks whether memory changes after the device has\n"
      "answered for the key, or requests execute after the outcome.",
      "fence-audit [EAL arguments --]");
  app.footer(kFooter);
  add_options(app, options);
  PORTCULLIS_TRY_ASSIGN(const auto text, program::parse_arguments(app, std::move(ours)));
  options.text = text.value_or("");
  if (options.device.empty()) options.device = "model";
  const auto spec = attach::parse_device(options.device);
  if (options.plans.empty()) options.plans = lease::names_of_plans(spec && spec->is_kept());
  return options;
}

}  // namespace portcullis::tools::fence_audit
