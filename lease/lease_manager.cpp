// SPDX-License-Identifier: BSD-3-Clause
#include "lease/lease_manager.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "pmd/command_queue.hpp"
#include "prm/enums.hpp"

namespace portcullis::lease {
namespace {

/// Slots that share a completion queue: one entry each, as a responder's send queue has one block.
constexpr std::uint32_t kLogSlotsPerQueue = 8;
/// How often tear_down looks for an answer while it waits.
constexpr std::uint64_t kLookAgainNs = 100 * kNsPerUs;

/// How long after a fence a client can still send to the QP: its timer may run to 4 T, T being
/// 4.096 us x 2^timeout, once for each of retry_count + 1 sends.
std::uint64_t retry_budget_ns(const GrantRequest& request) noexcept {
  const std::uint64_t t_ns = std::uint64_t{4096} << request.ack_timeout;
  return 4 * t_ns * (request.retry_count + 1U);
}

bool is_access_error(const pmd::Event& event, std::uint32_t qpn) noexcept {
  const auto* about_qp = std::get_if<pmd::QpEvent>(&event);
  return about_qp != nullptr && about_qp->qpn == qpn &&
         about_qp->type == prm::number(prm::EventType::WQ_ACCESS_ERROR);
}

}  // namespace

Host Host::of(pmd::Hca& hca) {
  Host host;
  host.context = &hca.context();
  host.next_event = [&hca] { return hca.next_event(); };
  host.fence_slots_available = [&hca] { return hca.fence_slots_available(); };
  return host;
}

Result<std::unique_ptr<LeaseManager>> LeaseManager::create(Host host, const Options& options) {
  PORTCULLIS_TRY_ASSIGN(auto table, LeaseTable::create(options.table));
  return std::unique_ptr<LeaseManager>(
      new LeaseManager(std::move(host), options, std::move(table)));
}

Result<std::unique_ptr<LeaseManager>> LeaseManager::create(Host host, const Options& options,
                                                           LeaseTable table) {
  PORTCULLIS_TRY(table.function_reset());
  return std::unique_ptr<LeaseManager>(
      new LeaseManager(std::move(host), options, std::move(table)));
}

LeaseManager::LeaseManager(Host host, const Options& options, LeaseTable table)
    : host_(std::move(host)),
      options_(options),
      table_(std::move(table)),
      granter_(*host_.context, options.grant, host_.log),
      completion_queues_((table_.slots() >> kLogSlotsPerQueue) + 1),
      tenants_(table_.slots()),
      sweep_(
          port_, table_, options.sweep,
          [this](std::uint32_t slot) -> Tenant& { return *tenants_[slot]; },
          [this](std::uint32_t slot) { on_swept(slot); }) {
  port_.device = &host_.context->device;
  port_.commands = host_.context->commands;
  port_.steering = host_.steering;
  port_.on_failure = [this](std::uint32_t slot, Step step, const Error& error) {
    if (host_.log)
      host_.log("lease slot " + std::to_string(slot) + ": " + std::string(name(step)) +
                " failed: " + error.text);
  };
}

LeaseManager::~LeaseManager() {
  (void)tear_down();
  for (const auto& tenant : tenants_) {
    // A key that could not be destroyed outlives this object, so its addresses stay taken.
    if (tenant && tenant->region && table_.verdict(tenant->target.slot).proof == Proof::None)
      (void)tenant->region->retire();
  }
}

Result<void> LeaseManager::check_may_grant() const {
  if (function_lost_)
    return fail(Errc::DeviceFailed, "no grant: a fence had to reset the function");
  const std::uint32_t left = host_.fence_slots_available();
  if (left < pmd::CommandQueue::kFenceSlots)
    return fail(Errc::Busy, "no grant: " + std::to_string(left) + " fence slots are left, " +
                                std::to_string(pmd::CommandQueue::kFenceSlots) +
                                " expected; commands that timed out keep the others");
  return {};
}

Result<pmd::CompletionQueue*> LeaseManager::completion_queue_of(std::uint32_t slot) {
  auto& queue = completion_queues_[slot >> kLogSlotsPerQueue];
  if (!queue) {
    PORTCULLIS_TRY_ASSIGN(queue, pmd::CompletionQueue::create(*host_.context, kLogSlotsPerQueue));
  }
  return &*queue;
}

Result<Grant> LeaseManager::grant(const GrantRequest& request) {
  PORTCULLIS_TRY(check_may_grant());
  PORTCULLIS_TRY(Granter::check(request));
  PORTCULLIS_TRY_ASSIGN(const Lease lease, table_.grant());
  auto tenant = std::make_unique<Tenant>();
  tenant->target.slot = lease.slot;
  tenant->quarantine_ns = std::max(options_.grace_ms * kNsPerMs, retry_budget_ns(request));
  Tenant& made = *tenant;
  tenants_[lease.slot] = std::move(tenant);

  auto queue = completion_queue_of(lease.slot);
  auto grant = queue ? granter_.make(made, **queue, request)
                     : Result<Grant>(forward_error(std::move(queue)));
  if (!grant) return tl::unexpected<Error>(undo(lease, std::move(grant).error()));
  grant->lease = lease;
  return grant;
}

Error LeaseManager::undo(const Lease& lease, Error error) {
  (void)table_.revoke(lease.id, lease.epoch);
  tenants_[lease.slot]->fence.emplace(port_, legacy_plan(), tenants_[lease.slot]->target,
                                      options_.fence);
  const Verdict verdict = run_fence(lease.slot);
  if (verdict.outcome == Outcome::Fenced)
    error.text += "; what it left could not be undone: slot " + std::to_string(lease.slot) + " " +
                  describe(verdict);
  return error;
}

const Tenant* LeaseManager::find(const Lease& lease) const noexcept {
  if (lease.slot >= table_.slots() || table_.lease(lease.slot) != lease) return nullptr;
  return tenants_[lease.slot].get();
}

std::span<std::byte> LeaseManager::memory(const Lease& lease) const noexcept {
  const Tenant* tenant = find(lease);
  return tenant != nullptr && tenant->region ? tenant->region->bytes() : std::span<std::byte>{};
}

FenceTarget* LeaseManager::fence_target(const Lease& lease) noexcept {
  return find(lease) != nullptr ? &tenants_[lease.slot]->target : nullptr;
}

RevokeAnswer LeaseManager::revoke(std::uint64_t id, std::uint64_t epoch) {
  return revoke(id, epoch, options_.plan);
}

RevokeAnswer LeaseManager::revoke(std::uint64_t id, std::uint64_t epoch, const Plan& plan) {
  if (auto answer = start_revoke(id, epoch, plan)) return *answer;
  const Claim claim = table_.revoke(id, epoch);  // joins
  const Verdict verdict = run_fence(claim.slot);
  return {verdict.outcome, epoch, verdict};
}

std::optional<RevokeAnswer> LeaseManager::start_revoke(std::uint64_t id, std::uint64_t epoch,
                                                       const Plan& plan) {
  const Claim claim = table_.revoke(id, epoch);
  switch (claim.kind) {
    case Claim::Kind::NotFound:
      return RevokeAnswer{Outcome::NotFound, claim.current_epoch, {}};
    case Claim::Kind::Repeat:
      return RevokeAnswer{claim.verdict->outcome, claim.current_epoch, *claim.verdict};
    case Claim::Kind::Run:
      tenants_[claim.slot]->fence.emplace(port_, plan, tenants_[claim.slot]->target,
                                          options_.fence);
      lingering_.push_back(claim.slot);
      break;
    case Claim::Kind::Join:
      break;
  }
  const auto verdict = advance_fence(claim.slot);
  if (!verdict) return std::nullopt;
  return RevokeAnswer{verdict->outcome, claim.current_epoch, *verdict};
}

std::optional<Verdict> LeaseManager::advance_fence(std::uint32_t slot) {
  Tenant& tenant = *tenants_[slot];
  const auto verdict = tenant.fence->advance();
  if (!verdict) return std::nullopt;
  std::erase(lingering_, slot);
  const StepMask done = tenant.fence->done_mask();
  const Plan plan = tenant.fence->plan();
  tenant.fence.reset();
  tenant.confirm(done);
  settle(slot, plan, *verdict);
  return verdict;
}

Verdict LeaseManager::run_fence(std::uint32_t slot) {
  const Device& device = host_.context->device;
  while (true) {
    take_events();  // first: the access error may have come while the key's command ran
    if (const auto verdict = advance_fence(slot)) return *verdict;
    device.relax(tenants_[slot]->fence->lingers_until_ns());
  }
}

void LeaseManager::settle(std::uint32_t slot, const Plan& plan, const Verdict& verdict) {
  Tenant& tenant = *tenants_[slot];
  if (verdict.steering == SteeringState::Absent)
    tenant.target.absent = static_cast<StepMask>(tenant.target.absent | bit(Step::RemoveDrop));
  if (verdict.outcome == Outcome::Fenced) {
    (void)table_.fence(slot, verdict, now_ns());
    if (verdict.proof == Proof::Function) lose_function();
  } else if (plan.has_grace) {
    (void)table_.torn_down(slot, verdict, now_ns(), options_.grace_ms * kNsPerMs);
  } else {
    (void)table_.free(slot);
    tenants_[slot].reset();
  }
}

void LeaseManager::lose_function() {
  function_lost_ = true;
  table_.function_lost(now_ns());
  for (const std::uint32_t slot : lingering_) tenants_[slot]->fence.reset();
  lingering_.clear();
  sweep_.forget();
  if (host_.log) host_.log("fence: the function was reset; every lease on it is gone");
}

void LeaseManager::take_events() {
  while (const auto event = host_.next_event()) {
    for (const std::uint32_t slot : lingering_) {
      Tenant& tenant = *tenants_[slot];
      if (is_access_error(*event, tenant.target.qpn)) tenant.fence->access_error_seen();
    }
    if (host_.on_event) host_.on_event(*event);
  }
}

void LeaseManager::on_swept(std::uint32_t slot) {
  if (table_.state(slot) == State::Free) tenants_[slot].reset();
}

void LeaseManager::poll() {
  take_events();
  const std::vector<std::uint32_t> lingering = lingering_;
  for (const std::uint32_t slot : lingering)
    if (tenants_[slot] && tenants_[slot]->fence) (void)advance_fence(slot);
  if (!function_lost_) sweep_.advance(now_ns());
}

Result<void> LeaseManager::tear_down() {
  if (torn_down_) return {};
  torn_down_ = true;
  for (std::uint32_t slot = 0; slot < table_.slots(); ++slot) {
    const Lease lease = table_.lease(slot);
    if (table_.state(slot) == State::Active || table_.state(slot) == State::Revoking)
      (void)revoke(lease.id, lease.epoch, seed_plan());
  }
  while (!function_lost_ && table_.count(State::PendingDestroy) != 0) {
    sweep_.advance(std::numeric_limits<std::uint64_t>::max());
    if (sweep_.is_busy()) host_.context->device.relax(now_ns() + kLookAgainNs);
  }
  if (table_.fenced_count() == 0) return {};
  std::string text =
      std::to_string(table_.fenced_count()) + " leases stay FENCED until the function is reset:";
  for (const FencedLease& fenced : table_.fenced_summary()) text += " [" + describe(fenced) + "]";
  return fail(Errc::CommandFailed, std::move(text));
}

LeaseTable LeaseManager::take_table() && {
  (void)tear_down();
  return table_;  // a copy: the destructor asks the table what may be unmapped
}

}  // namespace portcullis::lease
