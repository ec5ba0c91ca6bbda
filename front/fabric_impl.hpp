// SPDX-License-Identifier: BSD-3-Clause
//
// What stands behind a Fabric: a topology that was checked. Links by name, for all that is told of
// them.
#pragma once

#include <portcullis/fabric.hpp>
#include <portcullis/result.hpp>

#include <string>
#include <vector>

#include "pfc/topology.hpp"

namespace portcullis {

struct [[gnu::visibility("hidden")]] Fabric::Impl {
  pfc::Topology topology;

  [[nodiscard]] std::vector<std::string> names_of(const std::vector<pfc::LinkId>& links) const {
    std::vector<std::string> names;
    for (const pfc::LinkId link : links) names.push_back(topology.links[link].name);
    return names;
  }
  [[nodiscard]] double us_per_time() const noexcept { return topology.units.time_s * 1e6; }
};

/// InvalidArgument unless `value` is from 0 to `most`.
[[nodiscard]] Result<void> check_from_zero(const char* option, double value, double most);

/// A day. The packet engine counts picoseconds in 63 bits; what a longer run of the fluid says is
/// lost in rounding.
inline constexpr double kMostUs = 86'400e6;

/// InvalidArgument unless `value` is above 0 and at most kMostUs.
[[nodiscard]] Result<void> check_run_us(const char* option, double value);

}  // namespace portcullis
