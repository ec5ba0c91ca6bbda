// SPDX-License-Identifier: BSD-3-Clause
//
// Other ways: what is advised is written, read back and judged by the analysis, and by walks of its
// own that ask where data comes to.
#include "pfc/cbd/reroute.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "pfc/cbd/analysis.hpp"
#include "pfc/cbd/failures.hpp"
#include "pfc/cbd/generators.hpp"
#include "pfc/cbd/routing.hpp"
#include "pfc/cbd/split_flows.hpp"
#include "pfc/packet/simulator.hpp"
#include "pfc/topology_json.hpp"

namespace portcullis::pfc::cbd {
namespace {

using ::testing::HasSubstr;

/// Pairs of a node and a destination whose data arrives whichever next hops it takes.
std::set<std::pair<NodeId, NodeId>> arriving(const Topology& topology) {
  std::map<std::pair<NodeId, NodeId>, std::vector<NodeId>> next;
  for (const Route& route : topology.routes)
    next[{route.node, route.destination}].push_back(topology.links[route.via].to);
  std::set<std::pair<NodeId, NodeId>> pairs;
  for (NodeId node = 0; node < topology.nodes.size(); ++node) pairs.emplace(node, node);
  for (std::size_t before = 0; before != pairs.size();) {
    before = pairs.size();
    for (const auto& entry : next) {
      const NodeId destination = entry.first.second;
      const auto arrives = [&](NodeId hop) { return pairs.contains({hop, destination}); };
      if (std::ranges::all_of(entry.second, arrives)) pairs.insert(entry.first);
    }
  }
  return pairs;
}

Topology read_back(const Topology& topology) {
  auto read = parse_topology(to_json(topology), "advice");
  EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().text);
  return read ? *read : Topology{};
}

/// What is wrong with the ways that are found for a fabric; empty: nothing.
std::string fault_of(const Topology& fabric) {
  const auto found = reroute(fabric, {0}, Traffic::All);
  if (!found) return found.error().text;
  const Topology read = read_back(found->topology);
  if (!analyse(read, 0, {.with_breaks = false}).is_free_of_cycles()) return "has a cycle";
  const auto was = arriving(fabric);
  const auto is = arriving(read);
  if (!std::ranges::includes(is, was)) return "something does not arrive";
  if (found->destinations == 0) return "nothing was changed";
  return "";
}

Topology clos_without(const std::vector<std::uint32_t>& cables) {
  Topology fabric = *leaf_spine({.leaves = 4, .spines = 2, .hosts = 2});
  fabric.routes = routes_after(fabric, cables, Reaction::Converged);
  return fabric;
}

TEST(Reroute, CyclicFabrics_GetWaysWithoutACycle) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed)
    EXPECT_EQ(fault_of(*jellyfish(14, 3 + seed % 3, seed)), "") << seed;
  EXPECT_EQ(fault_of(*dragonfly(5, 4, 1)), "");
  EXPECT_EQ(fault_of(*dragonfly(9, 2, 4)), "");
  EXPECT_EQ(fault_of(clos_without({8, 11})), "");
}

TEST(Reroute, SixtySwitches_GetWaysWithoutACycle) {
  EXPECT_EQ(fault_of(*jellyfish(60, 4, 1)), "");
  EXPECT_EQ(fault_of(*dragonfly(15, 4, 4)), "");
}

TEST(Reroute, FabricWithoutACycle_IsLeftAsItIs) {
  const Topology fabric = *fat_tree(4, true);
  const auto found = reroute(fabric, {0}, Traffic::All);
  EXPECT_EQ(found->destinations + found->flows, 0u);
  EXPECT_EQ(to_json(found->topology), to_json(fabric));
}

TEST(Reroute, FlowsRoundARing_OneGoesTheOtherWay) {
  const Topology fabric = *ring(4, 2);
  const auto found = reroute(fabric, {0}, Traffic::All);
  ASSERT_TRUE(found.has_value()) << found.error().text;
  EXPECT_EQ(found->flows, 1u);
  EXPECT_TRUE(analyse(read_back(found->topology), 0, {}).is_free_of_cycles());
}

