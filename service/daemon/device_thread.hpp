// SPDX-License-Identifier: BSD-3-Clause
//
// The thread that an Engine runs in: takes what the network thread asks, works, and sleeps in
// between unless it has a core of its own. Nobody else touches the device while it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "base/result.hpp"
#include "service/daemon/engine.hpp"
#include "service/daemon/mailbox.hpp"
#include "service/daemon/requests.hpp"

namespace portcullis::service::daemon {

class DeviceThread {
 public:
  /// `polls`: never sleeps.
  DeviceThread(std::unique_ptr<Engine> engine, bool polls);
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;
  /// Ends as stop() does, if nobody has.
  ~DeviceThread();

  void ask(Request request) { inbox_.put(std::move(request)); }
  [[nodiscard]] Counts counts() const;
  /// How often it has looked at the device: grows all the time while the thread is well, and stands
  /// still while a call to the device hangs.
  [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_.load(); }
  /// Takes no more requests, tears down, and answers what that came to; while that takes its time
  /// `goes_on` is called once a second; how long that may be is the lease manager's tear_down() to
  /// say. Done twice is done.
  Result<void> stop(const std::function<void()>& goes_on = {});

 private:
  void run();

  std::unique_ptr<Engine> engine_;
  bool polls_;
  Mailbox<Request> inbox_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> rounds_{0};
  mutable std::mutex lock_;
  Counts counts_;
  Result<void> torn_down_;
  std::promise<void> over_;
  std::future<void> is_over_ = over_.get_future();
  std::thread thread_;
};

}  // namespace portcullis::service::daemon
