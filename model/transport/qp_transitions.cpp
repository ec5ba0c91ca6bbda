// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/qp_transitions.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/transport/path.hpp"
#include "prm/block_signature.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using prm::QpOptPar;
using prm::QpState;
using Context = prm::ConstView<prm::qpc>;

constexpr std::uint32_t kBadServiceType = 0x501001;
constexpr std::uint32_t kBadQueueSizes = 0x501002;
constexpr std::uint32_t kBadPages = 0x501003;
constexpr std::uint32_t kBadRecord = 0x501004;
constexpr std::uint32_t kWrongState = 0x502001;
constexpr std::uint32_t kBadOptPar = 0x502002;
constexpr std::uint32_t kBadPort = 0x502003;
constexpr std::uint32_t kBadPathMigration = 0x502004;
constexpr std::uint32_t kBadMtu = 0x502005;
constexpr std::uint32_t kBadMessageSize = 0x502006;
constexpr std::uint32_t kBadPath = 0x502007;
constexpr std::uint32_t kBadPkey = 0x502008;

constexpr std::uint32_t kRecordAlignment = 8;

/// What a transition needs and may take.
struct Rule {
  QpTransition transition;
  QpState from;
  QpState to;
  std::uint32_t optional;
};
constexpr std::uint32_t kRights = QpOptPar::RRE | QpOptPar::RAE | QpOptPar::RWE;
constexpr std::array kRules{
    Rule{QpTransition::Rst2Init, QpState::RST, QpState::INIT, 0},
    Rule{QpTransition::Init2Init, QpState::INIT, QpState::INIT,
         kRights | QpOptPar::PKEY_INDEX | QpOptPar::PRI_PORT | prm::kOptParDrainSigerr},
    Rule{QpTransition::Init2Rtr, QpState::INIT, QpState::RTR, kRights | QpOptPar::PKEY_INDEX},
    Rule{QpTransition::Rtr2Rts, QpState::RTR, QpState::RTS,
         kRights | QpOptPar::RNR_TIMEOUT | QpOptPar::PM_STATE},
    Rule{QpTransition::Rts2Rts, QpState::RTS, QpState::RTS,
         kRights | QpOptPar::RNR_TIMEOUT | QpOptPar::PM_STATE | QpOptPar::COUNTER_SET_ID},
    Rule{QpTransition::Rts2Sqd, QpState::RTS, QpState::SQ_DRAINING, 0},
    Rule{QpTransition::Sqd2Rts, QpState::SQD, QpState::RTS, kRights | QpOptPar::RNR_TIMEOUT},
    Rule{QpTransition::Sqerr2Rts, QpState::SQER, QpState::RTS, kRights | QpOptPar::RNR_TIMEOUT},
};

/// What opt_mask of mlx5_ib/qp.c has for the service in every transition but the first, for which
/// Linux asks for nothing.
constexpr std::uint32_t optional_of(prm::QpServiceType service) {
  return service == prm::QpServiceType::UD ? prm::number(QpOptPar::Q_KEY) : 0;
}

/// Of opt_param_mask_95_32: _mlx5dv_modify_qp_udp_sport of rdma-core's mlx5.c names the UDP port of
/// RC and UC in RTS. Datagrams have theirs in the WQE, and InfiniBand knows no such port.
constexpr std::uint64_t optional_95_32(const Qp& qp, QpTransition transition, PortType type) {
  const bool has_port =
      transition == QpTransition::Rts2Rts && qp.has_peer() && type == PortType::Ethernet;
  return has_port ? prm::kOptPar32UdpSport : 0;
}

[[nodiscard]] bool has(std::uint32_t mask, QpOptPar bit) { return (mask & prm::number(bit)) != 0; }

/// Copies one field of the qpc.
template <prm::Name Path>
void take(Qp& qp, Context from) {
  qp.context.put<Path>(from.get<Path>());
}

Verdict bad_param(std::uint32_t syndrome) { return refuse(CommandStatus::BAD_PARAM_ERR, syndrome); }

/// There is one.
Verdict check_port(Context context) {
  if (context.get<"primary_address_path.vhca_port_num">() != 1) return bad_param(kBadPort);
  return {};
}

