// SPDX-License-Identifier: BSD-3-Clause
//
// What an audit says: a few lines for a reader, and one JSON for a machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proof/audit.hpp"

namespace portcullis::tools::fence_audit {

/// Of all plans together: one that is broken decides, then one without evidence.
[[nodiscard]] proof::AuditVerdict verdict(const std::vector<proof::PlanAudit>& audits);
/// "the fence held", "the fence did not hold", "no evidence: .." with the plans that lack it.
[[nodiscard]] std::string verdict_of(const std::vector<proof::PlanAudit>& audits);
[[nodiscard]] std::string text_of(const proof::PlanAudit& audit);
/// The line of one fence, and the line above the first that says what is in it.
[[nodiscard]] std::string line_of(const std::string& plan, const proof::FenceRecord& record);
[[nodiscard]] std::string_view lines_header() noexcept;
[[nodiscard]] std::string json_of(const std::string& device,
                                  const std::vector<proof::PlanAudit>& audits);

}  // namespace portcullis::tools::fence_audit
