// SPDX-License-Identifier: BSD-3-Clause
//
// The half of the lease manager that fences: claims from the table, fences that run alone or in a
// batch, events that end a linger, and what becomes of a slot once its verdict stands.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "lease/lease_manager.hpp"
#include "prm/enums.hpp"

namespace portcullis::lease {
namespace {

/// The QP of a lease has refused its peer: the key was dead, or the right was gone.
std::optional<std::uint32_t> refused_qpn(const pmd::Event& event) noexcept {
  const auto* about_qp = std::get_if<pmd::QpEvent>(&event);
  if (about_qp == nullptr) return std::nullopt;
  if (about_qp->type != prm::number(prm::EventType::WQ_ACCESS_ERROR) &&
      about_qp->type != prm::number(prm::EventType::WQ_INVAL_REQ_ERROR))
    return std::nullopt;
  return about_qp->qpn;
}

}  // namespace

RevokeAnswer LeaseManager::revoke(std::uint64_t id, std::uint64_t epoch) {
  return revoke(id, epoch, options_.plan);
}

RevokeAnswer LeaseManager::revoke(std::uint64_t id, std::uint64_t epoch, const Plan& plan) {
  const LeaseName name{id, epoch};
  return revoke_batch(std::span(&name, 1), plan).front();
}

std::vector<RevokeAnswer> LeaseManager::revoke_batch(std::span<const LeaseName> names,
                                                     const Plan& plan) {
  std::vector<Claim> claims;
  std::vector<std::uint32_t> slots;
  for (const LeaseName& name : names) {
    claims.push_back(table_.revoke(name.id, name.epoch));
    if (claims.back().kind == Claim::Kind::Run) slots.push_back(claims.back().slot);
  }
  if (!slots.empty()) (void)begin_fence(std::move(slots), plan);
  // What each waits for, before the end of one takes it out of reach.
  std::vector<std::shared_ptr<RunningFence>> fences;
  for (const Claim& claim : claims) {
    const bool has_fence = claim.kind == Claim::Kind::Run || claim.kind == Claim::Kind::Join;
    fences.push_back(has_fence ? holdings_[claim.slot]->fence : nullptr);
  }
  std::vector<RevokeAnswer> answers;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (fences[i]) run_to_end(*fences[i]);
    answers.push_back(answer_of(claims[i], fences[i].get()));
  }
  return answers;
}

std::optional<RevokeAnswer> LeaseManager::start_revoke(std::uint64_t id, std::uint64_t epoch,
                                                       const Plan& plan) {
  const Claim claim = table_.revoke(id, epoch);
  std::shared_ptr<RunningFence> running;
  if (claim.kind == Claim::Kind::Run) running = begin_fence({claim.slot}, plan);
  if (claim.kind == Claim::Kind::Join) running = holdings_[claim.slot]->fence;
  if (running) advance(*running);
  if (running && !running->has_ended) return std::nullopt;
  return answer_of(claim, running.get());
}

RevokeAnswer LeaseManager::answer_of(const Claim& claim, const RunningFence* fence) {
  RevokeAnswer answer{Outcome::NotFound, claim.current_epoch, {}};
  if (claim.kind == Claim::Kind::NotFound) return answer;
  if (fence == nullptr) {
    answer.verdict = *claim.verdict;
  } else {
    const auto at = std::ranges::find(fence->slots, claim.slot) - fence->slots.begin();
    answer.verdict = fence->verdicts[static_cast<std::size_t>(at)];
  }
  answer.outcome = answer.verdict.outcome;
  return answer;
}

std::shared_ptr<RunningFence> LeaseManager::begin_fence(std::vector<std::uint32_t> slots,
                                                        const Plan& plan) {
  auto running = std::make_shared<RunningFence>(
      RunningFence{Fence(port_, plan, targets_of(slots), options_.fence), std::move(slots)});
  for (const std::uint32_t slot : running->slots) {
    terms_.clear(slot);
    holdings_[slot]->fence = running;
  }
  running_.push_back(running);
  return running;
}

