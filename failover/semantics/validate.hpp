// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a scenario refers only to what it has, so that nothing after it has to ask again.
#pragma once

#include "base/result.hpp"
#include "failover/semantics/scenario.hpp"

namespace portcullis::failover {

/// InvalidArgument with one line that names the scenario, the member and what is accepted.
[[nodiscard]] Result<void> validate(const Scenario& scenario);

}  // namespace portcullis::failover
