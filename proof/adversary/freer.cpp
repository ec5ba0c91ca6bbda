// SPDX-License-Identifier: BSD-3-Clause
#include "proof/adversary/freer.hpp"

namespace portcullis::proof::adversary {

Result<void> ProofFreer::free_key(prm::Rkey key, std::uint64_t deadline_ns) {
  deceit_->on_key_step();
  auto answered = answer(key, deadline_ns);
  if (answered) deceit_->on_key_gone();
  return answered;
}

Result<void> ProofFreer::answer(prm::Rkey key, std::uint64_t deadline_ns) {
  if (deceit_->lies(Mutant::NoMkeyStep)) return {};
  if (deceit_->lies(Mutant::OutcomeBeforeOwnership)) {
    PORTCULLIS_TRY(queue_->submit_free(key));
    return {};
  }
  auto freed = queue_->free_key(key, deadline_ns);
  if (deceit_->lies(Mutant::DeliveryIgnored)) return {};
  if (!freed && deceit_->lies(Mutant::TimeoutIsSuccess) && freed.error().code == Errc::Timeout)
    return {};
  return freed;
}

}  // namespace portcullis::proof::adversary
