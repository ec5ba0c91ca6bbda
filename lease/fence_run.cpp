// SPDX-License-Identifier: BSD-3-Clause
#include "lease/fence_run.hpp"

#include <algorithm>
#include <string>

#include "lease/clear_rights.hpp"

namespace portcullis::lease {
namespace {

bool is_of_steering(Step step) noexcept {
  return step == Step::InstallDrop || step == Step::RemoveDrop;
}

/// The device is waited for, by the fence's deadline; every other step is the host's own.
bool takes_time(Step step) noexcept {
  return is_command(step) || is_of_steering(step) || step == Step::FreeKey;
}

}  // namespace

const char* FenceBudget::objection(Step step, std::uint64_t now_ns) const noexcept {
  if (!takes_time(step)) return nullptr;
  if (unanswered >= kMostUnanswered) return "not sent, the device does not answer this fence";
  if (now_ns >= deadline_ns) return "not sent, the fence's deadline had passed";
  if (now_ns + longest_ns[static_cast<std::size_t>(step)] > step_deadline_ns(now_ns))
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

FenceRun::Begun FenceRun::begin(const PlanStep& planned) {
  return is_left_out(planned) ? Begun{} : begin(planned.step);
}

FenceRun::Begun FenceRun::begin(Step step) {
  if (target_.is_unknown(step)) {
    record_failure(
        step, {Errc::NotFound, std::string(name(step)) +
                                   ": the object may exist, but its number was never answered"});
    return {};
  }
  if (const char* objection = budget_->objection(step, now_ns())) {
    record_failure(step, {Errc::Timeout, std::string(name(step)) + ": " + objection});
    return {};
  }
  if (!is_command(step)) {
    const std::uint64_t started_ns = now_ns();
    record(step, act(step), started_ns);
    return {};
  }
  const auto ticket = submit(step);
  if (ticket) return {Begun::Kind::InFlight, step, *ticket, now_ns()};
  if (ticket.error().code == Errc::Busy) return {Begun::Kind::NoSlot, step, {}, 0};
  record_failure(step, ticket.error());
  return {};
}

bool FenceRun::is_left_out(const PlanStep& planned) {
  const Step step = planned.step;
  if (target_.is_absent(step)) return true;
  if (planned.is_fallback && verdict_.proof != Proof::None) return true;
  if (is_of_steering(step) && port_->steering == nullptr) return true;
  if (step == Step::FreeKey && port_->umr == nullptr) return true;
  return gives_back(step) && (!is_unharmed() || (is_shared(step) && keeps_shared_));
}

Result<pmd::Ticket> FenceRun::submit(Step step) {
  if (const auto command = target_.command(step)) return command->submit(*port_->commands);
  return submit_clear_rights(*port_->commands, target_.qpn, target_.pdn);
}

Result<void> FenceRun::act(Step step) {
  const std::uint64_t until_ns = budget_->step_deadline_ns(now_ns());
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
      return port_->device->function->set_bus_master(false);
    case Step::ResetFunction:
      return port_->device->function->reset();
    default:
      return fail(Errc::InvalidArgument, std::string(name(step)) + " is no step of a fence");
  }
}

void FenceRun::end(const Begun& begun) {
  const Result<void> result = pmd::InlineCommand::await(*port_->commands, begun.ticket,
                                                        budget_->step_deadline_ns(now_ns()));
  if (!result && result.error().code == Errc::Timeout) {
    ++budget_->unanswered;
    budget_->looked_away_until_ns = now_ns();
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

void FenceRun::finish() {
  const bool is_torn_down = is_done(Step::ErrorQp) && is_fenced_by_key() && is_unharmed();
  if (!is_torn_down) climb();
  if (plan_.has(Step::InstallDrop) && port_->steering != nullptr)
    verdict_.steering = is_done(Step::InstallDrop) ? SteeringState::Ok : SteeringState::Degraded;
  if (is_torn_down) return;
  verdict_.outcome = Outcome::Fenced;
  verdict_.origin = plan_.origin;
}

void FenceRun::climb() {
  // A QP in error refuses RTS2RTS and needs none.
  if (!is_done(Step::ErrorQp) && !run(Step::ErrorQp) && !is_done(Step::ClearRights))
    run(Step::ClearRights);
  if (verdict_.proof == Proof::None) run(Step::UnmapRegion);
  if (verdict_.proof == Proof::None && budget_->may_reset_function && run(Step::BusMasterOff))
    run(Step::ResetFunction);
}

bool FenceRun::run(Step step) {
  const Begun begun = begin(step);
  if (begun.kind == Begun::Kind::InFlight) end(begun);
  if (begun.kind == Begun::Kind::NoSlot)
    record_failure(step, {Errc::Busy, std::string(name(step)) + ": no fence slot is free"});
  return is_done(step);
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
