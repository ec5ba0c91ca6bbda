// SPDX-License-Identifier: BSD-3-Clause
//
// A look at memory at the very moment of a write to a page of registers: what a device on a core
// of its own may see when a doorbell rings, made certain.
#pragma once

#include <signal.h>
#include <sys/mman.h>

#include <functional>
#include <span>

namespace portcullis::testing {

/// The first write to `page` finds it write-protected: `look` is run, and the write goes through.
/// `page` is whole pages. One at a time.
class WriteTrap {
 public:
  WriteTrap(std::span<std::byte> page, std::function<void()> look)
      : page_(page), look_(std::move(look)) {
    armed = this;
    struct sigaction action {};
    action.sa_handler = &WriteTrap::on_fault;
    sigaction(SIGSEGV, &action, &before_);
    mprotect(page_.data(), page_.size(), PROT_READ);
  }
  WriteTrap(const WriteTrap&) = delete;
  WriteTrap& operator=(const WriteTrap&) = delete;
  ~WriteTrap() { disarm(); }

 private:
  static void on_fault(int /*signal*/) {
    // With the handler gone a fault that is none of this page's ends the program.
    armed->disarm();
    armed->look_();
  }
  void disarm() {
    mprotect(page_.data(), page_.size(), PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &before_, nullptr);
  }

  static inline WriteTrap* armed = nullptr;
  std::span<std::byte> page_;
  std::function<void()> look_;
  struct sigaction before_ {};
};

}  // namespace portcullis::testing
