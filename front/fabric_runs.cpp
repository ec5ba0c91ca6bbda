// SPDX-License-Identifier: BSD-3-Clause
#include <portcullis/fabric_runs.hpp>

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "front/fabric_impl.hpp"
#include "front/one_line.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "pfc/fluid/fluid.hpp"
#include "pfc/fluid/residence.hpp"
#include "pfc/packet/simulator.hpp"

namespace portcullis {
namespace {

constexpr double kPsPerUs = 1e6;

Result<void> check(const PacketOptions& options) {
  PORTCULLIS_TRY(check_run_us("until_us", options.until_us));
  return check_from_zero("response_us", options.response_us, kMostUs);
}

pfc::packet::Picoseconds ps_of(double us) {
  return static_cast<pfc::packet::Picoseconds>(std::llround(us * kPsPerUs));
}

/// Data that each flow has delivered at the end of the run: what has left its last hop.
std::vector<double> delivered(const pfc::FluidRun& run, const pfc::Topology& topology) {
  std::vector<double> data(topology.flows.size(), 0);
  if (run.history.empty()) return data;
  for (std::size_t i = 0; i < run.hops.size(); ++i) {
    const auto& [flow, hop, link] = run.hops[i];
    if (hop + 1 == topology.flows[flow].path.size()) data[flow] = run.history.back().served[i];
  }
  return data;
}

}  // namespace

Result<FabricRun> run_fluid(const Fabric& fabric, const FluidOptions& options) {
  PORTCULLIS_TRY(check_run_us("until_us", options.until_us));
  const pfc::Topology& topology = fabric.impl().topology;
  const double us = fabric.impl().us_per_time();
  pfc::FluidOptions solver;
  solver.discipline = pfc::Discipline::Fifo;
  solver.until = options.until_us / us;
  solver.max_events = options.max_events;
  solver.keeps_history = true;
  solver.is_stopped = options.stop;
  PORTCULLIS_TRY_ASSIGN(const pfc::FluidRun found, in_one_line(pfc::solve(topology, solver)));
  FabricRun run;
  run.end_us = found.end * us;
  run.is_stopped = found.is_interrupted;
  run.events = found.events;
  run.note = one_line(pfc::cbd::first_hops_note(topology));
  if (found.deadlock)
    run.deadlock =
        RunDeadlock{found.deadlock->time * us, fabric.impl().names_of(found.deadlock->cycle)};
  const std::vector<pfc::Residence> residence = pfc::residence(topology, found);
  const std::vector<double> arrived = delivered(found, topology);
  for (std::size_t i = 0; i < topology.flows.size(); ++i)
    run.flows.push_back({.flow = topology.flows[i].name,
                         .delivered_bytes = arrived[i] * topology.units.data_bytes,
                         .inside_bytes = residence[i].inside * topology.units.data_bytes,
                         .longest_us = residence[i].longest * us,
                         .oldest_inside_us = residence[i].oldest_inside * us,
                         .packets_lost = std::nullopt});
  return run;
}

Result<FabricRun> run_packets(const Fabric& fabric, const PacketOptions& options) {
  PORTCULLIS_TRY(check(options));
  const pfc::Topology& topology = fabric.impl().topology;
  pfc::packet::RunOptions inner;
  inner.until = ps_of(options.until_us);
  inner.packet_bytes = options.packet_bytes;
  inner.pause_in_band = options.is_pause_in_band;
  inner.response = ps_of(options.response_us);
  if (options.stop != nullptr)
    inner.progress = [stop = options.stop](pfc::packet::Picoseconds) { return !*stop; };
  PORTCULLIS_TRY_ASSIGN(const auto found, in_one_line(pfc::packet::simulate(topology, inner)));
  FabricRun run;
  run.end_us = static_cast<double>(found.end) / kPsPerUs;
  run.is_stopped = found.is_stopped;
  run.events = found.events;
  run.note = one_line(pfc::cbd::first_hops_note(topology));
  if (found.deadlock)
    run.deadlock = RunDeadlock{static_cast<double>(found.deadlock->time) / kPsPerUs,
                               fabric.impl().names_of(found.deadlock->cycle)};
  for (std::size_t i = 0; i < topology.flows.size(); ++i) {
    const pfc::packet::FlowReport& flow = found.flows[i];
    const auto bytes = [&options](std::uint64_t packets) {
      return static_cast<double>(packets) * options.packet_bytes;
    };
    run.flows.push_back(
        {.flow = topology.flows[i].name,
         .delivered_bytes = bytes(flow.delivered),
         .inside_bytes = bytes(flow.held),
         .longest_us = static_cast<double>(flow.greatest_residence) / kPsPerUs,
         .oldest_inside_us = static_cast<double>(flow.oldest_held) / kPsPerUs,
         .packets_lost = flow.overflowed + flow.expired + flow.discarded + flow.source_lost});
  }
  return run;
}

}  // namespace portcullis
