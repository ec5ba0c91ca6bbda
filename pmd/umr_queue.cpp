// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/umr_queue.hpp"

#include <string>
#include <utility>

namespace portcullis::pmd {
namespace {

constexpr std::uint32_t kLogBlocksEach = 1;  // a UMR without translations is two basic blocks

}  // namespace

Result<UmrQueue> UmrQueue::create(const Context& context, std::uint32_t log_changes) {
  const std::uint32_t log_blocks = log_changes + kLogBlocksEach;
  PORTCULLIS_TRY_ASSIGN(auto pd, ProtectionDomain::create(context));
  PORTCULLIS_TRY_ASSIGN(auto cq, CompletionQueue::create(context, log_blocks));
  QueuePairOptions options;
  options.log_sq_size = log_blocks;
  options.service = prm::QpServiceType::REG_UMR;
  PORTCULLIS_TRY_ASSIGN(auto qp, QueuePair::create(context, pd, cq, options));
  PORTCULLIS_TRY(qp.to_rts_without_peer());
  return UmrQueue(context, std::move(pd), std::move(cq), std::move(qp), 1u << log_changes);
}

Result<UmrQueue::Ticket> UmrQueue::submit_free(prm::Rkey key) {
  return submit({.change = KeyRequest::Change::FREE, .key = key, .pdn = pdn()});
}

Result<UmrQueue::Ticket> UmrQueue::submit_invalidate(prm::Rkey key) {
  return submit({.change = KeyRequest::Change::LOCAL_INVALIDATE, .key = key});
}

// get_umr_update_access_mask and umr_check_mkey_mask of mlx5_ib: without atomics their right is
// left out of the change, and where it cannot be changed nothing is.
Result<UmrQueue::Ticket> UmrQueue::submit_access(prm::Rkey key, prm::PdNumber pdn, Access access) {
  const Capabilities& caps = context_->caps;
  if (caps.atomic != 0 && caps.umr_modify_atomic_disabled != 0)
    return fail(Errc::Unsupported,
                "this function cannot change a key's right to atomics by UMR "
                "(umr_modify_atomic_disabled)");
  if (caps.atomic == 0 && access.remote_atomic)
    return fail(Errc::Unsupported, "a key with remote atomics; this function has none");
  return submit({.change = KeyRequest::Change::ACCESS,
                 .key = key,
                 .pdn = pdn,
                 .access = access,
                 .changes_atomic = caps.atomic != 0});
}

Result<UmrQueue::Ticket> UmrQueue::submit(KeyRequest request) {
  const auto is_full = [this] { return submitted_ - completed_ == outcomes_.size(); };
  if (is_full()) {
    PORTCULLIS_TRY(look(context_->device.clock.now_ns()));
  }
  if (in_error_)
    return fail(Errc::DeviceFailed, "a UMR failed: qpn " + std::to_string(prm::number(qpn())) +
                                        " takes no more until it is recovered");
  if (is_full())
    return fail(Errc::Busy, "all " + std::to_string(outcomes_.size()) + " UMRs are in flight");
  request.wr_id = submitted_;
  PORTCULLIS_TRY(qp_.post(request));
  qp_.ring();
  return Ticket{submitted_++};
}

/// Takes every completion there is; an empty queue relaxes once, to `until_ns`.
Result<void> UmrQueue::look(std::uint64_t until_ns) {
  while (completed_ != submitted_) {
    PORTCULLIS_TRY_ASSIGN(const auto completion, cq_.poll(until_ns));
    if (!completion) return {};
    if (completion->wr_id != completed_)
      return fail(Errc::Malformed, "UMR " + std::to_string(completion->wr_id) +
                                       " completed where " + std::to_string(completed_) +
                                       " was next");
    outcomes_[completed_ % outcomes_.size()] = *completion;
    ++completed_;
    if (!completion->ok()) in_error_ = true;
  }
  return {};
}

bool UmrQueue::is_done(Ticket ticket) {
  return !look(context_->device.clock.now_ns()) || ticket.number < completed_;
}

Result<void> UmrQueue::outcome_of(Ticket ticket) const {
  if (ticket.number + outcomes_.size() < completed_)
    return fail(Errc::InvalidArgument,
                "UMR " + std::to_string(ticket.number) + " was awaited too late");
  const Completion& outcome = outcomes_[ticket.number % outcomes_.size()];
  if (outcome.ok()) return {};
  return fail(Errc::DeviceFailed, "UMR: " + describe(outcome));
}

Result<void> UmrQueue::await(Ticket ticket, std::uint64_t until_ns) {
  if (ticket.number >= submitted_)
    return fail(Errc::InvalidArgument,
                "UMR " + std::to_string(ticket.number) + " was never submitted");
  // Looking at an empty queue relaxes, so nothing else here may: it would wait for the next event
  // before the completion that just came is seen. Once more after the deadline, as wait_until does.
  while (ticket.number >= completed_) {
    const bool is_late = context_->device.clock.now_ns() >= until_ns;
    PORTCULLIS_TRY(look(until_ns));
    if (is_late && ticket.number >= completed_)
      return fail(Errc::Timeout, "no completion of UMR " + std::to_string(ticket.number) +
                                     " on qpn " + std::to_string(prm::number(qpn())));
  }
  return outcome_of(ticket);
}

Result<void> UmrQueue::free_key(prm::Rkey key, std::uint64_t until_ns) {
  PORTCULLIS_TRY_ASSIGN(const Ticket ticket, submit_free(key));
  return await(ticket, until_ns);
}

Result<void> UmrQueue::invalidate_key(prm::Rkey key, std::uint64_t until_ns) {
  PORTCULLIS_TRY_ASSIGN(const Ticket ticket, submit_invalidate(key));
  return await(ticket, until_ns);
}

Result<void> UmrQueue::change_access(prm::Rkey key, prm::PdNumber pdn, Access access,
                                     std::uint64_t until_ns) {
  PORTCULLIS_TRY_ASSIGN(const Ticket ticket, submit_access(key, pdn, access));
  return await(ticket, until_ns);
}

Result<void> UmrQueue::recover() {
  // What was in flight and has no outcome yet ends as flushed: RESET forgets it.
  PORTCULLIS_TRY(look(context_->device.clock.now_ns()));
  PORTCULLIS_TRY(qp_.to_reset());
  Completion flushed;
  flushed.status = prm::WcStatus::WR_FLUSH_ERR;
  flushed.qpn = qpn();
  for (; completed_ != submitted_; ++completed_) outcomes_[completed_ % outcomes_.size()] = flushed;
  PORTCULLIS_TRY(qp_.to_rts_without_peer());
  in_error_ = false;
  return {};
}

}  // namespace portcullis::pmd
