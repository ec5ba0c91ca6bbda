// SPDX-License-Identifier: BSD-3-Clause
//
// Fabrics as they are built: Clos networks of two and three tiers, the ring of switches that
// deadlocks, Jellyfish and dragonfly. With routes, so that they can be analysed at once. Links are
// alike and go both ways. What has more links and next hops than a few gigabytes hold is
// InvalidArgument.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::cbd {

struct LeafSpine {
  std::uint32_t leaves = 4;
  std::uint32_t spines = 2;
  std::uint32_t hosts = 1;  // to a leaf
};

/// leaf0.., spine0.., host0.. in the order of leaves; shortest routes to every leaf, which serve
/// its hosts (Prefixes).
/// InvalidArgument when there are no leaves, spines or hosts.
[[nodiscard]] Result<Topology> leaf_spine(const LeafSpine& shape, const Link& like = {});

/// Al-Fares et al., "A Scalable, Commodity Data Center Network Architecture", SIGCOMM 2008: `ports`
/// pods (even, 2 to 128) of edge and aggregation switches, ports^3 / 4 hosts. Shortest routes to
/// every edge switch, or none, for they number ports^5 / 2 and more.
[[nodiscard]] Result<Topology> fat_tree(std::uint32_t ports, bool with_routes,
                                        const Link& like = {});

/// `switches` (3 at least) in a ring with a host each, sw0.., host0.. Flow i goes clockwise from
/// host i to the host `span` switches on (1 at least, below `switches`).
[[nodiscard]] Result<Topology> ring(std::uint32_t switches, std::uint32_t span,
                                    const Link& like = {});

/// A. Singla et al., "Jellyfish: Networking Data Centers Randomly", NSDI 2012: `ports` cables from
/// each switch to others at random, as `seed` has it (one fewer where they are odd in all), and a
/// host to each: sw0.., host0.. Parts that have nothing in common are joined by crossing cables.
/// Shortest routes to every switch.
[[nodiscard]] Result<Topology> jellyfish(std::uint32_t switches, std::uint32_t ports,
                                         std::uint32_t seed, const Link& like = {});

/// J. Kim et al., "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008: groups whose
/// routers are all joined, `global` links from each router to other groups, one between any two
/// groups, and a host to each router. Shortest routes to every router (minimal routing).
[[nodiscard]] Result<Topology> dragonfly(std::uint32_t groups, std::uint32_t routers,
                                         std::uint32_t global, const Link& like = {});

/// What leaf-spine:LEAVES,SPINES,HOSTS fat-tree:PORTS ring:SWITCHES,SPAN
/// jellyfish:SWITCHES,PORTS,SEED or dragonfly:GROUPS,ROUTERS,GLOBAL names. InvalidArgument
/// names what is accepted.
[[nodiscard]] Result<Topology> generate(std::string_view name);

/// A scenario that is built in, or a fabric that is generated. NotFound when it is the name of
/// neither, with all that are; InvalidArgument when it is a generated one's with a wrong shape.
[[nodiscard]] Result<Topology> by_name(std::string_view name);

}  // namespace portcullis::pfc::cbd
