// SPDX-License-Identifier: BSD-3-Clause
#include "tools/first_light/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <CLI/CLI.hpp>

#include "program/command_line.hpp"
#include "service/exchange/line_channel.hpp"
#include "service/exchange/sweep.hpp"
#include "tools/own_port.hpp"

namespace portcullis::tools::first_light {
namespace {

/// Memory is touched behind its key check, as on hardware: with nothing between the two a fence of
/// the model meets no DMA.
constexpr const char* kDefaultDevice = "model,behaviour=data-path-ns=1000";

constexpr const char* kFooter = R"(
COMMANDS
  first-light [EAL arguments --] [DEVICE] [OPTIONS]   run the steps on a device
  first-light show BUNDLE [--html FILE]               what a bundle says
  first-light diff BUNDLE BUNDLE                      what two bundles say otherwise
EXAMPLES
  first-light                                     the ConnectX-5 in software, in this process
  first-light --quick model,timing=cx5-16.35.4506
  first-light -l 2-3 -- 0000:03:00.0 --bundle card.tar.zst
                                                  a card bound to vfio-pci (`doctor` helps)
  first-light -l 2-3 -- mlx5_0 --bundle card.tar.zst
                                                  a card that its kernel driver keeps
  first-light -l 2-3 -- 0000:03:00.0 --address 192.0.2.1 --peer db2.example
                                                  and a client on another host, where this waits:
                                                  lease-verify --sweep
The steps entries and probes stop the packets of the whole function while they run: on a card of
your own let nobody else use it. They are left out where its kernel driver keeps the card. Each step
opens the device and leaves it reset; docs/first-light.md says what each does. Step peer is run
where --peer names a host alone.
EXIT STATUS  0 every step was done and no promise is refuted, 1 nothing could be run or a file not
written, 2 a promise that a fence rests on is refuted, 3 a step failed or was not run, 130 Ctrl-C.
show: as the run, but never 130; diff: 0 the same, 3 not the same. A model is emulated: what holds
there says nothing of a card.)";

std::string check_steps(const std::string& text) {
  const auto steps = light::parse_steps(text);
  return steps ? std::string() : steps.error().text;
}

CLI::Option* number(CLI::App& app, const char* name, std::uint64_t& to, const char* what,
                    std::uint64_t most) {
  return app.add_option(name, to, what)
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, most))
      ->capture_default_str();
}

struct Words {
  std::string steps;
  std::string peer;
  bool is_quick = false;
  std::uint64_t step_deadline_s = 240;
  struct Count {
    const CLI::Option* option = nullptr;
    std::uint64_t* value = nullptr;
  };
  std::vector<Count> counts = {};  // what --quick makes fewer
};

