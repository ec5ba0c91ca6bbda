// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <system_error>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "pmd/lcores.hpp"
#include "pmd/vfio_function.hpp"
#include "program/standard_streams.hpp"
#include "program/version.hpp"
#include "tools/doctor/checks.hpp"
#include "tools/doctor/kept_checks.hpp"
#include "tools/doctor/report.hpp"

namespace portcullis::tools::doctor {
namespace {

constexpr std::string_view kHelp =
    R"(usage: doctor [DEVICE] [--no-open] [--json] [--root=DIR]

Says what is missing on this machine before --device=DEVICE can work, and the commands that mend it:
VFIO and IOMMU, the function and its group, locked memory and huge pages, CPUs for polling. When
nothing is missing the function is opened, brought up, asked for its firmware and capabilities, and
reset. Of a NIC that its kernel driver keeps: the RDMA device, its port and address, and DevX.
Without DEVICE the machine's only ConnectX-5 is taken; with several the machine alone is examined.
Nothing is changed: the commands are yours to run.

  DEVICE           a PCI address such as 0000:03:00.0 or 03:00.0, or an RDMA device of the kernel's
                   such as mlx5_0
  --no-open        does not open the function
  --json           prints one JSON object
  --root=DIR       examines DIR/sys, proc, dev and lib instead; opens nothing
  --version        prints which build it is
  -h, --help       prints this

  missing  --device=DEVICE cannot work without it
  advice   works without, slower or noisier, or with one proof less of a fence
  waits    cannot be judged before something else is mended
  ok       as it should be

exit status: 0 nothing is missing, 1 something is, 2 bad arguments
docs/doctor.md says where each answer comes from. Without a card: --device=model.
)";

struct Options {
  bool help = false;
  bool version = false;
  bool json = false;
  bool open = true;
  std::string bdf;
  std::string kept;  // in place of it: an RDMA device of the kernel's
  std::filesystem::path root = "/";
};

Result<Options> parse(std::span<const std::string_view> arguments) {
  constexpr std::string_view kRoot = "--root";
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "-h" || argument == "--help") {
      options.help = true;
    } else if (argument == "--version") {
      options.version = true;
    } else if (argument == "--json") {
      options.json = true;
    } else if (argument == "--no-open") {
      options.open = false;
    } else if (argument == kRoot) {
      if (++i == arguments.size())
        return fail(Errc::InvalidArgument, "--root without a folder; --root DIR expected");
      options.root = arguments[i];
    } else if (argument.starts_with("--root=")) {
      options.root = argument.substr(kRoot.size() + 1);
    } else if (argument.starts_with('-')) {
      return fail(Errc::InvalidArgument,
                  fmt::format("no option \"{}\"; --no-open, --json, --root=DIR, --version and "
                              "--help are accepted",
                              argument));
    } else if (argument.empty()) {
      return fail(Errc::InvalidArgument, "\"\" is no device; a card's name, or none, expected");
    } else if (!options.bdf.empty() || !options.kept.empty()) {
      return fail(Errc::InvalidArgument,
                  fmt::format("\"{}\" is a second device; one expected", argument));
    } else if (argument == "model" || argument.starts_with("model,")) {
      return fail(Errc::InvalidArgument,
                  fmt::format("\"{}\" needs nothing of this machine, as --device of the programs "
                              "that take one; a card's name expected",
                              argument));
    } else if (may_be_kept(std::string(argument))) {
      options.kept = argument;
    } else {
      auto bdf = pmd::canonical_bdf(argument);
      if (!bdf)
        return fail(
            Errc::InvalidArgument,
            fmt::format("\"{}\" is neither a PCI address, such as 0000:03:00.0, nor an RDMA "
                        "device of the kernel's, such as mlx5_0; one of them expected",
                        argument));
      options.bdf = *std::move(bdf);
    }
  }
  std::error_code error;
  for (const char* const part : {"sys", "proc"})
    if (!std::filesystem::is_directory(options.root / part, error))
      return fail(Errc::InvalidArgument,
                  fmt::format("--root \"{}\" has no {} in it; a folder with sys, proc, dev and lib "
                              "expected",
                              options.root.string(), part));
  return options;
}

void append(Findings& findings, Findings more) {
  for (Finding& finding : more) findings.push_back(std::move(finding));
}

