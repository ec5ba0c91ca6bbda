// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/estimate.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "failover/explore/collapse.hpp"
#include "failover/explore/state_set.hpp"
#include "failover/explore/storage.hpp"

namespace portcullis::failover {
namespace {

Result<Exploration> sample(Scenario scenario, unsigned clients, std::uint64_t limit) {
  scenario.clients = clients;
  scenario.is_monitored = false;  // a violation would end the count
  scenario.has_history = false;
  PORTCULLIS_TRY_ASSIGN(const Machine machine, compile(std::move(scenario)));
  ExploreOptions options;
  options.state_limit = limit;
  return explore(machine, options);
}

/// Of the set that will be laid out, and of the frontiers.
double bytes_of(const Machine& machine, SetKind set, double states) {
  constexpr double kFrontier = 0.12;  // of all states, in the widest levels of these models
  const double in_set =
      StateSet<1>::bytes_for(states, upper_bytes(machine, set), domain_of(machine));
  return in_set + kFrontier * states * (1 + state_bytes(machine));
}

}  // namespace

Result<Estimate> estimate(const Scenario& scenario, const ExploreOptions& options,
                          std::uint64_t sample_limit) {
  const unsigned clients = scenario.clients;
  PORTCULLIS_TRY_ASSIGN(const Machine machine, compile(scenario));
  PORTCULLIS_TRY_ASSIGN(const Exploration one, sample(scenario, 1, sample_limit));
  using Basis = Estimate::Basis;
  Estimate result;
  result.states = static_cast<double>(one.states);
  const std::unique_ptr<const Collapse> collapse =
      options.collapses ? Collapse::of(machine) : nullptr;
  const Machine& view = collapse == nullptr ? machine : collapse->view();
  double factor = result.states;
  if (clients > 1) result.basis = Basis::IndependentClients;
  if (one.ending != Ending::Complete) result.basis = Basis::AtLeast;
  // A second look costs as much as a small run: only where clients reach into each other's words,
  // where the first look does not say that all is well, or where it is small beside the run. It
  // counts those around the clients once, and not once for each client.
  constexpr double kAmple = 100;
  const bool is_tight = bytes_of(view, options.set, std::pow(factor, clients)) * kAmple >
                        static_cast<double>(options.memory_limit_bytes);
  const bool is_needed = clients > 1 && (machine.has_slots || machine.has_tags || is_tight);
  if (is_needed || clients > 2) {
    PORTCULLIS_TRY_ASSIGN(const Exploration two, sample(scenario, 2, sample_limit));
    const bool is_whole = two.ending == Ending::Complete;
    if (is_needed || is_whole) {
      factor = std::max(1.0, static_cast<double>(two.states) / static_cast<double>(one.states));
      result.basis = is_whole ? Basis::TwoClients : Basis::AtLeast;
    }
  }
  result.states *= std::pow(factor, clients - 1);
  if (options.uses_symmetry) result.states /= std::tgamma(clients + 1.0);
  result.bytes = bytes_of(view, options.set, result.states);
  return result;
}

std::uint64_t available_memory_bytes() {
  std::uint64_t available = 0;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string name; meminfo >> name;) {
    if (name != "MemAvailable:") continue;
    std::uint64_t kib = 0;
    meminfo >> kib;
    available = kib * 1024;
    break;
  }
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
