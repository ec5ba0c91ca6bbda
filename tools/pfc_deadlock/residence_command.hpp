// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock residence: how late a packet may arrive, as a bound that holds whatever is sent, or
// the circle because of which there is none.
#pragma once

#include "tools/pfc_deadlock/command.hpp"

namespace portcullis::tools::pfc_deadlock {

/// There is no bound.
inline constexpr int kExitNoBound = 1;

int run_residence(Arguments arguments, Console& console);

}  // namespace portcullis::tools::pfc_deadlock
