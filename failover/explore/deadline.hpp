// SPDX-License-Identifier: BSD-3-Clause
//
// An end for what may take long: the flag that explore() and classify() ask becomes true in time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace portcullis::failover {

/// Becomes true when the time is over, unless it is gone before. 0 milliseconds: never.
class Deadline {
 public:
  explicit Deadline(std::uint32_t milliseconds) {
    if (milliseconds == 0) return;
    timer_ = std::jthread([this, milliseconds](const std::stop_token& gone) {
      std::unique_lock lock(mutex_);
      const auto never = [] { return false; };
      over_.wait_for(lock, gone, std::chrono::milliseconds(milliseconds), never);
      if (!gone.stop_requested()) flag_ = true;
    });
  }
  [[nodiscard]] const std::atomic<bool>& flag() const noexcept { return flag_; }

 private:
  std::atomic<bool> flag_{false};
  std::mutex mutex_;
  std::condition_variable_any over_;
  std::jthread timer_;  // last: it ends before what it uses
};

}  // namespace portcullis::failover
