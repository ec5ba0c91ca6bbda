// SPDX-License-Identifier: BSD-3-Clause
#include "lease/lease_manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/host_patience.hpp"
#include "lease/number_rest.hpp"
#include "pmd/command_queue.hpp"
#include "pmd/port.hpp"
#include "prm/enums.hpp"

namespace portcullis::lease {
namespace {

/// Slots that share a completion queue. A responder that has neither queue completes nothing, so
/// its entries are as many as a page has room for.
constexpr std::uint32_t kLogSlotsPerQueue = 10;
constexpr std::uint32_t kLogSharedEntries = 6;
/// How long a failed grant waits for its undoing; poll() goes on with it.
constexpr std::uint64_t kUndoMs = 30;
constexpr std::uint64_t kUndoUnmapMs = 100;  // the host's part of it

Result<void> check_ms(std::string_view name, std::uint64_t ms, std::uint64_t least,
                      std::uint64_t most) {
  if (ms >= least && ms <= most) return {};
  return fail(Errc::InvalidArgument,
              fmt::format("{} {}; {} to {} expected", name, ms, least, most));
}

/// What a grant has made and a fence could not take back: "QP 18, PD 3, its region mapped".
std::string left_behind(const FenceTarget& target, StepMask done) {
  if ((done & bit(Step::ResetFunction)) != 0) return "nothing, the function was reset";
  struct Object {
    Step taken_back_by;
    std::string_view name;
    std::uint32_t number;
  };
  const std::array objects{
      Object{Step::DestroyQp, "QP", prm::number(target.qpn)},
      Object{Step::DestroyMkey, "key index", prm::number(target.mkey_index)},
      Object{Step::DestroyTenantKey, "tenant key index", prm::number(target.tenant_mkey_index)},
      Object{Step::DeallocPd, "PD", prm::number(target.pdn)}};
  const auto is_left = [&](Step step) {
    return !target.is_absent(step) && (done & bit(step)) == 0;
  };
  std::string text;
  for (const Object& object : objects) {
    if (!is_left(object.taken_back_by)) continue;
    text += object.name;
    text += target.is_unknown(object.taken_back_by) ? " (number never answered), "
                                                    : fmt::format(" {}, ", object.number);
  }
  return text + (is_left(Step::UnmapRegion) ? "its region mapped" : "its region out of reach");
}

tl::unexpected<Error> fail_without_receives(std::uint32_t slot) {
  return fail(Errc::Unsupported, fmt::format("lease slot {} was granted without receives", slot));
}

}  // namespace

Host Host::of(pmd::Function& function) {
  Host host;
  host.context = &function.context();
  host.next_event = [&function] { return function.next_event(); };
  host.fence_slots_available = [&function] { return function.fence_slots_available(); };
  host.on_function_reset = [&function] { function.function_was_reset(); };
  host.log = function.log();
  return host;
}

Result<std::unique_ptr<LeaseManager>> LeaseManager::create(Host host, const Options& options) {
  PORTCULLIS_TRY(check(options));
  PORTCULLIS_TRY(pmd::check_path_mtu(*host.context, options.grant.mtu));
  if (host.context->is_kept) PORTCULLIS_TRY(check_for_kept_nic(options.plan));
  LeaseTable::Options named = options.table;
  // A run that is to be repeated repeats its names; the manager after it has others.
  if (named.name_seed == 0 && options.grant.psn_seed != 0)
    named.name_seed = options.grant.psn_seed ^ host.context->device.clock.now_ns() << 16U;
  PORTCULLIS_TRY_ASSIGN(auto table, LeaseTable::create(named));
  return std::unique_ptr<LeaseManager>(
      new LeaseManager(std::move(host), options, std::move(table)));
}

Result<std::unique_ptr<LeaseManager>> LeaseManager::create(Host host, const Options& options,
                                                           LeaseTable table) {
  PORTCULLIS_TRY(check(options));
  PORTCULLIS_TRY(pmd::check_path_mtu(*host.context, options.grant.mtu));
  PORTCULLIS_TRY(table.function_reset());
  return std::unique_ptr<LeaseManager>(
      new LeaseManager(std::move(host), options, std::move(table)));
}

Result<void> LeaseManager::check(const Options& options) {
  constexpr std::uint64_t kMinuteMs = 60'000;
  constexpr std::uint64_t kHourMs = 60 * kMinuteMs;
  PORTCULLIS_TRY(check_ms("grace_ms", options.grace_ms, 0, kHourMs));
  PORTCULLIS_TRY(check_ms("residence_ms", options.residence_ms, 0, kHourMs));
  PORTCULLIS_TRY(check_ms("fence.deadline_ms", options.fence.deadline_ms, 1, kHourMs));
  PORTCULLIS_TRY(check_ms("fence.linger_ms", options.fence.linger_ms, 0, kMinuteMs));
  PORTCULLIS_TRY(check_ms("grant.deadline_ms", options.grant.deadline_ms, 1, kHourMs));
  PORTCULLIS_TRY(check_ms("sweep.wait_ms", options.sweep.wait_ms, 0, kPollMs));
  return check_ms("sweep.command_deadline_ms", options.sweep.command_deadline_ms, 1, kHourMs);
}

LeaseManager::LeaseManager(Host host, const Options& options, LeaseTable table)
    : host_(std::move(host)),
      options_(options),
      table_(std::move(table)),
      regions_(*host_.context->device.dma, options.regions),
      granter_(*host_.context, regions_, options.grant, host_.log),
      completion_queues_((table_.slots() >> kLogSlotsPerQueue) + 1),
      holdings_(table_.slots()),
      terms_(table_.slots()),
      sweep_(
          port_, table_, options.sweep,
          [this](std::uint32_t slot) -> Holding& { return *holdings_[slot]; },
          [this](std::uint32_t slot) { on_swept(slot); }) {
  port_.device = &host_.context->device;
  port_.commands = host_.context->commands;
  port_.steering = host_.steering;
  port_.umr = host_.umr;
  if (port_.steering != nullptr)
    port_.steering->set_active_count([this] { return table_.count(State::Active); });
  port_.take_answers = [this] {
    for (const auto& running : running_) running->fence.land_answered();
  };
  port_.on_failure = [this](std::uint32_t slot, Step step, const Error& error) {
    if (host_.log)
      host_.log(fmt::format("lease slot {}: {} failed: {}", slot, name(step), error.text));
  };
}

LeaseManager::~LeaseManager() {
  (void)tear_down();
  if (port_.steering != nullptr) port_.steering->set_active_count({});
  for (const auto& holding : holdings_) {
    // A key that could not be destroyed outlives this object, so its addresses stay taken.
    if (!holding || !holding->region || table_.is_drained()) continue;
    const Proof proof = table_.verdict(holding->target.slot).proof;
    if (proof == Proof::None || proof == Proof::TenantMkey) (void)holding->region->retire();
  }
}

Result<void> LeaseManager::check_may_grant() const {
  if (torn_down_)
    return fail(Errc::InvalidArgument, "no grant: this lease manager has been torn down");
  if (is_draining_)
    return fail(Errc::DeviceFailed, "no grant: the function is drained, or about to be");
  if (function_lost_)
    return fail(Errc::DeviceFailed, "no grant: a fence had to reset the function");
  if (const std::uint64_t until_ns = table_.rests_until_ns(); now_ns() < until_ns)
    return fail(
        Errc::Busy,
        fmt::format("no grant: QP numbers of leases that a reset has ended rest for {} ms more",
                    (until_ns - now_ns()) / kNsPerMs + 1));
  const std::uint32_t left = host_.fence_slots_available();
  if (left < pmd::CommandQueue::kFenceSlots)
    return fail(Errc::Busy, fmt::format("no grant: {} fence slots are left, {} expected; commands "
                                        "that timed out keep the others",
                                        left, pmd::CommandQueue::kFenceSlots));
  return {};
}

Result<pmd::CompletionQueue*> LeaseManager::completion_queue_for(std::uint32_t slot,
                                                                 const GrantRequest& request) {
  return request.log_receives ? own_queue_of(slot, *request.log_receives) : shared_queue_of(slot);
}

Result<pmd::CompletionQueue*> LeaseManager::shared_queue_of(std::uint32_t slot) {
  auto& queue = completion_queues_[slot >> kLogSlotsPerQueue];
  if (!queue) {
    PORTCULLIS_TRY_ASSIGN(queue,
                          pmd::CompletionQueue::create(granter_.context(), kLogSharedEntries));
  }
  return &*queue;
}

Result<pmd::CompletionQueue*> LeaseManager::own_queue_of(std::uint32_t slot,
                                                         std::uint32_t log_receives) {
  // An entry for each receive, of which a queue has four at least (pmd/work_queues.cpp), and one
  // for the send queue.
  const std::uint32_t log_size = std::max(log_receives, 2U) + 1;
  if (const auto kept = receive_queues_.find(slot); kept != receive_queues_.end()) {
    if (!kept->second.is_broken() && kept->second.size() >= 1U << log_size) return &kept->second;
    // No QP completes there: the slot was FREE.
    PORTCULLIS_TRY(kept->second.destroy());
    receive_queues_.erase(kept);
  }
  PORTCULLIS_TRY_ASSIGN(auto queue, pmd::CompletionQueue::create(granter_.context(), log_size));
  return &receive_queues_.emplace(slot, std::move(queue)).first->second;
}

Result<Grant> LeaseManager::grant(const GrantRequest& request) {
  const std::uint64_t since_ns = now_ns();
  granter_.bound_commands();
  auto grant = make_alone(request);
  granter_.lift_bound();
  note_blocked(since_ns);
  return grant;
}

Result<Grant> LeaseManager::make_alone(const GrantRequest& request) {
  PORTCULLIS_TRY(check_may_grant());
  PORTCULLIS_TRY(Granter::check(request));
  PORTCULLIS_TRY_ASSIGN(const Lease lease, table_.grant());
  Holding& made = open(lease, request);
  auto grant = make_in_time(made, lease.slot, request);
  if (!grant) return tl::unexpected<Error>(undo(std::span(&lease, 1), std::move(grant).error()));
  grant->lease = lease;
  serve(made, lease, request);
  return grant;
}

Result<Grant> LeaseManager::make_in_time(Holding& made, std::uint32_t slot,
                                         const GrantRequest& request) {
  const HostPatience bounded(after_ms(now_ns(), options_.grant.deadline_ms));
  PORTCULLIS_TRY_ASSIGN(auto* const queue, completion_queue_for(slot, request));
  if (request.log_receives) made.receives = queue;
  return granter_.make(made, *queue, request);
}

Holding& LeaseManager::open(const Lease& lease, const GrantRequest& request) {
  auto holding = std::make_unique<Holding>();
  holding->tenant = request.tenant;
  holding->target.slot = lease.slot;
  holding->target.absent = Granter::nothing_made();
  holding->quarantine_ns = number_rest_ns({options_.grace_ms, options_.residence_ms},
                                          request.ack_timeout, request.retry_count);
  holdings_[lease.slot] = std::move(holding);
  return *holdings_[lease.slot];
}

void LeaseManager::serve(Holding& holding, const Lease& lease, const GrantRequest& request) {
  prepare_steering(holding);
  if (request.ttl_ms != 0) terms_.set(lease.slot, end_of(request.ttl_ms));
}

/// Best effort, as the entry itself: a lease is served without.
void LeaseManager::prepare_steering(Holding& holding) {
  if (port_.steering == nullptr) return;
  holding.target.entry = options_.plan.entry;
  const auto prepared = port_.steering->prepare(holding.target.drop_target(),
                                                granter_.context().commands->default_deadline_ns());
  if (!prepared || *prepared) holding.target.note_made(bit(Step::RemoveDrop));
  if (!prepared && host_.log)
    host_.log(fmt::format("lease slot {}: no flow entry from the start: {}", holding.target.slot,
                          prepared.error().text));
}

Error LeaseManager::undo(std::span<const Lease> leases, Error error) {
  std::vector<std::uint32_t> slots;
  for (const Lease& lease : leases) {
    (void)table_.revoke(lease.id, lease.epoch);
    slots.push_back(lease.slot);
  }
  // What the grant has spent of its own patience is nothing to this: a region that is not given
  // back stays mapped until the function is reset.
  const HostPatience bounded(after_ms(now_ns(), kUndoUnmapMs));
  const auto running = begin_fence(std::move(slots), legacy_plan());
  // In common slots: a revoke behind it finds its own.
  running->fence.go_on_unawaited();
  run_to_end(*running, after_ms(now_ns(), kUndoMs));
  if (!running->has_ended) {
    error.text += "; what it had made is being undone";
    return error;
  }
  for (std::size_t i = 0; i < leases.size(); ++i) {
    const std::uint32_t slot = leases[i].slot;
    const Verdict& verdict = running->fence.verdict(i);
    if (verdict.outcome != Outcome::Fenced) continue;
    error.text += fmt::format("; it could not be undone: slot {} stays FENCED with {} ({})", slot,
                              left_behind(holdings_[slot]->target, running->fence.done_mask(i)),
                              describe(verdict));
  }
  return error;
}

const Holding* LeaseManager::find(const Lease& lease) const noexcept {
  if (lease.slot >= table_.slots() || table_.lease(lease.slot) != lease) return nullptr;
  return holdings_[lease.slot].get();
}

std::span<std::byte> LeaseManager::memory(const Lease& lease) const noexcept {
  const Holding* holding = find(lease);
  return holding != nullptr && holding->region ? holding->region->bytes() : std::span<std::byte>{};
}

Result<void> LeaseManager::post_receive(const Lease& lease, std::uint64_t offset,
                                        std::uint32_t bytes, std::uint64_t wr_id) {
  if (!is_active(lease))
    return fail(Errc::NotFound, fmt::format("no ACTIVE lease with id {} and epoch {} to receive",
                                            lease.id, lease.epoch));
  Holding& holding = *holdings_[lease.slot];
  if (holding.receives == nullptr) return fail_without_receives(lease.slot);
  const std::uint64_t size = holding.region->bytes().size();
  if (bytes > size || offset > size - bytes)
    return fail(
        Errc::InvalidArgument,
        fmt::format("a receive of {} bytes at {} of a lease of {} bytes", bytes, offset, size));
  PORTCULLIS_TRY(holding.qp->post_receive(
      {.address = offset, .lkey = prm::number(holding.target.key), .bytes = bytes}, wr_id));
  holding.qp->ring_receives();
  return {};
}

Result<std::optional<pmd::Completion>> LeaseManager::poll_receive(const Lease& lease) {
  const Holding* const holding = find(lease);
  if (holding == nullptr)
    return fail(Errc::NotFound,
                fmt::format("no lease with id {} and epoch {} to receive", lease.id, lease.epoch));
  if (holding->receives == nullptr) return fail_without_receives(lease.slot);
  return holding->receives->try_poll();
}

const FenceTarget* LeaseManager::fence_target(const Lease& lease) const noexcept {
  const Holding* const holding = find(lease);
  return holding != nullptr ? &holding->target : nullptr;
}

Result<void> LeaseManager::renew(std::uint64_t id, std::uint64_t epoch, std::uint64_t ttl_ms) {
  PORTCULLIS_TRY(check_ttl(ttl_ms));
  const auto slot = table_.find(id, epoch);
  if (!slot || table_.state(*slot) != State::Active)
    return fail(Errc::NotFound,
                fmt::format("no ACTIVE lease with id {} and epoch {} to renew", id, epoch));
  if (ttl_ms == 0)
    terms_.clear(*slot);
  else
    terms_.set(*slot, end_of(ttl_ms));
  return {};
}

std::vector<LeaseName> LeaseManager::leases_of(TenantId tenant) const {
  std::vector<LeaseName> names;
  for (std::uint32_t slot = 0; slot < table_.slots(); ++slot)
    if (table_.state(slot) == State::Active && holdings_[slot]->tenant == tenant)
      names.push_back({table_.lease(slot).id, table_.lease(slot).epoch});
  return names;
}

void LeaseManager::on_swept(std::uint32_t slot) {
  drop_holding(slot);
  give_tear_down_time();
}

void LeaseManager::drop_holding(std::uint32_t slot) {
  Holding& holding = *holdings_[slot];
  if (holding.group && --holding.group->members == 0) granter_.forget_entries(*holding.group);
  if (holding.region) regions_.give_back(holding.tenant, std::move(*holding.region));
  holdings_[slot].reset();
}

void LeaseManager::poll() {
  const std::uint64_t since_ns = now_ns();
  const std::uint64_t until_ns = after_ms(since_ns, kPollMs);
  take_events();
  enqueue_ended();
  advance_fences(until_ns);
  begin_waiting(until_ns);
  go_on_with_group(until_ns);
  if (!function_lost_) sweep_until(until_ns);
  (void)regions_.scrub();
  note_blocked(since_ns);
}

}  // namespace portcullis::lease
