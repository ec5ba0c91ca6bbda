// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock cbd: which buffers wait for which in a circle, who makes them, what breaks them, and
// which failures bring them about.
#pragma once

#include "tools/pfc_deadlock/command.hpp"

namespace portcullis::tools::pfc_deadlock {

/// A cycle was found: what a fabric's own checks want to fail on.
inline constexpr int kExitCycle = 1;

int run_cbd(Arguments arguments, Console& console);

}  // namespace portcullis::tools::pfc_deadlock
