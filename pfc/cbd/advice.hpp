// SPDX-License-Identifier: BSD-3-Clause
//
// What to change so that nothing waits for itself, as a fabric that has the change in it: whoever
// judges fabrics judges that one, too.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "pfc/cbd/dependencies.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::cbd {

enum class Remedy : std::uint8_t {
  Rewrites,  // data changes its priority at some turns
  Lossy,     // some links leave the lossless class: they never pause
  Reroute,   // some flows and destinations take other ways
};

struct Advice {
  Topology topology;
  std::vector<std::uint32_t> priorities;  // lossless ones that are in use then, ascending
  std::size_t changes = 0;                // rewrites or links that were added
  std::size_t destinations = 0;           // whose tables are others, of Reroute
  std::size_t flows = 0;                  // that have a path of their own, of Reroute
};

/// Breaks the cycles of `priorities`, and of what rewrites lead to, by the turns or links that
/// break_cycles() finds. Rewrites lead upwards through priorities that no flow has, each time into
/// one that is as yet unused; so many suffice, fewer may. Unsupported when there are none left, or
/// when no rewrites end a routing loop, which needs one priority more each time round. Reroute is
/// reroute().
[[nodiscard]] Result<Advice> advise(const Topology& topology,
                                    const std::vector<std::uint32_t>& priorities, Traffic traffic,
                                    Remedy remedy);

}  // namespace portcullis::pfc::cbd
