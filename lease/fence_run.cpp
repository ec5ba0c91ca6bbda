// SPDX-License-Identifier: BSD-3-Clause
#include "lease/fence_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pmd/inline_command.hpp"

namespace portcullis::lease {
namespace {

/// What a poll may wait for one entry or UMR of a fence that nobody waits for.
constexpr std::uint64_t kActPatienceNs = 50 * kNsPerMs;
/// What the host's own steps have behind a fence's deadline, of the second that an outcome has.
constexpr std::uint64_t kHostNs = 50 * kNsPerMs;

}  // namespace

std::uint64_t FenceBudget::act_deadline_ns(std::uint64_t now_ns) const noexcept {
  const std::uint64_t until_ns = step_deadline_ns(now_ns);
  return is_awaited() ? until_ns : std::min(until_ns, now_ns + kActPatienceNs);
}

std::uint64_t FenceBudget::host_deadline_ns(std::uint64_t now_ns) const noexcept {
  const std::uint64_t least_ns = now_ns + kHostNs;
  if (!is_awaited()) return least_ns;
  return std::max(act_deadline_ns(now_ns), std::min(least_ns, deadline_ns + kHostNs));
}

const char* FenceBudget::objection(Step step, std::uint64_t now_ns) const noexcept {
  if (!row(step).takes_time()) return nullptr;
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

FenceRun::FenceRun(const FencePort& port, FenceBudget& budget, const Plan& plan,
                   const FenceTarget& target)
    : port_(&port), budget_(&budget), plan_(plan), target_(target) {
  // Without a key there is nothing that the device could reach the memory by, and a QP that was
  // never made is silent.
  if (target_.is_absent(Step::DestroyMkey)) verdict_.proof = Proof::Mkey;
  if (target_.is_absent(Step::ErrorQp)) done_ = bit(Step::ErrorQp);
}

bool FenceRun::would_wait(const PlanStep& planned) const noexcept {
  const StepRow& how = row(planned.step);
  return how.takes_time() && !how.is_command() && !is_left_out(planned) &&
         budget_->objection(planned.step, now_ns()) == nullptr;
}

FenceRun::Begun FenceRun::begin_step(const PlanStep& planned, bool has_none) {
  const Step step = planned.step;
  if (is_left_out(planned)) return {};
  if (target_.is_unknown(step)) {
    record_failure(step, {Errc::NotFound,
                          fmt::format("{}: the object may exist, but its number was never answered",
                                      name(step))});
    return {};
  }
  if (const char* objection = budget_->objection(step, now_ns())) {
    if (must_be_sent(planned) && !budget_->gives_up) return {Begun::Kind::Unsent, step, {}, 0};
    record_failure(step, {Errc::Timeout, fmt::format("{}: {}", name(step), objection)});
    return {};
  }
  return send(step, has_none);
}

FenceRun::Begun FenceRun::send(Step step, bool has_none) {
  const StepRow& how = row(step);
  if (!how.is_command()) {
    const std::uint64_t started_ns = now_ns();
    record(step, act(how), started_ns);
    return {};
  }
  const auto own = budget_->slot_class();
  const auto other = own == pmd::SlotClass::Fence ? pmd::SlotClass::Common : pmd::SlotClass::Fence;
  // Who is waited for finds a fence slot, unless no common one will ever be free again.
  const bool may_borrow = has_none && (budget_->is_awaited() || port_->traffic->in_flight() == 0);
  auto ticket = how.submit(*port_->commands, target_, own);
  if (!ticket && ticket.error().code == Errc::Busy && may_borrow)
    ticket = how.submit(*port_->commands, target_, other);
  if (ticket) {
    port_->traffic->note_sent(now_ns());
    return {Begun::Kind::InFlight, step, *ticket, now_ns()};
  }
  if (ticket.error().code == Errc::Busy) return {Begun::Kind::NoSlot, step, {}, 0};
  record_failure(step, ticket.error());
  return {};
}

/// A lease whose ladder has begun is Fenced, whatever becomes of the rung.
bool FenceRun::must_be_sent(const PlanStep& planned) const noexcept {
  return !planned.is_rung() && (plan_.best_effort() & bit(planned.step)) == 0;
}

bool FenceRun::is_left_out(const PlanStep& planned) const noexcept {
  const Step step = planned.step;
  if (target_.is_absent(step)) return true;
  if (planned.is_rung()) return !needs(planned.rung);
  if (planned.is_fallback && verdict_.proof != Proof::None) return true;
  const StepRow& how = row(step);
  if (how.way == Way::Steering && port_->steering == nullptr) return true;
  if (how.way == Way::Umr && port_->umr == nullptr) return true;
  return how.gives_back && (!is_unharmed() || (how.is_shared && keeps_shared_));
}

bool FenceRun::needs(Rung rung) const noexcept {
  switch (rung) {
    case Rung::None:
      return false;
    case Rung::QpNotInError:
      return !is_done(Step::ErrorQp);
    case Rung::QpHasRights:
      return !is_done(Step::ErrorQp) && !is_done(Step::ClearRights);
    case Rung::Unproved:
      return verdict_.proof == Proof::None;
    case Rung::UnprovedMayReset:
      return verdict_.proof == Proof::None && budget_->may_reset_function;
    case Rung::BusMasterIsOff:
      return is_done(Step::BusMasterOff);
  }
  return false;
}

Result<void> FenceRun::act(const StepRow& how) {
  if ((budget_->done_to_function & bit(how.step)) != 0) return {};
  const std::uint64_t until_ns =
      how.takes_time() ? budget_->act_deadline_ns(now_ns()) : budget_->host_deadline_ns(now_ns());
  PORTCULLIS_TRY(how.act(
      {.port = port_, .target = &target_, .is_key_dead = is_key_dead(), .until_ns = until_ns}));
  if (how.is_of_function)
    budget_->done_to_function = static_cast<StepMask>(budget_->done_to_function | bit(how.step));
  return {};
}

void FenceRun::end_step(const Begun& begun, std::uint64_t deadline_ns) {
  const Result<void> result =
      pmd::InlineCommand::await(*port_->commands, begun.ticket, deadline_ns);
  if (!result && result.error().code == Errc::Timeout) {
    port_->traffic->note_lost();
    ++budget_->unanswered;
    budget_->looked_away_until_ns = now_ns();
  } else {
    port_->traffic->note_answered(now_ns());
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
  if (verdict_.proof == Proof::None) verdict_.proof = row(step).proves;
}

void FenceRun::record_failure(Step step, const Error& error) {
  verdict_.failed_mask = static_cast<StepMask>(verdict_.failed_mask | bit(step));
  if (port_->on_failure) port_->on_failure(target_.slot, step, error);
}

bool FenceRun::is_torn_down() const noexcept {
  return is_done(Step::ErrorQp) && is_fenced_by_key() && is_unharmed();
}

void FenceRun::finish() {
  // Steps are those of seed where the grant has prepared nothing for the plan, and that is said.
  const bool has_its_entry =
      plan_.entry == steering::EntryPlan::AtRevoke || plan_.entry == target_.entry;
  if (!has_its_entry && !is_done(Step::InstallDrop))
    verdict_.failed_mask = static_cast<StepMask>(verdict_.failed_mask | bit(Step::InstallDrop));
  if (plan_.has(Step::InstallDrop) && (port_->steering != nullptr || !has_its_entry))
    verdict_.steering =
        is_done(Step::InstallDrop) && has_its_entry ? SteeringState::Ok : SteeringState::Degraded;
  if (is_torn_down()) return;
  verdict_.outcome = Outcome::Fenced;
  verdict_.origin = plan_.origin;
}

bool FenceRun::is_worth_a_linger() const noexcept {
  const auto refuses = [this](const StepRow& row) {
    return row.makes_qp_refuse && is_done(row.step);
  };
  return !access_error_seen_ && std::ranges::any_of(step_rows(), refuses);
}

bool FenceRun::is_unharmed() const noexcept {
  return (verdict_.failed_mask & ~plan_.best_effort()) == 0;
}

}  // namespace portcullis::lease
