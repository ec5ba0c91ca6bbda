// SPDX-License-Identifier: BSD-3-Clause
//
// How many leases of one tenant a plan takes back within the contract of 1 s: searched, not
// extrapolated, on a stepped model that takes the times of a card's firmware. Emulated: what is
// assumed of that firmware stands in the timing's description.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "proof/tenancy.hpp"

namespace portcullis::bench {

struct Capacity {
  std::uint32_t leases = 0;   // the most of which every outcome stood in time
  std::uint64_t time_ns = 0;  // that they took
  bool is_at_limit = false;   // not searched any further
};

inline constexpr std::uint64_t kContractNs = kNsPerSecond;
inline constexpr const char* kCapacityTiming = "cx5-16.35.4506";

/// Idle leases, with the fence's own deadline of 800 ms for its commands; up to `limit` leases.
[[nodiscard]] Result<Capacity> find_capacity(const lease::Plan& plan, proof::RevokeMode mode,
                                             std::uint32_t limit);

}  // namespace portcullis::bench
