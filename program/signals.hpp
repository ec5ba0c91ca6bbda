// SPDX-License-Identifier: BSD-3-Clause
//
// Signals as flags: a handler that sets one and does nothing else, so that whoever runs a loop ends
// it in order and tells what it came to.
#pragma once

#include <atomic>

namespace portcullis::program {

/// What a shell makes of a program that SIGINT ended.
inline constexpr int kInterruptedStatus = 130;

/// The first `signal` sets `flag`, which must stay as long as the process; the second has its
/// default action, and ends the program at once.
void ask_once(int signal, std::atomic<bool>& flag) noexcept;
/// Every `signal` sets `flag`, which must stay as long as the process.
void ask_each_time(int signal, std::atomic<bool>& flag) noexcept;
/// ask_once() for SIGINT and SIGTERM.
void heed_stop_signals(std::atomic<bool>& flag) noexcept;

}  // namespace portcullis::program
