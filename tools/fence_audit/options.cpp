// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fence_audit/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <CLI/CLI.hpp>

#include "lease/fence_plan.hpp"
#include "program/command_line.hpp"
#include "tools/own_port.hpp"

namespace portcullis::tools::fence_audit {
namespace {

/// Memory is touched behind its key check, as on hardware: with nothing between the two a fence of
/// the model meets no DMA.
constexpr const char* kDefaultDevice = "model,behaviour=data-path-ns=1000";

constexpr const char* kFooter = R"(
EXAMPLES
  fence-audit                                     the ConnectX-5 in software, in this process
  fence-audit model,behaviour=a1-off=1us          the same, with DMA that is late by up to 1 us
  fence-audit -l 2-3 -- 0000:03:00.0              a card bound to vfio-pci (`doctor` helps), the
                                                  load on lcore 3; EAL arguments stand before `--`
  fence-audit -l 2 -- 0000:03:00.0 --listen 7471 --address 192.0.2.1 --fences 100
    and on another host:  while lease-verify --server HOST:7471 --revoke-test; do :; done
EXIT STATUS  0 the fence held, 1 the audit could not be done, 2 bytes changed, or what was read
changed, after the device had answered for the key, or requests executed that were posted later,
3 no evidence: nothing of that was seen, and fewer than half of the fences of a plan met packets of
their key. A model is emulated: what holds there says nothing of a card.)";

/// They take the key while packets may be on their way, and their memory can be watched.
constexpr std::array kDefaultPlans{"seed", "nak-first", "umr", "indirect"};

std::string check_plan(const std::string& name) {
  const auto plan = lease::parse_plan(name);
  return plan ? std::string() : plan.error().text;
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("DEVICE", options.device,
                 std::string("a PCI address such as 0000:03:00.0, an RDMA device of the\n"
                             "kernel's such as mlx5_0, shm:PATH (of hca-server --shm), or\n"
                             "model[,timing=NAME][,behaviour=NAME].. (default\n") +
                     kDefaultDevice + ")");
  app.add_option("--plan", options.plans,
                 fmt::format("fence plans, comma separated (default {}, which\n"
                             "take the key while packets may be on their way and whose memory can\n"
                             "be watched):\n{}; +overlap behind one, drop-only\n"
                             "excepted, has its commands under way at once",
                             fmt::join(kDefaultPlans, ","), lease::plan_names()))
      ->type_name("LIST")
      ->delimiter(',')
      ->check(check_plan, "");
  app.add_option("--fences", options.audit.fences,
                 "fences for each plan, --leases at a time, the last of them too (default 10000)")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32));
  auto* leases =
      app.add_option("--leases", options.audit.leases, "leases under traffic at a time (default 4)")
          ->type_name("N")
          ->check(CLI::Range(1U, 256U));
  auto* listen =
      app.add_option("--listen", options.listen,
                     "fence leases of whoever asks here, one at a time, instead of clients\n"
                     "on the same port: lease-verify --revoke-test, over and over")
          ->type_name("[HOST:]PORT")
          ->excludes(leases);
  add_address_option(app, options.address)->needs(listen);
  app.add_option("--watch-ms", options.audit.watch_ms,
                 "how long memory is watched after the last outcome (default 5)")
      ->type_name("MS")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{60'000}));
  app.add_option("--timeout", options.audit.timeout,
                 "the clients' ack timeout, 4.096 us x 2^N (default 10)")
      ->type_name("1-31")
      ->check(CLI::Range(1U, 31U));
  app.add_option("--retry", options.audit.retry, "the clients' retry_cnt (default 3)")
      ->type_name("0-7")
      ->check(CLI::Range(0U, 7U));
  app.add_option("--json", options.json, "the same as a file")->type_name("FILE");
  app.add_option("--per-fence", options.per_fence,
                 "a line of comma separated values for each fence: what was in flight at the\n"
                 "command and at its answer, and what was late")
      ->type_name("FILE")
      ->excludes(listen);
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
      "Fences leases under WRITEs and READs and looks whether memory changes, or is read, after "
      "the\n"
      "device has answered for the key, or requests execute that were posted later.",
      "fence-audit [EAL arguments --]");
  app.footer(kFooter);
  add_options(app, options);
  PORTCULLIS_TRY_ASSIGN(const auto text, program::parse_arguments(app, std::move(ours)));
  options.text = text.value_or("");
  if (options.device.empty()) options.device = kDefaultDevice;
  if (options.plans.empty()) options.plans.assign(kDefaultPlans.begin(), kDefaultPlans.end());
  return options;
}

}  // namespace portcullis::tools::fence_audit
