// SPDX-License-Identifier: BSD-3-Clause
//
// The PFC document's equations exactly as printed, by Euler steps: what they say before any mend.
// They have no solution in the usual sense (D3: a link whose queue is empty serves 0, then 1, then
// 0), so the step is part of the answer. Whatever they leave open is 0: 0/0 (D4), S_g^4 in (4) and
// S_f^4 in (5) where the first queue is empty (D1), the rate of f in section 3 (D8) and its share
// in section 4 (D9).
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc {

struct LiteralOptions {
  double until = 10;
  double step = 1e-3;
  std::vector<double> sample_times;  // ascending, none beyond `until`
};

struct LiteralSample {
  double time = 0;
  std::vector<double> values;  // one a column of column_names()
};

/// Of seed-1 to seed-4 with their parameters; Unsupported for any other topology, InvalidArgument
/// for a step that is not above 0 or that would take more than 10^9 steps.
[[nodiscard]] Result<std::vector<LiteralSample>> solve_literal(const Topology& topology,
                                                               const LiteralOptions& options);

}  // namespace portcullis::pfc
