// SPDX-License-Identifier: BSD-3-Clause
//
// What send queues do for tag matching: a command QP changes its list (mlx5_post_srq_ops of
// rdma-core's mlx5/qp.c, create_cmd_qp of verbs.c), and the device's own send queue of a queue pair
// fetches what rendezvous requests name and tells the peer.
//
// A change completes by itself, on the CQ of the shared receive queue, when it asks for that. One
// that the list refuses, or that is none, ends in LOCAL_QP_OP_ERR as any WQE does that contradicts
// itself: that a card does so is a hypothesis.
#include <algorithm>

#include "model/transport/requester.hpp"
#include "model/transport/tag_completions.hpp"
#include "model/transport/wqe_error.hpp"

namespace portcullis::model {
namespace {

struct Change {
  prm::CqeAppOp op{};
  bool is_known = true;
  bool is_done = true;
};

/// The segments in `bytes`, which are there.
Change apply(TagList& list, std::span<const std::byte> bytes) {
  constexpr std::size_t kAt = prm::mlx5_wqe_ctrl_seg::bytes;
  const auto segment = prm::ConstView<prm::mlx5_wqe_tm_seg>::at(bytes, kAt);
  const auto index = static_cast<std::uint16_t>(segment.get<"index">());
  switch (prm::tm_opcode(segment.get<"opcode">())) {
    case prm::TmOpcode::NOP:
      return {prm::CqeAppOp::TM_NOOP};
    case prm::TmOpcode::REMOVE:
      return {prm::CqeAppOp::TM_REMOVE, true, list.remove(index)};
    case prm::TmOpcode::APPEND: {
      const auto data =
          prm::ConstView<prm::mlx5_wqe_data_seg>::at(bytes, kAt + prm::mlx5_wqe_tm_seg::bytes);
      const ReceivePiece piece{static_cast<std::uint32_t>(data.get<"byte_count">()),
                               static_cast<std::uint32_t>(data.get<"lkey">()), data.get<"addr">()};
      const bool is_known =
          (piece.bytes & prm::kInlineSeg) == 0 &&
          list.append({segment.get<"append_tag">(), segment.get<"append_mask">(), piece}, index);
      return {prm::CqeAppOp::TM_APPEND, is_known};
    }
  }
  return {{}, false};
}

}  // namespace

/// The change in wqe_; nothing when it was carried out. A count that it brings holds for it, too.
const WqeError* Requester::change_tags(const Qp& qp, const Message& message) {
  const std::span<const std::byte> bytes(wqe_.bytes);
  const auto segment =
      prm::ConstView<prm::mlx5_wqe_tm_seg>::at(bytes, prm::mlx5_wqe_ctrl_seg::bytes);
  TagList& list = *qp.tagged->list;
  const auto flags = segment.get<"flags">();
  if ((flags & prm::kTmSwCnt) != 0)
    list.synchronize(static_cast<std::uint16_t>(segment.get<"sw_cnt">()));
  const Change change = apply(list, bytes);
  if (!change.is_known) return &wqe_error::kLocalQpOperation;
  if ((flags & prm::kTmCqeReq) == 0) return nullptr;
  prm::Buffer<prm::mlx5_tm_cqe> head;
  head.put<"success">(change.is_done ? prm::kTmcSuccess : 0).put<"hw_phase_cnt">(list.hw_phase());
  TagReport report{change.op, static_cast<std::uint16_t>(segment.get<"index">()), {}};
  std::ranges::copy(head.all().first(report.head.size()), report.head.begin());
  Completion completion = tag_completion(qp, prm::CqeOpcode::NO_PACKET, report);
  completion.wqe_counter = message.wqe_index;
  const bool is_said = engine_->deps.cqs->complete(qp.receive_owner().cqn, completion,
                                                   engine_->deps.scheduler->now_ns());
  return is_said ? nullptr : &wqe_error::kLocalQpOperation;
}

void Requester::begin_rendezvous(Qp& qp, const Rendezvous& rendezvous) {
  const std::uint16_t at = qp.send.producer;
  qp.tagged->put(at, rendezvous);
  ring(qp, static_cast<std::uint16_t>(at + 2));
}

/// A request of the device's send queue is done: the data is there, or the peer has heard of it.
bool Requester::complete_rendezvous(const Qp& qp, const Message& message) {
  if (!TaggedQp::is_read(message.wqe_index)) {
    qp.tagged->release();
    return true;
  }
  const TagReport report{prm::CqeAppOp::TM_EXPECTED, qp.tagged->at(message.wqe_index).index, {}};
  Completion completion = tag_completion(qp, prm::CqeOpcode::RESP_SEND, report);
  completion.byte_cnt = message.length;
  return engine_->deps.cqs->complete(qp.receive_owner().cqn, completion,
                                     engine_->deps.scheduler->now_ns());
}

/// That the peer was not told nobody hears of but by the state of the queue pair.
void Requester::fail_rendezvous(const Qp& qp, std::uint16_t index) const {
  if (!TaggedQp::is_read(index)) return qp.tagged->release();
  cancel_entry(*engine_, qp, qp.tagged->at(index).index);
}

}  // namespace portcullis::model
