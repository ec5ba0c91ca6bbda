// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a packet sequence number where a queue pair's number belongs.
// reason: cannot convert|cannot initialize a parameter
#include "lease/grant.hpp"
#include "pmd/fence_commands.hpp"

namespace portcullis::lease {

#ifdef CONTROL
auto fence(const Grant& grant) { return pmd::error_qp_command(grant.qpn); }
#else
auto fence(const Grant& grant) { return pmd::error_qp_command(grant.psn); }
#endif

}  // namespace portcullis::lease
