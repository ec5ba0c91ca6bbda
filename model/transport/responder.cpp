// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/responder.hpp"

#include <algorithm>
#include <utility>

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

void count_request(QCounters& counters, Operation operation) noexcept {
  if (operation == Operation::Write) ++counters.rx_write_requests;
  if (operation == Operation::Read) ++counters.rx_read_requests;
  if (operation == Operation::Atomic) ++counters.rx_atomic_requests;
}

bool is_send(const Packet& packet) noexcept { return packet.info().operation == Operation::Send; }

}  // namespace

void Responder::handle(Qp& qp, const Packet& packet) {
  ReceiveState& receive = qp.receive;
  if (!receives(qp.state) || receive.refused) {
    ++engine_->deps.counters->frames_dropped;
    return;
  }
  establish(qp);
  work_.clear();
  const std::int32_t distance = psn_distance(packet.psn, receive.expected_psn);
  if (distance < 0) {
    answer_duplicate(qp, packet);
  } else if (distance > 0) {
    answer_out_of_sequence(qp);
  } else {
    receive.nak_sent = false;
    work_.psn = packet.psn;
    work_.refusal = admit(qp, packet);
    if (work_.refusal == Refusal::None) {
      if (packet.info().start) count_request(*qp.counters, packet.info().operation);
      advance(qp, packet);
    } else {
      work_.placements.clear();
      work_.msn = receive.msn;
      // What follows until the message comes again is dropped in silence.
      receive.nak_sent = work_.refusal == Refusal::NotReady;
      receive.refused = work_.refusal != Refusal::NotReady;
    }
  }
  submit(qp);
}

/// The first request of a connection whose own side has not come to RTS yet.
void Responder::establish(Qp& qp) const {
  if (std::exchange(qp.receive.established, true) || qp.state != prm::QpState::RTR) return;
  engine_->raise(prm::EventType::COMM_EST, qp);
}

Refusal Responder::admit(Qp& qp, const Packet& packet) {
  const ReceiveState& receive = qp.receive;
  if (packet.info().start == receive.in_message || !is_served(packet.opcode))
    return Refusal::InvalidRequest;
  if (!packet.info().start && packet.info().operation != receive.operation)
    return Refusal::InvalidRequest;
  return is_send(packet) ? admit_send(qp, packet) : admit_write(qp, packet);
}

Refusal Responder::admit_write(Qp& qp, const Packet& packet) {
  ReceiveState& receive = qp.receive;
  if (!qp.rwe) return Refusal::InvalidRequest;
  if (packet.info().has_reth) {
    if (packet.dma_length > kMaxDmaLength) return Refusal::InvalidRequest;
    receive.va = packet.va;
    receive.rkey = packet.rkey;
    receive.remaining = packet.dma_length;
  }
  if (!length_is_right(packet, receive.remaining, qp.mtu_bytes)) return Refusal::InvalidRequest;
  // C9-88: of a WRITE of no bytes neither address nor key is looked at.
  if (receive.remaining == 0) return Refusal::None;
  const KeyUse use{receive.rkey,        qp.pd, qp.qpn, receive.va, receive.remaining,
                   access::kRemoteWrite};
  if (engine_->deps.mkeys->check(use) != KeyCheck::Ok) return Refusal::RemoteAccess;
  const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
  const Extents where = engine_->deps.mkeys->translate(receive.rkey, receive.va, bytes);
  if (where.count == 0) return Refusal::RemoteAccess;
  work_.placements.push_back({receive.rkey, 0, where});
  return Refusal::None;
}

Refusal Responder::admit_send(Qp& qp, const Packet& packet) {
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
  return place_in_receive(qp, bytes) ? Refusal::None : Refusal::Protection;
}

/// Where the next `bytes` of the message go in the receive's memory.
bool Responder::place_in_receive(const Qp& qp, std::size_t bytes) {
  const MkeyTable& mkeys = *engine_->deps.mkeys;
  std::uint64_t skip = qp.receive.received;
  for (const ReceivePiece& piece : qp.receive.pieces) {
    if (bytes == 0) break;
    if (skip >= piece.bytes) {
      skip -= piece.bytes;
      continue;
    }
    const std::uint64_t va = piece.va + skip;
    const auto part =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(piece.bytes - skip, bytes));
    const KeyUse use{piece.lkey, qp.pd, qp.qpn, va, part, access::kLocalWrite, qp.rlky};
    if (mkeys.check(use) != KeyCheck::Ok) return false;
    const Extents where = mkeys.translate(piece.lkey, va, part);
    if (where.count == 0) return false;
    work_.placements.push_back({piece.lkey, 0, where});
    bytes -= part;
    skip = 0;
  }
  return true;
}

