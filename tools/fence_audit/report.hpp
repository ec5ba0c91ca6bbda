// SPDX-License-Identifier: BSD-3-Clause
//
// What an audit says: a few lines for a reader, and one JSON for a machine.
#pragma once

#include <string>
#include <vector>

#include "proof/audit.hpp"

namespace portcullis::tools::fence_audit {

/// "the fence held" or "the fence did not hold".
[[nodiscard]] std::string verdict_of(const std::vector<proof::PlanAudit>& audits);
[[nodiscard]] std::string text_of(const proof::PlanAudit& audit);
[[nodiscard]] std::string json_of(const std::string& device,
                                  const std::vector<proof::PlanAudit>& audits);

}  // namespace portcullis::tools::fence_audit
