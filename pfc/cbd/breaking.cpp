// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/breaking.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>

#include "pfc/cbd/acyclic.hpp"
#include "pfc/cbd/feedback.hpp"
#include "pfc/cbd/hitting_set.hpp"

namespace portcullis::pfc::cbd {
namespace {

constexpr std::size_t kMostSteps = std::size_t{1} << 20;
// What is larger is not worth its time: seconds, and what is found is hardly better then.
constexpr std::size_t kMostAnnealed = 200'000;            // edges
constexpr std::size_t kMostTried = std::size_t{1} << 24;  // edges of users, all trials together
constexpr std::size_t kMostTrials = 2000;
constexpr std::uint32_t kSeed = 1;

using Sets = std::vector<std::vector<Item>>;

/// Edges in the order of rows, and what depends on their numbers.
class Breaker {
 public:
  Breaker(const Graph& graph, const std::vector<Cycle>& cycles,
          const std::vector<std::vector<User>>& users)
      : graph_(graph), cycles_(cycles), first_(graph.size()), order_(forward_order(graph)) {
    for (Vertex from = 0; from < graph.size(); ++from) {
      first_[from] = static_cast<Item>(edges_.size());
      for (const Vertex to : graph.out(from)) edges_.emplace_back(from, to);
    }
    for (const auto& of_edge : users) users_.insert(users_.end(), of_edge.begin(), of_edge.end());
    std::ranges::sort(users_);
    users_.erase(std::unique(users_.begin(), users_.end()), users_.end());
    for (const auto& of_edge : users) {
      items_.emplace_back();
      for (const User& user : of_edge)
        items_.back().push_back(
            static_cast<Item>(std::ranges::lower_bound(users_, user) - users_.begin()));
    }
  }

  Breaks run() const {
    const bool is_exact = cycles_.size() <= kExactCycles;
    Breaks breaks;
    const std::vector<Item> turns =
        is_exact ? smallest_hitting_set(edges_of_cycles()) : minimal_turns();
    for (const Item turn : turns) breaks.turns.changes.push_back(edges_[turn]);
    breaks.turns.is_smallest = is_exact;
    breaks.links.changes =
        is_exact ? smallest_hitting_set(Sets(cycles_.begin(), cycles_.end())) : minimal_links();
    breaks.links.is_smallest = is_exact;
    const auto best = is_exact ? smallest_union(user_choices(), kMostSteps) : std::nullopt;
    for (const Item user : best ? *best : minimal_users())
      breaks.users.changes.push_back(users_[user]);
    breaks.users.is_smallest = best.has_value();
    return breaks;
  }

 private:
  [[nodiscard]] Item edge(Vertex from, Vertex to) const {
    const auto row = graph_.out(from);
    return first_[from] + static_cast<Item>(std::ranges::find(row, to) - row.begin());
  }

  [[nodiscard]] Sets edges_of_cycles() const {
    Sets sets;
    for (const Cycle& cycle : cycles_) {
      sets.emplace_back();
      for (std::size_t i = 0; i < cycle.size(); ++i)
        sets.back().push_back(edge(cycle[i], cycle[(i + 1) % cycle.size()]));
    }
    return sets;
  }

  /// A cycle is broken by everybody who makes one of its edges.
  [[nodiscard]] std::vector<Sets> user_choices() const {
    std::vector<Sets> choices;
    for (const std::vector<Item>& edges : edges_of_cycles()) {
      choices.emplace_back();
      for (const Item edge : edges) choices.back().push_back(items_[edge]);
    }
    return choices;
  }

  /// Keeps one turn after the other, those along the order first; what cannot be kept goes. Or
  /// what annealing finds, if that is less.
  [[nodiscard]] std::vector<Item> minimal_turns() const {
    std::vector<Item> best = refused_turns(order_);
    if (edges_.size() > kMostAnnealed) return best;
    return smaller(std::move(best), refused_turns(annealed_order(graph_, order_, kSeed)));
  }

  [[nodiscard]] std::vector<Item> minimal_links() const {
    std::vector<std::vector<Item>> around(graph_.size());
    for (Item i = 0; i < edges_.size(); ++i) {
      around[edges_[i].first].push_back(i);
      around[edges_[i].second].push_back(i);
    }
    std::vector<Item> links = numbers(graph_.size());
    std::ranges::stable_sort(links, {}, [&](Item link) { return around[link].size(); });
    std::vector<Item> best = refused_links(links, around);
    if (edges_.size() > kMostAnnealed) return best;
    const auto found = few_feedback_vertices(graph_, kSeed);
    return smaller(std::move(best), refused_links(behind(std::move(links), found), around));
  }