void Responder::advance(Qp& qp, const Packet& packet) {
  ReceiveState& receive = qp.receive;
  const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
  const bool end = packet.info().end;
  work_.payload = packet.payload;
  receive.in_message = !end;
  receive.operation = packet.info().operation;
  receive.expected_psn = psn_add(receive.expected_psn, 1);
  if (end) receive.msn = psn_add(receive.msn, 1);
  if (is_send(packet)) {
    receive.received += bytes;
  } else {
    receive.va += bytes;
    receive.remaining -= bytes;
  }
  if (packet.ack_request) answer(qp, syndrome::kAckUnlimited, packet.psn);
  if (!end || !is_send(packet)) return;
  work_.completes = true;
  Completion& completion = work_.completion;
  completion = Completion{};
  completion.opcode =
      packet.info().has_immediate ? prm::CqeOpcode::RESP_SEND_IMM : prm::CqeOpcode::RESP_SEND;
  completion.wqe_counter = receive.consumed++;
  completion.solicited = packet.solicited;
  completion.qpn = qp.qpn;
  completion.user_index = qp.user_index;
  completion.byte_cnt = receive.received;
  completion.imm_inval_pkey = packet.immediate;
}

/// C9-105: acknowledged again up to the last packet that was carried out. Only READs and atomics
/// would be answered from what was kept; one that is not known is dropped.
void Responder::answer_duplicate(const Qp& qp, const Packet& packet) {
  ++qp.counters->duplicate_request;
  const Operation operation = packet.info().operation;
  if (operation != Operation::Write && operation != Operation::Send) {
    ++engine_->deps.counters->frames_dropped;
    return;
  }
  answer(qp, syndrome::kAckUnlimited, (qp.receive.expected_psn - 1) & kPsnMask);
}

void Responder::answer_out_of_sequence(Qp& qp) {
  ++qp.counters->out_of_sequence;
  ++engine_->deps.counters->frames_dropped;
  if (qp.receive.nak_sent) return;
  qp.receive.nak_sent = true;
  answer(qp, syndrome::kNakPsnSequenceError, qp.receive.expected_psn);
}

void Responder::answer(const Qp& qp, std::uint8_t code, std::uint32_t psn) {
  work_.answers = true;
  work_.code = code;
  work_.psn = psn;
  work_.msn = qp.receive.msn;
}

void Responder::submit(Qp& qp) {
  if (qp.lane != nullptr || engine_->pacer->engaged()) return enqueue(qp);
  touch_memory(work_);
  if (work_.completes) complete(qp, work_);
  respond(qp, work_);
}

void Responder::enqueue(Qp& qp) {
  if (work_.placements.empty() && !work_.completes && !work_.answers &&
      work_.refusal == Refusal::None)
    return;
  if (qp.lane == nullptr) {
    auto lane = std::make_unique<Lane>();
    lane->id = ++next_lane_;
    lane->qpn = qp.qpn;
    qp.lane = lane.get();
    lanes_.emplace(lane->id, std::move(lane));
  }
  Lane& lane = *qp.lane;
  for (Placement& placement : work_.placements)
    placement.life = engine_->deps.mkeys->begin_dma(placement.key);
  work_.kept.assign(work_.payload.begin(), work_.payload.end());
  lane.work.push_back(std::exchange(work_, Work{}));
  Work& work = lane.work.back();
  work.payload = work.kept;
  work.released =
      work.placements.empty() || pass(lane, lane.work.size() - 1, PacePoint::WritePending);
  pump(lane);
}

/// Asks how long the work at `index` stays where it is.
bool Responder::pass(const Lane& lane, std::size_t index, PacePoint at) {
  const Work& work = lane.work[index];
  PaceStep step;
  step.at = at;
  step.qpn = lane.qpn;
  step.psn = work.psn;
  step.key = work.placements.empty() ? 0 : work.placements.front().key;
  step.bytes = static_cast<std::uint32_t>(work.payload.size());
  const std::uint64_t argument =
      std::uint64_t{lane.id} << 32 | static_cast<std::uint32_t>(lane.first + index);
  return engine_->pacer->pass(step, Task{&Responder::step_over, this, argument});
}

void Responder::step_over(void* self, std::uint64_t lane_and_number) {
  auto& responder = *static_cast<Responder*>(self);
  const auto found = responder.lanes_.find(static_cast<std::uint32_t>(lane_and_number >> 32));
  if (found == responder.lanes_.end()) return;
  Lane& lane = *found->second;
  const std::uint32_t index = static_cast<std::uint32_t>(lane_and_number) - lane.first;
  if (index >= lane.work.size()) return;
  lane.work[index].released = true;
  responder.pump(lane);
}

