// SPDX-License-Identifier: BSD-3-Clause
#include "model/steering/receive_targets.hpp"

#include <algorithm>
#include <utility>

#include "model/ethernet/port_counters.hpp"
#include "model/request.hpp"
#include "model/transport/checksum.hpp"
#include "model/transport/headers.hpp"
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
         c.get<"rmpn">() != 0 || c.get<"hairpin_peer_sq">() != 0 ||
         c.get<"hairpin_peer_vhca">() != 0 ||
         c.get<"mem_rq_type">() != prm::number(prm::MemRqType::MEMORY_RQ_INLINE) ||
         c.get<"wq.wq_type">() != prm::number(prm::WqType::CYCLIC) ||
         c.get<"wq.wq_signature">() != 0 || c.get<"wq.shampo_enable">() != 0;
}

/// A hash that the model knows, of the outer headers.
Verdict check_hash(prm::ConstView<prm::tirc> c) {
  constexpr std::uint32_t kFields =
      prm::number(prm::RxHashField::SRC_IP) | prm::number(prm::RxHashField::DST_IP) |
      prm::number(prm::RxHashField::L4_SPORT) | prm::number(prm::RxHashField::L4_DPORT) |
      prm::number(prm::RxHashField::IPSEC_SPI);
  const bool known = c.get<"rx_hash_fn">() <= prm::number(prm::RxHashFn::TOEPLITZ) &&
                     (c.get<"rx_hash_field_selector_outer.selected_fields">() & ~kFields) == 0 &&
                     c.get<"rx_hash_field_selector_inner.selected_fields">() == 0;
  return known ? Verdict{} : refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
}

void copy_hash(prm::ConstView<prm::tirc> from, prm::Buffer<prm::tirc>& to) {
  to.put<"rx_hash_symmetric">(from.get<"rx_hash_symmetric">());
  to.put<"rx_hash_fn">(from.get<"rx_hash_fn">());
  std::ranges::copy(from.bytes<"rx_hash_toeplitz_key">(),
                    to.bytes<"rx_hash_toeplitz_key">().begin());
  std::ranges::copy(from.bytes<"rx_hash_field_selector_outer">(),
                    to.bytes<"rx_hash_field_selector_outer">().begin());
}

prm::CqeL3Type l3_type(const FrameFacts& facts) noexcept {
  if (facts.l3 == FrameFacts::L3::None) return prm::CqeL3Type::NONE;
  return facts.l3 == FrameFacts::L3::Ipv4 ? prm::CqeL3Type::IPV4 : prm::CqeL3Type::IPV6;
}

prm::CqeL4Type l4_type(std::span<const std::byte> frame, const FrameFacts& facts) noexcept {
  if (!facts.has_l4()) return prm::CqeL4Type::NONE;
  if (facts.l4 == FrameFacts::L4::Udp) return prm::CqeL4Type::UDP;
  if ((frame[facts.l4_at + tcp::kFlags] & tcp::kAck) == std::byte{0})
    return prm::CqeL4Type::TCP_NO_ACK;
  return facts.l4_at + tcp_header_bytes(frame, facts) == facts.end
             ? prm::CqeL4Type::TCP_ACK_NO_DATA
             : prm::CqeL4Type::TCP_ACK_AND_DATA;
}

}  // namespace

