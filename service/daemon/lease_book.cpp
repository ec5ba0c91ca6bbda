// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/lease_book.hpp"

#include <algorithm>
#include <utility>

namespace portcullis::service::daemon {
namespace {

bool is_of(std::uint64_t own, std::uint64_t tenant) noexcept {
  return tenant == wire::kEveryTenant || own == tenant;
}

}  // namespace

void BookedLease::leave(ConnectionId connection) {
  holders.erase(connection);
  renewing.remove(connection);
}

void BookedLease::note_renewed(ConnectionId connection) {
  bool is_found = false;
  renewing.remove_if(
      [&](ConnectionId each) { return each == connection && !std::exchange(is_found, true); });
}

LeaseBook::LeaseBook(const std::vector<PastEnding>& past) {
  for (const PastEnding& each : past) remember(each);
}

BookedLease* LeaseBook::find(lease::LeaseName name) {
  const auto at = leases_.find(name.id);
  if (at == leases_.end() || at->second.record.name.epoch != name.epoch) return nullptr;
  return &at->second;
}

const Ending* LeaseBook::past(lease::LeaseName name) const {
  const auto at = past_.find(name.id);
  if (at == past_.end() || at->second.ending.name.epoch != name.epoch) return nullptr;
  return &at->second.ending;
}

BookedLease& LeaseBook::enter(BookedLease lease) {
  ++held_;
  const std::uint64_t id = lease.record.name.id;
  BookedLease& entered = leases_.insert_or_assign(id, std::move(lease)).first->second;
  by_tenant_.insert(&entered);
  return entered;
}

std::map<std::uint64_t, LeaseTally> LeaseBook::tally() const {
  std::map<std::uint64_t, LeaseTally> tallies;
  for (const auto& [id, lease] : leases_) {
    LeaseTally& of = tallies[lease.record.tenant];
    ++(lease.fenced ? of.fenced : lease.is_revoking ? of.revoking : of.active);
  }
  return tallies;
}

void LeaseBook::settle(std::uint64_t now_ns) {
  while (!resting_.empty() && resting_.begin()->first <= now_ns) {
    give_back(resting_.begin()->second.tenant, resting_.begin()->second.bytes);
    resting_.erase(resting_.begin());
  }
}

std::optional<BookedLease> LeaseBook::end(const Ending& ending, std::uint64_t incarnation,
                                          std::uint64_t now_ns) {
  const auto at = leases_.find(ending.name.id);
  if (at == leases_.end() || at->second.fenced) return std::nullopt;
  BookedLease was = std::move(at->second);
  --held_;
  resting_.emplace(now_ns + was.rest_ns,
                   Resting{.tenant = was.record.tenant, .bytes = was.record.bytes});
  settle(now_ns);
  remember({.incarnation = incarnation, .ending = ending});
  if (ending.outcome == wire::Outcome::Fenced) {
    at->second = BookedLease{.record = was.record,
                             .granted_ns = was.granted_ns,
                             .fenced = std::make_unique<const Ending>(ending),
                             .is_recorded = was.is_recorded};
  } else {
    by_tenant_.erase(&at->second);
    leases_.erase(at);
  }
  return was;
}

std::vector<BookedLease*> LeaseBook::held_by(std::uint64_t tenant) {
  std::vector<BookedLease*> held;
  const auto take = [&held](BookedLease& lease) {
    if (!lease.fenced) held.push_back(&lease);
  };
  if (tenant == wire::kEveryTenant)
    for (auto& [id, lease] : leases_) take(lease);
  const TenantAndId first{.tenant = tenant, .id = 0};
  for (auto at = by_tenant_.lower_bound(first); is_at(at, tenant); ++at) take(**at);
  return held;
}

std::set<std::uint64_t> LeaseBook::unended() const {
  std::set<std::uint64_t> tenants;
  for (const auto& [id, lease] : leases_)
    if (!lease.fenced || lease.fenced->memory == wire::Memory::Unproved)
      tenants.insert(lease.record.tenant);
  return tenants;
}

std::vector<BookedLease*> LeaseBook::held_at(ConnectionId connection, std::uint64_t tenant) {
  std::vector<BookedLease*> held;
  for (BookedLease* lease : held_by(tenant))
    if (lease->holders.contains(connection) ||
        std::find(lease->renewing.begin(), lease->renewing.end(), connection) !=
            lease->renewing.end())
      held.push_back(lease);
  return held;
}

std::vector<const BookedLease*> LeaseBook::rows(std::uint64_t tenant, std::uint64_t cursor,
                                                std::size_t most) const {
  std::vector<const BookedLease*> rows;
  const auto take = [&](const BookedLease& lease) {
    if (lease.is_recorded) rows.push_back(&lease);
    return rows.size() < most;
  };
  if (tenant == wire::kEveryTenant)
    for (auto at = leases_.upper_bound(cursor); at != leases_.end() && take(at->second);) ++at;
  const TenantAndId last{.tenant = tenant, .id = cursor};
  for (auto at = by_tenant_.upper_bound(last); is_at(at, tenant) && take(**at);) ++at;
  return rows;
}

std::vector<Ending> LeaseBook::ended_with(std::uint64_t incarnation, std::uint64_t tenant) const {
  std::vector<Ending> endings;
  for (const std::uint64_t id : past_order_) {
    const PastEnding& each = past_.at(id);
    if (each.incarnation == incarnation && each.ending.tenant == tenant &&
        each.ending.cause == wire::Cause::Restart)
      endings.push_back(each.ending);
  }
  return endings;
}

std::uint32_t LeaseBook::fenced_of(std::uint64_t tenant) const {
  return static_cast<std::uint32_t>(
      std::count_if(leases_.begin(), leases_.end(), [tenant](const auto& each) {
        return each.second.fenced && is_of(each.second.record.tenant, tenant);
      }));
}

std::uint32_t LeaseBook::unproved_before(std::uint64_t incarnation, std::uint64_t tenant) const {
  return static_cast<std::uint32_t>(
      std::count_if(past_.begin(), past_.end(), [&](const auto& each) {
        const PastEnding& past = each.second;
        return past.incarnation != incarnation && is_of(past.ending.tenant, tenant) &&
               !past.is_proved_since && past.ending.outcome == wire::Outcome::Fenced &&
               past.ending.memory == wire::Memory::Unproved;
      }));
}

LeaseBook::Use LeaseBook::use_of(std::uint64_t tenant) const {
  const auto at = use_.find(tenant);
  return at == use_.end() ? Use{} : at->second;
}

void LeaseBook::note_asked(std::uint64_t tenant, std::uint64_t bytes) {
  Use& use = use_[tenant];
  ++use.leases;
  use.bytes += bytes;
  bytes_ += bytes;
}

void LeaseBook::note_refused(std::uint64_t tenant, std::uint64_t bytes) {
  give_back(tenant, bytes);
}

void LeaseBook::give_back(std::uint64_t tenant, std::uint64_t bytes) {
  const auto at = use_.find(tenant);
  if (at == use_.end()) return;
  --at->second.leases;
  const std::uint64_t less = std::min(at->second.bytes, bytes);
  at->second.bytes -= less;
  bytes_ -= less;
  if (at->second.leases == 0) use_.erase(at);
}

void LeaseBook::remember(const PastEnding& past) {
  if (!past_.insert_or_assign(past.ending.name.id, past).second) return;
  past_order_.push_back(past.ending.name.id);
  if (past_order_.size() <= Journal::kMostPast) return;
  past_.erase(past_order_.front());
  past_order_.pop_front();
}

}  // namespace portcullis::service::daemon
