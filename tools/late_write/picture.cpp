// SPDX-License-Identifier: BSD-3-Clause
#include "tools/late_write/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tools/pfc_deadlock/chart.hpp"

namespace portcullis::tools::late_write {
namespace {

using late::Findings;
using late::Row;
using pfc_deadlock::Chart;
using pfc_deadlock::ChartMark;
using pfc_deadlock::ChartSeries;
using pfc_deadlock::Timeline;
using pfc_deadlock::TimelineRow;

double rest_ms(const Row& row) { return static_cast<double>(row.trial.rest_ms()); }

std::vector<ChartMark> marks_of(const Findings& findings) {
  return {{"the WRITE came", findings.rests.front().seen.arrived_us / 1000},
          {"the fabric's bound", findings.bound_us / 1000}};
}

/// A run at each corner; between two of them nobody looked.
Chart bytes_chart(const Findings& findings) {
  Chart chart{"bytes of the next tenant that the late WRITE changed",
              "rest of the queue pair's number, ms",
              "bytes",
              {},
              marks_of(findings)};
  ChartSeries changed{"no other defence", {}, true};
  for (const Row& row : findings.rests)
    changed.points.emplace_back(rest_ms(row), static_cast<double>(row.seen.changed_next));
  chart.series = {std::move(changed)};
  return chart;
}

Chart times_chart(const Findings& findings) {
  Chart chart{"when the number was another's, and when the WRITE came",
              "rest of the queue pair's number, ms",
              "ms behind the fence",
              {},
              marks_of(findings)};
  ChartSeries next{"the next tenant", {}};
  ChartSeries came{"the WRITE", {}};
  for (const Row& row : findings.rests) {
    next.points.emplace_back(rest_ms(row), row.seen.next_us / 1000);
    came.points.emplace_back(rest_ms(row), row.seen.arrived_us / 1000);
  }
  chart.series = {std::move(next), std::move(came)};
  return chart;
}

/// The gates behind the links that the WRITE took or waited for, in the run with the shortest rest.
Timeline gates(const pfc::Topology& topology, const Findings& findings) {
  const late::Seen& seen = findings.rests.front().seen;
  const auto fence_ms = seen.fabric_fence_us / 1000;
  Timeline timeline;
  timeline.title = "gates that closed: each has the link before it pause";
  timeline.x_label = "ms";
  timeline.from = fence_ms - 1;
  timeline.to = fence_ms + std::max(seen.arrived_us, seen.next_us) / 1000 + 1;
  timeline.marks = {{"fence, next tenant, WRITE", fence_ms},
                    {"", fence_ms + seen.next_us / 1000},
                    {"", fence_ms + seen.arrived_us / 1000}};
  for (std::size_t i = 0; i < seen.fabric.ingresses.size(); ++i) {
    const auto& ingress = seen.fabric.ingresses[i];
    if (ingress.closings == 0) continue;
    TimelineRow row;
    row.label = topology.links[ingress.link].name;
    for (const auto& sample : seen.fabric.samples) {
      const double ms = static_cast<double>(sample.time) / 1e9;
      if (ms >= timeline.from && ms <= timeline.to)
        row.points.emplace_back(ms, sample.is_closed[i] ? 1 : 0);
    }
    timeline.rows.push_back(std::move(row));
  }
  return timeline;
}

}  // namespace

std::string picture(const late::Setup& setup, const Findings& findings) {
  const auto ring = late::make_ring(setup.ring);  // which there is: it was run
  return pfc_deadlock::chart_svg(
      "A WRITE that PAUSE held back until behind the fence of its lease",
      fmt::format("three servers on a ring of three switches, {:g} Gb/s, XOFF {:g} KB; number, key "
                  "and PSN are given again; device: model, clock: virtual",
                  setup.ring.gbps, setup.ring.xoff_kb),
      {bytes_chart(findings), times_chart(findings)},
      ring ? gates(ring->topology, findings) : Timeline{});
}

}  // namespace portcullis::tools::late_write
