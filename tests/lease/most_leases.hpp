// SPDX-License-Identifier: BSD-3-Clause
//
// How many leases a test takes that wants as many as a function has. AddressSanitizer makes each of
// them ten times as slow, and what it looks for does not need them all.
#pragma once

#include <cstdint>

#include "base/sanitizers.hpp"

namespace portcullis::testing {

inline constexpr std::uint32_t kMostLeases = PORTCULLIS_ASAN ? 8'192 : 64'990;

}  // namespace portcullis::testing
