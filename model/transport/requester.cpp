// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/requester.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "model/transport/path.hpp"
#include "model/transport/wqe_error.hpp"

namespace portcullis::model {
namespace {

/// How long an RNR NAK asks the requester to wait: the five-bit code of its syndrome, as enum
/// ib_rnr_timeout of include/rdma/ib_verbs.h names the times.
constexpr std::uint64_t rnr_timer_ns(std::uint32_t code) noexcept {
  constexpr std::array<std::uint32_t, 32> kTensOfUs{
      65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
      48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
      2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return std::uint64_t{kTensOfUs[code & 31]} * 10'000;
}

BthOpcode write_opcode(bool first, bool last, bool immediate) noexcept {
  if (!last) return first ? BthOpcode::WriteFirst : BthOpcode::WriteMiddle;
  if (immediate) return first ? BthOpcode::WriteOnlyImmediate : BthOpcode::WriteLastImmediate;
  return first ? BthOpcode::WriteOnly : BthOpcode::WriteLast;
}

BthOpcode send_opcode(bool first, bool last, bool immediate) noexcept {
  if (!last) return first ? BthOpcode::SendFirst : BthOpcode::SendMiddle;
  if (immediate) return first ? BthOpcode::SendOnlyImmediate : BthOpcode::SendLastImmediate;
  return first ? BthOpcode::SendOnly : BthOpcode::SendLast;
}

BthOpcode invalidate_opcode(bool first, bool last) noexcept {
  if (!last) return send_opcode(first, last, false);
  return first ? BthOpcode::SendOnlyInvalidate : BthOpcode::SendLastInvalidate;
}

BthOpcode packet_opcode(prm::WqeOpcode opcode, bool first, bool last) noexcept {
  if (opcode == prm::WqeOpcode::RDMA_WRITE || opcode == prm::WqeOpcode::RDMA_WRITE_IMM)
    return write_opcode(first, last, opcode == prm::WqeOpcode::RDMA_WRITE_IMM);
  if (opcode == prm::WqeOpcode::SEND_INVAL) return invalidate_opcode(first, last);
  return send_opcode(first, last, opcode == prm::WqeOpcode::SEND_IMM);
}

std::uint32_t packet_count(std::uint64_t length, std::uint32_t mtu) noexcept {
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>((length + mtu - 1) / mtu));
}

/// Whether a packet of `message` was sent. A drain ends with the messages that were begun.
bool is_begun(const SendState& send, const Message& message) noexcept {
  return send.cursor_packet != 0 || message.has_changed_key ||
         psn_distance(message.first_psn, send.sent_end_psn) < 0;
}

bool is_fetch(prm::WqeOpcode opcode) noexcept {
  return opcode == prm::WqeOpcode::RDMA_READ || opcode == prm::WqeOpcode::ATOMIC_CS ||
         opcode == prm::WqeOpcode::ATOMIC_FA;
}

/// MLX5_FENCE_MODE_FENCE and stronger of include/linux/mlx5/qp.h; the small fence is for UMR.
bool is_fenced(std::uint8_t fm_ce_se) noexcept {
  constexpr std::uint32_t kFenceMode = 2;
  return fm_ce_se >> 5 >= kFenceMode;
}

prm::ConstView<prm::mlx5_wqe_av> address_of(const SendWqe& wqe) noexcept {
  return prm::ConstView<prm::mlx5_wqe_av>::at(std::span<const std::byte>(wqe.bytes),
                                              SendWqe::kAddressAt);
}

/// Nothing of it leaves, and it has its turn when it is the oldest.
bool stays_here(prm::WqeOpcode opcode) noexcept {
  return opcode == prm::WqeOpcode::UMR || opcode == prm::WqeOpcode::SET_PSV ||
         opcode == prm::WqeOpcode::TAG_MATCHING;
}

/// Whether the service of `qp` has such an operation: what nobody answers fetches nothing, and has
/// no SEND that invalidates (ib_pack.h has opcodes for that of RC alone).
bool is_carried(const Qp& qp, prm::WqeOpcode opcode) noexcept {
  if (opcode == prm::WqeOpcode::TAG_MATCHING) return qp.tagged != nullptr;
  if (stays_here(opcode) || opcode == prm::WqeOpcode::NOP) return true;
  if (qp.is_datagram()) return opcode == prm::WqeOpcode::SEND || opcode == prm::WqeOpcode::SEND_IMM;
  const bool is_acknowledged = is_fetch(opcode) || opcode == prm::WqeOpcode::SEND_INVAL;
  return !qp.reg_umr && (qp.is_reliable() || !is_acknowledged);
}

std::uint64_t most_bytes(const Qp& qp) noexcept {
  return qp.is_datagram() ? std::min<std::uint64_t>(qp.max_message_bytes, qp.mtu_bytes)
                          : qp.max_message_bytes;
}

constexpr std::uint64_t kAtomicBytes = 8;

}  // namespace

bool Requester::has_work(const SendState& send) noexcept {
  return send.cursor != send.newest || send.fetched != send.producer;
}

void Requester::ring(Qp& qp, std::uint16_t producer) {
  qp.send.producer = producer;
  if (qp.state == prm::QpState::RTS) wake(qp);
  if (qp.state == prm::QpState::ERR || qp.state == prm::QpState::SQER) flush(qp);
}

void Requester::wake(Qp& qp) {
  if (std::exchange(qp.send.serve_posted, true)) return;
  engine_->deps.scheduler->post(Task{&Requester::serve_task, this, qp.qpn});
}

/// Wakes no more than find room, and each for a turn's worth of it: a thousand that wait would else
/// be woken for every frame.
void Requester::room() {
  for (std::size_t room = engine_->wire->room(); room != 0 && !waiting_.empty();) {
    Qp* const qp = engine_->qps->find(waiting_.front());
    waiting_.pop_front();
    if (qp == nullptr) continue;
    qp->send.waits_for_room = false;
    qp->send.has_room = true;
    wake(*qp);
    room -= std::min<std::size_t>(room, turn(qp->send));
  }
  if (!waiting_.empty()) engine_->wire->wait_for_room(engine_->port);
}

/// How many packets a turn may come to; a message has one at least, and so has a block.
std::size_t Requester::turn(const SendState& send) noexcept {
  const std::uint32_t messages =
      send.newest - send.cursor + static_cast<std::uint16_t>(send.producer - send.fetched);
  return std::clamp<std::size_t>(messages, 1, kBurstPackets);
}

void Requester::wait_for_room(Qp& qp) {
  if (!std::exchange(qp.send.waits_for_room, true)) waiting_.push_back(qp.qpn);
  engine_->wire->wait_for_room(engine_->port);
}

/// True: the other end has stopped the QP's priority.
bool Requester::waits_for_priority(Qp& qp) {
  if (!engine_->is_paused(qp)) return false;
  if (!std::exchange(qp.send.is_paused, true)) paused_.push_back(qp.qpn);
  return true;
}

void Requester::go_on() {
  for (const std::uint32_t qpn : std::exchange(paused_, {})) {
    Qp* const qp = engine_->qps->find(qpn);
    if (qp == nullptr) continue;
    qp->send.is_paused = false;
    wake(*qp);
  }
}

void Requester::serve_task(void* self, std::uint64_t qpn) {
  auto& requester = *static_cast<Requester*>(self);
  Qp* const qp = requester.engine_->qps->find(static_cast<std::uint32_t>(qpn));
  if (qp != nullptr) return requester.serve(*qp);
  if (!requester.waiting_.empty()) requester.room();  // that it may have been promised
}

void Requester::serve(Qp& qp) {
  qp.send.serve_posted = false;
  loaded_ = nullptr;
  const bool had_room = std::exchange(qp.send.has_room, false);
  for (int packet = 0; packet < kBurstPackets; ++packet) {
    if (sends(qp.state) && send_next(qp) == Step::Sent) continue;
    // Room that nobody takes is somebody else's.
    if (had_room && packet == 0 && !waiting_.empty()) room();
    return;
  }
  wake(qp);
}

Requester::Step Requester::send_next(Qp& qp) {
  SendState& send = qp.send;
  if (send.resume_ns > engine_->deps.scheduler->now_ns()) return Step::Idle;
  send.resume_ns = 0;
  if (send.cursor == send.newest && !fetch(qp)) return Step::Idle;
  Message& message = send.at(send.cursor);
  if (qp.state == prm::QpState::SQ_DRAINING && !is_begun(send, message)) return Step::Idle;
  if (message.in_error) {
    retire(qp);
    return Step::Idle;
  }
  if (message.is_umr) return carry_out_umr(qp, message);
  if (message.packets == 0) {
    ++send.cursor;
    retire(qp);
    return Step::Sent;
  }
  if (qp.has_peer() && waits_for_priority(qp)) return Step::Idle;
  if (!has_turn(qp, message)) return Step::Idle;
  if (!engine_->wire->has_room()) {
    wait_for_room(qp);
    return Step::Idle;
  }
  return message.fetches ? send_fetch(qp, message) : send_packet(qp, message);
}

bool Requester::fetch(Qp& qp) {
  SendState& send = qp.send;
  if (qp.state != prm::QpState::RTS) return false;
  const auto available = static_cast<std::uint16_t>(send.producer - send.fetched);
  if (available == 0) return false;
  // Made when the first message is there: many a QP only receives.
  if (send.messages.empty()) send.messages.resize(qp.sq.blocks);
  // More messages than blocks: a producer index that runs ahead of the completions.
  if (send.newest - send.oldest == send.messages.size()) return false;

  const WqeFault fault = read_wqe(qp, send.fetched, available);
  if (fault == WqeFault::Unreadable) {
    send.fetched = send.producer;
    engine_->raise(prm::EventType::WQ_CATAS_ERROR, qp);
    enter_error(qp);
    return false;
  }
  Message message;
  message.first_psn = send.next_psn;
  message.wqe_index = send.fetched;
  message.wqe_blocks = static_cast<std::uint16_t>(wqe_.blocks);
  message.opcode = wqe_.opcode;
  message.signaled = (wqe_.fm_ce_se & prm::kCtrlCqUpdate) != 0;
  message.is_umr = stays_here(wqe_.opcode);
  const bool is_local = message.is_umr || wqe_.opcode == prm::WqeOpcode::NOP;
  if (fault != WqeFault::None || !is_carried(qp, wqe_.opcode)) {
    message.in_error = true;
    message.error = wqe_error::kLocalQpOperation;
  } else if (wqe_.length > most_bytes(qp) ||
             (is_fetch(wqe_.opcode) && wqe_.opcode != prm::WqeOpcode::RDMA_READ &&
              wqe_.length != kAtomicBytes)) {
    message.in_error = true;
    message.error = wqe_error::kLocalLength;
  } else if (!is_local) {
    message.length = static_cast<std::uint32_t>(wqe_.length);
    message.packets = packet_count(message.length, qp.mtu_bytes);
    message.fetches = is_fetch(wqe_.opcode);
    message.fenced = is_fenced(wqe_.fm_ce_se);
  }
  send.next_psn = message.end_psn();
  send.fetched = static_cast<std::uint16_t>(send.fetched + message.wqe_blocks);
  Message& slot = send.at(send.newest++);
  slot = message;
  loaded_ = &slot;
  return true;
}

WqeFault Requester::read_wqe(const Qp& qp, std::uint16_t index, std::uint16_t available) {
  if (!qp.sq.is_of_device)
    return read_send_wqe(*engine_->deps.dma, qp.sq, qp.qpn, index, available, wqe_);
  qp.tagged->write_wqe(index, wqe_);
  return WqeFault::None;
}

/// The WQE of `message` is in wqe_ and still says what it said when it was fetched.
bool Requester::load(Qp& qp, const Message& message) {
  if (loaded_ == &message) return true;
  loaded_ = nullptr;
  const WqeFault fault = read_wqe(qp, message.wqe_index, message.wqe_blocks);
  if (fault != WqeFault::None || wqe_.opcode != message.opcode || wqe_.length != message.length)
    return false;
  loaded_ = &message;
  return true;
}

/// The next packet goes where the WQE in wqe_ says.
bool Requester::address(Qp& qp) const {
  return set_address(qp, address_of(wqe_), *engine_->deps.port);
}

Requester::Step Requester::send_packet(Qp& qp, Message& message) {
  SendState& send = qp.send;
  const std::uint64_t offset = std::uint64_t{send.cursor_packet} * qp.mtu_bytes;
  const auto bytes =
      static_cast<std::size_t>(std::min<std::uint64_t>(qp.mtu_bytes, message.length - offset));
  const bool last = send.cursor_packet + 1 == message.packets;

  PacketHeader header;
  header.opcode = packet_opcode(message.opcode, send.cursor_packet == 0, last);
  header.psn = psn_add(message.first_psn, send.cursor_packet);
  header.ack_request = qp.is_reliable() && wants_ack(qp, message, last);
  if (!sends(qp.state)) return Step::Idle;
  const bool loaded = load(qp, message) && (qp.has_peer() || address(qp));
  if (loaded && qp.is_datagram() && waits_for_priority(qp)) return Step::Idle;
  const auto payload =
      engine_->wire->next_buffer().subspan(qp.frame.payload_offset(header.opcode), bytes);
  if (!loaded || !gather(qp, offset, payload)) {
    message.in_error = true;
    message.error = loaded ? wqe_error::kLocalProtection : wqe_error::kLocalQpOperation;
    retire(qp);
    return Step::Idle;
  }
  header.va = wqe_.raddr;
  header.rkey = wqe_.rkey;
  header.dma_length = message.length;
  header.immediate = wqe_.immediate;
  header.xrc_srqn = wqe_.xrc_srqn;
  if (qp.is_datagram()) {
    header.q_key = q_key_of(address_of(wqe_), qp.q_key);
    header.source_qpn = qp.wire_qpn;
  }
  header.solicited = last && message.opcode != prm::WqeOpcode::RDMA_WRITE &&
                     (wqe_.fm_ce_se & prm::kCtrlSolicited) != 0;
  engine_->transmit(qp, header, bytes);

  send.unrequested = header.ack_request || !qp.is_reliable() ? 0 : send.unrequested + 1;
  note_sent(qp, header.psn, psn_add(header.psn, 1));
  if (last) {
    ++send.cursor;
    send.cursor_packet = 0;
  } else {
    ++send.cursor_packet;
  }
  // Nobody will say that it came.
  if (!qp.is_reliable()) {
    acknowledge(qp, send.sent_end_psn);
    check_drained(qp);
  }
  return Step::Sent;
}

/// A request went out whose answers end before `end_psn`.
void Requester::note_sent(Qp& qp, std::uint32_t psn, std::uint32_t end_psn) {
  SendState& send = qp.send;
  if (psn_distance(psn, send.sent_end_psn) < 0) {
    ++engine_->deps.counters->retransmissions;
  } else {
    send.sent_end_psn = end_psn;
  }
  if (send.deadline_ns == 0) start_waiting(qp);
}

/// The end of a signaled message asks, and so does the last packet that can be sent now, or nobody
/// would ever answer; between them every 2^log_ack_req_freq, and in any case before the window is
/// full. May fetch the next WQE to know.
bool Requester::wants_ack(Qp& qp, const Message& message, bool last) {
  SendState& send = qp.send;
  const std::uint32_t most = std::min<std::uint32_t>(1U << qp.log_ack_req_freq, kWindowPackets / 2);
  if (send.unrequested + 1 >= most) return true;
  if (!last) return false;
  if (message.signaled) return true;
  if (qp.state == prm::QpState::SQ_DRAINING) return true;
  const std::uint32_t next = send.cursor + 1;
  if (next == send.newest && !fetch(qp)) return true;
  return send.at(next).in_error || send.at(next).packets == 0;
}

/// The key is checked for every packet, a repeated one included.
bool Requester::gather(Qp& qp, std::uint64_t offset, std::span<std::byte> out) {
  for (const WqePiece& piece : std::span(wqe_.pieces).first(wqe_.piece_count)) {
    if (out.empty()) break;
    if (offset >= piece.bytes) {
      offset -= piece.bytes;
      continue;
    }
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(piece.bytes - offset, out.size()));
    if (piece.is_inline) {
      std::memcpy(out.data(), wqe_.bytes.data() + piece.at + offset, bytes);
    } else {
      const std::uint64_t va = piece.at + offset;
      // A REG_UMR QP has no PD (create_kernel_qp of mlx5_ib/qp.c sets none), its lists have one.
      const std::uint32_t pd = qp.reg_umr ? engine_->deps.mkeys->current_pd(piece.lkey) : qp.pd;
      const KeyUse use{piece.lkey, pd, qp.qpn, va, bytes, access::kLocalRead, qp.rlky};
      if (engine_->deps.mkeys->check(use) != KeyCheck::Ok) return false;
      std::byte* to = out.data();
      const auto read = [&](const Extents& where) {
        const bool is_read = engine_->deps.dma->read_payload(where, to);
        to += where.bytes();
        return is_read;
      };
      if (!engine_->deps.mkeys->translate_all(piece.lkey, va, bytes, read) &&
          !gather_signed(qp, piece.lkey, va, out.first(bytes)))
        return false;
    }
    out = out.subspan(bytes);
    offset = 0;
  }
  return out.empty();
}

