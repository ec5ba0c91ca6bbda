// SPDX-License-Identifier: BSD-3-Clause
//
// The graph that stays acyclic, and the exhaustive searches.
#include "pfc/cbd/acyclic.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <vector>

#include "pfc/cbd/hitting_set.hpp"

namespace portcullis::pfc::cbd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using Edges = std::vector<Edge>;

TEST(AcyclicGraph, EdgeThatClosesACycle_IsRefused) {
  AcyclicGraph graph({0, 1, 2});
  EXPECT_TRUE(graph.try_add(Edges{{0, 1}, {1, 2}}));
  EXPECT_FALSE(graph.try_add(Edges{{2, 0}}));
}

TEST(AcyclicGraph, EdgeAgainstTheOrder_IsTakenAndKept) {
  AcyclicGraph graph({0, 1, 2});
  EXPECT_TRUE(graph.try_add(Edges{{2, 0}}));
  EXPECT_FALSE(graph.try_add(Edges{{0, 2}}));
  EXPECT_TRUE(graph.try_add(Edges{{0, 1}, {2, 1}}));
}

TEST(AcyclicGraph, RefusedGroup_LeavesNothingBehind) {
  AcyclicGraph graph({0, 1, 2, 3});
  EXPECT_TRUE(graph.try_add(Edges{{1, 0}}));
  EXPECT_FALSE(graph.try_add(Edges{{2, 3}, {3, 1}, {0, 1}}));
  EXPECT_TRUE(graph.try_add(Edges{{3, 2}, {1, 3}}));
}

TEST(AcyclicGraph, EdgeToItself_IsRefused) {
  AcyclicGraph graph({0, 1});
  EXPECT_FALSE(graph.try_add(Edges{{1, 1}}));
}

/// The first edge that is taken or refused against what a graph built anew says of it.
std::string disagreement(std::uint32_t seed) {
  constexpr Vertex kVertices = 7;
  std::mt19937 random(seed);
  std::vector<Vertex> order(kVertices);
  for (Vertex i = 0; i < kVertices; ++i) order[i] = kVertices - 1 - i;
  AcyclicGraph graph(order);
  Edges taken;
  for (int i = 0; i < 40; ++i) {
    const Edge edge(random() % kVertices, random() % kVertices);
    Edges with = taken;
    with.push_back(edge);
    const bool is_acyclic = cyclic_components(Graph(kVertices, with)).empty();
    if (graph.try_add(std::span(&edge, 1)) != is_acyclic)
      return "edge " + std::to_string(i) + " of seed " + std::to_string(seed);
    if (is_acyclic) taken = with;
  }
  return {};
}

TEST(AcyclicGraph, RandomEdges_AreTakenExactlyWhenNoCycleCloses) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) ASSERT_EQ(disagreement(seed), "");
}

TEST(ForwardOrder, OfAnAcyclicGraph_HasEveryEdgeForward) {
  EXPECT_THAT(forward_order(Graph(4, {{3, 1}, {1, 0}, {3, 2}, {2, 0}})),
              ::testing::AnyOf(ElementsAre(3u, 2u, 1u, 0u), ElementsAre(3u, 1u, 2u, 0u)));
}

std::size_t backwards(const std::vector<Edge>& edges, const std::vector<Vertex>& order) {
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  return static_cast<std::size_t>(std::ranges::count_if(
      edges, [&](const Edge& edge) { return place[edge.first] > place[edge.second]; }));
}

TEST(ForwardOrder, NoVertexElsewhere_HasFewerEdgesBackwards) {
  constexpr std::size_t kVertices = 60;
  std::mt19937 random(1);
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < 6 * kVertices; ++i)
    edges.emplace_back(static_cast<Vertex>(random() % kVertices),
                       static_cast<Vertex>(random() % kVertices));
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  const std::vector<Vertex> order = forward_order(Graph(kVertices, edges));
  const std::size_t least = backwards(edges, order);
  for (std::size_t from = 0; from < kVertices; ++from)
    for (std::size_t to = 0; to < kVertices; ++to) {
      std::vector<Vertex> other = order;
      other.erase(other.begin() + static_cast<std::ptrdiff_t>(from));
      other.insert(other.begin() + static_cast<std::ptrdiff_t>(to), order[from]);
      EXPECT_GE(backwards(edges, other), least) << from << " to " << to;
    }
}

TEST(HittingSet, ItemInEverySet_IsEnough) {
  EXPECT_THAT(smallest_hitting_set({{1, 7}, {7, 2}, {3, 7}}), ElementsAre(7u));
}

TEST(HittingSet, GreedyChoice_IsNotTaken) {
  // 9 hits most, and then two more are needed; 1 and 2 hit all.
  EXPECT_THAT(smallest_hitting_set({{1, 9}, {1, 9}, {2, 9}, {2, 9}, {1, 5}, {2, 6}}),
              ElementsAre(1u, 2u));
}

TEST(HittingSet, NoSets_NeedNothing) { EXPECT_THAT(smallest_hitting_set({}), IsEmpty()); }

TEST(SmallestUnion, SharedItems_CountOnce) {
  // {1,2} and {1,2,3} together are three; the single 4 and 5, 6 with it are three as well but 4
  // only serves the first choice.
  EXPECT_THAT(smallest_union({{{4}, {1, 2}}, {{1, 2}, {5, 6, 7}}}, 1000),
              Optional(ElementsAre(1u, 2u)));
}

TEST(SmallestUnion, TooFewSteps_GiveNothing) {
  EXPECT_EQ(smallest_union({{{1}, {2}}, {{3}, {4}}}, 2), std::nullopt);
}

}  // namespace
}  // namespace portcullis::pfc::cbd
