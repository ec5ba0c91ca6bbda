// SPDX-License-Identifier: BSD-3-Clause
#include "tools/failover_check/late_command.hpp"

#include <ostream>

namespace portcullis::tools::failover_check {

int run_late(const LateCommand& command, const Streams& io) {
  constexpr std::uint64_t kMostTried = 7;  // as --late takes
  const auto late = late_packets(command.fabric, command.client);
  if (!late) {
    io.err << "failover-check: " << late.error().text << "\n";
    return kExitBad;
  }
  io.err << late->text << "\n";
  if (!late->most) {
    io.err << "so nothing bounds how many may be late; --packets says how many a client has out\n";
    return kExitRefuted;
  }
  io.out << *late->most << "\n";
  if (*late->most > kMostTried)
    io.err << "--late takes up to " << kMostTried
           << ": what holds with so many is not shown to hold with all that may be late here\n";
  return kExitFine;
}

}  // namespace portcullis::tools::failover_check
