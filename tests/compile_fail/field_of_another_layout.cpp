// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a field of another layout.
// reason: found.* evaluated to
#include "prm/object_commands.hpp"
#include "prm/qp_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::prm {

#ifdef CONTROL
void fill(Buffer<destroy_qp_in>& command) { command.put<"qpn">(7); }
#else
void fill(Buffer<destroy_qp_in>& command) { command.put<"mkey_index">(7); }
#endif

}  // namespace portcullis::prm
