// SPDX-License-Identifier: BSD-3-Clause
//
// Fabrics without tiers: Jellyfish and dragonfly. Shortest paths close circles in them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <set>
#include <utility>

#include "pfc/cbd/generators.hpp"
#include "pfc/cbd/routing.hpp"

namespace portcullis::pfc::cbd {
namespace {

constexpr std::uint32_t kMostSwitches = 2000;  // tables grow with the square

using Cable = std::pair<std::uint32_t, std::uint32_t>;  // the lower number first

/// A host to each switch, sw0.. and host0.. in circles, and shortest routes to every switch.
Topology fabric_of(std::string name, std::uint32_t switches, const std::set<Cable>& cables,
                   const Link& like) {
  constexpr double kApart = 0.45;
  Topology topology;
  topology.name = std::move(name);
  const auto add = [&](std::string_view prefix, NodeKind kind, double aside) {
    const double radius = kApart * switches / std::numbers::pi + aside;
    for (std::uint32_t i = 0; i < switches; ++i) {
      const double angle = 2 * std::numbers::pi * i / switches;
      Node& node = topology.nodes[topology.add_node(fmt::format("{}{}", prefix, i), kind)];
      node.x = radius * std::sin(angle);
      node.y = -radius * std::cos(angle);
    }
  };
  add("sw", NodeKind::Switch, 0);
  add("host", NodeKind::Host, 2 * kApart);
  const auto cable = [&](NodeId a, NodeId b) {
    topology.add_link(a, b, like);
    topology.add_link(b, a, like);
  };
  for (std::uint32_t i = 0; i < switches; ++i) cable(switches + i, i);
  for (const auto& [a, b] : cables) cable(a, b);
  topology.routes = Routing(topology).shortest_routes(prefixes_of(topology),
                                                      std::vector<bool>(topology.links.size()));
  return topology;
}

/// Random cables between switches that have ports left; where those left are all joined already, a
/// cable is cut and both ends of it get one to who has two ports left.
class RandomRegular {
 public:
  RandomRegular(std::uint32_t switches, std::uint32_t ports, std::uint32_t seed)
      : random_(seed), free_(switches, ports) {}

  std::set<Cable> run() {
    while (join_two() || cut_one()) {
    }
    return std::move(cables_);
  }

 private:
  // The same on every machine, as std::uniform_int_distribution is not.
  std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  bool join_two() {
    std::vector<Cable> possible;
    for (std::uint32_t a = 0; a < free_.size(); ++a)
      for (std::uint32_t b = a + 1; b < free_.size() && free_[a] > 0; ++b)
        if (free_[b] > 0 && !cables_.contains({a, b})) possible.emplace_back(a, b);
    if (possible.empty()) return false;
    const Cable chosen = possible[below(possible.size())];
    cables_.insert(chosen);
    --free_[chosen.first];
    --free_[chosen.second];
    return true;
  }

  bool cut_one() {
    const auto who = std::ranges::find_if(free_, [](std::uint32_t ports) { return ports >= 2; });
    if (who == free_.end()) return false;
    const auto at = static_cast<std::uint32_t>(who - free_.begin());
    std::vector<Cable> possible;
    for (const auto& [a, b] : cables_)
      if (a != at && b != at && !cables_.contains(std::minmax(a, at)) &&
          !cables_.contains(std::minmax(b, at)))
        possible.emplace_back(a, b);
    if (possible.empty()) return false;
    const auto [a, b] = possible[below(possible.size())];
    cables_.erase({a, b});
    cables_.insert(std::minmax(a, at));
    cables_.insert(std::minmax(b, at));
    *who -= 2;
    return true;
  }

  std::mt19937 random_;
  std::vector<std::uint32_t> free_;
  std::set<Cable> cables_;
};

}  // namespace

Result<Topology> jellyfish(std::uint32_t switches, std::uint32_t ports, std::uint32_t seed,
                           const Link& like) {
  const std::string what = fmt::format("jellyfish of {} switches with {} ports", switches, ports);
  if (switches < 3 || switches > kMostSwitches || ports < 2 || ports >= switches)
    return fail(Errc::InvalidArgument,
                fmt::format("{}; 3 to {} switches, and 2 ports or more but fewer than switches, "
                            "are accepted",
                            what, kMostSwitches));
  return fabric_of(fmt::format("jellyfish-{}x{}-{}", switches, ports, seed), switches,
                   RandomRegular(switches, ports, seed).run(), like);
}

Result<Topology> dragonfly(std::uint32_t groups, std::uint32_t routers, std::uint32_t global,
                           const Link& like) {
  const std::string what = fmt::format(
      "dragonfly of {} groups of {} routers with {} global links each", groups, routers, global);
  const double switches = 1.0 * groups * routers;
  if (groups < 2 || routers == 0 || global == 0 || switches > kMostSwitches ||
      groups > 1.0 * routers * global + 1)
    return fail(Errc::InvalidArgument,
                fmt::format("{}; 2 groups or more, at most one more than a group has global links, "
                            "and {} routers at most are accepted",
                            what, kMostSwitches));
  std::set<Cable> cables;
  for (std::uint32_t group = 0; group < groups; ++group) {
    const std::uint32_t first = group * routers;
    for (std::uint32_t a = 0; a < routers; ++a)
      for (std::uint32_t b = a + 1; b < routers; ++b) cables.emplace(first + a, first + b);
    // Global link k of a group leads k + 1 groups on; link groups - 2 - k leads back from there.
    for (std::uint32_t k = 0; k + 1 < groups; ++k) {
      const std::uint32_t other = (group + k + 1) % groups;
      const std::uint32_t there = other * routers + (groups - 2 - k) / global;
      cables.insert(std::minmax(first + k / global, there));
    }
  }
  return fabric_of(fmt::format("dragonfly-{}x{}-{}", groups, routers, global), groups * routers,
                   cables, like);
}

}  // namespace portcullis::pfc::cbd
