// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock residence: how late a packet may arrive, as a bound that holds whatever is sent, or
// the circle because of which there is none.
#include "tools/pfc_deadlock/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "pfc/bound/residence_bound.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/report.hpp"
#include "pfc/csv.hpp"
#include "pfc/fluid/residence.hpp"
#include "pfc/watchdog.hpp"
#include "tools/pfc_deadlock/fabric_input.hpp"
#include "tools/pfc_deadlock/fluid_report.hpp"
#include "tools/pfc_deadlock/input.hpp"
#include "tools/pfc_deadlock/page.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

using pfc::Residence;
using pfc::Topology;
using pfc::bound::ResidenceBound;

constexpr double kPicosecondsPerUs = 1e6;

struct Options {
  std::string scenario;
  std::vector<std::string> settings;
  double until = 50;
  double watchdog_ms = 0;
  double poll_ms = 0;  // watchdog_ms is then what it takes to detect a pause
  std::uint32_t packet_bytes = 1000;
  std::uint32_t least_bytes = 0;  // 0: as packet_bytes
  double response_us = 0;
  std::vector<std::uint32_t> priorities;  // none: those of the fabric
  pfc::Discipline discipline = pfc::Discipline::Fifo;
  Format format = Format::Csv;
  std::string report;
};

/// What one run of the fluid equations showed; no proof of anything.
struct Seen {
  std::vector<Residence> flows;
  std::optional<double> deadlock;  // when
  double end = 0;
  double latest = 0;  // of all flows, delivered or still under way
  bool is_interrupted = false;
  std::string why_not;  // there was no run
  std::optional<pfc::FluidRun> run;
};

/// A flow's figures in microseconds; nothing where nothing was delivered, or there is no bound.
struct Line {
  std::string flow;
  std::optional<double> bound_us, transit_us, median_us, p99_us, longest_us, inside_bytes,
      oldest_inside_us;
};

/// Of a packet that meets nobody: what it takes on the links, and their delays.
double transit_of(const Topology& topology, const pfc::Flow& flow, const Options& options) {
  double time = 0;
  for (const pfc::LinkId id : flow.path) {
    const pfc::Link& link = topology.links[id];
    time += link.delay + options.packet_bytes / topology.units.data_bytes / link.capacity;
  }
  return time;
}

/// What the fluid held more in than it has room for, "" where there was room: packets would have
/// been lost there, and the fluid loses nothing. Of a node's memory it may have been less, for
/// ingresses need not have been fullest at one time.
std::string overfull(const Topology& topology, const pfc::FluidRun& run) {
  constexpr double kRounding = 1e-9;
  std::vector<double> held(topology.nodes.size(), 0);
  for (pfc::LinkId id = 0; id < topology.links.size(); ++id) {
    const pfc::Link& link = topology.links[id];
    if (run.peak[id] > link.buffer * (1 + kRounding))
      return fmt::format("held more than the buffer of {}", link.name);
    held[link.to] += run.peak[id];
  }
  for (pfc::NodeId id = 0; id < topology.nodes.size(); ++id)
    if (held[id] > topology.nodes[id].shared_buffer * (1 + kRounding))
      return fmt::format("may have held more than the shared buffer of {}",
                         topology.nodes[id].name);
  return "";
}

Result<Seen> observe(const Topology& topology, const Options& options, Console& console) {
  Seen seen;
  if (!(options.until >= 0) || !std::isfinite(options.until))
    return fail(Errc::InvalidArgument,
                fmt::format("--until {}; a time from 0 on is accepted", options.until));
  if (options.until == 0 || topology.flows.empty()) {
    seen.why_not = topology.flows.empty() ? "no flows" : "--until 0";
    return seen;
  }
  pfc::FluidOptions solver;
  solver.until = options.until;
  solver.discipline = options.discipline;
  solver.keeps_history = true;
  solver.is_stopped = &console.is_stopped;
  auto run = pfc::solve(topology, solver);
  if (!run) {
    seen.why_not = run.error().text;
    return seen;
  }
  if (const std::string where = overfull(topology, *run); !where.empty()) {
    seen.why_not = "the fluid, which loses nothing, " + where;
    seen.is_interrupted = run->is_interrupted;
    return seen;
  }
  seen.flows = pfc::residence(topology, *run);
  seen.end = run->end;
  seen.is_interrupted = run->is_interrupted;
  if (run->deadlock) seen.deadlock = run->deadlock->time;
  for (std::size_t i = 0; i < seen.flows.size(); ++i) {
    Residence& flow = seen.flows[i];
    // The fluid has no packets: what each takes on its links comes on top.
    const double packets = transit_of(topology, topology.flows[i], options) - flow.transit;
    flow.transit += packets;
    if (flow.delivered > 0) {
      for (double* figure : {&flow.median, &flow.p99, &flow.longest}) *figure += packets;
    }
    seen.latest = std::max({seen.latest, flow.longest, flow.oldest_inside});
  }
  seen.run = std::move(*run);
  return seen;
}

