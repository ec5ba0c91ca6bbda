// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pfc/fluid/fifo.hpp"
#include "pfc/fluid/fluid.hpp"
#include "pfc/fluid/proportional.hpp"
#include "pfc/fluid/scale.hpp"

namespace portcullis::pfc {
namespace {

Result<FluidRun> solve_as_is(const Topology& topology, const FluidOptions& options) {
  PORTCULLIS_TRY_ASSIGN(const Network network, make_network(topology));
  if (options.discipline == Discipline::Fifo)
    return FifoSolver(topology, network, options).run_to_end();
  return ProportionalSolver(topology, network, options).run_to_end();
}

}  // namespace

bool has_offered_curve(const Topology& topology, std::size_t flow) {
  const Flow& of = topology.flows[flow];
  return of.source.kind != SourceKind::Greedy || topology.links[of.path.front()].delay > 0;
}

Result<FluidRun> solve(const Topology& topology, const FluidOptions& options) {
  if (!(options.until >= 0) || !std::isfinite(options.until))
    return fail(Errc::InvalidArgument,
                fmt::format("until {}; a time from 0 on is accepted", options.until));
  if (!(options.tolerance >= 1e-15 && options.tolerance <= 1e-3))
    return fail(Errc::InvalidArgument,
                fmt::format("tolerance {}; 1e-15 to 1e-3 is accepted", options.tolerance));
  if (!(options.longest_step > 0 && options.longest_step <= 0.06))
    return fail(Errc::InvalidArgument, fmt::format("longest step {}; above 0, up to 0.06, accepted",
                                                   options.longest_step));
  if (topology.flows.empty())
    return fail(Errc::InvalidArgument, "no flows to solve for; a topology with flows is accepted");
  const auto& times = options.sample_times;
  if (!std::ranges::is_sorted(times) ||
      (!times.empty() && (times.front() < 0 || times.back() > options.until)))
    return fail(
        Errc::InvalidArgument,
        fmt::format("sample times; ascending ones from 0 to {} are accepted", options.until));
  const Scale scale = scale_of(topology);
  if (scale.is_one()) return solve_as_is(topology, options);
  PORTCULLIS_TRY_ASSIGN(FluidRun run, solve_as_is(into(scale, topology), into(scale, options)));
  out_of(scale, run);
  return run;
}

}  // namespace portcullis::pfc
