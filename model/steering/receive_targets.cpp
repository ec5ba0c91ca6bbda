// SPDX-License-Identifier: BSD-3-Clause
#include "model/steering/receive_targets.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "model/request.hpp"
#include "prm/doorbell.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using prm::RqState;

enum Refusal : std::uint32_t {
  kNoNumber = 0x900001,
  kNoSuchDomain,
  kNoSuchRq,
  kNoSuchTir,
  kInUse,
  kNotOffered,
  kState,
  kModifyMask,
};

/// What the capabilities do not offer, and what a queue without hairpin or striding has no use for.
bool asks_for_more(prm::ConstView<prm::rqc> c) {
  return c.get<"delay_drop_en">() != 0 || c.get<"scatter_fcs">() != 0 || c.get<"hairpin">() != 0 ||
         c.get<"rlky">() != 0 || c.get<"counter_set_id">() != 0 || c.get<"rmpn">() != 0 ||
         c.get<"hairpin_peer_sq">() != 0 || c.get<"hairpin_peer_vhca">() != 0 ||
         c.get<"mem_rq_type">() != prm::number(prm::MemRqType::MEMORY_RQ_INLINE) ||
         c.get<"wq.wq_type">() != prm::number(prm::WqType::CYCLIC) ||
         c.get<"wq.wq_signature">() != 0 || c.get<"wq.dbr_umem_valid">() != 0 ||
         c.get<"wq.wq_umem_valid">() != 0 || c.get<"wq.shampo_enable">() != 0;
}

}  // namespace

Verdict ReceiveTargets::create_rq(prm::ConstView<prm::rqc> context, std::span<const std::byte> pas,
                                  std::uint32_t& number) {
  if (asks_for_more(context)) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  if (context.get<"state">() != prm::number(RqState::RST))
    return refuse(CommandStatus::BAD_PARAM_ERR, kState);
  const RingShape shape{
      .log_stride = context.get<"wq.log_wq_stride">(),
      .min_log_stride = std::countr_zero(std::uint32_t{prm::mlx5_wqe_data_seg::bytes}),
      .log_entries = context.get<"wq.log_wq_sz">(),
      .log_page_size = context.get<"wq.log_wq_pg_sz">(),
      .page_offset = context.get<"wq.page_offset">(),
      .record = context.get<"wq.dbr_addr">()};
  Rq rq;
  if (const Verdict verdict = lay_out(shape, pas, rq.ring); !verdict.ok()) return verdict;
  rq.record = shape.record;
  rq.pd = context.get<"wq.pd">();
  rq.cqn = context.get<"cqn">();
  rq.user_index = context.get<"user_index">();
  const auto fresh = rq_ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  number = *fresh;
  rqs_.emplace(number, std::move(rq));
  return {};
}

/// RST2RDY, RDY2ERR, RST2ERR and any to RST: modify_rq of mlx5_ib/qp.c (modify_raw_packet_qp_rq)
/// and mlx5e_modify_rq_state.
Verdict ReceiveTargets::modify_rq(prm::ConstView<prm::modify_rq_in> in) {
  const auto found = rqs_.find(in.get<"rqn">());
  if (found == rqs_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchRq);
  Rq& rq = found->second;
  if (in.get<"modify_bitmask">() != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kModifyMask);
  const RqState from{static_cast<std::uint8_t>(in.get<"rq_state">())};
  const RqState to{static_cast<std::uint8_t>(in.get<"ctx.state">())};
  if (from != rq.state) return refuse(CommandStatus::BAD_RES_STATE_ERR, kState);
  const bool known = to == RqState::RST || (to == RqState::ERR && from != RqState::ERR) ||
                     (to == RqState::RDY && from == RqState::RST);
  if (!known) return refuse(CommandStatus::BAD_PARAM_ERR, kState);
  rq.state = to;
  if (to == RqState::RST) rq.consumed = 0;
  return {};
}

Verdict ReceiveTargets::destroy_rq(std::uint32_t number, std::uint32_t& pd, std::uint32_t& cqn) {
  const auto found = rqs_.find(number);
  if (found == rqs_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchRq);
  if (rq_references_.any(number)) return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  pd = found->second.pd;
  cqn = found->second.cqn;
  rqs_.erase(found);
  rq_ids_.give_back(number);
  return {};
}

