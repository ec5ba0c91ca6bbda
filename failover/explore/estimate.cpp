// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/estimate.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "failover/explore/collapse.hpp"
#include "failover/explore/pairs.hpp"
#include "failover/explore/sampled.hpp"
#include "failover/explore/state_set.hpp"
#include "failover/explore/storage.hpp"

namespace portcullis::failover {
namespace {

using Basis = Estimate::Basis;
constexpr std::uint64_t kQuick = 30'000;  // states that are counted in a few milliseconds

/// The run itself, where it is that short: also one that ends where something breaks.
Result<Exploration> counted(const Machine& machine, const ExploreOptions& options,
                            std::uint64_t limit) {
  ExploreOptions same;
  same.uses_symmetry = options.uses_symmetry;
  same.state_limit = limit;
  same.stop = options.stop;
  return explore(machine, same);
}

/// How many of the states that Pairs allows are reached, and the bits of the parts that it met,
/// which are all that there are; nothing where there are too many of them.
std::optional<Estimate> sampled(const Machine& machine, const std::atomic<bool>* stop) {
  constexpr std::size_t kMostPairs = 1'000'000;  // looked at within a second
  const std::unique_ptr<Parts> parts = Parts::of(machine, false);
  if (parts == nullptr) return std::nullopt;
  for (;;) {
    Pairs pairs(*parts);
    const std::optional<double> allowed = pairs.count(kMostPairs, stop);
    if (allowed && !parts->is_overfull()) {
      const std::optional<double> share = sample_reached(pairs, stop).share();
      Estimate result{share.value_or(0) * *allowed, 0, share ? Basis::Sampled : Basis::AtLeast};
      result.most = *allowed;
      result.part_bits = parts->bits();
      return result;
    }
    const bool is_wider = parts->is_overfull() && (parts->widen() || !parts->is_overfull());
    if (!is_wider) return std::nullopt;
  }
}

/// Of the set that will be laid out, and of the frontiers.
double bytes_of(const Machine& machine, SetKind set, double states) {
  constexpr double kFrontier = 0.12;  // of all states, in the widest levels of these models
  const double in_set =
      StateSet<1>::bytes_for(states, upper_bytes(machine, set), domain_of(machine));
  return in_set + kFrontier * states * (1 + state_bytes(machine));
}

/// No less than were counted, and no more than Pairs allows.
Estimate guessed(const Machine& machine, const ExploreOptions& options, std::uint64_t least) {
  // With a history states are more than their parts.
  std::optional<Estimate> result = machine.scenario.has_history || machine.scenario.clients == 1
                                       ? std::nullopt
                                       : sampled(machine, options.stop);
  if (!result) result = Estimate{0, 0, Basis::AtLeast};
  if (options.uses_symmetry)
    for (double* states : {&result->states, &result->most})
      *states /= std::tgamma(machine.scenario.clients + 1.0);
  result->states = std::max(result->states, static_cast<double>(least));
  return *result;
}

}  // namespace

Result<Estimate> estimate(const Scenario& scenario, const ExploreOptions& options,
                          std::uint64_t sample_limit) {
  PORTCULLIS_TRY_ASSIGN(const Machine machine, compile(scenario));
  // What a history multiplies states by only counting it says.
  const bool is_worth_more = scenario.clients == 1 || scenario.has_history;
  PORTCULLIS_TRY_ASSIGN(
      const Exploration run,
      counted(machine, options, is_worth_more ? sample_limit : std::min(sample_limit, kQuick)));
  const bool is_whole = run.ending == Ending::Complete || run.ending == Ending::Violated;
  Estimate result = is_whole ? Estimate{static_cast<double>(run.states), 0, Basis::Counted}
                             : guessed(machine, options, run.states);
  const std::unique_ptr<const Collapse> collapse =
      options.collapses ? Collapse::of(machine) : nullptr;
  const bool has_parts = options.collapses && collapse == nullptr && !options.uses_symmetry;
  const std::unique_ptr<Parts> parts =
      has_parts ? Parts::of(machine, true, result.part_bits) : nullptr;
  result.bytes = bytes_of(parts != nullptr      ? parts->view()
                          : collapse != nullptr ? collapse->view()
                                                : machine,
                          options.set, result.states);
  return result;
}

std::uint64_t available_memory_bytes() {
  const std::uint64_t available = machine_memory_left();
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur == RLIM_INFINITY)
    return available;
  std::uint64_t used_pages = 0;
  std::ifstream("/proc/self/statm") >> used_pages;
  const std::uint64_t used = used_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t left = addresses.rlim_cur > used ? addresses.rlim_cur - used : 1;
  return std::min(available, left);
}

}  // namespace portcullis::failover
