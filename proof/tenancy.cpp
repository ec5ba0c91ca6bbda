// SPDX-License-Identifier: BSD-3-Clause
#include "proof/tenancy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pmd/port.hpp"
#include "steering/set_up.hpp"

namespace portcullis::proof {
namespace {

constexpr std::uint32_t kClientPsn = 0x100;
constexpr std::uint64_t kPsnSeed = 1;  // a run is a function of its seeds

}  // namespace

Result<std::unique_ptr<Tenancy>> Tenancy::create(Session& session, const TenancyOptions& options) {
  std::unique_ptr<Tenancy> tenancy(new Tenancy(session, options));
  if (auto queue = pmd::UmrQueue::create(session.context())) {
    tenancy->umr_queue_.emplace(std::move(*queue));
    tenancy->umr_.emplace(*tenancy->umr_queue_);
  }
  if (options.on_key_step || options.on_key_gone) tenancy->tap_keys();
  for (std::uint32_t i = 0; i < options.leases; ++i) {
    PORTCULLIS_TRY_ASSIGN(auto client, Client::create(session.context(), options.counter_set));
    if (options.drop && options.drop->row.has_long_writes) PORTCULLIS_TRY(client.write_long());
    if (options.has_streams) PORTCULLIS_TRY(client.write_stream());
    tenancy->clients_.push_back(std::make_unique<Client>(std::move(client)));
  }
  PORTCULLIS_TRY(tenancy->set_up_steering());
  return tenancy;
}

void Tenancy::tap_keys() {
  key_events_.on_step = [this](prm::MkeyIndex index) { tell_of_key(index, options_.on_key_step); };
  key_events_.on_gone = [this](prm::MkeyIndex index) { tell_of_key(index, options_.on_key_gone); };
  context_ = session_->context();
  key_tap_.emplace(*context_->commands, key_events_);
  context_->commands = &*key_tap_;
  if (umr_) umr_tap_.emplace(*umr_, key_events_);
}

void Tenancy::tell_of_key(prm::MkeyIndex index,
                          const std::function<void(std::size_t)>& hears) const {
  if (!hears) return;
  for (std::size_t i = 0; i < grants_.size(); ++i)
    if (prm::index_of(grants_[i].rkey) == index) hears(i);
}

/// A device without entries serves as well, and the plan that is made of them is refused.
Result<void> Tenancy::set_up_steering() {
  if (options_.drop) {
    PORTCULLIS_TRY_ASSIGN(rule_,
                          RowDrop::create(session_->context(), *options_.drop, options_.leases));
    return {};
  }
  steering::FlowDrop::Options wanted;
  wanted.choice = options_.entries.value_or(steering::choice_for(options_.entry));
  wanted.slots = options_.leases;
  wanted.loopback = session_->path();
  std::string said;
  PORTCULLIS_TRY_ASSIGN(rule_,
                        steering::set_up_rule(session_->context(), options_.entry, wanted,
                                              [&said](std::string_view line) { said = line; }));
  if (rule_ != nullptr || said.empty()) return {};
  if (options_.entry != steering::EntryPlan::AtRevoke)
    return fail(Errc::Unsupported, std::move(said));
  fmt::print(stderr, "{}\n", said);
  return {};
}

Tenancy::~Tenancy() { (void)finish(); }

Result<void> Tenancy::grant_all() {
  lease::LeaseManager::Options options;
  options.table.slots = options_.leases;
  options.grant.psn_seed = kPsnSeed;
  options.grant.mtu = pmd::fitting_path_mtu(session_->context(), options.grant.mtu);
  options.grant.source_address_index = session_->path().source_address_index;
  options.fence.deadline_ms = options_.fence_deadline_ms;
  options.grant.deadline_ms = options_.fence_deadline_ms;
  options.sweep.command_deadline_ms =
      std::max(options.sweep.command_deadline_ms, options_.fence_deadline_ms);
  lease::Host host = lease::Host::of(session_->driver());
  if (context_) host.context = &*context_;
  host.steering = rule_.get();
  options.plan.entry = options_.entry;
  if (umr_) host.umr = &*umr_;
  if (umr_tap_) host.umr = &*umr_tap_;
  if (options_.on_outcome)
    host.on_outcome = [this](const lease::Lease& lease, const lease::Verdict& verdict) {
      // A new manager grants its slots in their order, so a slot is a client's index.
      options_.on_outcome(lease.slot, verdict);
    };
  options.grant.counter_set = options_.counter_set;
  PORTCULLIS_TRY_ASSIGN(manager_, lease::LeaseManager::create(std::move(host), options));
  if (!options_.are_together) {
    for (const auto& client : clients_) {
      PORTCULLIS_TRY_ASSIGN(const lease::Grant grant, manager_->grant(request_of(*client)));
      PORTCULLIS_TRY(connect(*client, grant));
    }
    return {};
  }
  std::vector<lease::GrantRequest> requests;
  for (const auto& client : clients_) requests.push_back(request_of(*client));
  PORTCULLIS_TRY_ASSIGN(const auto grants, manager_->grant_together(requests));
  for (std::size_t i = 0; i < grants.size(); ++i) PORTCULLIS_TRY(connect(*clients_[i], grants[i]));
  return {};
}

lease::GrantRequest Tenancy::request_of(const Client& client) const {
  lease::GrantRequest request;
  request.bytes = options_.has_streams ? Stream::kRegionBytes : kPageBytes;
  request.peer = {.qpn = client.qpn(),
                  .psn = kClientPsn,
                  .gid = session_->path().remote_gid,
                  .mac = session_->path().remote_mac,
                  .lid = session_->path().remote_lid,
                  .is_forced_back = session_->path().is_forced_back};
  request.ack_timeout = options_.timeout;
  request.retry_count = options_.retry;
  return request;
}

Result<void> Tenancy::connect(Client& client, const lease::Grant& grant) {
  grants_.push_back(grant);
  return client.connect({.path = session_->path(),
                         .remote_qpn = grant.qpn,
                         .remote_psn = grant.psn,
                         .local_psn = kClientPsn,
                         .timeout = grant.ack_timeout,
                         .retry_count = grant.retry_count,
                         .mtu = grant.mtu});
}

Result<void> Tenancy::start_traffic() {
  const std::uint64_t start = session_->now_ns();
  ++rounds_;
  std::vector<Client*> clients;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const lease::Grant& grant = grants_[i];
    clients_[i]->start({.address = grant.address,
                        .rkey = grant.rkey,
                        .bytes = manager_->memory(grant.lease),
                        .tag = next_tag()},
                       start + i * options_.write_interval_ns,
                       options_.write_interval_ns * clients_.size());
    clients.push_back(clients_[i].get());
  }
  session_->set_clients(std::move(clients));
  const auto all_write = [this] {
    return std::ranges::all_of(clients_, [this](const auto& client) { return is_warm(*client); });
  };
  const auto is_settled = [&] { return all_write() || session_->has_failed_request(); };
  PORTCULLIS_TRY(session_->run_until(
      session_->now_ns() + options_.warm_up_deadline_s * kNsPerSecond, is_settled));
  if (all_write()) return {};
  session_->clear_clients();
  for (const auto& client : clients_)
    if (client->seen().failure)
      return fail(Errc::DeviceFailed,
                  "before any revoke: " + pmd::describe(*client->seen().failure));
  return fail(Errc::Timeout, fmt::format("the clients' first WRITEs did not complete within {} s",
                                         options_.warm_up_deadline_s));
}