Qp* Responder::owner(const Lane& lane) const noexcept {
  return lane.attached ? engine_->qps->find(lane.qpn) : nullptr;
}

/// Carries out and answers what may be, in order. A lane that is empty is gone.
void Responder::pump(Lane& lane) {
  while (lane.placed < lane.work.size() && lane.work[lane.placed].released) {
    const std::size_t index = lane.placed++;
    Work& work = lane.work[index];
    touch_memory(work);
    for (const Placement& placement : work.placements)
      engine_->deps.mkeys->end_dma(placement.key, placement.life);
    if (std::exchange(work.completes, false)) {
      if (Qp* const qp = owner(lane)) complete(*qp, work);
    }
    const bool silent = !work.answers && work.refusal == Refusal::None;
    work.released = silent || pass(lane, index, PacePoint::ResponsePending);
  }
  while (lane.placed != 0 && lane.work.front().released) {
    if (Qp* const qp = owner(lane)) respond(*qp, lane.work.front());
    lane.work.pop_front();
    ++lane.first;
    --lane.placed;
  }
  if (!lane.work.empty()) return;
  if (Qp* const qp = owner(lane)) qp->lane = nullptr;
  lanes_.erase(lane.id);
}

/// A PCIe write is posted: the device does not learn that an IOMMU refused it, so the packet is
/// acknowledged all the same. Dma has counted the fault.
void Responder::touch_memory(const Work& work) const {
  const std::byte* from = work.payload.data();
  for (const Placement& placement : work.placements) {
    static_cast<void>(engine_->deps.dma->write_payload(placement.where, from));
    for (std::uint32_t i = 0; i < placement.where.count; ++i)
      from += placement.where.extent[i].bytes;
  }
}

/// A CQ in error has raised its event, and takes the QP with it.
void Responder::complete(Qp& qp, const Work& work) const {
  if (engine_->deps.cqs->complete(qp.cqn_rcv, work.completion, engine_->deps.scheduler->now_ns()))
    return;
  ++qp.counters->cq_overflow;
  requester_->enter_error(qp);
}

void Responder::respond(Qp& qp, const Work& work) const {
  if (!receives(qp.state)) return;
  if (work.refusal != Refusal::None) return refuse(qp, work);
  if (work.answers) transmit(qp, work.code, work.psn, work.msn);
}

void Responder::refuse(Qp& qp, const Work& work) const {
  const Refusal refusal = work.refusal;
  if (refusal == Refusal::NotReady) {
    ++qp.counters->out_of_buffer;
    const auto code = static_cast<std::uint8_t>(qp.context.get<"min_rnr_nak">());
    return transmit(qp, static_cast<std::uint8_t>(syndrome::kRnrNak | code), work.psn, work.msn);
  }
  // A receive that is at fault is told by its completion, any other fault by an event.
  if (refusal == Refusal::TooLong || refusal == Refusal::Protection) {
    const bool too_long = refusal == Refusal::TooLong;
    transmit(qp, too_long ? syndrome::kNakInvalidRequest : syndrome::kNakRemoteOperationalError,
             work.psn, work.msn);
    fail_receive(*engine_, qp, too_long ? wqe_error::kLocalLength : wqe_error::kLocalProtection);
    return requester_->enter_error(qp);
  }
  const bool key = refusal == Refusal::RemoteAccess;
  ++(key ? qp.counters->resp_remote_access_errors : qp.counters->resp_remote_invalid_request);
  transmit(qp, key ? syndrome::kNakRemoteAccessError : syndrome::kNakInvalidRequest, work.psn,
           work.msn);
  requester_->enter_error(qp);
  engine_->raise(key ? prm::EventType::WQ_ACCESS_ERROR : prm::EventType::WQ_INVAL_REQ_ERROR, qp);
}

void Responder::transmit(const Qp& qp, std::uint8_t code, std::uint32_t psn,
                         std::uint32_t msn) const {
  // Requests leave a reserve on the wire, so this fails only for a flood of duplicates.
  if (!engine_->wire->has_frame()) return;
  if ((code & syndrome::kTypeMask) == syndrome::kNak) ++engine_->deps.counters->naks_sent;
  PacketHeader header;
  header.opcode = BthOpcode::Acknowledge;
  header.psn = psn;
  header.syndrome = code;
  header.msn = msn;
  engine_->transmit(qp, header, 0);
}

}  // namespace portcullis::model