/// Of RoCE there is one P_Key.
Verdict check_pkey(Context context, PortType type) {
  const std::uint32_t keys = type == PortType::InfiniBand ? PortSettings::kPkeys : 1;
  if (context.get<"primary_address_path.pkey_index">() >= keys) return bad_param(kBadPkey);
  return {};
}

/// There is no alternate path to migrate to.
Verdict check_path_migration(Context context) {
  if (context.get<"pm_state">() != prm::number(prm::QpPathMigration::MIGRATED))
    return bad_param(kBadPathMigration);
  return {};
}

void take_rights(Qp& qp, Context context, std::uint32_t which) {
  if (has(which, QpOptPar::RRE)) {
    qp.rre = context.get<"rre">() != 0;
    take<"rre">(qp, context);
  }
  if (has(which, QpOptPar::RWE)) {
    qp.rwe = context.get<"rwe">() != 0;
    take<"rwe">(qp, context);
  }
  if (has(which, QpOptPar::RAE)) {
    qp.rae = context.get<"rae">() != 0;
    take<"rae">(qp, context);
    take<"atomic_mode">(qp, context);
  }
}

Verdict check_optional(Context context, std::uint32_t mask, PortType type) {
  if (has(mask, QpOptPar::PKEY_INDEX)) {
    if (const Verdict v = check_pkey(context, type); !v.ok()) return v;
  }
  if (has(mask, QpOptPar::PRI_PORT)) {
    if (const Verdict v = check_port(context); !v.ok()) return v;
  }
  if (has(mask, QpOptPar::PM_STATE)) return check_path_migration(context);
  return {};
}

void take_q_key(Qp& qp, Context context) {
  qp.q_key = context.get<"q_key">();
  take<"q_key">(qp, context);
}

void take_optional(Qp& qp, Context context, std::uint32_t mask) {
  take_rights(qp, context, mask);
  if (has(mask, QpOptPar::RNR_TIMEOUT)) take<"min_rnr_nak">(qp, context);
  if (has(mask, QpOptPar::COUNTER_SET_ID)) take<"counter_set_id">(qp, context);
  if (has(mask, QpOptPar::Q_KEY)) take_q_key(qp, context);
  if ((mask & prm::kOptParDrainSigerr) != 0) {
    qp.drains_on_fault = context.get<"drain_sigerr">() != 0;
    take<"drain_sigerr">(qp, context);
  }
}

/// Packets that are built from now on leave by the new port, those sent again too.
void take_udp_sport(Qp& qp, Context context) {
  take<"primary_address_path.udp_sport">(qp, context);
  qp.path.udp_sport = static_cast<std::uint16_t>(context.get<"primary_address_path.udp_sport">());
  qp.frame = FrameTemplate(qp.path);
}

/// RST to INIT needs it, later a bit of the mask does. INIT to RTR has brought a whole path, with
/// whatever stands there.
void take_pkey(Qp& qp, const QpModify& request, const PortSettings& port) {
  if (request.transition == QpTransition::Rst2Init ||
      has(request.opt_param_mask, QpOptPar::PKEY_INDEX))
    qp.pkey_index =
        static_cast<std::uint16_t>(request.context->get<"primary_address_path.pkey_index">());
  qp.context.put<"primary_address_path.pkey_index">(qp.pkey_index);
  qp.path.pkey = pkey_of(qp, port);
  if (request.transition == QpTransition::Init2Rtr && qp.has_peer())
    qp.frame = FrameTemplate(qp.path);
}

Verdict rst_to_init(Qp& qp, Context context, PortType type) {
  if (const Verdict v = check_port(context); !v.ok()) return v;
  if (const Verdict v = check_pkey(context, type); !v.ok()) return v;
  // pm_state stays as CREATE_QP had it: to_rts of rdma-core's tests/mlx5_base.py sends a zero.
  take_rights(qp, context, kRights);
  take<"primary_address_path.vhca_port_num">(qp, context);
  take<"counter_set_id">(qp, context);
  take_q_key(qp, context);
  return {};
}

