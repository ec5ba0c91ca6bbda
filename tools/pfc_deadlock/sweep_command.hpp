// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock sweep: how often and how soon a scenario deadlocks, over a grid of settings.
#pragma once

#include "tools/pfc_deadlock/command.hpp"

namespace portcullis::tools::pfc_deadlock {

int run_sweep(Arguments arguments, Console& console);

}  // namespace portcullis::tools::pfc_deadlock
