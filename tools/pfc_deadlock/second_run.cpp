// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/second_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "pfc/fluid/columns.hpp"
#include "pfc/fluid/scale.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

using pfc::FluidOptions;
using pfc::FluidRun;
using pfc::Topology;

std::string time_of_deadlock(const FluidRun& run) {
  return run.deadlock ? fmt::format("a deadlock at t = {:.6g}", run.deadlock->time) : "no deadlock";
}

/// The greatest distance of the curves of two runs, absolute and of values above a threshold.
struct Distance {
  double most = 0;
  double when = 0;
  double relative = 0;

  [[nodiscard]] std::string text() const {
    return fmt::format("the curves differ by {:.1e}{}", most,
                       most > 0 ? fmt::format(" (t = {:.6g})", when) : "");
  }
};

Distance distance(const Topology& topology, const FluidRun& one, const FluidRun& other) {
  Distance found;
  const double unit = pfc::scale_of(topology).data;
  for (std::size_t i = 0; i < one.samples.size(); ++i) {
    const auto values = pfc::column_values(topology, one.samples[i]);
    const auto others = pfc::column_values(topology, other.samples[i]);
    for (std::size_t column = 0; column < values.size(); ++column) {
      const double by = std::abs(values[column] - others[column]);
      found.relative = std::max(found.relative, by / std::max(unit, std::abs(values[column])));
      if (by <= found.most) continue;
      found.most = by;
      found.when = one.samples[i].time;
    }
  }
  return found;
}

SecondRun not_looked_at() {
  return {{}, {}, "how exact this is was not looked at: no second run was finished\n"};
}

/// Where arrivals come from cubics between steps: a run with steps of twice the length.
SecondRun of_longer_steps(const Topology& topology, FluidOptions solver, const FluidRun& found) {
  // docs/pfc.md says what is, and which test holds it.
  const double held_up_to = 20'000 * pfc::scale_of(topology).time;
  solver.longest_step *= 2;
  solver.tolerance = std::min(1e-3, 10 * solver.tolerance);
  const auto other = pfc::solve(topology, solver);
  if (!other || other->is_interrupted) return not_looked_at();
  const Distance apart = distance(topology, found, *other);
  SecondRun second{apart.most,
                   {},
                   fmt::format("with steps twice as long {}: digits beyond that mean "
                               "nothing",
                               apart.text())};
  if (solver.until > held_up_to)
    second.note += fmt::format(", and past t = {:g} none is guaranteed", held_up_to);
  second.note += "\n";
  const std::string of_second = time_of_deadlock(*other);
  if (of_second != time_of_deadlock(found))
    second.note += fmt::format("with steps twice as long there is {}\n", of_second);
  return second;
}

/// Times between those of the samples too: a step ends at each, and rounding is another then.
std::vector<double> also_between(const std::vector<double>& times) {
  constexpr double kPart = 0.381966;  // no simple fraction, or events could be met again
  std::vector<double> more;
  double before = 0;
  for (const double time : times) {
    if (time > before) more.push_back(before + kPart * (time - before));
    more.push_back(time);
    before = time;
  }
  return more;
}

/// Where the solution is exact up to rounding: a run whose flows start a little later, each by
/// another time, and which takes other steps. What differs by a thousand times that is decided by
/// rounding.
SecondRun of_later_starts(Topology topology, const FluidOptions& first, const FluidRun& found) {
  constexpr double kLater = 1e-9;
  constexpr double kAlike = 1e-6;
  double later = 0;
  const double unit = pfc::scale_of(topology).time;
  const double most_later = kLater * unit;
  for (pfc::Flow& flow : topology.flows) {
    later += most_later / static_cast<double>(topology.flows.size());
    flow.source.start += later;
  }
  const std::vector<double>& asked = first.sample_times;
  FluidOptions solver = first;
  solver.sample_times = also_between(asked);
  auto other = pfc::solve(topology, solver);
  if (!other || other->is_interrupted) return not_looked_at();
  std::erase_if(other->samples, [&](const pfc::FluidSample& sample) {
    return !std::ranges::binary_search(asked, sample.time);
  });
  const Distance apart = distance(topology, found, *other);
  const bool locks_alike =
      found.deadlock.has_value() == other->deadlock.has_value() &&
      (!found.deadlock || std::abs(found.deadlock->time - other->deadlock->time) <=
                              kAlike * std::max(unit, found.deadlock->time));
  SecondRun second{{}, apart.most, {}};
  if (apart.relative <= kAlike && locks_alike) return second;
  second.note = fmt::format(
      "on a knife edge: with starts up to {:g} later {} and there is {}; rounding "
      "decides, compare distributions (sweep)\n",
      most_later, apart.text(), time_of_deadlock(*other));
  return second;
}

}  // namespace

SecondRun second_run(const pfc::Topology& topology, FluidOptions solver, const FluidRun& found) {
  if (found.is_interrupted) return not_looked_at();
  solver.keeps_history = false;
  const bool has_delay =
      std::ranges::any_of(topology.links, [](const pfc::Link& link) { return link.delay > 0; });
  if (solver.discipline == pfc::Discipline::Proportional && has_delay)
    return of_longer_steps(topology, solver, found);
  return of_later_starts(topology, solver, found);
}

}  // namespace portcullis::tools::pfc_deadlock
