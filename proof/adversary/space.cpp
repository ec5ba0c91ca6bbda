// SPDX-License-Identifier: BSD-3-Clause
#include "proof/adversary/space.hpp"

namespace portcullis::proof::adversary {

std::optional<Result<void>> ProofSpace::told_instead() {
  if (!deceit_->is_on) return std::nullopt;
  if (deceit_->refuses_unmap) {
    ++deceit_->unmaps_refused;
    return fail(Errc::System, "the unmap was made to fail");
  }
  if (deceit_->lies(Mutant::RungThreeLeftOut)) return fail(Errc::System, "the unmap was left out");
  if (deceit_->lies(Mutant::UnmapNotDone)) return Result<void>{};
  return std::nullopt;
}

Result<void> ProofSpace::unmap(Iova iova, std::size_t bytes) {
  if (auto told = told_instead()) return *std::move(told);
  return space_->unmap(iova, bytes);
}

Result<void> ProofSpace::retire(Iova iova, std::size_t bytes) {
  if (auto told = told_instead()) return *std::move(told);
  return space_->retire(iova, bytes);
}

}  // namespace portcullis::proof::adversary
