// SPDX-License-Identifier: BSD-3-Clause
#include <portcullis/lease_manager.hpp>

#include <array>
#include <deque>
#include <utility>

#include "front/lease_values.hpp"
#include "front/port_impl.hpp"
#include "lease/umr_freer.hpp"
#include "pmd/umr_queue.hpp"
#include "steering/set_up.hpp"

namespace portcullis {
namespace {

constexpr std::uint64_t kMostLingerMs = 60'000;

Result<lease::LeaseManager::Options> options_of(const LeaseOptions& options) {
  lease::LeaseManager::Options inner;
  // Under the name that the option has here.
  if (options.linger_ms > kMostLingerMs)
    return fail(Errc::InvalidArgument, "linger_ms " + std::to_string(options.linger_ms) +
                                           "; 0 to " + std::to_string(kMostLingerMs) +
                                           " is accepted");
  inner.table.slots = options.slots;
  inner.plan = plan_of(options.plan);
  inner.fence.linger_ms = options.linger_ms;
  inner.fence.may_reset_function = options.may_reset_function;
  inner.regions.tenant_quota_bytes = options.tenant_quota_bytes;
  inner.grace_ms = options.grace_ms;
  inner.residence_ms = options.residence_ms;
  inner.sweep.wait_ms = lease::LeaseManager::kPollMs;
  PORTCULLIS_TRY_ASSIGN(inner.grant.mtu, mtu_of(options.mtu_bytes));
  return inner;
}

}  // namespace

/// In the order in which they are made; each needs those before it.
struct [[gnu::visibility("hidden")]] LeaseManager::Impl {
  std::shared_ptr<Port::Impl> port;
  std::function<void(const LeaseName&, const RevokeAnswer&)> hear;
  std::deque<std::pair<LeaseName, RevokeAnswer>> untold;
  bool is_telling = false;
  std::unique_ptr<steering::DropRule> drop;
  std::optional<pmd::UmrQueue> umr_queue;
  std::optional<lease::UmrFreer> umr;
  std::unique_ptr<lease::LeaseManager> manager;

  explicit Impl(std::shared_ptr<Port::Impl> on) : port(std::move(on)) { port->has_manager = true; }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { port->has_manager = false; }

