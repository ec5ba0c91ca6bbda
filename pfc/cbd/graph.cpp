// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/graph.hpp"

#include <algorithm>
#include <limits>

namespace portcullis::pfc::cbd {
namespace {

constexpr std::uint32_t kUnseen = 0;
constexpr std::uint32_t kDone = std::numeric_limits<std::uint32_t>::max();

/// R. E. Tarjan, "Depth-first search and linear graph algorithms", 1972, without recursion: a
/// fabric may hold paths of a hundred thousand links.
class Tarjan {
 public:
  explicit Tarjan(const Graph& graph) : graph_(graph), low_(graph.size(), kUnseen) {}

  std::vector<std::vector<Vertex>> run() {
    for (Vertex root = 0; root < graph_.size(); ++root)
      if (low_[root] == kUnseen) search(root);
    std::ranges::sort(components_, {}, [](const auto& component) { return component.front(); });
    return std::move(components_);
  }

 private:
  struct Frame {
    Vertex vertex;
    std::uint32_t number;  // in the order of discovery
    std::uint32_t next;    // the edge to look at
  };

  void enter(Vertex vertex) {
    low_[vertex] = ++numbered_;
    frames_.push_back({vertex, numbered_, 0});
    open_.push_back(vertex);
  }

  void search(Vertex root) {
    enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const auto targets = graph_.out(frame.vertex);
      if (frame.next < targets.size()) {
        const Vertex target = targets[frame.next++];
        if (low_[target] == kUnseen)
          enter(target);
        else if (low_[target] != kDone)
          low_[frame.vertex] = std::min(low_[frame.vertex], low_[target]);
        continue;
      }
      const Frame left = frame;
      frames_.pop_back();
      const std::uint32_t low = low_[left.vertex];
      if (!frames_.empty())
        low_[frames_.back().vertex] = std::min(low_[frames_.back().vertex], low);
      if (low == left.number) close(left.vertex);
    }
  }

  void close(Vertex root) {
    const auto first = std::find(open_.rbegin(), open_.rend(), root).base() - 1;
    const bool is_cyclic = open_.end() - first > 1 ||
                           std::ranges::find(graph_.out(root), root) != graph_.out(root).end();
    for (auto vertex = first; vertex != open_.end(); ++vertex) low_[*vertex] = kDone;
    if (is_cyclic) {
      components_.emplace_back(first, open_.end());
      std::ranges::sort(components_.back());
    }
    open_.erase(first, open_.end());
  }

  const Graph& graph_;
  std::vector<std::uint32_t> low_;  // kUnseen, the lowlink while open, kDone
  std::uint32_t numbered_ = 0;
  std::vector<Frame> frames_;
  std::vector<Vertex> open_;
  std::vector<std::vector<Vertex>> components_;
};

}  // namespace

Graph::Graph(std::size_t vertices, std::vector<Edge> edges) : Graph(vertices) {
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  targets_.reserve(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (i == 0 || edges[i].first != row_) begin_row(edges[i].first);
    add_target(edges[i].second);
  }
}

std::vector<std::vector<Vertex>> cyclic_components(const Graph& graph) {
  return Tarjan(graph).run();
}

Graph induced(const Graph& graph, std::span<const Vertex> vertices) {
  Graph result(vertices.size());
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    result.begin_row(static_cast<Vertex>(i));
    for (const Vertex target : graph.out(vertices[i])) {
      const auto found = std::ranges::lower_bound(vertices, target);
      if (found != vertices.end() && *found == target)
        result.add_target(static_cast<Vertex>(found - vertices.begin()));
    }
  }
  return result;
}

}  // namespace portcullis::pfc::cbd
