// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/interrupt.hpp"

#include <atomic>

#include "program/signals.hpp"

namespace portcullis::bench {
namespace {

std::atomic<bool> interrupted{false};

}  // namespace

void heed_interrupts() noexcept { program::heed_stop_signals(interrupted); }

bool is_interrupted() noexcept { return interrupted.load(); }

Result<void> check_not_interrupted() {
  if (is_interrupted()) return fail(Errc::System, std::string(kInterrupted));
  return {};
}

}  // namespace portcullis::bench
