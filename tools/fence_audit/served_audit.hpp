// SPDX-License-Identifier: BSD-3-Clause
//
// The audit of one plan under the load of another stack: lease-verify --revoke-test on another
// host, or on soft-RoCE, asks for one lease after the other and writes without pause until its own
// QP tells it that it may not. Two witnesses watch: the CPU compares the region with what it was
// when the device answered for the key, and the function's Q counters count requests that the
// lease's QP took after the outcome. What the client saw is in its own report.
#pragma once

#include <functional>

#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "proof/audit.hpp"
#include "service/exchange/line_channel.hpp"
#include "service/served_port.hpp"

namespace portcullis::tools::fence_audit {

/// Fences leases of whoever asks at `channel` until `audit` has `until` fences, or `stop` says so.
[[nodiscard]] Result<void> audit_served(service::ServedPort& port,
                                        service::exchange::LineChannel& channel,
                                        const lease::Plan& plan, const proof::AuditOptions& options,
                                        std::uint64_t until, const std::function<bool()>& stop,
                                        proof::PlanAudit& audit);

}  // namespace portcullis::tools::fence_audit
