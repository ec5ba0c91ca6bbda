// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock packet: a scenario packet by packet, with PAUSE on the wire.
#include "tools/pfc_deadlock/command.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pfc/packet/report.hpp"
#include "pfc/packet/simulator.hpp"
#include "tools/pfc_deadlock/chart.hpp"
#include "tools/pfc_deadlock/fabric_input.hpp"
#include "tools/pfc_deadlock/input.hpp"
#include "tools/pfc_deadlock/packet_conditions.hpp"
#include "tools/pfc_deadlock/page.hpp"
#include "tools/pfc_deadlock/workload_input.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

namespace packet = pfc::packet;

constexpr double kPicosecondsPerUs = 1e6;
constexpr int kPictureSamples = 500;
constexpr double kMostSeconds = 86'400;   // of simulated time
constexpr double kMostSamples = 100'000;  // each has a number for every flow and ingress

struct PacketOptions {
  std::string name;
  std::vector<std::string> settings;
  Ecmp ecmp = Ecmp::Split;
  double until = 0;
  double sample = 0;
  PacketConditions conditions;
  std::string workload;
  std::uint32_t workload_priority = 0;
  bool keep_going = false;
  Format format = Format::Text;
  std::string svg;
  std::string report;
};

void describe(CLI::App& app, PacketOptions& options) {
  app.add_option("SCENARIO", options.name, kFabricHelp)->required();
  app.add_option("--until", options.until, "time to simulate, in the scenario's unit of time")
      ->required();
  app.add_option("--set", options.settings, "NAME=VALUE, applied before (may be repeated)")
      ->allow_extra_args(false);
  add_choice(app, "--ecmp", options.ecmp, ecmp_words, kEcmpHelp);
  app.add_option("--workload", options.workload, kWorkloadHelp);
  app.add_option("--workload-priority", options.workload_priority, "of messages that are made up")
      ->check(CLI::Range(0, 7))
      ->capture_default_str();
  app.add_option("--seed", options.conditions.seed,
                 "of marks, and of messages that are made up and the ways they take")
      ->capture_default_str();
  describe(app, options.conditions);
  app.add_flag("--keep-going", options.keep_going, "do not end at the first deadlock");
  app.add_option("--sample", options.sample, "time between rows of csv; a 500th of --until if 0");
  add_choice(app, "--format", options.format, format_words,
             "text, json, or csv (over time: delivered data of flows, data in ingresses)");
  app.add_option("--svg", options.svg, "write service curves, queues and pauses to this file");
  app.add_option("--report", options.report, kReportHelp);
  app.footer(
      "exit status: 0 nothing is locked at the end of this run, 1 something is (a lock that the "
      "watchdog ended is told, with 0), 2 bad arguments or a bad file, 130 Ctrl-C, "
      "143 SIGTERM");
}

Result<packet::RunOptions> run_options(const PacketOptions& options, const pfc::Topology& topology,
                                       const pfc::cbd::SplitFlows& flows, const Console& console) {
  const double most = kMostSeconds / topology.units.time_s;
  if (!(options.until > 0 && options.until <= most) ||
      !(options.sample >= 0 && options.sample <= most))
    return fail(
        Errc::InvalidArgument,
        fmt::format("--until {} --sample {}; times up to {:g} ({:g} s), and --until above 0, "
                    "are accepted",
                    options.until, options.sample, most, kMostSeconds));
  if (options.sample > 0 && options.until / options.sample > kMostSamples)
    return fail(
        Errc::InvalidArgument,
        fmt::format("--sample {}: {:g} rows up to --until {}; at most {:g} are accepted",
                    options.sample, options.until / options.sample, options.until, kMostSamples));
  PORTCULLIS_TRY_ASSIGN(packet::RunOptions run,
                        run_options(options.conditions, topology, flows,
                                    packet::to_picoseconds(topology, options.until)));
  if (!options.workload.empty()) {
    const packet::MadeUp made{options.workload_priority, options.conditions.seed, run.until};
    PORTCULLIS_TRY_ASSIGN(run.messages, workload_of(options.workload, topology, made));
    run.ways_seed = options.conditions.seed;
  }
  run.stop_at_deadlock = run.stop_at_deadlock && !options.keep_going;
  run.with_residence = options.format == Format::Json;
  if (options.format == Format::Csv || !options.svg.empty() || !options.report.empty())
    run.sample_every = options.sample > 0 ? std::max<packet::Picoseconds>(
                                                1, packet::to_picoseconds(topology, options.sample))
                                          : run.until / kPictureSamples + 1;
  const packet::Picoseconds until = run.until;
  run.progress = [&console, until](packet::Picoseconds now) {
    if (console.shows_progress)
      fmt::print(console.err, "\r{:.0f} % simulated ",
                 100.0 * static_cast<double>(now) / static_cast<double>(until));
    return !console.is_stopped.load(std::memory_order_relaxed);
  };
  return run;
}

