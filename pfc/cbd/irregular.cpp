// SPDX-License-Identifier: BSD-3-Clause
//
// Fabrics without tiers: Jellyfish and dragonfly. Shortest paths close circles in them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
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

/// Random cables between switches that have ports left. Where those left are all joined already, a
/// cable is cut, and each end of it gets one to who has ports left.
class RandomRegular {
 public:
  RandomRegular(std::uint32_t switches, std::uint32_t ports, std::uint32_t seed)
      : random_(seed),
        free_(switches, ports),
        joined_(switches, std::vector<bool>(switches, false)),
        partners_(switches) {
    count_partners();
  }

  std::set<Cable> run() {
    while (join_two() || cut_for_one() || cut_for_two()) {
    }
    return std::move(cables_);
  }

 private:
  // The same on every machine, as std::uniform_int_distribution is not.
  std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  [[nodiscard]] bool are_possible(std::uint32_t a, std::uint32_t b) const {
    return free_[a] > 0 && free_[b] > 0 && !joined_[a][b];
  }
  void count_partners() {
    possible_ = 0;
    for (std::uint32_t a = 0; a < free_.size(); ++a) {
      partners_[a] = 0;
      for (std::uint32_t b = a + 1; b < free_.size() && free_[a] > 0; ++b)
        partners_[a] += are_possible(a, b) ? 1 : 0;
      possible_ += partners_[a];
    }
  }
  /// Nobody can be joined with it any more.
  void drop(std::uint32_t full) {
    possible_ -= std::exchange(partners_[full], 0);
    for (std::uint32_t a = 0; a < full; ++a)
      if (free_[a] > 0 && !joined_[a][full]) {
        --partners_[a];
        --possible_;
      }
  }

  void join(std::uint32_t a, std::uint32_t b) {
    cables_.insert(std::minmax(a, b));
    joined_[a][b] = joined_[b][a] = true;
    --free_[a];
    --free_[b];
  }
  void cut(std::uint32_t a, std::uint32_t b) {
    cables_.erase(std::minmax(a, b));
    joined_[a][b] = joined_[b][a] = false;
    ++free_[a];
    ++free_[b];
  }

  /// Looks at no more than a row of the pairs: there may be millions of them.
  bool join_two() {
    if (possible_ == 0) return false;
    std::uint32_t left = below(possible_);
    std::uint32_t a = 0;
    for (; left >= partners_[a]; ++a) left -= partners_[a];
    std::uint32_t b = a + 1;
    for (; left > 0 || !are_possible(a, b); ++b) left -= are_possible(a, b) ? 1 : 0;
    join(a, b);
    --partners_[a];
    --possible_;
    for (const std::uint32_t end : {a, b})
      if (free_[end] == 0) drop(end);
    return true;
  }

  bool cut_for_one() {
    const auto who = std::ranges::find_if(free_, [](std::uint32_t ports) { return ports >= 2; });
    if (who == free_.end()) return false;
    const auto at = static_cast<std::uint32_t>(who - free_.begin());
    std::vector<Cable> possible;
    for (const auto& [a, b] : cables_)
      if (a != at && b != at && !joined_[a][at] && !joined_[b][at]) possible.emplace_back(a, b);
    return rewire(possible, at, at);
  }
  bool cut_for_two() {
    const auto has_port = [](std::uint32_t ports) { return ports > 0; };
    const auto one = std::ranges::find_if(free_, has_port);
    if (one == free_.end()) return false;
    const auto other = std::find_if(one + 1, free_.end(), has_port);
    if (other == free_.end()) return false;
    const auto x = static_cast<std::uint32_t>(one - free_.begin());
    const auto y = static_cast<std::uint32_t>(other - free_.begin());
    std::vector<Cable> possible;
    const auto add = [&](std::uint32_t to_x, std::uint32_t to_y) {
      const bool is_apart = to_x != x && to_x != y && to_y != x && to_y != y;
      if (is_apart && !joined_[to_x][x] && !joined_[to_y][y]) possible.emplace_back(to_x, to_y);
    };
    for (const auto& [a, b] : cables_) {
      add(a, b);
      add(b, a);
    }
    return rewire(possible, x, y);
  }
  /// Cuts one of `possible`; its first end gets a cable to `x`, its second one to `y`.
  bool rewire(const std::vector<Cable>& possible, std::uint32_t x, std::uint32_t y) {
    if (possible.empty()) return false;
    const auto [a, b] = possible[below(possible.size())];
    cut(a, b);
    join(a, x);
    join(b, y);
    count_partners();
    return true;
  }

  std::mt19937 random_;
  std::vector<std::uint32_t> free_;
  std::vector<std::vector<bool>> joined_;
  std::vector<std::uint32_t> partners_;  // by switch: later ones that it may be joined with
  std::size_t possible_ = 0;             // all of them
  std::set<Cable> cables_;
};

/// By switch, the lowest number of those it is joined with over any cables.
std::vector<std::uint32_t> parts_of(std::uint32_t switches, const std::set<Cable>& cables) {
  std::vector<std::uint32_t> part(switches);
  std::iota(part.begin(), part.end(), 0U);
  const auto find = [&part](std::uint32_t at) {
    while (part[at] != at) at = part[at] = part[part[at]];
    return at;
  };
  for (const auto& [a, b] : cables) {
    const auto [least, other] = std::minmax({find(a), find(b)});
    part[other] = least;
  }
  for (std::uint32_t i = 0; i < switches; ++i) part[i] = find(i);
  return part;
}

/// Joins parts that have nothing in common: a cable of each is cut and their ends are crossed, so
/// that every switch keeps its ports. Where a cut would part a part again, the next cable is tried.
void join_parts(std::uint32_t switches, std::set<Cable>& cables) {
  const auto count = [switches](const std::set<Cable>& of) {
    const std::vector<std::uint32_t> part = parts_of(switches, of);
    return std::set<std::uint32_t>(part.begin(), part.end()).size();
  };
  const auto joined = [&]() -> std::optional<std::set<Cable>> {
    const std::vector<std::uint32_t> part = parts_of(switches, cables);
    const std::size_t parts = count(cables);
    if (parts == 1) return std::nullopt;
    for (const Cable& one : cables)
      for (const Cable& other : cables) {
        if (part[one.first] != 0 || part[other.first] == 0) continue;
        std::set<Cable> crossed = cables;
        crossed.erase(one);
        crossed.erase(other);
        crossed.insert(std::minmax(one.first, other.first));
        crossed.insert(std::minmax(one.second, other.second));
        if (count(crossed) < parts) return crossed;
      }
    return std::nullopt;
  };
  while (auto better = joined()) cables = std::move(*better);
}

}  // namespace

Result<Topology> jellyfish(std::uint32_t switches, std::uint32_t ports, std::uint32_t seed,
                           const Link& like) {
  const std::string what = fmt::format("jellyfish of {} switches with {} ports", switches, ports);
  if (switches < 3 || switches > kMostSwitches || ports < 2 || ports >= switches)
    return fail(Errc::InvalidArgument,
                fmt::format("{}; 3 to {} switches, and 2 ports or more but fewer than switches, "
                            "are accepted",
                            what, kMostSwitches));
  std::set<Cable> cables = RandomRegular(switches, ports, seed).run();
  join_parts(switches, cables);
  return fabric_of(fmt::format("jellyfish-{}x{}-{}", switches, ports, seed), switches, cables,
                   like);
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
