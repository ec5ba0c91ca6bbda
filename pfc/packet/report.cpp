// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/packet/report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pfc/csv.hpp"
#include "pfc/packet/completion.hpp"

namespace portcullis::pfc::packet {
namespace {

using Json = nlohmann::ordered_json;

double time_of(const Topology& topology, Picoseconds time) {
  return static_cast<double>(time) / (topology.units.time_s * 1e12);
}

std::string duration(Picoseconds time) { return duration_text(static_cast<double>(time) / 1000); }

std::string name_of(const Topology& topology, const IngressReport& ingress) {
  return fmt::format("{}{}", topology.links[ingress.link].name,
                     ingress.priority == 0 ? "" : fmt::format("@{}", ingress.priority));
}

std::string cycle_text(const Topology& topology, const Deadlock& deadlock, std::string_view waits) {
  std::string text;
  for (std::size_t i = 0; i < deadlock.cycle.size(); ++i)
    text += fmt::format("  {} {} for {}\n", topology.links[deadlock.cycle[i]].name, waits,
                        topology.links[deadlock.cycle[(i + 1) % deadlock.cycle.size()]].name);
  return text;
}

/// What stands at the end in capitals; what the watchdog ended was none that lasts.
std::string deadlocks_text(const Topology& topology, const RunReport& report) {
  std::string text;
  if (report.deadlock) {
    const Deadlock& found = *report.deadlock;
    text = fmt::format(
               "DEADLOCK at {:.6g} ({}): priority {}, {} gates that cannot open by themselves",
               time_of(topology, found.time), duration(found.time), found.priority, found.gates) +
           "\n" + cycle_text(topology, found, "waits");
  } else {
    text = report.ended_deadlock ? "no deadlock at the end\n" : "no deadlock\n";
  }
  if (!report.ended_deadlock) return text;
  const Deadlock& ended = *report.ended_deadlock;
  return text +
         fmt::format(
             "the watchdog ended a deadlock that began at {:.6g} ({}): priority {}, {} "
             "gates that could not open by themselves\n",
             time_of(topology, ended.time), duration(ended.time), ended.priority, ended.gates) +
         cycle_text(topology, ended, "waited");
}

Json deadlock_json(const Topology& topology, const std::optional<Deadlock>& deadlock) {
  if (!deadlock) return nullptr;
  Json json = {{"time", time_of(topology, deadlock->time)},
               {"priority", deadlock->priority},
               {"gates", deadlock->gates},
               {"cycle", Json::array()}};
  for (const LinkId link : deadlock->cycle) json["cycle"].push_back(topology.links[link].name);
  return json;
}

Json flow_json(const Topology& topology, const std::string& name, const FlowReport& flow) {
  Json json = {{"name", name},
               {"sent", flow.sent},
               {"delivered", flow.delivered},
               {"delivered_bytes", flow.delivered_bytes},
               {"marked", flow.marked},
               {"cnps", flow.cnps},
               {"rate_gbps", flow.rate_bps > 0 ? Json(flow.rate_bps / 1e9) : Json(nullptr)},
               {"overflowed", flow.overflowed},
               {"expired", flow.expired},
               {"discarded", flow.discarded},
               {"source_lost", flow.source_lost},
               {"waiting", flow.waiting},
               {"held", flow.held},
               {"greatest_residence", time_of(topology, flow.greatest_residence)},
               {"oldest_held", time_of(topology, flow.oldest_held)}};
  if (flow.residence) {
    Json& residence = json["residence_ns"];
    residence = {{"p50", flow.residence->percentile_ns(0.5)}, {"max", flow.residence->max_ns()}};
    if (flow.residence->tells(0.99)) residence["p99"] = flow.residence->percentile_ns(0.99);
    if (flow.residence->tells(0.999)) residence["p999"] = flow.residence->percentile_ns(0.999);
  }
  return json;
}

std::string losses(const FlowReport& flow) {
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  add(flow.overflowed, "found no buffer");
  add(flow.expired, "expired");
  add(flow.discarded, "discarded by the watchdog");
  add(flow.source_lost, "lost at the source");
  add(flow.waiting, "waiting at the source");
  add(flow.held, "held");
  return text;
}

std::string pause_text(const RunReport& report) {
  std::string text;
  if (report.loose_links > 0)
    text += fmt::format(
        "PAUSE may run out before it is said again on {} links: none of them was taken for "
        "locked\n",
        report.loose_links);
  if (report.refreshed + report.run_out > 0)
    text += fmt::format("PAUSE was said again {} times, and ran out {} times\n", report.refreshed,
                        report.run_out);
  if (report.storms > 0)
    text += fmt::format("the watchdog took {} queues for stuck and let {} go\n", report.storms,
                        report.restored);
  return text;
}

}  // namespace

std::string run_text(const Topology& topology, const RunOptions& options, const RunReport& report) {
  std::string text = fmt::format("ran until {:.6g} ({}): {} packet hops, {} events{}\n",
                                 time_of(topology, report.end), duration(report.end), report.hops,
                                 report.events, report.is_stopped ? ", stopped" : "");
  text += deadlocks_text(topology, report);
  text += pause_text(report);
  text += completions_text(options, report);
  if (!report.flows.empty()) text += "flows (packets)\n";
  for (std::size_t i = 0; i < report.flows.size(); ++i) {
    const FlowReport& flow = report.flows[i];
    text += fmt::format("  {:<12} {} sent, {} delivered{}\n", topology.flows[i].name, flow.sent,
                        flow.delivered, losses(flow));
    if (flow.delivered + flow.held == 0) continue;
    text += fmt::format(
        "  {:<12} {}{}{}\n", "",
        flow.delivered > 0 ? "delivered within " + duration(flow.greatest_residence) : "",
        flow.delivered > 0 && flow.held > 0 ? "; " : "",
        flow.held > 0 ? "the oldest held for " + duration(flow.oldest_held) : "");
    if (flow.rate_bps > 0)
      text += fmt::format("  {:<12} {} marked, {} CNPs, {:.4g} Gb/s left at the end\n", "",
                          flow.marked, flow.cnps, flow.rate_bps / 1e9);
    else if (flow.marked > 0)
      text += fmt::format("  {:<12} {} marked\n", "", flow.marked);
  }
  text += "ingresses that closed\n";
  for (const IngressReport& ingress : report.ingresses)
    if (ingress.closings > 0)
      text +=
          fmt::format("  {:<12} {} times, {:.3g} % of the time, at most {} bytes\n",
                      name_of(topology, ingress), ingress.closings,
                      100.0 * static_cast<double>(ingress.closed) / static_cast<double>(report.end),
                      ingress.most_bytes);
  return text;
}

std::string run_json(const Topology& topology, const RunOptions& options, const RunReport& report) {
  Json json = {{"topology", topology.name},
               {"end", time_of(topology, report.end)},
               {"events", report.events},
               {"hops", report.hops},
               {"storms", report.storms},
               {"restored", report.restored},
               {"pauses_repeated", report.refreshed},
               {"pauses_run_out", report.run_out},
               {"links_not_held", report.loose_links},
               {"stopped", report.is_stopped},
               {"deadlock", deadlock_json(topology, report.deadlock)},
               {"ended_deadlock", deadlock_json(topology, report.ended_deadlock)},
               {"flows", Json::array()},
               {"ingresses", Json::array()}};
  for (std::size_t i = 0; i < report.flows.size(); ++i)
    json["flows"].push_back(flow_json(topology, topology.flows[i].name, report.flows[i]));
  if (!report.messages.empty()) json["messages"] = completions_json(options, report);
  for (const IngressReport& ingress : report.ingresses)
    json["ingresses"].push_back({{"link", topology.links[ingress.link].name},
                                 {"priority", ingress.priority},
                                 {"closings", ingress.closings},
                                 {"closed", time_of(topology, ingress.closed)},
                                 {"most_bytes", ingress.most_bytes},
                                 {"bytes", ingress.bytes}});
  return json.dump(2) + "\n";
}

std::string samples_csv(const Topology& topology, const RunReport& report) {
  std::vector<std::size_t> shown;
  std::string csv = "t";
  for (const Flow& flow : topology.flows) csv += "," + csv_field("delivered." + flow.name);
  for (std::size_t i = 0; i < report.ingresses.size(); ++i) {
    if (report.ingresses[i].closings == 0) continue;
    shown.push_back(i);
    csv += "," + csv_field("ingress." + name_of(topology, report.ingresses[i]));
  }
  csv += "\n";
  for (const Sample& sample : report.samples) {
    csv += fmt::format("{:.12g}", time_of(topology, sample.time));
    for (const std::uint64_t bytes : sample.delivered_bytes)
      csv += fmt::format(",{:.12g}", static_cast<double>(bytes) / topology.units.data_bytes);
    for (const std::size_t i : shown)
      csv += fmt::format(",{:.12g}",
                         static_cast<double>(sample.ingress_bytes[i]) / topology.units.data_bytes);
    csv += "\n";
  }
  return csv;
}

}  // namespace portcullis::pfc::packet
