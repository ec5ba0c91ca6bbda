// SPDX-License-Identifier: BSD-3-Clause
//
// Sessions as a node of a fleet: whether anything may be granted, the end of what a tenant had
// below its fence epoch, and the end of what tenants have on a node that is alone. A grant carries
// the epoch that was known when it was asked for, so one that is under way while the epoch is
// raised ends with the others, untold, and the fence waits for it.
#include "service/daemon/session_answers.hpp"
#include "service/daemon/sessions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace portcullis::service::daemon {

using wire::Code;

std::uint64_t Sessions::epoch_of(std::uint64_t tenant) const {
  const auto at = epochs_.find(tenant);
  return at == epochs_.end() ? 0 : at->second;
}

std::optional<wire::Refusal> Sessions::fleet_objection(std::uint16_t op,
                                                       std::uint64_t tenant) const {
  if (!is_node()) return std::nullopt;
  if (now_ns() >= lives_until_ns_)
    return wire::refusal(Code::Unavailable, op,
                         "the server has no session with etcd; nothing is granted until it has");
  if (fences_.contains(tenant))
    return wire::refusal(Code::Busy, op, "the tenant is being fenced everywhere; again later");
  return std::nullopt;
}

/// What a lease has now is the last that it has while the node is alone, if that was promised.
std::optional<wire::Refusal> Sessions::renewal_objection() const {
  const bool ends_by_ttl = facts_.isolation && facts_.isolation->ends_by_ttl;
  if (!is_node() || !ends_by_ttl || now_ns() < lives_until_ns_) return std::nullopt;
  return wire::refusal(Code::Unavailable, wire::number(wire::Op::LeaseRenew),
                       "the server has no session with etcd; nothing is renewed until it has");
}

void Sessions::hear(const FleetNews& news) {
  if (const auto* lives = std::get_if<FleetLives>(&news)) {
    const bool has_joined = std::exchange(lives_until_ns_, lives->until_ns) == 0;
    lived_ns_ = lives->asked_ns;
    isolated_ns_ = 0;
    if (has_joined) ask_for_shares();
  }
  if (std::holds_alternative<FleetIsOut>(news)) {
    lives_until_ns_ = 0;
    forget_shares();
  }
  if (const auto* quota = std::get_if<QuotaChanged>(&news)) hear_quota(quota->tenant);
  if (const auto* share = std::get_if<fleet::ShareIs>(&news)) hear_share(*share);
  if (const auto* fence = std::get_if<FenceTenant>(&news)) hear_fence(*fence);
}

/// A second fence of the tenant takes the place of one that is under way: what it waits for is all
/// that the first one waited for, and more.
void Sessions::hear_fence(const FenceTenant& wanted) {
  std::uint64_t& epoch = epochs_[wanted.tenant];
  if (wanted.epoch <= epoch) return;
  epoch = wanted.epoch;
  if (const auto share = shares_.find(wanted.tenant); share != shares_.end())
    refuse_all_waiting(share->second, Code::Busy,
                       "the tenant is being fenced everywhere; again later");
  Fence& fence = fences_[wanted.tenant];
  fence.epoch = epoch;
  fence.left = 0;
  Revoke batch{.names = {}, .cause = wire::Cause::Operator};
  for (BookedLease* lease : book_.held_by(wanted.tenant)) {
    ++fence.left;  // every one of them was granted below it
    if (!std::exchange(lease->is_revoking, true)) batch.names.push_back(lease->record.name);
  }
  for (const auto& [ticket, asked] : asked_)
    if (asked.tenant == wanted.tenant && !asked.answer) ++fence.left;  // the device has it
  if (!batch.names.empty()) ports_.ask(std::move(batch));
  tell_if_fenced(wanted.tenant);
}

void Sessions::look_at_time() {
  look_at_shares();
  if (!facts_.isolation || lived_ns_ == 0 || isolated_ns_ != 0) return;
  if (now_ns() < lived_ns_ + facts_.isolation->after_s * kNsPerSecond) return;
  isolated_ns_ = now_ns();  // a grant that is under way ends when it has come
  Revoke batch{.names = {}, .cause = wire::Cause::Server};
  for (BookedLease* lease : book_.held_by(wire::kEveryTenant))
    if (is_cut_off(lease->record.tenant) && !std::exchange(lease->is_revoking, true))
      batch.names.push_back(lease->record.name);
  if (ports_.log)
    ports_.log(fmt::format("{} s without etcd: {} leases are revoked", facts_.isolation->after_s,
                           batch.names.size()));
  if (!batch.names.empty()) ports_.ask(std::move(batch));
}

bool Sessions::is_overdue() const {
  if (isolated_ns_ == 0 || facts_.isolation->stall_s == 0) return false;
  if (now_ns() < isolated_ns_ + facts_.isolation->stall_s * kNsPerSecond) return false;
  const auto held = book_.unended();
  return std::any_of(held.begin(), held.end(),
                     [this](std::uint64_t tenant) { return is_cut_off(tenant); }) ||
         std::any_of(asked_.begin(), asked_.end(),
                     [this](const auto& each) { return is_cut_off(each.second.tenant); });
}

void Sessions::note_gone(std::uint64_t tenant, std::uint64_t fence_epoch, bool is_torn_down) {
  const auto at = fences_.find(tenant);
  if (at == fences_.end() || fence_epoch >= at->second.epoch) return;
  if (is_torn_down) ++at->second.torn_down;
  --at->second.left;
  tell_if_fenced(tenant);
}

void Sessions::tell_if_fenced(std::uint64_t tenant) {
  const auto at = fences_.find(tenant);
  if (at == fences_.end() || at->second.left != 0) return;
  const Fence fence = at->second;
  fences_.erase(at);
  if (!ports_.fenced) return;
  const std::uint32_t before = book_.unproved_before(incarnation_, tenant);
  ports_.fenced({.tenant = tenant,
                 .epoch = fence.epoch,
                 .torn_down = fence.torn_down,
                 .fenced = book_.fenced_of(tenant) + before});
}

}  // namespace portcullis::service::daemon
