// SPDX-License-Identifier: BSD-3-Clause
//
// The half of the lease manager that fences: claims from the table, fences that run alone or in a
// batch, events that end a linger, and what becomes of a slot once its verdict stands.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "lease/lease_manager.hpp"
#include "prm/enums.hpp"
#include "prm/numbers.hpp"

namespace portcullis::lease {
namespace {

/// The QP of a lease has refused its peer: the key was dead, or the right was gone.
std::optional<prm::QpNumber> refused_qpn(const pmd::Event& event) noexcept {
  const auto* about_qp = std::get_if<pmd::QpEvent>(&event);
  if (about_qp == nullptr) return std::nullopt;
  if (about_qp->type != prm::number(prm::EventType::WQ_ACCESS_ERROR) &&
      about_qp->type != prm::number(prm::EventType::WQ_INVAL_REQ_ERROR))
    return std::nullopt;
  return about_qp->qpn;
}

/// A revoke that comes so soon behind a call that blocked was asked for during that call, as far as
/// anybody can tell.
constexpr std::uint64_t kBehindNs = 10 * kNsPerMs;
/// Of leases whose time has passed together, so many are named in the log.
constexpr std::size_t kNamedEnds = 8;
/// Between polls fences may hold so many slots before the last one that is let on takes
/// its eight: of the 28 common ones a grant and the sweep need some too.
constexpr std::size_t kMostInFlight = 18;

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
  const std::uint64_t since_ns = now_ns();
  const std::uint64_t until_ns = after_ms(since_ns, fence_time_ms());
  std::vector<Claim> claims;
  std::vector<std::uint32_t> slots;
  std::vector<std::shared_ptr<RunningFence>> joined;
  for (const LeaseName& name : names) {
    const Claim& claim = claims.emplace_back(table_.revoke(name.id, name.epoch));
    if (claim.kind == Claim::Kind::Run) slots.push_back(claim.slot);
    if (claim.kind != Claim::Kind::Join) continue;
    // One that waits for its turn has it now.
    if (take_turn(*holdings_[claim.slot])) slots.push_back(claim.slot);
    const auto& fence = holdings_[claim.slot]->fence;
    if (fence && (joined.empty() || joined.back() != fence)) joined.push_back(fence);
  }
  FenceQueue asked;
  make_wait(asked, std::move(slots), plan);
  fence_asked(asked, until_ns);
  for (const auto& fence : joined)
    if (fence->fence.is_awaited() || now_ns() < until_ns) run_to_end(*fence, until_ns);
  if (names.size() == 1) finish_alone(claims.front());
  // What is left goes on in poll().
  if (auto rest = take_waiting(asked, asked.size()); !rest.empty())
    make_wait(asked_, std::move(rest), plan);
  std::vector<RevokeAnswer> answers;
  const std::uint64_t expected_ms = time_to_come_ms();
  for (const Claim& claim : claims) answers.push_back(answer_of(claim, expected_ms));
  note_blocked(since_ns);
  return answers;
}

/// Chunk after chunk; while one lingers the next one begins, but not when so little time is left
/// that a command could be called late which is not.
void LeaseManager::fence_asked(FenceQueue& asked, std::uint64_t until_ns) {
  constexpr std::uint64_t kWorthIt = 64;  // leases that would fit
  const std::uint64_t quarter_ns = ns_of_ms(options_.fence.deadline_ms) / 4;
  const auto left_ns = [this, until_ns] { return until_ns - std::min(until_ns, now_ns()); };
  const auto least_ns = [this, quarter_ns] {
    const std::uint64_t cost_ns = asked_pace_.cost_ns();
    return cost_ns == 0 ? quarter_ns : std::min(quarter_ns, kWorthIt * cost_ns);
  };
  std::vector<std::shared_ptr<RunningFence>> begun;
  while (!asked.empty() && (begun.empty() || left_ns() > least_ns())) {
    const Plan plan = asked.plan();
    auto slots = take_waiting(asked, asked_pace_.size_for(std::min(left_ns() / 8 * 7, quarter_ns)));
    if (slots.empty()) continue;
    const std::uint64_t time_ms = std::max<std::uint64_t>(left_ns() / kNsPerMs, 1);
    begun.push_back(begin_fence(std::move(slots), plan, time_ms));
    (void)advance_fence(*begun.back(), Fence::kNoLimit);
    take_events();
    for (const auto& fence : begun)
      if (!fence->has_ended) (void)advance_fence(*fence, Fence::kNoLimit);
  }
  // Each is waited for, and ends by its own deadline.
  for (const auto& fence : begun) run_to_end(*fence, Fence::kNoLimit);
}

std::optional<RevokeAnswer> LeaseManager::start_revoke(std::uint64_t id, std::uint64_t epoch,
                                                       const Plan& plan) {
  const std::uint64_t since_ns = now_ns();
  const Claim claim = table_.revoke(id, epoch);
  const bool is_held = claim.kind == Claim::Kind::Run || claim.kind == Claim::Kind::Join;
  if (!is_held) return answer_of(claim, 0);
  Holding& holding = *holdings_[claim.slot];
  const bool is_new = take_turn(holding) || claim.kind == Claim::Kind::Run;
  const auto running = is_new ? begin_fence({claim.slot}, plan) : holding.fence;
  const std::uint64_t until_ns =
      running->fence.is_awaited() ? Fence::kNoLimit : after_ms(now_ns(), kPollMs);
  if (advance_fence(*running, until_ns) == Fence::Progress::OutOfTime)
    running->fence.go_on_unawaited();
  note_blocked(since_ns);
  if (!running->has_ended) return std::nullopt;
  return answer_of(claim, 0);
}

/// Until the last one that was asked for has its outcome.
std::uint64_t LeaseManager::time_to_come_ms() const noexcept {
  std::size_t leases = asked_.size() + 1;
  for (const auto& running : running_) leases += running->slots.size();
  return leases * std::max(asked_pace_.cost_ns(), idle_pace_.cost_ns()) / kNsPerMs + 1;
}

RevokeAnswer LeaseManager::answer_of(const Claim& claim, std::uint64_t expected_ms) const {
  RevokeAnswer answer{Outcome::NotFound, claim.current_epoch, {}};
  if (claim.kind == Claim::Kind::NotFound) return answer;
  if (claim.kind != Claim::Kind::Repeat && table_.state(claim.slot) == State::Revoking) {
    answer.outcome = Outcome::Revoking;
    answer.expected_ms = expected_ms;
    return answer;
  }
  answer.verdict = claim.verdict ? *claim.verdict : table_.verdict(claim.slot);
  answer.outcome = answer.verdict.outcome;
  return answer;
}

std::uint64_t LeaseManager::fence_time_ms() const noexcept {
  const std::uint64_t whole_ms = options_.fence.deadline_ms;
  if (!has_just_blocked(now_ns())) return whole_ms;
  return std::max<std::uint64_t>(whole_ms - std::min(whole_ms / 5 * 4, blocked_ns_ / kNsPerMs), 1);
}

bool LeaseManager::has_just_blocked(std::uint64_t at_ns) const noexcept {
  return at_ns <= after_ns(blocked_until_ns_, kBehindNs);
}

void LeaseManager::note_blocked(std::uint64_t since_ns) noexcept {
  const std::uint64_t ns = now_ns() - since_ns;
  if (ns < kNsPerMs) return;
  blocked_ns_ = has_just_blocked(since_ns) ? std::max(blocked_ns_, ns) : ns;
  blocked_until_ns_ = now_ns();
}

void LeaseManager::make_wait(FenceQueue& queue, std::vector<std::uint32_t> slots,
                             const Plan& plan) {
  queue.drop_gone([&](const Lease& lease) { return waits_in(queue, lease); });
  // One command takes back what a group has in common, so its members go together.
  std::unordered_map<const Group*, std::size_t> rank;
  std::unordered_map<std::uint32_t, std::size_t> place;
  if (plan.is_for_groups()) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const Group* const group = holdings_[slots[i]]->group.get();
      place[slots[i]] = group == nullptr ? i : rank.try_emplace(group, i).first->second;
    }
    std::ranges::stable_sort(slots, {}, [&place](std::uint32_t slot) { return place[slot]; });
  }
  std::vector<Lease> leases;
  for (const std::uint32_t slot : slots) {
    holdings_[slot]->waits_in = &queue;
    leases.push_back(table_.lease(slot));
  }
  queue.add(plan, std::move(leases));
}