Verdict init_to_rtr(Qp& qp, Context context, const PortSettings& port, std::uint32_t log_max_msg) {
  // mlx5i_init_underlay_qp of mlx5/core/ipoib gives nothing of all this, nor does iPXE's driver,
  // all of whose queue pairs are of datagrams (golan_modify_qp_init_to_rtr of golan.c).
  const bool says_nothing = qp.is_underlay || (qp.is_datagram() && context.get<"mtu">() == 0);
  const std::uint32_t mtu =
      says_nothing ? prm::number(prm::QpcMtu::MTU_4096) : context.get<"mtu">();
  if (mtu < prm::number(prm::QpcMtu::MTU_256) || mtu > prm::number(prm::QpcMtu::MTU_4096))
    return bad_param(kBadMtu);
  const std::uint32_t log_msg_max = context.get<"log_msg_max">();
  if (log_msg_max > log_max_msg) return bad_param(kBadMessageSize);
  // mlx5r_umr_qp_rst2rts of mlx5_ib/umr.c gives no address vector, nor does anybody for UD.
  std::optional<Path> path = qp.has_peer() ? resolve_path(context, port) : Path{};
  if (!path) return bad_param(kBadPath);
  path->transport = qp.transport;

  qp.path = *path;
  if (qp.has_peer()) qp.frame = FrameTemplate(*path);
  qp.force_loopback = context.get<"primary_address_path.fl">() != 0;
  qp.mtu_bytes = prm::bytes_of(prm::QpcMtu{static_cast<std::uint8_t>(mtu)});
  qp.max_message_bytes = says_nothing ? qp.mtu_bytes : std::uint64_t{1} << log_msg_max;
  qp.receive = ReceiveState{};
  qp.receive.pd = qp.pd;
  qp.receive.expected_psn = qp.receive.first_psn = context.get<"next_rcv_psn">();
  qp.receive.acked_psn = (qp.receive.expected_psn - 1) & kPsnMask;
  qp.receive.resources.resize(std::size_t{1} << context.get<"log_rra_max">());
  std::ranges::copy(context.bytes<"primary_address_path">(),
                    qp.context.bytes<"primary_address_path">().begin());
  take<"mtu">(qp, context);
  take<"log_msg_max">(qp, context);
  take<"remote_qpn">(qp, context);
  take<"log_rra_max">(qp, context);
  take<"min_rnr_nak">(qp, context);
  return {};
}

Verdict rtr_to_rts(Qp& qp, Context context) {
  SendState& send = qp.send;
  send.first_psn = context.get<"next_send_psn">();
  send.next_psn = send.unacked_psn = send.sent_end_psn = send.first_psn;
  // Fields of five bits at most; log_sra_max has three, so that its power has eight.
  const auto byte = [](std::uint32_t value) { return static_cast<std::uint8_t>(value); };
  if (qp.is_reliable()) qp.ack_timeout = byte(context.get<"primary_address_path.ack_timeout">());
  qp.retry_count = byte(context.get<"retry_count">());
  qp.rnr_retry = byte(context.get<"rnr_retry">());
  qp.max_fetching = byte(1U << context.get<"log_sra_max">());
  qp.log_ack_req_freq = byte(context.get<"log_ack_req_freq">());
  take<"primary_address_path.ack_timeout">(qp, context);
  take<"retry_count">(qp, context);
  take<"rnr_retry">(qp, context);
  take<"log_ack_req_freq">(qp, context);
  take<"log_sra_max">(qp, context);
  return {};
}

std::uint64_t receive_queue_bytes(Context context) {
  if (is_underlay(context)) return 0;
  if (context.get<"rq_type">() != prm::number(prm::QpRqType::NON_ZERO_RQ)) return 0;
  constexpr std::uint64_t kStrideUnit = 16;  // log_rq_stride counts from it, create_user_qp
  return kStrideUnit << context.get<"log_rq_stride">() << context.get<"log_rq_size">();
}

std::uint64_t send_queue_bytes(Context context) {
  if (context.get<"no_sq">() != 0 || is_underlay(context)) return 0;
  return std::uint64_t{prm::kSendWqeBlockBytes} << context.get<"log_sq_size">();
}

Verdict lay_out(const QpCreate& request, std::uint64_t bytes, QueuePages& out) {
  const std::uint32_t log_page_size = request.context.get<"log_page_size">();
  const std::uint32_t page_offset = request.context.get<"page_offset">();
  out = request.queue.value_or(
      QueuePages({request.pages.begin(), request.pages.end()}, log_page_size, page_offset));
  if (request.queue) return {};
  if (out.count() < QueuePages::needed(bytes, log_page_size, page_offset) || !out.aligned())
    return bad_param(kBadPages);
  return {};
}

