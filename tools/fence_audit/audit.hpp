// SPDX-License-Identifier: BSD-3-Clause
//
// The audit of one plan: leases whose clients write without pause are revoked, and from the moment
// an outcome stands three witnesses watch: the CPU compares the region, where every WRITE leaves
// its own number; the client counts WRITEs that it posted after the outcome and that succeeded; the
// function's Q counter counts requests that the leases' QPs took.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "tools/fence_audit/options.hpp"
#include "tools/open_device.hpp"

namespace portcullis::tools::fence_audit {

/// What the fences of one plan came to.
struct PlanAudit {
  std::string plan;
  std::uint64_t fences = 0;
  std::map<std::string, std::uint64_t> outcomes;  // with its proof: how often
  std::uint64_t under_load = 0;                   // with WRITEs outstanding at the outcome
  std::uint64_t watched = 0;                      // whose region was still there to be watched
  std::uint64_t changed = 0;   // fences after whose outcome a byte of the region changed
  std::uint64_t executed = 0;  // WRITEs posted after the outcome that succeeded
  std::uint64_t counted = 0;   // requests that the Q counter took in after a round's outcomes
  bool has_counter = false;
  std::map<int, std::uint64_t> statuses;  // of the clients' first failure: how often
  std::uint64_t last_success_ns = 0;      // the latest after an outcome, of what was posted before
  [[nodiscard]] bool holds() const noexcept { return changed + executed + counted == 0; }
};

[[nodiscard]] Result<PlanAudit> audit(const DeviceSpec& device, const lease::Plan& plan,
                                      const Options& options);

}  // namespace portcullis::tools::fence_audit
