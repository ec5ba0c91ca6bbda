// SPDX-License-Identifier: BSD-3-Clause
#include "lease/fence_run.hpp"

#include <algorithm>
#include <string>

#include "lease/clear_rights.hpp"

namespace portcullis::lease {
namespace {

/// What a poll may wait for one entry or UMR of a fence that nobody waits for.
constexpr std::uint64_t kActPatienceNs = 50 * kNsPerMs;

bool is_of_steering(Step step) noexcept {
  return step == Step::InstallDrop || step == Step::RemoveDrop;
}

/// The device is waited for, by the fence's deadline; every other step is the host's own.
bool takes_time(Step step) noexcept {
  return is_command(step) || is_of_steering(step) || step == Step::FreeKey;
}

}  // namespace

std::uint64_t FenceBudget::act_deadline_ns(std::uint64_t now_ns) const noexcept {
  const std::uint64_t until_ns = step_deadline_ns(now_ns);
  return is_awaited() ? until_ns : std::min(until_ns, now_ns + kActPatienceNs);
}

const char* FenceBudget::objection(Step step, std::uint64_t now_ns) const noexcept {
  if (!takes_time(step)) return nullptr;
  if (gives_up || unanswered >= kMostUnanswered)
    return "not sent, the device does not answer this fence";
  if (!is_awaited()) return nullptr;
  if (now_ns >= deadline_ns) return "not sent, the fence's deadline had passed";
  const std::uint64_t known_ns = longest_ns[static_cast<std::size_t>(step)];
  const std::uint64_t needed_ns = known_ns != 0 ? known_ns : least_ns;
  if (now_ns + needed_ns > step_deadline_ns(now_ns))
    return "not sent, it could not be answered before the fence's deadline";
  return nullptr;
}

bool is_command(Step step) noexcept {
  return step == Step::ClearRights || FenceTarget{}.command(step).has_value();
}

FenceRun::FenceRun(const FencePort& port, FenceBudget& budget, const Plan& plan,
                   const FenceTarget& target)
    : port_(&port), budget_(&budget), plan_(plan), target_(target) {
  // Without a key there is nothing that the device could reach the memory by, and a QP that was
  // never made is silent.
  if (target_.is_absent(Step::DestroyMkey)) verdict_.proof = Proof::Mkey;
  if (target_.is_absent(Step::ErrorQp)) done_ = bit(Step::ErrorQp);
}

FenceRun::Begun FenceRun::begin(const PlanStep& planned, bool has_none) {
  const Step step = planned.step;
  if (is_left_out(planned)) return {};
  if (target_.is_unknown(step)) {
    record_failure(
        step, {Errc::NotFound, std::string(name(step)) +
                                   ": the object may exist, but its number was never answered"});
    return {};
  }
  if (const char* objection = budget_->objection(step, now_ns())) {
    if (must_be_sent(planned) && !budget_->gives_up) return {Begun::Kind::Unsent, step, {}, 0};
    record_failure(step, {Errc::Timeout, std::string(name(step)) + ": " + objection});
    return {};
  }
  return send(step, has_none);
}

FenceRun::Begun FenceRun::send(Step step, bool has_none) {
  if (!is_command(step)) {
    const std::uint64_t started_ns = now_ns();
    record(step, act(step), started_ns);
    return {};
  }
  const auto own = budget_->slot_class();
  const auto other = own == pmd::SlotClass::Fence ? pmd::SlotClass::Common : pmd::SlotClass::Fence;
  auto ticket = submit(step, own);
  if (!ticket && ticket.error().code == Errc::Busy && has_none) ticket = submit(step, other);
  if (ticket) return {Begun::Kind::InFlight, step, *ticket, now_ns()};
  if (ticket.error().code == Errc::Busy) return {Begun::Kind::NoSlot, step, {}, 0};
  record_failure(step, ticket.error());
  return {};
}

/// A lease whose ladder has begun is Fenced, whatever becomes of the rung.
bool FenceRun::must_be_sent(const PlanStep& planned) const noexcept {
  return !planned.is_rung && (plan_.best_effort() & bit(planned.step)) == 0;
}

bool FenceRun::is_left_out(const PlanStep& planned) const noexcept {
  const Step step = planned.step;
  if (target_.is_absent(step)) return true;
  if (planned.is_rung) return !needs_rung(step);
  if (planned.is_fallback && verdict_.proof != Proof::None) return true;
  if (is_of_steering(step) && port_->steering == nullptr) return true;
  if (step == Step::FreeKey && port_->umr == nullptr) return true;
  return gives_back(step) && (!is_unharmed() || (is_shared(step) && keeps_shared_));
}

bool FenceRun::needs_rung(Step step) const noexcept {
  if (is_torn_down()) return false;
  switch (step) {
    case Step::ErrorQp:
      return !is_done(Step::ErrorQp);
    case Step::ClearRights:
      // A QP in error refuses RTS2RTS and needs none.
      return !is_done(Step::ErrorQp) && !is_done(Step::ClearRights);
    case Step::UnmapRegion:
      return verdict_.proof == Proof::None;
    case Step::BusMasterOff:
      return verdict_.proof == Proof::None && budget_->may_reset_function;
    case Step::ResetFunction:
      return is_done(Step::BusMasterOff);
    default:
      return false;
  }
}

Result<pmd::Ticket> FenceRun::submit(Step step, pmd::SlotClass slot_class) {
  if (const auto command = target_.command(step))
    return command->submit(*port_->commands, slot_class);
  return submit_clear_rights(*port_->commands, target_.qpn, target_.pdn, slot_class);
}

Result<void> FenceRun::act(Step step) {
  const std::uint64_t until_ns = budget_->act_deadline_ns(now_ns());
  switch (step) {
    case Step::InstallDrop:
      return port_->steering->install(target_.drop_target(), until_ns);
    case Step::RemoveDrop:
      return port_->steering->remove(target_.drop_target(), until_ns);
    case Step::FreeKey:
      return port_->umr->free_key(target_.key, until_ns);
    case Step::UnmapRegion:
      // A key that is not dead keeps naming these addresses, so nothing may move in there.
      return is_key_dead() ? target_.region->unmap() : target_.region->retire();
    case Step::BusMasterOff:
      return set_bus_master_off();
    case Step::ResetFunction:
      return reset_function();
    default:
      return fail(Errc::InvalidArgument, std::string(name(step)) + " is no step of a fence");
  }
}

/// Once for all leases of the fence, and so is the reset.
Result<void> FenceRun::set_bus_master_off() {
  if (budget_->is_bus_master_off) return {};
  PORTCULLIS_TRY(port_->device->function->set_bus_master(false));
  budget_->is_bus_master_off = true;
  return {};
}

Result<void> FenceRun::reset_function() {
  if (budget_->is_function_reset) return {};
  PORTCULLIS_TRY(port_->device->function->reset());
  budget_->is_function_reset = true;
  return {};
}

void FenceRun::end(const Begun& begun, std::uint64_t deadline_ns) {
  const Result<void> result =
      pmd::InlineCommand::await(*port_->commands, begun.ticket, deadline_ns);
  if (!result && result.error().code == Errc::Timeout) {
    ++budget_->unanswered;
    budget_->looked_away_until_ns = now_ns();
  } else {
    ++budget_->answered;
  }
  record(begun.step, result, begun.sent_ns);
}

void FenceRun::record(Step step, const Result<void>& result, std::uint64_t started_ns) {
  if (!result) {
    record_failure(step, result.error());
    return;
  }
  auto& longest_ns = budget_->longest_ns[static_cast<std::size_t>(step)];
  longest_ns = std::max(longest_ns, now_ns() - std::max(started_ns, budget_->looked_away_until_ns));
  succeed(step);
}

void FenceRun::follow(Step step, const FenceRun& leader) {
  if (target_.is_absent(step)) return;
  if (leader.is_done(step)) return succeed(step);
  verdict_.failed_mask =
      static_cast<StepMask>(verdict_.failed_mask | (leader.verdict_.failed_mask & bit(step)));
}

void FenceRun::succeed(Step step) {
  done_ = static_cast<StepMask>(done_ | bit(step));
  if (verdict_.proof != Proof::None) return;
  if (step == Step::DestroyMkey) verdict_.proof = Proof::Mkey;
  if (step == Step::FreeKey) verdict_.proof = Proof::Umr;
  if (step == Step::DestroyTenantKey) verdict_.proof = Proof::TenantMkey;
  if (step == Step::UnmapRegion) verdict_.proof = Proof::Unmap;
  if (step == Step::BusMasterOff) verdict_.proof = Proof::Function;
}

void FenceRun::record_failure(Step step, const Error& error) {
  verdict_.failed_mask = static_cast<StepMask>(verdict_.failed_mask | bit(step));
  if (port_->on_failure) port_->on_failure(target_.slot, step, error);
}

bool FenceRun::is_torn_down() const noexcept {
  return is_done(Step::ErrorQp) && is_fenced_by_key() && is_unharmed();
}

void FenceRun::finish() {
  if (plan_.has(Step::InstallDrop) && port_->steering != nullptr)
    verdict_.steering = is_done(Step::InstallDrop) ? SteeringState::Ok : SteeringState::Degraded;
  if (is_torn_down()) return;
  verdict_.outcome = Outcome::Fenced;
  verdict_.origin = plan_.origin;
}

bool FenceRun::is_worth_a_linger() const noexcept {
  constexpr StepMask kRefuses = bit(Step::DestroyMkey) | bit(Step::FreeKey) |
                                bit(Step::DestroyTenantKey) | bit(Step::ClearRights);
  return (done_ & kRefuses) != 0 && !access_error_seen_;
}

bool FenceRun::is_unharmed() const noexcept {
  return (verdict_.failed_mask & ~plan_.best_effort()) == 0;
}

}  // namespace portcullis::lease
