// SPDX-License-Identifier: BSD-3-Clause
#include "program/signals.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <ctime>

namespace portcullis::program {
namespace {

using Flag = std::atomic<std::atomic<bool>*>;
static_assert(std::atomic<bool>::is_always_lock_free && Flag::is_always_lock_free,
              "what a handler touches");

using Time = std::atomic<std::uint64_t>;
static_assert(Time::is_always_lock_free, "what a handler touches");

std::array<Flag, NSIG> flags;   // by signal
std::array<Time, NSIG> firsts;  // in ns, when each came first; 0: it has not
Time moment_ns{0};

std::uint64_t now_ns() noexcept {
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);  // a handler may
  return static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void set_flag(int signal) noexcept { flags[static_cast<std::size_t>(signal)].load()->store(true); }

extern "C" void on_signal(int signal) { set_flag(signal); }
extern "C" void on_first_signal(int signal) {
  set_flag(signal);
  std::signal(signal, SIG_DFL);
}
extern "C" void on_signal_of_a_moment(int signal) {
  std::uint64_t first_ns = 0;
  const std::uint64_t this_ns = now_ns();
  if (firsts[static_cast<std::size_t>(signal)].compare_exchange_strong(first_ns, this_ns))
    return set_flag(signal);
  if (this_ns - first_ns < moment_ns) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void ask_once(int signal, std::atomic<bool>& flag) noexcept {
  flags[static_cast<std::size_t>(signal)].store(&flag);
  std::signal(signal, on_first_signal);
}

void ask_each_time(int signal, std::atomic<bool>& flag) noexcept {
  flags[static_cast<std::size_t>(signal)].store(&flag);
  std::signal(signal, on_signal);
}

void heed_stop_signals_once_a_moment(std::atomic<bool>& flag, std::uint64_t moment_ms) noexcept {
  moment_ns = moment_ms * 1'000'000;
  for (const int signal : {SIGINT, SIGTERM}) {
    flags[static_cast<std::size_t>(signal)].store(&flag);
    std::signal(signal, on_signal_of_a_moment);
  }
}

void heed_stop_signals(std::atomic<bool>& flag) noexcept {
  for (const int signal : {SIGINT, SIGTERM}) ask_once(signal, flag);
}

}  // namespace portcullis::program
