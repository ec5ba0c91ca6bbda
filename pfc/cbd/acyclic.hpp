// SPDX-License-Identifier: BSD-3-Clause
//
// A graph that grows and stays acyclic: edges are taken in groups, and a group that would close a
// cycle is refused. What is refused on the way to a whole graph is a set of changes that no smaller
// part of it could replace.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pfc/cbd/graph.hpp"

namespace portcullis::pfc::cbd {

class AcyclicGraph {
 public:
  /// `order` names every vertex once. Edges along it cost nothing, so a good guess saves time.
  explicit AcyclicGraph(const std::vector<Vertex>& order);

  /// All of `edges`, or none of them when they would close a cycle. Edges may be given twice.
  [[nodiscard]] bool try_add(std::span<const Edge> edges);
  /// Of what was added last, in the order in which it was added.
  void take_back(std::span<const Edge> edges) { remove_last(edges.size(), edges); }

 private:
  [[nodiscard]] bool try_add(const Edge& edge);
  [[nodiscard]] bool reaches(Vertex from, Vertex to, std::uint32_t last);
  void collect_into(Vertex vertex, std::uint32_t first);
  void reorder();
  void remove_last(std::size_t count, std::span<const Edge> edges);

  std::vector<std::uint32_t> place_;  // every edge goes from a lower place to a higher one
  std::vector<std::vector<Vertex>> out_;
  std::vector<std::vector<Vertex>> into_;
  std::vector<bool> is_seen_;
  std::vector<Vertex> after_;   // what the edge's end reaches, as far as it has to move
  std::vector<Vertex> before_;  // what reaches the edge's start, likewise
};

/// An order in which few edges of `graph` go backwards: P. Eades, X. Lin, W. F. Smyth, "A fast and
/// effective heuristic for the feedback arc set problem", 1993; then moved vertex by vertex until
/// no such move helps, unless the graph is so large that this is broken off.
[[nodiscard]] std::vector<Vertex> forward_order(const Graph& graph);

}  // namespace portcullis::pfc::cbd
