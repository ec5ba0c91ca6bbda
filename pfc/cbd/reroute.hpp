// SPDX-License-Identifier: BSD-3-Clause
//
// Other ways for the data that closes circles: tables for some destinations, paths for some flows,
// so that no buffer waits for itself and what arrived still does. Priorities and links stay as they
// are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "pfc/cbd/dependencies.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::cbd {

/// A flow whose packets came to their end and would be too old there now.
struct OutgrownTtl {
  std::uint32_t flow = 0;
  std::uint32_t links = 0;  // of its longest way: the ttl that suffices
  [[nodiscard]] bool operator==(const OutgrownTtl&) const = default;
};

struct Rerouted {
  Topology topology;
  std::size_t destinations = 0;       // whose tables are others
  std::size_t flows = 0;              // that have a path of their own now
  std::vector<OutgrownTtl> outgrown;  // whose ttl the new ways exceed
};

/// Leaves as many users as it finds a way to leave as they are. Unsupported when it finds no ways,
/// which does not say that there are none, or when priorities are rewritten. What it returns has no
/// cycle in `priorities`, and loses nothing by lost_way() but what it lists in `outgrown`: ways
/// within the ttl are taken where it finds any.
///
/// The idea is that of J. Domke, T. Hoefler and S. Matsuoka, "Routing on the Dependency Graph"
/// (HPDC 2016): a turn is taken when the graph of all turns so far stays acyclic with it, and
/// the turns of a spanning tree are taken first where that alone would leave somebody without a
/// way.
[[nodiscard]] Result<Rerouted> reroute(const Topology& topology,
                                       const std::vector<std::uint32_t>& priorities,
                                       Traffic traffic);

/// A node from which data for a destination arrived over some way, or over every way that it was
/// offered, before, and no longer does; or a flow of that kind, whatever its ttl is now. As a text
/// for people; nothing when there is none.
[[nodiscard]] std::optional<std::string> lost_way(const Topology& before, const Topology& after,
                                                  Traffic traffic);

/// Of the flows whose packets came to their end within their ttl before: those that still have ways
/// there, one of them of more links than that.
[[nodiscard]] std::vector<OutgrownTtl> outgrown_ttls(const Topology& before, const Topology& after);

}  // namespace portcullis::pfc::cbd