std::string picture(const pfc::Topology& topology, const packet::RunReport& report) {
  const double unit = topology.units.time_s * 1e12;
  const auto time = [unit](packet::Picoseconds ps) { return static_cast<double>(ps) / unit; };
  const auto data = [&](auto bytes) {
    return static_cast<double>(bytes) / topology.units.data_bytes;
  };
  Chart delivered{"data delivered", time_axis(topology), data_axis(topology), {}, {}};
  Chart queued{"data in each ingress", time_axis(topology), data_axis(topology), {}, {}};
  Timeline pauses{"gates closed", time_axis(topology), {}, 0, time(report.samples.back().time), {}};
  for (std::size_t flow = 0; flow < topology.flows.size(); ++flow) {
    delivered.series.push_back({topology.flows[flow].name, {}, false});
    for (const packet::Sample& sample : report.samples)
      delivered.series.back().points.emplace_back(time(sample.time),
                                                  data(sample.delivered_bytes[flow]));
  }
  for (std::size_t i = 0; i < report.ingresses.size(); ++i) {
    if (report.ingresses[i].closings == 0) continue;
    const std::string& name = topology.links[report.ingresses[i].link].name;
    queued.series.push_back({name, {}, false});
    pauses.rows.push_back({name, {}});
    for (const packet::Sample& sample : report.samples) {
      queued.series.back().points.emplace_back(time(sample.time), data(sample.ingress_bytes[i]));
      pauses.rows.back().points.emplace_back(time(sample.time), sample.is_closed[i] ? 1.0 : 0.0);
    }
  }
  const auto mark = [&](const std::optional<packet::Deadlock>& deadlock, const char* text) {
    if (!deadlock) return;
    for (auto* marks : {&delivered.marks, &queued.marks, &pauses.marks})
      marks->push_back({text, time(deadlock->time), true});
  };
  mark(report.ended_deadlock, "deadlock, ended by the watchdog");
  mark(report.deadlock, "deadlock");
  std::vector<Chart> charts;  // one without a curve would say that there was nothing
  for (const Chart& chart : {delivered, queued})
    if (!chart.series.empty()) charts.push_back(chart);
  return chart_svg(topology.name, fmt::format("packet simulator, {} packet hops", report.hops),
                   charts, pauses);
}

std::vector<std::vector<std::string>> flow_rows(const pfc::Topology& topology,
                                                const packet::RunReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < report.flows.size(); ++i) {
    const packet::FlowReport& flow = report.flows[i];
    const auto lost = flow.overflowed + flow.expired + flow.discarded + flow.source_lost;
    rows.push_back({topology.flows[i].name, std::to_string(flow.sent),
                    std::to_string(flow.delivered), std::to_string(lost), std::to_string(flow.held),
                    fmt::format("{:.6g} us",
                                static_cast<double>(flow.greatest_residence) / kPicosecondsPerUs)});
  }
  return rows;
}

std::vector<std::vector<std::string>> ingress_rows(const pfc::Topology& topology,
                                                   const packet::RunReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const packet::IngressReport& ingress : report.ingresses)
    rows.push_back(
        {topology.links[ingress.link].name, std::to_string(ingress.priority),
         std::to_string(ingress.closings),
         fmt::format("{:.6g} us", static_cast<double>(ingress.closed) / kPicosecondsPerUs),
         fmt::format("{:.6g} KB", static_cast<double>(ingress.most_bytes) / 1e3),
         data_text(topology, topology.links[ingress.link].xoff)});
  return rows;
}