/// Some of what a mixed buffer holds may stay for ever.
bool is_mixed(const Options& options) { return options.discipline != pfc::Discipline::Fifo; }

/// One of the two is wrong then, and which is not for this program to say. The fluid has no
/// watchdog: what stays in a lock of it says nothing of a bound that one gives.
bool is_exceeded(const Options& options, const ResidenceBound& bound, const Seen& seen) {
  constexpr double kRounding = 1e-9;
  if (options.watchdog_ms > 0 && seen.deadlock) return false;
  return seen.latest > bound.most * (1 + kRounding);
}

/// Without bounds where the verdict takes them back: both are read.
std::vector<Line> lines_of(const Topology& topology, const Options& options,
                           const ResidenceBound& bound, const Seen& seen) {
  const double us = topology.units.time_s * 1e6;
  const bool is_withdrawn = is_mixed(options) || is_exceeded(options, bound, seen);
  const auto shown = [&](double of) {
    return std::isfinite(of) && !is_withdrawn ? std::optional(of * us) : std::nullopt;
  };
  std::vector<Line> lines;
  for (std::size_t i = 0; i < topology.flows.size(); ++i) {
    Line line{topology.flows[i].name, {}, {}, {}, {}, {}, {}, {}};
    line.bound_us = shown(bound.flows[i]);
    if (!topology.flows[i].path.empty())
      line.transit_us = transit_of(topology, topology.flows[i], options) * us;
    if (!seen.flows.empty()) {
      const Residence& flow = seen.flows[i];
      if (flow.delivered > 0) {
        line.median_us = flow.median * us;
        line.p99_us = flow.p99 * us;
        line.longest_us = flow.longest * us;
      }
      line.inside_bytes = flow.inside * topology.units.data_bytes;
      line.oldest_inside_us = flow.oldest_inside * us;
    }
    lines.push_back(std::move(line));
  }
  if (bound.routes) {
    lines.push_back({"(any that routes permit)", {}, {}, {}, {}, {}, {}, {}});
    lines.back().bound_us = shown(*bound.routes);
  }
  return lines;
}

std::string csv_of(const std::vector<Line>& lines) {
  std::string text =
      "flow,bound_us,transit_us,median_us,p99_us,longest_us,inside_bytes,oldest_inside_us\n";
  for (const Line& line : lines) {
    text += pfc::csv_field(line.flow);
    for (const auto& figure : {line.bound_us, line.transit_us, line.median_us, line.p99_us,
                               line.longest_us, line.inside_bytes, line.oldest_inside_us})
      text += figure ? fmt::format(",{:.6g}", *figure) : ",";
    text += "\n";
  }
  return text;
}

