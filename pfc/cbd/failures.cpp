// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/failures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/rewritten.hpp"
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

template <class Item>
void sort_unique(std::vector<Item>& items) {
  std::ranges::sort(items);
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

/// One fabric with its routes, asked about one set of failed cables after the other.
class Fabric {
 public:
  explicit Fabric(const Topology& topology)
      : intact_(topology),
        routing_(intact_),
        prefixes_(intact_),
        cables_(cables_of(intact_)),
        tiers_(tiers_of(intact_)),
        is_assumed_(intact_.routes.empty() && intact_.flows.empty()),
        pairs_over_(intact_.links.size()) {
    if (is_assumed_) intact_.routes = routing_.shortest_routes(prefixes_of(intact_), all_up());
    for (NodeId node = 0; node < intact_.nodes.size(); ++node)
      has_table_.push_back(intact_.nodes[node].kind == NodeKind::Switch);
    for (const Route& route : intact_.routes) {
      pairs_.push_back(pair_of(route));
      destinations_.push_back(route.destination);
      has_table_[route.node] = true;
    }
    sort_unique(pairs_);
    sort_unique(destinations_);
    next_hops_.resize(pairs_.size());
    for (const Route& route : intact_.routes) {
      const auto pair = std::ranges::lower_bound(pairs_, pair_of(route)) - pairs_.begin();
      ++next_hops_[static_cast<std::size_t>(pair)];
      pairs_over_[route.via].push_back(static_cast<std::uint32_t>(pair));
    }
  }

  [[nodiscard]] const Topology& intact() const noexcept { return intact_; }
  [[nodiscard]] bool has_tiers() const noexcept { return tiers_.has_value(); }
  [[nodiscard]] bool is_assumed() const noexcept { return is_assumed_; }
  [[nodiscard]] std::uint32_t cables() const { return static_cast<std::uint32_t>(cables_.size()); }

  [[nodiscard]] std::vector<bool> down(const Set& failed) const {
    std::vector<bool> is_down = all_up();
    for (const std::uint32_t cable : failed)
      for (const LinkId link : cables_[cable]) is_down[link] = true;
    return is_down;
  }

  [[nodiscard]] std::vector<Route> routes_after(const Set& failed, Reaction reaction) const {
    const std::vector<bool> is_down = down(failed);
    if (reaction == Reaction::Converged) return shortest(is_down);
    if (reaction == Reaction::ValleyFree && tiers_)
      return routing_.up_down_routes(destinations_, *tiers_, is_down, has_table_);
    std::vector<Route> routes;
    std::ranges::copy_if(intact_.routes, std::back_inserter(routes),
                         [&](const Route& route) { return !is_down[route.via]; });
    if (reaction == Reaction::Local) {
      repair(routes, is_down);
    } else if (reaction == Reaction::Transient) {
      add_half_heard(routes, failed);
    }
    return routes;
  }

  /// A host whose table has lost all that it said has a table all the same, and gives nothing to
  /// its other links; one of its routes over a link that is down stands for it.
  void keep_tables(std::vector<Route>& routes, const std::vector<bool>& is_down) const {
    std::vector<bool> has_table(intact_.nodes.size(), false);
    for (const Route& route : routes) has_table[route.node] = true;
    for (const Route& route : intact_.routes) {
      if (intact_.nodes[route.node].kind != NodeKind::Host || !is_down[route.via]) continue;
      if (has_table[route.node]) continue;
      has_table[route.node] = true;
      routes.push_back(route);
    }
  }

  /// Whether the given routes are what `reaction` settles on while nothing has failed.
  [[nodiscard]] bool is_policy(Reaction reaction) const {
    return keys(routes_after(Set{}, reaction)) == keys(intact_.routes);
  }

  /// The same as far as nodes have been given any: a table that lacks a destination speaks for no
  /// other policy.
  [[nodiscard]] bool may_be_policy(Reaction reaction) const {
    std::vector<Route> own = routes_after(Set{}, reaction);
    std::erase_if(own, [&](const Route& route) {
      return !std::ranges::binary_search(pairs_, pair_of(route));
    });
    return keys(own) == keys(intact_.routes);
  }

  [[nodiscard]] std::size_t cut_off(const std::vector<Route>& routes,
                                    const std::vector<bool>& is_down) const {
    return lost(routes).size() + lost_hosts(is_down);
  }

 private:
  static std::tuple<NodeId, NodeId, LinkId> key_of(const Route& route) {
    return {route.node, route.destination, route.via};
  }
  /// But for a host's entries for a prefix, which say no more than its links do.
  [[nodiscard]] std::vector<std::tuple<NodeId, NodeId, LinkId>> keys(
      const std::vector<Route>& routes) const {
    std::vector<std::tuple<NodeId, NodeId, LinkId>> all;
    for (const Route& route : routes)
      if (intact_.nodes[route.node].kind == NodeKind::Switch ||
          intact_.nodes[route.destination].kind == NodeKind::Host)
        all.push_back(key_of(route));
    sort_unique(all);
    return all;
  }
  /// A host without a table has none after a failure either: it gives everything to its links.
  [[nodiscard]] std::vector<Route> shortest(const std::vector<bool>& is_down) const {
    return routing_.shortest_routes(destinations_, is_down, has_table_);
  }
  [[nodiscard]] std::vector<bool> all_up() const {
    return std::vector<bool>(intact_.links.size(), false);
  }

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

  /// Those that lose their last next hop with these links, ascending: of few links that is told
  /// without a look at all routes.
  [[nodiscard]] std::vector<std::uint64_t> lost_with(const std::vector<bool>& is_down) const {
    std::vector<std::uint32_t> left = next_hops_;
    std::vector<std::uint64_t> lost;
    for (LinkId link = 0; link < is_down.size(); ++link) {
      if (!is_down[link]) continue;
      for (const std::uint32_t pair : pairs_over_[link])
        if (--left[pair] == 0) lost.push_back(pairs_[pair]);
    }
    std::ranges::sort(lost);
    return lost;
  }

  /// Hosts of prefixes that their switch has lost.
  [[nodiscard]] std::size_t lost_hosts(const std::vector<bool>& is_down) const {
    std::size_t lost = 0;
    for (const NodeId destination : destinations_) {
      std::map<NodeId, bool> is_lost;  // by host
      for (const LinkId link : prefixes_.links_to_hosts(destination))
        is_lost.try_emplace(intact_.links[link].to, true).first->second &= is_down[link];
      lost += static_cast<std::size_t>(
          std::ranges::count_if(is_lost, [](const auto& host) { return host.second; }));
    }
    return lost;
  }

  /// What `node` knows by itself of the links that are down: its own.
  [[nodiscard]] std::vector<bool> own_part(const std::vector<bool>& is_down, NodeId node) const {
    std::vector<bool> own(is_down.size(), false);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Link& link = intact_.links[i];
      own[i] = is_down[i] && (link.from == node || link.to == node);
    }
    return own;
  }

  void repair(std::vector<Route>& routes, const std::vector<bool>& is_down) const {
    std::vector<bool> known;
    std::optional<NodeId> knows;
    for (const std::uint64_t pair : lost_with(is_down)) {  // by node
      const auto node = static_cast<NodeId>(pair >> 32);
      const auto destination = static_cast<NodeId>(pair & 0xffffffff);
      if (knows != node) known = own_part(is_down, node);
      knows = node;
      routing_.add_next_hops(node, destination, routing_.distances(destination, known), known,
                             routes);
    }
  }

  /// The shortest routes of who has heard of some failures, for every choice of some: news of
  /// each travels by itself. Nobody sends over a link that is down.
  void add_half_heard(std::vector<Route>& routes, const Set& failed) const {
    const std::vector<bool> is_down = down(failed);
    for (std::uint32_t heard = 1; heard < 1U << failed.size(); ++heard) {
      Set some;
      for (std::uint32_t i = 0; i < failed.size(); ++i)
        if ((heard >> i & 1) != 0) some.push_back(failed[i]);
      for (const Route& route : shortest(down(some)))
        if (!is_down[route.via]) routes.push_back(route);
    }
    std::ranges::sort(routes, {}, key_of);
    const auto is_again = [](const Route& a, const Route& b) { return key_of(a) == key_of(b); };
    routes.erase(std::unique(routes.begin(), routes.end(), is_again), routes.end());
  }

  Topology intact_;
  Routing routing_;
  Prefixes prefixes_;  // of the routes given, or of those that are assumed
  std::vector<std::vector<LinkId>> cables_;
  std::optional<std::vector<std::uint32_t>> tiers_;
  bool is_assumed_;
  std::vector<std::uint64_t> pairs_;                    // of node and destination that have routes
  std::vector<std::uint32_t> next_hops_;                // of each of those: how many
  std::vector<std::vector<std::uint32_t>> pairs_over_;  // by link: positions in pairs_
  std::vector<NodeId> destinations_;
  std::vector<bool> has_table_;  // by node: all switches, and the hosts that were given one
};

