// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/acyclic.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace portcullis::pfc::cbd {

AcyclicGraph::AcyclicGraph(const std::vector<Vertex>& order)
    : place_(order.size()), out_(order.size()), into_(order.size()), is_seen_(order.size(), false) {
  for (std::uint32_t i = 0; i < order.size(); ++i) place_[order[i]] = i;
}

bool AcyclicGraph::try_add(std::span<const Edge> edges) {
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (!try_add(edges[i])) {
      remove_last(i, edges);
      return false;
    }
  return true;
}

void AcyclicGraph::remove_last(std::size_t count, std::span<const Edge> edges) {
  for (std::size_t i = count; i-- > 0;) {
    out_[edges[i].first].pop_back();
    into_[edges[i].second].pop_back();
  }
}

/// D. J. Pearce, P. H. J. Kelly, "A dynamic topological sort algorithm for directed acyclic
/// graphs", 2006: only what lies between the two ends has to move.
bool AcyclicGraph::try_add(const Edge& edge) {
  const auto [from, to] = edge;
  if (from == to) return false;
  if (place_[to] < place_[from]) {
    const std::uint32_t first = place_[to];
    const bool is_cycle = reaches(to, from, place_[from]);
    if (!is_cycle) collect_into(from, first);
    for (const Vertex vertex : after_) is_seen_[vertex] = false;
    for (const Vertex vertex : before_) is_seen_[vertex] = false;
    if (!is_cycle) reorder();
    after_.clear();
    before_.clear();
    if (is_cycle) return false;
  }
  out_[from].push_back(to);
  into_[to].push_back(from);
  return true;
}

bool AcyclicGraph::reaches(Vertex from, Vertex to, std::uint32_t last) {
  after_ = {from};
  is_seen_[from] = true;
  for (std::size_t i = 0; i < after_.size(); ++i)
    for (const Vertex target : out_[after_[i]]) {
      if (target == to) return true;
      if (is_seen_[target] || place_[target] > last) continue;
      is_seen_[target] = true;
      after_.push_back(target);
    }
  return false;
}

void AcyclicGraph::collect_into(Vertex vertex, std::uint32_t first) {
  before_ = {vertex};
  is_seen_[vertex] = true;
  for (std::size_t i = 0; i < before_.size(); ++i)
    for (const Vertex source : into_[before_[i]]) {
      if (is_seen_[source] || place_[source] < first) continue;
      is_seen_[source] = true;
      before_.push_back(source);
    }
}

/// Gives the places of both lists to what comes before, then to what comes after.
void AcyclicGraph::reorder() {
  const auto by_place = [this](Vertex vertex) { return place_[vertex]; };
  std::ranges::sort(before_, {}, by_place);
  std::ranges::sort(after_, {}, by_place);
  before_.insert(before_.end(), after_.begin(), after_.end());
  std::vector<std::uint32_t> places;
  places.reserve(before_.size());
  std::ranges::transform(before_, std::back_inserter(places), by_place);
  std::ranges::sort(places);
  for (std::size_t i = 0; i < places.size(); ++i) place_[before_[i]] = places[i];
}

namespace {

/// Moves one vertex after the other to where the fewest of its edges go backwards ("sifting"),
/// until no move helps or so many places were shifted that it takes too long.
class Sifter {
 public:
  Sifter(std::vector<Vertex>& order, const Graph& graph,
         const std::vector<std::vector<Vertex>>& into)
      : order_(order), graph_(graph), into_(into), place_(order.size()) {
    for (std::size_t i = 0; i < order.size(); ++i) place_[order[i]] = i;
  }

  void run() {
    for (bool is_moved = true; is_moved;) {
      is_moved = false;
      for (Vertex vertex = 0; vertex < graph_.size(); ++vertex) {
        if (shifted_ > kMostShifted) return;
        is_moved |= settle(vertex);
      }
    }
  }

 private:
  static constexpr std::size_t kMostShifted = std::size_t{1} << 27;

  bool settle(Vertex vertex) {
    // Behind a target its edge goes backwards, behind a source no more.
    steps_.clear();
    for (const Vertex target : graph_.out(vertex))
      if (target != vertex) steps_.emplace_back(place_[target], 1);
    for (const Vertex source : into_[vertex])
      if (source != vertex) steps_.emplace_back(place_[source], -1);
    std::ranges::sort(steps_);
    std::int64_t cost = 0;  // beside that of the first place
    std::int64_t least = 0;
    std::int64_t own = 0;
    std::size_t best = 0;  // before which place
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto& [place, step] = steps_[i];
      cost += step;
      // Who is target and source counts as both.
      if (i + 1 < steps_.size() && steps_[i + 1].first == place) continue;
      if (place < place_[vertex]) own = cost;
      if (cost >= least) continue;
      least = cost;
      best = place + 1;
    }
    if (least >= own) return false;
    move(vertex, best);
    return true;
  }

  void move(Vertex vertex, std::size_t before) {
    const auto at = [this](std::size_t place) {
      return order_.begin() + static_cast<std::ptrdiff_t>(place);
    };
    const std::size_t from = place_[vertex];
    const std::size_t first = std::min(from, before);
    const std::size_t last = std::max(from + 1, before);
    if (before > from)
      std::rotate(at(from), at(from + 1), at(before));
    else
      std::rotate(at(before), at(from), at(from + 1));
    for (std::size_t i = first; i < last; ++i) place_[order_[i]] = i;
    shifted_ += last - first;
  }

  std::vector<Vertex>& order_;
  const Graph& graph_;
  const std::vector<std::vector<Vertex>>& into_;
  std::vector<std::size_t> place_;
  std::vector<std::pair<std::size_t, int>> steps_;
  std::size_t shifted_ = 0;
};

}  // namespace

std::vector<Vertex> forward_order(const Graph& graph) {
  using Degree = std::int64_t;
  std::vector<std::vector<Vertex>> into(graph.size());
  for (Vertex vertex = 0; vertex < graph.size(); ++vertex)
    for (const Vertex target : graph.out(vertex)) into[target].push_back(vertex);
  std::vector<Degree> out_degree(graph.size());
  std::vector<Degree> in_degree(graph.size());
  // Sinks first, then what has the greatest surplus of outgoing edges, sources being no exception.
  std::set<std::tuple<bool, Degree, Vertex>> queue;
  const auto key = [&](Vertex vertex) {
    return std::tuple(out_degree[vertex] != 0, in_degree[vertex] - out_degree[vertex], vertex);
  };
  for (Vertex vertex = 0; vertex < graph.size(); ++vertex) {
    out_degree[vertex] = static_cast<Degree>(graph.out(vertex).size());
    in_degree[vertex] = static_cast<Degree>(into[vertex].size());
    queue.insert(key(vertex));
  }
  std::vector<bool> is_gone(graph.size(), false);
  const auto lower = [&](Vertex vertex, std::vector<Degree>& degree) {
    if (is_gone[vertex]) return;
    queue.erase(key(vertex));
    --degree[vertex];
    queue.insert(key(vertex));
  };
  std::vector<Vertex> front;
  std::vector<Vertex> back;
  while (!queue.empty()) {
    const auto [is_no_sink, surplus, vertex] = *queue.begin();
    queue.erase(queue.begin());
    is_gone[vertex] = true;
    (is_no_sink ? front : back).push_back(vertex);
    for (const Vertex target : graph.out(vertex)) lower(target, in_degree);
    for (const Vertex source : into[vertex]) lower(source, out_degree);
  }
  front.insert(front.end(), back.rbegin(), back.rend());
  Sifter(front, graph, into).run();
  return front;
}

}  // namespace portcullis::pfc::cbd
