// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a nested layout read as one number.
// reason: kind == .* evaluated to
#include "prm/qp_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::prm {

#ifdef CONTROL
auto read(ConstView<create_qp_in> command) { return command.get<"qpc.pd">(); }
#else
auto read(ConstView<create_qp_in> command) { return command.get<"qpc">(); }
#endif

}  // namespace portcullis::prm
