// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/responder.hpp"

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
  write(pending);
  finish(qp, packet);
}

Responder::Refusal Responder::admit(Qp& qp, const Packet& packet, PendingWrite& write) const {
  ReceiveState& receive = qp.receive;
  if (packet.info().start == receive.in_message || !is_served(packet.opcode) || !qp.rwe)
    return Refusal::InvalidRequest;
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

/// A PCIe write is posted: the device does not learn that an IOMMU refused it, so the packet is
/// acknowledged all the same. Dma has counted the fault.
void Responder::write(const PendingWrite& write) const {
  if (write.payload.empty()) return;
  static_cast<void>(engine_->deps.dma->write_payload(write.to, write.payload.data()));
}

void Responder::finish(Qp& qp, const Packet& packet) const {
  ReceiveState& receive = qp.receive;
  const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
  receive.va += bytes;
  receive.remaining -= bytes;
  receive.in_message = !packet.info().end;
  receive.expected_psn = psn_add(receive.expected_psn, 1);
  if (packet.info().end) receive.msn = psn_add(receive.msn, 1);
  if (packet.ack_request) answer(qp, syndrome::kAckUnlimited, packet.psn);
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
  const bool key = refusal == Refusal::RemoteAccess;
  answer(qp, key ? syndrome::kNakRemoteAccessError : syndrome::kNakInvalidRequest, packet.psn);
  requester_->enter_error(qp);
  engine_->raise(key ? prm::EventType::WQ_ACCESS_ERROR : prm::EventType::WQ_INVAL_REQ_ERROR, qp);
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
