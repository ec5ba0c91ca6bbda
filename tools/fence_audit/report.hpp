// SPDX-License-Identifier: BSD-3-Clause
//
// What an audit says: a few lines for a reader, and one JSON for a machine.
#pragma once

#include <string>
#include <vector>

#include "tools/fence_audit/audit.hpp"

namespace portcullis::tools::fence_audit {

/// "the fence held" or "the fence did not hold".
[[nodiscard]] std::string verdict_of(const std::vector<PlanAudit>& audits);
[[nodiscard]] std::string text_of(const PlanAudit& audit);
[[nodiscard]] std::string json_of(const std::string& device, const std::vector<PlanAudit>& audits);

}  // namespace portcullis::tools::fence_audit
