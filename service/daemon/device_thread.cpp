// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/device_thread.hpp"

#include <poll.h>
#include <pthread.h>

#include <chrono>
#include <utility>

namespace portcullis::service::daemon {
namespace {

/// How late an event of the device, an end of a lease or a sweep may be seen on an idle server.
constexpr int kNapMs = 1;

}  // namespace

DeviceThread::DeviceThread(std::unique_ptr<Engine> engine, bool polls)
    : engine_(std::move(engine)),
      polls_(polls),
      counts_(engine_->counts()),
      thread_([this] { run(); }) {}

DeviceThread::~DeviceThread() { (void)stop(); }

Counts DeviceThread::counts() const {
  const std::lock_guard<std::mutex> one(lock_);
  return counts_;
}

Result<void> DeviceThread::stop(const std::function<void()>& goes_on) {
  constexpr std::chrono::seconds kOften{1};
  stop_ = true;
  inbox_.wake();
  while (is_over_.wait_for(kOften) != std::future_status::ready)
    if (goes_on) goes_on();
  if (thread_.joinable()) thread_.join();
  return torn_down_;
}

void DeviceThread::run() {
  (void)::pthread_setname_np(::pthread_self(), "device");
  while (!stop_) {
    inbox_.heard();
    while (auto request = inbox_.take()) engine_->ask(*std::move(request));
    const bool has_more = engine_->work();
    ++rounds_;
    {
      const std::lock_guard<std::mutex> one(lock_);
      counts_ = engine_->counts();
    }
    if (has_more || polls_ || !inbox_.may_wait()) continue;
    pollfd waited{.fd = inbox_.fd(), .events = POLLIN, .revents = 0};
    (void)::poll(&waited, 1, kNapMs);
  }
  torn_down_ = engine_->tear_down();
  over_.set_value();
}

}  // namespace portcullis::service::daemon
