// SPDX-License-Identifier: BSD-3-Clause
#include "program/signals.hpp"

#include <array>
#include <csignal>
#include <cstddef>

namespace portcullis::program {
namespace {

using Flag = std::atomic<std::atomic<bool>*>;
static_assert(std::atomic<bool>::is_always_lock_free && Flag::is_always_lock_free,
              "what a handler touches");

std::array<Flag, NSIG> flags;  // by signal

void set_flag(int signal) noexcept { flags[static_cast<std::size_t>(signal)].load()->store(true); }

extern "C" void on_signal(int signal) { set_flag(signal); }
extern "C" void on_first_signal(int signal) {
  set_flag(signal);
  std::signal(signal, SIG_DFL);
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

void heed_stop_signals(std::atomic<bool>& flag) noexcept {
  for (const int signal : {SIGINT, SIGTERM}) ask_once(signal, flag);
}

}  // namespace portcullis::program
