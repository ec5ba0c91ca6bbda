// SPDX-License-Identifier: BSD-3-Clause
//
// Breaking sets where circles are too many to list: held against exhaustive search on small fabrics
// and against the best that is known of larger ones.
#include "pfc/cbd/feedback.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <vector>

#include "pfc/cbd/acyclic.hpp"
#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/generators.hpp"

namespace portcullis::pfc::cbd {
namespace {

Graph random_graph(Vertex vertices, std::size_t edges, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Edge> list;
  for (std::size_t i = 0; i < edges; ++i)
    list.emplace_back(static_cast<Vertex>(random() % vertices),
                      static_cast<Vertex>(random() % vertices));
  return {vertices, list};
}

/// By trying all sets.
std::size_t fewest_vertices(const Graph& graph) {
  std::size_t fewest = graph.size();
  for (std::uint32_t kept = 0; kept < 1U << graph.size(); ++kept) {
    const auto gone = graph.size() - static_cast<std::size_t>(std::popcount(kept));
    if (gone >= fewest) continue;
    std::vector<Vertex> vertices;
    for (Vertex vertex = 0; vertex < graph.size(); ++vertex)
      if ((kept >> vertex & 1U) != 0) vertices.push_back(vertex);
    if (cyclic_components(induced(graph, vertices)).empty()) fewest = gone;
  }
  return fewest;
}

TEST(FewFeedbackVertices, OfSmallGraphs_AreTheFewest) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Graph graph = random_graph(11, 20 + seed, seed);
    const std::vector<Vertex> gone = few_feedback_vertices(graph, 1);
    std::vector<Vertex> all(graph.size());
    std::iota(all.begin(), all.end(), Vertex{0});
    std::vector<Vertex> kept;
    std::ranges::set_difference(all, gone, std::back_inserter(kept));
    EXPECT_TRUE(cyclic_components(induced(graph, kept)).empty()) << seed;
    EXPECT_EQ(gone.size(), fewest_vertices(graph)) << seed;
  }
}

std::size_t backwards(const Graph& graph, const std::vector<Vertex>& order) {
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::size_t count = 0;
  for (Vertex from = 0; from < graph.size(); ++from)
    for (const Vertex to : graph.out(from)) count += place[to] < place[from] ? 1 : 0;
  return count;
}

TEST(AnnealedOrder, OfSmallGraphs_HasTheFewestEdgesBackwards) {
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    const Graph graph = random_graph(7, 12 + 2 * seed, seed);
    std::vector<Vertex> order(graph.size());
    std::iota(order.begin(), order.end(), Vertex{0});
    const std::size_t found = backwards(graph, annealed_order(graph, order, 1));
    std::size_t fewest = graph.edges();
    do {
      fewest = std::min(fewest, backwards(graph, order));
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(found, fewest) << seed;
  }
}

TEST(AnnealedOrder, IsNeverWorseThanTheOneItBeginsWith) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Graph graph = random_graph(40, 100, seed);
    const std::vector<Vertex> order = forward_order(graph);
    EXPECT_LE(backwards(graph, annealed_order(graph, order, seed)), backwards(graph, order));
  }
}

/// The best known of a fabric: of three searches outside of this repository (annealed orders of the
/// links, annealing of the graph of turns, both a hundred times as long as ours) the best.
struct BestKnown {
  std::string_view name;
  std::size_t turns;
  std::size_t links;
};

class BreakingSets : public ::testing::TestWithParam<BestKnown> {};

TEST_P(BreakingSets, OfSixtySwitches_AreWithinATenthOfTheBestKnown) {
  const Topology fabric = *by_name(GetParam().name);
  const Analysis analysis = analyse(fabric, 0, {});
  ASSERT_EQ(analysis.components.size(), 1u);
  const Breaks& breaks = *analysis.components[0].breaks;
  EXPECT_LE(10 * breaks.turns.changes.size(), 11 * GetParam().turns);
  EXPECT_LE(10 * breaks.links.changes.size(), 11 * GetParam().links);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, BreakingSets,
                         ::testing::Values(BestKnown{"jellyfish:60,4,1", 119, 60},
                                           BestKnown{"jellyfish:60,6,1", 343, 102},
                                           BestKnown{"dragonfly:15,4,4", 332, 96}));

/// Destinations that are left, of those in `kept`, take their turns.
bool is_acyclic_with(const Dependencies& dependencies, std::uint32_t kept) {
  const Graph& graph = dependencies.graph();
  std::vector<Edge> edges;
  for (LinkId from = 0; from < graph.size(); ++from)
    for (const LinkId to : graph.out(from))
      if (std::ranges::any_of(dependencies.users(from, to),
                              [&](const User& user) { return (kept >> user.index & 1U) != 0; }))
        edges.emplace_back(from, to);
  return cyclic_components(Graph(graph.size(), edges)).empty();
}

TEST(BreakingSets, DestinationsToReroute_AreTheFewestOfASmallJellyfish) {
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    const Topology fabric = *jellyfish(11, 3, seed);  // its switches are nodes 0 to 10
    const Dependencies dependencies(fabric, 0, Traffic::All);
    std::size_t fewest = 11;
    for (std::uint32_t kept = 0; kept < 1U << 11; ++kept) {
      const auto gone = 11 - static_cast<std::size_t>(std::popcount(kept));
      if (gone < fewest && is_acyclic_with(dependencies, kept)) fewest = gone;
    }
    const Analysis analysis = analyse(fabric, 0, {});
    ASSERT_EQ(analysis.components.size(), 1u) << seed;
    EXPECT_EQ(analysis.components[0].breaks->users.changes.size(), fewest) << seed;
  }
}

}  // namespace
}  // namespace portcullis::pfc::cbd