Topology ring_of_six(std::uint32_t ttl) {
  Topology fabric = *ring(6, 2);
  for (Flow& flow : fabric.flows) flow.ttl = ttl;
  return fabric;
}

using Outgrown = std::vector<OutgrownTtl>;

/// Flows of which the packet simulator, on all ways that they are offered, has some grow too old.
std::set<std::uint32_t> expiring(const Topology& fabric) {
  const auto split = split_flows(fabric);
  EXPECT_TRUE(split.has_value()) << (split ? "" : split.error().text);
  packet::RunOptions options;
  options.until = packet::to_picoseconds(fabric, 100);
  const auto run = packet::simulate(split->topology, options);
  EXPECT_TRUE(run.has_value()) << (run ? "" : run.error().text);
  std::set<std::uint32_t> flows;
  for (std::size_t part = 0; part < run->flows.size(); ++part) {
    EXPECT_GT(run->flows[part].sent, 0u) << part;
    if (run->flows[part].expired > 0) flows.insert(split->origin[part]);
  }
  return flows;
}

std::set<std::uint32_t> flows_of(const Outgrown& outgrown) {
  std::set<std::uint32_t> flows;
  for (const OutgrownTtl& one : outgrown) flows.insert(one.flow);
  return flows;
}

Topology with_ttls_of(Topology fabric, const Outgrown& outgrown) {
  for (const OutgrownTtl& one : outgrown) fabric.flows[one.flow].ttl = one.links;
  return fabric;
}

TEST(Reroute, OtherWaysThatPacketsAreTooOldFor_AreTakenAndTold) {
  // Of four links clockwise, and of six the other way.
  const auto found = reroute(ring_of_six(4), {0}, Traffic::All);
  ASSERT_TRUE(found.has_value()) << found.error().text;
  EXPECT_EQ(found->flows, 1u);
  ASSERT_EQ(found->outgrown.size(), 1u);
  EXPECT_EQ(found->outgrown[0].links, 6u);
  EXPECT_EQ(expiring(found->topology), flows_of(found->outgrown));
  const auto enough = reroute(ring_of_six(6), {0}, Traffic::All);
  ASSERT_TRUE(enough.has_value()) << enough.error().text;
  EXPECT_EQ(enough->flows, 1u);
  EXPECT_EQ(enough->outgrown, Outgrown());
}

/// Tables that lead clockwise to each host from the two switches before its own.
Topology routed_ring_of_six(std::uint32_t ttl) {
  Topology fabric = ring_of_six(ttl);
  for (std::uint32_t host = 0; host < 6; ++host) {
    const NodeId to = fabric.flows[(host + 4) % 6].to;
    for (std::uint32_t back = 0; back < 3; ++back) {
      const std::uint32_t at = (host + 6 - back) % 6;
      fabric.routes.push_back({at, to, back == 0 ? 4 * at + 1 : 4 * at + 2});
    }
  }
  for (Flow& flow : fabric.flows) {
    flow.path.clear();
    flow.is_routed = true;
  }
  return read_back(fabric);
}

TEST(Reroute, RoutedFlowWhoseTtlNewTablesExceed_IsTold) {
  const Topology fabric = routed_ring_of_six(4);
  EXPECT_EQ(expiring(fabric), std::set<std::uint32_t>());
  const auto found = reroute(fabric, {0}, Traffic::All);
  ASSERT_TRUE(found.has_value()) << found.error().text;
  EXPECT_EQ(found->destinations, 1u);
  ASSERT_EQ(found->outgrown.size(), 1u);
  EXPECT_EQ(found->outgrown[0].links, 6u);
  const Topology read = read_back(found->topology);
  EXPECT_TRUE(analyse(read, 0, {}).is_free_of_cycles());
  EXPECT_EQ(expiring(read), flows_of(found->outgrown));
  EXPECT_EQ(expiring(with_ttls_of(read, found->outgrown)), std::set<std::uint32_t>());
}