Verdict ReceiveTargets::create_tir(prm::ConstView<prm::tirc> context, std::uint32_t& number) {
  if (context.get<"disp_type">() != prm::number(prm::TirDispType::DIRECT) ||
      context.get<"tls_en">() != 0 || context.get<"packet_merge_mask">() != 0 ||
      context.get<"tunneled_offload_en">() != 0 || context.get<"indirect_table">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  const Tir tir{context.get<"inline_rqn">(), context.get<"transport_domain">()};
  if (!rqs_.contains(tir.rqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchRq);
  if (!domains_.contains(tir.domain)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchDomain);
  const auto fresh = tir_ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  number = *fresh;
  tirs_.emplace(number, tir);
  rq_references_.add(tir.rqn);
  domains_.hold(tir.domain);
  return {};
}

Verdict ReceiveTargets::destroy_tir(std::uint32_t number) {
  const auto found = tirs_.find(number);
  if (found == tirs_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTir);
  rq_references_.drop(found->second.rqn);
  domains_.release(found->second.domain);
  tirs_.erase(found);
  tir_ids_.give_back(number);
  return {};
}

bool ReceiveTargets::scatter(const Rq& rq, std::span<const ReceivePiece> pieces,
                             std::span<const std::byte> frame) {
  for (const ReceivePiece& piece : pieces) {
    for (std::uint32_t done = 0; done < piece.bytes && !frame.empty();) {
      const std::uint64_t va = piece.va + done;
      const auto part = static_cast<std::uint32_t>(
          std::min<std::size_t>({piece.bytes - done, frame.size(), MkeyTable::kMaxTranslation}));
      const KeyUse use{piece.lkey, rq.pd, 0, va, part, access::kLocalWrite, false};
      const auto write = [&](const Extents& where) {
        const bool written = deps_.dma->write_payload(where, frame.data());
        frame = frame.subspan(where.bytes());
        return written;
      };
      if (deps_.mkeys->check(use) != KeyCheck::Ok ||
          !deps_.mkeys->translate_all(piece.lkey, va, part, write))
        return false;
      done += part;
    }
  }
  return true;
}

void ReceiveTargets::deliver(std::uint32_t tirn, std::span<const std::byte> frame) {
  const auto lose = [this] { ++*deps_.lost; };
  const auto tir = tirs_.find(tirn);
  if (tir == tirs_.end()) return lose();
  Rq& rq = rqs_.at(tir->second.rqn);
  if (rq.state != RqState::RDY) return lose();
  const auto posted = deps_.dma->load_be32(rq.record + prm::record_byte(prm::kRcvDbr));
  if (!posted || static_cast<std::uint16_t>(*posted - rq.consumed) == 0) return lose();
  std::vector<ReceivePiece> pieces;
  const bool readable = rq.ring.read(*deps_.dma, rq.consumed, 0, pieces);
  std::uint64_t room = 0;
  for (const ReceivePiece& piece : pieces) room += piece.bytes;
  // Too large a frame is lost and takes no receive.
  if (readable && room < frame.size()) return lose();
  Completion completion;
  completion.qpn = tir->second.rqn;
  completion.user_index = rq.user_index;
  completion.wqe_counter = rq.consumed++;
  if (readable && scatter(rq, pieces, frame)) {
    completion.opcode = prm::CqeOpcode::RESP_SEND;
    completion.byte_cnt = static_cast<std::uint32_t>(frame.size());
  } else {
    completion.opcode = prm::CqeOpcode::RESP_ERR;
    completion.syndrome = prm::CqeSyndrome::LOCAL_PROT_ERR;
    rq.state = RqState::ERR;
    lose();
  }
  if (!deps_.cqs->complete(rq.cqn, completion, deps_.scheduler->now_ns())) rq.state = RqState::ERR;
}

void ReceiveTargets::clear() {
  domains_.clear();
  rqs_.clear();
  tirs_.clear();
  rq_references_.clear();
  rq_ids_.clear();
  tir_ids_.clear();
}

}  // namespace portcullis::model
