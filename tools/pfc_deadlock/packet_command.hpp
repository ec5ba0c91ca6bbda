// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock packet: a scenario packet by packet, with PAUSE on the wire.
#pragma once

#include "tools/pfc_deadlock/command.hpp"

namespace portcullis::tools::pfc_deadlock {

int run_packet(Arguments arguments, Console& console);

}  // namespace portcullis::tools::pfc_deadlock
