// SPDX-License-Identifier: BSD-3-Clause
//
// Signals as flags: a handler that sets one and does nothing else, so that whoever runs a loop ends
// it in order and tells what it came to.
#pragma once

#include <atomic>
#include <cstdint>

namespace portcullis::program {

/// What a shell makes of a program that SIGINT ended.
inline constexpr int kInterruptedStatus = 130;

/// The first `signal` sets `flag`, which must stay as long as the process; the second has its
/// default action, and ends the program at once.
void ask_once(int signal, std::atomic<bool>& flag) noexcept;
/// Every `signal` sets `flag`, which must stay as long as the process.
void ask_each_time(int signal, std::atomic<bool>& flag) noexcept;
/// For SIGINT and SIGTERM: the first sets `flag`; another of the same kind within `moment_ms` is
/// still the first, as when timeout(1) tells the program and then its group; a later one has its
/// default action.
void heed_stop_signals_once_a_moment(std::atomic<bool>& flag, std::uint64_t moment_ms) noexcept;
/// ask_once() for SIGINT and SIGTERM.
void heed_stop_signals(std::atomic<bool>& flag) noexcept;

}  // namespace portcullis::program