Verdict ReceiveTargets::create_rq(prm::ConstView<prm::rqc> context, std::span<const std::byte> pas,
                                  std::uint32_t& number) {
  if (asks_for_more(context)) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  if (context.get<"state">() != prm::number(RqState::RST))
    return refuse(CommandStatus::BAD_PARAM_ERR, kState);
  static_assert(prm::mlx5_wqe_data_seg::bytes == 1U << kLogMinStride);
  const RingShape shape = RingShape::of(context, kLogMinStride);
  Rq rq;
  if (const Verdict verdict = lay_out(shape, pas, deps_.umems, rq.ring, rq.record); !verdict.ok())
    return verdict;
  rq.umems = shape.umems;
  rq.pd = context.get<"wq.pd">();
  rq.cqn = context.get<"cqn">();
  rq.user_index = context.get<"user_index">();
  rq.counters = context.get<"counter_set_id">();
  rq.may_use_reserved_key = context.get<"rlky">() != 0;
  rq.keeps_tag = context.get<"vsd">() != 0;
  rq.flushes = context.get<"flush_in_error_en">() != 0;
  std::ranges::copy(context.all(), rq.context.all().begin());
  const auto fresh = rq_ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  number = *fresh;
  if (deps_.umems != nullptr) deps_.umems->hold(rq.umems);
  rqs_.emplace(number, std::move(rq));
  return {};
}

/// RST2RDY, RDY2ERR, RST2ERR and any to RST: modify_rq of mlx5_ib/qp.c (modify_raw_packet_qp_rq)
/// and mlx5e_modify_rq_state. Whether a tag is kept may be changed in any state, without leaving it
/// (mlx5e_modify_rq_vsd).
Verdict ReceiveTargets::modify_rq(prm::ConstView<prm::modify_rq_in> in) {
  const auto found = rqs_.find(in.get<"rqn">());
  if (found == rqs_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchRq);
  Rq& rq = found->second;
  constexpr std::uint64_t kVsd = prm::number(prm::ModifyRq::VSD);
  if ((in.get<"modify_bitmask">() & ~kVsd) != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kModifyMask);
  const bool changes_vsd = in.get<"modify_bitmask">() != 0;
  const RqState from{static_cast<std::uint8_t>(in.get<"rq_state">())};
  const RqState to{static_cast<std::uint8_t>(in.get<"ctx.state">())};
  if (from != rq.state) return refuse(CommandStatus::BAD_RES_STATE_ERR, kState);
  const bool known = to == RqState::RST || (to == RqState::ERR && from != RqState::ERR) ||
                     (to == RqState::RDY && from == RqState::RST) || (to == from && changes_vsd);
  if (!known) return refuse(CommandStatus::BAD_PARAM_ERR, kState);
  const std::uint32_t number = found->first;
  if (to != RqState::ERR) std::erase(flushing_, number);
  if (to == RqState::ERR && from != to)
    fail(number, rq);
  else
    rq.state = to;
  if (changes_vsd) rq.keeps_tag = in.get<"ctx.vsd">() != 0;
  if (to == RqState::RST) {
    rq.consumed = 0;
    rq.has_given_up = false;
  }
  return {};
}

Verdict ReceiveTargets::query_rq(std::uint32_t number, prm::View<prm::rqc> context) const {
  const auto found = rqs_.find(number);
  if (found == rqs_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchRq);
  const Rq& rq = found->second;
  std::ranges::copy(rq.context.all(), context.all().begin());
  static_cast<void>(context.try_set<"state">(prm::number(rq.state)));
  static_cast<void>(context.try_set<"vsd">(rq.keeps_tag ? 1 : 0));
  // "RQ HW cons" and "RQ HW prod" of mcx_kstat_queue_read (OpenBSD's if_mcx.c).
  context.put<"wq.hw_counter">(rq.consumed);
  context.put<"wq.sw_counter">(posted(rq).value_or(rq.consumed));
  return {};
}

std::uint32_t ReceiveTargets::counters_of(std::uint32_t number) const noexcept {
  const auto found = rqs_.find(number);
  return found == rqs_.end() ? 0 : found->second.counters;
}

Verdict ReceiveTargets::destroy_rq(std::uint32_t number, std::uint32_t& pd, std::uint32_t& cqn) {
  const auto found = rqs_.find(number);
  if (found == rqs_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchRq);
  if (rq_references_.any(number)) return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  pd = found->second.pd;
  cqn = found->second.cqn;
  if (deps_.umems != nullptr) deps_.umems->release(found->second.umems);
  std::erase(flushing_, number);
  rqs_.erase(found);
  rq_ids_.give_back(number);
  return {};
}

