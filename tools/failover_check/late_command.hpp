// SPDX-License-Identifier: BSD-3-Clause
//
// failover-check late: how many packets may outlive a timeout in a lossless fabric, which is what
// --late of explore, check and protocols has to be.
#pragma once

#include "tools/fabric_residence.hpp"
#include "tools/failover_check/commands.hpp"

namespace portcullis::tools::failover_check {

struct LateCommand {
  FabricOptions fabric;
  GivingUp client;
};

/// The number alone on `out`, and why on `err`. kExitRefuted: nothing bounds it.
int run_late(const LateCommand& command, const Streams& io);

}  // namespace portcullis::tools::failover_check
