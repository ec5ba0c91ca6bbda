// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/failures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/routing.hpp"

namespace portcullis::pfc::cbd {
namespace {

using Set = std::vector<std::uint32_t>;

constexpr std::size_t kTooMany = std::numeric_limits<std::size_t>::max();

/// n over k, kTooMany when it is more than that or nearly.
std::size_t binomial(std::size_t n, std::size_t k) {
  std::size_t result = 1;
  for (std::size_t i = 1; i <= k; ++i) {
    if (result > kTooMany / (n - k + i)) return kTooMany;
    result = result * (n - k + i) / i;
  }
  return result;
}

bool advance(Set& set, std::uint32_t cables) {
  for (std::size_t i = set.size(); i-- > 0;) {
    if (set[i] + (set.size() - i) >= cables) continue;
    std::iota(set.begin() + static_cast<std::ptrdiff_t>(i), set.end(), set[i] + 1);
    return true;
  }
  return false;
}

/// SplitMix64 (Steele, Lea, Flood, 2014): the same numbers on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint32_t below(std::uint32_t limit) {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<std::uint32_t>(((z ^ (z >> 31)) >> 32) * limit >> 32);
  }

 private:
  std::uint64_t state_;
};

std::vector<Set> choose_sets(std::uint32_t cables, const FailureOptions& options,
                             std::size_t all_sets) {
  std::vector<Set> sets;
  if (all_sets <= options.most_sets) {
    Set set(options.failures);
    std::iota(set.begin(), set.end(), 0U);
    do sets.push_back(set);
    while (advance(set, cables));
    return sets;
  }
  Random random(options.seed);
  std::set<Set> drawn;
  while (drawn.size() < options.most_sets) {
    std::set<std::uint32_t> set;
    while (set.size() < options.failures) set.insert(random.below(cables));
    drawn.emplace(set.begin(), set.end());
  }
  return {drawn.begin(), drawn.end()};
}

std::uint64_t pair_of(const Route& route) {
  return std::uint64_t{route.node} << 32 | route.destination;
}

/// One fabric with its routes, asked about one set of failed cables after the other.
class Fabric {
 public:
  explicit Fabric(const Topology& topology)
      : intact_(topology), routing_(intact_), cables_(cables_of(intact_)) {
    intact_.flows.clear();
    if (intact_.routes.empty())
      intact_.routes = routing_.shortest_routes(destinations_of(intact_),
                                                std::vector<bool>(intact_.links.size()));
    std::set<std::uint64_t> pairs;
    for (const Route& route : intact_.routes) pairs.insert(pair_of(route));
    pairs_.assign(pairs.begin(), pairs.end());
    std::set<NodeId> destinations;
    for (const Route& route : intact_.routes) destinations.insert(route.destination);
    destinations_.assign(destinations.begin(), destinations.end());
  }

  [[nodiscard]] const Topology& intact() const noexcept { return intact_; }
  [[nodiscard]] std::uint32_t cables() const { return static_cast<std::uint32_t>(cables_.size()); }

  [[nodiscard]] std::vector<Route> routes_after(const Set& failed, Reaction reaction) const {
    std::vector<bool> is_down(intact_.links.size(), false);
    for (const std::uint32_t cable : failed)
      for (const LinkId link : cables_[cable]) is_down[link] = true;
    if (reaction == Reaction::Converged) return routing_.shortest_routes(destinations_, is_down);
    std::vector<Route> routes;
    std::ranges::copy_if(intact_.routes, std::back_inserter(routes),
                         [&](const Route& route) { return !is_down[route.via]; });
    if (reaction == Reaction::Local) {
      repair(routes, is_down);
    } else {
      const std::vector<Route> later = routing_.shortest_routes(destinations_, is_down);
      routes.insert(routes.end(), later.begin(), later.end());
      std::ranges::sort(routes, {}, [](const Route& route) {
        return std::tuple(route.node, route.destination, route.via);
      });
    }
    return routes;
  }

  [[nodiscard]] std::size_t cut_off(const std::vector<Route>& routes) const {
    return lost(routes).size();
  }

 private:
  /// Pairs of node and destination that had routes and have none, ascending.
  [[nodiscard]] std::vector<std::uint64_t> lost(const std::vector<Route>& routes) const {
    std::vector<std::uint64_t> left(routes.size());
    std::ranges::transform(routes, left.begin(), pair_of);
    std::ranges::sort(left);
    std::vector<std::uint64_t> lost;
    std::ranges::set_difference(pairs_, left, std::back_inserter(lost));
    lost.erase(std::unique(lost.begin(), lost.end()), lost.end());
    return lost;
  }

