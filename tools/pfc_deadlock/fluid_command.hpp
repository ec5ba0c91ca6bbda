// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock fluid: the equations solved for one scenario, as numbers and as pictures.
#pragma once

#include "tools/pfc_deadlock/command.hpp"

namespace portcullis::tools::pfc_deadlock {

int run_fluid(Arguments arguments, Console& console);

}  // namespace portcullis::tools::pfc_deadlock
