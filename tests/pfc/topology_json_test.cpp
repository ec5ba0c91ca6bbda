// SPDX-License-Identifier: BSD-3-Clause
//
// Topologies as users write them: what is read, and one line for each mistake.
#include "pfc/topology_json.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "pfc/cbd/generators.hpp"

namespace portcullis::pfc {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kGood = R"({
  "name": "line",
  "units": {"time_s": 1e-6, "data_bytes": 1000},
  "defaults": {"delay": 0.125, "xoff": 2},
  "nodes": [{"name": "h", "kind": "host"}, {"name": "a"}, {"name": "b", "x": 3, "y": 4}],
  "links": [
    {"from": "h", "to": "a"},
    {"from": "a", "to": "b", "both_ways": true, "xoff": 4, "xon": 3, "capacity": 2}
  ],
  "routes": {"a": {"b": ["b"]}},
  "flows": [
    {"name": "f", "path": ["h", "a", "b"]},
    {"name": "r", "from": "h", "to": "b", "rate": 0.25, "start": 1, "stop": 9, "buffer": 7},
    {"name": "p", "links": ["h-a", "a-b"], "points": [[0, 0], [2, 1]], "priority": 3}
  ]
})";

/// kGood with its first `from` replaced.
std::string damaged(std::string_view from, std::string_view to) {
  std::string text(kGood);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  const auto topology = parse_topology(text, "x.json");
  return topology ? "none" : topology.error().text;
}

TEST(TopologyJson, EveryField_IsRead) {
  const auto topology = parse_topology(kGood, "x.json");
  ASSERT_TRUE(topology.has_value()) << topology.error().text;
  EXPECT_EQ(topology->units.data_bytes, 1000);
  EXPECT_EQ(topology->nodes[0].kind, NodeKind::Host);
  EXPECT_EQ(topology->nodes[2].y, 4);
  ASSERT_EQ(topology->links.size(), 3u);
  EXPECT_EQ(topology->links[0].delay, 0.125);
  EXPECT_EQ(topology->links[0].xon, 2);
  EXPECT_EQ(topology->links[2].name, "b-a");
  EXPECT_EQ(topology->links[2].xon, 3);
  EXPECT_EQ(topology->links[2].capacity, 2);
  EXPECT_THAT(topology->flows[0].path, ElementsAre(0u, 1u));
  EXPECT_THAT(topology->flows[1].path, ElementsAre(0u, 1u));
  EXPECT_THAT(topology->flows[2].path, ElementsAre(0u, 1u));
  EXPECT_EQ(topology->flows[1].source.rate, 0.25);
  EXPECT_EQ(topology->flows[1].source.buffer, 7);
  EXPECT_EQ(topology->flows[2].source.points[1].data, 1);
  EXPECT_EQ(topology->flows[2].priority, 3u);
}

TEST(TopologyJson, Topology_IsReadBackAsItWas) {
  const auto topology = parse_topology(kGood, "x.json");
  ASSERT_TRUE(topology.has_value());
  const std::string text = to_json(*topology);
  const auto again = parse_topology(text, "again");
  ASSERT_TRUE(again.has_value()) << again.error().text;
  EXPECT_EQ(to_json(*again), text);
  EXPECT_EQ(again->links[2].xoff, 4);
  EXPECT_EQ(again->flows[1].source.stop, 9);
  EXPECT_EQ(again->routes.size(), 1u);
  EXPECT_TRUE(again->flows[1].is_routed);
  EXPECT_FALSE(again->flows[0].is_routed);
}

/// Routes as they are, in an order of their own.
std::vector<std::tuple<NodeId, NodeId, LinkId>> routes_of(const Topology& topology) {
  std::vector<std::tuple<NodeId, NodeId, LinkId>> routes;
  for (const Route& route : topology.routes)
    routes.emplace_back(route.node, route.destination, route.via);
  std::ranges::sort(routes);
  return routes;
}

TEST(TopologyJson, FatTreeOf16Ports_IsBelowAMegabyteAndTheSameAgain) {
  const Topology tree = *cbd::fat_tree(16, true);
  const std::string text = to_json(tree);
  EXPECT_LT(text.size(), 1'000'000u);
  const auto again = parse_topology(text, "again");
  ASSERT_TRUE(again.has_value()) << again.error().text;
  EXPECT_EQ(routes_of(*again), routes_of(tree));
  EXPECT_EQ(again->links.size(), tree.links.size());
}

