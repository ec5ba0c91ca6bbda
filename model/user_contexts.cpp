// SPDX-License-Identifier: BSD-3-Clause
#include "model/user_contexts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "prm/block_signature.hpp"
#include "prm/counter_commands.hpp"
#include "prm/enums.hpp"
#include "prm/ethernet_commands.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/pacing_commands.hpp"
#include "prm/qp_commands.hpp"
#include "prm/receive_commands.hpp"
#include "prm/shared_receive_commands.hpp"
#include "prm/steering_commands.hpp"
#include "prm/tag_matching.hpp"
#include "prm/user_context_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using prm::Opcode;
using Kind = UserContexts::Kind;

enum Refusal : std::uint32_t {
  kNoNumber = 0xb10001,
  kNotOffered,
  kNoSuchContext,
  kContextInUse,
  kNotItsOwn,
};

/// What it takes was nobody's, and its number is the driver's to choose.
enum class Act : std::uint8_t { Creates, Takes, Uses, Destroys };

/// A number in a message, and what must stand elsewhere in it for the number to mean anything.
struct Naming {
  Opcode opcode;
  Act act;
  Kind kind;
  prm::Place where;
  prm::Place condition = {};  // not found: none
  std::uint64_t value = 0;
  bool is_mask = false;  // one of these bits, in place of this value
};

template <class L, prm::Name Path>
consteval prm::Place at() {
  static_assert(prm::ReadableField<L, Path>);
  return prm::place<L, Path>;
}

constexpr prm::Place kQpType = at<prm::create_qp_in, "qpc.st">();
constexpr prm::Place kRqType = at<prm::create_qp_in, "qpc.rq_type">();
constexpr prm::Place kObjectType = at<prm::general_obj_in_cmd_hdr, "obj_type">();

