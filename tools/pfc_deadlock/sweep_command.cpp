// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock sweep: how often and how soon a scenario deadlocks, over a grid of settings.
#include "tools/pfc_deadlock/command.hpp"

#include <fmt/ostream.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "pfc/fluid/sweep.hpp"
#include "pfc/packet/simulator.hpp"
#include "tools/pfc_deadlock/fabric_input.hpp"
#include "tools/pfc_deadlock/heat_map.hpp"
#include "tools/pfc_deadlock/input.hpp"
#include "tools/pfc_deadlock/packet_conditions.hpp"
#include "tools/pfc_deadlock/page.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

using pfc::SweepAxis;
using pfc::SweepCell;

constexpr std::uint32_t kMostValues = 1'000;
constexpr std::uint64_t kMostEvents = 100'000;   // of a run; only knife edges take as many
constexpr double kShown[] = {0, 0.1, 0.5, 0.9};  // quantiles of all runs
constexpr const char* kShownNames[] = {"first", "p10", "median", "p90"};

enum class Engine { Fluid, Packet };
const Words<Engine> engine_words = {{"fluid", Engine::Fluid}, {"packet", Engine::Packet}};

struct Options {
  std::string scenario;
  std::vector<std::string> settings;
  std::vector<std::string> vary;
  std::uint32_t runs = 50;
  double offsets = 1;
  std::uint64_t seed = 1;
  double until = 50;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  Ecmp ecmp = Ecmp::Split;
  pfc::Discipline discipline = pfc::Discipline::Fifo;
  Engine engine = Engine::Fluid;
  PacketConditions conditions;
  bool has_conditions = false;
  Format format = Format::Csv;
  std::string svg;
  std::string report;
};

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(separator, from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

/// "NAME=FROM:TO:COUNT" or "NAME=V1,V2,..".
Result<SweepAxis> axis_of(const std::string& text) {
  const auto bad = [&text] {
    return fail(Errc::InvalidArgument,
                fmt::format("--vary \"{}\"; NAME=FROM:TO:COUNT or NAME=V1,V2,.. is accepted, 1 to "
                            "{} values",
                            text, kMostValues));
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return bad();
  SweepAxis axis{text.substr(0, equals), {}};
  const std::string_view rest = std::string_view(text).substr(equals + 1);
  const auto range = split(rest, ':');
  if (range.size() == 3) {
    const auto from = number(range[0]), to = number(range[1]), count = number(range[2]);
    if (!from || !to || !count || *count < 1 || *count > kMostValues ||
        *count != std::floor(*count))
      return bad();
    for (int i = 0; i < static_cast<int>(*count); ++i)
      axis.values.push_back(*count == 1 ? *from : *from + (*to - *from) * i / (*count - 1));
    return axis;
  }
  for (const std::string_view part : split(rest, ',')) {
    const auto value = number(part);
    if (!value || axis.values.size() == kMostValues) return bad();
    axis.values.push_back(*value);
  }
  return axis;
}

std::string csv_time(double time) {
  return std::isfinite(time) ? fmt::format("{:.12g}", time) : "";
}

std::string csv_of(const std::vector<SweepAxis>& axes, const std::vector<SweepCell>& cells) {
  std::string text;
  for (const SweepAxis& axis : axes) text += axis.name + ",";
  text += "runs,undecided,deadlocks,share";
  for (const char* name : kShownNames) text += fmt::format(",{}", name);
  for (const SweepCell& cell : cells) {
    text += "\n";
    for (const double value : cell.values) text += fmt::format("{:.12g},", value);
    text += fmt::format("{},{},{},", cell.runs, cell.undecided, cell.times.size());
    if (cell.runs != 0) text += fmt::format("{:.6g}", cell.share());
    for (const double q : kShown) text += "," + csv_time(cell.quantile(q));
  }
  return text + "\n";
}

std::string json_of(const Options& options, const std::vector<SweepAxis>& axes,
                    const std::vector<SweepCell>& cells) {
  nlohmann::ordered_json top = {{"scenario", options.scenario},
                                {"settings", options.settings},
                                {"discipline", word_of(discipline_words, options.discipline)},
                                {"engine", word_of(engine_words, options.engine)},
                                {"until", options.until},
                                {"offsets", options.offsets},
                                {"seed", options.seed}};
  for (const SweepCell& cell : cells) {
    nlohmann::ordered_json entry;
    for (std::size_t k = 0; k < axes.size(); ++k) entry[axes[k].name] = cell.values[k];
    entry["runs"] = cell.runs;
    entry["undecided"] = cell.undecided;
    entry["times"] = cell.times;
    top["cells"].push_back(std::move(entry));
  }
  return top.dump(1) + "\n";
}

std::string svg_of(const pfc::Topology& topology, const Options& options,
                   const std::vector<SweepAxis>& axes, const std::vector<SweepCell>& cells) {
  HeatMap map;
  map.title = options.scenario + ": share of runs that deadlock, and their median time";
  map.subtitle = fmt::format(
      "{}, {} runs a cell up to t = {:.6g}, starts within {:.6g}",
      options.engine == Engine::Packet ? "packets" : discipline_text(options.discipline),
      options.runs, options.until, options.offsets);
  for (const std::string& setting : options.settings) map.subtitle += ", " + setting;
  map.x_label = axes.back().name;
  map.note = time_axis(topology) + "; " + data_axis(topology);
  for (const double value : axes.back().values) map.columns.push_back(fmt::format("{:.4g}", value));
  map.rows = {""};
  if (axes.size() == 2) {
    map.y_label = axes.front().name;
    map.rows.clear();
    for (const double value : axes.front().values) map.rows.push_back(fmt::format("{:.4g}", value));
  }
  for (const SweepCell& cell : cells) {
    const std::string text =
        cell.times.empty() ? "" : fmt::format("{:.3g}", cell.times[cell.times.size() / 2]);
    map.cells.push_back({cell.share(), text});
  }
  return heat_map_svg(map);
}

std::string settings_of(const std::vector<SweepAxis>& axes, const SweepCell& cell) {
  std::string text;
  for (std::size_t k = 0; k < axes.size(); ++k)
    text += fmt::format("{}{} = {:.6g}", k == 0 ? "" : ", ", axes[k].name, cell.values[k]);
  return text;
}

std::vector<std::vector<std::string>> rows_of(const pfc::Topology& topology,
                                              const std::vector<SweepAxis>& axes,
                                              const std::vector<SweepCell>& cells) {
  std::vector<std::vector<std::string>> rows;
  for (const SweepCell& cell : cells) {
    std::vector<std::string> row{settings_of(axes, cell), std::to_string(cell.runs),
                                 std::to_string(cell.undecided), std::to_string(cell.times.size()),
                                 cell.runs == 0 ? "" : fmt::format("{:.4g}", cell.share())};
    for (const double q : kShown) {
      const double time = cell.quantile(q);
      row.push_back(std::isfinite(time) ? time_text(topology, time) : "");
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void report_page(const pfc::Topology& topology, const Options& options, Arguments arguments,
                 const std::vector<SweepAxis>& axes, const std::vector<SweepCell>& cells) {
  std::uint64_t runs = 0;
  std::uint64_t undecided = 0;
  std::uint64_t locked = 0;
  for (const SweepCell& cell : cells) {
    runs += cell.runs;
    undecided += cell.undecided;
    locked += cell.times.size();
  }
  Page page("sweep", arguments, topology);
  page.printed(fmt::format("{} of {} runs lock, in {} cells\n", locked, runs, cells.size()));
  std::vector<std::string> limits{
      fmt::format("Each run was given up at {}; what lives until then may lock later.",
                  time_text(topology, options.until)),
      fmt::format("Starts other than the {} of each cell, within {} and drawn by seed {}, were not "
                  "looked at; cbd and residence say what holds for all.",
                  options.runs, time_text(topology, options.offsets), options.seed)};
  if (undecided > 0)
    limits.push_back(fmt::format(
        "{} runs more are undecided: on a knife edge, where rounding decides.", undecided));
  page.not_looked_at(limits);
  page.fabric({});
  page.heading("How often each cell locks, and when");
  page.picture(svg_of(topology, options, axes, cells));
  page.table({"settings", "runs", "undecided", "lock", "share", "first", "10 %", "median", "90 %"},
             rows_of(topology, axes, cells));
  page.keep(options.report);
}

void declare(CLI::App& app, Options& to) {
  app.add_option("SCENARIO", to.scenario, kFabricHelp)->required();
  app.add_option("--vary", to.vary, "NAME=FROM:TO:COUNT or NAME=V1,V2,..; once or twice")
      ->required()
      ->allow_extra_args(false);
  app.add_option("--set", to.settings, "NAME=VALUE for all cells (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--runs", to.runs, "in each cell, with random start offsets")
      ->capture_default_str();
  app.add_option("--offsets", to.offsets, "flows start between 0 and this")->capture_default_str();
  app.add_option("--seed", to.seed, "of the offsets")->capture_default_str();
  app.add_option("--until", to.until, "give up on a run at this time")->capture_default_str();
  add_choice(app, "--discipline", to.discipline, discipline_words);
  add_choice(app, "--engine", to.engine, engine_words,
             "fluid equations, or packets, which the options below are for");
  add_choice(app, "--ecmp", to.ecmp, ecmp_words, kEcmpHelp);
  app.add_option("--threads", to.threads, "results do not depend on it")->capture_default_str();
  add_choice(app, "--format", to.format, number_format_words);
  app.add_option("--svg", to.svg, "write a heat map to this file");
  app.add_option("--report", to.report, kReportHelp);
}

/// Runs packets, with the conditions given, until the first deadlock; with a watchdog, until the
/// end: what counts is a lock that stands then.
Result<std::optional<double>> time_by_packets(const pfc::Topology& made, const Options& options,
                                              const std::atomic<bool>& is_stopped) {
  namespace packet = pfc::packet;
  PORTCULLIS_TRY_ASSIGN(const auto flows, spread_flows(made, options.ecmp));
  PacketConditions conditions = options.conditions;
  conditions.seed = options.seed;
  PORTCULLIS_TRY_ASSIGN(
      packet::RunOptions run,
      run_options(conditions, made, flows, packet::to_picoseconds(made, options.until)));
  run.progress = [&is_stopped](packet::Picoseconds) { return !is_stopped.load(); };
  PORTCULLIS_TRY_ASSIGN(const packet::RunReport report, packet::simulate(flows.topology, run));
  if (report.loose_links > 0)
    return fail(
        Errc::InvalidArgument,
        fmt::format("--quanta {}: PAUSE may run out on {} links, which are not looked at for "
                    "deadlocks; more quanta, or none, are accepted",
                    conditions.quanta, report.loose_links));
  if (report.is_stopped) return std::nullopt;
  const double unit = made.units.time_s * 1e12;
  if (!report.deadlock) return std::numeric_limits<double>::infinity();
  return static_cast<double>(report.deadlock->time) / unit;
}

/// What `--engine packet` needs beside what every sweep does.
Result<void> use_packets(const pfc::Topology& topology, const Options& options, Console& console,
                         pfc::SweepOptions& to) {
  constexpr double kMostSeconds = 86'400;
  const double most = kMostSeconds / topology.units.time_s;
  if (!(options.until > 0 && options.until <= most))
    return fail(Errc::InvalidArgument,
                fmt::format("--until {}; above 0 and at most {:g} ({:g} s) is accepted",
                            options.until, most, kMostSeconds));
  to.simulate = [&options, &console](const pfc::Topology& made) {
    return time_by_packets(made, options, console.is_stopped);
  };
  to.prepare = nullptr;
  return {};
}

Result<int> run(Console& console, const Options& options, Arguments arguments) {
  PORTCULLIS_TRY(check_outputs({{"--svg", options.svg}, {"--report", options.report}},
                               {fabric_file(options.scenario)}));
  PORTCULLIS_TRY_ASSIGN(const pfc::Topology topology,
                        load_fabric(options.scenario, options.settings));
  pfc::SweepOptions to;
  if (options.vary.size() > 2)
    return fail(Errc::InvalidArgument, "--vary is accepted once or twice");
  for (const std::string& vary : options.vary) {
    PORTCULLIS_TRY_ASSIGN(SweepAxis axis, axis_of(vary));
    if (!to.axes.empty() && to.axes.front().name == axis.name)
      return fail(Errc::InvalidArgument,
                  fmt::format("--vary {} twice; one list of its values is accepted", axis.name));
    to.axes.push_back(std::move(axis));
  }
  to.solver.until = options.until;
  to.solver.discipline = options.discipline;
  to.solver.tolerance = 1e-10;
  to.solver.max_events = kMostEvents;
  to.runs = options.runs;
  to.offsets = options.offsets;
  to.seed = options.seed;
  to.threads = options.threads;
  to.is_stopped = &console.is_stopped;
  PORTCULLIS_TRY_ASSIGN(const auto flows, spread_flows(topology, options.ecmp));
  to.prepare = [&options](const pfc::Topology& made) -> Result<pfc::Topology> {
    PORTCULLIS_TRY_ASSIGN(auto parts, spread_flows(made, options.ecmp));
    return std::move(parts.topology);
  };
  if (options.engine == Engine::Packet)
    PORTCULLIS_TRY(use_packets(topology, options, console, to));
  else if (options.has_conditions)
    return fail(Errc::InvalidArgument,
                "options of the packet simulator without --engine packet; both are accepted");
  if (console.shows_progress)
    to.progress = [&console](std::uint64_t done, std::uint64_t all) {
      if (done % 100 == 0 || done == all) fmt::print(console.err, "\r{} of {} runs", done, all);
    };
  PORTCULLIS_TRY_ASSIGN(const auto cells, pfc::sweep(topology, to));
  if (console.shows_progress) console.err << "\r\x1b[K";
  console.err << flows.note;
  console.out << (options.format == Format::Json ? json_of(options, to.axes, cells)
                                                 : csv_of(to.axes, cells));
  if (console.is_stopped.load()) {
    std::uint64_t done = 0;
    for (const SweepCell& cell : cells) done += cell.runs + cell.undecided;
    fmt::print(console.err, "pfc-deadlock sweep: stopped after {} of {} runs{}{}\n", done,
               std::uint64_t{options.runs} * cells.size(),
               options.svg.empty() ? "" : "; no map is written",
               options.report.empty() ? "" : "; no report is written");
    return kExitInterrupted;
  }
  if (!options.svg.empty())
    program::keep_output("--svg", options.svg, svg_of(topology, options, to.axes, cells));
  if (!options.report.empty()) report_page(topology, options, arguments, to.axes, cells);
  return kExitDone;
}

}  // namespace

int run_sweep(Arguments arguments, Console& console) {
  CLI::App app("Deadlocks over a grid of settings: how often, and how soon.", "pfc-deadlock sweep");
  Options options;
  declare(app, options);
  CLI::App* const conditions = app.add_option_group("packets", "with --engine packet");
  describe(*conditions, options.conditions);
  if (const auto status = parse(app, arguments, console)) return *status;
  options.has_conditions = conditions->count_all() > 0;
  const auto status = run(console, options, arguments);
  return status ? *status : refuse(console, app.get_name(), status.error());
}

}  // namespace portcullis::tools::pfc_deadlock
