// SPDX-License-Identifier: BSD-3-Clause
//
// The MAC of the function's port: the switch inside a card takes and loops back what is addressed
// to it, so a RoCE address needs this one.
#pragma once

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/gid.hpp"

namespace portcullis::pmd {

/// The permanent address of the function's vport (QUERY_NIC_VPORT_CONTEXT), or a locally
/// administered one where it has none.
[[nodiscard]] Result<Mac> port_mac(const Context& context);

}  // namespace portcullis::pmd