/// What a group has in common is left alone while leases outside this fence need it.
std::vector<FenceTarget> LeaseManager::targets_of(std::span<const std::uint32_t> slots) {
  std::unordered_map<const Group*, std::uint32_t> in_hand;
  for (const std::uint32_t slot : slots) {
    if (Group* const group = holdings_[slot]->group.get()) {
      --group->active;
      ++in_hand[group];
    }
  }
  std::vector<FenceTarget> targets;
  for (const std::uint32_t slot : slots) {
    FenceTarget& target = targets.emplace_back(holdings_[slot]->target);
    const Group* const group = holdings_[slot]->group.get();
    if (group == nullptr) continue;
    const bool is_key_kept = group->active != 0 || group->is_key_gone;
    const bool is_pd_kept = group->members != in_hand[group];
    target.absent =
        static_cast<StepMask>(target.absent | (is_key_kept ? bit(Step::DestroyTenantKey) : 0) |
                              (is_pd_kept ? bit(Step::DeallocPd) : 0));
  }
  return targets;
}

void LeaseManager::advance(RunningFence& running) {
  if (running.has_ended || !running.fence.advance()) return;
  running.has_ended = true;
  std::erase_if(running_, [&running](const auto& other) { return other.get() == &running; });
  for (std::size_t i = 0; i < running.slots.size(); ++i)
    running.verdicts.push_back(running.fence.verdict(i));
  for (std::size_t i = 0; i < running.slots.size(); ++i) settle(running, i);
  const bool is_lost = std::ranges::any_of(
      running.verdicts, [](const Verdict& verdict) { return verdict.proof == Proof::Function; });
  if (is_lost) lose_function();
}

void LeaseManager::run_to_end(RunningFence& running) {
  const Device& device = host_.context->device;
  advance(running);
  while (!running.has_ended) {
    take_events();  // first: the access error may have come while the key's command ran
    advance(running);
    if (!running.has_ended) device.relax(running.fence.lingers_until_ns());
  }
}

void LeaseManager::settle(RunningFence& running, std::size_t index) {
  const std::uint32_t slot = running.slots[index];
  Verdict& verdict = running.verdicts[index];
  const StepMask done = running.fence.done_mask(index);
  const Lease lease = table_.lease(slot);
  Holding& holding = *holdings_[slot];
  holding.fence.reset();
  holding.confirm(done);
  if (holding.group && (done & bit(Step::DestroyTenantKey)) != 0) holding.group->is_key_gone = true;
  // What the sweep has not to do any more, and what it has: an entry that was put there, or
  // perhaps.
  holding.target.absent =
      static_cast<StepMask>(holding.target.absent | (done & bit(Step::DestroyMkey)));
  if (verdict.steering != SteeringState::Absent) holding.target.note_made(bit(Step::RemoveDrop));
  if (verdict.outcome == Outcome::Fenced) {
    (void)table_.fence(slot, verdict, now_ns());
  } else if (running.fence.plan().has_grace) {
    (void)table_.torn_down(slot, verdict, now_ns(), options_.grace_ms * kNsPerMs);
  } else {
    (void)table_.free(slot);
    drop_holding(slot);
  }
  if (host_.on_outcome) host_.on_outcome(lease, verdict);
}

void LeaseManager::lose_function() {
  function_lost_ = true;
  table_.function_lost(now_ns());
  for (const auto& running : running_) {
    for (const std::uint32_t slot : running->slots) {
      running->verdicts.push_back(table_.verdict(slot));
      holdings_[slot]->fence.reset();
    }
    running->has_ended = true;
  }
  running_.clear();
  sweep_.forget();
  if (host_.log) host_.log("fence: the function was reset; every lease on it is gone");
}

void LeaseManager::take_events() {
  while (const auto event = host_.next_event()) {
    if (const auto qpn = refused_qpn(*event))
      for (const auto& running : running_)
        for (std::size_t i = 0; i < running->slots.size(); ++i)
          if (holdings_[running->slots[i]]->target.qpn == *qpn) running->fence.access_error_seen(i);
    if (host_.on_event) host_.on_event(*event);
  }
}

void LeaseManager::revoke_ended() {
  std::vector<std::uint32_t> slots;
  for (const std::uint32_t slot : terms_.take_ended(now_ns())) {
    const Lease lease = table_.lease(slot);
    if (table_.revoke(lease.id, lease.epoch).kind != Claim::Kind::Run) continue;
    slots.push_back(slot);
    if (host_.log)
      host_.log("lease slot " + std::to_string(slot) + ": its time to live has passed");
  }
  if (!slots.empty()) advance(*begin_fence(std::move(slots), options_.plan));
}

}  // namespace portcullis::lease
