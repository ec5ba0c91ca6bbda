// SPDX-License-Identifier: BSD-3-Clause
//
// A worker lcore that does one thing over and over, until it is paused: the clients of an audit, so
// that their load neither waits for a fence nor makes it wait.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <utility>

#include "base/result.hpp"
#include "pmd/eal.hpp"

namespace portcullis::proof {

class LoadCore {
 public:
  /// On the first worker lcore that has nothing to do, paused; null where there is none. `work`
  /// must not wait.
  [[nodiscard]] static std::unique_ptr<LoadCore> take(std::function<void()> work);
  LoadCore(const LoadCore&) = delete;
  LoadCore& operator=(const LoadCore&) = delete;
  ~LoadCore();

  [[nodiscard]] unsigned lcore() const noexcept { return task_->lcore(); }
  /// Returns when `work` is not under way and will not be: what it wrote may be read, what it reads
  /// be changed. Done twice is done.
  void pause();
  void resume();

 private:
  explicit LoadCore(std::function<void()> work) : work_(std::move(work)) {}
  void run();

  std::function<void()> work_;
  std::atomic<bool> is_to_pause_{true}, is_to_end_{false};
  std::binary_semaphore has_paused_{0}, may_go_on_{0};
  bool is_paused_ = false;  // as its owner knows
  std::optional<pmd::LcoreTask> task_;
};

}  // namespace portcullis::proof
