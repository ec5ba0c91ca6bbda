// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock fluid: the equations solved for one scenario, as numbers and as pictures.
#include "tools/pfc_deadlock/command.hpp"

#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "pfc/fluid/columns.hpp"
#include "pfc/fluid/literal.hpp"
#include "pfc/scenarios.hpp"
#include "tools/pfc_deadlock/fabric_input.hpp"
#include "tools/pfc_deadlock/fluid_report.hpp"
#include "tools/pfc_deadlock/input.hpp"
#include "tools/pfc_deadlock/page.hpp"
#include "tools/pfc_deadlock/second_run.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

using pfc::FluidOptions;
using pfc::FluidRun;
using pfc::Topology;

constexpr int kDefaultRows = 50;

enum class Reading { Corrected, Literal };

const Words<pfc::Tie> tie_words = {{"open", pfc::Tie::Open}, {"closed", pfc::Tie::Closed}};
const Words<pfc::Definition> definition_words = {{"structural", pfc::Definition::Structural},
                                                 {"seed", pfc::Definition::Seed}};
const Words<Reading> reading_words = {{"corrected", Reading::Corrected},
                                      {"literal", Reading::Literal}};
const Words<pfc::StartReading> start_words = {
    {"A", pfc::StartReading::A}, {"B", pfc::StartReading::B}, {"C", pfc::StartReading::C}};

struct Options {
  std::string scenario;
  std::vector<std::string> settings;
  std::string at;
  std::optional<double> until;
  Format format = Format::Csv;
  pfc::Discipline discipline = pfc::Discipline::Proportional;
  pfc::Tie tie = pfc::Tie::Open;
  pfc::Definition definition = pfc::Definition::Structural;
  Reading reading = Reading::Corrected;
  pfc::StartReading start = pfc::StartReading::A;
  Ecmp ecmp = Ecmp::Split;
  double tolerance = 1e-12;
  double literal_step = 1e-3;
  std::uint64_t max_events = 1'000'000;
  std::string svg;
  std::string phase;
  std::string report;
};

void declare(CLI::App& app, Options& to) {
  app.add_option("SCENARIO", to.scenario, kFabricHelp)->required();
  app.add_option("--set", to.settings,
                 "NAME=VALUE: theta, gap, d, d0, d1, a, B, rate.FLOW, .. (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--at", to.at, "times t1,t2,.. to print (default: 50 up to --until)");
  app.add_option("--until", to.until, "solve up to this time (default: the last of --at, or 10)");
  add_choice(app, "--format", to.format, number_format_words);
  add_choice(app, "--discipline", to.discipline, discipline_words, "how a link is divided (D5)");
  add_choice(app, "--tie", to.tie, tie_words,
             "of several pause duties the greatest or the least open (D6)");
  add_choice(app, "--definition", to.definition, definition_words, "what a deadlock is (D7)");
  add_choice(app, "--reading", to.reading, reading_words,
             "the equations corrected, or literally as printed");
  add_choice(app, "--start", to.start, start_words, "initial conditions of seed-3 (D8)");
  add_choice(app, "--ecmp", to.ecmp, ecmp_words, kEcmpHelp);
  app.add_option("--literal-step", to.literal_step, "Euler step of the literal reading");
  app.add_option("--tolerance", to.tolerance, "of a step, 1e-15 to 1e-3 (proportional only)");
  app.add_option("--max-events", to.max_events, "give up after so many");
  app.add_option("--svg", to.svg, "write service curves, queues and closed gates to this file");
  app.add_option("--phase", to.phase, "write a phase diagram to this file");
  app.add_option("--report", to.report, kReportHelp);
  for (const char* name : {"--literal-step", "--tolerance", "--max-events"})
    app.get_option(name)->capture_default_str();
}

FluidOptions solver_options(const Options& from) {
  FluidOptions to;
  to.until = *from.until;
  to.discipline = from.discipline;
  to.tie = from.tie;
  to.definition = from.definition;
  to.tolerance = from.tolerance;
  to.max_events = from.max_events;
  to.keeps_history = !from.svg.empty() || !from.phase.empty() || !from.report.empty();
  return to;
}

std::string subtitle_of(const Options& options) {
  std::string text(discipline_text(options.discipline));
  for (const std::string& setting : options.settings) text += ", " + setting;
  return text;
}

void draw(const Options& options, const Topology& topology, const FluidRun& run) {
  if (!options.svg.empty())
    program::keep_output("--svg", options.svg, timeline_svg(topology, run, subtitle_of(options)));
  if (!options.phase.empty())
    program::keep_output("--phase", options.phase, phase_svg(topology, run, subtitle_of(options)));
}

std::vector<std::vector<std::string>> ingress_rows(const Topology& topology, const FluidRun& run) {
  std::vector<std::vector<std::string>> rows;
  for (pfc::LinkId link = 0; link < topology.links.size(); ++link) {
    const pfc::Link& of = topology.links[link];
    if (run.peak[link] > 0)
      rows.push_back({of.name, data_text(topology, run.peak[link]), data_text(topology, of.xoff),
                      data_text(topology, of.xon), data_text(topology, of.buffer)});
  }
  return rows;
}

