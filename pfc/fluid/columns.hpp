// SPDX-License-Identifier: BSD-3-Clause
//
// Service curves under the seed's names: S_f0 is what the host of f has offered (or sent, when it
// is greedy), S_f1 what has reached its first switch, S_f(k+1) what the k-th switch has sent on.
#pragma once

#include <string>
#include <vector>

#include "pfc/fluid/fluid.hpp"

namespace portcullis::pfc {

/// S_f0 only where has_offered_curve(). In the order of flows and hops. A name that ends in a digit
/// has a dot behind it, S_f1.0, so that no two curves have one name.
[[nodiscard]] std::vector<std::string> column_names(const Topology& topology);

/// One value a column. `sample` is of a run of the same topology.
[[nodiscard]] std::vector<double> column_values(const Topology& topology,
                                                const FluidSample& sample);

}  // namespace portcullis::pfc
