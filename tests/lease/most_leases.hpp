// SPDX-License-Identifier: BSD-3-Clause
//
// How many leases a test takes that wants as many as a function has. AddressSanitizer makes each of
// them ten times as slow, and what it looks for does not need them all.
#pragma once

#include <cstdint>

namespace portcullis::testing {

#if defined(__SANITIZE_ADDRESS__)
#define PORTCULLIS_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PORTCULLIS_HAS_ASAN 1
#endif
#endif

#ifdef PORTCULLIS_HAS_ASAN
inline constexpr std::uint32_t kMostLeases = 8'192;
#else
inline constexpr std::uint32_t kMostLeases = 64'990;
#endif

}  // namespace portcullis::testing
