// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fence_audit/served_audit.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lease/umr_freer.hpp"
#include "pmd/q_counter.hpp"
#include "pmd/umr_queue.hpp"
#include "program/log_line.hpp"
#include "proof/key_tap.hpp"
#include "service/client_desk.hpp"
#include "service/region_watch.hpp"
#include "steering/set_up.hpp"

namespace portcullis::tools::fence_audit {
namespace {

using service::ClientDesk;
using service::RegionWatch;
using service::ServedPort;

/// Seen before a fence counts as one under load.
constexpr std::uint64_t kWarmUpRequests = 16;
constexpr std::uint64_t kWarmUpNs = 10 * kNsPerSecond;
constexpr std::uint64_t kLookAgainNs = kNsPerMs;

class ServedAuditor {
 public:
  ServedAuditor(ServedPort& port, service::exchange::LineChannel& channel, const lease::Plan& plan,
                const proof::AuditOptions& options, const std::function<bool()>& stop,
                proof::PlanAudit& audit)
      : port_(&port),
        desk_(port, channel,
              [](std::string_view what, const std::string& text) {
                fmt::print(stderr, "fence-audit: {}: {}\n", what, text);
              }),
        plan_(plan),
        options_(&options),
        stop_(stop),
        audit_(&audit) {
    terms_.timeout = options.timeout;
    terms_.retry = options.retry;
  }

  Result<void> prepare() {
    const pmd::Context& context = port_->driver().context();
    if (auto counter = pmd::QCounter::create(context)) counter_.emplace(std::move(*counter));
    audit_->has_counter = counter_.has_value();
    if (plan_.has(lease::Step::FreeKey)) {
      PORTCULLIS_TRY_ASSIGN(umr_queue_, pmd::UmrQueue::create(context));
      umr_.emplace(*umr_queue_);
      umr_tap_.emplace(*umr_, key_events_);
    }
    key_events_.on_gone = [this](prm::MkeyIndex index) { freeze(index); };
    context_ = context;
    key_tap_.emplace(*context_->commands, key_events_);
    context_->commands = &*key_tap_;
    steering::FlowDrop::Options wanted;
    wanted.choice = steering::choice_for(plan_.entry);
    wanted.loopback = port_->path();
    PORTCULLIS_TRY_ASSIGN(drop_, steering::set_up_rule(context, plan_.entry, wanted, {}));
    return {};
  }

  /// One lease; false when told to stop before anybody asked for it.
  Result<bool> round() {
    PORTCULLIS_TRY_ASSIGN(const auto request, desk_.await_request(stop_));
    if (!request) return false;
    PORTCULLIS_TRY(start_manager(ClientDesk::mtu_of(request->mtu)));
    auto granted = ClientDesk::grant(*manager_, plan_, *request, terms_);
    if (!granted) desk_.refuse(granted.error().text);
    PORTCULLIS_TRY_ASSIGN(const lease::Grant grant, std::move(granted));
    RegionWatch watch(manager_->memory(grant.lease), port_->clock());
    port_->watch(&watch);
    auto fenced = fence_under_load(grant, watch);
    port_->watch(nullptr);
    PORTCULLIS_TRY(std::move(fenced));
    // What is FENCED stays until the function is reset; a session ends before there is no room.
    auto down = manager_->tear_down();
    if (!down && plan_.best_outcome() == lease::Outcome::TornDown)
      return forward_error(std::move(down));
    desk_.drop_client();
    return true;
  }

 private:
  Result<void> start_manager(prm::QpcMtu mtu) {
    lease::LeaseManager::Options wanted;
    wanted.table.slots = 1;
    wanted.plan = plan_;
    wanted.grant.mtu = mtu;
    wanted.grant.source_address_index = port_->address_index();
    if (counter_) wanted.grant.counter_set = counter_->id();
    auto host = lease::Host::of(port_->driver());
    host.context = &*context_;
    host.log = program::log_to_stderr();
    host.steering = drop_.get();
    if (umr_tap_) host.umr = &*umr_tap_;
    PORTCULLIS_TRY_ASSIGN(manager_, lease::LeaseManager::create(std::move(host), wanted));
    return {};
  }

