// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock: the judges of lossless fabrics as one program. SIGINT and SIGTERM ask a command to
// finish with what it has; what has not within a second is ended, however busy it is. That needs a
// handler of its own beside program/signals.hpp: a library never ends the process.
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string_view>
#include <vector>

#include "program/standard_streams.hpp"
#include "tools/pfc_deadlock/command.hpp"

namespace {

constexpr itimerval kPatience{{0, 0}, {0, 700'000}};  // leaves time to give back gigabytes
constexpr int kSignalled = 128;  // and the signal's number, as a shell reports it

std::atomic<bool> is_stopped = false;
std::atomic<int> first_signal = 0;

void end(int) {
  constexpr std::string_view kText = "pfc-deadlock: stopped before there was a result\n";
  // Whether standard error takes it changes nothing.
  if (::write(STDERR_FILENO, kText.data(), kText.size()) < 0) ::_exit(kSignalled + first_signal);
  ::_exit(kSignalled + first_signal);
}

void stop(int signal) {
  first_signal = signal;
  is_stopped.store(true, std::memory_order_relaxed);
  static_cast<void>(std::signal(signal, SIG_DFL));  // a second one ends at once
  // A plain system call on Linux, so a handler may use it as it may alarm().
  static_cast<void>(::setitimer(ITIMER_REAL, &kPatience, nullptr));
}

}  // namespace

int main(int argc, char** argv) {
  static_cast<void>(std::signal(SIGALRM, end));
  static_cast<void>(std::signal(SIGINT, stop));
  static_cast<void>(std::signal(SIGTERM, stop));
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  portcullis::tools::pfc_deadlock::Console console{std::cout, std::cerr, is_stopped,
                                                   ::isatty(STDERR_FILENO) == 1};
  const int status = portcullis::program::run_main(
      "pfc-deadlock",
      [&] { return portcullis::tools::pfc_deadlock::run_program(arguments, console); },
      &is_stopped);
  const bool was_interrupted = status == portcullis::tools::pfc_deadlock::kExitInterrupted;
  return was_interrupted && first_signal != 0 ? kSignalled + first_signal : status;
}
