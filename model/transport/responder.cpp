// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/responder.hpp"

#include <algorithm>
#include <utility>

#include "model/transport/wqe_error.hpp"

namespace portcullis::model {
namespace {

bool is_served(BthOpcode operation) noexcept {
  switch (operation) {
    case BthOpcode::WriteFirst:
    case BthOpcode::WriteMiddle:
    case BthOpcode::WriteLast:
    case BthOpcode::WriteLastImmediate:
    case BthOpcode::WriteOnly:
    case BthOpcode::WriteOnlyImmediate:
    case BthOpcode::SendFirst:
    case BthOpcode::SendMiddle:
    case BthOpcode::SendLast:
    case BthOpcode::SendLastImmediate:
    case BthOpcode::SendOnly:
    case BthOpcode::SendOnlyImmediate:
    case BthOpcode::SendLastInvalidate:
    case BthOpcode::SendOnlyInvalidate:
    case BthOpcode::ReadRequest:
    case BthOpcode::CompareSwap:
    case BthOpcode::FetchAdd:
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
  const bool is_full = qp.lane != nullptr && qp.lane->work.size() >= kMaxWork;
  if (!is_serving(qp) || receive.refused || is_full) {
    ++engine_->deps.counters->frames_dropped;
    return;
  }
  establish(qp);
  work_.clear();
  if (!qp.is_reliable()) return handle_unreliable(qp, packet);
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
  if (qp.is_datagram()) return;  // it never connects
  engine_->raise(prm::EventType::COMM_EST, qp);
}

Refusal Responder::admit(Qp& qp, const Packet& packet) {
  const ReceiveState& receive = qp.receive;
  if (packet.info().start == receive.in_message || !is_served(packet.operation()))
    return Refusal::InvalidRequest;
  if (!packet.info().start && packet.info().operation != receive.operation)
    return Refusal::InvalidRequest;
  if (qp.is_xrc() && packet.info().start && !find_receiver(qp, packet))
    return Refusal::RemoteAccess;
  switch (packet.info().operation) {
    case Operation::Send:
      return admit_send(qp, packet);
    case Operation::Read:
      return has_resource(qp) ? admit_read(qp, packet) : Refusal::InvalidRequest;
    case Operation::Atomic:
      return has_resource(qp) ? admit_atomic(qp, packet) : Refusal::InvalidRequest;
    default:
      return admit_write(qp, packet);
  }
}

/// XRC: whom the message that begins is for.
bool Responder::find_receiver(Qp& qp, const Packet& packet) const {
  const SharedReceives::Uses* const uses =
      engine_->deps.shared_receives->find_in_domain(packet.xrc_srqn, qp.xrcd);
  if (uses == nullptr) return false;
  qp.receive.pd = uses->pd;
  qp.receive.xrc_srqn = packet.xrc_srqn;
  qp.receive.xrc_owner = {uses->cqn, uses->user_index};
  return true;
}

Refusal Responder::admit_write(Qp& qp, const Packet& packet) {
  ReceiveState& receive = qp.receive;
  if (!qp.rwe) return Refusal::InvalidRequest;
  // check_resource: an immediate takes a receive, whose memory it leaves alone.
  if (packet.info().has_immediate) {
    const Refusal refusal = take_receive(qp);
    if (refusal != Refusal::None) return refusal;
  }
  if (packet.info().has_reth) {
    if (packet.dma_length > kMaxDmaLength) return Refusal::InvalidRequest;
    receive.va = packet.va;
    receive.rkey = packet.rkey;
    receive.remaining = receive.length = packet.dma_length;
  }
  if (!length_is_right(packet, receive.remaining, qp.mtu_bytes)) return Refusal::InvalidRequest;
  // C9-88: of a WRITE of no bytes neither address nor key is looked at.
  if (receive.remaining == 0) return Refusal::None;
  const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
  if (is_cached(receive, bytes)) {
    const Iova iova = receive.cached_iova + (receive.va - receive.cached_va);
    work_.placements.push_back({receive.rkey, {{Extent{iova, bytes}}, 1}});
    return Refusal::None;
  }
  const KeyUse use{receive.rkey, receive.pd,        qp.qpn,
                   receive.va,   receive.remaining, access::kRemoteWrite};
  if (engine_->deps.mkeys->check(use) != KeyCheck::Ok) return Refusal::RemoteAccess;
  if (!place(receive.rkey, receive.va, bytes)) {
    receive.cached_rkey = 0;
    return place_signed(qp, use, {}, packet.payload) ? Refusal::None : Refusal::RemoteAccess;
  }
  const Extents& where = work_.placements.front().where;
  // An indirect key's entries may lie anywhere in a page: only what one key maps goes on from here,
  // and of host memory, whose pages the cache is said to keep.
  const bool is_kept = where.through[0] == 0 && !where.extent[0].on_device;
  receive.cached_rkey = is_kept ? receive.rkey : 0;
  receive.cached_va = receive.va;
  receive.cached_iova = where.extent[0].iova;
  return Refusal::None;
}

bool Responder::is_serving(const Qp& qp) const noexcept {
  return receives(qp.state) || qp.receive.cached_until_ns > engine_->deps.scheduler->now_ns();
}

/// What a dispatch cache that keeps the key lets through: the page that was written last.
bool Responder::is_cached(const ReceiveState& receive, std::uint32_t bytes) const noexcept {
  return engine_->deps.behaviours->dispatch_cache_keeps_key &&
         receive.cached_until_ns > engine_->deps.scheduler->now_ns() && receive.cached_rkey != 0 &&
         receive.rkey == receive.cached_rkey &&
         receive.va / kPageBytes == receive.cached_va / kPageBytes &&
         receive.va % kPageBytes + bytes <= kPageBytes;
}

Refusal Responder::take_receive(Qp& qp) const {
  const ReceiveFault fault = read_receive_wqe(*engine_, qp);
  if (fault == ReceiveFault::Empty) return Refusal::NotReady;
  return fault == ReceiveFault::Unreadable ? Refusal::Protection : Refusal::None;
}

Refusal Responder::admit_send(Qp& qp, const Packet& packet) {
  const std::size_t bytes = packet.payload.size();
  const bool length_is_right = packet.info().end
                                   ? bytes <= qp.mtu_bytes && (packet.info().start || bytes > 0)
                                   : bytes == qp.mtu_bytes;
  if (!length_is_right) return Refusal::InvalidRequest;
  if (packet.info().start) {
    qp.receive.received = 0;
    const Refusal refusal = qp.tagged == nullptr ? take_receive(qp) : begin_tagged(qp, packet);
    if (refusal != Refusal::None) return refusal;
  }
  const std::span<const std::byte> data =
      qp.tagged == nullptr ? packet.payload
                           : qp.tagged->data_of(packet.payload, packet.info().start);
  if (!has_room(qp, data.size())) return Refusal::TooLong;
  if (packet.info().has_invalidate &&
      !engine_->deps.mkeys->can_be_invalidated(packet.immediate, qp.receive.pd, qp.qpn))
    return Refusal::RemoteAccess;
  return place_in_receive(qp, data) ? Refusal::None : Refusal::Protection;
}

/// False: the key does not lead there any more.
bool Responder::place(std::uint32_t key, std::uint64_t va, std::uint32_t bytes) {
  return engine_->deps.mkeys->translate_all(key, va, bytes, [&](const Extents& where) {
    work_.placements.push_back({key, where});
    return true;
  });
}

/// The next `bytes` of the message fit the receive in hand.
bool Responder::has_room(const Qp& qp, std::size_t bytes) {
  std::uint64_t room = 0;
  for (const ReceivePiece& piece : qp.receive.pieces) room += piece.bytes;
  return qp.receive.received + bytes <= room;
}

/// Where the message goes on in the receive's memory.
bool Responder::place_in_receive(const Qp& qp, std::span<const std::byte> payload) {
  const MkeyTable& mkeys = *engine_->deps.mkeys;
  std::size_t bytes = payload.size();
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
    const KeyUse use{piece.lkey, qp.receive.pd, qp.qpn, va, part, access::kLocalWrite, qp.rlky};
    if (mkeys.check(use) != KeyCheck::Ok) return false;
    if (!place_part(qp, use, payload, payload.size() - bytes)) return false;
    bytes -= part;
    skip = 0;
  }
  return true;
}

void Responder::advance(Qp& qp, const Packet& packet) {
  if (packet.info().start) count_request(*qp.counters, packet.info().operation);
  switch (packet.info().operation) {
    case Operation::Read:
      return advance_read(qp, packet);
    case Operation::Atomic:
      return advance_atomic(qp, packet);
    case Operation::Send:
      return qp.tagged == nullptr ? advance_data(qp, packet) : advance_tagged(qp, packet);
    default:
      return advance_data(qp, packet);
  }
}

void Responder::advance_data(Qp& qp, const Packet& packet) {
  ReceiveState& receive = qp.receive;
  const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
  const bool end = packet.info().end;
  work_.payload = work_.is_rewritten ? std::span<const std::byte>(work_.kept) : packet.payload;
  receive.in_message = !end;
  receive.operation = packet.info().operation;
  receive.acked_psn = packet.psn;
  receive.expected_psn = psn_add(packet.psn, 1);
  if (end) receive.msn = psn_add(receive.msn, 1);
  if (is_send(packet)) {
    receive.received += bytes;
  } else {
    receive.va += bytes;
    receive.remaining -= bytes;
  }
  if (packet.ack_request && qp.is_reliable()) answer(qp, syndrome::kAckUnlimited, packet.psn);
  if (end && (is_send(packet) || packet.info().has_immediate)) prepare_completion(qp, packet);
}

/// The receive is consumed now, and completes when the data is there.
void Responder::prepare_completion(Qp& qp, const Packet& packet) {
  const bool has_immediate = packet.info().has_immediate;
  work_.completes = true;
  Completion& completion = work_.completion;
  completion = Completion{};
  if (is_send(packet)) {
    completion.opcode = has_immediate ? prm::CqeOpcode::RESP_SEND_IMM : prm::CqeOpcode::RESP_SEND;
    if (packet.info().has_invalidate) {
      completion.opcode = prm::CqeOpcode::RESP_SEND_INV;
      work_.invalidates = packet.immediate;
    }
    completion.byte_cnt = qp.receive.received;
  } else {
    completion.opcode = prm::CqeOpcode::RESP_WR_IMM;
    completion.byte_cnt = qp.receive.length;
  }
  work_.owner = qp.receive_owner();
  completion.solicited = packet.solicited;
  completion.qpn = qp.qpn;
  completion.user_index = work_.owner.user_index;
  completion.imm_inval_pkey = packet.immediate;
  if (qp.tagged != nullptr && is_send(packet)) report_end(qp, packet.info().start);
  if (qp.tagged == nullptr || !qp.tagged->has_matched() || !is_send(packet))
    completion.wqe_counter = consume_receive(qp);
}

/// A READ or atomic more than the connection has room for is refused as one without any room is
/// (RESPST_ERR_TOO_MANY_RDMA_ATM_REQ of rxe_resp.c). That a ConnectX-5 does so is a hypothesis: rxe
/// leaves the number to the requester. Those that are asked for again take no room of their own.
bool Responder::has_resource(const Qp& qp) noexcept {
  if (qp.lane == nullptr) return true;
  const auto takes_one = [](const Work& work) {
    return !work.replayed &&
           (work.operation == Operation::Read || work.operation == Operation::Atomic);
  };
  return static_cast<std::size_t>(std::ranges::count_if(qp.lane->work, takes_one)) <
         qp.receive.resources.size();
}

/// The oldest resource makes room: what it was for has been answered.
void Responder::remember(Qp& qp, const ResponderResource& resource) {
  ReceiveState& receive = qp.receive;
  receive.resources[receive.next_resource] = resource;
  receive.next_resource = (receive.next_resource + 1) % receive.resources.size();
}

ResponderResource* Responder::find_resource(Qp& qp, std::uint32_t psn) noexcept {
  const auto found = std::ranges::find_if(
      qp.receive.resources, [psn](const ResponderResource& each) { return each.covers(psn); });
  return found == qp.receive.resources.end() ? nullptr : &*found;
}

/// C9-105: a WRITE or SEND is acknowledged again up to the last one that was carried out. READs do
/// not count there: an acknowledgement may not stand for their data.
void Responder::answer_duplicate(Qp& qp, const Packet& packet) {
  ++qp.counters->duplicate_request;
  switch (packet.info().operation) {
    case Operation::Read:
      return repeat_read(qp, packet);
    case Operation::Atomic:
      return repeat_atomic(qp, packet);
    default:
      return answer(qp, syndrome::kAckUnlimited, qp.receive.acked_psn);
  }
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
  if (qp.lane != nullptr || engine_->pacer->engaged() || work_.operation == Operation::Read)
    return enqueue(qp);
  carry_out(&qp, work_);
  if (work_.completes) complete(qp, work_);
  respond(qp, work_);
}

void Responder::enqueue(Qp& qp) {
  if (work_.operation == Operation::None && work_.placements.empty() && !work_.completes &&
      !work_.answers && work_.refusal == Refusal::None)
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
    placement.holds = engine_->deps.mkeys->begin_dma(placement.key, placement.where);
  // A datagram stands there already.
  if (work_.payload.data() != work_.kept.data())
    work_.kept.assign(work_.payload.begin(), work_.payload.end());
  lane.work.push_back(std::exchange(work_, Work{}));
  Work& work = lane.work.back();
  work.payload = work.kept;
  const bool is_atomic = work.operation == Operation::Atomic;
  work.released = work.placements.empty() ||
                  pass(lane, lane.work.size() - 1,
                       is_atomic ? PacePoint::AtomicPending : PacePoint::WritePending);
  pump(lane);
}

/// Asks how long the work at `index` stays where it is.
bool Responder::pass(const Lane& lane, std::size_t index, PacePoint at) {
  const Work& work = lane.work[index];
  PaceStep step;
  step.at = at;
  step.qpn = lane.qpn;
  step.psn = work.psn;
  step.va = work.va;
  step.key = work.placements.empty() ? work.rkey : work.placements.front().key;
  step.bytes = static_cast<std::uint32_t>(work.payload.size());
  return engine_->pacer->pass(step, step_task(lane, index));
}

Task Responder::step_task(const Lane& lane, std::size_t index) noexcept {
  return Task{&Responder::step_over, this,
              std::uint64_t{lane.id} << 32 | static_cast<std::uint32_t>(lane.first + index)};
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

/// Null also when the QP does not answer.
Qp* Responder::serving_owner(const Lane& lane) const noexcept {
  Qp* const qp = owner(lane);
  return qp != nullptr && is_serving(*qp) ? qp : nullptr;
}

void Responder::room() {
  for (const std::uint32_t id : std::exchange(waiting_, {})) {
    if (const auto found = lanes_.find(id); found != lanes_.end()) pump(*found->second);
  }
}

/// Carries out and answers what may be, in order. A READ has its turn when everything before it
/// is answered. A lane that is empty is gone.
void Responder::pump(Lane& lane) {
  do {
    carry_out_ready(lane);
    answer_ready(lane);
  } while (lane.placed == 0 && !lane.work.empty() &&
           lane.work.front().operation == Operation::Read && go_on_reading(lane));
  if (!lane.work.empty()) return;
  if (Qp* const qp = owner(lane)) qp->lane = nullptr;
  lanes_.erase(lane.id);
}

void Responder::carry_out_ready(Lane& lane) {
  while (lane.placed < lane.work.size() && lane.work[lane.placed].released &&
         lane.work[lane.placed].operation != Operation::Read) {
    const std::size_t index = lane.placed++;
    Work& work = lane.work[index];
    carry_out(owner(lane), work);
    for (const Placement& placement : work.placements)
      engine_->deps.mkeys->end_dma(placement.holds);
    if (std::exchange(work.completes, false)) {
      if (Qp* const qp = owner(lane)) complete(*qp, work);
    }
    const bool silent = !work.answers && work.refusal == Refusal::None;
    work.released = silent || pass(lane, index, PacePoint::ResponsePending);
  }
}

void Responder::answer_ready(Lane& lane) {
  while (lane.placed != 0 && lane.work.front().released) {
    if (Qp* const qp = owner(lane)) respond(*qp, lane.work.front());
    lane.work.pop_front();
    ++lane.first;
    --lane.placed;
  }
}

/// A PCIe write is posted: the device does not learn that an IOMMU refused it, so the packet is
/// acknowledged all the same. Dma has counted the fault.
void Responder::carry_out(Qp* qp, Work& work) const {
  if (work.operation == Operation::Atomic) return carry_out_atomic(qp, work);
  const std::byte* from = work.payload.data();
  for (const Placement& placement : work.placements) {
    static_cast<void>(engine_->deps.dma->write_payload(placement.where, from));
    for (std::uint32_t i = 0; i < placement.where.count; ++i)
      from += placement.where.extent[i].bytes;
  }
}

/// A CQ in error has raised its event, and takes the QP with it.
void Responder::complete(Qp& qp, const Work& work) const {
  // Since it was admitted the key may have gone, and its number may be another's.
  if (work.invalidates &&
      engine_->deps.mkeys->can_be_invalidated(*work.invalidates, qp.receive.pd, qp.qpn))
    engine_->deps.mkeys->invalidate(*work.invalidates);
  if (engine_->deps.cqs->complete(work.owner.cqn, work.completion,
                                  engine_->deps.scheduler->now_ns())) {
    if (work.completion.tags != nullptr && work.tagged->begins_rendezvous)
      requester_->begin_rendezvous(qp, work.tagged->rendezvous);
    return;
  }
  ++qp.counters->cq_overflow;
  requester_->enter_error(qp);
}

void Responder::respond(Qp& qp, const Work& work) const {
  if (!is_serving(qp)) return;
  if (work.refusal != Refusal::None) return refuse(qp, work);
  if (work.answers) transmit(qp, work.code, work);
}

void Responder::refuse(Qp& qp, const Work& work) const {
  const Refusal refusal = work.refusal;
  switch (refusal) {
    case Refusal::None:
      return;
    case Refusal::NotReady: {
      ++qp.counters->out_of_buffer;
      const auto code = static_cast<std::uint8_t>(qp.context.get<"min_rnr_nak">());
      return transmit(qp, static_cast<std::uint8_t>(syndrome::kRnrNak | code), work);
    }
    // The driver learns of a faulty receive by its completion, of any other fault by an event.
    case Refusal::TooLong:
      transmit(qp, syndrome::kNakInvalidRequest, work);
      fail_receive(*engine_, qp, wqe_error::kLocalLength);
      return requester_->enter_error(qp);
    case Refusal::Protection:
      transmit(qp, syndrome::kNakRemoteOperationalError, work);
      fail_receive(*engine_, qp, wqe_error::kLocalProtection);
      return requester_->enter_error(qp);
    case Refusal::InvalidRequest:
      ++qp.counters->resp_remote_invalid_request;
      return end_with(qp, work, syndrome::kNakInvalidRequest, prm::EventType::WQ_INVAL_REQ_ERROR);
    case Refusal::RemoteAccess:
      ++qp.counters->resp_remote_access_errors;
      return end_with(qp, work, syndrome::kNakRemoteAccessError, prm::EventType::WQ_ACCESS_ERROR);
    case Refusal::Unreachable:
      return end_with(qp, work, syndrome::kNakRemoteOperationalError,
                      prm::EventType::WQ_CATAS_ERROR);
  }
}

void Responder::end_with(Qp& qp, const Work& work, std::uint8_t code, prm::EventType event) const {
  transmit(qp, code, work);
  requester_->enter_error(qp);
  engine_->raise(event, qp);
}

void Responder::transmit(const Qp& qp, std::uint8_t code, const Work& work) const {
  if (!qp.is_reliable()) return;
  // Requests leave a reserve on the wire, so this fails only for a flood of duplicates.
  if (!engine_->wire->has_frame()) return;
  if ((code & syndrome::kTypeMask) == syndrome::kNak) ++engine_->deps.counters->naks_sent;
  PacketHeader header;
  const bool is_fetched = work.operation == Operation::Atomic && work.refusal == Refusal::None;
  header.opcode = is_fetched ? BthOpcode::AtomicAcknowledge : BthOpcode::Acknowledge;
  header.psn = work.psn;
  header.syndrome = code;
  header.msn = work.msn;
  header.original = work.original;
  engine_->transmit(qp, header, 0);
}

}  // namespace portcullis::model
