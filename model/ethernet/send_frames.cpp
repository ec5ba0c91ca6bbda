// SPDX-License-Identifier: BSD-3-Clause
//
// From a doorbell to frames on the wire. A WQE is read anew for every frame that is made of it;
// nothing in it is trusted.
#include <algorithm>
#include <cstring>
#include <utility>

#include "model/ethernet/frame_facts.hpp"
#include "model/ethernet/ipoib.hpp"
#include "model/ethernet/priority.hpp"
#include "model/ethernet/send_queues.hpp"
#include "model/transport/frame.hpp"
#include "model/transport/wqe_error.hpp"
#include "prm/doorbell.hpp"
#include "prm/ethernet_wqe.hpp"

namespace portcullis::model {
namespace {

using prm::SqState;

/// Frames of one queue before the next one's turn.
constexpr int kFramesPerTurn = 32;
/// ETH_ZLEN: a port pads a shorter frame.
constexpr std::size_t kLeastFrame = 60;
constexpr std::size_t kBehindControl = prm::mlx5_wqe_ctrl_seg::bytes;
/// struct mlx5_wqe_eth_pad of mlx5/core/ipoib/ipoib.h, behind the address of a datagram.
constexpr std::size_t kDatagramPad = 16;
constexpr std::size_t kHeaderStart =
    prm::place<prm::mlx5_wqe_eth_seg, "inline_hdr_start">.offset / 8;
constexpr std::size_t kHeaderInSegment =
    prm::place<prm::mlx5_wqe_eth_seg, "inline_hdr_start">.width / 8;
constexpr std::uint8_t kKnownChecksums = prm::kEthL3Csum | prm::kEthL4Csum;

/// Makes what `room` begins with long enough; how long it is then.
std::size_t pad(std::span<std::byte> room, std::size_t length) noexcept {
  const std::size_t padded = std::max(length, kLeastFrame);
  std::ranges::fill(room.subspan(length, padded - length), std::byte{0});
  return padded;
}

bool is_large(prm::WqeOpcode opcode) noexcept {
  return prm::number(opcode) == prm::number(prm::EthernetWqeOpcode::LSO);
}

}  // namespace

void SendQueues::kick_uar(std::uint32_t uar) {
  for (auto& [number, sq] : sqs_) {
    if (sq.used.uar != uar || sq.state == SqState::RST) continue;
    const auto record = deps_.dma->load_be32(sq.record + prm::record_byte(prm::kSndDbr));
    if (!record || record == sq.stale_record) continue;
    sq.stale_record.reset();
    sq.producer = static_cast<std::uint16_t>(*record);
    wake(number, sq);
  }
}

void SendQueues::room() {
  for (const std::uint32_t number : std::exchange(waiting_, {})) {
    const auto found = sqs_.find(number);
    if (found != sqs_.end()) wake(number, found->second);
  }
}

void SendQueues::wake(std::uint32_t number, Sq& sq) {
  if (sq.producer == sq.cursor || std::exchange(sq.has_turn, true)) return;
  deps_.scheduler->post(Task{&SendQueues::take_turn, this, number});
}

/// A limit of 0 where there is none.
const RateLimit& SendQueues::limit_of(const Sq& sq) const {
  static constexpr RateLimit kNone;
  const std::uint32_t index = sq.context.get<"packet_pacing_rate_limit_index">();
  return deps_.rates == nullptr ? kNone : deps_.rates->at(index);
}

/// Whether the frame has to stay here until come_due().
bool SendQueues::waits(std::uint32_t number, Sq& sq, std::size_t frame_bytes) {
  const std::uint64_t due_ns =
      sq.pace.wait_until_ns(limit_of(sq), frame_bytes, deps_.scheduler->now_ns());
  if (due_ns == 0) return false;
  if (!sq.due)
    sq.due = deps_.scheduler->schedule(due_ns, Task{&SendQueues::come_due, this, number});
  return true;
}

void SendQueues::come_due(void* self, std::uint64_t number) {
  auto& queues = *static_cast<SendQueues*>(self);
  const auto found = queues.sqs_.find(static_cast<std::uint32_t>(number));
  if (found == queues.sqs_.end()) return;
  found->second.due.reset();
  queues.wake(found->first, found->second);
}

void SendQueues::restart_pace(std::uint32_t number, Sq& sq) {
  if (sq.due) deps_.scheduler->cancel(*sq.due);
  sq.due.reset();
  sq.pace.restart();
  wake(number, sq);
}

void SendQueues::rate_changed(std::uint32_t index) {
  for (auto& [number, sq] : sqs_)
    if (sq.context.get<"packet_pacing_rate_limit_index">() == index) restart_pace(number, sq);
}

void SendQueues::take_turn(void* self, std::uint64_t number) {
  auto& queues = *static_cast<SendQueues*>(self);
  const auto found = queues.sqs_.find(static_cast<std::uint32_t>(number));
  if (found == queues.sqs_.end()) return;
  Sq& sq = found->second;
  sq.has_turn = false;
  Step step = Step::Done;
  for (int i = 0; i < kFramesPerTurn && step == Step::Done; ++i)
    step = queues.step(found->first, sq);
  // A kick may have woken it before there was room: it waits once.
  std::vector<std::uint32_t>& waiting = queues.waiting_;
  if (step == Step::NoRoom && std::ranges::find(waiting, found->first) == waiting.end())
    waiting.push_back(found->first);
  if (step == Step::Done) queues.wake(found->first, sq);
}

SendQueues::Step SendQueues::step(std::uint32_t number, Sq& sq) {
  const auto posted = static_cast<std::uint16_t>(sq.producer - sq.cursor);
  if (posted == 0 || sq.state == SqState::RST) return Step::Idle;
  if (sq.state == SqState::ERR) return flush(number, sq);
  const WqeFault fault = posted > sq.memory.blocks ? WqeFault::Unreadable
                                                   : fetch_send_wqe(*deps_.dma, sq.memory, number,
                                                                    sq.cursor, posted, wqe_);
  if (fault == WqeFault::Unreadable) {
    // A record that is no producer index, or memory that is gone: nothing can be said of any WQE.
    sq.state = SqState::ERR;
    sq.cursor = sq.producer;
    return Step::Idle;
  }
  if (fault != WqeFault::None) return fail(number, sq, wqe_error::kLocalQpOperation);
  if (wqe_.opcode == prm::WqeOpcode::NOP) {
    finish(number, sq);
    return Step::Done;
  }
  Work work;
  const std::size_t address = sq.underlay_qpn != 0 ? prm::mlx5_wqe_av::bytes + kDatagramPad : 0;
  if (sq.tisn == 0 || !parse(work, kBehindControl + address))
    return fail(number, sq, wqe_error::kLocalQpOperation);
  return sq.underlay_qpn != 0 ? send_datagram(number, sq, work) : send(number, sq, work);
}

/// One WQE of a queue in error.
SendQueues::Step SendQueues::flush(std::uint32_t number, Sq& sq) {
  const auto posted = static_cast<std::uint16_t>(sq.producer - sq.cursor);
  if (!sq.flushes || posted > sq.memory.blocks) return Step::Idle;
  if (fetch_send_wqe(*deps_.dma, sq.memory, number, sq.cursor, posted, wqe_) ==
      WqeFault::Unreadable)
    return Step::Idle;
  complete(number, sq, &wqe_error::kFlush);
  sq.cursor = static_cast<std::uint16_t>(sq.cursor + wqe_.blocks);
  return Step::Done;
}

/// The WQE in wqe_. False: it contradicts itself, or asks for what is not offered.
bool SendQueues::parse(Work& work, std::size_t segment_at) {
  const bool large = is_large(wqe_.opcode);
  if ((!large && wqe_.opcode != prm::WqeOpcode::SEND) ||
      wqe_.end < segment_at + prm::mlx5_wqe_eth_seg::bytes)
    return false;
  const auto segment =
      prm::ConstView<prm::mlx5_wqe_eth_seg>::at(std::span<const std::byte>(wqe_.bytes), segment_at);
  work.cs_flags = static_cast<std::uint8_t>(segment.get<"cs_flags">());
  work.metadata = segment.get<"flow_table_metadata">();
  if ((work.cs_flags & ~kKnownChecksums) != 0 || segment.get<"swp_flags">() != 0) return false;
  const std::uint32_t size = segment.get<"inline_hdr_sz">();
  std::size_t next = segment_at + prm::mlx5_wqe_eth_seg::bytes;
  if ((size & prm::kEthInsertVlan) != 0) {
    const std::uint32_t ethertype = (size & prm::kEthSvlan) != 0 ? kEthertypeSvlan : kEthertypeVlan;
    work.tag = ethertype << 16 | segment.get<"inline_hdr_start">();
  } else {
    work.header_at = segment_at + kHeaderStart;
    work.header_bytes = size;
    const std::size_t behind = size - std::min<std::size_t>(size, kHeaderInSegment);
    constexpr std::size_t kUnit = prm::kWqeOctowordBytes;
    next += (behind + kUnit - 1) / kUnit * kUnit;
  }
  if (large) {
    work.mss = segment.get<"mss">();
    if (work.mss == 0 || work.header_bytes == 0) return false;
  }
  return next <= wqe_.end && parse_pieces(wqe_, next, wqe_.end);
}

/// Bytes [offset, offset + to.size()) of the data that wqe_ names. False: a key does not allow it.
bool SendQueues::gather(const Sq& sq, std::uint64_t offset, std::span<std::byte> to) {
  for (const WqePiece& piece : std::span(wqe_.pieces).first(wqe_.piece_count)) {
    if (to.empty()) break;
    if (offset >= piece.bytes) {
      offset -= piece.bytes;
      continue;
    }
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(piece.bytes - offset, to.size()));
    const std::uint64_t from = piece.at + offset;
    offset = 0;
    if (piece.is_inline) {
      std::memcpy(to.data(), &wqe_.bytes[from], bytes);
      to = to.subspan(bytes);
      continue;
    }
    for (std::uint32_t done = 0; done < bytes;) {
      const std::uint32_t part = std::min(bytes - done, MkeyTable::kMaxTranslation);
      const KeyUse use{piece.lkey,
                       sq.used.pd,
                       0,
                       from + done,
                       part,
                       access::kLocalRead,
                       sq.may_use_reserved_key};
      const auto read = [&](const Extents& where) {
        const bool is_there = deps_.dma->read_payload(where, to.data());
        to = to.subspan(where.bytes());
        return is_there;
      };
      if (deps_.mkeys->check(use) != KeyCheck::Ok ||
          !deps_.mkeys->translate_all(piece.lkey, from + done, part, read))
        return false;
      done += part;
    }
  }
  return to.empty();
}

