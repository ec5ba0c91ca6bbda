// SPDX-License-Identifier: BSD-3-Clause
#include "lease/fence_step.hpp"

#include "lease/step_table.hpp"

namespace portcullis::lease {

std::string_view name(Step step) noexcept {
  return step < Step::End ? row(step).name : "unknown step";
}

std::string names(StepMask mask) {
  std::string text;
  for (const StepRow& row : step_rows()) {
    if ((mask & bit(row.step)) == 0) continue;
    if (!text.empty()) text += '|';
    text += row.name;
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
