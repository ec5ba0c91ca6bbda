// SPDX-License-Identifier: BSD-3-Clause
//
// flow-probe: runs the bring-up probes that this build has on one function, and says what each
// installed, what a WRITE over loopback met, and what that shows.
#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "attach/open_device.hpp"
#include "pmd/eal.hpp"
#include "pmd/vfio_function.hpp"
#include "probes/probe.hpp"
#include "program/eal_options.hpp"
#include "program/standard_streams.hpp"
#include "program/version.hpp"
#include "tools/own_port.hpp"

namespace {

using namespace portcullis;

constexpr int kNotRun = 1;
constexpr int kRefused = 2;

constexpr const char* kFooter = R"(
A probe drops packets of the whole function while it runs: not on a function that serves anybody.
A build has the probes that its CMake options name (PORTCULLIS_PROBE_*, preset `probes`: all four).
Before `--` stand EAL arguments:
  flow-probe -a 0000:03:00.0 -- --device 0000:03:00.0
  flow-probe -- --device model,timing=cx5-16.35.4506

exit status: 0 every probe ran, 1 one could not, 2 bad arguments or no probe in this build)";

struct Arguments {
  std::string device = "model";
  std::uint64_t quiet_ms = 50;
  bool list = false;
};

std::string version() {
  const std::string note = probes::build_note();
  return program::version_text("flow-probe", note.empty() ? "no probes" : note);
}

/// Runs all of them; false when one could not run.
Result<bool> run(const Arguments& arguments, std::vector<std::string> eal_arguments) {
  PORTCULLIS_TRY_ASSIGN(const auto spec, attach::parse_device(arguments.device));
  PORTCULLIS_TRY_ASSIGN(const auto eal, spec.start_eal(std::move(eal_arguments)));
  PORTCULLIS_TRY_ASSIGN(const auto port, tools::open_port(spec, std::nullopt));
  std::cout << "device " << port->description() << '\n';
  probes::Options options;
  options.loopback = port->path();
  options.quiet_ms = arguments.quiet_ms;
  bool all_ran = true;
  for (const probes::Probe probe : probes::built_in()) {
    const auto report = probes::run(probe, port->driver().context(), options);
    if (report)
      std::cout << probes::describe(*report) << std::endl;
    else
      std::cerr << "flow-probe: " << report.error().text << '\n';
    all_ran = all_ran && report.has_value();
  }
  return all_ran;
}

int refuse(const std::string& text) {
  std::cerr << "flow-probe: " << text << '\n';
  return kRefused;
}

int probe(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{
      "What the flow steering of a ConnectX-5 function does, asked of the function itself.",
      "flow-probe [EAL arguments] --"};
  app.add_option("--device", arguments.device,
                 "a PCI address such as 0000:03:00.0, mlx5_0, shm:PATH, or\n"
                 "model[,timing=NAME][,behaviour=NAME]..")
      ->type_name("SPEC")
      ->capture_default_str();
  app.add_option("--quiet-ms", arguments.quiet_ms,
                 "silence that long is silence; a WRITE is repeated for half a second")
      ->type_name("MS")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{400}))
      ->capture_default_str();
  app.add_flag("--list", arguments.list, "name the probes of this build and leave");
  app.set_version_flag("--version", version());
  app.footer(kFooter);
  auto parsed = program::parse_behind_eal(app, argc, argv);
  if (!parsed) return refuse(parsed.error().text);
  if (parsed->text) {
    std::cout << *parsed->text;
    return 0;
  }
  if (arguments.list) {
    for (const probes::Probe probe : probes::built_in()) std::cout << name(probe) << '\n';
    return 0;
  }
  if (probes::built_in().empty())
    return refuse(
        "this build has no probe; configure with the preset probes, or with "
        "-DPORTCULLIS_PROBE_NIC_RX_DROP=ON and the like");
  const auto all_ran = run(arguments, std::move(parsed->eal));
  if (!all_ran) return refuse(all_ran.error().text);
  return *all_ran ? 0 : kNotRun;
}

}  // namespace

int main(int argc, char** argv) {
  return program::run_main("flow-probe", [&] { return probe(argc, argv); });
}