Reaction usual_reaction_of(const Fabric& fabric) {
  if (fabric.intact().routes.empty()) return Reaction::AsGiven;
  return fabric.has_tiers() && fabric.may_be_policy(Reaction::ValleyFree) ? Reaction::ValleyFree
                                                                          : Reaction::Converged;
}

/// What is asked of every set of failed cables.
struct Question {
  Reaction reaction = Reaction::Converged;
  Traffic traffic = Traffic::All;
  std::vector<std::uint32_t> priorities;
  std::vector<std::uint32_t> only;  // where they are rewritten: what was asked for
};

std::size_t count_broken(const Topology& topology, const std::vector<bool>& is_down,
                         const Question& question) {
  if (question.traffic == Traffic::Routes || topology.flows.empty()) return 0;
  FlowPaths paths(topology, &is_down);
  return static_cast<std::size_t>(std::ranges::count_if(topology.flows, [&](const Flow& flow) {
    return std::ranges::find(question.priorities, flow.priority) != question.priorities.end() &&
           !paths.of(flow).is_whole;
  }));
}

/// One of each priority, or one of all where they are rewritten.
std::vector<Analysis> analyses_of(const Topology& topology, const std::vector<bool>& is_down,
                                  const Question& question) {
  if (!topology.rewrites.empty())
    return {analyse_rewritten(topology, question.priorities,
                              {.traffic = question.traffic,
                               .only = question.only,
                               .is_down = &is_down,
                               .with_breaks = false})};
  std::vector<Analysis> analyses;
  for (const std::uint32_t priority : question.priorities)
    analyses.push_back(analyse(
        Dependencies(topology, priority, {.traffic = question.traffic, .is_down = &is_down}),
        priority, {.with_breaks = false}));
  return analyses;
}

