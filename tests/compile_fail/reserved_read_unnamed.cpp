// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a reserved range, by no name.
// reason: found.* evaluated to
#include "prm/object_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::prm {

#ifdef CONTROL
auto read(ConstView<destroy_mkey_in> command) { return command.get<"op_mod">(); }
#else
auto read(ConstView<destroy_mkey_in> command) { return command.get<"">(); }
#endif

}  // namespace portcullis::prm
