// SPDX-License-Identifier: BSD-3-Clause
//
// The chip's temperature, as MTMP keeps it. Nothing here gets warm: how warm it is, and where it
// would be too warm, are assumed.
#pragma once

#include <cstdint>

#include "prm/management_registers.hpp"

namespace portcullis::model {

struct Thermometer {
  static constexpr std::uint16_t kNow = 45 * prm::kTicksPerDegree;

  std::uint16_t too_warm = 105 * prm::kTicksPerDegree;   // mtmp_reg.temp_threshold_hi
  std::uint16_t well_again = 95 * prm::kTicksPerDegree;  // its temp_threshold_lo
  std::uint8_t warns = 0;                                // its tee
  bool keeps_highest = false;                            // its mte
};

}  // namespace portcullis::model