FailureOutcome outcome_of(const Fabric& fabric, Topology& scratch, const Set& cables,
                          const Question& question, std::vector<Analysis>& looked_at) {
  const std::vector<bool> is_down = fabric.down(cables);
  scratch.routes =
      cables.empty() ? fabric.intact().routes : fabric.routes_after(cables, question.reaction);
  FailureOutcome outcome;
  outcome.cables = cables;
  outcome.cut_off = fabric.cut_off(scratch.routes, is_down);
  if (!cables.empty()) fabric.keep_tables(scratch.routes, is_down);
  outcome.broken_flows = count_broken(scratch, is_down, question);
  for (const Analysis& analysis : analyses_of(scratch, is_down, question)) {
    outcome.components += analysis.components.size();
    if (outcome.dead_ends.count == 0) outcome.dead_ends = analysis.dead_ends;
    if (cables.empty()) looked_at.push_back(analysis);
    for (const Component& component : analysis.components) {
      if (!outcome.shortest.empty() && component.shortest.size() >= outcome.shortest.size())
        continue;
      outcome.shortest = component.shortest;
      outcome.priority =
          component.priorities.empty() ? analysis.priority : component.priorities.front();
      outcome.is_loop = component.loop.has_value();
    }
  }
  return outcome;
}

/// Threads take the next set that nobody has taken; each outcome has its place.
class Sweeper {
 public:
  Sweeper(const Fabric& fabric, const FailureOptions& options, const Question& question,
          const std::vector<Set>& sets)
      : fabric_(fabric),
        options_(options),
        question_(question),
        sets_(sets),
        outcomes_(sets.size()) {}

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
    std::vector<Analysis> none;
    for (std::size_t i = next_++; i < sets_.size() && !is_stopped_; i = next_++) {
      outcomes_[i] = outcome_of(fabric_, scratch, sets_[i], question_, none);
      const std::size_t done = ++done_;
      if (!options_.progress) continue;
      const std::lock_guard lock(mutex_);
      if (!options_.progress(done, sets_.size())) is_stopped_ = true;
    }
  }

  const Fabric& fabric_;
  const FailureOptions& options_;
  const Question& question_;
  const std::vector<Set>& sets_;
  std::vector<FailureOutcome> outcomes_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> done_ = 0;
  std::atomic<bool> is_stopped_ = false;
  std::mutex mutex_;
};

}  // namespace

