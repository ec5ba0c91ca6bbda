// SPDX-License-Identifier: BSD-3-Clause
//
// The device's free-running counter: what internal_timer and the timestamp of a CQE count.
#pragma once

#include <cstdint>

namespace portcullis::model {

/// cmd_hca_cap.device_frequency_khz: 156.25 MHz, of which 5 ticks are 32 ns. The model's choice.
inline constexpr std::uint32_t kDeviceFrequencyKhz = 156'250;

[[nodiscard]] constexpr std::uint64_t device_ticks(std::uint64_t ns) noexcept {
  return ns / 32 * 5 + ns % 32 * 5 / 32;
}

}  // namespace portcullis::model