/// Two leaves and a spine with a table each; what TABLES stands for decides.
std::string leaves_with(std::string_view tables) {
  return fmt::format(R"({{"nodes": [{{"name": "h0", "kind": "host"}},
    {{"name": "h1", "kind": "host"}}, {{"name": "l0"}}, {{"name": "l1"}}, {{"name": "s"}}],
    "links": [{{"from": "h0", "to": "l0", "both_ways": true}},
      {{"from": "h1", "to": "l1", "both_ways": true}},
      {{"from": "l0", "to": "s", "both_ways": true}},
      {{"from": "l1", "to": "s", "both_ways": true}}],
    "routes": {},
    "flows": [{{"name": "f", "from": "h0", "to": "h1"}}]}})",
                     tables);
}

TEST(TopologyJson, RouteToASwitch_ServesTheHostsBehindIt) {
  const auto topology =
      parse_topology(leaves_with(R"({"l0": {"l1": ["s"]}, "s": {"l1": ["l1"]}})"), "x");
  ASSERT_TRUE(topology.has_value()) << topology.error().text;
  EXPECT_THAT(topology->flows[0].path, ElementsAre(0u, 4u, 7u, 3u));
}

TEST(TopologyJson, Star_StandsForWhatATableDoesNotName) {
  const auto star = parse_topology(
      leaves_with(R"({"l0": {"*": ["s"]}, "l1": {"*": ["s"]}, "s": {"l0": ["l0"], "l1": ["l1"]}})"),
      "x");
  const auto named = parse_topology(
      leaves_with(
          R"({"l0": {"l1": ["s"]}, "l1": {"l0": ["s"]}, "s": {"l0": ["l0"], "l1": ["l1"]}})"),
      "x");
  ASSERT_TRUE(star.has_value()) << star.error().text;
  EXPECT_EQ(routes_of(*star), routes_of(*named));
}

/// Leaves l0 and l1 have a cable of their own; what is behind l1 goes by the star all the same.
TEST(TopologyJson, StarBesideACableToTheDestinationsSwitch_IsTaken) {
  std::string text = leaves_with(R"({"l0": {"*": ["s"]}, "s": {"l1": ["l1"]}})");
  const std::string cable = R"({"from": "l0", "to": "s", "both_ways": true},)";
  text.insert(text.find(cable), R"({"from": "l0", "to": "l1", "both_ways": true}, )");
  const auto topology = parse_topology(text, "x");
  ASSERT_TRUE(topology.has_value()) << topology.error().text;
  EXPECT_THAT(topology->flows[0].path, ElementsAre(0u, 6u, 9u, 3u));
}

TEST(TopologyJson, NameWithAControlCharacter_IsRefusedInOneLine) {
  EXPECT_EQ(error_of(damaged("\"name\": \"a\"", "\"name\": \"a\\nb\\u001b\"")),
            "x.json:5: nodes[1].name: \"a b \" with a control character; none is accepted");
}

TEST(TopologyJson, StarToNoNeighbour_IsNamed) {
  EXPECT_EQ(error_of(leaves_with(R"({"l0": {"*": ["l1"]}})")),
            "x.json:7: routes.l0.*[0]: \"l1\" is neither a neighbour nor a link of l0");
}

/// Three switches in a ring with a host at each; x sends to s1 and nobody to it.
std::string ring(const std::string& routes) {
  return R"({"name": "ring",
 "nodes": [{"name": "s1"}, {"name": "s2"}, {"name": "s3"}, {"name": "x"},
 {"name": "a", "kind": "host"}, {"name": "b", "kind": "host"}, {"name": "c", "kind": "host"}],
 "links": [{"from": "s1", "to": "s2", "both_ways": true}, {"from": "x", "to": "s1"},
 {"from": "s2", "to": "s3", "both_ways": true}, {"from": "s3", "to": "s1", "both_ways": true},
 {"from": "a", "to": "s1", "both_ways": true}, {"from": "b", "to": "s2", "both_ways": true},
 {"from": "c", "to": "s3", "both_ways": true}], "routes": {)" +
         routes + "}}";
}
std::vector<std::string> sorted_routes(const Topology& topology) {
  std::vector<std::string> all;
  for (const Route& route : topology.routes)
    all.push_back(topology.nodes[route.node].name + " " + topology.nodes[route.destination].name +
                  " " + topology.links[route.via].name);
  std::ranges::sort(all);
  return all;
}

