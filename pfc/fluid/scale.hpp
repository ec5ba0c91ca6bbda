// SPDX-License-Identifier: BSD-3-Clause
//
// The equations scale: S(t; theta) = theta S(t / theta; 1), delays with it. Numbers of a computer
// do not, where something is compared with what counts as rounding. So a topology in seconds and
// gigabytes is solved in units in which its thresholds and links are near 1, and what comes out is
// given back in its own. Factors are powers of two, so that nothing is rounded on the way.
#pragma once

#include "pfc/fluid/fluid.hpp"

namespace portcullis::pfc {

/// The topology's units in one of the solver's: powers of two.
struct Scale {
  double time = 1;
  double data = 1;

  [[nodiscard]] bool is_one() const { return time == 1 && data == 1; }
};

/// From the middle ones of the thresholds and capacities: 1 where these are between 1/8 and 8.
/// Without a threshold buffers are taken, and the links' delays give the time if all else fails.
[[nodiscard]] Scale scale_of(const Topology& topology);

[[nodiscard]] Topology into(const Scale& scale, Topology topology);
[[nodiscard]] FluidOptions into(const Scale& scale, FluidOptions options);
/// In the topology's own units again.
void out_of(const Scale& scale, FluidRun& run);

}  // namespace portcullis::pfc