Verdict ReceiveTargets::create_tir(prm::ConstView<prm::tirc> context, std::uint32_t& number) {
  const bool is_direct = context.get<"disp_type">() == prm::number(prm::TirDispType::DIRECT);
  const bool hashes = context.get<"disp_type">() == prm::number(prm::TirDispType::INDIRECT);
  if ((!is_direct && !hashes) || context.get<"tls_en">() != 0 ||
      context.get<"packet_merge_mask">() != 0 || context.get<"tunneled_offload_en">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  if (const Verdict bad = check_hash(context); !bad.ok()) return bad;
  Tir tir;
  tir.rqn = is_direct ? context.get<"inline_rqn">() : 0;
  tir.rqt = hashes ? context.get<"indirect_table">() : 0;
  tir.domain = context.get<"transport_domain">();
  if (is_direct ? !rqs_.contains(tir.rqn) : !tables.exists(tir.rqt))
    return refuse(CommandStatus::BAD_RES_ERR, kNoSuchRq);
  // DPDK 22.11 puts the target of its drop queue into domain 0, which it has not allocated, and
  // gives up the port when that is refused (mlx5_devx_drop_action_create of mlx5_devx.c). That a
  // card takes it follows from that, and was not seen.
  if (tir.domain != 0 && !domains_.contains(tir.domain))
    return refuse(CommandStatus::BAD_RES_ERR, kNoSuchDomain);
  const auto fresh = tir_ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  number = *fresh;
  tir.self_loopback = context.get<"self_lb_block">();
  tir.rule = rss_rule(context);
  std::ranges::copy(context.all(), tir.context.all().begin());
  if (is_direct)
    rq_references_.add(tir.rqn);
  else
    tables.hold(tir.rqt);
  domains_.hold(tir.domain);
  tirs_.emplace(number, tir);
  return {};
}

/// Loopback (mlx5e_modify_tirs_lb) and hash (mlx5e_rss_params_hash) are what Linux changes.
Verdict ReceiveTargets::modify_tir(prm::ConstView<prm::modify_tir_in> in) {
  const auto found = tirs_.find(in.get<"tirn">());
  if (found == tirs_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTir);
  Tir& tir = found->second;
  if (in.get<"bitmask.packet_merge">() != 0 && in.get<"ctx.packet_merge_mask">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  const auto context = prm::ConstView<prm::tirc>::at(in.bytes<"ctx">());
  if (in.get<"bitmask.hash">() != 0) {
    if (const Verdict bad = check_hash(context); !bad.ok()) return bad;
    tir.rule = rss_rule(context);
    copy_hash(context, tir.context);
  }
  if (in.get<"bitmask.self_lb_en">() != 0) {
    tir.self_loopback = context.get<"self_lb_block">();
    tir.context.put<"self_lb_block">(tir.self_loopback);
  }
  return {};
}

Verdict ReceiveTargets::query_tir(std::uint32_t number, prm::View<prm::tirc> context) const {
  const auto found = tirs_.find(number);
  if (found == tirs_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTir);
  std::ranges::copy(found->second.context.all(), context.all().begin());
  return {};
}

Verdict ReceiveTargets::destroy_tir(std::uint32_t number) {
  const auto found = tirs_.find(number);
  if (found == tirs_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTir);
  if (found->second.rqt != 0)
    tables.release(found->second.rqt);
  else
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
      const KeyUse use{
          piece.lkey, rq.pd, 0, va, part, access::kLocalWrite, rq.may_use_reserved_key};
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

void ReceiveTargets::lose(const Rq* rq) noexcept {
  ++*deps_.lost;
  if (rq != nullptr && deps_.q_counters != nullptr)
    ++deps_.q_counters->at(rq->counters).out_of_buffer;
}

std::span<const std::byte> ReceiveTargets::look_at(const Rq& rq, std::span<const std::byte> frame,
                                                   const FrameFacts& facts, CqeFields& fields) {
  const bool takes_tag = facts.tag && !rq.keeps_tag;
  const bool l4_ok = is_transport_right(frame, facts);
  fields.put<"hds_ip_ext">(static_cast<std::uint8_t>(
      prm::kCqeL2Ok | (facts.l3_ok ? prm::kCqeL3Ok : 0) | (l4_ok ? prm::kCqeL4Ok : 0)));
  fields.put<"l4_l3_hdr_type">(
      prm::l4_l3_hdr_type(l4_type(frame, facts), l3_type(facts), takes_tag));
  if (takes_tag) {
    fields.put<"vlan_info">(*facts.tag);
    constexpr std::size_t kAddresses = 2 * kMacBytes;
    untagged_.assign(frame.begin(), frame.begin() + kAddresses);
    untagged_.insert(untagged_.end(), frame.begin() + kAddresses + kVlanTagBytes, frame.end());
    frame = untagged_;
  }
  // cqe_checksum_full: of all that stands behind the Ethernet header.
  if (frame.size() > kEthernetBytes)
    fields.put<"check_sum">(fold_sum(ones_sum(frame.subspan(kEthernetBytes))));
  return frame;
}

std::optional<std::uint32_t> ReceiveTargets::posted(const Rq& rq) const {
  return deps_.dma->load_be32(rq.record + prm::record_byte(prm::kRcvDbr));
}

bool ReceiveTargets::has_receive(const Rq& rq) {
  const auto count = posted(rq);
  return count && static_cast<std::uint16_t>(*count - rq.consumed) != 0;
}

/// Of a frame for which no receive is posted.
bool ReceiveTargets::waits(Rq& rq, Offer offer) {
  if (deps_.dropless_ns == 0 || offer == Offer::Final || rq.has_given_up) return false;
  rq.has_given_up = offer == Offer::Last;
  return !rq.has_given_up;
}

/// A receive takes `frame`.
void ReceiveTargets::fill(Rq& rq, std::uint32_t rqn, std::span<const std::byte> frame,
                          CqeFields& fields, const IpoibDatagram* datagram) {
  rq.has_given_up = false;
  const bool readable = rq.ring.read(*deps_.dma, rq.consumed, 0, pieces_);
  std::uint64_t room = 0;
  for (const ReceivePiece& piece : pieces_) room += piece.bytes;
  // Too large a frame is lost and takes no receive.
  if (readable && room < frame.size()) return lose(nullptr);
  Completion completion;
  completion.user_index = rq.user_index;
  completion.wqe_counter = rq.consumed++;
  if (datagram != nullptr) {
    completion.is_datagram = true;
    completion.flags_rqpn = datagram->flags_rqpn;
    completion.slid = datagram->slid;
    completion.solicited = datagram->is_solicited;
  }
  if (readable && scatter(rq, pieces_, frame)) {
    completion.opcode = prm::CqeOpcode::RESP_SEND;
    completion.byte_cnt = static_cast<std::uint32_t>(frame.size());
    completion.ethernet = &fields;
  } else {
    completion.opcode = prm::CqeOpcode::RESP_ERR;
    completion.qpn = rqn;
    completion.syndrome = prm::CqeSyndrome::LOCAL_PROT_ERR;
    lose(nullptr);
  }
  const bool is_told = deps_.cqs->complete(rq.cqn, completion, deps_.scheduler->now_ns());
  if (!is_told || completion.opcode == prm::CqeOpcode::RESP_ERR) fail(rqn, rq);
}

void ReceiveTargets::fail(std::uint32_t rqn, Rq& rq) {
  rq.state = RqState::ERR;
  if (rq.flushes && flush(rqn, rq)) flushing_.push_back(rqn);
}

std::optional<std::uint16_t> ReceiveTargets::flush(std::uint32_t rqn, Rq& rq) {
  const auto count = posted(rq);
  if (!count) return std::nullopt;
  const auto left = static_cast<std::uint16_t>(*count - rq.consumed);
  // More than the queue holds: a record that is no producer index.
  if (left > rq.ring.entries) return std::uint16_t{0};
  for (std::uint16_t i = 0; i < left; ++i) {
    Completion completion;
    completion.opcode = prm::CqeOpcode::RESP_ERR;
    completion.syndrome = prm::CqeSyndrome::WR_FLUSH_ERR;
    completion.qpn = rqn;
    completion.user_index = rq.user_index;
    completion.wqe_counter = rq.consumed++;
    if (!deps_.cqs->complete(rq.cqn, completion, deps_.scheduler->now_ns())) return std::nullopt;
  }
  return left;
}

bool ReceiveTargets::look() {
  if (flushing_.empty()) return false;
  next_ = (next_ + 1) % flushing_.size();
  const std::uint32_t rqn = flushing_[next_];
  const auto flushed = flush(rqn, rqs_.at(rqn));
  if (!flushed) std::erase(flushing_, rqn);
  return flushed.value_or(0) != 0;
}

/// "Transport Domain groups several TIS and TIR object. [..] it defines wheather local loopback
/// packets that are sent from the TIS objects in the group are received by the TIR objects in the
/// same group" (Linux commit 146d2f1af324): to any other domain of its function a frame comes.
bool ReceiveTargets::is_own_of(const Tir& tir, Origin from) noexcept {
  return from.is_own && (from.domain == 0 || from.domain == tir.domain);
}

std::uint64_t ReceiveTargets::deliver(std::uint32_t tirn, std::span<const std::byte> frame,
                                      Arrival arrival) {
  const auto found = tirs_.find(tirn);
  if (found == tirs_.end() || frame.size() < kEthernetBytes) {
    lose(nullptr);
    return 0;
  }
  const Tir& tir = found->second;
  const IpoibDatagram* const datagram = arrival.datagram;
  const bool is_unicast =
      datagram != nullptr ? !datagram->is_of_group : cast_of(frame) == Cast::Unicast;
  const auto comes_back = is_unicast ? prm::SelfLoopback::UNICAST : prm::SelfLoopback::MULTICAST;
  if (is_own_of(tir, arrival.from) && (tir.self_loopback & prm::number(comes_back)) == 0) return 0;
  const FrameFacts facts = facts_of(frame);
  const RssHash hash = rss_hash(frame, facts, tir.rule);
  const std::uint32_t rqn = tir.rqt != 0 ? tables.pick(tir.rqt, hash.value) : tir.rqn;
  Rq& rq = rqs_.at(rqn);
  if (rq.state != RqState::RDY) {
    lose(nullptr);
    return 0;
  }
  if (!has_receive(rq)) {
    if (waits(rq, arrival.offer)) return deps_.dropless_ns;
    lose(&rq);
    return 0;
  }
  CqeFields fields;
  fields.put<"rss_hash_result">(hash.value).put<"rss_hash_type">(hash.type);
  // By the number mlx5i_complete_rx_cqe of en_rx.c finds the interface.
  fields.put<"sop_drop_qpn">(datagram != nullptr ? datagram->qpn : arrival.flow_tag);
  fields.put<"ft_metadata">(arrival.metadata);
  const auto taken = look_at(rq, frame, facts, fields);
  fill(rq, rqn, datagram != nullptr ? datagram->bytes : taken, fields, datagram);
  return 0;
}

void ReceiveTargets::clear() {
  tables.clear();
  domains_.clear();
  rqs_.clear();
  flushing_.clear();
  tirs_.clear();
  rq_references_.clear();
  rq_ids_.clear();
  tir_ids_.clear();
}

}  // namespace portcullis::model