/// How much of the WQE's data the next frame has; sq.segment knows whether that is the last one.
std::uint32_t SendQueues::take_part(Sq& sq, const Work& work) const noexcept {
  const auto left = static_cast<std::uint32_t>(wqe_.length) - sq.segment.offset;
  const std::uint32_t part = work.mss == 0 ? left : std::min(left, work.mss);
  sq.segment.is_last = part == left;
  return part;
}

/// The next frame of the WQE in wqe_, from `front` on in `frame`, as its driver wants it finished.
/// The error, or null.
const WqeError* SendQueues::build(const Sq& sq, const Work& work, std::span<std::byte> frame,
                                  std::size_t front) {
  if (work.header_bytes != 0)
    std::memcpy(&frame[front], &wqe_.bytes[work.header_at], work.header_bytes);
  if (!gather(sq, sq.segment.offset, frame.subspan(front + work.header_bytes)))
    return &wqe_error::kLocalProtection;
  const std::uint32_t ipoib = front != 0 ? make_ethernet(frame) : 0;
  std::uint8_t checksums = work.cs_flags;
  if (work.mss != 0) {
    if (!make_segment(frame, front + work.header_bytes, sq.segment))
      return &wqe_error::kLocalQpOperation;
    checksums = kKnownChecksums;
  }
  fill_checksums(frame, checksums);
  if (front != 0) make_ipoib(frame, ipoib);
  return nullptr;
}

