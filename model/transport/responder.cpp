// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/responder.hpp"

#include <algorithm>

#include "model/transport/wqe_error.hpp"

namespace portcullis::model {
namespace {

// rxe_resp_check_length: C9-94 of the InfiniBand specification
constexpr std::uint32_t kMaxDmaLength = std::uint32_t{1} << 31;

bool is_served(std::uint8_t opcode) noexcept {
  switch (BthOpcode{opcode}) {
    case BthOpcode::WriteFirst:
    case BthOpcode::WriteMiddle:
    case BthOpcode::WriteLast:
    case BthOpcode::WriteOnly:
    case BthOpcode::SendFirst:
    case BthOpcode::SendMiddle:
    case BthOpcode::SendLast:
    case BthOpcode::SendLastImmediate:
    case BthOpcode::SendOnly:
    case BthOpcode::SendOnlyImmediate:
      return true;
    default:
      return false;
  }
}

/// `remaining` bytes of the message are still to come, this packet's included.
bool length_is_right(const Packet& packet, std::uint32_t remaining, std::uint32_t mtu) noexcept {
  const std::size_t bytes = packet.payload.size();
  if (!packet.info().end) return bytes == mtu && remaining > mtu;
  return bytes == remaining && bytes <= mtu && (packet.info().start || bytes > 0);
}

bool is_send(const Packet& packet) noexcept { return packet.info().operation == Operation::Send; }

}  // namespace

void Responder::handle(Qp& qp, const Packet& packet) {
  ReceiveState& receive = qp.receive;
  if (qp.state != prm::QpState::RTR && qp.state != prm::QpState::RTS) {
    ++engine_->deps.counters->frames_dropped;
    return;
  }
  const std::int32_t distance = psn_distance(packet.psn, receive.expected_psn);
  if (distance < 0) return duplicate(qp, packet);
  if (distance > 0) return out_of_sequence(qp);
  receive.nak_sent = false;

  PendingWrite pending;
  if (const Refusal refusal = admit(qp, packet, pending); refusal != Refusal::None)
    return refuse(qp, packet, refusal);
  if (is_send(packet)) {
    static_cast<void>(scatter(qp, packet.payload, true));
  } else {
    write(pending);
  }
  finish(qp, packet);
}

Responder::Refusal Responder::admit(Qp& qp, const Packet& packet, PendingWrite& write) const {
  ReceiveState& receive = qp.receive;
  if (packet.info().start == receive.in_message || !is_served(packet.opcode))
    return Refusal::InvalidRequest;
  if (!packet.info().start && packet.info().operation != receive.operation)
    return Refusal::InvalidRequest;
  if (is_send(packet)) return admit_send(qp, packet);
  if (!qp.rwe) return Refusal::InvalidRequest;
  if (packet.info().has_reth) {
    if (packet.dma_length > kMaxDmaLength) return Refusal::InvalidRequest;
    receive.va = packet.va;
    receive.rkey = packet.rkey;
    receive.remaining = packet.dma_length;
  }
  if (!length_is_right(packet, receive.remaining, qp.mtu_bytes)) return Refusal::InvalidRequest;
  write.payload = packet.payload;
  // C9-88: of a WRITE of no bytes neither address nor key is looked at.
  if (receive.remaining == 0) return Refusal::None;
  const KeyUse use{receive.rkey,        qp.pd, qp.qpn, receive.va, receive.remaining,
                   access::kRemoteWrite};
  if (engine_->deps.mkeys->check(use) != KeyCheck::Ok) return Refusal::RemoteAccess;
  const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
  write.to = engine_->deps.mkeys->translate(receive.rkey, receive.va, bytes);
  return write.to.count == 0 ? Refusal::RemoteAccess : Refusal::None;
}

Responder::Refusal Responder::admit_send(Qp& qp, const Packet& packet) const {
  const std::size_t bytes = packet.payload.size();
  const bool length_is_right = packet.info().end
                                   ? bytes <= qp.mtu_bytes && (packet.info().start || bytes > 0)
                                   : bytes == qp.mtu_bytes;
  if (!length_is_right) return Refusal::InvalidRequest;
  if (packet.info().start) {
    qp.receive.received = 0;
    const ReceiveFault fault = read_receive_wqe(*engine_, qp);
    if (fault == ReceiveFault::Empty) return Refusal::NotReady;
    if (fault == ReceiveFault::Unreadable) return Refusal::Protection;
  }
  std::uint64_t room = 0;
  for (const ReceivePiece& piece : qp.receive.pieces) room += piece.bytes;
  if (qp.receive.received + bytes > room) return Refusal::TooLong;
  return scatter(qp, packet.payload, false) ? Refusal::None : Refusal::Protection;
}

bool Responder::scatter(const Qp& qp, std::span<const std::byte> payload, bool write) const {
  const MkeyTable& mkeys = *engine_->deps.mkeys;
  std::uint64_t skip = qp.receive.received;
  for (const ReceivePiece& piece : qp.receive.pieces) {
    if (payload.empty()) break;
    if (skip >= piece.bytes) {
      skip -= piece.bytes;
      continue;
    }
    const std::uint64_t va = piece.va + skip;
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(piece.bytes - skip, payload.size()));
    const KeyUse use{piece.lkey, qp.pd, qp.qpn, va, bytes, access::kLocalWrite, qp.rlky};
    if (!write && mkeys.check(use) != KeyCheck::Ok) return false;
    const Extents extents = mkeys.translate(piece.lkey, va, bytes);
    if (extents.count == 0) return false;
    // A PCIe write is posted, as in write().
    if (write) static_cast<void>(engine_->deps.dma->write_payload(extents, payload.data()));
    payload = payload.subspan(bytes);
    skip = 0;
  }
  return true;
}

