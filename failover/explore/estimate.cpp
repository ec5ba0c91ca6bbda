// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

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

}  // namespace

double bytes_per_state(const Machine& machine, SetKind set) noexcept {
  const double upper = 8.0 * (machine.state_words - 1) - (64 - machine.last_word_bits) / 8;
  constexpr double kValue = 6.5;      // of a fingerprint, that its place does not say
  constexpr double kLoad = 0.9;       // of a StateSet that was told what to expect
  constexpr double kFrontier = 0.12;  // of all states, in the widest levels of these models
  const bool is_exact = set == SetKind::Exact && machine.state_words > 1;
  return (kValue + (is_exact ? upper : 0)) / kLoad + kFrontier * (9 + upper);
}

Result<Estimate> estimate(const Scenario& scenario, const ExploreOptions& options,
                          std::uint64_t sample_limit) {
  const unsigned clients = scenario.clients;
  PORTCULLIS_TRY_ASSIGN(const Machine machine, compile(scenario));
  PORTCULLIS_TRY_ASSIGN(const Exploration one, sample(scenario, 1, sample_limit));
  Estimate result;
  result.states = static_cast<double>(one.states);
  result.is_counted = clients == 1 && one.ending == Ending::Complete;
  const double bytes_each = bytes_per_state(machine, options.set);
  double factor = result.states;
  // A second look costs as much as a small run: only where the first does not say that all is well.
  constexpr double kAmple = 100;
  if (clients > 1 && std::pow(factor, clients) * bytes_each * kAmple >
                         static_cast<double>(options.memory_limit_bytes)) {
    PORTCULLIS_TRY_ASSIGN(const Exploration two, sample(scenario, 2, sample_limit));
    factor = std::max(1.0, static_cast<double>(two.states) / static_cast<double>(one.states));
  }
  result.states *= std::pow(factor, clients - 1);
  if (options.uses_symmetry) result.states /= std::tgamma(clients + 1.0);
  result.bytes = result.states * bytes_each;
  return result;
}

std::uint64_t available_memory_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string name; meminfo >> name;) {
    if (name != "MemAvailable:") continue;
    std::uint64_t kib = 0;
    meminfo >> kib;
    return kib * 1024;
  }
  return 0;
}

}  // namespace portcullis::failover
