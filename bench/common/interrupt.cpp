// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/interrupt.hpp"

#include <atomic>
#include <csignal>

namespace portcullis::bench {
namespace {

std::atomic<bool> interrupted{false};

extern "C" void note_interrupt(int signal) {
  interrupted.store(true);
  std::signal(signal, SIG_DFL);
}

}  // namespace

void heed_interrupts() noexcept {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, note_interrupt);
}

bool is_interrupted() noexcept { return interrupted.load(); }

Result<void> check_not_interrupted() {
  if (is_interrupted()) return fail(Errc::System, std::string(kInterrupted));
  return {};
}

}  // namespace portcullis::bench
