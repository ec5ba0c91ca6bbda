// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a whole key where the device takes its index.
// reason: cannot convert|no matching function
#include "pmd/fence_commands.hpp"

namespace portcullis::pmd {

#ifdef CONTROL
auto fence(prm::Rkey key) { return destroy_mkey_command(prm::index_of(key)); }
#else
auto fence(prm::Rkey key) { return destroy_mkey_command(key); }
#endif

}  // namespace portcullis::pmd
