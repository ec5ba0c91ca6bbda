// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/receive_queue.hpp"

#include <utility>

#include "model/transport/engine.hpp"
#include "model/transport/tag_completions.hpp"
#include "model/transport/wqe_error.hpp"
#include "prm/doorbell.hpp"

namespace portcullis::model {
namespace {

/// How many receives are posted and not consumed; nothing when the record cannot be read.
std::optional<std::uint16_t> posted(const Engine& engine, const Qp& qp) {
  if (qp.rq.entries == 0) return std::uint16_t{0};
  const auto record =
      engine.deps.dma->load_be32(qp.doorbell_record + prm::record_byte(prm::kRcvDbr));
  if (!record) return std::nullopt;
  return static_cast<std::uint16_t>(*record - qp.receive.consumed);
}

/// Others take from the queue too, so what was taken stays in hand until a message has used it.
ReceiveFault take_shared(const Engine& engine, Qp& qp, std::uint32_t number) {
  if (qp.receive.taken) return ReceiveFault::None;
  SharedReceives::Taken taken;
  const ReceiveFault fault = engine.deps.shared_receives->take(number, taken);
  if (fault != ReceiveFault::None) return fault;
  qp.receive.taken = taken.index;
  qp.receive.pieces = std::move(taken.pieces);
  return fault;
}

}  // namespace

ReceiveFault read_receive_wqe(const Engine& engine, Qp& qp) {
  if (qp.is_xrc()) {
    // It may be gone since the message began.
    const bool exists = engine.deps.shared_receives->exists(qp.receive.xrc_srqn);
    return exists ? take_shared(engine, qp, qp.receive.xrc_srqn) : ReceiveFault::Unreadable;
  }
  if (qp.shared_receives != 0) return take_shared(engine, qp, qp.shared_receives);
  const auto available = posted(engine, qp);
  if (!available) return ReceiveFault::Unreadable;
  if (*available == 0) return ReceiveFault::Empty;
  return qp.rq.read(*engine.deps.dma, qp.receive.consumed, 0, qp.receive.pieces)
             ? ReceiveFault::None
             : ReceiveFault::Unreadable;
}

std::uint16_t consume_receive(Qp& qp) noexcept {
  if (qp.receive.taken) return *std::exchange(qp.receive.taken, std::nullopt);
  return qp.receive.consumed++;
}

void fail_receive(const Engine& engine, Qp& qp, const WqeError& error) {
  // Nothing was taken where the shared queue itself could not be read.
  if ((qp.shared_receives != 0 || qp.is_xrc()) && !qp.receive.taken) return;
  const ReceiveOwner owner = qp.receive_owner();
  fail_consumed(engine, qp, owner, consume_receive(qp), error);
}

void fail_consumed(const Engine& engine, const Qp& qp, const ReceiveOwner& owner,
                   std::uint16_t index, const WqeError& error) {
  Completion completion;
  completion.opcode = prm::CqeOpcode::RESP_ERR;
  completion.syndrome = error.syndrome;
  completion.vendor_syndrome = error.vendor_syndrome;
  completion.wqe_counter = index;
  completion.qpn = qp.qpn;
  completion.user_index = owner.user_index;
  qp.counters->count_receive_error(error.syndrome);
  // A CQ without room has raised its own error; the QP is, or is going, to ERR already.
  static_cast<void>(
      engine.deps.cqs->complete(owner.cqn, completion, engine.deps.scheduler->now_ns()));
}

std::optional<std::uint16_t> flush_posted(const Engine& engine, Qp& qp) {
  const auto count = posted(engine, qp);
  if (!count) return std::nullopt;
  // More than the queue holds: a record that is no producer index.
  if (*count > qp.rq.entries) return std::uint16_t{0};
  for (std::uint16_t i = 0; i < *count; ++i) fail_receive(engine, qp, wqe_error::kFlush);
  return count;
}

void flush_receives(const Engine& engine, Qp& qp) {
  if (qp.is_xrc() && qp.has_sq) return;  // it receives nothing
  if (qp.shared_receives != 0 || qp.is_xrc()) {
    fail_receive(engine, qp, wqe_error::kFlush);
    if (qp.tagged != nullptr) cancel_message(engine, qp);
    // IB_EVENT_QP_LAST_WQE_REACHED: this QP takes no more, whatever is left for the others.
    return engine.raise(prm::EventType::SRQ_LAST_WQE, qp);
  }
  static_cast<void>(flush_posted(engine, qp));
}

}  // namespace portcullis::model
