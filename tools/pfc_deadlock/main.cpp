// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock: the three judges of lossless fabrics as one program.
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <vector>

#include "tools/pfc_deadlock/command.hpp"

namespace {

std::atomic<bool> is_stopped = false;

void stop(int signal) {
  is_stopped.store(true, std::memory_order_relaxed);
  static_cast<void>(std::signal(signal, SIG_DFL));  // a second Ctrl-C ends at once
}

}  // namespace

int main(int argc, char** argv) {
  static_cast<void>(std::signal(SIGINT, stop));
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  portcullis::tools::pfc_deadlock::Console console{std::cout, std::cerr, is_stopped,
                                                   ::isatty(STDERR_FILENO) == 1};
  const int status = portcullis::tools::pfc_deadlock::run_program(arguments, console);
  if (std::cout.flush()) return status;
  std::cerr << "pfc-deadlock: standard output refused what was written\n";
  return portcullis::tools::pfc_deadlock::kExitBad;
}