Reaction usual_reaction(const Topology& topology) { return usual_reaction_of(Fabric(topology)); }

Result<FailureSweep> sweep_failures(const Topology& topology, const FailureOptions& options) {
  const Fabric fabric(topology);
  if (fabric.cables() == 0)
    return fail(Errc::InvalidArgument, "no cables to fail; a topology with links is accepted");
  if (options.failures == 0 || options.failures > fabric.cables())
    return fail(Errc::InvalidArgument,
                fmt::format("{} cables to fail at a time; 1 to {}, as many as there are, accepted",
                            options.failures, fabric.cables()));
  PORTCULLIS_TRY_ASSIGN(const std::vector<std::uint32_t> priorities,
                        check_question(fabric.intact(), options.priorities, options.traffic));
  const Question question{options.reaction ? *options.reaction : usual_reaction_of(fabric),
                          options.traffic, priorities, options.priorities};
  if (question.reaction == Reaction::ValleyFree && !fabric.has_tiers())
    return fail(
        Errc::InvalidArgument,
        "reaction valley-free: the fabric has no tiers, for without hosts, or with links "
        "between switches equally far from them, none is above the other; converged, local, "
        "transient and as-given are accepted");
  if (question.reaction == Reaction::Transient && options.failures > kMostTransient)
    return fail(
        Errc::InvalidArgument,
        fmt::format("reaction transient: {} cables to fail at a time; 1 to {} accepted, for "
                    "each choice of them has routes of its own",
                    options.failures, kMostTransient));
  FailureSweep sweep;
  sweep.reaction = question.reaction;
  sweep.is_assumed = fabric.is_assumed();
  sweep.is_other_policy = !fabric.is_policy(question.reaction);
  if (options.traffic != Traffic::Routes)
    sweep.explicit_flows = static_cast<std::size_t>(
        std::ranges::count_if(topology.flows, [](const Flow& flow) { return !is_routed(flow); }));
  sweep.all_sets = binomial(fabric.cables(), options.failures);
  sweep.is_sampled = sweep.all_sets > options.most_sets;
  Topology scratch = fabric.intact();
  std::vector<Analysis> looked_at;
  sweep.intact = outcome_of(fabric, scratch, {}, question, looked_at);
  PORTCULLIS_TRY(check_looked_at(looked_at));
  const std::vector<Set> sets = choose_sets(fabric.cables(), options, sweep.all_sets);
  PORTCULLIS_TRY_ASSIGN(sweep.outcomes, Sweeper(fabric, options, question, sets).run());
  sweep.cyclic = static_cast<std::size_t>(std::ranges::count_if(
      sweep.outcomes, [](const FailureOutcome& outcome) { return outcome.components != 0; }));
  return sweep;
}

std::vector<Route> routes_after(const Topology& topology, const std::vector<std::uint32_t>& cables,
                                Reaction reaction) {
  const Fabric fabric(topology);
  return fabric.routes_after(cables, reaction);
}

}  // namespace portcullis::pfc::cbd
