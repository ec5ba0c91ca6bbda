// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a field that crosses a dword.
// reason: a field lies in one dword
#include "prm/layout.hpp"

namespace portcullis::prm {

#ifdef CONTROL
struct pair : Layout<"pair", 0x40, Field<"a", 0x0, 0x40>> {};
#else
struct pair
    : Layout<"pair", 0x40, Field<"a", 0x0, 0x10>, Field<"b", 0x10, 0x20>, Field<"c", 0x30, 0x10>> {
};
#endif

constexpr auto kBytes = pair::bytes;

}  // namespace portcullis::prm