/// The number 0 names nothing, and no object has it. Flow tables and what is in them are not here
/// and not kept apart, though DevX passes their commands on (devx_is_obj_create_cmd).
constexpr std::array kNamings{
    Naming{Opcode::ALLOC_UAR, Act::Creates, Kind::Uar, at<prm::alloc_uar_out, "uar">()},
    Naming{Opcode::DEALLOC_UAR, Act::Destroys, Kind::Uar, at<prm::dealloc_uar_in, "uar">()},
    Naming{Opcode::ALLOC_PD, Act::Creates, Kind::Pd, at<prm::alloc_pd_out, "pd">()},
    Naming{Opcode::DEALLOC_PD, Act::Destroys, Kind::Pd, at<prm::dealloc_pd_in, "pd">()},

    Naming{Opcode::CREATE_EQ, Act::Uses, Kind::Uar,
           at<prm::create_eq_in, "eq_context_entry.uar_page">()},
    Naming{Opcode::CREATE_EQ, Act::Creates, Kind::Eq, at<prm::create_eq_out, "eq_number">()},
    Naming{Opcode::DESTROY_EQ, Act::Destroys, Kind::Eq, at<prm::destroy_eq_in, "eq_number">()},
    Naming{Opcode::QUERY_EQ, Act::Uses, Kind::Eq, at<prm::query_eq_in, "eq_number">()},

    Naming{Opcode::CREATE_CQ, Act::Uses, Kind::Uar, at<prm::create_cq_in, "cq_context.uar_page">()},
    Naming{Opcode::CREATE_CQ, Act::Uses, Kind::Eq,
           at<prm::create_cq_in, "cq_context.c_eqn_or_apu_element">()},
    Naming{Opcode::CREATE_CQ, Act::Uses, Kind::Umem, at<prm::create_cq_in, "cq_umem_id">()},
    Naming{Opcode::CREATE_CQ, Act::Uses, Kind::Umem,
           at<prm::create_cq_in, "cq_context.dbr_umem_id">()},
    Naming{Opcode::CREATE_CQ, Act::Creates, Kind::Cq, at<prm::create_cq_out, "cqn">()},
    Naming{Opcode::QUERY_CQ, Act::Uses, Kind::Cq, at<prm::query_cq_in, "cqn">()},
    Naming{Opcode::MODIFY_CQ, Act::Uses, Kind::Cq, at<prm::modify_cq_in, "cqn">()},
    Naming{Opcode::DESTROY_CQ, Act::Destroys, Kind::Cq, at<prm::destroy_cq_in, "cqn">()},

    Naming{Opcode::CREATE_MKEY, Act::Uses, Kind::Pd,
           at<prm::create_mkey_in, "memory_key_mkey_entry.pd">()},
    Naming{Opcode::CREATE_MKEY, Act::Uses, Kind::Umem, at<prm::create_mkey_in, "mkey_umem_id">()},
    Naming{Opcode::CREATE_MKEY, Act::Creates, Kind::Mkey, at<prm::create_mkey_out, "mkey_index">()},
    Naming{Opcode::QUERY_MKEY, Act::Uses, Kind::Mkey, at<prm::query_mkey_in, "mkey_index">()},
    Naming{Opcode::DESTROY_MKEY, Act::Destroys, Kind::Mkey,
           at<prm::destroy_mkey_in, "mkey_index">()},

    Naming{Opcode::CREATE_PSV, Act::Uses, Kind::Pd, at<prm::create_psv_in, "pd">()},
    Naming{Opcode::CREATE_PSV, Act::Creates, Kind::Psv, at<prm::create_psv_out, "psv0_index">()},
    Naming{Opcode::CREATE_PSV, Act::Creates, Kind::Psv, at<prm::create_psv_out, "psv1_index">()},
    Naming{Opcode::CREATE_PSV, Act::Creates, Kind::Psv, at<prm::create_psv_out, "psv2_index">()},
    Naming{Opcode::CREATE_PSV, Act::Creates, Kind::Psv, at<prm::create_psv_out, "psv3_index">()},
    Naming{Opcode::DESTROY_PSV, Act::Destroys, Kind::Psv, at<prm::destroy_psv_in, "psvn">()},

    // Objects of every type have numbers of their own.
    Naming{Opcode::CREATE_GENERAL_OBJECT, Act::Creates, Kind::SteeringMemory,
           at<prm::general_obj_out_cmd_hdr, "obj_id">(), kObjectType, prm::kObjTypeSwIcm},
    Naming{Opcode::QUERY_GENERAL_OBJECT, Act::Uses, Kind::SteeringMemory,
           at<prm::general_obj_in_cmd_hdr, "obj_id">(), kObjectType, prm::kObjTypeSwIcm},
    Naming{Opcode::DESTROY_GENERAL_OBJECT, Act::Destroys, Kind::SteeringMemory,
           at<prm::general_obj_in_cmd_hdr, "obj_id">(), kObjectType, prm::kObjTypeSwIcm},
    Naming{Opcode::CREATE_GENERAL_OBJECT, Act::Creates, Kind::Sampler,
           at<prm::general_obj_out_cmd_hdr, "obj_id">(), kObjectType, prm::kObjTypeSampler},
    Naming{Opcode::QUERY_GENERAL_OBJECT, Act::Uses, Kind::Sampler,
           at<prm::general_obj_in_cmd_hdr, "obj_id">(), kObjectType, prm::kObjTypeSampler},
    Naming{Opcode::DESTROY_GENERAL_OBJECT, Act::Destroys, Kind::Sampler,
           at<prm::general_obj_in_cmd_hdr, "obj_id">(), kObjectType, prm::kObjTypeSampler},

    Naming{Opcode::CREATE_UMEM, Act::Creates, Kind::Umem, at<prm::create_umem_out, "umem_id">()},
    Naming{Opcode::DESTROY_UMEM, Act::Destroys, Kind::Umem, at<prm::destroy_umem_in, "umem_id">()},

    // Linux names an XRC domain and a shared receive queue of its own for every QP
    // (create_user_qp of mlx5_ib/qp.c), and only some have either.
    Naming{Opcode::CREATE_QP, Act::Uses, Kind::Pd, at<prm::create_qp_in, "qpc.pd">()},
    Naming{Opcode::CREATE_QP, Act::Uses, Kind::Cq, at<prm::create_qp_in, "qpc.cqn_snd">()},
    Naming{Opcode::CREATE_QP, Act::Uses, Kind::Cq, at<prm::create_qp_in, "qpc.cqn_rcv">()},
    Naming{Opcode::CREATE_QP, Act::Uses, Kind::Uar, at<prm::create_qp_in, "qpc.uar_page">()},
    Naming{Opcode::CREATE_QP, Act::Uses, Kind::Umem, at<prm::create_qp_in, "wq_umem_id">()},
    Naming{Opcode::CREATE_QP, Act::Uses, Kind::Umem, at<prm::create_qp_in, "qpc.dbr_umem_id">()},
    Naming{Opcode::CREATE_QP, Act::Uses, Kind::Xrcd, at<prm::create_qp_in, "qpc.xrcd">(), kQpType,
           prm::number(prm::QpServiceType::XRC)},
    Naming{Opcode::CREATE_QP, Act::Uses, Kind::SharedReceive,
           at<prm::create_qp_in, "qpc.srqn_rmpn_xrqn">(), kRqType,
           prm::number(prm::QpRqType::SRQ_RQ)},
    Naming{Opcode::CREATE_QP, Act::Creates, Kind::Qp, at<prm::create_qp_out, "qpn">()},
    Naming{Opcode::DESTROY_QP, Act::Destroys, Kind::Qp, at<prm::destroy_qp_in, "qpn">()},
    Naming{Opcode::RST2INIT_QP, Act::Uses, Kind::Qp, at<prm::rst2init_qp_in, "qpn">()},
    Naming{Opcode::RST2INIT_QP, Act::Uses, Kind::QCounter,
           at<prm::rst2init_qp_in, "qpc.counter_set_id">()},
    Naming{Opcode::INIT2INIT_QP, Act::Uses, Kind::Qp, at<prm::init2init_qp_in, "qpn">()},
    Naming{Opcode::INIT2RTR_QP, Act::Uses, Kind::Qp, at<prm::init2rtr_qp_in, "qpn">()},
    Naming{Opcode::RTR2RTS_QP, Act::Uses, Kind::Qp, at<prm::rtr2rts_qp_in, "qpn">()},
    Naming{Opcode::RTS2RTS_QP, Act::Uses, Kind::Qp, at<prm::rts2rts_qp_in, "qpn">()},
    Naming{Opcode::RTS2RTS_QP, Act::Uses, Kind::QCounter,
           at<prm::rts2rts_qp_in, "qpc.counter_set_id">(),
           at<prm::rts2rts_qp_in, "opt_param_mask">(), prm::number(prm::QpOptPar::COUNTER_SET_ID),
           /*is_mask=*/true},
    Naming{Opcode::SQERR2RTS_QP, Act::Uses, Kind::Qp, at<prm::sqerr2rts_qp_in, "qpn">()},
    Naming{Opcode::SQD_RTS_QP, Act::Uses, Kind::Qp, at<prm::sqd2rts_qp_in, "qpn">()},
    Naming{Opcode::RTS2SQD_QP, Act::Uses, Kind::Qp, at<prm::sqd2rts_qp_in, "qpn">()},
    Naming{Opcode::QP_2ERR, Act::Uses, Kind::Qp, at<prm::qp_2err_in, "qpn">()},
    Naming{Opcode::QP_2RST, Act::Uses, Kind::Qp, at<prm::qp_2rst_in, "qpn">()},
    Naming{Opcode::QUERY_QP, Act::Uses, Kind::Qp, at<prm::query_qp_in, "qpn">()},

    Naming{Opcode::ALLOC_Q_COUNTER, Act::Creates, Kind::QCounter,
           at<prm::alloc_q_counter_out, "counter_set_id">()},
    Naming{Opcode::DEALLOC_Q_COUNTER, Act::Destroys, Kind::QCounter,
           at<prm::dealloc_q_counter_in, "counter_set_id">()},
    Naming{Opcode::QUERY_Q_COUNTER, Act::Uses, Kind::QCounter,
           at<prm::query_q_counter_in, "counter_set_id">()},

    Naming{Opcode::ALLOC_TRANSPORT_DOMAIN, Act::Creates, Kind::TransportDomain,
           at<prm::alloc_transport_domain_out, "transport_domain">()},
    Naming{Opcode::DEALLOC_TRANSPORT_DOMAIN, Act::Destroys, Kind::TransportDomain,
           at<prm::dealloc_transport_domain_in, "transport_domain">()},
    Naming{Opcode::CREATE_RQ, Act::Uses, Kind::Pd, at<prm::create_rq_in, "ctx.wq.pd">()},
    Naming{Opcode::CREATE_RQ, Act::Uses, Kind::Cq, at<prm::create_rq_in, "ctx.cqn">()},
    Naming{Opcode::CREATE_RQ, Act::Uses, Kind::Umem, at<prm::create_rq_in, "ctx.wq.wq_umem_id">()},
    Naming{Opcode::CREATE_RQ, Act::Uses, Kind::Umem, at<prm::create_rq_in, "ctx.wq.dbr_umem_id">()},
    Naming{Opcode::CREATE_RQ, Act::Creates, Kind::Rq, at<prm::create_rq_out, "rqn">()},
    Naming{Opcode::MODIFY_RQ, Act::Uses, Kind::Rq, at<prm::modify_rq_in, "rqn">()},
    Naming{Opcode::DESTROY_RQ, Act::Destroys, Kind::Rq, at<prm::destroy_rq_in, "rqn">()},
    Naming{Opcode::CREATE_TIR, Act::Uses, Kind::Rq, at<prm::create_tir_in, "ctx.inline_rqn">()},
    Naming{Opcode::CREATE_TIR, Act::Uses, Kind::TransportDomain,
           at<prm::create_tir_in, "ctx.transport_domain">()},
    Naming{Opcode::CREATE_TIR, Act::Creates, Kind::Tir, at<prm::create_tir_out, "tirn">()},
    Naming{Opcode::DESTROY_TIR, Act::Destroys, Kind::Tir, at<prm::destroy_tir_in, "tirn">()},

    Naming{Opcode::QUERY_RQ, Act::Uses, Kind::Rq, at<prm::query_rq_in, "rqn">()},
    Naming{Opcode::CREATE_TIR, Act::Uses, Kind::Rqt,
           at<prm::create_tir_in, "ctx.indirect_table">()},
    Naming{Opcode::MODIFY_TIR, Act::Uses, Kind::Tir, at<prm::modify_tir_in, "tirn">()},
    Naming{Opcode::QUERY_TIR, Act::Uses, Kind::Tir, at<prm::query_tir_in, "tirn">()},

    Naming{Opcode::CREATE_TIS, Act::Uses, Kind::TransportDomain,
           at<prm::create_tis_in, "ctx.transport_domain">()},
    Naming{Opcode::CREATE_TIS, Act::Creates, Kind::Tis, at<prm::create_tis_out, "tisn">()},
    Naming{Opcode::MODIFY_TIS, Act::Uses, Kind::Tis, at<prm::modify_tis_in, "tisn">()},
    Naming{Opcode::QUERY_TIS, Act::Uses, Kind::Tis, at<prm::query_tis_in, "tisn">()},
    Naming{Opcode::DESTROY_TIS, Act::Destroys, Kind::Tis, at<prm::destroy_tis_in, "tisn">()},
    Naming{Opcode::CREATE_SQ, Act::Uses, Kind::Pd, at<prm::create_sq_in, "ctx.wq.pd">()},
    Naming{Opcode::CREATE_SQ, Act::Uses, Kind::Cq, at<prm::create_sq_in, "ctx.cqn">()},
    Naming{Opcode::CREATE_SQ, Act::Uses, Kind::Uar, at<prm::create_sq_in, "ctx.wq.uar_page">()},
    Naming{Opcode::CREATE_SQ, Act::Uses, Kind::Tis, at<prm::create_sq_in, "ctx.tis_num_0">()},
    Naming{Opcode::CREATE_SQ, Act::Uses, Kind::Umem, at<prm::create_sq_in, "ctx.wq.wq_umem_id">()},
    Naming{Opcode::CREATE_SQ, Act::Uses, Kind::Umem, at<prm::create_sq_in, "ctx.wq.dbr_umem_id">()},
    Naming{Opcode::CREATE_SQ, Act::Creates, Kind::Sq, at<prm::create_sq_out, "sqn">()},
    Naming{Opcode::MODIFY_SQ, Act::Uses, Kind::Sq, at<prm::modify_sq_in, "sqn">()},
    Naming{Opcode::CREATE_SQ, Act::Uses, Kind::Rate,
           at<prm::create_sq_in, "ctx.packet_pacing_rate_limit_index">()},
    Naming{Opcode::MODIFY_SQ, Act::Uses, Kind::Rate,
           at<prm::modify_sq_in, "ctx.packet_pacing_rate_limit_index">(),
           at<prm::modify_sq_in, "modify_bitmask">(), prm::kModifySqRateLimit, /*is_mask=*/true},
    Naming{Opcode::SET_PP_RATE_LIMIT, Act::Takes, Kind::Rate,
           at<prm::set_pp_rate_limit_in, "rate_limit_index">()},
    Naming{Opcode::SET_PP_RATE_LIMIT, Act::Destroys, Kind::Rate,
           at<prm::set_pp_rate_limit_in, "rate_limit_index">(),
           at<prm::set_pp_rate_limit_in, "ctx.rate_limit">(), 0},
    Naming{Opcode::QUERY_SQ, Act::Uses, Kind::Sq, at<prm::query_sq_in, "sqn">()},
    Naming{Opcode::DESTROY_SQ, Act::Destroys, Kind::Sq, at<prm::destroy_sq_in, "sqn">()},
    Naming{Opcode::CREATE_RQT, Act::Creates, Kind::Rqt, at<prm::create_rqt_out, "rqtn">()},
    Naming{Opcode::MODIFY_RQT, Act::Uses, Kind::Rqt, at<prm::modify_rqt_in, "rqtn">()},
    Naming{Opcode::QUERY_RQT, Act::Uses, Kind::Rqt, at<prm::query_rqt_in, "rqtn">()},
    Naming{Opcode::DESTROY_RQT, Act::Destroys, Kind::Rqt, at<prm::destroy_rqt_in, "rqtn">()},

    Naming{Opcode::ALLOC_XRCD, Act::Creates, Kind::Xrcd, at<prm::alloc_xrcd_out, "xrcd">()},
    Naming{Opcode::DEALLOC_XRCD, Act::Destroys, Kind::Xrcd, at<prm::dealloc_xrcd_in, "xrcd">()},
    Naming{Opcode::CREATE_XRC_SRQ, Act::Uses, Kind::Pd,
           at<prm::create_xrc_srq_in, "xrc_srq_context_entry.pd">()},
    Naming{Opcode::CREATE_XRC_SRQ, Act::Uses, Kind::Cq,
           at<prm::create_xrc_srq_in, "xrc_srq_context_entry.cqn">()},
    Naming{Opcode::CREATE_XRC_SRQ, Act::Uses, Kind::Xrcd,
           at<prm::create_xrc_srq_in, "xrc_srq_context_entry.xrcd">()},
    Naming{Opcode::CREATE_XRC_SRQ, Act::Creates, Kind::SharedReceive,
           at<prm::create_xrc_srq_out, "xrc_srqn">()},
    Naming{Opcode::QUERY_XRC_SRQ, Act::Uses, Kind::SharedReceive,
           at<prm::query_xrc_srq_in, "xrc_srqn">()},
    Naming{Opcode::ARM_XRC_SRQ, Act::Uses, Kind::SharedReceive,
           at<prm::arm_xrc_srq_in, "xrc_srqn">()},
    Naming{Opcode::DESTROY_XRC_SRQ, Act::Destroys, Kind::SharedReceive,
           at<prm::destroy_xrc_srq_in, "xrc_srqn">()},
    Naming{Opcode::CREATE_RMP, Act::Uses, Kind::Pd, at<prm::create_rmp_in, "ctx.wq.pd">()},
    Naming{Opcode::CREATE_RMP, Act::Uses, Kind::Umem,
           at<prm::create_rmp_in, "ctx.wq.wq_umem_id">()},
    Naming{Opcode::CREATE_RMP, Act::Uses, Kind::Umem,
           at<prm::create_rmp_in, "ctx.wq.dbr_umem_id">()},
    Naming{Opcode::CREATE_RMP, Act::Creates, Kind::SharedReceive,
           at<prm::create_rmp_out, "rmpn">()},
    Naming{Opcode::MODIFY_RMP, Act::Uses, Kind::SharedReceive, at<prm::modify_rmp_in, "rmpn">()},
    Naming{Opcode::QUERY_RMP, Act::Uses, Kind::SharedReceive, at<prm::query_rmp_in, "rmpn">()},
    Naming{Opcode::DESTROY_RMP, Act::Destroys, Kind::SharedReceive,
           at<prm::destroy_rmp_in, "rmpn">()},
    Naming{Opcode::CREATE_XRQ, Act::Uses, Kind::Pd, at<prm::create_xrq_in, "xrq_context.wq.pd">()},
    Naming{Opcode::CREATE_XRQ, Act::Uses, Kind::Cq, at<prm::create_xrq_in, "xrq_context.cqn">()},
    Naming{Opcode::CREATE_XRQ, Act::Uses, Kind::Umem,
           at<prm::create_xrq_in, "xrq_context.wq.wq_umem_id">()},
    Naming{Opcode::CREATE_XRQ, Act::Uses, Kind::Umem,
           at<prm::create_xrq_in, "xrq_context.wq.dbr_umem_id">()},
    Naming{Opcode::CREATE_XRQ, Act::Creates, Kind::SharedReceive,
           at<prm::create_xrq_out, "xrqn">()},
    Naming{Opcode::QUERY_XRQ, Act::Uses, Kind::SharedReceive, at<prm::query_xrq_in, "xrqn">()},
    Naming{Opcode::ARM_XRQ, Act::Uses, Kind::SharedReceive, at<prm::arm_xrq_in, "xrqn">()},
    Naming{Opcode::ARM_RQ, Act::Uses, Kind::SharedReceive, at<prm::arm_rq_in, "srq_number">()},
    Naming{Opcode::DESTROY_XRQ, Act::Destroys, Kind::SharedReceive,
           at<prm::destroy_xrq_in, "xrqn">()},
    Naming{Opcode::ATTACH_TO_MCG, Act::Uses, Kind::Qp, at<prm::attach_to_mcg_in, "qpn">()},
    Naming{Opcode::DETACH_FROM_MCG, Act::Uses, Kind::Qp, at<prm::detach_from_mcg_in, "qpn">()},
};

