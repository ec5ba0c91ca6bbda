// SPDX-License-Identifier: BSD-3-Clause
//
// What the digits of a fluid run are worth: the same question solved a second time, a little
// differently, and told beside the first.
#pragma once

#include <optional>
#include <string>

#include "pfc/fluid/fluid.hpp"

namespace portcullis::tools::pfc_deadlock {

struct SecondRun {
  std::optional<double> longer_steps_differ_by;  // proportional share with delays
  std::optional<double> later_starts_differ_by;  // all others
  std::string note;                              // lines for a user; empty: nothing to say
};

/// Solves again, as `solver` says, what gave `found`: with steps of twice the length where arrivals
/// come from cubics between steps, else with flows that start up to 1e-9 later (in units near 1:
/// pfc/fluid/scale.hpp) and steps that end at other times, for then the solution is exact up to
/// rounding, and what these move far is decided by rounding.
[[nodiscard]] SecondRun second_run(const pfc::Topology& topology, pfc::FluidOptions solver,
                                   const pfc::FluidRun& found);

}  // namespace portcullis::tools::pfc_deadlock
