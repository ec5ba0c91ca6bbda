// SPDX-License-Identifier: BSD-3-Clause
//
// A directed graph in rows of one array, for graphs of millions of edges, and its strongly
// connected components. Knows nothing of fabrics.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace portcullis::pfc::cbd {

using Vertex = std::uint32_t;
using Edge = std::pair<Vertex, Vertex>;  // from, to

class Graph {
 public:
  Graph() = default;
  /// Rows are filled in any order of vertices, one vertex after the other.
  explicit Graph(std::size_t vertices) : begin_(vertices), end_(vertices) {}
  /// The edges as given, sorted, each once.
  Graph(std::size_t vertices, std::vector<Edge> edges);

  /// Begins the row of `from`, which has none yet; edges follow by add_target().
  void begin_row(Vertex from) {
    begin_[from] = end_[from] = targets_.size();
    row_ = from;
  }
  void add_target(Vertex to) {
    targets_.push_back(to);
    end_[row_] = targets_.size();
  }

  [[nodiscard]] std::size_t size() const noexcept { return begin_.size(); }
  [[nodiscard]] std::size_t edges() const noexcept { return targets_.size(); }
  [[nodiscard]] std::span<const Vertex> out(Vertex from) const noexcept {
    return {targets_.data() + begin_[from], end_[from] - begin_[from]};
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<std::size_t> end_;
  std::vector<Vertex> targets_;
  Vertex row_ = 0;
};

/// The strongly connected components that hold a cycle: of two vertices or more, or of one with an
/// edge to itself. Vertices ascend; components are in the order of their first vertex.
[[nodiscard]] std::vector<std::vector<Vertex>> cyclic_components(const Graph& graph);

/// `graph` among `vertices` (ascending) alone; vertex i of the result is vertices[i].
[[nodiscard]] Graph induced(const Graph& graph, std::span<const Vertex> vertices);

}  // namespace portcullis::pfc::cbd
