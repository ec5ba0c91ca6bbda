// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a memory key that names a QP (mkc.qpn) is taken, and whether it serves that QP alone: two
// connections of one protection domain over loopback, and a key for the first.
#pragma once

#include "base/result.hpp"
#include "light/facts.hpp"
#include "pmd/context.hpp"
#include "pmd/roce_path.hpp"

namespace portcullis::light {

/// `path` leads from the port to itself. A refused key is a fact; an error is of anything else.
[[nodiscard]] Result<KeyFact> ask_of_key(const pmd::Context& context, const pmd::RocePath& path);

}  // namespace portcullis::light
