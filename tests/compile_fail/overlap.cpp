// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: members that overlap.
// reason: leave a gap, overlap, or do not fill
#include "prm/layout.hpp"

namespace portcullis::prm {

#ifdef CONTROL
struct pair : Layout<"pair", 0x40, Field<"a", 0x0, 0x20>, Field<"b", 0x20, 0x20>> {};
#else
struct pair
    : Layout<"pair", 0x40, Field<"a", 0x0, 0x20>, Field<"b", 0x18, 0x8>, Field<"c", 0x20, 0x20>> {};
#endif

constexpr auto kBytes = pair::bytes;

}  // namespace portcullis::prm
