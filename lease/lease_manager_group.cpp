// SPDX-License-Identifier: BSD-3-Clause
//
// Leases that are granted together, in one call or in parts: a group is made step by step, so that
// a poll makes as much of it as its time allows and a revoke never waits for the rest.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "lease/lease_manager.hpp"

namespace portcullis::lease {

Result<std::vector<Grant>> LeaseManager::grant_together(std::span<const GrantRequest> requests) {
  PORTCULLIS_TRY_ASSIGN(GroupGrant group, open_group(requests));
  const std::uint64_t since_ns = now_ns();
  Result<std::vector<Grant>> end = end_of_group(group, make_group(group, Fence::kNoLimit));
  note_blocked(since_ns);
  return end;
}

Result<void> LeaseManager::start_grant_together(std::span<const GrantRequest> requests) {
  if (being_made_ || group_end_)
    return fail(Errc::Busy, being_made_
                                ? "no grant: another group is being made; one at a time is accepted"
                                : "no grant: what became of the group before was not taken");
  PORTCULLIS_TRY_ASSIGN(being_made_, open_group(requests));
  return {};
}

std::optional<Result<std::vector<Grant>>> LeaseManager::take_granted() {
  auto end = std::exchange(group_end_, std::nullopt);
  // Its keys are dead that was whole once and is not any more: nobody may be told them.
  if (!end || !*end ||
      std::ranges::all_of(**end, [this](const Grant& grant) { return is_active(grant.lease); }))
    return end;
  std::vector<Lease> leases;
  for (const Grant& grant : **end) leases.push_back(grant.lease);
  return refuse_group(leases, "one of them ended before they were taken");
}

Result<GroupGrant> LeaseManager::open_group(std::span<const GrantRequest> requests) {
  PORTCULLIS_TRY(check_may_grant());
  PORTCULLIS_TRY(Granter::check_together(requests));
  if (requests.size() > table_.count(State::Free))
    return fail(Errc::OutOfResources,
                fmt::format("no grant: {} leases together, and {} slots are free", requests.size(),
                            table_.count(State::Free)));
  GroupGrant group;
  group.making.requests.assign(requests.begin(), requests.end());
  const auto common = std::make_shared<Group>();
  common->id = ++groups_;
  for (const GrantRequest& request : requests) {
    auto lease = table_.grant();
    if (!lease) return tl::unexpected<Error>(undo_group(group.leases, lease.error()));
    Holding& holding = open(*lease, request);
    holding.group = common;
    holding.target.group = common->id;
    ++common->members;
    ++common->active;
    group.leases.push_back(*lease);
    group.making.holdings.push_back(&holding);
  }
  return group;
}

Result<bool> LeaseManager::make_group(GroupGrant& group, std::uint64_t until_ns) {
  Result<void> made;
  do {
    granter_.bound_commands();
    made = make_group_step(group);
    granter_.lift_bound();
  } while (made && !group.is_whole() && now_ns() < until_ns);
  PORTCULLIS_TRY(std::move(made));
  return group.is_whole();
}

Result<void> LeaseManager::make_group_step(GroupGrant& group) {
  GroupMaking& making = group.making;
  if (making.queues.size() < group.leases.size()) {
    PORTCULLIS_TRY_ASSIGN(pmd::CompletionQueue* const queue,
                          shared_queue_of(group.leases[making.queues.size()].slot));
    making.queues.push_back(queue);
    return {};
  }
  if (making.stage != GroupMaking::Stage::Made) return granter_.make_next(making);
  const Lease& lease = group.leases[group.served];
  making.grants[group.served].lease = lease;
  serve(*making.holdings[group.served], lease, making.requests[group.served]);
  ++group.served;
  return {};
}

Result<std::vector<Grant>> LeaseManager::end_of_group(GroupGrant& group, const Result<bool>& made) {
  if (!made) return tl::unexpected<Error>(undo_group(group.leases, made.error()));
  return std::move(group.making.grants);
}

/// Who was revoked meanwhile has its own end.
Error LeaseManager::undo_group(std::span<const Lease> leases, Error error) {
  std::vector<Lease> left;
  std::ranges::copy_if(leases, std::back_inserter(left),
                       [this](const Lease& lease) { return is_active(lease); });
  return left.empty() ? error : undo(left, std::move(error));
}

void LeaseManager::go_on_with_group(std::uint64_t until_ns) {
  if (!being_made_) return;
  const auto is_there = [this](const Lease& lease) { return is_active(lease); };
  if (!std::ranges::all_of(being_made_->leases, is_there))
    return leave_group("one of them was revoked before all were granted");
  const auto made = make_group(*being_made_, until_ns);
  if (made && !*made) return;
  GroupGrant group = *std::exchange(being_made_, std::nullopt);
  group_end_ = end_of_group(group, made);
}

void LeaseManager::leave_group(const char* why) {
  std::vector<Lease> leases;
  if (being_made_)
    leases = std::exchange(being_made_, std::nullopt)->leases;
  else if (group_end_ && *group_end_)
    for (const Grant& grant : **group_end_) leases.push_back(grant.lease);
  if (!leases.empty()) group_end_ = refuse_group(leases, why);
}

tl::unexpected<Error> LeaseManager::refuse_group(std::span<const Lease> leases, const char* why) {
  return tl::unexpected<Error>(undo_group(
      leases,
      {Errc::NotFound, fmt::format("no grant of {} leases together: {}", leases.size(), why),
       std::nullopt}));
}

}  // namespace portcullis::lease
