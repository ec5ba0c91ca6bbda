// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a frame's body whose members leave a gap.
// reason: leave_a_gap_overlap_or_do_not_fill
#include "wire/layout.hpp"

namespace portcullis::wire {

struct Body {
  std::uint64_t id = 0;
  std::uint32_t mask = 0;
};

#ifdef CONTROL
constexpr auto kBody =
    layout<16>(field("id", 0, &Body::id), field("mask", 8, &Body::mask), reserved(12, 4));
#else
constexpr auto kBody =
    layout<16>(field("id", 0, &Body::id), field("mask", 9, &Body::mask), reserved(13, 3));
#endif

constexpr auto kBodyBytes = kBody.bytes;

}  // namespace portcullis::wire
