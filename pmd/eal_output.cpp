// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/eal_output.hpp"

#include <pthread.h>
#include <rte_eal.h>
#include <rte_log.h>
#include <setjmp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <limits>
#include <mutex>
#include <string_view>

namespace portcullis::pmd {
namespace {

/// What was said, where a signal handler can read it.
class Kept {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    owner_ = pthread_self();
    length_.store(0);
    is_on_.store(true);
  }
  std::string end() {
    const std::lock_guard lock(mutex_);
    is_on_.store(false);
    return std::string(text());
  }
  [[nodiscard]] bool is_on() const noexcept { return is_on_.load(); }
  [[nodiscard]] bool is_of_this_thread() const noexcept {
    return is_on() && pthread_equal(owner_, pthread_self()) != 0;
  }
  void append(std::string_view more) {
    const std::lock_guard lock(mutex_);
    const std::size_t at = length_.load();
    const std::size_t taken = std::min(more.size(), text_.size() - at);
    std::copy_n(more.begin(), taken, text_.begin() + static_cast<std::ptrdiff_t>(at));
    length_.store(at + taken);
  }
  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), length_.load()}; }

 private:
  std::mutex mutex_;
  std::array<char, 16384> text_{};
  std::atomic<std::size_t> length_{0};
  pthread_t owner_{};
  std::atomic<bool> is_on_{false};
};

/// A stream of ours: what the EAL's thread writes is kept, what others write goes on to `through`,
/// or is the EAL's as well where there is nothing to go on to.
struct Tap {
  Kept* kept;
  std::FILE* through;
};

ssize_t write_tap(void* cookie, const char* bytes, std::size_t count) {
  const Tap& tap = *static_cast<const Tap*>(cookie);
  const bool is_eals = tap.through == nullptr ? tap.kept->is_on() : tap.kept->is_of_this_thread();
  if (is_eals) tap.kept->append({bytes, count});
  if (is_eals || tap.through == nullptr) return static_cast<ssize_t>(count);
  const std::size_t taken = std::fwrite(bytes, 1, count, tap.through);
  return std::fflush(tap.through) == 0 ? static_cast<ssize_t>(taken) : 0;
}

/// Unbuffered: a line is written by the thread that prints it.
std::FILE* open_tap(Tap& tap) {
  std::FILE* const stream = fopencookie(&tap, "w", {nullptr, &write_tap, nullptr, nullptr});
  if (stream != nullptr) std::setvbuf(stream, nullptr, _IONBF, 0);
  return stream;
}

/// Made once and never closed: another thread may be printing through it at any time.
struct Taps {
  Kept kept;
  std::FILE* real_out = stdout;
  std::FILE* real_err = stderr;
  Tap out_tap{&kept, stdout};
  Tap err_tap{&kept, stderr};
  Tap log_tap{&kept, nullptr};
  std::FILE* out = open_tap(out_tap);
  std::FILE* err = open_tap(err_tap);
  std::FILE* log = open_tap(log_tap);
  sigjmp_buf at_start{};
};

Taps& taps() {
  static Taps* const made = new Taps;
  return *made;
}

void say(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t taken = write(STDERR_FILENO, text.data(), text.size());
    if (taken <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(taken));
  }
}

/// abort() may be left this way: by its description in POSIX it ends the process unless SIGABRT is
/// caught and the handler does not return. Between here and start_eal() there is nothing but C.
extern "C" void on_abort(int /*signal*/) {
  Taps& all = taps();
  if (all.kept.is_of_this_thread()) siglongjmp(all.at_start, 1);
  say(all.kept.text());
}

constexpr int kPanicked = std::numeric_limits<int>::min();

/// A function of its own, without a variable that a jump could spoil.
int init_or_panic(int argc, char** argv) noexcept {
  if (sigsetjmp(taps().at_start, 1) != 0) return kPanicked;
  return rte_eal_init(argc, argv);
}

}  // namespace

EalStart start_eal(int argc, char** argv) {
  Taps& all = taps();
  all.kept.begin();
  // Variables of the C library, which may be assigned (its manual, "Standard Streams").
  if (all.out != nullptr) stdout = all.out;
  if (all.err != nullptr) stderr = all.err;
  if (all.log != nullptr) rte_openlog_stream(all.log);
  struct sigaction ours {};
  struct sigaction before {};
  ours.sa_handler = on_abort;
  sigaction(SIGABRT, &ours, &before);
  const int parsed = init_or_panic(argc, argv);
  sigaction(SIGABRT, &before, nullptr);
  rte_openlog_stream(nullptr);  // its own: standard error and the system's log
  stdout = all.real_out;
  stderr = all.real_err;
  EalStart start{std::nullopt, all.kept.end()};
  if (parsed != kPanicked) start.parsed = parsed;
  return start;
}

}  // namespace portcullis::pmd
