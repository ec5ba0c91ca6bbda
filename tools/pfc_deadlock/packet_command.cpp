// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock packet: a scenario packet by packet, with PAUSE on the wire.
#include "tools/pfc_deadlock/command.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pfc/packet/report.hpp"
#include "pfc/packet/simulator.hpp"
#include "tools/pfc_deadlock/chart.hpp"
#include "tools/pfc_deadlock/fabric_input.hpp"
#include "tools/pfc_deadlock/input.hpp"
#include "tools/pfc_deadlock/page.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

namespace packet = pfc::packet;

constexpr double kPicosecondsPerMs = 1e9;
constexpr double kPicosecondsPerUs = 1e6;
constexpr int kPictureSamples = 500;
constexpr double kMostSeconds = 86'400;   // of simulated time
constexpr double kMostSamples = 100'000;  // each has a number for every flow and ingress

const std::map<std::string, packet::WatchdogAction> action_names = {
    {"none", packet::WatchdogAction::None},
    {"drop", packet::WatchdogAction::Drop},
    {"forward", packet::WatchdogAction::Forward}};

struct PacketOptions {
  std::string name;
  std::vector<std::string> settings;
  std::vector<std::string> limits;
  std::string ecmp = "split";
  double until = 0;
  double sample = 0;
  std::uint32_t packet_bytes = 1000;
  std::string pause = "in-band";
  double response_us = 0;
  std::string watchdog = "none";
  double detect_ms = 200;
  double restore_ms = 200;
  bool keep_going = false;
  std::string format = "text";
  std::string svg;
  std::string report;
};

void describe(CLI::App& app, PacketOptions& options) {
  app.add_option("SCENARIO", options.name, kFabricHelp)->required();
  app.add_option("--until", options.until, "time to simulate, in the scenario's unit of time")
      ->required();
  app.add_option("--set", options.settings, "NAME=VALUE, applied before (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--limit", options.limits,
                 "FLOW=RATE: packets no closer than this rate, as congestion control would have it "
                 "(may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--ecmp", options.ecmp, kEcmpHelp)
      ->check(CLI::IsMember({"split", "first"}))
      ->capture_default_str();
  app.add_option("--packet-bytes", options.packet_bytes, "size of every packet")
      ->capture_default_str();
  app.add_option(
         "--pause", options.pause,
         "in-band: PAUSE frames wait for the packet on their link and take time themselves; "
         "instant: they are on their way at once")
      ->check(CLI::IsMember({"in-band", "instant"}))
      ->capture_default_str();
  app.add_option("--response-us", options.response_us, "from a PAUSE frame's end to the last bit")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--watchdog", options.watchdog,
                 "what a switch does with a queue that stays paused: none, drop, forward")
      ->check(CLI::IsMember({"none", "drop", "forward"}))
      ->capture_default_str();
  app.add_option("--detect-ms", options.detect_ms, "pause that the watchdog takes for stuck")
      ->check(CLI::Range(1e-6, 1e6))
      ->capture_default_str();
  app.add_option("--restore-ms", options.restore_ms, "open time after which it lets go")
      ->check(CLI::Range(1e-6, 1e6))
      ->capture_default_str();
  app.add_flag("--keep-going", options.keep_going, "do not end at the first deadlock");
  app.add_option("--sample", options.sample, "time between rows of csv; a 500th of --until if 0");
  app.add_option("--format", options.format,
                 "text, json, or csv (over time: delivered data of flows, data in ingresses)")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  app.add_option("--svg", options.svg, "write service curves, queues and pauses to this file");
  app.add_option("--report", options.report, kReportHelp);
  app.footer(
      "exit status: 0 done, with a deadlock or without, 2 bad arguments or a bad file, 130 Ctrl-C, "
      "143 "
      "SIGTERM");
}

Result<packet::RateLimit> parse_limit(const std::string& text, const pfc::Topology& topology) {
  const std::size_t equals = text.rfind('=');
  const std::string name = text.substr(0, equals);
  packet::RateLimit limit;
  while (limit.flow < topology.flows.size() && topology.flows[limit.flow].name != name)
    ++limit.flow;
  if (limit.flow == topology.flows.size() || equals == std::string::npos)
    return fail(Errc::InvalidArgument,
                fmt::format("--limit \"{}\": no flow \"{}\"; FLOW=RATE with the name of a flow is "
                            "accepted",
                            text, name));
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + equals + 1, end, limit.rate);
  if (error != std::errc() || at != end || !(limit.rate > 0))
    return fail(Errc::InvalidArgument,
                fmt::format("--limit \"{}\": a rate above 0 is accepted", text));
  return limit;
}

