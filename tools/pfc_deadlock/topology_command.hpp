// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock topology: a scenario as a drawing (figures 1 to 4 of the PFC document) or as JSON.
#pragma once

#include "tools/pfc_deadlock/command.hpp"

namespace portcullis::tools::pfc_deadlock {

int run_topology(Arguments arguments, Console& console);

}  // namespace portcullis::tools::pfc_deadlock
