// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/cycles.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace portcullis::pfc::cbd {
namespace {

constexpr Vertex kNone = std::numeric_limits<Vertex>::max();

/// Breadth first from one vertex after the other, never deeper than the best cycle so far. A vertex
/// that was a root goes, and with it whatever is on no cycle any more: a ring costs one search.
class ShortestCycle {
 public:
  explicit ShortestCycle(const Graph& graph)
      : graph_(graph),
        into_(graph.size()),
        out_degree_(graph.size()),
        in_degree_(graph.size()),
        is_gone_(graph.size(), false),
        parent_(graph.size(), kNone),
        seen_by_(graph.size(), kNone) {
    for (Vertex vertex = 0; vertex < graph.size(); ++vertex) {
      out_degree_[vertex] = static_cast<std::uint32_t>(graph.out(vertex).size());
      for (const Vertex target : graph.out(vertex)) into_[target].push_back(vertex);
    }
    for (Vertex vertex = 0; vertex < graph.size(); ++vertex)
      in_degree_[vertex] = static_cast<std::uint32_t>(into_[vertex].size());
  }

  Cycle run() {
    for (Vertex vertex = 0; vertex < graph_.size(); ++vertex)
      if (is_free(vertex)) remove(vertex);
    for (Vertex root = 0; root < graph_.size() && best_.size() != 1; ++root) {
      if (is_gone_[root]) continue;
      search(root);
      remove(root);
    }
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool is_free(Vertex vertex) const {
    return !is_gone_[vertex] && (out_degree_[vertex] == 0 || in_degree_[vertex] == 0);
  }

  void remove(Vertex first) {
    std::vector<Vertex> leaving{first};
    is_gone_[first] = true;
    const auto take = [&](Vertex neighbour, std::vector<std::uint32_t>& degree) {
      --degree[neighbour];
      if (!is_free(neighbour)) return;
      is_gone_[neighbour] = true;
      leaving.push_back(neighbour);
    };
    while (!leaving.empty()) {
      const Vertex vertex = leaving.back();
      leaving.pop_back();
      for (const Vertex target : graph_.out(vertex)) take(target, in_degree_);
      for (const Vertex source : into_[vertex]) take(source, out_degree_);
    }
  }

  /// One level after the other, as long as a cycle closed there would be shorter than the best.
  void search(Vertex root) {
    std::vector<Vertex> level{root};
    std::vector<Vertex> next;
    seen_by_[root] = root;
    parent_[root] = kNone;
    for (std::size_t length = 1; !level.empty() && (best_.empty() || length < best_.size());
         ++length, level.swap(next)) {
      next.clear();
      for (const Vertex vertex : level)
        for (const Vertex target : graph_.out(vertex)) {
          if (target == root) return take(vertex);
          if (is_gone_[target] || seen_by_[target] == root) continue;
          seen_by_[target] = root;
          parent_[target] = vertex;
          next.push_back(target);
        }
    }
  }

  void take(Vertex last) {
    best_.clear();
    for (Vertex vertex = last; vertex != kNone; vertex = parent_[vertex]) best_.push_back(vertex);
    std::ranges::reverse(best_);
  }

  const Graph& graph_;
  std::vector<std::vector<Vertex>> into_;
  std::vector<std::uint32_t> out_degree_;  // of what is left
  std::vector<std::uint32_t> in_degree_;
  std::vector<bool> is_gone_;
  std::vector<Vertex> parent_;
  std::vector<Vertex> seen_by_;  // the root that saw it last
  Cycle best_;
};

/// D. B. Johnson, "Finding all the elementary circuits of a directed graph", 1975: the circuits
/// through one vertex of a strongly connected graph, without recursion.
class CircuitsThrough {
 public:
  CircuitsThrough(const Graph& graph, Vertex start, std::size_t most)
      : graph_(graph),
        start_(start),
        most_(most),
        is_blocked_(graph.size(), false),
        is_closed_(graph.size(), false),
        blocks_(graph.size()) {}

  std::vector<Cycle> run() {
    enter(start_);
    while (!path_.empty() && found_.size() < most_) {
      const Vertex vertex = path_.back();
      const auto targets = graph_.out(vertex);
      if (next_.back() == targets.size()) {
        leave(vertex);
        continue;
      }
      const Vertex target = targets[next_.back()++];
      if (target == start_) {
        found_.push_back(path_);
        for (const Vertex on_path : path_) is_closed_[on_path] = true;
      } else if (!is_blocked_[target]) {
        enter(target);
      }
    }
    return std::move(found_);
  }

 private:
  void enter(Vertex vertex) {
    path_.push_back(vertex);
    next_.push_back(0);
    is_blocked_[vertex] = true;
    is_closed_[vertex] = false;
  }

  void leave(Vertex vertex) {
    if (is_closed_[vertex]) {
      unblock(vertex);
    } else {
      for (const Vertex target : graph_.out(vertex))
        if (std::ranges::find(blocks_[target], vertex) == blocks_[target].end())
          blocks_[target].push_back(vertex);
    }
    path_.pop_back();
    next_.pop_back();
  }

  void unblock(Vertex first) {
    std::vector<Vertex> todo{first};
    while (!todo.empty()) {
      const Vertex vertex = todo.back();
      todo.pop_back();
      if (!is_blocked_[vertex]) continue;
      is_blocked_[vertex] = false;
      todo.insert(todo.end(), blocks_[vertex].begin(), blocks_[vertex].end());
      blocks_[vertex].clear();
    }
  }

  const Graph& graph_;
  Vertex start_;
  std::size_t most_;
  std::vector<bool> is_blocked_;
  std::vector<bool> is_closed_;  // on a circuit since it was entered
  std::vector<std::vector<Vertex>> blocks_;
  std::vector<Vertex> path_;
  std::vector<std::size_t> next_;
  std::vector<Cycle> found_;
};

}  // namespace

Cycle shortest_cycle(const Graph& graph) { return ShortestCycle(graph).run(); }

std::vector<Cycle> simple_cycles(const Graph& graph, std::size_t most) {
  std::vector<Cycle> cycles;
  auto components = cyclic_components(graph);
  while (!components.empty() && cycles.size() <= most) {
    const std::vector<Vertex> names = std::move(components.back());
    components.pop_back();
    const Graph part = induced(graph, names);
    for (Cycle& circuit : CircuitsThrough(part, 0, most + 1 - cycles.size()).run()) {
      for (Vertex& vertex : circuit) vertex = names[vertex];
      cycles.push_back(std::move(circuit));
    }
    // Whatever is left has no circuit through the first vertex.
    const std::span<const Vertex> rest = std::span(names).subspan(1);
    for (std::vector<Vertex>& component : cyclic_components(induced(graph, rest))) {
      for (Vertex& vertex : component) vertex = rest[vertex];
      components.push_back(std::move(component));
    }
  }
  return cycles;
}

}  // namespace portcullis::pfc::cbd
