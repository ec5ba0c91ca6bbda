// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a queue pair's number where a protection domain's belongs.
// reason: cannot convert|no matching function
#include "pmd/fence_commands.hpp"
#include "pmd/queue_pair.hpp"

namespace portcullis::pmd {

#ifdef CONTROL
auto give_back(const ProtectionDomain& pd) { return dealloc_pd_command(pd.number()); }
#else
auto give_back(const QueuePair& qp) { return dealloc_pd_command(qp.number()); }
#endif

}  // namespace portcullis::pmd
