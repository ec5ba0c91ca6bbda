// SPDX-License-Identifier: BSD-3-Clause
//
// Time as a device gives it: CLOCK_MONOTONIC for hardware and the polled model, a virtual counter
// for the stepped model. Whoever makes the device chooses; nobody else asks which it is, except to
// say so beside a figure.
#pragma once

#include <cstdint>

namespace portcullis {

inline constexpr std::uint64_t kNsPerUs = 1'000;
inline constexpr std::uint64_t kNsPerMs = 1'000'000;
inline constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

class Clock {
 public:
  using Now = std::uint64_t (*)(const void* context) noexcept;

  /// CLOCK_MONOTONIC.
  static Clock wall() noexcept;
  /// `now(context)` in nanoseconds; must never go back. `context` must outlive the clock.
  static Clock simulated(Now now, const void* context) noexcept {
    return Clock{now, context, true};
  }

  [[nodiscard]] std::uint64_t now_ns() const noexcept { return now_(context_); }
  [[nodiscard]] bool is_virtual() const noexcept { return virtual_; }
  /// "virtual" or "wall", as printed in every series.
  [[nodiscard]] const char* name() const noexcept { return virtual_ ? "virtual" : "wall"; }

 private:
  Clock(Now now, const void* context, bool is_virtual) noexcept
      : now_(now), context_(context), virtual_(is_virtual) {}

  Now now_;
  const void* context_;
  bool virtual_;
};

}  // namespace portcullis
