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

/// InvalidArgument unless `value` is a number from 0 on.
[[nodiscard]] Result<void> check_from_zero(const char* option, double value);

}  // namespace portcullis
