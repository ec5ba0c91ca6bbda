// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a write through a view that only reads.
// reason: has no member|no member named
#include "prm/object_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::prm {

#ifdef CONTROL
void fill(View<destroy_mkey_in> command) { command.set<"uid", 1>(); }
#else
void fill(ConstView<destroy_mkey_in> command) { command.set<"uid", 1>(); }
#endif

}  // namespace portcullis::prm
