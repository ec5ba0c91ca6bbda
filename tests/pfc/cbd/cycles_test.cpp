// SPDX-License-Identifier: BSD-3-Clause
//
// Components, shortest cycles and all cycles of graphs drawn by hand; networkx_judge.py has the
// rest.
#include "pfc/cbd/cycles.hpp"

#include <gmock/gmock.h>

namespace portcullis::pfc::cbd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Graph ring(Vertex size) {
  std::vector<Edge> edges;
  for (Vertex i = 0; i < size; ++i) edges.emplace_back(i, (i + 1) % size);
  return {size, edges};
}

Graph complete(Vertex size) {
  std::vector<Edge> edges;
  for (Vertex from = 0; from < size; ++from)
    for (Vertex step = 1; step < size; ++step) edges.emplace_back(from, (from + step) % size);
  return {size, edges};
}

TEST(Graph, EdgesGivenTwice_AreOne) {
  const Graph graph(3, {{2, 0}, {0, 1}, {2, 0}});
  EXPECT_EQ(graph.edges(), 2u);
  EXPECT_THAT(graph.out(2), ElementsAre(0u));
  EXPECT_THAT(graph.out(1), IsEmpty());
}

TEST(Components, AcyclicGraph_HasNone) {
  EXPECT_THAT(cyclic_components(Graph(4, {{0, 1}, {1, 2}, {0, 2}, {2, 3}})), IsEmpty());
}

TEST(Components, TwoRingsWithABridge_AreTwo) {
  const Graph graph(5, {{0, 1}, {1, 0}, {1, 2}, {2, 3}, {3, 4}, {4, 2}});
  EXPECT_THAT(cyclic_components(graph), ElementsAre(ElementsAre(0u, 1u), ElementsAre(2u, 3u, 4u)));
}

TEST(Components, EdgeToItself_IsACycle) {
  EXPECT_THAT(cyclic_components(Graph(2, {{0, 1}, {1, 1}})), ElementsAre(ElementsAre(1u)));
  EXPECT_THAT(shortest_cycle(Graph(2, {{0, 1}, {1, 1}})), ElementsAre(1u));
}

TEST(Components, PathOfAMillion_NeedsNoStack) {
  constexpr Vertex kMany = 1'000'000;
  EXPECT_THAT(cyclic_components(ring(kMany)), ElementsAre(SizeIs(kMany)));
}

TEST(ShortestCycle, AcyclicGraph_HasNone) {
  EXPECT_THAT(shortest_cycle(Graph(3, {{0, 1}, {0, 2}, {1, 2}})), IsEmpty());
}

TEST(ShortestCycle, LongRingWithAChord_TakesTheChord) {
  EXPECT_THAT(shortest_cycle(Graph(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}, {4, 2}})),
              ElementsAre(2u, 3u, 4u));
}

TEST(ShortestCycle, RingOfAHundredThousand_CostsOneSearch) {
  EXPECT_THAT(shortest_cycle(ring(100'000)), SizeIs(100'000));
}

TEST(SimpleCycles, Ring_HasOne) {
  EXPECT_THAT(simple_cycles(ring(4), 20), ElementsAre(ElementsAre(0u, 1u, 2u, 3u)));
}

TEST(SimpleCycles, CompleteGraphOfFour_HasTwenty) {
  // 6 of two vertices, 8 of three, 6 of four.
  EXPECT_THAT(simple_cycles(complete(4), 20), SizeIs(20));
}

TEST(SimpleCycles, MoreThanAskedFor_AreOneMore) {
  EXPECT_THAT(simple_cycles(complete(4), 19), SizeIs(20));
  EXPECT_THAT(simple_cycles(complete(9), 20), SizeIs(21));
}

}  // namespace
}  // namespace portcullis::pfc::cbd
