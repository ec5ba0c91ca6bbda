// SPDX-License-Identifier: BSD-3-Clause
#include "lease/fence.hpp"

#include <algorithm>

#include "lease/clear_rights.hpp"

namespace portcullis::lease {

Fence::Fence(const FencePort& port, const Plan& plan, const FenceTarget& target,
             const FenceOptions& options)
    : port_(&port),
      plan_(plan),
      target_(target),
      options_(options),
      deadline_ns_(port.device->clock.now_ns() + options.deadline_ms * kNsPerMs) {}

std::optional<Verdict> Fence::advance() {
  for (; next_ < plan_.steps.size(); ++next_) {
    const PlanStep& planned = plan_.steps[next_];
    if (is_lingering(planned)) return std::nullopt;
    run_planned(planned.step);
  }
  if (!is_through_) finish();
  return verdict_;
}

bool Fence::is_lingering(const PlanStep& planned) {
  if (!planned.after_linger || has_failed(Step::DestroyMkey)) return false;
  if (lingers_until_ns_ == 0)
    lingers_until_ns_ = std::min(now_ns() + options_.linger_ms * kNsPerMs, step_deadline_ns());
  return !access_error_seen_ && now_ns() < lingers_until_ns_;
}

void Fence::run_planned(Step step) {
  if (step == Step::InstallDrop && port_->steering == nullptr) return;
  if (target_.is_absent(step)) {
    // Without a key there is nothing that the device could reach the memory by.
    if (step == Step::DestroyMkey) verdict_.proof = Proof::Mkey;
    return;
  }
  if (gives_back(step) && !is_unharmed()) return;
  run(step);
}

void Fence::finish() {
  is_through_ = true;
  if (has_failed(Step::ErrorQp) || has_failed(Step::DestroyMkey)) climb();
  if (plan_.has(Step::InstallDrop) && port_->steering != nullptr)
    verdict_.steering = has_failed(Step::InstallDrop) ? SteeringState::Degraded : SteeringState::Ok;
  if (!is_unharmed()) {
    verdict_.outcome = Outcome::Fenced;
    verdict_.origin = plan_.origin;
  }
}

void Fence::climb() {
  // A QP in error refuses RTS2RTS and needs none.
  if (has_failed(Step::ErrorQp) && !run(Step::ErrorQp)) run(Step::ClearRights);
  if (verdict_.proof == Proof::None) run(Step::UnmapRegion);
  if (verdict_.proof == Proof::None && options_.may_reset_function && run(Step::BusMasterOff))
    run(Step::ResetFunction);
}

bool Fence::run(Step step) {
  const Result<void> result = send(step);
  if (!result) {
    verdict_.failed_mask = static_cast<StepMask>(verdict_.failed_mask | bit(step));
    if (port_->on_failure) port_->on_failure(target_.slot, step, result.error());
    return false;
  }
  done_ = static_cast<StepMask>(done_ | bit(step));
  if (verdict_.proof == Proof::None) {
    if (step == Step::DestroyMkey) verdict_.proof = Proof::Mkey;
    if (step == Step::UnmapRegion) verdict_.proof = Proof::Unmap;
    if (step == Step::BusMasterOff) verdict_.proof = Proof::Function;
  }
  return true;
}

Result<void> Fence::send(Step step) {
  const std::uint64_t until_ns = step_deadline_ns();
  if (target_.is_unknown(step))
    return fail(Errc::NotFound, std::string(name(step)) +
                                    ": the object may exist, but its number was never answered");
  switch (step) {
    case Step::InstallDrop:
      return port_->steering->install({target_.slot, target_.qpn}, until_ns);
    case Step::RemoveDrop:
      return port_->steering->remove({target_.slot, target_.qpn}, until_ns);
    case Step::UnmapRegion:
      // A key that was not destroyed keeps naming these addresses, so nothing may move in there.
      return verdict_.proof == Proof::Mkey ? target_.region->unmap() : target_.region->retire();
    case Step::ClearRights:
      return clear_rights(*port_->commands, target_.qpn, target_.pdn, until_ns);
    case Step::BusMasterOff:
      return port_->device->function->set_bus_master(false);
    case Step::ResetFunction:
      return port_->device->function->reset();
    default:
      return target_.command(step)->run(*port_->commands, until_ns);
  }
}

std::uint64_t Fence::step_deadline_ns() const noexcept {
  const std::uint64_t now = now_ns();
  return now < deadline_ns_ ? now + (deadline_ns_ - now) / 2 : deadline_ns_;
}

bool Fence::is_unharmed() const noexcept {
  return (verdict_.failed_mask & ~bit(Step::InstallDrop)) == 0;
}

}  // namespace portcullis::lease
