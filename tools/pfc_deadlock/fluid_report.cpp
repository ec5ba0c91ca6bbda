// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/fluid_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "pfc/csv.hpp"
#include "pfc/fluid/columns.hpp"
#include "tools/pfc_deadlock/chart.hpp"
#include "tools/pfc_deadlock/page.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

using pfc::FluidRun;
using pfc::FluidSample;
using pfc::LinkId;
using pfc::Topology;

/// What the ingress of `link` stores: all that came over it and goes on.
double level_of(const FluidRun& run, const FluidSample& sample, LinkId link) {
  double level = 0;
  for (std::size_t slot = 1; slot < run.hops.size(); ++slot)
    if (run.hops[slot].hop > 0 && run.hops[slot - 1].link == link)
      level += sample.arrived[slot] - sample.served[slot];
  return level;
}

/// Links whose ingress stores something at some time.
std::vector<LinkId> storing_links(const Topology& topology, const FluidRun& run) {
  std::vector<LinkId> links;
  for (LinkId link = 0; link < topology.links.size(); ++link)
    if (run.peak[link] > 1e-9) links.push_back(link);
  return links;
}

ChartSeries level_series(const Topology& topology, const FluidRun& run, LinkId link) {
  ChartSeries series{"at " + topology.links[link].name, {}, false};
  for (const FluidSample& sample : run.history)
    series.points.emplace_back(sample.time, level_of(run, sample, link));
  return series;
}

Chart service_curves(const Topology& topology, const FluidRun& run) {
  Chart chart;
  chart.title = "service curves";
  chart.x_label = time_axis(topology);
  chart.y_label = data_axis(topology);
  for (const std::string& name : pfc::column_names(topology))
    chart.series.push_back({name, {}, false});
  for (const FluidSample& sample : run.history) {
    const std::vector<double> values = pfc::column_values(topology, sample);
    for (std::size_t i = 0; i < values.size(); ++i)
      chart.series[i].points.emplace_back(sample.time, values[i]);
  }
  return chart;
}

std::vector<ChartMark> deadlock_mark(const FluidRun& run) {
  if (!run.deadlock) return {};
  return {{fmt::format("deadlock {:.4g}", run.deadlock->time), run.deadlock->time, true}};
}

}  // namespace

std::string csv_of(const std::vector<std::string>& names, const std::vector<Row>& rows) {
  std::string text = "t";
  for (const std::string& name : names) text += "," + pfc::csv_field(name);
  for (const Row& row : rows) {
    text += fmt::format("\n{:.12g}", row.time);
    for (const double value : row.values) text += fmt::format(",{:.12g}", value);
  }
  return text + "\n";
}

std::string json_of(const Topology& topology, const FluidRun* run,
                    const std::vector<std::string>& names, const std::vector<Row>& rows,
                    const SecondRun& second) {
  // nlohmann prints 17 digits; a number of 12 is read from its own text.
  const auto rounded = [](double value) { return std::stod(fmt::format("{:.12g}", value)); };
  nlohmann::ordered_json top;
  top["scenario"] = topology.name;
  if (run != nullptr) {
    top["end"] = run->end;
    top["events"] = run->events;
    top["steps"] = run->steps;
    if (second.longer_steps_differ_by)
      top["longer_steps_differ_by"] = *second.longer_steps_differ_by;
    if (second.later_starts_differ_by)
      top["later_starts_differ_by"] = *second.later_starts_differ_by;
    top["deadlock"] = nullptr;
    if (run->deadlock) {
      top["deadlock"] = {{"time", rounded(run->deadlock->time)},
                         {"cycle", nlohmann::ordered_json::array()}};
      for (const LinkId link : run->deadlock->cycle)
        top["deadlock"]["cycle"].push_back(topology.links[link].name);
    }
    for (LinkId link = 0; link < topology.links.size(); ++link)
      top["peak"][topology.links[link].name] = rounded(run->peak[link]);
    for (std::size_t flow = 0; flow < topology.flows.size(); ++flow)
      if (std::isfinite(run->overflow_time[flow]))
        top["overflow"][topology.flows[flow].name] = rounded(run->overflow_time[flow]);
  }
  top["columns"] = {"t"};
  for (const std::string& name : names) top["columns"].push_back(name);
  std::string text = top.dump(2);
  text.erase(text.rfind('\n'));
  text += ",\n  \"rows\": [";
  std::string_view separator = "\n    [";
  for (const Row& row : rows) {
    text += fmt::format("{}{:.12g}", separator, row.time);
    for (const double value : row.values) text += fmt::format(", {:.12g}", value);
    text += "]";
    separator = ",\n    [";
  }
  return text + "]\n}\n";
}