class RoutesAgain : public ::testing::TestWithParam<const char*> {};

TEST_P(RoutesAgain, AreThoseThatWereWritten) {
  const auto first = parse_topology(ring(GetParam()), "first");
  ASSERT_TRUE(first.has_value()) << first.error().text;
  const auto again = parse_topology(to_json(*first), "again");
  ASSERT_TRUE(again.has_value()) << again.error().text;
  EXPECT_EQ(sorted_routes(*again), sorted_routes(*first));
}

INSTANTIATE_TEST_SUITE_P(
    TopologyJson, RoutesAgain,
    ::testing::Values(
        // A host has a way of its own beside its switch's.
        R"("s1": {"a": ["a"], "b": ["s3"], "c": ["s3"], "s2": ["s2"]},
           "s2": {"a": ["s1"], "b": ["b"], "c": ["s1"]},
           "s3": {"a": ["s2"], "b": ["s2"], "c": ["c"], "s2": ["s2"]})",
        // To a switch that no neighbour sends to.
        R"("s1": {"a": ["a"], "b": ["s2"], "c": ["s3"], "x": ["s2"]},
           "s2": {"a": ["s3"], "b": ["b"], "c": ["s3"], "x": ["s3"]},
           "s3": {"a": ["s1"], "b": ["s1"], "c": ["c"], "x": ["s1"]})",
        // Dropped at s3, though its switch's way is known there.
        R"("s1": {"s2": ["s2"], "b": ["s2"]}, "s2": {"b": ["b"]}, "s3": {"s2": ["s2"], "b": []})"));

TEST(TopologyJson, DestinationWithoutANextHop_IsDroppedWhereItsSwitchIsKnown) {
  const auto with =
      parse_topology(ring(R"("s3": {"s2": ["s2"], "b": []}, "s2": {"b": ["b"]})"), "x");
  const auto without = parse_topology(ring(R"("s3": {"s2": ["s2"]}, "s2": {"b": ["b"]})"), "x");
  ASSERT_TRUE(with.has_value() && without.has_value());
  EXPECT_EQ(with->routes.size() + 1, without->routes.size());
}

TEST(TopologyJson, LinksThatDiffer_KeepTheirNumbers) {
  Topology topology = *cbd::ring(4, 2);
  topology.links[1].xoff = 3;
  topology.links[2].xoff = topology.links[2].xon = kUnlimited;
  topology.links[3].xon = 0.5;
  topology.links[4].buffer = 2;
  topology.links[5].delay = 0.25;
  topology.links[6].name = "odd";
  const auto again = parse_topology(to_json(topology), "again");
  ASSERT_TRUE(again.has_value()) << again.error().text;
  const auto numbers = [](const Link& link) {
    return std::tuple(link.name, link.from, link.to, link.capacity, link.delay, link.xoff, link.xon,
                      link.buffer);
  };
  for (std::size_t i = 0; i < topology.links.size(); ++i)
    EXPECT_EQ(numbers(again->links[i]), numbers(topology.links[i])) << i;
}

TEST(TopologyJson, NextHopOverSeveralLinks_IsAllOfThem) {
  const std::string text = R"({"nodes": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
    "links": [{"from": "a", "to": "b"}, {"name": "second", "from": "a", "to": "b"},
      {"from": "b", "to": "c"}],
    "routes": {"a": {"c": ["b"]}, "b": {"c": ["c"]}}})";
  const auto both = parse_topology(text, "x");
  ASSERT_TRUE(both.has_value()) << both.error().text;
  EXPECT_THAT(routes_of(*both),
              ElementsAre(std::tuple(0u, 2u, 0u), std::tuple(0u, 2u, 1u), std::tuple(1u, 2u, 2u)));
  EXPECT_EQ(routes_of(*parse_topology(to_json(*both), "y")), routes_of(*both));
  std::string one = text;
  one.replace(one.find("[\"b\"]"), 5, "[\"second\"]");
  EXPECT_THAT(routes_of(*parse_topology(one, "x")),
              ElementsAre(std::tuple(0u, 2u, 1u), std::tuple(1u, 2u, 2u)));
}