nlohmann::ordered_json json_number(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

std::string json_of(const Topology& topology, const std::vector<Line>& lines,
                    const ResidenceBound& bound, bool is_bound, const std::string& verdict) {
  nlohmann::ordered_json top = {{"scenario", topology.name}, {"verdict", verdict}};
  top["bound_us"] = nullptr;
  if (is_bound) top["bound_us"] = bound.most * (topology.units.time_s * 1e6);
  top["priorities"] = bound.begins;
  top["priorities_on_links"] = bound.carried;
  top["circle"] = nlohmann::ordered_json::array();
  for (const pfc::LinkId link : bound.circle) top["circle"].push_back(topology.links[link].name);
  if (!bound.circle_priorities.empty()) top["circle_priorities"] = bound.circle_priorities;
  for (const Line& line : lines)
    top["flows"].push_back({{"flow", line.flow},
                            {"bound_us", json_number(line.bound_us)},
                            {"transit_us", json_number(line.transit_us)},
                            {"median_us", json_number(line.median_us)},
                            {"p99_us", json_number(line.p99_us)},
                            {"longest_us", json_number(line.longest_us)},
                            {"inside_bytes", json_number(line.inside_bytes)},
                            {"oldest_inside_us", json_number(line.oldest_inside_us)}});
  return top.dump(2) + "\n";
}

std::string seen_text(const Topology& topology, const Seen& seen) {
  const double us = topology.units.time_s * 1e6;
  if (!seen.why_not.empty()) return fmt::format("no run was observed ({})", seen.why_not);
  if (seen.deadlock)
    return fmt::format("the one run that was observed locks at {:.6g} us", *seen.deadlock * us);
  return fmt::format("in the one run that was observed, up to {:.6g} us, {:.6g} us at most",
                     seen.end * us, seen.latest * us);
}

/// The one number: how long after it was sent a packet may still arrive.
std::string verdict_of(const Topology& topology, const Options& options,
                       const ResidenceBound& bound, const Seen& seen) {
  const std::string run = seen_text(topology, seen);
  if (!std::isfinite(bound.most)) {
    const std::string why = bound.circle.empty()
                                ? bound.reason
                                : pfc::bound::circle_text(topology, bound) +
                                      ", and nothing keeps that circle from locking";
    return fmt::format(
        "no bound: {}{}; {}", why,
        options.watchdog_ms > 0 || bound.circle.empty() ? "" : "; --watchdog-ms may give one", run);
  }
  if (is_mixed(options))
    return fmt::format(
        "no bound: in buffers that mix what they hold (--discipline proportional) some of it may "
        "stay for ever; {}",
        run);
  const double us = topology.units.time_s * 1e6;
  if (is_exceeded(options, bound, seen))
    return fmt::format(
        "no bound: packets of {} bytes have one of {:.6g} us, yet the fluid takes longer, so the "
        "two "
        "do not describe one fabric; {}",
        options.packet_bytes, bound.most * us, run);
  const bool are_mixed = options.least_bytes != 0 && options.least_bytes < options.packet_bytes;
  return fmt::format(
      "bound: a packet of {}{} bytes arrives at most {:.6g} us after it was sent, whatever {} sent "
      "and when, {}, if hosts take what arrives{}; {}",
      are_mixed ? fmt::format("{} to ", options.least_bytes) : "", options.packet_bytes,
      bound.most * us, are_mixed ? "packets of such sizes are" : "packets of that size are",
      pfc::bound::priorities_text(bound),
      options.watchdog_ms > 0
          ? fmt::format(", or is dropped by a watchdog that empties a queue after {:g} ms of pause",
                        options.watchdog_ms)
          : "",
      run);
}

std::vector<std::vector<std::string>> rows_of(const std::vector<Line>& lines) {
  const auto us = [](const std::optional<double>& figure, const char* none) {
    return figure ? fmt::format("{:.6g} us", *figure) : none;
  };
  std::vector<std::vector<std::string>> rows;
  for (const Line& line : lines)
    rows.push_back({line.flow, us(line.bound_us, "none"), us(line.transit_us, ""),
                    us(line.median_us, ""), us(line.p99_us, ""), us(line.longest_us, ""),
                    us(line.oldest_inside_us, "")});
  return rows;
}

void report_page(const Topology& topology, const Options& options, Arguments arguments,
                 const ResidenceBound& bound, const std::vector<Line>& lines, const Seen& seen,
                 const std::string& printed) {
  Page page("residence", arguments, topology);
  page.printed(printed);
  std::vector<std::string> limits{
      "Hosts that send PAUSE themselves hold a link for as long as they like: the bound is of "
      "hosts that take what arrives.",
      "The run shows some starts of one fluid, and is no bound; packets were not simulated."};
  if (!bound.routes)
    limits.emplace_back("There are no routes: data that is none of the flows has no bound.");
  if (options.watchdog_ms == 0) limits.emplace_back("Watchdogs were taken to be off.");
  page.not_looked_at(limits);
  page.fabric(bound.circle);
  page.heading("How late: the bound, what links and delays take, and what one run shows");
  page.table({"flow", "bound", "alone", "median", "99 %", "longest", "oldest still inside"},
             rows_of(lines));
  if (seen.run && !seen.run->history.empty()) {
    page.heading("The run that was observed");
    page.picture(
        timeline_svg(topology, *seen.run, std::string(discipline_text(options.discipline))));
  }
  page.keep(options.report);
}

/// All eight cost much, and most fabrics have data in a few.
std::string priorities_note(const Topology& topology) {
  if (!topology.priorities.empty() || topology.routes.empty()) return "";
  return "in which priorities data comes was not said, so any of the 8 may hold the links: "
         "--priorities, or \"priorities\" of the fabric, names those that have some\n";
}

Result<int> run(Console& console, const Options& options, Arguments arguments) {
  PORTCULLIS_TRY(check_outputs({{"--report", options.report}}, {fabric_file(options.scenario)}));
  PORTCULLIS_TRY_ASSIGN(Topology topology, load_fabric(options.scenario, options.settings));
  PORTCULLIS_TRY(pfc::bound::take_priorities(topology, options.priorities));
  pfc::bound::BoundOptions to;
  to.pause.packet_bytes = options.packet_bytes;
  to.pause.least_bytes = options.least_bytes;
  to.pause.response_ps = options.response_us * kPicosecondsPerUs;
  if (options.watchdog_ms > 0) to.watchdog_ps = options.watchdog_ms * 1e3 * kPicosecondsPerUs;
  to.is_stopped = &console.is_stopped;
  const auto bound = pfc::bound::bound_residence(topology, to);
  if (!bound && bound.error().code == Errc::Timeout) return kExitInterrupted;
  if (!bound) return tl::unexpected<Error>(bound.error());
  PORTCULLIS_TRY_ASSIGN(const Seen seen, observe(topology, options, console));
  const std::string verdict = verdict_of(topology, options, *bound, seen);
  const std::vector<Line> lines = lines_of(topology, options, *bound, seen);
  const bool is_bound =
      std::isfinite(bound->most) && !is_mixed(options) && !is_exceeded(options, *bound, seen);
  console.out << (options.format == Format::Json
                      ? json_of(topology, lines, *bound, is_bound, verdict)
                      : csv_of(lines));
  const std::string delays = pfc::bound::delays_note(topology);
  const std::string printed = verdict + "\n" +
                              pfc::cbd::dead_ends_text(topology, bound->dead_ends) +
                              (seen.run ? pfc::cbd::first_hops_note(topology) : "") + delays +
                              (delays.empty() ? "" : "\n") + priorities_note(topology);
  console.err << printed;
  if (seen.is_interrupted) return kExitInterrupted;
  if (!options.report.empty())
    report_page(topology, options, arguments, *bound, lines, seen, printed);
  return is_bound ? kExitDone : kExitNoBound;
}

}  // namespace

