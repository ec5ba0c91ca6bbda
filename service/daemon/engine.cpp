// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/engine.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "base/dma_bytes.hpp"

namespace portcullis::service::daemon {
namespace {

using lease::LeaseName;

static_assert(static_cast<int>(wire::Memory::TenantMkey) ==
              static_cast<int>(lease::Proof::TenantMkey));
static_assert(static_cast<int>(wire::Memory::Function) == static_cast<int>(lease::Proof::Function));
static_assert(static_cast<int>(wire::Outcome::NotFound) ==
              static_cast<int>(lease::Outcome::NotFound));

LeaseName name_of(const lease::Lease& lease) { return {.id = lease.id, .epoch = lease.epoch}; }

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(pmd::Function& function,
                                               const EngineOptions& options, Tell tell,
                                               UnixMs unix_ms) {
  std::unique_ptr<Engine> engine(new Engine(function, std::move(tell), std::move(unix_ms)));
  PORTCULLIS_TRY(engine->start(options));
  return engine;
}

Result<void> Engine::start(const EngineOptions& options) {
  plan_ = options.plan;
  log_ = options.log;
  idle_ = options.idle;
  connection_ = options.connection;
  set_up_umr();
  lease::Host host = lease::Host::of(*function_);
  host.log = options.log;
  if (umr_) host.umr = &*umr_;
  follow_commands(host, options);
  host.on_outcome = [this](const lease::Lease& lease, const lease::Verdict& verdict) {
    note_outcome(lease, verdict);
  };
  lease::LeaseManager::Options wanted;
  wanted.table = {.slots = options.slots, .first_epoch = options.first_epoch};
  wanted.plan = options.plan;
  wanted.grace_ms = options.grace_ms;
  wanted.residence_ms = options.residence_ms;
  wanted.grant.mtu = options.mtu;
  wanted.grant.source_address_index = options.source_address_index;
  PORTCULLIS_TRY_ASSIGN(manager_, lease::LeaseManager::create(std::move(host), wanted));
  return {};
}

/// A function without such a queue frees no key by UMR, and plan umr falls back to DESTROY_MKEY.
void Engine::set_up_umr() {
  auto queue = pmd::UmrQueue::create(function_->context());
  if (!queue) return;
  umr_queue_.emplace(*std::move(queue));
  umr_.emplace(*umr_queue_);
}

void Engine::follow_commands(lease::Host& host, const EngineOptions& options) {
  if (!options.on_command && !options.at) return;
  followed_context_ = function_->context();
  pmd::CommandChannel*& commands = followed_context_->commands;
  if (options.at) commands = &points_.emplace(*commands, options.at);
  if (options.on_command)
    commands = &timed_.emplace(*commands, followed_context_->device.clock, options.on_command);
  host.context = &*followed_context_;
}

void Engine::ask(Request request) {
  if (const auto* revoke = std::get_if<Revoke>(&request))
    enqueue(*revoke);
  else if (const auto* challenge = std::get_if<Challenge>(&request))
    begin(*challenge);  // its time runs, whatever else is to be done
  else
    others_.push_back(std::move(request));
}

bool Engine::work() {
  if (!many_.empty()) {
    revoke_all(held_of(many_.front()), many_.front().plan);
    many_.pop_front();
  } else if (!singles_.empty()) {
    revoke_some();
  } else if (!others_.empty()) {
    const Request next = std::move(others_.front());
    others_.pop_front();
    if (const auto* alloc = std::get_if<Alloc>(&next)) handle(*alloc);
    if (const auto* renew = std::get_if<Renew>(&next)) handle(*renew);
  }
  tell_outcomes();
  manager_->poll();
  look_at_function();
  tell_outcomes();
  look_at_challenges();
  // A slot whose every command waited for the end of a nap would come free no sooner than some are
  // taken back: a thousand naps a second are a thousand commands.
  return !many_.empty() || !singles_.empty() || !others_.empty() || manager_->is_sweeping();
}

void Engine::handle(const Alloc& wanted) {
  auto granted = is_broken_ ? fail(Errc::DeviceFailed, "the device is lost; nothing is granted")
                            : manager_->grant(wanted.wanted);
  if (!granted) {
    tell_(NotGranted{.ticket = wanted.ticket, .why = std::move(granted.error())});
    return;
  }
  held_.emplace(granted->lease.id, Held{.epoch = granted->lease.epoch,
                                        .tenant = wanted.wanted.tenant,
                                        .slot = granted->lease.slot,
                                        .asked = {}});
  tell_(Granted{.ticket = wanted.ticket,
                .record = {.name = name_of(granted->lease),
                           .tenant = wanted.wanted.tenant,
                           .bytes = granted->bytes,
                           .granted_unix_ms = unix_ms_()},
                .grant = *granted});
}

void Engine::handle(const Renew& wanted) {
  tell_(Renewed{.ticket = wanted.ticket,
                .done = manager_->renew(wanted.name.id, wanted.name.epoch, wanted.ttl_ms)});
}

/// Those that have no outcome yet; who wanted them back is noted.
std::vector<LeaseName> Engine::held_of(const Revoke& wanted) {
  std::vector<LeaseName> names;
  for (const LeaseName& name : wanted.names) {
    const auto held = held_.find(name.id);
    if (held == held_.end() || held->second.epoch != name.epoch) continue;
    if (!held->second.asked) held->second.asked = wanted.cause;
    names.push_back(name);
  }
  return names;
}

void Engine::enqueue(const Revoke& wanted) {
  const std::vector<LeaseName> names = held_of(wanted);  // from now on they end for this
  if (wanted.names.size() != 1) {
    many_.push_back(wanted);
    return;
  }
  for (const LeaseName& name : names)
    singles_[held_.at(name.id).tenant].push_back({name, wanted.plan});
}

/// One of each tenant, and round again, as long as they name the plan of the first.
void Engine::revoke_some() {
  std::vector<LeaseName> names;
  std::optional<wire::Plan> plan;
  for (bool found = true; found && names.size() < kTogether;) {
    found = false;
    for (std::size_t left = singles_.size(); left > 0 && names.size() < kTogether; --left) {
      auto turn = singles_.upper_bound(last_tenant_);
      if (turn == singles_.end()) turn = singles_.begin();
      last_tenant_ = turn->first;
      const Single next = turn->second.front();
      if (plan.value_or(next.plan) != next.plan) continue;
      plan = next.plan;
      names.push_back(next.name);
      found = true;
      turn->second.pop_front();
      if (turn->second.empty()) singles_.erase(turn);
    }
  }
  revoke_all(names, *plan);
}

/// Nobody asks where the time to live is over: then a fence that takes its time is all that tells.
bool Engine::is_ending(const Held& held) const noexcept {
  return held.asked || manager_->table().state(held.slot) != lease::State::Active;
}

void Engine::begin(const Challenge& challenge) {
  std::uint64_t nonce = 0;  // the word is compared as memory has it, in whatever order
  static_assert(sizeof nonce == sizeof challenge.nonce);
  std::memcpy(&nonce, challenge.nonce.data(), sizeof nonce);
  challenges_.push_back({.name = challenge.name,
                         .nonce = nonce,
                         .until_ns = now_ns() + challenge.within_ms * kNsPerMs});
}

/// Reads what the NIC writes into, and nothing else of the device: one word, never torn, that is
/// the whole nonce or not yet. The time is looked at first, so what came within it counts, however
/// late the word is read. Some at a time, in turns: a revoke is not to wait for thousands.
void Engine::look_at_challenges() {
  constexpr std::size_t kMostLooks = 256;
  for (std::size_t left = std::min(challenges_.size(), kMostLooks); left > 0; --left) {
    const OpenChallenge each = challenges_.front();
    challenges_.pop_front();
    const auto held = held_.find(each.name.id);
    if (held == held_.end() || held->second.epoch != each.name.epoch || is_ending(held->second))
      continue;  // it ends, and not for this
    const bool is_late = now_ns() >= each.until_ns;
    const auto region =
        manager_->memory({.id = each.name.id, .epoch = each.name.epoch, .slot = held->second.slot});
    if (region.size() >= sizeof each.nonce && dma_peek_u64(region.data()) == each.nonce)
      tell_(ChallengeMet{.name = each.name});
    else if (is_late)
      enqueue({.names = {each.name}, .cause = wire::Cause::Challenge});
    else
      challenges_.push_back(each);
  }
}

void Engine::revoke_all(const std::vector<LeaseName>& names, wire::Plan plan) {
  if (names.size() == 1)  // does not wait while the plan lingers
    (void)manager_->start_revoke(names.front().id, names.front().epoch, plan_of(plan));
  else if (!names.empty())
    (void)manager_->revoke_batch(names, plan_of(plan));
}

const lease::Plan& Engine::plan_of(wire::Plan plan) const noexcept {
  switch (plan) {
    case wire::Plan::Seed:
      return lease::seed_plan();
    case wire::Plan::NakFirst:
      return lease::nak_first_plan();
    case wire::Plan::Legacy:
      return lease::legacy_plan();
    case wire::Plan::Umr:
      return lease::umr_plan();
    case wire::Plan::AccessFlags:
      return lease::access_flags_plan();
    case wire::Plan::Default:
      break;
  }
  return plan_;
}

void Engine::note_outcome(const lease::Lease& lease, const lease::Verdict& verdict) {
  outcomes_.push_back({lease, verdict});
}

void Engine::tell_outcomes() {
  for (const Outcome& each : outcomes_) {
    const auto held = held_.find(each.lease.id);
    if (held == held_.end()) continue;  // a grant that failed: nobody was told its name
    const auto otherwise =
        manager_->is_function_lost() ? wire::Cause::Server : wire::Cause::Expired;
    tell_(Ended{{.name = name_of(each.lease),
                 .tenant = held->second.tenant,
                 .unix_ms = unix_ms_(),
                 .failed_mask = each.verdict.failed_mask,
                 .outcome = static_cast<wire::Outcome>(each.verdict.outcome),
                 .memory = static_cast<wire::Memory>(each.verdict.proof),
                 .cause = held->second.asked.value_or(otherwise),
                 .origin = each.verdict.origin}});
    held_.erase(held);
  }
  outcomes_.clear();
}

/// Registers and command queue of a function in another process are memory, and go on saying what
/// they said; no command is waited for from then on.
Result<void> Engine::condition() {
  PORTCULLIS_TRY(function_->poll());
  if (!connection_) return {};
  auto connected = connection_();
  if (!connected) function_->function_was_reset();
  return connected;
}

/// A function that is broken answers no fence by itself: what it holds is fenced, as far as the
/// ladder reaches, and nothing is granted on it again.
void Engine::look_at_function() {
  if (is_broken_) return;
  if (idle_) idle_();
  const auto found = condition();
  if (found) return;
  is_broken_ = true;
  if (log_) log_("the device is lost: " + found.error().text);
  Revoke all{.names = {}, .cause = wire::Cause::Server};
  for (const auto& [id, held] : held_) all.names.push_back({.id = id, .epoch = held.epoch});
  revoke_all(held_of(all), all.plan);
}

Result<void> Engine::tear_down() {
  for (auto& [id, held] : held_)
    if (!held.asked) held.asked = wire::Cause::Server;
  auto down = manager_->tear_down();
  tell_outcomes();
  return down;
}

Counts Engine::counts() const {
  const lease::LeaseTable& table = manager_->table();
  return {.slots = table.slots(),
          .held = table.count(lease::State::Active) + table.count(lease::State::Revoking),
          .resting = table.count(lease::State::PendingDestroy),
          .out = table.fenced_count(),
          .is_lost = is_broken_ || manager_->is_function_lost()};
}

}  // namespace portcullis::service::daemon
