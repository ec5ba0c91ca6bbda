// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a name that the layout does not have.
// reason: found.* evaluated to
#include "prm/object_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::prm {

#ifdef CONTROL
auto read(ConstView<destroy_mkey_in> command) { return command.get<"mkey_index">(); }
#else
auto read(ConstView<destroy_mkey_in> command) { return command.get<"mkey">(); }
#endif

}  // namespace portcullis::prm
