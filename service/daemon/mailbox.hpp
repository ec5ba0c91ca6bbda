// SPDX-License-Identifier: BSD-3-Clause
//
// From any threads to one, in the order in which they put. Taking is cheap where nothing is there,
// and whoever has nothing else to do says that it may wait, and waits on the descriptor: who does
// not is not woken, for a wake costs more than all else here. Nothing is ever refused: a thread
// that tells of an outcome must not wait for the one that hears of it, so what does not fit grows.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/unique_fd.hpp"

namespace portcullis::service::daemon {

template <class T>
class Mailbox {
 public:
  Mailbox() : wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() = default;

  void put(T value) {
    leave(std::move(value));
    nudge();
  }
  /// Its reader sleeps on: for what may wait until somebody says nudge().
  void leave(T value) {
    const std::lock_guard<std::mutex> one(lock_);
    waiting_.push_back(std::move(value));
    count_.store(waiting_.size());
  }
  /// Wakes a reader that may wait, if anything is there.
  void nudge() noexcept {
    if (may_wait_.load() && count_.load() != 0) wake();
  }
  /// The oldest; none when there is none.
  [[nodiscard]] std::optional<T> take() {
    if (count_.load(std::memory_order_acquire) == 0) return std::nullopt;
    const std::lock_guard<std::mutex> one(lock_);
    if (waiting_.empty()) return std::nullopt;
    std::optional<T> oldest(std::move(waiting_.front()));
    waiting_.pop_front();
    count_.store(waiting_.size(), std::memory_order_release);
    return oldest;
  }
  /// False when the process had no descriptor left for it.
  [[nodiscard]] bool is_open() const noexcept { return wake_.is_open(); }
  /// From here until heard() a put wakes who waits on fd(); so it is from the start. False when
  /// something waits already. One of the two sees the other: first this is said, then looked, and
  /// who puts does it the other way round.
  [[nodiscard]] bool may_wait() noexcept {
    may_wait_.store(true);
    return count_.load() == 0;
  }
  /// Readable from wake(), or from put() while its reader may wait, until heard().
  [[nodiscard]] int fd() const noexcept { return wake_.get(); }
  void wake() noexcept {
    const std::uint64_t one = 1;
    // Full means that it is readable, which is all that is wanted.
    (void)!::write(wake_.get(), &one, sizeof one);
  }
  /// Before take(), so that nothing put since then goes unseen. `is_readable`: fd() was, when
  /// somebody looked; where it was not, a wake since then is left for who waits next.
  void heard(bool is_readable = true) noexcept {
    if (!may_wait_.exchange(false) || !is_readable) return;
    std::uint64_t count = 0;
    (void)!::read(wake_.get(), &count, sizeof count);
  }

 private:
  UniqueFd wake_;
  std::mutex lock_;
  std::deque<T> waiting_;
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> may_wait_{true};
};

}  // namespace portcullis::service::daemon
