// SPDX-License-Identifier: BSD-3-Clause
//
// How many ring scenarios of 50 time units one core solves in a second: without delay, and with
// d = theta/8 under FIFO. Starts differ from run to run, as in a sweep, so no two are the same.
#include <benchmark/benchmark.h>

#include <cmath>

#include "pfc/fluid/fluid.hpp"
#include "pfc/scenarios.hpp"

namespace portcullis::pfc {
namespace {

void solve_rings(benchmark::State& state, const char* name, const char* delay,
                 Discipline discipline) {
  auto topology = scenario(name);
  if (!topology || !apply_setting(*topology, delay)) {
    state.SkipWithError("the scenario is not there");
    return;
  }
  FluidOptions options;
  options.discipline = discipline;
  options.until = 50;
  options.tolerance = 1e-10;
  options.stops_at_deadlock = true;
  std::uint64_t events = 0;
  double start = 0;
  for ([[maybe_unused]] auto _ : state) {
    // Multiples of the golden ratio, which spread evenly.
    start = std::fmod(start + 0.6180339887498949, 1.0);
    topology->flows[1].source.start = start;
    const auto run = solve(*topology, options);
    if (!run) {
      state.SkipWithError(run.error().text.c_str());
      return;
    }
    events += run->events;
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["events"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kAvgIterations);
}

BENCHMARK_CAPTURE(solve_rings, seed1_no_delay_fifo, "seed-1", "d=0", Discipline::Fifo);
BENCHMARK_CAPTURE(solve_rings, seed1_no_delay_proportional, "seed-1", "d=0",
                  Discipline::Proportional);
BENCHMARK_CAPTURE(solve_rings, seed1_delay_fifo, "seed-1", "d=0.125", Discipline::Fifo);
BENCHMARK_CAPTURE(solve_rings, ring3_delay_fifo, "ring-3", "d=0.125", Discipline::Fifo);
BENCHMARK_CAPTURE(solve_rings, seed1_delay_proportional, "seed-1", "d=0.125",
                  Discipline::Proportional);

}  // namespace
}  // namespace portcullis::pfc