  Result<void> fence_under_load(const lease::Grant& grant, RegionWatch& watch) {
    PORTCULLIS_TRY(desk_.tell(grant, terms_));
    PORTCULLIS_TRY_ASSIGN(const bool is_under_load, wait_for_load(watch));
    if (is_under_load) ++audit_->under_load;
    under_fence_ = {&grant, &watch};
    const lease::RevokeAnswer answer = manager_->revoke(grant.lease.id, grant.lease.epoch, plan_);
    audit_->note(answer.verdict);
    // Legacy has given the region back by now.
    const bool is_watched = !manager_->memory(grant.lease).empty();
    const bool is_from_answer = std::exchange(under_fence_, {}).grant == nullptr;
    if (is_watched && !is_from_answer) watch.freeze();
    if (!is_watched) port_->watch(nullptr);
    const std::uint64_t word = watch.last_word();
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t before, counted());
    const std::uint64_t until_ns = now() + options_->watch_ms * kNsPerMs;
    while (now() < until_ns) PORTCULLIS_TRY(port_->idle(kLookAgainNs));
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t after, counted());
    audit_->counted += after - before;
    if (is_watched) ++audit_->watched;
    if (is_watched && is_from_answer) ++audit_->from_answer;
    if (is_watched && watch.first_difference()) ++audit_->changed;
    if (watch.last_word() > word) audit_->executed += watch.last_word() - word;
    return {};
  }

  /// At the answer for the lease's key, before the driver does anything else.
  void freeze(prm::MkeyIndex index) {
    if (under_fence_.grant == nullptr || prm::index_of(under_fence_.grant->rkey) != index) return;
    RegionWatch& watch = *std::exchange(under_fence_, {}).watch;
    const std::uint64_t seen = watch.changes();
    watch.freeze();
    if (watch.changes() != seen) ++audit_->unsettled;
  }

  /// The CPU sees WRITEs, the counters READs as well. False when too few came.
  Result<bool> wait_for_load(const RegionWatch& watch) {
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t before, counted());
    const std::uint64_t give_up_ns = now() + kWarmUpNs;
    while (now() < give_up_ns && !desk_.is_client_gone() && !stop_()) {
      PORTCULLIS_TRY(port_->idle(kLookAgainNs));
      PORTCULLIS_TRY_ASSIGN(const std::uint32_t seen, counted());
      if (watch.changes() >= kWarmUpRequests || seen - before >= kWarmUpRequests) return true;
    }
    return false;
  }

  [[nodiscard]] std::uint64_t now() const { return port_->clock().now_ns(); }
  Result<std::uint32_t> counted() const {
    return counter_ ? proof::requests_counted(*counter_) : Result<std::uint32_t>(0U);
  }

  ServedPort* port_;
  ClientDesk desk_;
  lease::Plan plan_;
  const proof::AuditOptions* options_;
  const std::function<bool()>& stop_;
  proof::PlanAudit* audit_;
  service::LeaseTerms terms_;
  // What leases use goes after them.
  std::optional<pmd::QCounter> counter_;
  std::optional<pmd::UmrQueue> umr_queue_;
  std::optional<lease::UmrFreer> umr_;
  proof::KeyEvents key_events_;
  std::optional<proof::KeyTapFreer> umr_tap_;
  std::optional<proof::KeyTapChannel> key_tap_;
  std::optional<pmd::Context> context_;  // the port's, with the tap; it counts key variants
  struct UnderFence {
    const lease::Grant* grant = nullptr;  // null: nothing, or its key is gone
    RegionWatch* watch = nullptr;
  };
  UnderFence under_fence_;
  std::unique_ptr<steering::DropRule> drop_;  // null: the plan needs none
  std::unique_ptr<lease::LeaseManager> manager_;
};

}  // namespace

Result<void> audit_served(ServedPort& port, service::exchange::LineChannel& channel,
                          const lease::Plan& plan, const proof::AuditOptions& options,
                          std::uint64_t until, const std::function<bool()>& stop,
                          proof::PlanAudit& audit) {
  ServedAuditor auditor(port, channel, plan, options, stop, audit);
  PORTCULLIS_TRY(auditor.prepare());
  while (audit.fences < until && !stop()) {
    PORTCULLIS_TRY_ASSIGN(const bool came, auditor.round());
    if (!came) return {};
  }
  return {};
}

}  // namespace portcullis::tools::fence_audit
