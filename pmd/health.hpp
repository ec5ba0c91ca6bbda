// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the function can still be believed. Sensors as in poll_health and
// mlx5_health_check_fatal_sensors of Linux (core/health.c): all ones in health.fw_ver is a card
// that is gone, a syndrome with rfr set or a NIC interface that is no longer "full driver" is a
// broken one, and a health counter that stands still for three polls is a stuck one. Once broken,
// always broken: only a reset and a new bring-up make a function believable again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/device.hpp"
#include "base/result.hpp"
#include "prm/enums.hpp"
#include "prm/init_segment.hpp"
#include "prm/view.hpp"

namespace portcullis::pmd {

enum class HealthState : std::uint8_t {
  Good,
  Stuck,   // the counter stood still for kMaxMisses polls
  Failed,  // internal error: syndrome, interface disabled or being reset, or an event said so
  Gone,    // the BAR reads all ones
};

/// "good", "stuck", "failed", "gone".
[[nodiscard]] const char* name(HealthState state) noexcept;

class Health {
 public:
  static constexpr std::uint32_t kMaxMisses = 3;
  static constexpr std::uint64_t kPollIntervalNs = 2'000 * kNsPerMs;

  /// `device` must outlive this and hold an initialisation segment.
  explicit Health(const Device& device) noexcept : device_(&device) {}

  /// Reads the sensors when kPollIntervalNs have passed since the last time, counter included.
  HealthState poll();
  /// Reads the fatal sensors now; the counter is left alone. Inline, because every command does it.
  HealthState check() {
    if (is_good() && !is_quiet()) [[unlikely]]
      diagnose();
    return state_;
  }
  /// The device said INTERNAL_ERROR in an event, or contradicted itself.
  void report_failure(std::string why);

  [[nodiscard]] HealthState state() const noexcept { return state_; }
  [[nodiscard]] bool is_good() const noexcept { return state_ == HealthState::Good; }
  /// One line: what was seen and its name; empty while good.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  /// DeviceGone or DeviceFailed with the reason; call when not good.
  [[nodiscard]] Error error() const;

 private:
  using Segment = prm::Registers<prm::mlx5_init_seg>;
  /// What an absent card answers to any read.
  static constexpr std::uint32_t kAllOnes = 0xffff'ffff;

  /// Nothing that diagnose() would have to look into; rfr counts only beside a syndrome.
  [[nodiscard]] bool is_quiet() const noexcept {
    const Segment segment(device_->bar);
    return segment.get<"health.fw_ver">() != kAllOnes && segment.get<"health.synd">() == 0 &&
           prm::nic_interface(segment.get<"cmdq_addr_l_sz">()) ==
               prm::number(prm::NicInterface::FULL_DRIVER);
  }
  void diagnose();
  void latch(HealthState state, std::string reason);

  const Device* device_;
  HealthState state_ = HealthState::Good;
  std::string reason_;
  std::uint64_t next_poll_ns_ = 0;
  std::uint32_t last_counter_ = 0;
  std::uint32_t misses_ = 0;
  bool counted_ = false;
};

}  // namespace portcullis::pmd
