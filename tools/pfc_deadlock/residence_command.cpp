// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/residence_command.hpp"

#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pfc/fluid/residence.hpp"
#include "tools/pfc_deadlock/fabric_input.hpp"
#include "tools/pfc_deadlock/input.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

using pfc::Residence;
using pfc::Topology;

struct Options {
  std::string scenario;
  std::vector<std::string> settings;
  double until = 50;
  double watchdog_ms = 0;
  std::string discipline = "fifo";
  std::string format = "csv";
};

/// A flow's figures in microseconds.
struct Line {
  std::string flow;
  double transit_us, median_us, p99_us, longest_us, inside_bytes, oldest_inside_us;
};

std::vector<Line> lines_of(const Topology& topology, const std::vector<Residence>& all) {
  const double us = topology.units.time_s * 1e6;
  std::vector<Line> lines;
  for (std::size_t i = 0; i < all.size(); ++i)
    lines.push_back({topology.flows[i].name, all[i].transit * us, all[i].median * us,
                     all[i].p99 * us, all[i].longest * us,
                     all[i].inside * topology.units.data_bytes, all[i].oldest_inside * us});
  return lines;
}

std::string csv_of(const std::vector<Line>& lines) {
  std::string text = "flow,transit_us,median_us,p99_us,longest_us,inside_bytes,oldest_inside_us\n";
  for (const Line& line : lines)
    text += fmt::format("{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g}\n", line.flow,
                        line.transit_us, line.median_us, line.p99_us, line.longest_us,
                        line.inside_bytes, line.oldest_inside_us);
  return text;
}

std::string json_of(const Topology& topology, const std::vector<Line>& lines,
                    const std::string& verdict) {
  nlohmann::ordered_json top = {{"scenario", topology.name}, {"verdict", verdict}};
  for (const Line& line : lines)
    top["flows"].push_back({{"flow", line.flow},
                            {"transit_us", line.transit_us},
                            {"median_us", line.median_us},
                            {"p99_us", line.p99_us},
                            {"longest_us", line.longest_us},
                            {"inside_bytes", line.inside_bytes},
                            {"oldest_inside_us", line.oldest_inside_us}});
  return top.dump(2) + "\n";
}

/// The one number: how long after it was sent a packet may still arrive.
std::string verdict_of(const Topology& topology, const Options& options, const pfc::FluidRun& run,
                       const std::vector<Residence>& all) {
  const double us = topology.units.time_s * 1e6;
  double latest = 0;
  for (const Residence& of : all) latest = std::max({latest, of.longest, of.oldest_inside});
  if (!run.deadlock)
    return fmt::format(
        "a packet arrives at most {:.6g} us after it was sent (seen up to {:.6g} us)", latest * us,
        run.end * us);
  if (options.watchdog_ms <= 0)
    return fmt::format(
        "deadlock at {:.6g} us: without a watchdog what is inside never arrives; --watchdog-ms "
        "gives a bound",
        run.deadlock->time * us);
  // The watchdog opens the gates that long after the deadlock; what waited has waited since then.
  double waited = 0;
  for (const Residence& of : all)
    if (of.inside > 0) waited = std::max(waited, of.oldest_inside - (run.end - run.deadlock->time));
  return fmt::format(
      "deadlock at {:.6g} us: a packet may arrive {:.6g} us after it was sent, or later, when the "
      "watchdog lets it go",
      run.deadlock->time * us, std::max(0.0, waited) * us + options.watchdog_ms * 1e3);
}

Result<int> run(Console& console, const Options& options) {
  PORTCULLIS_TRY_ASSIGN(const Topology topology, load_fabric(options.scenario, options.settings));
  pfc::FluidOptions solver;
  solver.until = options.until;
  solver.discipline =
      options.discipline == "fifo" ? pfc::Discipline::Fifo : pfc::Discipline::Proportional;
  solver.keeps_history = true;
  solver.is_stopped = &console.is_stopped;
  PORTCULLIS_TRY_ASSIGN(const pfc::FluidRun found, pfc::solve(topology, solver));
  const std::vector<Residence> all = pfc::residence(topology, found);
  const std::string verdict = verdict_of(topology, options, found, all);
  const std::vector<Line> lines = lines_of(topology, all);
  console.out << (options.format == "json" ? json_of(topology, lines, verdict) : csv_of(lines));
  fmt::print(console.err, "{}\n", verdict);
  return found.is_interrupted ? kExitInterrupted : kExitDone;
}

}  // namespace

int run_residence(Arguments arguments, Console& console) {
  CLI::App app("How long data is under way, flow by flow, and so how late a packet may arrive.",
               "pfc-deadlock residence");
  Options options;
  app.add_option("SCENARIO", options.scenario, kFabricHelp)->required();
  app.add_option("--set", options.settings, "NAME=VALUE (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--until", options.until, "observe up to this time")->capture_default_str();
  app.add_option("--watchdog-ms", options.watchdog_ms,
                 "a PFC watchdog releases a locked queue after this long; 0: none")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app.add_option("--discipline", options.discipline)
      ->check(CLI::IsMember({"proportional", "fifo"}))
      ->capture_default_str();
  app.add_option("--format", options.format)
      ->check(CLI::IsMember({"csv", "json"}))
      ->capture_default_str();
  if (const auto status = parse(app, arguments, console)) return *status;
  const auto status = run(console, options);
  return status ? *status : refuse(console, app.get_name(), status.error());
}

}  // namespace portcullis::tools::pfc_deadlock
