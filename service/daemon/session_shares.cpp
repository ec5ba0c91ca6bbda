// SPDX-License-Identifier: BSD-3-Clause
//
// Sessions as a node whose tenants have quotas in the fleet. A grant is charged to what this node
// has taken of the quota in etcd, and where that does not suffice it waits until more is taken, or
// cannot be; nothing else waits, least of all a revoke. A share becomes smaller here first, and
// then in etcd; it grows there first. Each request for it has a number, and an answer to an earlier
// one counts for nothing: what it says may have been given back meanwhile.
#include "service/daemon/session_answers.hpp"
#include "service/daemon/sessions.hpp"

#include <algorithm>
#include <utility>

namespace portcullis::service::daemon {
namespace {

using fleet::Amount;
using wire::Code;

/// Longer than etcd has for an answer, shorter than clients wait for theirs.
constexpr std::uint64_t kMostWaitNs = 3 * kNsPerSecond;
/// What is not used is another node's to take after so long.
constexpr std::uint64_t kSpareNs = 2 * kNsPerSecond;

Amount with(const Amount& held, std::uint64_t bytes) noexcept {
  return {.leases = held.leases + 1, .bytes = held.bytes + bytes};
}
bool fits(const Amount& inner, const Amount& outer) noexcept {
  return inner.leases <= outer.leases && inner.bytes <= outer.bytes;
}
Amount least(const Amount& one, const Amount& other) noexcept {
  return {.leases = std::min(one.leases, other.leases), .bytes = std::min(one.bytes, other.bytes)};
}
Amount greatest(const Amount& one, const Amount& other) noexcept {
  return {.leases = std::max(one.leases, other.leases), .bytes = std::max(one.bytes, other.bytes)};
}

}  // namespace

fleet::Amount Sessions::left() const {
  const std::uint64_t taken = book_.held() + asked_.size() + counts_.resting + counts_.out;
  Amount left{.leases = counts_.slots - std::min<std::uint64_t>(counts_.slots, taken)};
  left.bytes = facts_.memory_bytes - std::min(facts_.memory_bytes, book_.bytes());
  return left;
}

void Sessions::charge_share(std::uint64_t tenant, std::uint64_t bytes) {
  Amount& held = shares_[tenant].held;
  held = with(held, bytes);
}

void Sessions::uncharge_share(std::uint64_t tenant, std::uint64_t bytes) {
  Amount& held = shares_[tenant].held;
  held.leases -= std::min<std::uint64_t>(held.leases, 1);
  held.bytes -= std::min(held.bytes, bytes);
}

void Sessions::start_or_wait(const WantedAlloc& asked) {
  TenantShare& share = shares_[asked.tenant];
  share.grown_ns = now_ns();
  if (share.waiting.empty() &&
      fits(with(share.held, charged_bytes(asked.wanted.bytes)), share.most))
    return start_alloc(asked);
  share.waiting.push_back(asked);
  share.waiting.back().until_ns = now_ns() + kMostWaitNs;
  ask_for_share(asked.tenant, share);
}

void Sessions::ask_for_share(std::uint64_t tenant, TenantShare& share) {
  Amount wanted = share.held;
  for (const WantedAlloc& each : share.waiting)
    wanted = with(wanted, charged_bytes(each.wanted.bytes));
  // What the node's own limits refuse in the end is not taken from the others.
  const Amount own{.leases = limits_.tenant_leases, .bytes = limits_.tenant_bytes};
  wanted = greatest(share.held, least(wanted, own));
  share.most = least(share.most, wanted);
  share.is_asked = true;
  const bool keeps_before = book_.unproved_before(incarnation_, tenant) != 0;
  ports_.want_share({.tenant = tenant,
                     .number = ++share.number,
                     .held = share.held,
                     .wanted = wanted,
                     .most = own,
                     .keeps_before = keeps_before});
}

void Sessions::hear_share(const fleet::ShareIs& is) {
  const auto at = shares_.find(is.tenant);
  if (at == shares_.end() || at->second.number != is.number) return;
  TenantShare& share = at->second;
  share.is_asked = false;
  share.most = is.most;
  const bool is_known = !is.why || is.why->code == Errc::OutOfResources;
  if (is_known) share.has_quota = is.has_quota;
  for (auto waiting = std::exchange(share.waiting, {}); !waiting.empty(); waiting.pop_front()) {
    const WantedAlloc& asked = waiting.front();
    const auto connection = connections_.find(asked.connection);
    if (connection == connections_.end()) continue;
    if (const auto why = objection(connection->second.identity, asked.wanted))
      refuse_waiting(asked, why->code, wire::text_of(why->text));
    else if (fits(with(share.held, charged_bytes(asked.wanted.bytes)), share.most))
      start_alloc(asked);
    else
      refuse_waiting(asked, is_known ? Code::Limit : Code::Unavailable,
                     is.why ? is.why->text : "the tenant's share of its quota does not suffice");
  }
}

void Sessions::refuse_waiting(const WantedAlloc& asked, Code code, const std::string& text) {
  if (ports_.observer.refused) ports_.observer.refused(code);
  refuse_later(asked.connection, asked.request_id, wire::Op::LeaseAlloc, code, text);
}

void Sessions::refuse_all_waiting(TenantShare& share, Code code, const std::string& text) {
  for (auto waiting = std::exchange(share.waiting, {}); !waiting.empty(); waiting.pop_front())
    refuse_waiting(waiting.front(), code, text);
}

/// What is spared may be more than the new quota has: it goes back, and what is wanted then is
/// asked for anew. Of a tenant that this server has not heard of, a server before it may have left
/// a share.
void Sessions::hear_quota(std::uint64_t tenant) {
  TenantShare& share = shares_[tenant];
  if (lives_until_ns_ != 0) ask_for_share(tenant, share);  // else with the session
}

void Sessions::forget_shares() {
  for (auto& [tenant, share] : shares_) {
    ++share.number;
    share.is_asked = false;
    share.most = share.held;
    refuse_all_waiting(share, Code::Unavailable,
                       "the server has no session with etcd; nothing is granted until it has");
  }
}

void Sessions::ask_for_shares() {
  for (auto& [tenant, share] : shares_) ask_for_share(tenant, share);
}

void Sessions::look_at_shares() {
  if (!is_node()) return;
  const std::uint64_t now = now_ns();
  for (auto& [tenant, share] : shares_) {
    bool is_late = false;
    for (; !share.waiting.empty() && share.waiting.front().until_ns <= now; is_late = true) {
      const WantedAlloc asked = share.waiting.front();
      share.waiting.pop_front();
      refuse_waiting(asked, Code::Unavailable,
                     "etcd has not answered for the tenant's share of its quota; again later");
    }
    const bool has_spare = share.has_quota && share.waiting.empty() && share.most != share.held &&
                           fits(share.held, share.most) && now >= share.grown_ns + kSpareNs;
    if (is_late || (has_spare && !share.is_asked)) ask_for_share(tenant, share);
  }
}

}  // namespace portcullis::service::daemon