/// Leases that share a key only read in every fourth round, all of them: one that writes is what
/// the key's end waits for, and READs would never be what is late.
std::uint32_t Tenancy::next_tag() noexcept {
  const bool only_reads = rounds_ % Stream::kOnlyReadsEach == 0;
  ++last_tag_;
  while (options_.are_together && (last_tag_ % Stream::kOnlyReadsEach == 0) != only_reads)
    ++last_tag_;
  return last_tag_;
}

/// Of a stream once all of its ring has been written, and its pages read, as far as it does either.
bool Tenancy::is_warm(const Client& client) const {
  if (const Stream* const stream = client.stream())
    return (stream->stays_in_page() || stream->read_completed() >= Stream::kReadBytes) &&
           (stream->only_reads() || stream->completed() >= stream->ring_bytes());
  const bool is_stopped = options_.drop && options_.drop->install == Install::Pre;
  return (is_stopped ? client.seen().posted : client.seen().writes) >= kWarmUpWrites;
}

Result<void> Tenancy::revoke_all(const lease::Plan& plan) {
  leaves_fenced_ = plan.best_outcome() == lease::Outcome::Fenced;
  const auto answers =
      options_.mode == RevokeMode::Serial ? revoke_serially(plan) : revoke_batched(plan);
  PORTCULLIS_TRY(session_->client_result());
  for (const lease::RevokeAnswer& answer : answers)
    if (answer.outcome != plan.best_outcome())
      return fail(Errc::CommandFailed, "the revoke failed: " + lease::describe(answer.verdict));
  return {};
}

std::vector<lease::RevokeAnswer> Tenancy::revoke_serially(const lease::Plan& plan) {
  // All are started before one that lingers is waited for.
  std::vector<lease::Lease> open;
  std::vector<lease::RevokeAnswer> answers;
  for (std::size_t i = 0; i < grants_.size(); ++i) {
    const lease::Lease& lease = grants_[i].lease;
    if (const auto answer = manager_->start_revoke(lease.id, lease.epoch, plan))
      answers.push_back(*answer);
    else
      open.push_back(lease);
    if (!plan.has_grace) clients_[i]->forget_region();  // such a plan frees it at once
  }
  for (const lease::Lease& lease : open)
    answers.push_back(manager_->revoke(lease.id, lease.epoch, plan));
  return answers;
}

std::vector<lease::RevokeAnswer> Tenancy::revoke_batched(const lease::Plan& plan) {
  if (!plan.has_grace)
    for (const auto& client : clients_) client->forget_region();
  std::vector<lease::LeaseName> names;
  for (const lease::Grant& grant : grants_) names.push_back({grant.lease.id, grant.lease.epoch});
  return manager_->revoke_batch(names, plan);
}

Result<void> Tenancy::finish() {
  session_->clear_clients();
  grants_.clear();
  // A client that still repeats itself must not meet the next round's QP of the same number.
  for (const auto& client : clients_) PORTCULLIS_TRY(client->reset());
  if (!manager_) return {};
  const auto manager = std::move(manager_);
  auto down = manager->tear_down();
  // A plan that never tears down leaves its leases FENCED: that is its outcome, not an error.
  if (!down && std::exchange(leaves_fenced_, false)) return {};
  return down;
}

}  // namespace portcullis::proof