int run_residence(Arguments arguments, Console& console) {
  CLI::App app(
      "How late a packet may arrive: a bound from buffers, thresholds and delays that holds "
      "whatever "
      "is sent and when, or the circle because of which there is none; and, flow by flow, what one "
      "run of the fluid equations shows, which is no bound.",
      "pfc-deadlock residence");
  Options options;
  app.add_option("SCENARIO", options.scenario, kFabricHelp)->required();
  app.add_option("--set", options.settings, "NAME=VALUE (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--until", options.until, "observe a run up to this time; 0: none")
      ->capture_default_str();
  app.add_option("--watchdog-ms", options.watchdog_ms,
                 "a PFC watchdog empties a switch's queue that has been paused for so long, its "
                 "polling included unless --poll-ms has it; 0: none")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app.add_option("--poll-ms", options.poll_ms,
                 "the watchdog looks so often, and --watchdog-ms is its detection time: a pause "
                 "lasts up to 1 + max(2, detection / poll, rounded up) polls")
      ->check(CLI::Range(0.0, 1e9))
      ->needs("--watchdog-ms");
  app.add_option("--packet-bytes", options.packet_bytes,
                 "of every packet, or of the largest with --least-bytes")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--least-bytes", options.least_bytes,
                 "of the smallest packet, where they differ; 84 is the least frame of Ethernet")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--response-us", options.response_us,
                 "from a PAUSE frame's end until its sender heeds it")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--priorities", options.priorities,
                 "data comes in these alone, as 0,3; without, in those of \"priorities\" of the "
                 "fabric, in any of the 8 where it has routes and says none, and in those of its "
                 "flows where it has no routes")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST");
  add_choice(app, "--discipline", options.discipline, discipline_words,
             "of the run that is observed");
  add_choice(app, "--format", options.format, number_format_words);
  app.add_option("--report", options.report, kReportHelp);
  app.footer(
      "exit status: 0 there is a bound, 1 there is none, 2 bad arguments or a bad file, 130 "
      "Ctrl-C, "
      "143 SIGTERM");
  if (const auto status = parse(app, arguments, console)) return *status;
  if (options.watchdog_ms > 0)
    options.watchdog_ms = pfc::longest_watched_pause(options.watchdog_ms, options.poll_ms);
  const auto status = run(console, options, arguments);
  return status ? *status : refuse(console, app.get_name(), status.error());
}

}  // namespace portcullis::tools::pfc_deadlock