/// `part` bytes of the WQE in wqe_ are on their way.
SendQueues::Step SendQueues::go_on(std::uint32_t number, Sq& sq, std::uint32_t part) {
  sq.segment.offset += part;
  ++sq.segment.number;
  if (sq.segment.is_last) finish(number, sq);
  return Step::Done;
}

/// The next datagram of the WQE in wqe_: a payload of IP over InfiniBand.
SendQueues::Step SendQueues::send_datagram(std::uint32_t number, Sq& sq, const Work& work) {
  if (work.tag) return fail(number, sq, wqe_error::kLocalQpOperation);
  if (wqe_.length > std::uint64_t{1} << kLogMaxLso)
    return fail(number, sq, wqe_error::kLocalLength);
  if (outlet_->next().empty()) return Step::NoRoom;
  const std::uint32_t part = take_part(sq, work);
  const std::size_t bytes = work.header_bytes + part;
  if (bytes < kIpoibHeaderBytes || bytes > kMaxMtuBytes)
    return fail(number, sq, wqe_error::kLocalLength);
  datagram_.resize(kIpoibShift + bytes);
  const std::span<std::byte> frame(datagram_);
  if (const WqeError* const error = build(sq, work, frame, kIpoibShift); error != nullptr)
    return fail(number, sq, *error);
  const auto address =
      prm::ConstView<prm::mlx5_wqe_av>::at(std::span<const std::byte>(wqe_.bytes), kBehindControl);
  if (!outlet_->send_datagram({sq.underlay_qpn, address, frame.subspan(kIpoibShift),
                               (wqe_.fm_ce_se & prm::kCtrlSolicited) != 0}))
    return fail(number, sq, wqe_error::kLocalQpOperation);
  return go_on(number, sq, part);
}

