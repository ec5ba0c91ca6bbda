// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/completion_ring.hpp"

#include <algorithm>
#include <utility>

#include "prm/enums.hpp"

namespace portcullis::pmd {

CompletionRing::CompletionRing(const Device& device, DmaBuffer ring, DmaBuffer record,
                               std::span<std::byte> uar_page, std::uint32_t log_size)
    : next_(ring.data()),
      end_(ring.data() + (prm::kCqeBytes << log_size)),
      record_(record.data() + prm::record_byte(prm::kCqSetCi)),
      success_(prm::op_own(prm::CqeOpcode::REQ, false)),
      log_size_(static_cast<std::uint8_t>(log_size)),
      mask_((std::uint32_t{1} << log_size) - 1),
      ring_(ring.data()),
      doorbell_(uar_page.subspan(prm::kCqDoorbell, sizeof(std::uint64_t)).data()),
      device_(&device),
      ring_memory_(std::move(ring)),
      record_memory_(std::move(record)) {
  for (std::uint32_t i = 0; i < size(); ++i)
    cells::store_release<std::uint8_t>(entry(i) + kOpOwnByte, prm::kCqeNeverWritten);
}

void CompletionRing::arm(bool solicited_only) noexcept {
  const std::uint32_t value = prm::cq_arm_record(
      arm_sn_, solicited_only ? prm::kCqDbReqNotSol : prm::kCqDbReqNot, consumer_index_);
  std::byte* arm = record_memory_.data() + prm::record_byte(prm::kCqArmDb);
  cells::store_release<std::uint32_t>(arm, cells::be32(value));
  cells::ring<std::uint64_t>(doorbell_, cells::be64(prm::cq_doorbell(value, cqn_)));
}

const CompletionRing::Owner* CompletionRing::find(std::uint32_t qpn) const noexcept {
  const auto at =
      std::lower_bound(owners_.begin(), owners_.end(), qpn,
                       [](const Owner& owner, std::uint32_t wanted) { return owner.qpn < wanted; });
  return at != owners_.end() && at->qpn == qpn ? &*at : nullptr;
}

Result<void> CompletionRing::check_room(const SendQueue& queue) const {
  const std::uint32_t blocks = queue.size_blocks();
  if (blocks <= size() - attached_blocks_) return {};
  return fail(Errc::OutOfResources, "completion queue " + std::to_string(cqn_) + " of " +
                                        std::to_string(size()) + " entries has " +
                                        std::to_string(size() - attached_blocks_) +
                                        " left; a send queue of " + std::to_string(blocks) +
                                        " blocks needs one for each");
}

Result<void> CompletionRing::attach(SendQueue& queue) {
  PORTCULLIS_TRY(check_room(queue));
  const auto at =
      std::lower_bound(owners_.begin(), owners_.end(), queue.qpn(),
                       [](const Owner& owner, std::uint32_t wanted) { return owner.qpn < wanted; });
  if (at != owners_.end() && at->qpn == queue.qpn())
    return fail(Errc::DeviceFailed,
                "the device gave out qpn " + std::to_string(queue.qpn()) + " twice");
  owners_.insert(at, Owner{queue.qpn(), &queue, queue.size_blocks()});
  attached_blocks_ += queue.size_blocks();
  return {};
}

// The consumer goes past what it drops, and what it keeps moves up to stay in order, so the sweep
// runs backwards; an entry takes on the owner bit of the place it moves to.
void CompletionRing::clean(std::uint32_t qpn) noexcept {
  if (is_broken()) return;
  std::uint32_t end = consumer_index_;
  while (end - consumer_index_ < size() && is_ready(end)) ++end;
  std::uint32_t dropped = 0;
  for (std::uint32_t index = end; index != consumer_index_;) {
    const std::byte* from = entry(--index);
    const Cqe cqe = view(from);
    if (prm::cqe_qpn(cqe.get<"sop_drop_qpn">()) == qpn) {
      ++dropped;
    } else if (dropped != 0) {
      std::byte* to = entry(index + dropped);
      const auto moved = prm::op_own(prm::cqe_opcode(cqe.get<"op_own">()),
                                     prm::owner_bit(index + dropped, log_size_));
      std::memcpy(to, from, kOpOwnByte);
      cells::store_release<std::uint8_t>(to + kOpOwnByte, moved);
    }
  }
  while (dropped-- != 0) advance(next_);
}

void CompletionRing::detach(const SendQueue& queue) noexcept {
  const Owner* owner = find(queue.qpn());
  if (owner == nullptr || owner->queue != &queue) return;
  clean(queue.qpn());
  attached_blocks_ -= owner->blocks;
  owners_.erase(owners_.begin() + (owner - owners_.data()));
  forget_last();
}

void CompletionRing::disown(const SendQueue& queue) noexcept {
  const Owner* owner = find(queue.qpn());
  if (owner == nullptr || owner->queue != &queue) return;
  owners_[static_cast<std::size_t>(owner - owners_.data())].queue = nullptr;
  forget_last();
}

void CompletionRing::forget_last() noexcept {
  last_queue_ = nullptr;
  last_write_ = kNone;
}

void CompletionRing::quarantine() noexcept {
  ring_memory_.quarantine();
  record_memory_.quarantine();
}

tl::unexpected<Error> CompletionRing::break_with(std::string what) {
  success_ = kNever;
  broken_ = Error{Errc::Malformed,
                  "completion queue " + std::to_string(cqn_) + ", entry " +
                      std::to_string(consumer_index_) + ": " + std::move(what),
                  std::nullopt};
  return tl::unexpected<Error>(*broken_);
}

Result<std::optional<Completion>> CompletionRing::poll_slow(std::optional<std::uint64_t> until_ns) {
  if (broken_) return tl::unexpected<Error>(*broken_);
  // A disowned QP's entries are passed over; there are at most as many as the ring holds.
  for (std::uint32_t looked = 0; looked < size() && is_ready(consumer_index_); ++looked) {
    auto completion = decode();
    if (!completion || completion->has_value()) return completion;
  }
  device_->relax(until_ns ? *until_ns : device_->clock.now_ns());
  return std::nullopt;
}

/// The ready entry at the consumer index; none when it is a disowned QP's.
Result<std::optional<Completion>> CompletionRing::decode() {
  const Cqe cqe = view(entry(consumer_index_));
  const prm::CqeOpcode opcode = prm::cqe_opcode(cqe.get<"op_own">());
  if (opcode != prm::CqeOpcode::REQ && opcode != prm::CqeOpcode::REQ_ERR)
    return break_with("opcode " + std::to_string(prm::number(opcode)) +
                      "; QPs without a receive queue complete with REQ (0) or REQ_ERR (13)");

  const std::uint32_t qpn = prm::cqe_qpn(cqe.get<"sop_drop_qpn">());
  const Owner* owner = find(qpn);
  if (owner == nullptr)
    return break_with("qpn " + std::to_string(qpn) + ", which does not complete here");
  if (owner->queue == nullptr) {
    advance(next_);
    return std::nullopt;
  }

  Completion completion;
  completion.qpn = qpn;
  completion.wqe_counter = static_cast<std::uint16_t>(cqe.get<"wqe_counter">());
  if (opcode != prm::CqeOpcode::REQ) {
    const auto error = prm::ConstView<prm::mlx5_err_cqe>(cqe.all());
    completion.syndrome = static_cast<std::uint8_t>(error.get<"syndrome">());
    completion.vendor_syndrome = static_cast<std::uint8_t>(error.get<"vendor_err_synd">());
    completion.status = prm::wc_status(prm::CqeSyndrome{completion.syndrome});
    if (completion.status == prm::WcStatus::GENERAL_ERR)
      return break_with("an error with unknown syndrome " + std::to_string(completion.syndrome));
  }
  const std::uint64_t* wr_id = owner->queue->complete(completion.wqe_counter);
  if (wr_id == nullptr)
    return break_with("WQE " + std::to_string(completion.wqe_counter) + " of qpn " +
                      std::to_string(qpn) + ", which is not outstanding");
  completion.wr_id = *wr_id;
  last_queue_ = owner->queue;
  last_write_ = prm::opcode_qpn(prm::number(prm::WqeOpcode::RDMA_WRITE), qpn);
  advance(next_);
  return completion;
}

}  // namespace portcullis::pmd