/// QP 0 and QP 1 are served as datagrams are (handle_qpt_hw_gsi of mlx5_ib/wr.c, for both).
prm::QpServiceType service_of(Context context) noexcept {
  const std::uint32_t service = context.get<"st">();
  const bool is_special = service == prm::kServiceQp0 || service == prm::kServiceQp1;
  return is_special ? prm::QpServiceType::UD
                    : prm::QpServiceType{static_cast<std::uint8_t>(service)};
}

std::uint32_t wire_qpn_of(const QpCreate& request) noexcept {
  const std::uint32_t service = request.context.get<"st">();
  if (service == prm::kServiceQp0) return prm::kQp0;
  return service == prm::kServiceQp1 ? prm::kQp1 : request.qpn;
}

bool is_offered(prm::QpServiceType service) noexcept {
  return service == prm::QpServiceType::RC || service == prm::QpServiceType::UC ||
         service == prm::QpServiceType::UD || service == prm::QpServiceType::XRC ||
         service == prm::QpServiceType::REG_UMR;
}

std::uint8_t transport_of(prm::QpServiceType service) noexcept {
  if (service == prm::QpServiceType::UC) return transport_bits::kUc;
  if (service == prm::QpServiceType::XRC) return transport_bits::kXrc;
  return service == prm::QpServiceType::UD ? transport_bits::kUd : transport_bits::kRc;
}

}  // namespace

std::optional<std::uint64_t> work_queue_bytes(Context context) {
  const auto type = prm::QpRqType{static_cast<std::uint8_t>(context.get<"rq_type">())};
  if (type != prm::QpRqType::NON_ZERO_RQ && type != prm::QpRqType::ZERO_LEN_RQ &&
      type != prm::QpRqType::SRQ_RQ)
    return std::nullopt;
  return receive_queue_bytes(context) + send_queue_bytes(context);
}

Verdict make_qp(const QpCreate& request, std::unique_ptr<Qp>& out) {
  const Context context = request.context;
  const prm::QpServiceType service = service_of(context);
  if (!is_offered(service)) return bad_param(kBadServiceType);
  const std::optional<std::uint64_t> bytes = work_queue_bytes(context);
  if (!bytes) return bad_param(kBadQueueSizes);
  QueuePages pages;
  if (const Verdict v = lay_out(request, *bytes, pages); !v.ok()) return v;
  const Iova record = request.record.value_or(context.get<"dbr_addr">());
  if (record % kRecordAlignment != 0) return bad_param(kBadRecord);

  auto qp = std::make_unique<Qp>();
  qp->qpn = request.qpn;
  qp->wire_qpn = wire_qpn_of(request);
  qp->reg_umr = service == prm::QpServiceType::REG_UMR;
  qp->service = service;
  qp->transport = transport_of(service);
  if (qp->is_xrc()) qp->xrcd = context.get<"xrcd">();
  qp->user_index = qp->receive_user_index = context.get<"user_index">();
  qp->doorbell_record = record;
  qp->is_underlay = is_underlay(context);
  qp->has_sq = context.get<"no_sq">() == 0 && !qp->is_underlay;
  // What an underlay names nobody has looked at.
  if (!qp->is_underlay) {
    qp->pd = context.get<"pd">();
    qp->cqn_snd = context.get<"cqn_snd">();
    qp->cqn_rcv = context.get<"cqn_rcv">();
    qp->uar = context.get<"uar_page">();
  }
  qp->rlky = context.get<"rlky">() != 0;
  qp->drains_on_fault = context.get<"drain_sigerr">() != 0;
  if (const std::uint64_t receive_bytes = receive_queue_bytes(context); receive_bytes != 0) {
    qp->rq.pages = pages;
    qp->rq.entries = 1U << context.get<"log_rq_size">();
    qp->rq.stride = static_cast<std::uint32_t>(receive_bytes / qp->rq.entries);
  }
  if (context.get<"rq_type">() == prm::number(prm::QpRqType::SRQ_RQ)) {
    qp->shared_receives = context.get<"srqn_rmpn_xrqn">();
    if (qp->shared_receives == 0) return bad_param(kBadQueueSizes);
  }
  if (qp->has_sq) {
    qp->sq.pages = std::move(pages);
    qp->sq.first_byte = receive_queue_bytes(context);
    qp->sq.service = service;
    qp->sq.blocks = 1U << context.get<"log_sq_size">();
  }
  std::ranges::copy(context.all(), qp->context.all().begin());
  out = std::move(qp);
  return {};
}

