// SPDX-License-Identifier: BSD-3-Clause
//
// READs and atomics of the requester: what comes back is data, and nothing but that data completes
// them. A response that is missing is asked for again at once, and after that when the timer says.
// rxe_comp.c of drivers/infiniband/sw/rxe: check_psn, check_ack, do_read, do_atomic; what is asked
// again starts behind what has come (req_retry of rxe_req.c).
#include <algorithm>
#include <array>
#include <bit>

#include "model/transport/requester.hpp"
#include "model/transport/wqe_error.hpp"

namespace portcullis::model {

/// An acknowledgement of everything before `psn` reaches so far: not past data that is missing.
std::uint32_t Requester::reach(const SendState& send, std::uint32_t psn) noexcept {
  if (send.fetching == 0) return psn;
  for (std::uint32_t number = send.oldest; number != send.newest; ++number) {
    const Message& message = send.at(number);
    if (psn_distance(message.first_psn, psn) >= 0) break;
    if (!message.fetches) continue;
    const bool begun = psn_distance(send.unacked_psn, message.first_psn) > 0;
    const std::uint32_t next = begun ? send.unacked_psn : message.first_psn;
    if (psn_distance(next, message.end_psn()) >= 0) continue;
    return psn_distance(next, psn) < 0 ? next : psn;
  }
  return psn;
}

/// One READ response or atomic acknowledgement.
void Requester::handle_data(Qp& qp, const Packet& packet) {
  SendState& send = qp.send;
  if (!acknowledge_up_to(qp, packet.psn) || !sends(qp.state)) return;
  if (send.oldest == send.newest) return;
  Message& message = send.at(send.oldest);
  const bool is_atomic = packet.operation() == BthOpcode::AtomicAcknowledge;
  const bool fits = message.fetches && is_atomic == (message.opcode != prm::WqeOpcode::RDMA_READ);
  const bool is_ack = !packet.info().has_aeth || (packet.syndrome & syndrome::kTypeMask) == 0;
  if (!fits || !is_ack) return fail_oldest(qp, wqe_error::kBadResponse);
  if (!load(qp, message)) return fail_oldest(qp, wqe_error::kLocalQpOperation);
  const WqeError* const error =
      is_atomic ? take_original(qp, packet) : take_response(qp, message, packet);
  if (error != nullptr) return fail_oldest(qp, *error);
  acknowledge(qp, psn_add(packet.psn, 1));
  if (sends(qp.state) && has_work(send)) wake(qp);
  check_drained(qp);
}

/// Null: it is in memory.
const WqeError* Requester::take_response(Qp& qp, const Message& message, const Packet& packet) {
  const std::uint32_t number = (packet.psn - message.first_psn) & kPsnMask;
  const bool last = number + 1 == message.packets;
  // A READ that was asked for again may begin in its middle.
  if (packet.info().end != last || (number == 0 && !packet.info().start))
    return &wqe_error::kBadResponse;
  const std::uint64_t offset = std::uint64_t{number} * qp.mtu_bytes;
  const auto bytes = std::min<std::uint64_t>(qp.mtu_bytes, message.length - offset);
  if (packet.payload.size() != bytes) return &wqe_error::kLocalLength;
  return scatter(qp, offset, packet.payload) ? nullptr : &wqe_error::kLocalProtection;
}

/// The wire is big-endian; memory is as SET_HCA_CAP of the atomic capabilities asked for
/// (handle_hca_cap_atomic of mlx5/core/main.c: "Set requestor to host endianness").
const WqeError* Requester::take_original(Qp& qp, const Packet& packet) {
  std::uint64_t value = packet.original;
  if (!*engine_->deps.host_endian_atomics) value = __builtin_bswap64(value);
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof value>>(value);
  return scatter(qp, 0, bytes) ? nullptr : &wqe_error::kLocalProtection;
}

/// What was fetched goes to the WQE's memory, `offset` bytes into the message.
bool Requester::scatter(Qp& qp, std::uint64_t offset, std::span<const std::byte> data) {
  for (const WqePiece& piece : std::span(wqe_.pieces).first(wqe_.piece_count)) {
    if (data.empty()) break;
    if (offset >= piece.bytes) {
      offset -= piece.bytes;
      continue;
    }
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(piece.bytes - offset, data.size()));
    const std::uint64_t va = piece.at + offset;
    const KeyUse use{piece.lkey, qp.pd, qp.qpn, va, bytes, access::kLocalWrite, qp.rlky};
    if (engine_->deps.mkeys->check(use) != KeyCheck::Ok) return false;
    // A PCIe write is posted: the device does not learn that an IOMMU refused it.
    const std::byte* from = data.data();
    const auto write = [&](const Extents& where) {
      static_cast<void>(engine_->deps.dma->write_payload(where, from));
      from += where.bytes();
      return true;
    };
    if (!engine_->deps.mkeys->translate_all(piece.lkey, va, bytes, write) &&
        !scatter_signed(qp, piece.lkey, va, data.first(bytes)))
      return false;
    data = data.subspan(bytes);
    offset = 0;
  }
  return data.empty();
}

/// Sends the request of a READ, or of what is missing of it, or of an atomic.
Requester::Step Requester::send_fetch(Qp& qp, Message& message) {
  SendState& send = qp.send;
  if (!load(qp, message)) {
    message.in_error = true;
    message.error = wqe_error::kLocalQpOperation;
    retire(qp);
    return Step::Idle;
  }
  PacketHeader header;
  header.ack_request = true;
  header.psn = psn_add(message.first_psn, send.cursor_packet);
  header.va = wqe_.raddr;
  header.rkey = wqe_.rkey;
  header.xrc_srqn = wqe_.xrc_srqn;
  if (message.opcode == prm::WqeOpcode::RDMA_READ) {
    const std::uint32_t done = send.cursor_packet * qp.mtu_bytes;
    header.opcode = BthOpcode::ReadRequest;
    header.va += done;
    header.dma_length = message.length - done;
  } else {
    const bool is_swap = message.opcode == prm::WqeOpcode::ATOMIC_CS;
    header.opcode = is_swap ? BthOpcode::CompareSwap : BthOpcode::FetchAdd;
    header.swap_add = wqe_.swap_add;
    header.compare = is_swap ? wqe_.compare : 0;
  }
  engine_->transmit(qp, header, 0);
  if (!message.under_way) {
    message.under_way = true;
    ++send.fetching;
    send.fetching_psns += message.packets;
  }
  note_sent(qp, header.psn, message.end_psn());
  send.unrequested = 0;
  ++send.cursor;
  send.cursor_packet = 0;
  return Step::Sent;
}

}  // namespace portcullis::model
