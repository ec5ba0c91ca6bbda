// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock residence: how long data is under way, and so how late a packet may arrive.
#pragma once

#include "tools/pfc_deadlock/command.hpp"

namespace portcullis::tools::pfc_deadlock {

int run_residence(Arguments arguments, Console& console);

}  // namespace portcullis::tools::pfc_deadlock