/// The receive queues that a table is filled with stand behind the layout: where the list begins.
constexpr std::array kQueueLists{std::pair{Opcode::CREATE_RQT, prm::create_rqt_in::bytes},
                                 std::pair{Opcode::MODIFY_RQT, prm::modify_rqt_in::bytes}};

/// Nothing when the message ends before the field: its handler refuses it, or nobody hears.
std::optional<std::uint64_t> read(std::span<const std::byte> message, const prm::Place& place) {
  const unsigned end = place.offset + place.width;
  if (message.size() * 8 < end) return std::nullopt;
  std::uint64_t value = 0;
  for (unsigned bit = place.offset; bit < end; ++bit)
    value = value << 1 | (std::to_integer<unsigned>(message[bit / 8]) >> (7 - bit % 8) & 1);
  return value;
}

/// The number that stands there, 0 for none.
std::uint32_t number_in(const Command& command, const Naming& naming) {
  if (naming.condition.found) {
    const std::uint64_t found = read(command.in, naming.condition).value_or(0);
    if (naming.is_mask ? (found & naming.value) == 0 : found != naming.value) return 0;
  }
  const auto message =
      naming.act == Act::Creates ? std::span<const std::byte>(command.out) : command.in;
  return static_cast<std::uint32_t>(read(message, naming.where).value_or(0));
}