void Requester::handle(Qp& qp, const Packet& packet) {
  SendState& send = qp.send;
  // Of what was never sent, or was acknowledged before: a ghost. But a READ that is refused in its
  // middle may be refused by its first PSN (acknowledge() of rxe_resp.c).
  const bool is_response = packet.operation() != BthOpcode::Acknowledge;
  const bool is_early = psn_distance(packet.psn, send.unacked_psn) < 0 &&
                        (is_response || (packet.syndrome & syndrome::kTypeMask) != syndrome::kNak ||
                         packet.syndrome == syndrome::kNakPsnSequenceError ||
                         send.oldest == send.newest || !send.at(send.oldest).fetches ||
                         psn_distance(packet.psn, send.at(send.oldest).first_psn) < 0);
  if (!sends(qp.state) || is_early || psn_distance(packet.psn, send.sent_end_psn) >= 0) {
    ++engine_->deps.counters->frames_dropped;
    return;
  }
  if (is_response) {
    handle_data(qp, packet);
  } else {
    handle_acknowledge(qp, packet);
  }
}

void Requester::handle_acknowledge(Qp& qp, const Packet& packet) {
  switch (packet.syndrome & syndrome::kTypeMask) {
    case syndrome::kAck:
      static_cast<void>(acknowledge_up_to(qp, psn_add(packet.psn, 1)));
      if (sends(qp.state) && has_work(qp.send)) wake(qp);
      return check_drained(qp);
    case syndrome::kNak:
      return handle_nak(qp, packet);
    case syndrome::kRnrNak:
      return handle_rnr_nak(qp, packet);
    default:
      ++engine_->deps.counters->frames_dropped;
  }
}

