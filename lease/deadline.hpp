// SPDX-License-Identifier: BSD-3-Clause
//
// Sums of times that do not wrap: what lies beyond the end of the clock is its end.
#pragma once

#include <cstdint>
#include <limits>

#include "base/clock.hpp"

namespace portcullis::lease {

[[nodiscard]] constexpr std::uint64_t after_ns(std::uint64_t from_ns, std::uint64_t ns) noexcept {
  constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
  return ns > kEnd - from_ns ? kEnd : from_ns + ns;
}
[[nodiscard]] constexpr std::uint64_t ns_of_ms(std::uint64_t ms) noexcept {
  constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
  return ms > kEnd / kNsPerMs ? kEnd : ms * kNsPerMs;
}
[[nodiscard]] constexpr std::uint64_t after_ms(std::uint64_t from_ns, std::uint64_t ms) noexcept {
  return after_ns(from_ns, ns_of_ms(ms));
}

}  // namespace portcullis::lease
