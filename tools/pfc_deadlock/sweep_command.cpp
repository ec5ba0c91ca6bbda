// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock sweep: how often and how soon a scenario deadlocks, over a grid of settings.
#include "tools/pfc_deadlock/command.hpp"

#include <fmt/ostream.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "pfc/fluid/sweep.hpp"
#include "tools/pfc_deadlock/fabric_input.hpp"
#include "tools/pfc_deadlock/heat_map.hpp"
#include "tools/pfc_deadlock/input.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

using pfc::SweepAxis;
using pfc::SweepCell;

constexpr std::uint32_t kMostValues = 1'000;
constexpr std::uint64_t kMostEvents = 100'000;   // of a run; only knife edges take as many
constexpr double kShown[] = {0, 0.1, 0.5, 0.9};  // quantiles of all runs
constexpr const char* kShownNames[] = {"first", "p10", "median", "p90"};

struct Options {
  std::string scenario;
  std::vector<std::string> settings;
  std::vector<std::string> vary;
  std::uint32_t runs = 50;
  double offsets = 1;
  std::uint64_t seed = 1;
  double until = 50;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::string ecmp = "split";
  std::string discipline = "fifo";
  std::string format = "csv";
  std::string svg;
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

std::string time_text(double time) {
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
    for (const double q : kShown) text += "," + time_text(cell.quantile(q));
  }
  return text + "\n";
}

std::string json_of(const Options& options, const std::vector<SweepAxis>& axes,
                    const std::vector<SweepCell>& cells) {
  nlohmann::ordered_json top = {{"scenario", options.scenario},     {"settings", options.settings},
                                {"discipline", options.discipline}, {"until", options.until},
                                {"offsets", options.offsets},       {"seed", options.seed}};
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

std::string svg_of(const Options& options, const std::vector<SweepAxis>& axes,
                   const std::vector<SweepCell>& cells) {
  HeatMap map;
  map.title = options.scenario + ": share of runs that deadlock, and their median time";
  map.subtitle = fmt::format("{}, {} runs a cell up to t = {:.6g}, starts within {:.6g}",
                             options.discipline == "fifo" ? "true FIFO" : "proportional share",
                             options.runs, options.until, options.offsets);
  for (const std::string& setting : options.settings) map.subtitle += ", " + setting;
  map.x_label = axes.back().name;
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
  app.add_option("--discipline", to.discipline)
      ->check(CLI::IsMember({"proportional", "fifo"}))
      ->capture_default_str();
  app.add_option("--ecmp", to.ecmp, kEcmpHelp)
      ->check(CLI::IsMember({"split", "first"}))
      ->capture_default_str();
  app.add_option("--threads", to.threads, "results do not depend on it")->capture_default_str();
  app.add_option("--format", to.format)
      ->check(CLI::IsMember({"csv", "json"}))
      ->capture_default_str();
  app.add_option("--svg", to.svg, "write a heat map to this file");
}

Result<int> run(Console& console, const Options& options) {
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
  to.solver.discipline =
      options.discipline == "fifo" ? pfc::Discipline::Fifo : pfc::Discipline::Proportional;
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
  if (console.shows_progress)
    to.progress = [&console](std::uint64_t done, std::uint64_t all) {
      if (done % 100 == 0 || done == all) fmt::print(console.err, "\r{} of {} runs", done, all);
    };
  PORTCULLIS_TRY_ASSIGN(const auto cells, pfc::sweep(topology, to));
  if (console.shows_progress) console.err << "\r\x1b[K";
  console.err << flows.note;
  console.out << (options.format == "json" ? json_of(options, to.axes, cells)
                                           : csv_of(to.axes, cells));
  if (console.is_stopped.load()) {
    std::uint64_t done = 0;
    for (const SweepCell& cell : cells) done += cell.runs + cell.undecided;
    fmt::print(console.err, "pfc-deadlock sweep: stopped after {} of {} runs{}\n", done,
               std::uint64_t{options.runs} * cells.size(),
               options.svg.empty() ? "" : "; no map is written");
    return kExitInterrupted;
  }
  if (!options.svg.empty())
    PORTCULLIS_TRY(write_file(options.svg, svg_of(options, to.axes, cells)));
  return kExitDone;
}

}  // namespace

int run_sweep(Arguments arguments, Console& console) {
  CLI::App app("Deadlocks over a grid of settings: how often, and how soon.", "pfc-deadlock sweep");
  Options options;
  declare(app, options);
  if (const auto status = parse(app, arguments, console)) return *status;
  const auto status = run(console, options);
  return status ? *status : refuse(console, app.get_name(), status.error());
}

}  // namespace portcullis::tools::pfc_deadlock
