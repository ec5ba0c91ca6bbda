// SPDX-License-Identifier: BSD-3-Clause
#include "lease/fence_step.hpp"

namespace portcullis::lease {

std::string_view name(Step step) noexcept {
  switch (step) {
    case Step::ErrorQp:
      return "2ERR_QP";
    case Step::DestroyMkey:
      return "DESTROY_MKEY";
    case Step::InstallDrop:
      return "SET_FLOW_TABLE_ENTRY";
    case Step::RemoveDrop:
      return "DELETE_FLOW_TABLE_ENTRY";
    case Step::ResetQp:
      return "2RST_QP";
    case Step::DestroyQp:
      return "DESTROY_QP";
    case Step::DeallocPd:
      return "DEALLOC_PD";
    case Step::UnmapRegion:
      return "unmap";
    case Step::ClearRights:
      return "RTS2RTS_QP";
    case Step::BusMasterOff:
      return "bus master off";
    case Step::ResetFunction:
      return "function reset";
    case Step::FreeKey:
      return "UMR";
    case Step::DestroyTenantKey:
      return "DESTROY_MKEY of the tenant";
  }
  return "unknown step";
}

std::string names(StepMask mask) {
  std::string text;
  for (unsigned i = 0; i < kSteps; ++i) {
    const auto step = static_cast<Step>(i);
    if ((mask & bit(step)) == 0) continue;
    if (!text.empty()) text += '|';
    text += name(step);
  }
  return text.empty() ? "none" : text;
}

std::string_view name(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::TornDown:
      return "TornDown";
    case Outcome::Fenced:
      return "Fenced";
    case Outcome::NotFound:
      return "NotFound";
    case Outcome::Revoking:
      return "Revoking";
  }
  return "unknown outcome";
}

std::string_view name(Origin origin) noexcept {
  switch (origin) {
    case Origin::None:
      return "none";
    case Origin::Legacy:
      return "LEGACY";
    case Origin::Revoke:
      return "REVOKE";
    case Origin::Sweep:
      return "SWEEP";
  }
  return "unknown origin";
}

std::string_view name(SteeringState steering) noexcept {
  switch (steering) {
    case SteeringState::Absent:
      return "absent";
    case SteeringState::Ok:
      return "ok";
    case SteeringState::Degraded:
      return "degraded";
  }
  return "unknown steering state";
}

std::string_view name(Proof proof) noexcept {
  switch (proof) {
    case Proof::None:
      return "unproved";
    case Proof::Mkey:
      return "proved by DESTROY_MKEY";
    case Proof::Umr:
      return "proved by UMR";
    case Proof::Unmap:
      return "proved by IOMMU unmap";
    case Proof::Function:
      return "proved by bus master off";
    case Proof::TenantMkey:
      return "proved by DESTROY_MKEY of the tenant";
  }
  return "unknown proof";
}

std::string describe(const Verdict& verdict) {
  std::string text = "outcome=";
  text += name(verdict.outcome);
  text += " failed=" + names(verdict.failed_mask);
  if (verdict.origin != Origin::None) {
    text += " origin=";
    text += name(verdict.origin);
  }
  text += " steering=";
  text += name(verdict.steering);
  text += " memory=";
  text += name(verdict.proof);
  return text;
}

}  // namespace portcullis::lease