bool LeaseManager::take_turn(Holding& holding) noexcept {
  FenceQueue* const queue = std::exchange(holding.waits_in, nullptr);
  if (queue != nullptr) queue->leave();
  return queue != nullptr;
}

bool LeaseManager::waits_in(const FenceQueue& queue, const Lease& lease) const noexcept {
  return find(lease) != nullptr && table_.state(lease.slot) == State::Revoking &&
         holdings_[lease.slot]->waits_in == &queue;
}

std::vector<std::uint32_t> LeaseManager::take_waiting(FenceQueue& queue, std::size_t most) {
  if (queue.empty()) return {};
  const bool is_for_groups = queue.plan().is_for_groups();
  const auto still_waits = [&](const Lease& lease) { return waits_in(queue, lease); };
  const auto go_together = [this, is_for_groups](std::uint32_t a, std::uint32_t b) {
    return is_for_groups && holdings_[a]->group && holdings_[a]->group == holdings_[b]->group;
  };
  auto slots = queue.take(most, still_waits, go_together);
  for (const std::uint32_t slot : slots) holdings_[slot]->waits_in = nullptr;
  return slots;
}

std::shared_ptr<RunningFence> LeaseManager::begin_fence(std::vector<std::uint32_t> slots,
                                                        const Plan& plan, std::uint64_t time_ms) {
  FenceOptions options = options_.fence;
  options.deadline_ms = time_ms;
  auto running =
      std::make_shared<RunningFence>(Fence(port_, plan, targets_of(slots), options), slots);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Holding& holding = *holdings_[slots[i]];
    terms_.clear(slots[i]);
    holding.fence = running;
    running->by_qpn.emplace(holding.target.qpn, i);
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

Fence::Progress LeaseManager::advance_fence(RunningFence& running, std::uint64_t until_ns) {
  if (running.has_ended) return Fence::Progress::Through;
  const std::uint64_t since_ns = now_ns();
  const auto progress = running.fence.advance_until(until_ns);
  running.busy_ns += now_ns() - since_ns;
  running.is_midway = progress == Fence::Progress::Waits;
  if (progress == Fence::Progress::Through) conclude(running);
  return progress;
}

void LeaseManager::conclude(RunningFence& running) {
  running.has_ended = true;
  std::erase_if(running_, [&running](const auto& other) { return other.get() == &running; });
  const bool has_given_up = running.fence.has_given_up();
  // Four commands that hang may all be of one lease.
  if (running.slots.size() > 1) silent_fences_ = has_given_up ? silent_fences_ + 1 : 0;
  if (!has_given_up)
    (running.fence.is_awaited() ? asked_pace_ : idle_pace_)
        .note(running.slots.size(), running.busy_ns);
  bool is_lost = false;
  for (std::size_t i = 0; i < running.slots.size(); ++i) {
    is_lost = is_lost || running.fence.verdict(i).proof == Proof::Function;
    settle(running, i);
  }
  if (is_lost) lose_function();
}

void LeaseManager::run_to_end(RunningFence& running, std::uint64_t until_ns) {
  const Device& device = host_.context->device;
  const auto limit = [&running, until_ns] {
    return running.fence.is_awaited() ? Fence::kNoLimit : until_ns;
  };
  auto progress = advance_fence(running, limit());
  while (progress == Fence::Progress::Lingers) {
    take_events();  // first: the access error may have come while the key's command ran
    progress = advance_fence(running, limit());
    if (progress != Fence::Progress::Lingers) break;
    if (!running.fence.is_awaited() && now_ns() >= until_ns) return;
    device.relax(std::min(limit(), running.fence.lingers_until_ns()));
  }
  if (progress != Fence::Progress::OutOfTime) return;
  running.is_late = true;
  running.fence.go_on_unawaited();
}

/// The fence of a lease asked for by itself ran out of time in this call: this process stood still,
/// or it was begun long ago. Of one lease every step could be sent otherwise.
void LeaseManager::finish_alone(const Claim& claim) {
  if (claim.kind != Claim::Kind::Run && claim.kind != Claim::Kind::Join) return;
  const Holding* const holding = holdings_[claim.slot].get();
  const auto fence = holding != nullptr ? holding->fence : nullptr;
  if (fence != nullptr && fence->slots.size() == 1 && std::exchange(fence->is_late, false))
    run_to_end(*fence, after_ms(now_ns(), options_.fence.deadline_ms));
}

void LeaseManager::settle(RunningFence& running, std::size_t index) {
  const std::uint32_t slot = running.slots[index];
  const Verdict verdict = running.fence.verdict(index);
  const StepMask done = running.fence.done_mask(index);
  const Lease lease = table_.lease(slot);
  Holding& holding = *holdings_[slot];
  holding.fence.reset();
  holding.confirm(done);
  if (holding.group && (done & bit(Step::DestroyTenantKey)) != 0) {
    holding.group->is_key_gone = true;
    granter_.forget_entries(*holding.group);
  }
  // What the sweep has not to do any more, and what it has: an entry that was put there, or
  // perhaps.
  holding.target.absent =
      static_cast<StepMask>(holding.target.absent | (done & bit(Step::DestroyMkey)));
  if (port_.steering != nullptr && verdict.steering != SteeringState::Absent)
    holding.target.note_made(bit(Step::RemoveDrop));
  if (verdict.outcome == Outcome::Fenced) {
    (void)table_.fence(slot, verdict, now_ns());
  } else if (running.fence.plan().has_grace) {
    (void)table_.torn_down(slot, verdict, now_ns(), ns_of_ms(options_.grace_ms));
  } else {
    (void)table_.free(slot, verdict);
    drop_holding(slot);
  }
  if (verdict.outcome == Outcome::TornDown) give_tear_down_time();
  if (host_.on_outcome) host_.on_outcome(lease, verdict);
}

void LeaseManager::lose_function() {
  const std::vector<Lease> asked = leave_function();  // or ended: their outcome stands now
  table_.function_lost(now_ns());
  table_.rest_until(rest_of_all_ns());
  leave_group("a fence had to take the function");
  if (host_.log)
    host_.log("fence: the function was taken off the bus; every lease on it has ended");
  if (host_.on_function_reset) host_.on_function_reset();
  if (!host_.on_outcome) return;
  for (const Lease& lease : asked) host_.on_outcome(lease, table_.verdict(lease.slot));
}

void LeaseManager::take_events() {
  while (const auto event = host_.next_event()) {
    if (const auto qpn = refused_qpn(*event))
      for (const auto& running : running_)
        if (const auto at = running->by_qpn.find(*qpn); at != running->by_qpn.end())
          running->fence.access_error_seen(at->second);
    if (host_.on_event) host_.on_event(*event);
  }
}

/// They are REVOKING from here on, and have their turn in the order of their ends.
void LeaseManager::enqueue_ended() {
  std::vector<std::uint32_t> slots;
  for (const std::uint32_t slot : terms_.take_ended(now_ns())) {
    const Lease lease = table_.lease(slot);
    if (table_.revoke(lease.id, lease.epoch).kind != Claim::Kind::Run) continue;
    slots.push_back(slot);
    if (host_.log && slots.size() <= kNamedEnds)
      host_.log(fmt::format("lease slot {}: its time to live has passed", slot));
  }
  if (host_.log && slots.size() > kNamedEnds)
    host_.log(fmt::format("and so has that of {} more leases", slots.size() - kNamedEnds));
  make_wait(ended_, std::move(slots), options_.plan);
}

/// Who is waited for first, then in the order in which they began. Once the time is over the others
/// only have commands under way, and not so many that nobody else finds a slot; where the device is
/// silent each finds out by itself whether it is dead.
void LeaseManager::advance_fences(std::uint64_t until_ns) {
  auto running = running_;  // one that ends leaves the list
  std::ranges::stable_sort(running, {},
                           [](const auto& fence) { return fence->fence.is_awaited() ? 0 : 1; });
  for (const auto& fence : running) {
    const bool is_silent = port_.traffic->is_silent_for(ns_of_ms(kPollMs), now_ns());
    const bool is_full = port_.traffic->in_flight() > kMostInFlight;
    if (!fence->is_midway && !is_silent && is_full && now_ns() >= until_ns) continue;
    if (advance_fence(*fence, until_ns) != Fence::Progress::OutOfTime) continue;
    fence->fence.go_on_unawaited();
    (void)advance_fence(*fence, until_ns);
  }
}

/// As many as fit. Where the device has not answered what was begun before, the time is over.
void LeaseManager::begin_waiting(std::uint64_t until_ns) {
  constexpr std::size_t kMostInPoll = 256;
  // A device that was silent twice is dead, and one fence of all loses no more of its slots than
  // one of a few. After the first time it may be back, and all of them would wait for the last.
  constexpr unsigned kSilent = 2;
  std::size_t begun = 0;
  while (begun < kMostInPoll && now_ns() < until_ns && !function_lost_) {
    FenceQueue& queue = asked_.empty() ? ended_ : asked_;
    if (queue.empty()) return;
    const Plan plan = queue.plan();
    const std::size_t most =
        silent_fences_ >= kSilent ? queue.size() : idle_pace_.size_for(until_ns - now_ns());
    auto slots = take_waiting(queue, most);
    if (slots.empty()) continue;
    begun += slots.size();
    const auto running = begin_fence(std::move(slots), plan);
    running->fence.go_on_unawaited();
    (void)advance_fence(*running, until_ns);
  }
}

}  // namespace portcullis::lease
