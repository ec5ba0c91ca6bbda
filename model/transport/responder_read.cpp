// SPDX-License-Identifier: BSD-3-Clause
//
// The READs of the responder: one request, many responses. rxe_resp.c of drivers/infiniband/sw/rxe:
// read_reply, rxe_recheck_mr, duplicate_request. Every response has its key checked anew, and so
// has every response of a READ that is asked for again.
#include <algorithm>
#include <utility>

#include "model/transport/responder.hpp"

namespace portcullis::model {
namespace {

constexpr MkeyTable::Holds kNobodyWaits{};  // no command waits for the DMA

}  // namespace

Refusal Responder::admit_read(Qp& qp, const Packet& packet) {
  if (!qp.rre || packet.dma_length > kMaxDmaLength) return Refusal::InvalidRequest;
  const KeyUse use{packet.rkey, qp.receive.pd,     qp.qpn,
                   packet.va,   packet.dma_length, access::kRemoteRead};
  // C9-88: of a READ of no bytes neither address nor key is looked at.
  if (packet.dma_length != 0 && engine_->deps.mkeys->check(use) != KeyCheck::Ok)
    return Refusal::RemoteAccess;
  work_.operation = Operation::Read;
  work_.va = packet.va;
  work_.rkey = packet.rkey;
  work_.pd = qp.receive.pd;
  work_.remaining = packet.dma_length;
  return Refusal::None;
}

void Responder::advance_read(Qp& qp, const Packet& packet) {
  ReceiveState& receive = qp.receive;
  ResponderResource resource;
  resource.operation = Operation::Read;
  resource.first_psn = packet.psn;
  resource.packets = std::max(1U, (packet.dma_length + qp.mtu_bytes - 1) / qp.mtu_bytes);
  resource.va = packet.va;
  resource.length = packet.dma_length;
  resource.rkey = packet.rkey;
  resource.pd = receive.pd;
  remember(qp, resource);
  receive.expected_psn = psn_add(packet.psn, resource.packets);
  receive.msn = psn_add(receive.msn, 1);
  work_.msn = receive.msn;
}

/// The same READ again, or what was missing of it; anything else is dropped (class D).
void Responder::repeat_read(Qp& qp, const Packet& packet) {
  const ResponderResource* const known = find_resource(qp, packet.psn);
  const bool is_part = known != nullptr && known->operation == Operation::Read &&
                       packet.rkey == known->rkey && packet.va >= known->va &&
                       packet.dma_length <= known->length &&
                       packet.va - known->va <= known->length - packet.dma_length;
  if (!is_part) {
    ++engine_->deps.counters->frames_dropped;
    return;
  }
  work_.psn = packet.psn;
  work_.msn = qp.receive.msn;
  // Whom it is for was asked the first time; a message in hand keeps its own.
  const std::uint32_t pd = std::exchange(qp.receive.pd, known->pd);
  work_.refusal = admit_read(qp, packet);
  qp.receive.pd = pd;
  work_.replayed = true;
  if (work_.refusal == Refusal::RemoteAccess && engine_->deps.behaviours->replay_unchecked) {
    work_.refusal = Refusal::None;
    work_.operation = Operation::Read;
    work_.va = packet.va;
    work_.rkey = packet.rkey;
    work_.pd = known->pd;
    work_.remaining = packet.dma_length;
  }
  qp.receive.refused = work_.refusal != Refusal::None;
  work_.in_message = packet.psn != known->first_psn;
}

/// Goes on with the READ at the front of the lane. False: it waits.
bool Responder::go_on_reading(Lane& lane) {
  constexpr int kBurstResponses = 16;  // before other work of this instant has its turn
  Work& work = lane.work.front();
  for (int sent = 0; work.released;) {
    Qp* const qp = serving_owner(lane);
    switch (work.stage) {
      case ReadStage::Unchecked:
        if (qp == nullptr) return finish_read(lane);
        if (!check_response(*qp, work)) return refuse_read(*qp, work, Refusal::RemoteAccess);
        work.stage = ReadStage::Pending;
        work.released = work.placements.empty() || pass(lane, 0, PacePoint::ReadPending);
        break;
      case ReadStage::Pending:
        if (!fetch_response(work) && qp != nullptr)
          return refuse_read(*qp, work, Refusal::Unreachable);
        work.stage = ReadStage::Fetched;
        work.released = pass(lane, 0, PacePoint::ResponsePending);
        break;
      case ReadStage::Fetched:
        if (qp == nullptr) return finish_read(lane);
        if (engine_->is_paused(*qp)) {
          waiting_.push_back(lane.id);
          return false;
        }
        if (!engine_->wire->has_room()) {
          waiting_.push_back(lane.id);
          engine_->wire->wait_for_room(engine_->port);
          return false;
        }
        if (send_response(*qp, work)) return finish_read(lane);
        work.released = pass(lane, 0, PacePoint::BetweenPackets);
        if (++sent == kBurstResponses && work.released) {
          work.released = false;
          engine_->deps.scheduler->post(step_task(lane, 0));
        }
        break;
    }
  }
  return false;
}

/// The key allows the next response's bytes, which are pending from here on.
bool Responder::check_response(Qp& qp, Work& work) const {
  MkeyTable& mkeys = *engine_->deps.mkeys;
  const std::uint32_t bytes = std::min(work.remaining, qp.mtu_bytes);
  work.kept.resize(bytes);
  work.payload = work.kept;
  if (bytes == 0) return true;
  const Behaviours& behaviours = *engine_->deps.behaviours;
  ResponderResource* const known =
      behaviours.replay_unchecked ? find_resource(qp, work.psn) : nullptr;
  const std::uint32_t index = known == nullptr ? 0 : (work.psn - known->first_psn) & kPsnMask;
  if (known != nullptr && work.replayed && index < known->where.size() &&
      known->where[index].count != 0) {
    work.placements.assign(1, {work.rkey, known->where[index], kNobodyWaits});
    return true;
  }
  const KeyUse use{work.rkey, work.pd, qp.qpn, work.va, work.remaining, access::kRemoteRead};
  if (mkeys.check(use) != KeyCheck::Ok) return false;
  work.placements.clear();
  if (!mkeys.translate_all(work.rkey, work.va, bytes, [&](const Extents& where) {
        work.placements.push_back({work.rkey, where, kNobodyWaits});
        return true;
      })) {
    work.placements.clear();
    return fetch_signed(qp, work);
  }
  if (known != nullptr && work.placements.size() == 1) {
    known->where.resize(std::max<std::size_t>(known->where.size(), index + 1));
    known->where[index] = work.placements.front().where;
  }
  if (behaviours.read_untracked) return true;
  for (Placement& placement : work.placements)
    placement.holds = mkeys.begin_dma(placement.key, placement.where);
  return true;
}

/// False: the memory cannot be reached.
bool Responder::fetch_response(Work& work) const {
  bool all = true;
  std::byte* to = work.kept.data();
  for (const Placement& placement : work.placements) {
    all = engine_->deps.dma->read_payload(placement.where, to) && all;
    to += placement.where.bytes();
    engine_->deps.mkeys->end_dma(placement.holds);
  }
  work.placements.clear();
  return all;
}

/// True: that was the last one.
bool Responder::send_response(const Qp& qp, Work& work) const {
  const auto bytes = static_cast<std::uint32_t>(work.kept.size());
  const bool last = work.remaining == bytes;
  PacketHeader header;
  if (std::exchange(work.in_message, true)) {
    header.opcode = last ? BthOpcode::ReadResponseLast : BthOpcode::ReadResponseMiddle;
  } else {
    header.opcode = last ? BthOpcode::ReadResponseOnly : BthOpcode::ReadResponseFirst;
  }
  header.psn = work.psn;
  header.syndrome = syndrome::kAckUnlimited;
  header.msn = work.msn;
  const auto to = engine_->wire->next_buffer().subspan(qp.frame.payload_offset(header.opcode));
  std::ranges::copy(work.kept, to.begin());
  engine_->transmit(qp, header, bytes);
  work.va += bytes;
  work.remaining -= bytes;
  work.psn = psn_add(work.psn, 1);
  work.stage = ReadStage::Unchecked;
  return last;
}

bool Responder::finish_read(Lane& lane) {
  lane.work.pop_front();
  ++lane.first;
  return true;
}

/// The READ becomes a refusal, which is answered as any other.
bool Responder::refuse_read(Qp& qp, Work& work, Refusal refusal) {
  qp.receive.refused = true;
  work.operation = Operation::None;
  work.refusal = refusal;
  work.released = true;
  return true;
}

}  // namespace portcullis::model
