// SPDX-License-Identifier: BSD-3-Clause
//
// Who may touch the engines of a polled model: its loop, which takes the lock for each step and
// would keep it by sheer speed, or a caller from outside, who goes first.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace portcullis::model {

/// A pause, and once in a while the core for whoever else wants it: where driver and device share
/// one, each would otherwise spin a whole time slice before the other may answer. On a core of its
/// own the caller does not wait long enough to get there.
inline void pause_cpu() noexcept {
  constexpr std::uint32_t kPausesPerYield = 2048;
  thread_local std::uint32_t pauses = 0;
  if (++pauses % kPausesPerYield == 0) std::this_thread::yield();
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class EngineLock {
 public:
  /// For callers from outside. Returning means that no step runs and no DMA is under way.
  class Outside {
   public:
    explicit Outside(EngineLock& lock) : lock_(lock) {
      lock_.waiting_.fetch_add(1, std::memory_order_relaxed);
      take();
      lock_.waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    ~Outside() { lock_.mutex_.unlock(); }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

   private:
    /// A step is over sooner than the kernel wakes a sleeper.
    void take() {
      constexpr int kLooks = 1'000;
      for (int look = 0; look < kLooks; ++look) {
        if (lock_.mutex_.try_lock()) return;
        pause_cpu();
      }
      lock_.mutex_.lock();
    }

    EngineLock& lock_;
  };

  /// For the loop: takes the lock unless somebody outside wants it. Unlocks like any mutex.
  [[nodiscard]] std::unique_lock<std::mutex> try_step() {
    if (waiting_.load(std::memory_order_relaxed) != 0) return {};
    return std::unique_lock(mutex_);
  }

 private:
  std::mutex mutex_;
  std::atomic<std::uint32_t> waiting_{0};
};

}  // namespace portcullis::model
