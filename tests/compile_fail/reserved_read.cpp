// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a reserved range, by the kernel's name for it.
// reason: found.* evaluated to
#include "prm/object_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::prm {

#ifdef CONTROL
auto read(ConstView<destroy_mkey_in> command) { return command.get<"uid">(); }
#else
auto read(ConstView<destroy_mkey_in> command) { return command.get<"reserved_at_20">(); }
#endif

}  // namespace portcullis::prm