bool Requester::acknowledge_up_to(Qp& qp, std::uint32_t psn) {
  SendState& send = qp.send;
  const std::uint32_t reached = reach(send, psn);
  acknowledge(qp, reached);
  if (reached == psn) return true;
  ++qp.counters->implied_nak_seq_err;
  // A later answer says that this one is lost, unless it is still on its way back to us.
  if (!std::exchange(send.gap_retried, true)) retry(qp);
  return false;
}

void Requester::handle_nak(Qp& qp, const Packet& packet) {
  if (!acknowledge_up_to(qp, packet.psn)) return;
  switch (packet.syndrome) {
    case syndrome::kNakPsnSequenceError:
      ++qp.counters->packet_seq_err;
      return retry(qp);
    case syndrome::kNakInvalidRequest:
      return fail_oldest(qp, wqe_error::kRemoteInvalidRequest);
    case syndrome::kNakRemoteAccessError:
      return fail_oldest(qp, wqe_error::kRemoteAccess);
    default:  // operational error, and codes that are none, as rxe takes them
      return fail_oldest(qp, wqe_error::kRemoteOperation);
  }
}

void Requester::handle_rnr_nak(Qp& qp, const Packet& packet) {
  constexpr std::uint32_t kForEver = 7;
  if (!acknowledge_up_to(qp, packet.psn)) return;
  SendState& send = qp.send;
  if (!sends(qp.state)) return;
  if (qp.rnr_retry != kForEver && send.rnr_retries++ >= qp.rnr_retry)
    return fail_oldest(qp, wqe_error::kRnrRetryExceeded);
  ++qp.counters->rnr_nak_retry_err;
  Scheduler& scheduler = *engine_->deps.scheduler;
  send.resume_ns = scheduler.now_ns() + rnr_timer_ns(packet.syndrome & ~syndrome::kTypeMask & 0xff);
  send.deadline_ns = 0;  // the transport timer rests until packets go out again
  go_back(send);
  static_cast<void>(scheduler.schedule(send.resume_ns, Task{&Requester::serve_task, this, qp.qpn}));
}