/// What a frame without a tag goes as. tisc.prio has it one bit higher: mlx5e_create_tises of
/// mlx5/core/en_main.c writes `tc << 1`.
std::uint8_t SendQueues::priority_of_tis(const Sq& sq) const {
  const auto tis = tiss_.find(sq.tisn);
  return tis == tiss_.end() ? std::uint8_t{0}
                            : static_cast<std::uint8_t>(tis->second.get<"prio">() >> 1 & 7);
}

/// The first `length` bytes of `room` go out, or what flow tables make of them. That a frame which
/// these made too long for the port is lost, as one of a driver is, is a hypothesis.
void SendQueues::launch(const Sq& sq, std::span<std::byte> room, std::size_t length,
                        const FrameSender& sender) {
  const auto steered = outlet_->steer(room, length, sender);
  if (!steered) return;
  if (*steered > deps_.port->most_frame_bytes()) return deps_.counters->count_send_discard();
  const auto frame = room.first(pad(room, *steered));
  deps_.counters->count_sent(frame, priority_of(frame, *deps_.port, priority_of_tis(sq)));
  outlet_->send(frame.size(), sq.domain);
}

/// The next frame of the WQE in wqe_.
SendQueues::Step SendQueues::send(std::uint32_t number, Sq& sq, const Work& work) {
  if (wqe_.length > std::uint64_t{1} << kLogMaxLso)
    return fail(number, sq, wqe_error::kLocalLength);
  const std::uint32_t part = take_part(sq, work);
  const std::size_t untagged = work.header_bytes + part;
  const std::size_t tag = work.tag ? kVlanTagBytes : 0;
  if (untagged < kEthernetBytes) return fail(number, sq, wqe_error::kLocalLength);
  const std::size_t length = untagged + tag;
  if (length > kMaxFrameBytes || length > deps_.port->most_frame_bytes()) {
    deps_.counters->count_send_discard();
  } else {
    const std::size_t padded = std::max(length, kLeastFrame);
    if (waits(number, sq, padded)) return Step::NotDue;
    const std::span<std::byte> room = outlet_->next();
    if (room.empty()) return Step::NoRoom;
    // A tag goes in behind the addresses, so the frame is built that far to the right.
    const auto frame = room.subspan(tag, untagged);
    if (const WqeError* const error = build(sq, work, frame, 0); error != nullptr)
      return fail(number, sq, *error);
    if (work.tag) {
      std::memmove(room.data(), frame.data(), 2 * kMacBytes);
      prm::detail::store_dword(&room[2 * kMacBytes], *work.tag);
    }
    if (outlet_->is_paused(room.first(pad(room, length)), priority_of_tis(sq))) return Step::NoRoom;
    sq.pace.spend(limit_of(sq), padded, deps_.scheduler->now_ns());
    launch(sq, room, padded, {number, work.metadata});
  }
  return go_on(number, sq, part);
}

/// The WQE in wqe_ is over.
void SendQueues::finish(std::uint32_t number, Sq& sq) {
  if ((wqe_.fm_ce_se & prm::kCtrlCqUpdate) != 0) complete(number, sq, nullptr);
  sq.cursor = static_cast<std::uint16_t>(sq.cursor + wqe_.blocks);
  sq.segment = {};
}

/// `error` is null for success.
void SendQueues::complete(std::uint32_t number, Sq& sq, const WqeError* error) {
  Completion completion;
  completion.wqe_opcode = prm::number(wqe_.opcode);
  completion.wqe_counter = sq.cursor;
  completion.qpn = number;
  completion.user_index = sq.user_index;
  if (error != nullptr) {
    completion.opcode = prm::CqeOpcode::REQ_ERR;
    completion.syndrome = error->syndrome;
    completion.vendor_syndrome = error->vendor_syndrome;
  }
  if (!deps_.cqs->complete(sq.used.cqn, completion, deps_.scheduler->now_ns()))
    sq.state = SqState::ERR;
}

SendQueues::Step SendQueues::fail(std::uint32_t number, Sq& sq, const WqeError& error) {
  complete(number, sq, &error);
  sq.state = SqState::ERR;
  sq.cursor = static_cast<std::uint16_t>(sq.cursor + wqe_.blocks);
  sq.segment = {};
  return Step::Done;
}

}  // namespace portcullis::model
