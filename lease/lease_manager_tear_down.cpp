// SPDX-License-Identifier: BSD-3-Clause
//
// The sweep, and the end of a lease manager: every lease fenced and swept within one deadline, and
// what a device that does not answer leaves behind.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "lease/lease_manager.hpp"

namespace portcullis::lease {
namespace {

/// What a device may keep tear_down waiting in all, and what it gets for each lease that ends well:
/// a healthy one takes a few ms for each, a dead one ends no lease.
constexpr std::uint64_t kTearDownMs = 3'000;
constexpr std::uint64_t kPerLeaseMs = 50;
/// Fenced at once: leases give their time when they have ended.
constexpr std::size_t kMostAtOnce = 32;
/// How often it looks for an answer while it waits.
constexpr std::uint64_t kLookAgainNs = 100 * kNsPerUs;
/// The error line names so many.
constexpr std::size_t kNamed = 8;

std::string summary_of(const std::vector<FencedLease>& fenced) {
  std::string text =
      fmt::format("{} leases stay FENCED until the function is reset:", fenced.size());
  for (std::size_t i = 0; i < std::min(kNamed, fenced.size()); ++i)
    text += fmt::format(" [{}]", describe(fenced[i]));
  if (fenced.size() > kNamed) text += fmt::format(" and {} more", fenced.size() - kNamed);
  return text;
}

}  // namespace

Result<void> LeaseManager::tear_down() {
  if (torn_down_) return {};
  torn_down_ = true;
  tear_down_until_ns_ = after_ms(now_ns(), kTearDownMs);
  leave_group("the lease manager was torn down");
  fence_all();
  sweep_all();
  if (table_.fenced_count() == 0) return {};
  return fail(Errc::CommandFailed, summary_of(table_.fenced_summary()));
}

LeaseTable LeaseManager::take_table() && {
  (void)tear_down();
  return table_;  // a copy: the destructor asks the table what may be unmapped
}

void LeaseManager::give_tear_down_time() noexcept {
  if (torn_down_) tear_down_until_ns_ = after_ms(tear_down_until_ns_, kPerLeaseMs);
}

void LeaseManager::fence_all() {
  const auto running = running_;  // one that ends leaves the list
  for (const auto& fence : running) end_fence(*fence);
  std::vector<std::uint32_t> alive;
  for (std::uint32_t slot = 0; slot < table_.slots(); ++slot) {
    const Lease lease = table_.lease(slot);
    if (table_.state(slot) == State::Active) (void)table_.revoke(lease.id, lease.epoch);
    if (table_.state(slot) == State::Revoking) alive.push_back(slot);
  }
  FenceQueue all;
  make_wait(all, std::move(alive), seed_plan());
  while (!all.empty() && !function_lost_) {
    const std::uint64_t part_ns = ns_of_ms(options_.fence.deadline_ms) / 4;
    const bool is_hopeless = silent_fences_ != 0 || now_ns() >= tear_down_until_ns_;
    const std::size_t fit = std::min(kMostAtOnce, asked_pace_.size_for(part_ns));
    auto slots = take_waiting(all, is_hopeless ? all.size() : fit);
    if (slots.empty()) continue;
    const auto next = begin_fence(std::move(slots), seed_plan());
    if (is_hopeless) next->fence.give_up();
    end_fence(*next);
  }
}

void LeaseManager::end_fence(RunningFence& running) {
  run_to_end(running, tear_down_until_ns_);
  while (!running.has_ended) {
    if (now_ns() < tear_down_until_ns_)
      running.fence.go_on_unawaited();
    else
      running.fence.give_up();
    run_to_end(running, tear_down_until_ns_);
  }
}

void LeaseManager::sweep_until(std::uint64_t until_ns) {
  sweep_.sweep_due(now_ns(), until_ns);
  const std::uint64_t waits_until_ns =
      std::min(until_ns, after_ms(now_ns(), options_.sweep.wait_ms));
  while (sweep_.is_busy() && now_ns() < waits_until_ns) {
    host_.context->device.relax(std::min(waits_until_ns, now_ns() + kLookAgainNs));
    sweep_.sweep_due(now_ns(), waits_until_ns);
  }
}

void LeaseManager::sweep_all() {
  while (!function_lost_ && table_.count(State::PendingDestroy) != 0 &&
         now_ns() < tear_down_until_ns_) {
    sweep_.sweep_due(Fence::kNoLimit, tear_down_until_ns_);
    if (sweep_.is_busy())
      host_.context->device.relax(std::min(tear_down_until_ns_, now_ns() + kLookAgainNs));
  }
  if (function_lost_ || table_.count(State::PendingDestroy) == 0) return;
  if (options_.fence.may_reset_function && reset_function()) return lose_function();
  sweep_.abandon();
}

/// Proves every memory at once, and leaves nothing in the device.
Result<void> LeaseManager::reset_function() {
  PORTCULLIS_TRY(host_.context->device.function->set_bus_master(false));
  return host_.context->device.function->reset();
}

}  // namespace portcullis::lease