  /// One that had to go is kept first, and all others get another chance behind those that could
  /// be; again while it helps and lasts not too long.
  [[nodiscard]] std::vector<Item> minimal_users() const {
    std::vector<std::vector<Item>> makes(users_.size());
    std::size_t work = 1;
    for (Item i = 0; i < items_.size(); ++i)
      for (const Item user : items_[i]) makes[user].push_back(i);
    for (const auto& edges : makes) work += edges.size();
    std::vector<Item> users = numbers(users_.size());
    std::ranges::stable_sort(users, {}, [&](Item user) { return makes[user].size(); });
    std::vector<Item> best = refused_users(users, makes);
    users = behind(std::move(users), best);
    std::mt19937 random(kSeed);
    for (std::size_t trials = std::min(kMostTrials, kMostTried / work); trials > 0; --trials) {
      std::vector<Item> other = users;
      const std::size_t kept = other.size() - best.size();
      const std::size_t chosen = kept + random() % best.size();
      // Of those that are kept a few go behind, too, or the one would seldom fit.
      for (std::size_t i = 0; i < std::min<std::size_t>(2, kept); ++i) {
        const std::size_t one = random() % kept;
        std::rotate(other.begin() + at(one), other.begin() + at(one + 1), other.begin() + at(kept));
      }
      std::rotate(other.begin(), other.begin() + at(chosen), other.begin() + at(chosen + 1));
      std::vector<Item> found = refused_users(other, makes);
      if (found.size() > best.size()) continue;
      users = behind(std::move(other), found);
      best = std::move(found);
    }
    return best;
  }

  [[nodiscard]] std::vector<Item> refused_turns(const std::vector<Vertex>& order) const {
    std::vector<Vertex> place(order.size());
    for (Vertex i = 0; i < order.size(); ++i) place[order[i]] = i;
    std::vector<Item> turns = numbers(edges_.size());
    std::stable_partition(turns.begin(), turns.end(), [&](Item turn) {
      return place[edges_[turn].first] < place[edges_[turn].second];
    });
    AcyclicGraph kept(order);
    std::erase_if(turns, [&](Item turn) { return kept.try_add({&edges_[turn], 1}); });
    std::ranges::sort(turns);
    return turns;
  }

  [[nodiscard]] std::vector<Item> refused_links(
      std::vector<Item> links, const std::vector<std::vector<Item>>& around) const {
    std::vector<bool> is_kept(graph_.size(), false);
    AcyclicGraph kept(order_);
    std::vector<Edge> edges;
    std::erase_if(links, [&](Item link) {
      edges.clear();
      is_kept[link] = true;
      for (const Item i : around[link])
        if (is_kept[edges_[i].first] && is_kept[edges_[i].second]) edges.push_back(edges_[i]);
      return is_kept[link] = kept.try_add(edges);
    });
    std::ranges::sort(links);
    return links;
  }

  [[nodiscard]] std::vector<Item> refused_users(std::vector<Item> users,
                                                const std::vector<std::vector<Item>>& makes) const {
    std::vector<bool> is_kept(edges_.size(), false);
    AcyclicGraph kept(order_);
    std::vector<Edge> edges;
    std::erase_if(users, [&](Item user) {
      edges.clear();
      for (const Item i : makes[user])
        if (!is_kept[i]) edges.push_back(edges_[i]);
      if (!kept.try_add(edges)) return false;
      for (const Item i : makes[user]) is_kept[i] = true;
      return true;
    });
    std::ranges::sort(users);
    return users;
  }

  static std::ptrdiff_t at(std::size_t place) { return static_cast<std::ptrdiff_t>(place); }

  static std::vector<Item> numbers(std::size_t count) {
    std::vector<Item> all(count);
    std::iota(all.begin(), all.end(), Item{0});
    return all;
  }

  /// `items` with those of `last` (ascending) at the end.
  static std::vector<Item> behind(std::vector<Item> items, const std::vector<Item>& last) {
    std::stable_partition(items.begin(), items.end(),
                          [&](Item item) { return !std::ranges::binary_search(last, item); });
    return items;
  }

  static std::vector<Item> smaller(std::vector<Item> one, std::vector<Item> other) {
    return other.size() < one.size() ? std::move(other) : std::move(one);
  }

  const Graph& graph_;
  const std::vector<Cycle>& cycles_;
  std::vector<Item> first_;  // number of a vertex's first edge
  std::vector<Edge> edges_;
  std::vector<User> users_;
  Sets items_;  // numbers in users_ of who makes an edge
  std::vector<Vertex> order_;
};

}  // namespace

Breaks break_cycles(const Graph& graph, const std::vector<Cycle>& cycles,
                    const std::vector<std::vector<User>>& users) {
  return Breaker(graph, cycles, users).run();
}

}  // namespace portcullis::pfc::cbd