/// Routed flows between hosts drawn at random, each with the least ttl that all its ways meet.
Topology with_tight_flows(Topology fabric, std::uint32_t seed) {
  const std::vector<NodeId> hosts = destinations_of(fabric);
  std::mt19937 random(seed);
  for (std::uint32_t i = 0; i < 12; ++i) {
    Flow flow;
    flow.name = "f" + std::to_string(i);
    flow.from = hosts[random() % hosts.size()];
    flow.to = hosts[(flow.from - hosts[0] + 1 + random() % (hosts.size() - 1)) % hosts.size()];
    flow.is_routed = true;
    flow.ttl = 1;
    fabric.flows.push_back(flow);
  }
  Topology fits = fabric;
  for (Flow& flow : fits.flows) flow.ttl = 255;
  return with_ttls_of(read_back(fabric), outgrown_ttls(fits, fabric));
}

TEST(Reroute, FlowsThatOutgrowTheirTtl_AreThoseWhosePacketsExpire) {
  std::size_t outgrown = 0;
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    const Topology fabric = with_tight_flows(*jellyfish(24, 3, seed), seed);
    ASSERT_EQ(expiring(fabric), std::set<std::uint32_t>()) << seed;
    const auto found = reroute(fabric, {0}, Traffic::All);
    ASSERT_TRUE(found.has_value()) << found.error().text;
    const Topology read = read_back(found->topology);
    EXPECT_EQ(expiring(read), flows_of(found->outgrown)) << seed;
    EXPECT_EQ(expiring(with_ttls_of(read, found->outgrown)), std::set<std::uint32_t>()) << seed;
    EXPECT_EQ(lost_way(fabric, read, Traffic::All), std::nullopt) << seed;
    outgrown += found->outgrown.size();
  }
  EXPECT_GT(outgrown, 0u);
}

TEST(Reroute, LinksOneWayRoundARing_HaveNoOtherWays) {
  Topology fabric = *ring(4, 3);
  // Only clockwise: without the links that lead back between switches.
  std::vector<LinkId> kept(fabric.links.size());
  std::vector<Link> links;
  for (LinkId link = 0; link < fabric.links.size(); ++link) {
    kept[link] = static_cast<LinkId>(links.size());
    if (link % 4 != 3) links.push_back(fabric.links[link]);
  }
  fabric.links = links;
  for (Flow& flow : fabric.flows)
    for (LinkId& link : flow.path) link = kept[link];
  ASSERT_TRUE(check(fabric).has_value());
  EXPECT_THAT(reroute(fabric, {0}, Traffic::All).error().text,
              HasSubstr("no other ways were found"));
}

TEST(Reroute, FlowsOfTwoPriorities_EachHaveNoCycle) {
  Topology fabric = *ring(5, 3);
  for (std::size_t i = 0; i < 5; ++i) {
    Flow other = fabric.flows[i];
    other.name += "-high";
    other.priority = 3;
    fabric.flows.push_back(other);
  }
  const auto found = reroute(fabric, {0, 3}, Traffic::All);
  ASSERT_TRUE(found.has_value()) << found.error().text;
  EXPECT_TRUE(analyse(found->topology, 0, {}).is_free_of_cycles());
  EXPECT_TRUE(analyse(found->topology, 3, {}).is_free_of_cycles());
}

TEST(Reroute, TrafficOfFlows_LeavesRoutesAlone) {
  Topology fabric = clos_without({8, 11});
  const std::vector<NodeId> hosts = destinations_of(fabric);
  for (const NodeId from : hosts)
    for (const NodeId to : hosts) {
      if (from == to) continue;
      Flow flow;
      flow.name = fabric.nodes[from].name + ">" + fabric.nodes[to].name;
      flow.from = from;
      flow.to = to;
      flow.is_routed = true;
      fabric.flows.push_back(flow);
    }
  fabric = read_back(fabric);
  ASSERT_FALSE(analyse(fabric, 0, {.traffic = Traffic::Flows}).is_free_of_cycles());
  const auto found = reroute(fabric, {0}, Traffic::Flows);
  ASSERT_TRUE(found.has_value()) << found.error().text;
  EXPECT_EQ(found->destinations, 0u);
  EXPECT_GT(found->flows, 0u);
  EXPECT_EQ(found->topology.routes.size(), fabric.routes.size());
  const Topology read = read_back(found->topology);
  EXPECT_TRUE(analyse(read, 0, {.traffic = Traffic::Flows}).is_free_of_cycles());
  EXPECT_EQ(lost_way(fabric, read, Traffic::Flows), std::nullopt);
}