/// A PCIe write is posted: the device does not learn that an IOMMU refused it, so the packet is
/// acknowledged all the same. Dma has counted the fault.
void Responder::write(const PendingWrite& write) const {
  if (write.payload.empty()) return;
  static_cast<void>(engine_->deps.dma->write_payload(write.to, write.payload.data()));
}

void Responder::finish(Qp& qp, const Packet& packet) const {
  ReceiveState& receive = qp.receive;
  const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
  if (is_send(packet)) {
    receive.received += bytes;
  } else {
    receive.va += bytes;
    receive.remaining -= bytes;
  }
  receive.in_message = !packet.info().end;
  receive.operation = packet.info().operation;
  receive.expected_psn = psn_add(receive.expected_psn, 1);
  if (packet.info().end) receive.msn = psn_add(receive.msn, 1);
  if (packet.info().end && is_send(packet) && !complete(qp, packet))
    return requester_->enter_error(qp);
  if (packet.ack_request) answer(qp, syndrome::kAckUnlimited, packet.psn);
}

/// False: the CQ is in error and has raised its event.
bool Responder::complete(Qp& qp, const Packet& packet) const {
  Completion completion;
  completion.opcode =
      packet.info().has_immediate ? prm::CqeOpcode::RESP_SEND_IMM : prm::CqeOpcode::RESP_SEND;
  completion.wqe_counter = qp.receive.consumed++;
  completion.solicited = packet.solicited;
  completion.qpn = qp.qpn;
  completion.user_index = qp.user_index;
  completion.byte_cnt = qp.receive.received;
  completion.imm_inval_pkey = packet.immediate;
  return engine_->deps.cqs->complete(qp.cqn_rcv, completion, engine_->deps.scheduler->now_ns());
}

/// C9-105: acknowledged again up to the last packet that was carried out. Only READs and atomics
/// would be answered from what was kept; one that is not known is dropped.
void Responder::duplicate(const Qp& qp, const Packet& packet) const {
  const Operation operation = packet.info().operation;
  if (operation != Operation::Write && operation != Operation::Send) {
    ++engine_->deps.counters->frames_dropped;
    return;
  }
  answer(qp, syndrome::kAckUnlimited, (qp.receive.expected_psn - 1) & kPsnMask);
}

void Responder::out_of_sequence(Qp& qp) const {
  ++engine_->deps.counters->frames_dropped;
  if (qp.receive.nak_sent) return;
  qp.receive.nak_sent = true;
  answer(qp, syndrome::kNakPsnSequenceError, qp.receive.expected_psn);
}

void Responder::refuse(Qp& qp, const Packet& packet, Refusal refusal) const {
  if (refusal == Refusal::NotReady) return not_ready(qp, packet);
  // A receive that is at fault is told by its completion, any other fault by an event.
  if (refusal == Refusal::TooLong || refusal == Refusal::Protection) {
    const bool too_long = refusal == Refusal::TooLong;
    answer(qp, too_long ? syndrome::kNakInvalidRequest : syndrome::kNakRemoteOperationalError,
           packet.psn);
    fail_receive(*engine_, qp, too_long ? wqe_error::kLocalLength : wqe_error::kLocalProtection);
    return requester_->enter_error(qp);
  }
  const bool key = refusal == Refusal::RemoteAccess;
  answer(qp, key ? syndrome::kNakRemoteAccessError : syndrome::kNakInvalidRequest, packet.psn);
  requester_->enter_error(qp);
  engine_->raise(key ? prm::EventType::WQ_ACCESS_ERROR : prm::EventType::WQ_INVAL_REQ_ERROR, qp);
}

/// What follows until the message comes again is dropped in silence.
void Responder::not_ready(Qp& qp, const Packet& packet) const {
  qp.receive.nak_sent = true;
  const auto code = static_cast<std::uint8_t>(qp.context.get<"min_rnr_nak">());
  answer(qp, static_cast<std::uint8_t>(syndrome::kRnrNak | code), packet.psn);
}

void Responder::answer(const Qp& qp, std::uint8_t code, std::uint32_t psn) const {
  // Requests leave a reserve on the wire, so this fails only for a flood of duplicates.
  if (!engine_->wire->has_frame()) return;
  if ((code & syndrome::kTypeMask) == syndrome::kNak) ++engine_->deps.counters->naks_sent;
  PacketHeader header;
  header.opcode = BthOpcode::Acknowledge;
  header.psn = psn;
  header.syndrome = code;
  header.msn = qp.receive.msn;
  engine_->transmit(qp, header, 0);
}

}  // namespace portcullis::model
