// SPDX-License-Identifier: BSD-3-Clause
//
// late-write: a WRITE that a lossless fabric holds back until its lease has been taken away, and
// what keeps it from the next tenant's bytes.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <CLI/CLI.hpp>
#include <optional>

#include "late/conclusion.hpp"
#include "pfc/topology_json.hpp"
#include "program/command_line.hpp"
#include "program/output_file.hpp"
#include "program/signals.hpp"
#include "program/standard_streams.hpp"
#include "tools/late_write/picture.hpp"
#include "tools/late_write/report.hpp"

namespace {

using namespace portcullis;

constexpr int kRefused = 1;
constexpr int kNotShown = 2;
constexpr std::uint64_t kMostRestMs = 10'000;
// A queue of 40 KB for each Gb/s holds a WRITE back for as long on every link.
constexpr double kXoffKbPerGbps = 40;
constexpr double kLeastXoffKb = 50;
constexpr double kMostXoffKb = 16'000;

constexpr const char* kFooter = R"(
Three servers, each a ConnectX-5 in software under our own driver, and between them a ring of three
switches that queue, pause and send as those of `pfc-deadlock packet`. The third server grants a
lease, hosts at each switch send to it as fast as they can, and the first server's WRITE waits in
queues that are paused. Then the lease is revoked, and it comes.

What it can do there is tried with every rule of the lease manager in force, with each of three
alone (the rest of the queue pair's number, the fresh low byte of the key, the fresh PSN), and with
none but rests from far below the fabric's bound, which `pfc-deadlock residence` computes, to above
it. Bytes are compared, and an observer of the device's DMA is asked.

Everything runs on one virtual clock: a run is a function of its options.

Status 0: shown, of these runs: what was late changed no byte where a rule was kept, and did where
none was. 2: not shown, and the last line says why, as when no PAUSE held it back. 130: stopped.
1: bad arguments, or no run could be made; the line on stderr says why.)";

std::atomic<bool> stop = false;

struct Arguments {
  late::Wanted wanted;
  std::string svg;
  std::optional<double> xoff_kb;
  bool is_idle = false;
  bool is_lossy = false;
  bool prints_fabric = false;
};

int refuse(const Error& error) {
  fmt::print(stderr, "late-write: {}\n", error.text);
  return kRefused;
}

Result<int> print_fabric(const late::RingOptions& options) {
  PORTCULLIS_TRY_ASSIGN(const late::Ring ring, late::make_ring(options));
  fmt::print("{}", pfc::to_json(ring.topology));
  return 0;
}

Result<int> act(Arguments& arguments) {
  late::RingOptions& ring = arguments.wanted.setup.ring;
  ring.has_loads = !arguments.is_idle;
  ring.pauses = !arguments.is_lossy;
  ring.xoff_kb = arguments.xoff_kb.value_or(std::max(kLeastXoffKb, kXoffKbPerGbps * ring.gbps));
  if (arguments.prints_fabric) return print_fabric(ring);
  if (!arguments.svg.empty())
    PORTCULLIS_TRY(program::named("--svg", program::check_output(arguments.svg)));
  arguments.wanted.setup.is_stopped = &stop;
  PORTCULLIS_TRY_ASSIGN(const late::Findings findings, late::look(arguments.wanted));
  fmt::print("{}", tools::late_write::describe(arguments.wanted.setup, findings));
  if (findings.is_stopped) return program::kInterruptedStatus;
  if (!arguments.svg.empty())
    program::keep_output("--svg", arguments.svg,
                         tools::late_write::picture(arguments.wanted.setup, findings));
  return late::why_not_shown(findings) ? kNotShown : 0;
}

void add_options(CLI::App& app, Arguments& arguments) {
  late::Setup& setup = arguments.wanted.setup;
  app.add_option("--rest-ms", arguments.wanted.rests_ms,
                 "rests of the number to try without any other defence, comma separated\n"
                 "(default some around the bound)")
      ->type_name("LIST")
      ->delimiter(',')
      ->check(CLI::Range(std::uint64_t{1}, kMostRestMs, "1 to 10000"));
  app.add_option("--xoff-kb", arguments.xoff_kb,
                 "bytes in an ingress at which it has its link paused, thousands\n"
                 "(default 40 for each Gb/s, so that a WRITE is as late on every link)")
      ->type_name("KB")
      ->check(CLI::Range(kLeastXoffKb, kMostXoffKb, "50 to 16000"));
  app.add_option("--gbps", setup.ring.gbps, "of every link (default 10)")
      ->type_name("GBPS")
      ->check(CLI::Range(1.0, 400.0, "1 to 400"));
  app.add_option("--settle-ms", setup.settle_ms,
                 "how long the loads fill the fabric before the WRITE is sent (default 10)")
      ->type_name("MS")
      ->check(CLI::Range(std::uint64_t{2}, std::uint64_t{1000}, "2 to 1000"));
  app.add_option("--seed", setup.seed, "of PSNs and of the models' order (default 1)")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62, "1 to 2^62"));
  app.add_flag("--idle", arguments.is_idle, "no load: nothing is held back");
  app.add_flag("--lossy", arguments.is_lossy,
               "a priority without PAUSE: what finds no room is dropped");
  app.add_flag("--clockwise", setup.ring.is_clockwise,
               "every route goes round the same way: a fabric without a bound");
  app.add_option("--svg", arguments.svg, "draws the runs into FILE")->type_name("FILE");
  app.add_flag("--print-fabric", arguments.prints_fabric,
               "prints the fabric as pfc-deadlock reads it, and runs nothing");
}

int run_program(int argc, char** argv) {
  CLI::App app{
      "Shows what a WRITE can do that a lossless fabric holds back until its lease is gone.",
      "late-write"};
  Arguments arguments;
  program::heed_stop_signals(stop);
  add_options(app, arguments);
  app.footer(kFooter);
  const auto text = program::parse_arguments(app, {argv + 1, argv + argc});
  if (!text) return refuse(text.error());
  if (*text) {
    fmt::print("{}", **text);
    return 0;
  }
  const auto status = act(arguments);
  return status ? *status : refuse(status.error());
}

}  // namespace

int main(int argc, char** argv) {
  return portcullis::program::run_main(
      "late-write", [&] { return run_program(argc, argv); }, &stop);
}