TEST(Reroute, RewrittenPriorities_AreRefused) {
  Topology fabric = *ring(4, 2);
  fabric.rewrites.push_back({fabric.flows[0].path[1], fabric.flows[0].path[2], 0, 1});
  EXPECT_THAT(reroute(fabric, {0}, Traffic::All).error().text, HasSubstr("rewrites: "));
}

TEST(LostWay, RouteThatIsGone_IsNamed) {
  const Topology before = *leaf_spine({.leaves = 2, .spines = 1, .hosts = 1});
  Topology after = before;
  std::erase_if(after.routes, [&](const Route& route) {
    return before.nodes[route.node].name == "spine0" &&
           before.nodes[route.destination].name == "leaf1";
  });
  EXPECT_THAT(lost_way(before, after, Traffic::All).value_or(""), HasSubstr("to leaf1"));
  EXPECT_EQ(lost_way(after, before, Traffic::All), std::nullopt);
}

TEST(LostWay, OneOfTwoNextHopsThatLeadsNowhere_IsALoss) {
  const Topology before = *leaf_spine({.leaves = 2, .spines = 2, .hosts = 1});
  Topology after = before;
  std::erase_if(after.routes, [&](const Route& route) {
    return before.nodes[route.node].name == "spine1" &&
           before.nodes[route.destination].name == "leaf1";
  });
  EXPECT_TRUE(lost_way(before, after, Traffic::Routes).has_value());
}

TEST(LostWay, FlowThatEndsElsewhere_IsNamed) {
  const Topology before = *ring(4, 2);
  Topology after = before;
  after.flows[1].path.pop_back();
  EXPECT_EQ(lost_way(before, after, Traffic::Flows), "flow f1");
}

TEST(OutgrownTtls, FlowThatIsTooOldAtTheEndOfALongerPath_IsListed) {
  const Topology before = ring_of_six(4);
  Topology after = before;
  after.flows[0].path = reroute(ring_of_six(6), {0}, Traffic::All)->topology.flows[0].path;
  EXPECT_EQ(outgrown_ttls(before, after), (Outgrown{{0, 6}}));
  EXPECT_EQ(lost_way(before, after, Traffic::Flows), std::nullopt);
}

TEST(OutgrownTtls, RoutedFlowThatIsTooOldOnOneOfItsWays_IsListed) {
  Topology before;
  const NodeId from = before.add_node("from", NodeKind::Host);
  const NodeId a = before.add_node("a", NodeKind::Switch);
  const NodeId b = before.add_node("b", NodeKind::Switch);
  const NodeId c = before.add_node("c", NodeKind::Switch);
  const NodeId to = before.add_node("to", NodeKind::Host);
  before.add_link(from, a);
  const LinkId detour = before.add_link(a, b);
  const LinkId rest = before.add_link(b, c);
  const LinkId direct = before.add_link(a, c);
  const LinkId last = before.add_link(c, to);
  before.routes = {{a, to, direct}, {b, to, rest}, {c, to, last}};
  Flow flow;
  flow.name = "f";
  flow.from = from;
  flow.to = to;
  flow.is_routed = true;
  flow.ttl = 3;
  before.flows = {flow};
  Topology after = before;
  after.routes.push_back({a, to, detour});
  EXPECT_EQ(outgrown_ttls(before, after), (Outgrown{{0, 4}}));
  EXPECT_EQ(outgrown_ttls(after, before), Outgrown());
  after.flows[0].ttl = before.flows[0].ttl = 4;
  EXPECT_EQ(outgrown_ttls(before, after), Outgrown());
}

}  // namespace
}  // namespace portcullis::pfc::cbd