void report_page(const PacketOptions& options, Arguments arguments, const pfc::Topology& topology,
                 const packet::RunOptions& run, const packet::RunReport& report,
                 const std::string& note) {
  Page page("packet", arguments, topology);
  page.printed(packet::run_text(topology, run, report));
  std::vector<std::string> limits{
      fmt::format("One run was looked at, up to {:.6g} us, with packets of {} bytes: with other "
                  "starts, rates or sizes the same fabric may lock or not (cbd).",
                  static_cast<double>(report.end) / kPicosecondsPerUs,
                  options.conditions.packet_bytes),
      options.conditions.storms.empty()
          ? "Hosts take what arrives: none sends PAUSE itself."
          : "Hosts take what arrives, and send PAUSE only where --storm has it.",
      "Pictures show what was so at sample times; what came and went between two is not in them."};
  if (!options.workload.empty())
    limits.emplace_back(
        "Messages are told above; in curves of flows and their table they are not.");
  if (report.loose_links > 0)
    limits.push_back(
        fmt::format("PAUSE may run out before it is said again on {} links: no deadlock "
                    "was looked for there.",
                    report.loose_links));
  if (report.is_stopped) limits.emplace_back("The run was stopped before its end.");
  if (!note.empty()) limits.push_back(note.substr(0, note.find('\n')));
  page.not_looked_at(limits);
  const auto& shown = report.deadlock ? report.deadlock : report.ended_deadlock;
  page.fabric(shown ? shown->cycle : std::vector<pfc::LinkId>());
  page.heading("Over time");
  if (report.samples.empty())
    page.printed("no samples were taken");
  else
    page.picture(picture(topology, report));
  page.heading("Flows, in packets");
  page.table({"flow", "sent", "delivered", "lost", "in the network at the end", "latest delivered"},
             flow_rows(topology, report));
  page.heading("Ingresses");
  page.table({"link", "priority", "times closed", "closed for", "most", "XOFF"},
             ingress_rows(topology, report));
  page.keep(options.report);
}

std::string text_of(Format format, const pfc::Topology& topology, const packet::RunOptions& run,
                    const packet::RunReport& report) {
  switch (format) {
    case Format::Json:
      return packet::run_json(topology, run, report);
    case Format::Csv:
      return packet::samples_csv(topology, report);
    case Format::Text:
      break;
  }
  return packet::run_text(topology, run, report);
}

}  // namespace

int run_packet(Arguments arguments, Console& console) {
  CLI::App app(
      "Simulates a scenario packet by packet: PAUSE frames with delay and headroom, shared "
      "buffers, TTLs, watchdogs. Says whether and when it deadlocks, and which links wait for each "
      "other.",
      "pfc-deadlock packet");
  PacketOptions options;
  describe(app, options);
  if (const auto status = parse(app, arguments, console)) return *status;
  if (const auto files =
          check_outputs({{"--svg", options.svg}, {"--report", options.report}},
                        {fabric_file(options.name), workload_file(options.workload)});
      !files)
    return refuse(console, "pfc-deadlock packet", files.error());
  const auto given = load_fabric(options.name, options.settings);
  if (!given) return refuse(console, "pfc-deadlock packet", given.error());
  const auto flows = spread_flows(*given, options.ecmp);
  if (!flows) return refuse(console, "pfc-deadlock packet", flows.error());
  const pfc::Topology* topology = &flows->topology;
  const auto run = run_options(options, *given, *flows, console);
  if (!run) return refuse(console, "pfc-deadlock packet", run.error());
  const auto report = packet::simulate(*topology, *run);
  if (!report) return refuse(console, "pfc-deadlock packet", report.error());
  if (console.shows_progress) fmt::print(console.err, "\r{:20}\r", "");
  console.err << flows->note;
  console.out << text_of(options.format, *topology, *run, *report);
  if (!options.svg.empty()) program::keep_output("--svg", options.svg, picture(*topology, *report));
  if (!options.report.empty())
    report_page(options, arguments, *topology, *run, *report, flows->note);
  if (report->is_stopped) return kExitInterrupted;
  return report->deadlock ? kExitLocked : kExitDone;
}

}  // namespace portcullis::tools::pfc_deadlock
