// SPDX-License-Identifier: BSD-3-Clause
//
// failover-check history: whether what programs asked and were answered is linearizable.
#pragma once

#include <string>

#include "tools/failover_check/commands.hpp"

namespace portcullis::tools::failover_check {

struct HistoryCommand {
  std::string path;  // "-" is standard input
};

/// A line for each part that no order explains. kExitRefuted: there is one. kExitStopped: some part
/// is too much to search.
[[nodiscard]] int run_history(const HistoryCommand& command, const Streams& io);

}  // namespace portcullis::tools::failover_check