void Requester::acknowledge(Qp& qp, std::uint32_t psn) {
  SendState& send = qp.send;
  if (psn_distance(psn, send.unacked_psn) <= 0) return;
  send.unacked_psn = psn;
  send.retries = 0;
  send.rnr_retries = 0;
  send.gap_retried = false;
  send.deadline_ns = 0;
  if (psn != send.sent_end_psn) start_waiting(qp);
  retire(qp);
}

void Requester::retire(Qp& qp) {
  SendState& send = qp.send;
  while (send.oldest != send.newest) {
    const Message message = send.at(send.oldest);
    if (message.in_error) return fail_oldest(qp, message.error);
    if (psn_distance(send.unacked_psn, message.end_psn()) < 0) break;
    if (message.is_umr && static_cast<std::int32_t>(send.cursor - send.oldest) <= 0) break;
    ++send.oldest;
    if (message.under_way) {
      --send.fetching;
      send.fetching_psns -= message.packets;
    }
    if (message.signaled && !complete(qp, message)) {
      ++qp.counters->cq_overflow;
      return enter_error(qp);
    }
  }
  align_cursor(send);
}

void Requester::resume(Qp& qp) {
  if (has_work(qp.send)) wake(qp);
}

void Requester::drain(Qp& qp) {
  SendState& send = qp.send;
  // The last packet did not ask for an answer if another message was to follow: once more.
  if (send.unrequested != 0 && send.cursor_packet == 0) {
    go_back(send);
    wake(qp);
  }
  check_drained(qp);
}

