// SPDX-License-Identifier: BSD-3-Clause
//
// How long the number of a fenced QP may not be another's: as long as a packet of its client may
// still come. The client's timer may run to 4 T, T being 4.096 us x 2^timeout, for each of its
// retry_count + 1 sends, and until it has run out the client may begin further requests. A fabric
// that holds packets back counts twice: an answer from before the fence starts the client's count
// anew when it arrives at last, and what the client sends last may be held as long again.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lease/deadline.hpp"

namespace portcullis::lease {

struct NumberRest {
  std::uint64_t grace_ms = 0;      // at least
  std::uint64_t residence_ms = 0;  // of a packet in the fabric, at most; 0: nobody says
};

/// From the fence on.
[[nodiscard]] constexpr std::uint64_t number_rest_ns(const NumberRest& rest,
                                                     std::uint32_t ack_timeout,
                                                     std::uint32_t retry_count) noexcept {
  const std::uint64_t t_ns = std::uint64_t{4'096} << ack_timeout;
  const std::uint64_t budget_ns = 4 * t_ns * (retry_count + std::uint64_t{1});
  return std::max(ns_of_ms(rest.grace_ms), budget_ns + 2 * ns_of_ms(rest.residence_ms));
}

}  // namespace portcullis::lease