std::string verdict_of(const Topology& topology, const FluidRun& run) {
  std::string text;
  if (!run.deadlock) {
    text = fmt::format("no deadlock by t = {:.6g}\n", run.end);
  } else if (run.deadlock->cycle.empty()) {
    text = fmt::format("nothing moves after t = {:.6g}\n", run.deadlock->time);
  } else {
    text = fmt::format("deadlock at t = {:.6g}:", run.deadlock->time);
    const auto& cycle = run.deadlock->cycle;
    for (std::size_t i = 0; i < cycle.size(); ++i)
      text += fmt::format("{} {} waits for {}", i == 0 ? "" : ",", topology.links[cycle[i]].name,
                          topology.links[cycle[(i + 1) % cycle.size()]].name);
    text += "\n";
  }
  for (std::size_t flow = 0; flow < topology.flows.size(); ++flow)
    if (std::isfinite(run.overflow_time[flow]))
      text += fmt::format("the host of {} holds more than its buffer after t = {:.12g}\n",
                          topology.flows[flow].name, run.overflow_time[flow]);
  for (LinkId link = 0; link < topology.links.size(); ++link)
    if (run.peak[link] > topology.links[link].buffer * (1 + 1e-12))
      text += fmt::format("the ingress of {} overflows: {:.6g} stored, buffer {:.6g}\n",
                          topology.links[link].name, run.peak[link], topology.links[link].buffer);
  return text;
}

std::string timeline_svg(const Topology& topology, const FluidRun& run,
                         const std::string& subtitle) {
  Chart queues;
  queues.title = "stored in each ingress";
  queues.x_label = time_axis(topology);
  queues.y_label = data_axis(topology);
  for (const LinkId link : storing_links(topology, run)) {
    queues.series.push_back(level_series(topology, run, link));
    const double xoff = topology.links[link].xoff;
    const auto has_mark = [&](const ChartMark& mark) { return mark.at == xoff; };
    if (std::isfinite(xoff) && std::ranges::none_of(queues.marks, has_mark))
      queues.marks.push_back({fmt::format("XOFF {:.4g}", xoff), xoff, false});
  }
  Timeline gates;
  gates.title = "gates: orange is closed, paler the part of the time that a sliding gate is";
  gates.x_label = time_axis(topology);
  gates.to = run.end > 0 ? run.end : 1;
  for (LinkId link = 0; link < topology.links.size(); ++link) {
    TimelineRow row{topology.links[link].name, {}};
    for (const pfc::GateChange& change : run.gates)
      if (change.link == link) row.points.emplace_back(change.time, 1 - change.open);
    if (!row.points.empty()) gates.rows.push_back(std::move(row));
  }
  Chart curves = service_curves(topology, run);
  curves.marks = deadlock_mark(run);
  queues.marks.insert(queues.marks.end(), curves.marks.begin(), curves.marks.end());
  gates.marks = curves.marks;
  return chart_svg(topology.name, subtitle, {curves, queues}, gates);
}

std::string phase_svg(const Topology& topology, const FluidRun& run, const std::string& subtitle) {
  // Two ingresses in the ring tell most: hosts' own queues sit on their thresholds.
  std::vector<LinkId> links = storing_links(topology, run);
  std::stable_partition(links.begin(), links.end(), [&](LinkId link) {
    return topology.nodes[topology.links[link].from].kind == pfc::NodeKind::Switch;
  });
  Chart chart;
  chart.title = "phase diagram";
  if (links.size() >= 2) {
    chart.x_label = "stored at " + topology.links[links[0]].name;
    chart.y_label = "stored at " + topology.links[links[1]].name;
    ChartSeries series{"", {}, false};
    for (const FluidSample& sample : run.history)
      series.points.emplace_back(level_of(run, sample, links[0]), level_of(run, sample, links[1]));
    chart.series.push_back(std::move(series));
  }
  return chart_svg(topology.name, subtitle, {chart}, {});
}

}  // namespace portcullis::tools::pfc_deadlock