struct Head {
  Opcode opcode;
  std::uint32_t uid;
};

Head head_of(const Command& command) {
  using Layout = prm::general_obj_in_cmd_hdr;
  constexpr prm::Place kOpcode = at<Layout, "opcode">();
  constexpr prm::Place kUid = at<Layout, "uid">();
  return {Opcode{static_cast<std::uint16_t>(read(command.in, kOpcode).value_or(0))},
          static_cast<std::uint32_t>(read(command.in, kUid).value_or(0))};
}

/// The kernel's own command: shared is what it makes, not who gives it.
bool is_kernels(std::uint32_t uid) noexcept { return uid == 0 || uid == prm::kSharedResourceUid; }

}  // namespace

Verdict UserContexts::create(std::uint32_t capabilities, std::uint32_t& uid) {
  if (capabilities != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  const auto id = ids_.allocate();
  if (!id) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  uids_.insert(*id);
  uid = *id;
  return {};
}

Verdict UserContexts::destroy(std::uint32_t uid) {
  if (!uids_.contains(uid)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchContext);
  if (std::ranges::any_of(owners_, [uid](const auto& entry) { return entry.second == uid; }))
    return refuse(CommandStatus::BAD_RES_STATE_ERR, kContextInUse);
  uids_.erase(uid);
  ids_.give_back(uid);
  return {};
}

bool UserContexts::may_use(std::uint32_t uid, Object object) const {
  const auto found = owners_.find(object);
  return found != owners_.end() &&
         (found->second == uid || found->second == prm::kSharedResourceUid);
}

Verdict UserContexts::admit(const Command& command) const {
  const Head head = head_of(command);
  if (is_kernels(head.uid)) return {};
  if (!uids_.contains(head.uid)) return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchContext);
  for (const Naming& naming : kNamings) {
    if (naming.opcode != head.opcode || naming.act == Act::Creates || naming.act == Act::Takes)
      continue;
    const std::uint32_t number = number_in(command, naming);
    if (naming.kind == Kind::Uar && naming.act == Act::Uses &&
        !owners_.contains({Kind::Uar, number}))
      continue;
    if (number != 0 && !may_use(head.uid, {naming.kind, number}))
      return refuse(naming.kind == Kind::Mkey ? CommandStatus::BAD_PARAM_ERR  // see commands.hpp
                                              : CommandStatus::BAD_RES_ERR,
                    kNotItsOwn);
  }
  for (const auto& [opcode, start] : kQueueLists) {
    if (opcode != head.opcode) continue;
    constexpr prm::Place kQueue = at<prm::rq_num, "rq_num">();
    for (std::size_t entry = start; entry < command.in.size(); entry += prm::rq_num::bytes) {
      const auto number =
          static_cast<std::uint32_t>(read(command.in.subspan(entry), kQueue).value_or(0));
      if (number != 0 && !may_use(head.uid, {Kind::Rq, number}))
        return refuse(CommandStatus::BAD_RES_ERR, kNotItsOwn);
    }
  }
  return {};
}

void UserContexts::note(const Command& command) {
  const Head head = head_of(command);
  if (head.uid == 0 && owners_.empty()) return;  // what a driver without user contexts sends
  for (const Naming& naming : kNamings) {
    if (naming.opcode != head.opcode || naming.act == Act::Uses) continue;
    const Object object{naming.kind, number_in(command, naming)};
    if (naming.act == Act::Destroys)
      owners_.erase(object);
    else if (head.uid != 0 && object.second != 0)
      owners_[object] = head.uid;
  }
}

void UserContexts::clear() noexcept {
  uids_.clear();
  owners_.clear();
  ids_.clear();
}

}  // namespace portcullis::model
