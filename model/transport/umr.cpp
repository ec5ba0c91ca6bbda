// SPDX-License-Identifier: BSD-3-Clause
//
// UMR: a WQE that changes a memory key, and SET_PSV, which changes what the signatures of one begin
// with (model/psv_table.hpp) and has its turn as a UMR has, as has a change of a tag list
// (requester_tagged.cpp). LOCAL_INV is one that only frees
// (set_linv_wr of mlx5_ib/wr.c). It is carried out when every WQE before it is complete, as rxe
// demands of LOCAL_INV (rxe_wqe_is_fenced), and completes when no DMA is pending under the key:
// mlx5r_umr_revoke_mr promises that (assumption A2, behaviour a2-off). New packets meet the key as
// it is now at once.
//
// A UMR that the key does not admit ends in MW_BIND_ERR, one whose translations cannot be read in
// LOCAL_PROT_ERR, one that contradicts itself in LOCAL_QP_OP_ERR: which of them a card uses for
// what is not published. The QP goes to ERR (mlx5r_umr_recover brings it back).
#include <algorithm>
#include <utility>

#include "model/behaviours.hpp"
#include "model/psv_table.hpp"
#include "model/reserved.hpp"
#include "model/transport/requester.hpp"
#include "model/transport/wqe_error.hpp"
#include "prm/block_signature.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {

Requester::Step Requester::carry_out_umr(Qp& qp, Message& message) {
  SendState& send = qp.send;
  if (send.cursor != send.oldest) return Step::Idle;
  if (!message.has_changed_key) {
    if (!load(qp, message)) return fail_umr(qp, message, wqe_error::kLocalQpOperation);
    if (const WqeError* const error = carry_out(qp, message)) return fail_umr(qp, message, *error);
    message.umr_key = message.opcode == prm::WqeOpcode::UMR ? wqe_.immediate : 0;
    message.has_changed_key = true;
  }
  if (!engine_->deps.behaviours->a2_off &&
      engine_->deps.mkeys->has_pending_dma(message.umr_key >> 8)) {
    waiting_for_dma_.push_back(qp.qpn);
    return Step::Idle;
  }
  ++send.cursor;
  retire(qp);
  check_drained(qp);
  return Step::Sent;
}

/// The WQE in wqe_; nothing when it was carried out.
const WqeError* Requester::carry_out(Qp& qp, const Message& message) {
  if (message.opcode == prm::WqeOpcode::TAG_MATCHING) return change_tags(qp, message);
  return message.opcode == prm::WqeOpcode::UMR ? change_key(qp) : set_psv(qp);
}

Requester::Step Requester::fail_umr(Qp& qp, Message& message, const WqeError& error) {
  message.in_error = true;
  message.error = error;
  retire(qp);
  return Step::Idle;
}

void Requester::keys_idle() {
  for (const std::uint32_t qpn : std::exchange(waiting_for_dma_, {})) {
    if (Qp* const qp = engine_->qps->find(qpn)) wake(*qp);
  }
}

/// The UMR in wqe_; nothing when it was carried out.
const WqeError* Requester::change_key(Qp& qp) {
  const std::span<const std::byte> bytes(wqe_.bytes);
  const auto segment =
      bytes.subspan<prm::mlx5_wqe_ctrl_seg::bytes, prm::mlx5_wqe_umr_ctrl_seg::bytes>();
  const prm::ConstView<prm::mlx5_wqe_umr_ctrl_seg> control{segment};
  const auto flags = static_cast<std::uint8_t>(control.get<"flags">());
  const auto octowords = static_cast<std::uint32_t>(control.get<"klm_octowords">());
  // One field for two numbers (the union of mlx5_wqe_umr_ctrl_seg in qp.h).
  const bool has_offset = (flags & prm::kUmrTranslationOffsetEn) != 0;
  const auto field = static_cast<std::uint32_t>(control.get<"translation_offset">());
  const std::uint32_t format_octowords = has_offset ? 0 : field;
  if (!reserved_bits_clear<prm::mlx5_wqe_umr_ctrl_seg>(segment))
    return &wqe_error::kLocalQpOperation;
  std::vector<std::byte> lists((octowords + format_octowords) * prm::kWqeOctowordBytes);
  if (const WqeError* const error = read_translations(qp, (flags & prm::kUmrInline) != 0, lists))
    return error;
  const std::span<const std::byte> all(lists);
  const std::size_t translations = octowords * prm::kWqeOctowordBytes;
  const UmrRequest umr{
      .key = wqe_.immediate,
      .qpn = qp.qpn,
      .pd = qp.reg_umr ? std::nullopt : std::optional(qp.pd),
      .flags = flags,
      .mask = control.get<"mkey_mask">(),
      .offset_octwords = has_offset ? field : 0,
      .octwords = octowords,
      .context = prm::ConstView<prm::mkc>::at(bytes, SendWqe::kUmrContextAt),
      .translations = all.first(translations),
      .format = all.subspan(translations),
  };
  return engine_->deps.mkeys->reconfigure(umr) ? nullptr : &wqe_error::kMemoryBind;
}

/// The SET_PSV in wqe_. One that is not in the QP's PD ends as a UMR of such a key does.
const WqeError* Requester::set_psv(const Qp& qp) {
  const auto segment = prm::ConstView<prm::mlx5_seg_set_psv>::at(
      std::span<const std::byte>(wqe_.bytes), prm::mlx5_wqe_ctrl_seg::bytes);
  const std::uint64_t value =
      std::uint64_t{segment.get<"transient_sig">()} << 32 | segment.get<"ref_tag">();
  PsvTable* const psvs = engine_->deps.psvs;
  return psvs != nullptr && psvs->set(segment.get<"psv_num">(), qp.pd, value)
             ? nullptr
             : &wqe_error::kMemoryBind;
}

/// Behind the context, or in memory that a data segment there names.
const WqeError* Requester::read_translations(Qp& qp, bool is_inline, std::span<std::byte> out) {
  if (out.empty()) return nullptr;
  const std::size_t room = wqe_.end - SendWqe::kUmrDataAt;
  const auto data = std::span<const std::byte>(wqe_.bytes).subspan(SendWqe::kUmrDataAt);
  if (is_inline) {
    if (room < out.size()) return &wqe_error::kLocalQpOperation;
    std::ranges::copy(data.first(out.size()), out.begin());
    return nullptr;
  }
  if (room < prm::mlx5_wqe_data_seg::bytes) return &wqe_error::kLocalQpOperation;
  const auto segment = prm::ConstView<prm::mlx5_wqe_data_seg>::at(data);
  if (segment.get<"byte_count">() < out.size()) return &wqe_error::kLocalQpOperation;
  wqe_.piece_count = 1;
  wqe_.pieces[0] = {false, segment.get<"byte_count">(), segment.get<"lkey">(),
                    segment.get<"addr">()};
  constexpr std::size_t kStep = MkeyTable::kMaxTranslation;
  for (std::size_t at = 0; at < out.size(); at += kStep) {
    if (!gather(qp, at, out.subspan(at, std::min(kStep, out.size() - at))))
      return &wqe_error::kLocalProtection;
  }
  return nullptr;
}

}  // namespace portcullis::model