TEST(TopologyJson, NextHopThatIsANeighbourAndALink_IsRefused) {
  EXPECT_THAT(error_of(R"({"nodes": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
    "links": [{"from": "a", "to": "b"}, {"name": "b", "from": "a", "to": "c"}],
    "routes": {"a": {"c": ["b"]}}})"),
              ::testing::HasSubstr("routes.a.c[0]: \"b\" is a neighbour and a link of a"));
}

TEST(TopologyJson, Rewrites_AreReadBackAsTheyWere) {
  const std::string text =
      damaged("\"flows\"",
              R"("rewrites": [{"from": "h-a", "to": "a-b", "was": 3, "becomes": 4}], "flows")");
  const auto topology = parse_topology(text, "x.json");
  ASSERT_TRUE(topology.has_value()) << topology.error().text;
  const auto again = parse_topology(to_json(*topology), "again");
  ASSERT_TRUE(again.has_value()) << again.error().text;
  ASSERT_EQ(again->rewrites.size(), 1u);
  EXPECT_EQ(again->rewrites[0].to, 1u);
  EXPECT_EQ(again->rewrites[0].was, 3u);
  EXPECT_EQ(again->rewrites[0].becomes, 4u);
}

TEST(TopologyJson, Priorities_AreReadBackAsTheyWere) {
  const auto topology =
      parse_topology(damaged("\"flows\"", R"("priorities": [0, 3, 5], "flows")"), "x");
  ASSERT_TRUE(topology.has_value()) << topology.error().text;
  EXPECT_THAT(parse_topology(to_json(*topology), "again")->priorities, ElementsAre(0u, 3u, 5u));
}

struct Mistake {
  const char* name;
  const char* from;
  const char* to;
  const char* answer;
};

class TopologyMistake : public ::testing::TestWithParam<Mistake> {};

TEST_P(TopologyMistake, IsOneLineWithFileLineAndField) {
  EXPECT_EQ(error_of(damaged(GetParam().from, GetParam().to)), GetParam().answer);
}

