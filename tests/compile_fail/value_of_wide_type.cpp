// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a run-time value of a type wider than the field, unchecked.
// reason: digits.* evaluated to
#include "prm/cmd_interface.hpp"
#include "prm/view.hpp"

namespace portcullis::prm {

#ifdef CONTROL
void fill(View<cmd_queue_entry> entry, std::uint8_t token) { entry.put<"token">(token); }
#else
void fill(View<cmd_queue_entry> entry, std::uint32_t token) { entry.put<"token">(token); }
#endif

}  // namespace portcullis::prm