Verdict apply_transition(Qp& qp, const QpModify& request, const PortSettings& port,
                         std::uint32_t log_max_msg) {
  const auto rule = std::ranges::find(kRules, request.transition, &Rule::transition);
  if (rule == kRules.end() || !request.context || qp.state != rule->from)
    return refuse(CommandStatus::BAD_QP_STATE_ERR, kWrongState);
  const std::uint32_t optional = rule->optional | optional_of(qp.service);
  const std::uint64_t optional_95 = optional_95_32(qp, request.transition, port.type);
  if ((request.opt_param_mask & ~optional) != 0 ||
      (request.opt_param_mask_95_32 & ~optional_95) != 0)
    return bad_param(kBadOptPar);
  const Context context = *request.context;
  // Everything is checked before anything is taken: a refused command changes nothing.
  if (const Verdict v = check_optional(context, request.opt_param_mask, port.type); !v.ok())
    return v;
  Verdict verdict;
  if (request.transition == QpTransition::Rst2Init) verdict = rst_to_init(qp, context, port.type);
  if (request.transition == QpTransition::Init2Rtr)
    verdict = init_to_rtr(qp, context, port, log_max_msg);
  if (request.transition == QpTransition::Rtr2Rts) verdict = rtr_to_rts(qp, context);
  if (!verdict.ok()) return verdict;
  take_optional(qp, context, request.opt_param_mask);
  take_pkey(qp, request, port);
  if ((request.opt_param_mask_95_32 & prm::kOptPar32UdpSport) != 0) take_udp_sport(qp, context);
  qp.state = rule->to;
  return {};
}

void clear_connection(Qp& qp) {
  qp.state = QpState::RST;
  qp.rre = qp.rwe = qp.rae = false;
  qp.receive = ReceiveState{};
  if (qp.tagged != nullptr) qp.tagged->reset();
  detach_lane(qp);
  SendState fresh;
  fresh.messages = std::move(qp.send.messages);
  // A task still under way finds RST; the wire's queues keep the QP's place.
  fresh.serve_posted = qp.send.serve_posted;
  fresh.has_room = qp.send.has_room;
  fresh.waits_for_room = qp.send.waits_for_room;
  fresh.is_paused = qp.send.is_paused;
  qp.send = std::move(fresh);
}

void fill_context(const Qp& qp, prm::View<prm::qpc> context) {
  std::ranges::copy(qp.context.all(), context.all().begin());
  // Each value fits: it came out of this field, or is masked to 24 bits.
  static_cast<void>(context.try_set<"state">(prm::number(qp.state)));
  static_cast<void>(context.try_set<"next_send_psn">(qp.send.next_psn));
  static_cast<void>(context.try_set<"last_acked_psn">((qp.send.unacked_psn - 1) & kPsnMask));
  static_cast<void>(context.try_set<"next_rcv_psn">(qp.receive.expected_psn));
  static_cast<void>(context.try_set<"rmsn">(qp.receive.msn));
  static_cast<void>(context.try_set<"cur_retry_count">(qp.send.retries & 7));
  static_cast<void>(context.try_set<"cur_rnr_retry">(qp.send.rnr_retries & 7));
  context.put<"hw_rq_counter">(std::uint32_t{qp.receive.consumed});
  context.put<"hw_sq_wqebb_counter">(qp.send.fetched);
  context.put<"sw_sq_wqebb_counter">(qp.send.producer);
  static_cast<void>(context.try_set<"rre">(qp.rre ? 1 : 0));
  static_cast<void>(context.try_set<"rwe">(qp.rwe ? 1 : 0));
  static_cast<void>(context.try_set<"rae">(qp.rae ? 1 : 0));
}

}  // namespace portcullis::model