/// Each part of a flow that was split has its share of the flow's limit.
Result<void> add_limit(const std::string& text, const pfc::Topology& topology,
                       const pfc::cbd::SplitFlows& flows, packet::RunOptions& to) {
  PORTCULLIS_TRY_ASSIGN(const packet::RateLimit limit, parse_limit(text, topology));
  for (std::uint32_t flow = 0; flow < flows.origin.size(); ++flow)
    if (flows.origin[flow] == limit.flow)
      to.limits.push_back({flow, limit.rate * flows.share[flow]});
  return {};
}

Result<packet::RunOptions> run_options(const PacketOptions& options, const pfc::Topology& topology,
                                       const pfc::cbd::SplitFlows& flows, const Console& console) {
  packet::RunOptions run;
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
  run.until = packet::to_picoseconds(topology, options.until);
  run.packet_bytes = options.packet_bytes;
  run.pause_in_band = options.pause == "in-band";
  run.response = static_cast<packet::Picoseconds>(options.response_us * kPicosecondsPerUs);
  run.watchdog = {action_names.at(options.watchdog),
                  static_cast<packet::Picoseconds>(options.detect_ms * kPicosecondsPerMs),
                  static_cast<packet::Picoseconds>(options.restore_ms * kPicosecondsPerMs)};
  run.stop_at_deadlock = !options.keep_going && options.watchdog == "none";
  run.with_residence = options.format == "json";
  if (options.format == "csv" || !options.svg.empty() || !options.report.empty())
    run.sample_every = options.sample > 0 ? std::max<packet::Picoseconds>(
                                                1, packet::to_picoseconds(topology, options.sample))
                                          : run.until / kPictureSamples + 1;
  for (const std::string& text : options.limits)
    PORTCULLIS_TRY(add_limit(text, topology, flows, run));
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
  if (report.deadlock) {
    const ChartMark mark{"deadlock", time(report.deadlock->time), true};
    delivered.marks.push_back(mark);
    queued.marks.push_back(mark);
    pauses.marks.push_back(mark);
  }
  return chart_svg(topology.name, fmt::format("packet simulator, {} packet hops", report.hops),
                   {delivered, queued}, pauses);
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

Result<void> report_page(const PacketOptions& options, Arguments arguments,
                         const pfc::Topology& topology, const packet::RunReport& report,
                         const std::string& note) {
  Page page("packet", arguments, topology);
  page.printed(packet::run_text(topology, report));
  std::vector<std::string> limits{
      fmt::format("One run was looked at, up to {:.6g} us, with packets of {} bytes: with other "
                  "starts, rates or sizes the same fabric may lock or not (cbd).",
                  static_cast<double>(report.end) / kPicosecondsPerUs, options.packet_bytes),
      "Hosts take what arrives: none sends PAUSE itself.",
      "Pictures show what was so at sample times; what came and went between two is not in them."};
  if (report.is_stopped) limits.emplace_back("The run was stopped before its end.");
  if (!note.empty()) limits.push_back(note.substr(0, note.find('\n')));
  page.not_looked_at(limits);
  page.fabric(report.deadlock ? report.deadlock->cycle : std::vector<pfc::LinkId>());
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
  return page.write(options.report);
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
  console.out << (options.format == "json"  ? packet::run_json(*topology, *report)
                  : options.format == "csv" ? packet::samples_csv(*topology, *report)
                                            : packet::run_text(*topology, *report));
  if (!options.svg.empty())
    if (const auto written = write_file(options.svg, picture(*topology, *report)); !written)
      return refuse(console, "pfc-deadlock packet", written.error());
  if (!options.report.empty())
    if (const auto written = report_page(options, arguments, *topology, *report, flows->note);
        !written)
      return refuse(console, "pfc-deadlock packet", written.error());
  return report->is_stopped ? kExitInterrupted : kExitDone;
}

}  // namespace portcullis::tools::pfc_deadlock