void Requester::check_drained(Qp& qp) {
  SendState& send = qp.send;
  if (qp.state != prm::QpState::SQ_DRAINING || send.cursor_packet != 0 ||
      send.unacked_psn != send.sent_end_psn)
    return;
  if (send.oldest != send.newest && send.at(send.oldest).has_changed_key) return;
  stop(qp);
  forget_fetched(send);
  qp.state = prm::QpState::SQD;
  engine_->raise(prm::EventType::SQ_DRAINED, qp);
}

void Requester::fail_oldest(Qp& qp, const WqeError& error) {
  SendState& send = qp.send;
  if (!sends(qp.state) || send.oldest == send.newest) return;
  const Message message = send.at(send.oldest++);
  complete_in_error(qp, message.wqe_index, message.opcode, error);
  if (qp.is_reliable()) return enter_error(qp);
  enter_send_error(qp);
}

/// The receive half goes on. What was begun counts as sent: the peer starts with the next message.
void Requester::enter_send_error(Qp& qp) {
  SendState& send = qp.send;
  qp.state = prm::QpState::SQER;
  stop(qp);
  flush(qp);
  send.next_psn = send.unacked_psn = send.sent_end_psn;
}

void Requester::enter_error(Qp& qp) {
  if (qp.state == prm::QpState::ERR) return;
  qp.state = prm::QpState::ERR;
  engine_->doorbells->listen(qp, true);
  stop(qp);
  flush(qp);
  flush_lane(*engine_, qp);
  flush_receives(*engine_, qp);
  engine_->error_receives->add(qp);
}

