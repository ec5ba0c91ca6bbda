// SPDX-License-Identifier: BSD-3-Clause
#include "tools/failover_check/history_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>

#include "failover/explore/whole_history.hpp"

namespace portcullis::tools::failover_check {

int run_history(const HistoryCommand& command, const Streams& io) {
  const auto text = read_file(command.path);
  if (!text) return refuse(io, text.error());
  const auto history =
      failover::read_history(*text, command.path == "-" ? "standard input" : command.path);
  if (!history) return refuse(io, history.error());
  const auto verdict = failover::judge_history(*history);
  if (!verdict) {
    refuse(io, verdict.error());
    return kExitStopped;
  }
  for (const failover::Unordered& each : verdict->unordered)
    io.out << fmt::format(
        "not linearizable: {}: {} of {} operations can be ordered; then one of: {}\n",
        fmt::join(each.cells, ", "), each.placed, each.operations, fmt::join(each.stuck, ", "));
  io.out << fmt::format("{} operations on {} cells in {} parts: {}\n", history->operations.size(),
                        history->cells.size(), verdict->parts,
                        verdict->unordered.empty() ? "linearizable" : "not linearizable");
  return verdict->unordered.empty() ? kExitFine : kExitRefuted;
}

}  // namespace portcullis::tools::failover_check
