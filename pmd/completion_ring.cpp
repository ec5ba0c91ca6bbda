// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/completion_ring.hpp"

#include <algorithm>
#include <utility>

#include "prm/enums.hpp"

namespace portcullis::pmd {
namespace {

bool is_request(prm::CqeOpcode opcode) noexcept {
  return opcode == prm::CqeOpcode::REQ || opcode == prm::CqeOpcode::REQ_ERR;
}

bool is_receive(prm::CqeOpcode opcode) noexcept {
  return opcode == prm::CqeOpcode::RESP_SEND || opcode == prm::CqeOpcode::RESP_SEND_IMM ||
         opcode == prm::CqeOpcode::RESP_SEND_INV || opcode == prm::CqeOpcode::RESP_WR_IMM ||
         opcode == prm::CqeOpcode::RESP_ERR;
}

/// What verbs calls a request that succeeded (handle_good_req of rdma-core).
std::optional<prm::WcOpcode> wc_opcode(prm::WqeOpcode opcode) noexcept {
  switch (opcode) {
    case prm::WqeOpcode::RDMA_WRITE:
    case prm::WqeOpcode::RDMA_WRITE_IMM:
      return prm::WcOpcode::RDMA_WRITE;
    case prm::WqeOpcode::SEND:
    case prm::WqeOpcode::SEND_IMM:
    case prm::WqeOpcode::SEND_INVAL:
      return prm::WcOpcode::SEND;
    case prm::WqeOpcode::RDMA_READ:
      return prm::WcOpcode::RDMA_READ;
    case prm::WqeOpcode::ATOMIC_CS:
      return prm::WcOpcode::COMP_SWAP;
    case prm::WqeOpcode::ATOMIC_FA:
      return prm::WcOpcode::FETCH_ADD;
    case prm::WqeOpcode::UMR:
      return prm::WcOpcode::DRIVER1;
    default:
      return std::nullopt;
  }
}

/// What came back: a READ's bytes as the device counts them, an atomic's 8, else none (the same).
std::uint32_t byte_count(prm::WqeOpcode opcode, std::uint32_t byte_cnt) noexcept {
  constexpr std::uint32_t kAtomicBytes = 8;
  if (opcode == prm::WqeOpcode::RDMA_READ) return byte_cnt;
  const bool is_atomic = opcode == prm::WqeOpcode::ATOMIC_CS || opcode == prm::WqeOpcode::ATOMIC_FA;
  return is_atomic ? kAtomicBytes : 0;
}

}  // namespace

CompletionRing::CompletionRing(const Device& device, DmaBuffer ring, DmaBuffer record,
                               std::span<std::byte> uar_page, std::uint32_t log_size)
    : next_(ring.data()),
      end_(ring.data() + (prm::kCqeBytes << log_size)),
      record_(record.data() + prm::record_byte(prm::kCqSetCi)),
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

const CompletionRing::Owner* CompletionRing::find(prm::QpNumber qpn) const noexcept {
  const auto at =
      std::lower_bound(owners_.begin(), owners_.end(), qpn,
                       [](const Owner& owner, prm::QpNumber wanted) { return owner.qpn < wanted; });
  return at != owners_.end() && at->qpn == qpn ? &*at : nullptr;
}

Result<void> CompletionRing::check_room(const WorkQueues& queues) const {
  const std::uint32_t left = size() - attached_completions_;
  if (queues.completions() <= left) return {};
  return fail(Errc::OutOfResources,
              "completion queue " + std::to_string(cqn_) + " of " + std::to_string(size()) +
                  " entries has " + std::to_string(left) + " left; queues of " +
                  std::to_string(queues.completions()) + " WQEs need one for each");
}

Result<void> CompletionRing::attach(WorkQueues& queues) {
  PORTCULLIS_TRY(check_room(queues));
  const prm::QpNumber qpn = queues.send().qpn();
  const auto at =
      std::lower_bound(owners_.begin(), owners_.end(), qpn,
                       [](const Owner& owner, prm::QpNumber wanted) { return owner.qpn < wanted; });
  if (at != owners_.end() && at->qpn == qpn)
    return fail(Errc::DeviceFailed,
                "the device gave out qpn " + std::to_string(prm::number(qpn)) + " twice");
  owners_.insert(at, Owner{qpn, &queues, queues.completions()});
  attached_completions_ += queues.completions();
  return {};
}

// The consumer goes past what it drops, and what it keeps moves up to stay in order, so the sweep
// runs backwards; an entry takes on the owner bit of the place it moves to.
void CompletionRing::clean(prm::QpNumber qpn) noexcept {
  if (is_broken()) return;
  std::uint32_t end = consumer_index_;
  while (end - consumer_index_ < size() && is_ready(end)) ++end;
  std::uint32_t dropped = 0;
  for (std::uint32_t index = end; index != consumer_index_;) {
    const std::byte* from = entry(--index);
    const Cqe cqe = view(from);
    if (prm::cqe_qpn(cqe.get<"sop_drop_qpn">()) == prm::number(qpn)) {
      ++dropped;
    } else if (dropped != 0) {
      std::byte* to = entry(index + dropped);
      const auto op_own = static_cast<std::uint8_t>(cqe.get<"op_own">());
      const std::uint8_t owner = prm::owner_bit(index + dropped, log_size_) ? 1 : 0;
      const auto moved = static_cast<std::uint8_t>((op_own & ~1u) | owner);
      std::memcpy(to, from, kOpOwnByte);
      cells::store_release<std::uint8_t>(to + kOpOwnByte, moved);
    }
  }
  while (dropped-- != 0) advance(next_);
}

void CompletionRing::detach(const WorkQueues& queues) noexcept {
  const Owner* owner = find(queues.send().qpn());
  if (owner == nullptr || owner->queues != &queues) return;
  clean(owner->qpn);
  attached_completions_ -= owner->completions;
  owners_.erase(owners_.begin() + (owner - owners_.data()));
  forget_last();
}

void CompletionRing::disown(const WorkQueues& queues) noexcept {
  const Owner* owner = find(queues.send().qpn());
  if (owner == nullptr || owner->queues != &queues) return;
  owners_[static_cast<std::size_t>(owner - owners_.data())].queues = nullptr;
  forget_last();
}

void CompletionRing::forget_last() noexcept {
  last_queue_ = nullptr;
  success_ = kNever;
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
  const std::uint32_t op_own = cqe.get<"op_own">();
  const prm::QpNumber qpn{prm::cqe_qpn(cqe.get<"sop_drop_qpn">())};
  const Owner* owner = find(qpn);
  if (owner == nullptr)
    return break_with("qpn " + std::to_string(prm::number(qpn)) + ", which does not complete here");
  if (owner->queues == nullptr) {
    advance(next_);
    return std::nullopt;
  }
  if (prm::cqe_format(op_own) != 0)
    return break_with("format " + std::to_string(prm::cqe_format(op_own)) +
                      "; neither data in entries nor compressed entries were asked for");
  WorkQueues& queues = *owner->queues;
  auto completion = is_request(prm::cqe_opcode(op_own))
                        ? decode_request(cqe, queues.send())
                        : decode_receive(cqe, qpn, queues.receive());
  if (!completion) return forward_error(std::move(completion));
  completion->qpn = qpn;
  advance(next_);
  return *completion;
}

Result<Completion> CompletionRing::decode_request(Cqe cqe, SendQueue& queue) {
  if (queue.size_blocks() == 0)
    return break_with("a request of qpn " + std::to_string(prm::number(queue.qpn())) +
                      ", which has no send queue");
  Completion completion;
  completion.wqe_counter = static_cast<std::uint16_t>(cqe.get<"wqe_counter">());
  if (prm::cqe_is_error(cqe.get<"op_own">())) {
    PORTCULLIS_TRY(decode_error(cqe, completion));
  } else {
    const prm::WqeOpcode opcode{prm::cqe_wqe_opcode(cqe.get<"sop_drop_qpn">())};
    const auto told = wc_opcode(opcode);
    if (!told)
      return break_with("a request of opcode " + std::to_string(prm::number(opcode)) +
                        ", which nobody posts here");
    completion.opcode = *told;
    completion.byte_count = byte_count(opcode, cqe.get<"byte_cnt">());
  }
  const std::uint64_t* wr_id = queue.complete(completion.wqe_counter);
  if (wr_id == nullptr)
    return break_with("WQE " + std::to_string(completion.wqe_counter) + " of qpn " +
                      std::to_string(prm::number(queue.qpn())) + ", which is not outstanding");
  completion.wr_id = *wr_id;
  last_queue_ = &queue;
  last_write_ = prm::opcode_qpn(prm::number(prm::WqeOpcode::RDMA_WRITE), prm::number(queue.qpn()));
  success_ = prm::op_own(prm::CqeOpcode::REQ, prm::owner_bit(consumer_index_, log_size_));
  return completion;
}

// The opcodes and flags of handle_responder (rdma-core, mlx5/cq.c).
Result<Completion> CompletionRing::decode_receive(Cqe cqe, prm::QpNumber qpn, ReceiveQueue* queue) {
  const std::uint32_t op_own = cqe.get<"op_own">();
  const prm::CqeOpcode opcode = prm::cqe_opcode(op_own);
  const bool is_write = opcode == prm::CqeOpcode::RESP_WR_IMM;
  if (!is_receive(opcode))
    return break_with("opcode " + std::to_string(prm::number(opcode)) +
                      ", which no RC QP completes with");
  if (queue == nullptr)
    return break_with("opcode " + std::to_string(prm::number(opcode)) + " for qpn " +
                      std::to_string(prm::number(qpn)) + ", which has no receive queue");
  Completion completion;
  completion.wqe_counter = static_cast<std::uint16_t>(cqe.get<"wqe_counter">());
  const ReceiveQueue::Posted* posted = queue->complete(completion.wqe_counter);
  if (posted == nullptr)
    return break_with("receive WQE " + std::to_string(completion.wqe_counter) + " of qpn " +
                      std::to_string(prm::number(qpn)) + ", which is not the oldest outstanding");
  completion.wr_id = posted->wr_id;
  completion.opcode = is_write ? prm::WcOpcode::RECV_RDMA_WITH_IMM : prm::WcOpcode::RECV;
  if (prm::cqe_is_error(op_own)) {
    PORTCULLIS_TRY(decode_error(cqe, completion));
    return completion;
  }
  completion.byte_count = cqe.get<"byte_cnt">();
  completion.has_immediate = is_write || opcode == prm::CqeOpcode::RESP_SEND_IMM;
  completion.has_invalidated = opcode == prm::CqeOpcode::RESP_SEND_INV;
  if (completion.has_immediate || completion.has_invalidated)
    completion.immediate = cqe.get<"imm_inval_pkey">();
  // The bytes of an RDMA WRITE are not in the receive's pieces; those of a SEND must fit there.
  if (!is_write && completion.byte_count > posted->bytes)
    return break_with(std::to_string(completion.byte_count) + " bytes received into " +
                      std::to_string(posted->bytes));
  return completion;
}

/// A syndrome without a name is an error of its request as any other, and the QP's end alone: what
/// mlx5_handle_error_cqe of rdma-core and of Linux make of it. Without one it is no error at all.
Result<void> CompletionRing::decode_error(Cqe cqe, Completion& completion) {
  const auto error = prm::ConstView<prm::mlx5_err_cqe>(cqe.all());
  completion.syndrome = static_cast<std::uint8_t>(error.get<"syndrome">());
  completion.vendor_syndrome = static_cast<std::uint8_t>(error.get<"vendor_err_synd">());
  if (completion.syndrome == 0) return break_with("an error with syndrome 0, which is none");
  completion.status = prm::wc_status(prm::CqeSyndrome{completion.syndrome});
  return {};
}

}  // namespace portcullis::pmd
