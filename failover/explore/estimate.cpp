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
#include "failover/explore/state_set.hpp"
#include "failover/explore/storage.hpp"

namespace portcullis::failover {
namespace {

/// Without what would end a count.
Result<Machine> unmonitored(Scenario scenario, unsigned clients) {
  scenario.clients = clients;
  scenario.is_monitored = false;
  scenario.has_history = false;
  return compile(std::move(scenario));
}

Result<Exploration> sample(const Scenario& scenario, unsigned clients, std::uint64_t limit,
                           const std::atomic<bool>* stop) {
  PORTCULLIS_TRY_ASSIGN(const Machine machine, unmonitored(scenario, clients));
  ExploreOptions options;
  options.state_limit = limit;
  options.stop = stop;
  return explore(machine, options);
}

/// What Pairs says; nothing where there are too many of them.
Result<std::optional<double>> of_pairs(const Scenario& scenario, unsigned clients,
                                       const std::atomic<bool>* stop) {
  constexpr std::size_t kMostPairs = 300'000;
  PORTCULLIS_TRY_ASSIGN(const Machine machine, unmonitored(scenario, clients));
  const std::unique_ptr<Parts> parts = Parts::of(machine, false);
  if (parts == nullptr) return std::optional<double>();
  for (;;) {
    const std::optional<double> states = Pairs(*parts).count(kMostPairs, stop);
    if (states || !parts->is_overfull()) return states;
    if (!parts->widen() && parts->is_overfull()) return std::optional<double>();
  }
}

/// Of the set that will be laid out, and of the frontiers.
double bytes_of(const Machine& machine, SetKind set, double states) {
  constexpr double kFrontier = 0.12;  // of all states, in the widest levels of these models
  const double in_set =
      StateSet<1>::bytes_for(states, upper_bytes(machine, set), domain_of(machine));
  return in_set + kFrontier * states * (1 + state_bytes(machine));
}

using Basis = Estimate::Basis;
constexpr std::uint64_t kQuick = 30'000;  // states that are counted in a few milliseconds

/// Of clients whose words name them, or that come to each other's slots: what Pairs says, less what
/// it says too much of two clients where these are quickly counted.
Result<Estimate> of_clients_that_meet(const Scenario& scenario, std::uint64_t limit,
                                      const std::atomic<bool>* stop) {
  constexpr double kTooMuch = 2.3;  // 1.0 to 4.6 of two clients, as measured over all models
  const double others = scenario.clients - 1.0;
  PORTCULLIS_TRY_ASSIGN(const Exploration two, sample(scenario, 2, std::min(limit, kQuick), stop));
  const bool is_whole = two.ending == Ending::Complete;
  const auto of_two = static_cast<double>(two.states);
  if (is_whole && scenario.clients == 2) return Estimate{of_two, 0, Basis::Counted};
  PORTCULLIS_TRY_ASSIGN(const std::optional<double> all,
                        of_pairs(scenario, scenario.clients, stop));
  PORTCULLIS_TRY_ASSIGN(const std::optional<double> pairs_of_two, of_pairs(scenario, 2, stop));
  if (all && pairs_of_two) {
    const double too_much = is_whole ? *pairs_of_two / of_two : kTooMuch;
    return Estimate{std::max(of_two, *all / std::pow(too_much, others)), 0, Basis::Pairs};
  }
  PORTCULLIS_TRY_ASSIGN(const Exploration one, sample(scenario, 1, limit, stop));
  const auto of_one = static_cast<double>(one.states);
  const double factor = std::max(1.0, of_two / of_one);
  return Estimate{of_one * std::pow(factor, others), 0, Basis::AtLeast};
}

/// Of others: of two clients those of one squared, of more those of one times what the second
/// multiplied them by for each further one, where two are quickly counted.
Result<Estimate> of_clients_apart(const Scenario& scenario, std::uint64_t limit,
                                  const std::atomic<bool>* stop) {
  PORTCULLIS_TRY_ASSIGN(const Exploration one, sample(scenario, 1, limit, stop));
  const auto of_one = static_cast<double>(one.states);
  if (one.ending != Ending::Complete || scenario.clients == 1)
    return Estimate{of_one * std::pow(of_one, scenario.clients - 1.0), 0,
                    one.ending == Ending::Complete ? Basis::Counted : Basis::AtLeast};
  Estimate result{of_one * std::pow(of_one, scenario.clients - 1.0), 0, Basis::IndependentClients};
  if (scenario.clients == 2) return result;
  PORTCULLIS_TRY_ASSIGN(const Exploration two, sample(scenario, 2, limit, stop));
  if (two.ending != Ending::Complete) return result;
  const double factor = static_cast<double>(two.states) / of_one;
  return Estimate{of_one * std::pow(factor, scenario.clients - 1.0), 0, Basis::TwoClients};
}

}  // namespace

Result<Estimate> estimate(const Scenario& scenario, const ExploreOptions& options,
                          std::uint64_t sample_limit) {
  PORTCULLIS_TRY_ASSIGN(const Machine machine, compile(scenario));
  const bool do_meet = scenario.clients > 1 && (machine.has_slots || machine.has_tags);
  PORTCULLIS_TRY_ASSIGN(Estimate result,
                        do_meet ? of_clients_that_meet(scenario, sample_limit, options.stop)
                                : of_clients_apart(scenario, sample_limit, options.stop));
  const std::unique_ptr<const Collapse> collapse =
      options.collapses ? Collapse::of(machine) : nullptr;
  const bool has_parts = options.collapses && collapse == nullptr && !options.uses_symmetry;
  const std::unique_ptr<Parts> parts = has_parts ? Parts::of(machine) : nullptr;
  if (options.uses_symmetry) result.states /= std::tgamma(scenario.clients + 1.0);
  result.bytes = bytes_of(parts != nullptr      ? parts->view()
                          : collapse != nullptr ? collapse->view()
                                                : machine,
                          options.set, result.states);
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
