// SPDX-License-Identifier: BSD-3-Clause
//
// FETCH_ADD and CMP_SWAP of the responder: carried out once, and what a duplicate gets is what was
// kept of the first time. rxe_resp.c and rxe_mr.c of drivers/infiniband/sw/rxe: atomic_reply,
// rxe_mr_do_atomic_op, duplicate_request. The word in memory is in the host's order there, as
// software on the same host reads it.
#include <array>
#include <bit>

#include "model/transport/responder.hpp"

namespace portcullis::model {
namespace {

constexpr std::uint32_t kAtomicBytes = 8;

}  // namespace

Refusal Responder::admit_atomic(Qp& qp, const Packet& packet) {
  if (!qp.rae) return Refusal::InvalidRequest;
  const KeyUse use{packet.rkey, qp.receive.pd, qp.qpn, packet.va, kAtomicBytes, access::kAtomic};
  if (engine_->deps.mkeys->check(use) != KeyCheck::Ok) return Refusal::RemoteAccess;
  if (packet.va % kAtomicBytes != 0) return Refusal::InvalidRequest;  // ERR_MISALIGNED_ATOMIC
  const Extents where = engine_->deps.mkeys->translate(packet.rkey, packet.va, kAtomicBytes);
  if (where.count != 1) return Refusal::RemoteAccess;
  work_.operation = Operation::Atomic;
  work_.placements.push_back({packet.rkey, where});
  work_.opcode = packet.operation();
  work_.va = packet.va;
  work_.swap_add = packet.swap_add;
  work_.compare = packet.compare;
  return Refusal::None;
}

void Responder::advance_atomic(Qp& qp, const Packet& packet) {
  ReceiveState& receive = qp.receive;
  ResponderResource resource;
  resource.operation = Operation::Atomic;
  resource.first_psn = packet.psn;
  resource.packets = 1;
  remember(qp, resource);
  receive.acked_psn = packet.psn;
  receive.expected_psn = psn_add(packet.psn, 1);
  receive.msn = psn_add(receive.msn, 1);
  answer(qp, syndrome::kAckUnlimited, packet.psn);
}

void Responder::repeat_atomic(Qp& qp, const Packet& packet) {
  const ResponderResource* const known = find_resource(qp, packet.psn);
  if (known == nullptr || known->operation != Operation::Atomic) {
    ++engine_->deps.counters->frames_dropped;
    return;
  }
  work_.operation = Operation::Atomic;
  work_.replayed = true;
  answer(qp, syndrome::kAckUnlimited, packet.psn);
}

/// The first of its kind is carried out; a repetition gets the answer that the first one got, which
/// came before because a lane keeps the order.
void Responder::carry_out_atomic(Qp* qp, Work& work) const {
  ResponderResource* const known = qp != nullptr ? find_resource(*qp, work.psn) : nullptr;
  if (work.replayed) {
    work.answers = known != nullptr;
    if (known != nullptr) work.original = known->original;
    return;
  }
  std::array<std::byte, kAtomicBytes> word;
  const Extents& where = work.placements.front().where;
  if (!engine_->deps.dma->read_payload(where, word.data())) {
    work.refusal = Refusal::Unreachable;
    return;
  }
  work.original = std::bit_cast<std::uint64_t>(word);
  const bool is_swap = work.opcode == BthOpcode::CompareSwap;
  if (known != nullptr) known->original = work.original;
  if (is_swap && work.original != work.compare) return;
  word = std::bit_cast<std::array<std::byte, kAtomicBytes>>(
      is_swap ? work.swap_add : work.original + work.swap_add);
  static_cast<void>(engine_->deps.dma->write_payload(where, word.data()));
}

}  // namespace portcullis::model
