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

using Basis = Estimate::Basis;
constexpr std::uint64_t kQuick = 30'000;  // states that are counted in a few milliseconds

/// The run itself, where it is that short: also one that ends where something breaks.
Result<std::optional<Estimate>> counted(const Machine& machine, const ExploreOptions& options,
                                        std::uint64_t limit) {
  ExploreOptions same;
  same.uses_symmetry = options.uses_symmetry;
  same.state_limit = limit;
  same.stop = options.stop;
  PORTCULLIS_TRY_ASSIGN(const Exploration run, explore(machine, same));
  const bool is_whole = run.ending == Ending::Complete || run.ending == Ending::Violated;
  if (!is_whole) return std::optional<Estimate>();
  return Estimate{static_cast<double>(run.states), 0, Basis::Counted};
}

/// Without what would end a count. A history stays: it makes states of its own.
Result<Machine> unmonitored(Scenario scenario, unsigned clients) {
  scenario.clients = clients;
  scenario.is_monitored = false;
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

/// What Pairs says, and the bits of the parts that it met, which are all that there are; nothing
/// where there are too many of them.
std::optional<Estimate> of_pairs(const Machine& machine, const std::atomic<bool>* stop) {
  constexpr std::size_t kMostPairs = 1'000'000;  // looked at within a second
  const std::unique_ptr<Parts> parts = Parts::of(machine, false);
  if (parts == nullptr) return std::nullopt;
  for (;;) {
    const std::optional<double> states = Pairs(*parts).count(kMostPairs, stop);
    if (states && !parts->is_overfull()) return Estimate{*states, 0, Basis::Pairs, parts->bits()};
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

/// Of clients whose words name them, or that come to each other's slots: what Pairs says, less what
/// it says too much of two clients where these are quickly counted.
Result<Estimate> of_clients_that_meet(const Machine& machine, std::uint64_t limit,
                                      const std::atomic<bool>* stop) {
  constexpr double kTooMuch = 2.75;  // 1.0 to 7.8 of two clients, as measured over all models
  const Scenario& scenario = machine.scenario;
  const double others = scenario.clients - 1.0;
  Exploration two;
  two.ending = Ending::StateLimit;
  two.states = std::min(limit, kQuick);
  if (scenario.clients > 2) {  // of two clients the run itself was tried
    PORTCULLIS_TRY_ASSIGN(two, sample(scenario, 2, two.states, stop));
  }
  const auto of_two = static_cast<double>(two.states);
  std::optional<Estimate> all = of_pairs(machine, stop);
  if (all) {
    double too_much = kTooMuch;
    if (two.ending == Ending::Complete) {
      PORTCULLIS_TRY_ASSIGN(const Machine of_two_clients, unmonitored(scenario, 2));
      const std::optional<Estimate> pairs = of_pairs(of_two_clients, stop);
      if (pairs) too_much = pairs->states / of_two;
    }
    all->states = std::max(of_two, all->states / std::pow(too_much, others));
    return std::move(*all);
  }
  PORTCULLIS_TRY_ASSIGN(const Exploration one, sample(scenario, 1, limit, stop));
  const auto of_one = static_cast<double>(one.states);
  const double factor = std::max(1.0, of_two / of_one);
  return Estimate{of_one * std::pow(factor, others), 0, Basis::AtLeast};
}

/// Of others: of two clients those of one squared, of more those of one times what the second
/// multiplied them by for each further one, where two are quickly counted. No more than Pairs says,
/// which are no fewer than there are: one's states squared count what others do twice.
Result<Estimate> of_clients_apart(const Scenario& scenario, std::uint64_t limit,
                                  const std::atomic<bool>* stop) {
  PORTCULLIS_TRY_ASSIGN(const Exploration one, sample(scenario, 1, limit, stop));
  const auto of_one = static_cast<double>(one.states);
  if (one.ending != Ending::Complete || scenario.clients == 1)
    return Estimate{of_one * std::pow(of_one, scenario.clients - 1.0), 0,
                    one.ending == Ending::Complete ? Basis::WithoutMonitors : Basis::AtLeast};
  Estimate result{of_one * std::pow(of_one, scenario.clients - 1.0), 0, Basis::IndependentClients};
  if (scenario.clients == 2) return result;
  PORTCULLIS_TRY_ASSIGN(const Exploration two, sample(scenario, 2, limit, stop));
  if (two.ending != Ending::Complete) return result;
  const double factor = static_cast<double>(two.states) / of_one;
  return Estimate{of_one * std::pow(factor, scenario.clients - 1.0), 0, Basis::TwoClients};
}

Result<Estimate> of_clients_apart_at_most(const Machine& machine, std::uint64_t limit,
                                          const std::atomic<bool>* stop) {
  const Scenario& scenario = machine.scenario;
  PORTCULLIS_TRY_ASSIGN(Estimate result, of_clients_apart(scenario, limit, stop));
  if (scenario.clients == 1 || result.basis == Basis::AtLeast) return result;
  std::optional<Estimate> pairs = of_pairs(machine, stop);
  if (!pairs) return result;
  result.part_bits = std::move(pairs->part_bits);
  if (pairs->states >= result.states) return result;
  result.states = pairs->states;
  result.basis = Basis::Pairs;
  return result;
}

Result<Estimate> guessed(const Machine& machine, const ExploreOptions& options,
                         std::uint64_t limit) {
  const Scenario& scenario = machine.scenario;
  const bool do_meet = scenario.clients > 1 && (machine.has_slots || machine.has_tags);
  PORTCULLIS_TRY_ASSIGN(Estimate result,
                        do_meet ? of_clients_that_meet(machine, limit, options.stop)
                                : of_clients_apart_at_most(machine, limit, options.stop));
  if (options.uses_symmetry) result.states /= std::tgamma(scenario.clients + 1.0);
  // Orders of the events of many clients are more than any two of them have.
  if (scenario.has_history && scenario.clients > 2) result.basis = Basis::AtLeast;
  return result;
}

}  // namespace

Result<Estimate> estimate(const Scenario& scenario, const ExploreOptions& options,
                          std::uint64_t sample_limit) {
  PORTCULLIS_TRY_ASSIGN(const Machine machine, compile(scenario));
  // What a history multiplies states by only counting it says.
  const bool is_worth_more = scenario.clients == 1 || scenario.has_history;
  PORTCULLIS_TRY_ASSIGN(
      std::optional<Estimate> run,
      counted(machine, options, is_worth_more ? sample_limit : std::min(sample_limit, kQuick)));
  PORTCULLIS_TRY_ASSIGN(Estimate result,
                        run ? Result<Estimate>(*run) : guessed(machine, options, sample_limit));
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
