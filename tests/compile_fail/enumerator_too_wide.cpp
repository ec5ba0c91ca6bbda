// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: an enumerator wider than its field.
// reason: <= widest.* evaluated to
#include "prm/enums.hpp"
#include "prm/qp_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::prm {

#ifdef CONTROL
void fill(Buffer<qpc>& context) { context.set<"state", QpState::ERR>(); }
#else
void fill(Buffer<qpc>& context) { context.set<"state", QpOptPar::PM_STATE>(); }
#endif

}  // namespace portcullis::prm
