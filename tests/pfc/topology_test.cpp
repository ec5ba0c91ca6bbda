// SPDX-License-Identifier: BSD-3-Clause
//
// Topologies built by code: neighbours, paths, and every problem that a check knows.
#include "pfc/topology.hpp"

#include <gmock/gmock.h>

namespace portcullis::pfc {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

/// h -> a -> b with one flow.
Topology line() {
  Topology topology;
  topology.add_node("h", NodeKind::Host);
  topology.add_node("a", NodeKind::Switch);
  topology.add_node("b", NodeKind::Switch);
  topology.add_link(0, 1);
  topology.add_link(1, 2);
  EXPECT_TRUE(topology.add_flow("f", {0, 1, 2}).has_value());
  return topology;
}

std::string problem_of(const Topology& topology) {
  const auto checked = check(topology);
  return checked ? "none" : checked.error().text;
}

TEST(Topology, Line_IsWithoutProblem) { EXPECT_EQ(problem_of(line()), "none"); }

TEST(Topology, FlowOverNodesThatAreNotLinked_IsNotFound) {
  Topology topology = line();
  EXPECT_EQ(topology.add_flow("g", {0, 2}).error().text, "flow g: no link from h to b");
  EXPECT_EQ(topology.flows.size(), 1u);
}

TEST(TopologyIndex, FindsNodesLinksAndNeighbours) {
  const Topology topology = line();
  const TopologyIndex index(topology);
  EXPECT_EQ(index.node("b"), 2u);
  EXPECT_EQ(index.node("c"), std::nullopt);
  EXPECT_EQ(index.link("a-b"), 1u);
  EXPECT_EQ(index.link_between(0, 1), 0u);
  EXPECT_EQ(index.link_between(1, 0), std::nullopt);
  EXPECT_THAT(index.links_from(1), ElementsAre(1u));
}

/// One value changed, and what check() answers.
struct Damage {
  const char* name;
  void (*apply)(Topology&);
  const char* answer;
};

class TopologyCheck : public ::testing::TestWithParam<Damage> {};

TEST_P(TopologyCheck, Damage_IsNamed) {
  Topology topology = line();
  GetParam().apply(topology);
  EXPECT_THAT(problem_of(topology), StartsWith(GetParam().answer));
}

constexpr Damage kDamages[] = {
    {"TwoNodesOfOneName", [](Topology& t) { t.nodes[2].name = "a"; }, "nodes[2].name: \"a\""},
    {"NegativeCapacity", [](Topology& t) { t.links[1].capacity = -1; }, "links[1].capacity: -1"},
    {"NoCapacity", [](Topology& t) { t.links[1].capacity = 0; }, "links[1].capacity: 0"},
    {"NegativeDelay", [](Topology& t) { t.links[0].delay = -0.5; }, "links[0].delay: -0.5"},
    {"ThresholdOverBuffer", [](Topology& t) { t.links[0].buffer = 0.5; },
     "links[0].xoff: 1; at most buffer, 0.5"},
    {"XonOverXoff", [](Topology& t) { t.links[0].xon = 2; },
     "links[0].xon: 2; above 0 and at most"},
    {"XonOfZero", [](Topology& t) { t.links[0].xon = 0; }, "links[0].xon: 0;"},
    {"LinkToItself", [](Topology& t) { t.links[1].to = 1; }, "links[1].to: \"a\" is linked"},
    {"LinkToNowhere", [](Topology& t) { t.links[1].to = 9; }, "links[1].to: no such node"},
    {"AlphaWithoutSharedBuffer", [](Topology& t) { t.nodes[1].alpha = 1; },
     "nodes[1].alpha: a dyn"},
    {"PathThatDoesNotConnect", [](Topology& t) { t.flows[0].path = {1}; },
     "flows[0].path: the links do not connect at node h"},
    {"PathThatEndsElsewhere", [](Topology& t) { t.flows[0].path = {0}; },
     "flows[0].path: ends at a, not at b"},
    {"LoopWithoutTtl", [](Topology& t) { t.flows[0].path.clear(); }, "flows[0].ttl: the routes"},
    {"PriorityOf8", [](Topology& t) { t.flows[0].priority = 8; }, "flows[0].priority: 8"},
    {"StopBeforeStart",
     [](Topology& t) { t.flows[0].source.start = 2, t.flows[0].source.stop = 1; },
     "flows[0].stop: 1; at least start, 2"},
    {"NegativeRate",
     [](Topology& t) {
       t.flows[0].source.kind = SourceKind::Rate;
       t.flows[0].source.rate = -0.1;
     },
     "flows[0].rate: -0.1"},
    {"PointsThatFall",
     [](Topology& t) {
       t.flows[0].source.kind = SourceKind::Points;
       t.flows[0].source.points = {{0, 1}, {1, 0.5}};
     },
     "flows[0].points: number 1 is [1, 0.5]"},
    {"RouteOverAnotherNodesLink",
     [](Topology& t) {
       t.routes = {{2, 1, 0}};
     },
     "routes[0].via: the"},
    {"UnitsOfZero", [](Topology& t) { t.units.time_s = 0; },
     "units.time_s: 0; a number above 0 is accepted"},
    {"UnitsTooLarge", [](Topology& t) { t.units.data_bytes = 1e308; },
     "units.data_bytes: 1e+308; 1e-50 to 1e+50 is accepted"},
    {"CapacityTooSmall", [](Topology& t) { t.links[1].capacity = 1e-306; },
     "links[1].capacity: 1e-306; 1e-50 to 1e+50 is accepted"},
    {"DelayTooSmall", [](Topology& t) { t.links[1].delay = 1e-320; },
     "links[1].delay: 1e-320; 0, "},
    {"XonTooSmall", [](Topology& t) { t.links[1].xon = 1e-60; },
     "links[1].xon: 1e-60; 1e-50 to 1e+50, or \"unlimited\", is accepted"},
    {"RateWithoutEnd",
     [](Topology& t) {
       t.flows[0].source.kind = SourceKind::Rate;
       t.flows[0].source.rate = kUnlimited;
     },
     "flows[0].rate: unlimited; 0, or 1e-50 to 1e+50, is accepted"},
    {"RateTooLarge",
     [](Topology& t) {
       t.flows[0].source.kind = SourceKind::Rate;
       t.flows[0].source.rate = 1e308;
     },
     "flows[0].rate: 1e+308; 0, or 1e-50 to 1e+50, is accepted"},
    {"PointsTooLarge",
     [](Topology& t) {
       t.flows[0].source.kind = SourceKind::Points;
       t.flows[0].source.points = {{0, 1e300}};
     },
     "flows[0].points: number 0 is [0, 1e+300]"},
};

INSTANTIATE_TEST_SUITE_P(All, TopologyCheck, ::testing::ValuesIn(kDamages),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(Topology, PathThroughAHost_IsRefused) {
  Topology topology = line();
  topology.nodes[1].kind = NodeKind::Host;
  EXPECT_THAT(problem_of(topology), StartsWith("flows[0].path: goes through the host a"));
}

TEST(Topology, PathThatEndsAtAHost_IsWithoutProblem) {
  Topology topology = line();
  topology.nodes[2].kind = NodeKind::Host;
  EXPECT_EQ(problem_of(topology), "none");
}

TEST(Topology, LinkTakenTwice_NeedsATtl) {
  Topology topology = line();
  topology.add_link(2, 1);
  topology.flows[0].path = {0, 1, 2, 1};
  EXPECT_THAT(problem_of(topology), StartsWith("flows[0].path: takes the link a-b twice"));
  topology.flows[0].ttl = 4;
  EXPECT_EQ(problem_of(topology), "none");
}

}  // namespace
}  // namespace portcullis::pfc
