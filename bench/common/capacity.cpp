// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/capacity.hpp"

#include <optional>
#include <string>

#include "attach/open_device.hpp"
#include "bench/common/open_session.hpp"
#include "lease/fence.hpp"

namespace portcullis::bench {
namespace {

/// What revoking so many takes; none when that breaks the contract.
Result<std::optional<std::uint64_t>> time_of(const lease::Plan& plan, proof::RevokeMode mode,
                                             std::uint32_t leases) {
  std::string device = std::string("model,execution=stepped,timing=") + kCapacityTiming;
  if (plan.entry == steering::EntryPlan::Underlay) device += ",port=ib";  // there is none elsewhere
  PORTCULLIS_TRY_ASSIGN(const auto spec, attach::parse_device(device));
  PORTCULLIS_TRY_ASSIGN(const auto session, open_session(spec));
  proof::TenancyOptions options;
  options.leases = leases;
  options.mode = mode;
  options.are_together = plan.is_for_groups();
  options.entry = plan.entry;
  options.fence_deadline_ms = lease::FenceOptions{}.deadline_ms;
  PORTCULLIS_TRY_ASSIGN(const auto tenancy, proof::Tenancy::create(*session, options));
  PORTCULLIS_TRY(tenancy->grant_all());
  const std::uint64_t start = session->now_ns();
  const auto revoked = tenancy->revoke_all(plan);
  const std::uint64_t time = session->now_ns() - start;
  if (!revoked && revoked.error().code != Errc::CommandFailed)
    return tl::unexpected<Error>(revoked.error());
  if (!revoked || time > kContractNs) return std::optional<std::uint64_t>();
  return std::optional<std::uint64_t>(time);
}

}  // namespace

Result<Capacity> find_capacity(const lease::Plan& plan, proof::RevokeMode mode,
                               std::uint32_t limit) {
  Capacity best;
  std::uint32_t too_many = 0;  // none found yet
  std::uint32_t next = 1;
  while (next != best.leases) {
    PORTCULLIS_TRY_ASSIGN(const auto time, time_of(plan, mode, next));
    if (time)
      best = {next, *time, next == limit};
    else
      too_many = next;
    if (best.is_at_limit) break;
    next = too_many == 0 ? std::min(best.leases * 2, limit)
                         : best.leases + (too_many - best.leases) / 2;
  }
  return best;
}

}  // namespace portcullis::bench