constexpr Mistake kMistakes[] = {
    {"UnknownNode", "[\"h\", \"a\", \"b\"]", "[\"h\", \"c\", \"b\"]",
     "x.json:12: flows[0].path[1]: no node \"c\"; one of \"nodes\" is accepted"},
    {"NodesThatAreNotLinked", "[\"h\", \"a\", \"b\"]", "[\"h\", \"b\"]",
     "x.json:12: flows[0].path[1]: no link from h to b"},
    {"NegativeCapacity", "\"capacity\": 2", "\"capacity\": -2",
     "x.json:8: links[1].capacity: -2; a number above 0 is accepted"},
    {"UnitsBelow0", "\"time_s\": 1e-6", "\"time_s\": -1",
     "x.json:3: units.time_s: -1; a number above 0 is accepted"},
    {"CapacityBeyondADouble", "\"capacity\": 2", "\"capacity\": 1e400",
     "x.json:8: links[1].capacity: 1e400; a number up to 1.8e+308 is accepted"},
    {"NegativeDelayOfAllLinks", "\"delay\": 0.125", "\"delay\": -1",
     "x.json:7: links[0]: delay: -1; 0 or more is accepted"},
    {"XonOverXoff", "\"xon\": 3", "\"xon\": 5",
     "x.json:8: links[1].xon: 5; above 0 and at most xoff, 4, is accepted"},
    {"ThresholdOverBuffer", "\"xon\": 3", "\"buffer\": 3",
     "x.json:8: links[1].xoff: 4; at most buffer, 3, is accepted"},
    {"UnknownField", "\"rate\"", "\"rates\"",
     "x.json:13: flows[1].rates: no such field; accepted are name, path, links, from, to, "
     "priority, ttl, rate, points, start, stop, buffer"},
    {"TextForANumber", "\"rate\": 0.25", "\"rate\": \"fast\"",
     "x.json:13: flows[1].rate: a number expected, a string found"},
    {"LinksThatDoNotConnect", "[\"h-a\", \"a-b\"]", "[\"h-a\", \"b-a\"]",
     "x.json:14: flows[2].links[1]: \"b-a\" does not begin where \"h-a\" ends"},
    {"NextHopThatIsNoNeighbour", "{\"b\": [\"b\"]}", "{\"b\": [\"h\"]}",
     "x.json:10: routes.a.b[0]: \"h\" is neither a neighbour nor a link of a"},
    {"TwoFlowsOfOneName", "\"name\": \"r\"", "\"name\": \"f\"",
     "x.json:13: flows[1].name: \"f\" is the name of one before already; names differ"},
    {"NoWay", "\"path\": [\"h\", \"a\", \"b\"]", "\"ttl\": 4",
     "x.json:12: flows[0]: one of \"path\" (nodes), \"links\" (links), or \"from\" and \"to\" "
     "expected"},
    {"RewriteThatDoesNotConnect", "\"flows\"",
     "\"rewrites\": [{\"from\": \"a-b\", \"to\": \"a-b\", \"was\": 0, \"becomes\": 1}], \"flows\"",
     "x.json:11: rewrites[0].to: \"a-b\" does not begin where \"a-b\" ends"},
    {"RewriteTwice", "\"flows\"",
     "\"rewrites\": [{\"from\": \"h-a\", \"to\": \"a-b\", \"was\": 0, \"becomes\": 1}, {\"from\": "
     "\"h-a\", \"to\": \"a-b\", \"was\": 0, \"becomes\": 2}], \"flows\"",
     "x.json:11: rewrites[1].was: 0 a second time from \"h-a\" to \"a-b\"; once is accepted"},
    {"RewriteWithoutAPriority", "\"flows\"",
     "\"rewrites\": [{\"from\": \"h-a\", \"to\": \"a-b\", \"was\": 0}], \"flows\"",
     "x.json:11: rewrites[0]: no \"becomes\"; a priority expected"},
    {"PrioritiesWithoutThatOfAFlow", "\"flows\"", "\"priorities\": [1, 3], \"flows\"",
     "x.json:12: flows[0]: priority: 0; one of the fabric's \"priorities\", 1, 3, is accepted"},
    {"PrioritiesThatDoNotAscend", "\"flows\"", "\"priorities\": [3, 0], \"flows\"",
     "x.json:11: priorities[1]: 0 behind 3; priorities that ascend are accepted"},
    {"PrioritiesOfNone", "\"flows\"", "\"priorities\": [], \"flows\"",
     "x.json:11: priorities: none; at least one is accepted"},
    {"PriorityOf8", "\"priority\": 3", "\"priority\": 8",
     "x.json:14: flows[2].priority: 8; a whole number from 0 to 7 is accepted"},
};

INSTANTIATE_TEST_SUITE_P(All, TopologyMistake, ::testing::ValuesIn(kMistakes),
                         [](const auto& parameter) { return parameter.param.name; });

constexpr std::string_view kLoop = R"({"nodes": [{"name": "h", "kind": "host"}, {"name": "a"},
  {"name": "b"}, {"name": "c"}, {"name": "d", "kind": "host"}],
  "links": [{"from": "h", "to": "a"}, {"from": "a", "to": "b", "both_ways": true},
    {"from": "b", "to": "c"}, {"from": "a", "to": "c"}, {"from": "c", "to": "d"}],
  "routes": {"a": {"d": ["b"]}, "b": {"d": ["a"]}},
  "flows": [{"name": "f", "from": "h", "to": "d"TTL}]})";

std::string loop_with(std::string_view ttl) {
  std::string text(kLoop);
  return text.replace(text.find("TTL"), 3, ttl);
}

TEST(TopologyJson, RoutingLoop_NeedsATtl) {
  EXPECT_EQ(error_of(loop_with("")),
            "x.json:6: flows[0]: its routes are a loop through a; a \"ttl\" or other routes are "
            "accepted");
  const auto topology = parse_topology(loop_with(", \"ttl\": 16"), "x.json");
  ASSERT_TRUE(topology.has_value()) << topology.error().text;
  EXPECT_TRUE(topology->flows[0].path.empty());
  EXPECT_EQ(topology->flows[0].ttl, 16u);
}

TEST(TopologyJson, NodeWithTwoWaysAndNoRoute_IsNamed) {
  std::string text = loop_with("");
  text.replace(text.find(R"("d": ["b"])"), 10, R"("b": ["b"])");
  EXPECT_EQ(error_of(text), "x.json:6: flows[0]: no route at a to d");
}

}  // namespace
}  // namespace portcullis::pfc