void Requester::flush(Qp& qp) {
  SendState& send = qp.send;
  while (send.oldest != send.newest) {
    const Message message = send.at(send.oldest++);
    complete_in_error(qp, message.wqe_index, message.opcode, wqe_error::kFlush);
  }
  send.cursor = send.newest;
  send.cursor_packet = 0;
  send.fetching = send.fetching_psns = 0;
  loaded_ = nullptr;
  while (send.fetched != send.producer) {
    const auto available = static_cast<std::uint16_t>(send.producer - send.fetched);
    const WqeFault fault = read_wqe(qp, send.fetched, available);
    if (fault == WqeFault::Unreadable) {
      send.fetched = send.producer;
      return;
    }
    complete_in_error(qp, send.fetched, wqe_.opcode, wqe_error::kFlush);
    send.fetched = static_cast<std::uint16_t>(send.fetched + wqe_.blocks);
  }
}

bool Requester::complete(const Qp& qp, const Message& message) {
  if (qp.sq.is_of_device) return complete_rendezvous(qp, message);
  Completion completion;
  completion.opcode = prm::CqeOpcode::REQ;
  completion.wqe_opcode = prm::number(message.opcode);
  completion.wqe_counter = message.wqe_index;
  completion.qpn = qp.qpn;
  completion.user_index = qp.user_index;
  completion.byte_cnt = message.length;
  return engine_->deps.cqs->complete(qp.cqn_snd, completion, engine_->deps.scheduler->now_ns());
}

void Requester::complete_in_error(const Qp& qp, std::uint16_t wqe_index, prm::WqeOpcode opcode,
                                  const WqeError& error) {
  qp.counters->count_request_error(error.syndrome);
  if (qp.sq.is_of_device) return fail_rendezvous(qp, wqe_index);
  Completion completion;
  completion.opcode = prm::CqeOpcode::REQ_ERR;
  completion.wqe_opcode = prm::number(opcode);
  completion.syndrome = error.syndrome;
  completion.vendor_syndrome = error.vendor_syndrome;
  completion.wqe_counter = wqe_index;
  completion.qpn = qp.qpn;
  completion.user_index = qp.user_index;
  // A CQ without room has raised its own error; the QP is, or is going, to ERR already.
  static_cast<void>(
      engine_->deps.cqs->complete(qp.cqn_snd, completion, engine_->deps.scheduler->now_ns()));
}

}  // namespace portcullis::model
