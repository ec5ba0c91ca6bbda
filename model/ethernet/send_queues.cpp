// SPDX-License-Identifier: BSD-3-Clause
//
// TIS and SQ by command; what they send is in ethernet/send_frames.cpp.
#include "model/ethernet/send_queues.hpp"

#include <algorithm>
#include <utility>

#include "model/receive_ring.hpp"
#include "prm/doorbell.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using prm::SqState;

enum Refusal : std::uint32_t {
  kNoNumber = 0xe00001,
  kNoSuchDomain,
  kNoSuchTis,
  kNoSuchSq,
  kInUse,
  kNotOffered,
  kState,
  kModifyMask,
  kStride,
};

static_assert(prm::kSendWqeBlockBytes == 1U << SendQueues::kLogStride);

bool asks_for_more(prm::ConstView<prm::tisc> c) {
  return c.get<"tls_en">() != 0 || c.get<"strict_lag_tx_port_affinity">() != 0 ||
         c.get<"lag_tx_port_affinity">() != 0;
}

/// What the capabilities do not offer.
bool asks_for_more(prm::ConstView<prm::sqc> c) {
  return c.get<"cd_master">() != 0 || c.get<"reg_umr">() != 0 || c.get<"allow_swp">() != 0 ||
         c.get<"hairpin">() != 0 || c.get<"hairpin_peer_rq">() != 0 ||
         c.get<"hairpin_peer_vhca">() != 0 || c.get<"ts_cqe_to_dest_cqn">() != 0 ||
         c.get<"qos_queue_group_id">() != 0 || c.get<"tis_lst_sz">() > 1 ||
         c.get<"wq.wq_type">() != prm::number(prm::WqType::CYCLIC) ||
         c.get<"wq.wq_signature">() != 0;
}

}  // namespace

Verdict SendQueues::create_tis(prm::ConstView<prm::tisc> context, std::uint32_t& number) {
  if (asks_for_more(context)) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  const std::uint32_t domain = context.get<"transport_domain">();
  if (!deps_.domains->contains(domain)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchDomain);
  const auto fresh = tis_ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  number = *fresh;
  std::ranges::copy(context.all(), tiss_[number].all().begin());
  deps_.domains->hold(domain);
  return {};
}

Verdict SendQueues::modify_tis(prm::ConstView<prm::modify_tis_in> in) {
  const auto found = tiss_.find(in.get<"tisn">());
  if (found == tiss_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTis);
  if (in.get<"bitmask.lag_tx_port_affinity">() != 0 ||
      in.get<"bitmask.strict_lag_tx_port_affinity">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kModifyMask);
  if (in.get<"bitmask.prio">() != 0) found->second.put<"prio">(in.get<"ctx.prio">());
  return {};
}

Verdict SendQueues::query_tis(std::uint32_t number, prm::View<prm::tisc> context) const {
  const auto found = tiss_.find(number);
  if (found == tiss_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTis);
  std::ranges::copy(found->second.all(), context.all().begin());
  return {};
}

Verdict SendQueues::destroy_tis(std::uint32_t number) {
  const auto found = tiss_.find(number);
  if (found == tiss_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTis);
  if (tis_references_.any(number)) return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  deps_.domains->release(found->second.get<"transport_domain">());
  tiss_.erase(found);
  tis_ids_.give_back(number);
  return {};
}

Verdict SendQueues::create_sq(prm::ConstView<prm::sqc> context, std::span<const std::byte> pas,
                              std::uint32_t& number) {
  if (asks_for_more(context)) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  if (context.get<"state">() != prm::number(SqState::RST))
    return refuse(CommandStatus::BAD_PARAM_ERR, kState);
  if (context.get<"wq.log_wq_stride">() != kLogStride)
    return refuse(CommandStatus::BAD_PARAM_ERR, kStride);
  Sq sq;
  // A queue without a TIS does internal work only (mlx5e_open_icosq).
  if (context.get<"tis_lst_sz">() != 0) {
    sq.tisn = context.get<"tis_num_0">();
    const auto tis = tiss_.find(sq.tisn);
    if (tis == tiss_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTis);
    sq.domain = tis->second.get<"transport_domain">();
    sq.underlay_qpn = tis->second.get<"underlay_qpn">();
  }
  const RingShape shape = RingShape::of(context, kLogStride);
  ReceiveRing ring;
  if (const Verdict verdict = lay_out(shape, pas, deps_.umems, ring, sq.record); !verdict.ok())
    return verdict;
  const auto fresh = sq_ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  number = *fresh;
  sq.memory.pages = std::move(ring.pages);
  sq.memory.blocks = ring.entries;
  sq.umems = shape.umems;
  sq.used = {context.get<"wq.pd">(), context.get<"cqn">(), context.get<"wq.uar_page">()};
  sq.user_index = context.get<"user_index">();
  sq.may_use_reserved_key = context.get<"rlky">() != 0;
  sq.flushes = context.get<"flush_in_error_en">() != 0;
  std::ranges::copy(context.all(), sq.context.all().begin());
  if (sq.tisn != 0) tis_references_.add(sq.tisn);
  if (deps_.umems != nullptr) deps_.umems->hold(sq.umems);
  sqs_.emplace(number, std::move(sq));
  return {};
}