  Result<void> create(const LeaseOptions& options);
  void tell();
  Result<void> set_up_steering(const LeaseOptions& options, const lease::Plan& plan);
  [[nodiscard]] Grant told(const lease::Grant& grant) const {
    return grant_of(grant, port->address().gid, port->address().mac);
  }
  [[nodiscard]] Result<std::vector<Grant>> told(Result<std::vector<lease::Grant>> granted) const {
    PORTCULLIS_TRY_ASSIGN(const auto grants, std::move(granted));
    std::vector<Grant> all;
    for (const lease::Grant& grant : grants) all.push_back(told(grant));
    return all;
  }
  [[nodiscard]] Result<std::vector<lease::GrantRequest>> requests_of(
      std::span<const LeaseRequest> requests) const {
    std::vector<lease::GrantRequest> inner;
    for (const LeaseRequest& request : requests) {
      PORTCULLIS_TRY_ASSIGN(inner.emplace_back(), request_of(request, port->address().gid));
    }
    return inner;
  }
};

Result<void> LeaseManager::Impl::set_up_steering(const LeaseOptions& options,
                                                 const lease::Plan& plan) {
  steering::FlowDrop::Options wanted;
  wanted.choice = steering::choice_for(plan.entry);
  if (options.with_drop_entries) wanted.choice.kind = steering::Choice::Kind::Offered;
  wanted.slots = options.slots;
  wanted.loopback = port->port->path();
  const auto log = port->driver().log() ? port->driver().log() : [](std::string_view) {};
  PORTCULLIS_TRY_ASSIGN(drop, steering::set_up_rule(port->context(), plan.entry, wanted, log));
  if (drop == nullptr && plan.entry != steering::EntryPlan::AtRevoke)
    return fail(Errc::Unsupported, "plan " + plan.full_name() +
                                       ": this function takes no entry that stands from the "
                                       "grant on; plan seed is accepted");
  return {};
}

Result<void> LeaseManager::Impl::create(const LeaseOptions& options) {
  PORTCULLIS_TRY_ASSIGN(lease::LeaseManager::Options inner, options_of(options));
  inner.grant.source_address_index = port->port->address_index();
  PORTCULLIS_TRY(set_up_steering(options, inner.plan));
  lease::Host host = lease::Host::of(port->driver());
  host.steering = drop.get();
  // A function without such a queue frees no key by UMR, and plan umr falls back.
  if (auto queue = pmd::UmrQueue::create(port->context())) {
    umr_queue.emplace(*std::move(queue));
    umr.emplace(*umr_queue);
    host.umr = &*umr;
  }
  hear = options.on_outcome;
  if (hear)
    host.on_outcome = [this](const lease::Lease& lease, const lease::Verdict& verdict) {
      untold.emplace_back(LeaseName{.id = lease.id, .epoch = lease.epoch},
                          answer_of(lease, verdict));
    };
  PORTCULLIS_TRY_ASSIGN(manager, lease::LeaseManager::create(std::move(host), inner));
  return {};
}

/// At the end of a call and not while a fence settles its leases one after the other: who hears may
/// drain or throw, and the leases behind this one would never have their outcome.
void LeaseManager::Impl::tell() {
  if (is_telling) return;  // by a call of whoever hears: the loop below goes on with it
  struct Telling {
    bool& is;
    ~Telling() { is = false; }
  } const telling{is_telling = true};
  while (!untold.empty()) {
    const auto [lease, answer] = std::move(untold.front());
    untold.pop_front();
    hear(lease, answer);
  }
}

LeaseManager::LeaseManager(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
LeaseManager::LeaseManager(LeaseManager&& other) noexcept = default;
LeaseManager& LeaseManager::operator=(LeaseManager&& other) noexcept = default;
LeaseManager::~LeaseManager() = default;

Result<LeaseManager> LeaseManager::create(const Port& port, const LeaseOptions& options) {
  if (port.impl()->has_manager)
    return fail(Errc::Busy, "the port has a LeaseManager; one at a time is accepted");
  PORTCULLIS_TRY(port.impl()->driver().condition());
  auto impl = std::make_unique<Impl>(port.impl());
  PORTCULLIS_TRY(impl->create(options));
  return LeaseManager(std::move(impl));
}

Result<Grant> LeaseManager::grant(const LeaseRequest& request) {
  PORTCULLIS_TRY_ASSIGN(const lease::GrantRequest inner,
                        request_of(request, impl_->port->address().gid));
  auto granted = impl_->manager->grant(inner);
  impl_->tell();
  PORTCULLIS_TRY_ASSIGN(const lease::Grant grant, std::move(granted));
  return impl_->told(grant);
}

Result<std::vector<Grant>> LeaseManager::grant_together(std::span<const LeaseRequest> requests) {
  PORTCULLIS_TRY_ASSIGN(const auto inner, impl_->requests_of(requests));
  auto granted = impl_->manager->grant_together(inner);
  impl_->tell();
  return impl_->told(std::move(granted));
}

Result<void> LeaseManager::start_grant_together(std::span<const LeaseRequest> requests) {
  PORTCULLIS_TRY_ASSIGN(const auto inner, impl_->requests_of(requests));
  auto started = impl_->manager->start_grant_together(inner);
  impl_->tell();
  return started;
}

std::optional<Result<std::vector<Grant>>> LeaseManager::take_granted() {
  auto granted = impl_->manager->take_granted();
  impl_->tell();  // of those that it had to undo
  if (!granted) return std::nullopt;
  return impl_->told(*std::move(granted));
}

std::span<std::byte> LeaseManager::memory(const LeaseName& lease) const noexcept {
  const auto slot = impl_->manager->table().find(lease.id, lease.epoch);
  if (!slot) return {};
  return impl_->manager->memory(impl_->manager->table().lease(*slot));
}

Result<void> LeaseManager::renew(const LeaseName& lease, std::uint64_t ttl_ms) {
  return impl_->manager->renew(lease.id, lease.epoch, ttl_ms);
}

RevokeAnswer LeaseManager::revoke(const LeaseName& lease) {
  RevokeAnswer answer = answer_of(impl_->manager->revoke(lease.id, lease.epoch));
  impl_->tell();
  return answer;
}

RevokeAnswer LeaseManager::revoke(const LeaseName& lease, const FencePlan& plan) {
  RevokeAnswer answer = answer_of(impl_->manager->revoke(lease.id, lease.epoch, plan_of(plan)));
  impl_->tell();
  return answer;
}

std::vector<RevokeAnswer> LeaseManager::revoke_batch(std::span<const LeaseName> leases,
                                                     const FencePlan& plan) {
  std::vector<lease::LeaseName> names;
  for (const LeaseName& lease : leases) names.push_back(name_of(lease));
  std::vector<RevokeAnswer> answers;
  for (const auto& answer : impl_->manager->revoke_batch(names, plan_of(plan)))
    answers.push_back(answer_of(answer));
  impl_->tell();
  return answers;
}

std::optional<RevokeAnswer> LeaseManager::start_revoke(const LeaseName& lease,
                                                       const FencePlan& plan) {
  const auto answer = impl_->manager->start_revoke(lease.id, lease.epoch, plan_of(plan));
  impl_->tell();
  if (!answer) return std::nullopt;
  return answer_of(*answer);
}

std::vector<LeaseName> LeaseManager::leases_of(std::uint64_t tenant) const {
  std::vector<LeaseName> leases;
  for (const lease::LeaseName& name : impl_->manager->leases_of(tenant))
    leases.push_back({.id = name.id, .epoch = name.epoch});
  return leases;
}

void LeaseManager::poll() {
  if (impl_->port->responder) impl_->port->responder->poll();
  impl_->manager->poll();
  impl_->tell();
}

Result<std::size_t> LeaseManager::drain() {
  auto drained = impl_->manager->drain();
  impl_->tell();
  return drained;
}

Result<void> LeaseManager::tear_down() {
  auto done = impl_->manager->tear_down();
  impl_->tell();
  return done;
}

std::vector<FencedLease> LeaseManager::fenced() const {
  std::vector<FencedLease> rows;
  for (const lease::FencedLease& row : impl_->manager->fenced_summary())
    rows.push_back({.lease = {.id = row.lease.id, .epoch = row.lease.epoch},
                    .answer = answer_of(row.lease, row.verdict),
                    .text = lease::describe(row)});
  return rows;
}

bool LeaseManager::is_function_lost() const noexcept { return impl_->manager->is_function_lost(); }

}  // namespace portcullis