/// What a flow has sent on over its last link, and its rate there at the end.
std::vector<std::vector<std::string>> flow_rows(const Topology& topology, const FluidRun& run) {
  std::vector<std::vector<std::string>> rows;
  const double gbps = topology.units.data_bytes * 8 / topology.units.time_s / 1e9;
  for (std::size_t slot = 0; slot < run.hops.size(); ++slot)
    if (slot + 1 == run.hops.size() || run.hops[slot + 1].flow != run.hops[slot].flow)
      rows.push_back({topology.flows[run.hops[slot].flow].name,
                      data_text(topology, run.history.back().served[slot]),
                      fmt::format("{:.6g} Gb/s", run.rates[slot] * gbps)});
  return rows;
}

void report(const Options& options, Arguments arguments, const Topology& topology,
            const FluidRun& run, const std::vector<std::string>& notes) {
  Page page("fluid", arguments, topology);
  page.printed(verdict_of(topology, run));
  std::vector<std::string> limits{
      fmt::format("One run was looked at, up to {}: with other starts or rates the same fabric may "
                  "lock or not (sweep, cbd).",
                  time_text(topology, run.end)),
      "The run is of a fluid: what single packets add, packet shows."};
  if (run.is_interrupted) limits.emplace_back("The run was stopped before its end.");
  for (const std::string& each : notes)
    if (!each.empty()) limits.push_back(each.substr(0, each.find('\n')));
  page.not_looked_at(limits);
  page.fabric(run.deadlock ? run.deadlock->cycle : std::vector<pfc::LinkId>());
  page.heading("Over time");
  page.picture(timeline_svg(topology, run, subtitle_of(options)));
  page.heading("Ingresses that stored something");
  page.table({"link", "most", "XOFF", "XON", "buffer"}, ingress_rows(topology, run));
  page.heading("Flows");
  page.table({"flow", "sent over its last link", "rate at the end"}, flow_rows(topology, run));
  page.keep(options.report);
}

/// Times to print, and the time up to which to solve.
Result<std::vector<double>> times_of(Options& options) {
  std::vector<double> times;
  if (!options.at.empty()) {
    PORTCULLIS_TRY_ASSIGN(times, parse_times("--at", options.at));
  }
  if (!options.until) options.until = times.empty() ? 10 : times.back();
  const double until = *options.until;
  if (!(until >= 0) || !std::isfinite(until))
    return fail(Errc::InvalidArgument,
                fmt::format("--until {}; a time from 0 on is accepted", until));
  if (!times.empty() && times.back() > until)
    return fail(Errc::InvalidArgument,
                fmt::format("--at {}; at most --until, {}, is accepted", times.back(), until));
  if (times.empty())
    for (int i = 0; i <= kDefaultRows; ++i) times.push_back(until * i / kDefaultRows);
  return times;
}

void print(Console& console, const Options& options, const Topology& topology, const FluidRun* run,
           const std::vector<Row>& rows, const SecondRun& second = {}) {
  const std::vector<std::string> names = pfc::column_names(topology);
  console.out << (options.format == Format::Json ? json_of(topology, run, names, rows, second)
                                                 : csv_of(names, rows));
}

Result<int> run_literal(Console& console, const Options& options, const Topology& topology,
                        const std::vector<double>& times) {
  PORTCULLIS_TRY_ASSIGN(
      const auto samples,
      pfc::solve_literal(topology, {*options.until, options.literal_step, times}));
  std::vector<Row> rows;
  for (const pfc::LiteralSample& sample : samples) rows.push_back({sample.time, sample.values});
  print(console, options, topology, nullptr, rows);
  return kExitDone;
}

Result<int> run(Console& console, Arguments arguments, Options options) {
  if (!options.report.empty() && options.reading == Reading::Literal)
    return fail(Errc::InvalidArgument,
                "--report: of the corrected reading; without --reading literal it is accepted");
  PORTCULLIS_TRY(check_outputs(
      {{"--svg", options.svg}, {"--phase", options.phase}, {"--report", options.report}},
      {fabric_file(options.scenario)}));
  PORTCULLIS_TRY_ASSIGN(const Topology given, load_fabric(options.scenario, options.settings));
  PORTCULLIS_TRY_ASSIGN(const std::vector<double> times, times_of(options));
  PORTCULLIS_TRY_ASSIGN(auto flows, spread_flows(given, options.ecmp));
  Topology& topology = flows.topology;
  if (options.reading == Reading::Literal) return run_literal(console, options, topology, times);
  if (options.start != pfc::StartReading::A) pfc::apply_start(topology, options.start);
  FluidOptions solver = solver_options(options);
  solver.sample_times = times;
  solver.is_stopped = &console.is_stopped;
  PORTCULLIS_TRY_ASSIGN(const FluidRun found, pfc::solve(topology, solver));
  std::vector<Row> rows;
  for (const pfc::FluidSample& sample : found.samples)
    rows.push_back({sample.time, pfc::column_values(topology, sample)});
  const SecondRun second = second_run(topology, solver, found);
  print(console, options, topology, &found, rows, second);
  console.err << verdict_of(topology, found) << flows.note << second.note;
  draw(options, topology, found);
  if (!options.report.empty())
    report(options, arguments, topology, found, {flows.note, second.note});
  if (found.is_interrupted || console.is_stopped) return kExitInterrupted;
  return found.deadlock ? kExitLocked : kExitDone;
}

}  // namespace

int run_fluid(Arguments arguments, Console& console) {
  CLI::App app("Solves the fluid equations of a scenario and prints its service curves.",
               "pfc-deadlock fluid");
  Options options;
  declare(app, options);
  if (const auto status = parse(app, arguments, console)) return *status;
  const auto status = run(console, arguments, std::move(options));
  return status ? *status : refuse(console, app.get_name(), status.error());
}

}  // namespace portcullis::tools::pfc_deadlock
