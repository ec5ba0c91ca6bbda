// SPDX-License-Identifier: BSD-3-Clause
//
// Who may touch the engines of a polled model: its loop, which takes the lock for each step and
// would keep it by sheer speed, or a caller from outside, who goes first.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace portcullis::model {

class EngineLock {
 public:
  /// For callers from outside. Returning means that no step runs and no DMA is under way.
  class Outside {
   public:
    explicit Outside(EngineLock& lock) : lock_(lock) {
      lock_.waiting_.fetch_add(1, std::memory_order_relaxed);
      lock_.mutex_.lock();
      lock_.waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    ~Outside() { lock_.mutex_.unlock(); }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

   private:
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