  void repair(std::vector<Route>& routes, const std::vector<bool>& is_down) const {
    std::vector<std::uint64_t> pairs = lost(routes);
    std::ranges::stable_sort(pairs, {}, [](std::uint64_t pair) { return pair & 0xffffffff; });
    std::vector<std::uint32_t> distances;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto destination = static_cast<NodeId>(pairs[i] & 0xffffffff);
      if (i == 0 || destination != static_cast<NodeId>(pairs[i - 1] & 0xffffffff))
        distances = routing_.distances(destination, is_down);
      routing_.add_next_hops(static_cast<NodeId>(pairs[i] >> 32), destination, distances, is_down,
                             routes);
    }
  }

  Topology intact_;
  Routing routing_;
  std::vector<std::vector<LinkId>> cables_;
  std::vector<std::uint64_t> pairs_;  // of node and destination that have routes
  std::vector<NodeId> destinations_;
};

FailureOutcome outcome_of(const Fabric& fabric, Topology& scratch, const Set& cables,
                          Reaction reaction) {
  scratch.routes = fabric.routes_after(cables, reaction);
  const Analysis analysis = analyse(scratch, 0, {.traffic = Traffic::Routes, .with_breaks = false});
  FailureOutcome outcome;
  outcome.cables = cables;
  outcome.components = analysis.components.size();
  outcome.cut_off = fabric.cut_off(scratch.routes);
  for (const Component& component : analysis.components) {
    if (!outcome.shortest.empty() && component.shortest.size() >= outcome.shortest.size()) continue;
    outcome.shortest = component.shortest;
    outcome.is_loop = component.loop.has_value();
  }
  return outcome;
}

/// Threads take the next set that nobody has taken; each outcome has its place.
class Sweeper {
 public:
  Sweeper(const Fabric& fabric, const FailureOptions& options, const std::vector<Set>& sets)
      : fabric_(fabric), options_(options), sets_(sets), outcomes_(sets.size()) {}

  Result<std::vector<FailureOutcome>> run() {
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < std::max(options_.threads, 1U); ++i)
      threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    if (is_stopped_)
      return fail(Errc::Timeout, fmt::format("stopped after {} of {} sets of failed cables",
                                             done_.load(), sets_.size()));
    return std::move(outcomes_);
  }

 private:
  void work() {
    Topology scratch = fabric_.intact();
    for (std::size_t i = next_++; i < sets_.size() && !is_stopped_; i = next_++) {
      outcomes_[i] = outcome_of(fabric_, scratch, sets_[i], options_.reaction);
      const std::size_t done = ++done_;
      if (!options_.progress) continue;
      const std::lock_guard lock(mutex_);
      if (!options_.progress(done, sets_.size())) is_stopped_ = true;
    }
  }

  const Fabric& fabric_;
  const FailureOptions& options_;
  const std::vector<Set>& sets_;
  std::vector<FailureOutcome> outcomes_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> done_ = 0;
  std::atomic<bool> is_stopped_ = false;
  std::mutex mutex_;
};

}  // namespace

Result<FailureSweep> sweep_failures(const Topology& topology, const FailureOptions& options) {
  const Fabric fabric(topology);
  if (options.failures == 0 || options.failures > fabric.cables())
    return fail(Errc::InvalidArgument,
                fmt::format("{} cables to fail at a time; 1 to {}, as many as there are, accepted",
                            options.failures, fabric.cables()));
  FailureSweep sweep;
  sweep.all_sets = binomial(fabric.cables(), options.failures);
  sweep.is_sampled = sweep.all_sets > options.most_sets;
  const std::vector<Set> sets = choose_sets(fabric.cables(), options, sweep.all_sets);
  PORTCULLIS_TRY_ASSIGN(sweep.outcomes, Sweeper(fabric, options, sets).run());
  sweep.cyclic = static_cast<std::size_t>(std::ranges::count_if(
      sweep.outcomes, [](const FailureOutcome& outcome) { return outcome.components != 0; }));
  return sweep;
}

std::vector<Route> routes_after(const Topology& topology, const std::vector<std::uint32_t>& cables,
                                Reaction reaction) {
  return Fabric(topology).routes_after(cables, reaction);
}

}  // namespace portcullis::pfc::cbd