/// The device to look at when none was named, or what to say about it.
void choose_device(const Machine& machine, std::string& bdf, Findings& findings) {
  const std::vector<std::string> functions = connectx5_functions(machine);
  if (functions.size() == 1) bdf = functions.front();
  if (functions.size() > 1)
    findings.push_back({"device", "device", Status::Ok,
                        fmt::format("ConnectX-5 here: {}; name one", fmt::join(functions, ", "))});
  if (functions.empty())
    findings.push_back({"device",
                        "device",
                        Status::Missing,
                        "this machine shows no ConnectX-5 (15b3:1017, 15b3:1018)",
                        {"echo 1 > /sys/bus/pci/rescan"},
                        "lspci -d 15b3: shows every Mellanox function; --device=model needs none"});
}

std::string command_to_try(const Machine& machine, const std::string& bdf, int node) {
  const pmd::CpuSet cpus = polling_cpus(cpu_topology(machine), node);
  std::string arguments = "-l " + (cpus.empty() ? "0" : pmd::format_cpu_list(cpus));
  if (!has_free_hugepages(machine, node)) arguments += " --no-huge -m 64 --no-shconf";
  return fmt::format("revoke_bench {} -a {} -- --device={} --peer=loopback", arguments, bdf, bdf);
}

Finding unopened(bool this_machine) {
  return {"function", "open", Status::Waits,
          this_machine ? "the function is opened once nothing is missing"
                       : "a function behind --root is not opened"};
}

Outcome outcome_of(const Options& options, const Subject& subject, const Findings& findings) {
  return {count(findings, Status::Missing) != 0 ? kExitMissing : kExitReady,
          options.json ? json_report(subject, findings) : text_report(subject, findings),
          {}};
}

/// Of a NIC that its kernel driver keeps.
Outcome examine_kept(const Options& options, const Machine& machine, const World& world) {
  Findings findings = kept_nic_findings(machine, options.kept);
  findings.push_back(memlock_finding(machine));
  const int node = pmd::numa_node_of(bdf_of(machine, options.kept), machine.path("sys"));
  append(findings, cpu_findings(machine, node));
  const bool this_machine = options.root == "/";
  const bool ready = this_machine && count(findings, Status::Missing) == 0;
  if (options.open)
    append(findings, ready ? world.open_kept(options.kept) : Findings{unopened(this_machine)});
  Subject subject{options.kept, options.root.string(), {}};
  const pmd::CpuSet cpus = polling_cpus(cpu_topology(machine), node);
  if (count(findings, Status::Missing) == 0)
    subject.try_now = fmt::format(
        "revoke_bench -l {} --no-pci --no-huge -m 64 --no-shconf -- "
        "--device={} --peer=loopback",
        cpus.empty() ? "0" : pmd::format_cpu_list(cpus), options.kept);
  return outcome_of(options, subject, findings);
}

}  // namespace

Outcome run(std::span<const std::string_view> arguments, const World& world) {
  const auto options = parse(arguments);
  if (!options) return {kExitUsage, {}, fmt::format("doctor: {}\n", options.error().text)};
  if (options->help) return {kExitReady, std::string(kHelp) + std::string(program::kExitHelp), {}};
  if (options->version) return {kExitReady, program::version_text("doctor") + "\n", {}};
  const Machine machine = world.machine(options->root);
  if (!options->kept.empty()) return examine_kept(*options, machine, world);
  std::string bdf = options->bdf;
  Findings findings = vfio_findings(machine);
  if (bdf.empty()) choose_device(machine, bdf, findings);
  if (!bdf.empty()) append(findings, device_findings(machine, bdf));
  const int node = pmd::numa_node_of(bdf, machine.path("sys"));
  append(findings, memory_findings(machine, node));
  append(findings, cpu_findings(machine, node));
  Subject subject{bdf, options->root.string(), {}};
  if (!bdf.empty() && options->open) {
    const bool this_machine = options->root == "/";
    const bool ready = this_machine && count(findings, Status::Missing) == 0;
    append(findings, ready ? world.open(bdf, has_free_hugepages(machine, -1))
                           : Findings{unopened(this_machine)});
  }
  if (count(findings, Status::Missing) == 0 && !bdf.empty())
    subject.try_now = command_to_try(machine, bdf, node);
  return outcome_of(*options, subject, findings);
}

}  // namespace portcullis::tools::doctor