void add_run_options(CLI::App& app, Options& options, Words& words) {
  constexpr std::uint64_t kMany = std::uint64_t{1} << 32;
  app.add_option("DEVICE,--device", options.device,
                 std::string("a PCI address such as 0000:03:00.0, an RDMA device of the\n"
                             "kernel's such as mlx5_0, shm:PATH (of hca-server --shm), or\n"
                             "model[,timing=NAME][,behaviour=NAME].. (default\n") +
                     kDefaultDevice + ")");
  app.add_option("--bundle", options.bundle,
                 "what was found, recorded and said, as one .tar.zst to send back;\n"
                 "no MAC, GID or key is in it; written behind each step")
      ->type_name("FILE");
  app.add_flag("--keep-identities", options.keeps_identities,
               "record commands whole: MACs, GIDs and keys stay in the bundle");
  app.add_flag("--crash-dump", options.wants_crash_dump,
               "read the registers of a crash dump at the end and behind each\n"
               "step that failed, and keep them in the bundle: what is in them\n"
               "only the vendor knows, addresses and keys perhaps");
  app.add_option("--dmesg", options.dmesg,
                 "a kernel log with mlx5_core's commands on this card (dynamic\n"
                 "debug, docs/trace-format.md): kept in the bundle, Linux's bring-up\n"
                 "beside that of step bring-up")
      ->type_name("FILE");
  app.add_option(
         "--steps", words.steps,
         fmt::format("these alone, comma separated:\n{}", fmt::join(light::step_names(), ", ")))
      ->type_name("LIST")
      ->check(check_steps, "");
  app.add_option("--peer", words.peer,
                 fmt::format("a second host, where lease-verify --sweep waits (port {} where none\n"
                             "is given): plans and floor as a client there sees them",
                             service::exchange::kSweepPort))
      ->type_name("HOST[:PORT]");
  tools::add_address_option(app, options.run.peer.address);
  app.add_flag("--quick", words.is_quick,
               "a tenth of every count that is not given; for trying it out");
  words.counts = {
      {number(app, "--rounds", options.run.rounds, "objects of a lease made and destroyed", kMany),
       &options.run.rounds},
      {number(app, "--writes", options.run.writes, "round trips over loopback", kMany),
       &options.run.writes},
      {number(app, "--revokes", options.run.revokes, "leases revoked by each plan", kMany),
       &options.run.revokes},
      {number(app, "--fences", options.run.fences, "fences of each plan that is audited", kMany),
       &options.run.fences}};
  number(app, "--step-deadline-s", words.step_deadline_s, "a step that takes longer has failed",
         3'600);
}

/// HOST:PORT of HOST or HOST:PORT; an IPv6 address stands in brackets.
Result<std::string> server_of(const std::string& peer) {
  const std::size_t behind_host = peer.starts_with('[') ? peer.find(']') : 0;
  const bool has_port = peer.find(':', std::min(behind_host, peer.size())) != std::string::npos;
  std::string server = has_port ? peer : fmt::format("{}:{}", peer, service::exchange::kSweepPort);
  const auto checked = service::exchange::check_server(server);
  if (!checked) return fail(Errc::InvalidArgument, "--peer: " + checked.error().text);
  return server;
}

/// What only a bundle keeps, and what is held against a step.
Result<void> check_bundle_needed(const Options& options) {
  const auto& steps = options.run.steps;
  const bool brings_up =
      steps.empty() || std::ranges::find(steps, light::kBringUpStep) != steps.end();
  const std::string option = !options.dmesg.empty()     ? "--dmesg"
                             : options.wants_crash_dump ? "--crash-dump"
                                                        : "";
  if (!option.empty() && options.bundle.empty())
    return fail(Errc::InvalidArgument, option + ": kept in a bundle alone; --bundle FILE names it");
  if (!options.dmesg.empty() && !brings_up)
    return fail(Errc::InvalidArgument,
                "--dmesg: held against step bring-up, which --steps leaves out");
  return {};
}

Result<std::optional<std::string>> parse_run(CLI::App& app, Options& options,
                                             std::vector<std::string> ours) {
  Words words;
  add_run_options(app, options, words);
  app.add_option("--html", options.html, "what was found as a page")->type_name("FILE");
  PORTCULLIS_TRY_ASSIGN(auto text, program::parse_arguments(app, std::move(ours)));
  if (options.device.empty()) options.device = kDefaultDevice;
  if (!words.steps.empty()) {
    PORTCULLIS_TRY_ASSIGN(options.run.steps, light::parse_steps(words.steps));
  }
  if (!words.peer.empty()) {
    PORTCULLIS_TRY_ASSIGN(options.run.peer.server, server_of(words.peer));
  }
  options.run.peer.keeps_name = options.keeps_identities;
  PORTCULLIS_TRY(check_bundle_needed(options));
  const auto& steps = options.run.steps;
  if (words.peer.empty() && std::ranges::find(steps, light::kPeerStep) != steps.end())
    return fail(Errc::InvalidArgument,
                "--steps peer: a second host is needed, --peer HOST[:PORT] names it");
  options.run.step_deadline_ms = words.step_deadline_s * 1'000;
  if (words.is_quick)
    for (const Words::Count& each : words.counts)
      if (each.option->count() == 0) *each.value = std::max<std::uint64_t>(*each.value / 10, 1);
  return text;
}

Result<std::optional<std::string>> parse_look(CLI::App& app, Options& options,
                                              std::vector<std::string> ours) {
  const bool is_diff = options.act == Options::Act::Diff;
  app.add_option("BUNDLE", options.bundles, is_diff ? "two of --bundle's" : "one of --bundle's")
      ->required()
      ->expected(is_diff ? 2 : 1);
  if (!is_diff)
    app.add_option("--html", options.html, "what was found as a page")->type_name("FILE");
  return program::parse_arguments(app, std::move(ours));
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  const auto split = std::find(argv + 1, argv + argc, std::string_view("--"));
  const bool has_eal = split != argv + argc;
  options.eal = {argv[0]};
  if (has_eal) options.eal.insert(options.eal.end(), argv + 1, split);
  std::vector<std::string> ours(has_eal ? split + 1 : argv + 1, argv + argc);

  const std::string_view first = ours.empty() ? "" : std::string_view(ours.front());
  if (!has_eal && (first == "show" || first == "diff")) {
    options.act = first == "show" ? Options::Act::Show : Options::Act::Diff;
    CLI::App app(first == "show" ? "What a bundle of first-light says."
                                 : "What two bundles of first-light say otherwise.",
                 "first-light " + std::string(first));
    ours.erase(ours.begin());
    PORTCULLIS_TRY_ASSIGN(const auto text, parse_look(app, options, std::move(ours)));
    options.text = text.value_or("");
    return options;
  }
  CLI::App app(
      "Asks of a device on which nobody has run this driver everything that the documents call a\n"
      "promise or a hypothesis, and says of each: confirmed, refuted, undecided or not run.",
      "first-light [EAL arguments --]");
  app.footer(kFooter);
  PORTCULLIS_TRY_ASSIGN(const auto text, parse_run(app, options, std::move(ours)));
  options.text = text.value_or("");
  return options;
}

}  // namespace portcullis::tools::first_light