/// As of an RQ: RST2RDY, RDY2ERR, RST2ERR and any to RST (mlx5e_create_sq_rdy,
/// mlx5e_health_sq_to_ready); and RDY to RDY, by which a rate changes (mlx5e_set_sq_maxrate). That
/// the rate outlives RST is what mlx5e_health_sq_to_ready builds on, which names none.
Verdict SendQueues::modify_sq(prm::ConstView<prm::modify_sq_in> in) {
  const auto found = sqs_.find(in.get<"sqn">());
  if (found == sqs_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchSq);
  Sq& sq = found->second;
  const std::uint64_t mask = in.get<"modify_bitmask">();
  if ((mask & ~prm::kModifySqRateLimit) != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kModifyMask);
  const SqState from{static_cast<std::uint8_t>(in.get<"sq_state">())};
  const SqState to{static_cast<std::uint8_t>(in.get<"ctx.state">())};
  if (from != sq.state) return refuse(CommandStatus::BAD_RES_STATE_ERR, kState);
  const bool known = to == SqState::RST || (to == SqState::ERR && from != SqState::ERR) ||
                     (to == SqState::RDY && from != SqState::ERR);
  if (!known) return refuse(CommandStatus::BAD_PARAM_ERR, kState);
  sq.state = to;
  if ((mask & prm::kModifySqRateLimit) != 0) {
    sq.context.put<"packet_pacing_rate_limit_index">(
        in.get<"ctx.packet_pacing_rate_limit_index">());
    restart_pace(found->first, sq);
  }
  if (to == SqState::RDY && from == SqState::RST)
    sq.stale_record = deps_.dma->load_be32(sq.record + prm::record_byte(prm::kSndDbr));
  if (to == SqState::RST) {
    sq.cursor = sq.producer = 0;
    sq.segment = {};
  }
  if (to == SqState::ERR) wake(found->first, sq);
  return {};
}

Verdict SendQueues::query_sq(std::uint32_t number, prm::View<prm::sqc> context) const {
  const Sq* const sq = find(number);
  if (sq == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchSq);
  std::ranges::copy(sq->context.all(), context.all().begin());
  static_cast<void>(context.try_set<"state">(prm::number(sq->state)));
  // Where the hardware and the driver stand (mlx5_core_query_sq_state reads the state alone).
  context.put<"wq.hw_counter">(sq->cursor);
  context.put<"wq.sw_counter">(sq->producer);
  return {};
}

Verdict SendQueues::destroy_sq(std::uint32_t number, Used& used) {
  const auto found = sqs_.find(number);
  if (found == sqs_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchSq);
  used = found->second.used;
  if (found->second.tisn != 0) tis_references_.drop(found->second.tisn);
  if (deps_.umems != nullptr) deps_.umems->release(found->second.umems);
  if (found->second.due) deps_.scheduler->cancel(*found->second.due);
  sqs_.erase(found);
  std::erase(waiting_, number);
  sq_ids_.give_back(number);
  return {};
}

const SendQueues::Sq* SendQueues::find(std::uint32_t number) const noexcept {
  const auto found = sqs_.find(number);
  return found == sqs_.end() ? nullptr : &found->second;
}

void SendQueues::clear() {
  waiting_.clear();
  tiss_.clear();
  sqs_.clear();
  tis_references_.clear();
  tis_ids_.clear();
  sq_ids_.clear();
}

}  // namespace portcullis::model
