// SPDX-License-Identifier: BSD-3-Clause
//
// The audit of one plan: leases whose clients write without pause are revoked, and three witnesses
// watch. The CPU compares the region, where every WRITE leaves its own number, with what it was
// when the device answered that the key is gone: an outcome is told later, and what was written
// until then would look as if it had been there. The client counts WRITEs that it posted after the
// outcome and that succeeded; the function's Q counter counts requests that the leases' QPs took.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "attach/open_device.hpp"
#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "pmd/q_counter.hpp"
#include "proof/session.hpp"

namespace portcullis::proof {

/// A plan that leaves its leases FENCED holds their objects until the function is reset, so a
/// session ends after so many fences.
inline constexpr std::uint64_t kFencesPerSession = 2'000;

struct AuditOptions {
  std::uint64_t fences = 10'000;      // for each plan
  std::uint32_t leases = 16;          // under traffic at a time
  std::uint64_t interval_ns = 2'000;  // between WRITEs, all clients together
  std::uint64_t watch_ms = 5;         // after the last outcome of a round
  std::uint32_t timeout = 8;          // of the clients
  std::uint32_t retry = 3;
  SessionOptions session = {};
};

/// What the fences of one plan came to.
struct PlanAudit {
  std::string plan = "";
  bool is_served = false;  // the clients are lease-verify's, and what they saw is not known here
  std::uint64_t fences = 0;
  std::map<std::string, std::uint64_t> outcomes = {};  // with its proof: how often
  /// With a WRITE posted and not completed when its key was about to be taken, or at the outcome of
  /// a plan that takes none; of clients that are not ours, with many requests seen before.
  std::uint64_t under_load = 0;
  std::uint64_t watched = 0;  // whose region was still there to be watched
  /// Of those, compared with what was there when the device answered for the key; the others with
  /// what was there at the outcome.
  std::uint64_t from_answer = 0;
  std::uint64_t changed = 0;  // fences after which a byte of the region changed
  /// Fences in which a WRITE landed between the last look and that answer, or behind it and before
  /// the copy: whether it was late nobody can say.
  std::uint64_t unsettled = 0;
  /// WRITEs posted after the outcome that succeeded; where the clients are not ours, WRITEs that
  /// moved the sequence word after it.
  std::uint64_t executed = 0;
  std::uint64_t counted = 0;  // requests that the Q counter took in after a round's outcomes
  bool has_counter = false;
  std::map<int, std::uint64_t> statuses = {};  // of the clients' first failure: how often
  std::uint64_t last_success_ns = 0;  // the latest after an outcome, of what was posted before
  [[nodiscard]] bool holds() const noexcept { return changed + executed + counted == 0; }
  /// One more fence, and how it ended.
  void note(const lease::Verdict& verdict);
};
/// Of a set, the WRITEs, READs and atomics that its QPs took in; wraps at 32 bits.
[[nodiscard]] Result<std::uint32_t> requests_counted(const pmd::QCounter& counter);

[[nodiscard]] Result<PlanAudit> audit(const attach::DeviceSpec& device, const lease::Plan& plan,
                                      const AuditOptions& options);

}  // namespace portcullis::proof
