// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a negative constant.
// reason: <= widest.* evaluated to
#include "prm/qp_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::prm {

#ifdef CONTROL
void fill(Buffer<destroy_qp_in>& command) { command.set<"qpn", 1>(); }
#else
void fill(Buffer<destroy_qp_in>& command) { command.set<"qpn", -1>(); }
#endif

}  // namespace portcullis::prm
