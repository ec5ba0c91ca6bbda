// SPDX-License-Identifier: BSD-3-Clause
//
// Which commands the function answers, and from which stage of bring-up on. Before a handler sees a
// command, its uid, lengths, reserved bits and op_mod have been checked.
#include <algorithm>
#include <array>
#include <limits>

#include "model/commands.hpp"
#include "model/core.hpp"
#include "model/reserved.hpp"
#include "prm/cmd_interface.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using prm::Opcode;

enum Refusal : std::uint32_t {
  kUnknownOpcode = 0x1,
  kWrongStage,
  kShortInput,
  kReservedBits,
  kBadOpMod,
  kLongInput,
  kNoPages,
};

enum Traits : unsigned { kPlain = 0, kHasOpMod = 1, kHasList = 2 };

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

/// Where the last field of a layout ends, in bytes; as far as the header goes at least.
template <class In>
consteval std::size_t end_of_fields() {
  unsigned end = prm::general_obj_in_cmd_hdr::bytes * 8;
  for (const prm::Member& member : In::members)
    if (member.kind != prm::MemberKind::Reserved) end = std::max(end, member.offset + member.width);
  return (end + 31) / 32 * 4;
}

/// The least input of a command. What is reserved at its end need not come: a transition of a queue
/// pair ends with its context in iPXE's driver (golan_modify_qp_mbox_in of golan.h). Neither need
/// what drivers of before its last fields still send without them (init_hca_in of rdma-core's
/// mlx5_ifc.h ends before sw_owner_id).
template <class In>
inline constexpr std::size_t kLeastInput = end_of_fields<In>();
template <>
inline constexpr std::size_t kLeastInput<prm::init_hca_in> =
    prm::place<prm::init_hca_in, "sw_owner_id">.offset / 8;
/// The general page had 0x100 bytes when it was struct mlx5_hca_cap (include/linux/mlx5/device.h of
/// Linux 3.11), and iPXE's driver sends no more (golan_cmd_set_hca_cap_mbox_in of golan.h).
template <>
inline constexpr std::size_t kLeastInput<prm::set_hca_cap_in> =
    prm::place<prm::set_hca_cap_in, "capability">.offset / 8 + 0x100;
/// mcx_flow_table_ctx of OpenBSD's if_mcx.c has 0x24 bytes, and ends within the roots of tables
/// that software owns.
template <>
inline constexpr std::size_t kLeastInput<prm::create_flow_table_in> =
    prm::place<prm::create_flow_table_in, "flow_table_context.sw_owner_icm_root_1">.offset / 8;

/// As reserved_bits_clear, but for the uid, which any command may have.
template <class In>
bool reserved_bits_of_command_clear(std::span<const std::byte, In::bytes> in) {
  constexpr prm::Place kUid = prm::place<prm::general_obj_in_cmd_hdr, "uid">;
  std::array<std::byte, In::bytes> rest;
  std::ranges::copy(in, rest.begin());
  if constexpr (!prm::HasMember<In, "uid"> || prm::place<In, "uid">.offset != kUid.offset)
    std::ranges::fill(std::span(rest).template subspan<kUid.offset / 8, kUid.width / 8>(),
                      std::byte{0});
  return reserved_bits_clear<In>(std::span<const std::byte, In::bytes>(rest));
}

template <class In, class Out, auto Handler, unsigned Traits>
Verdict checked(Core& core, const Command& command);

/// What a driver has no room for is cut off. Room for status and syndrome, which every message has
/// (walk() of mailbox.cpp), will do: QueryCmdHcaCapOut of rdma-core's tests/mlx5_prm_structs.py is
/// half a page, and Snabb's connectx.lua takes no padding behind what it reads.
template <class In, class Out, auto Handler, unsigned Traits>
Verdict checked_cut(Core& core, const Command& command) {
  std::array<std::byte, Out::bytes> whole{};
  Command roomier = command;
  roomier.out = whole;
  const Verdict verdict = checked<In, Out, Handler, Traits>(core, roomier);
  std::ranges::copy(std::span(whole).first(command.out.size()), command.out.begin());
  return verdict;
}

/// What did not come is zero.
template <class In, class Out, auto Handler, unsigned Traits>
Verdict checked_padded(Core& core, const Command& command) {
  std::array<std::byte, In::bytes> padded{};
  std::ranges::copy(command.in, padded.begin());
  Command longer = command;
  longer.in = padded;
  return checked<In, Out, Handler, Traits>(core, longer);
}

template <class In, class Out, auto Handler, unsigned Traits>
Verdict checked(Core& core, const Command& command) {
  if (command.in.size() < kLeastInput<In>)
    return refuse(CommandStatus::BAD_INP_LEN_ERR, kShortInput);
  if constexpr (kLeastInput<In> < In::bytes) {
    if (command.in.size() < In::bytes)
      return checked_padded<In, Out, Handler, Traits>(core, command);
  }
  if (command.out.size() < Out::bytes) return checked_cut<In, Out, Handler, Traits>(core, command);
  const auto in = command.in.first<In::bytes>();
  const prm::ConstView<In> view{in};
  if (!reserved_bits_of_command_clear<In>(in))
    return refuse(CommandStatus::BAD_PARAM_ERR, kReservedBits);
  if constexpr ((Traits & kHasOpMod) == 0) {
    if (view.template get<"op_mod">() != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kBadOpMod);
  }
  if constexpr ((Traits & kHasList) == 0) {
    // A driver of a newer interface may send more, as long as it says nothing.
    if (!all_zero(command.in.subspan(In::bytes)))
      return refuse(CommandStatus::BAD_INP_LEN_ERR, kLongInput);
  }
  return Handler(
      core, Request<In, Out>{view, prm::View<Out>::at(command.out), command.in.subspan(In::bytes),
                             command.out.subspan(Out::bytes), command.slot});
}

struct Entry {
  Opcode opcode;
  Stage needed;
  Verdict (*run)(Core& core, const Command& command);
};

#define PORTCULLIS_MODEL_ENTRY(opcode, stage, name, traits)                          \
  Entry {                                                                            \
    Opcode::opcode, Stage::stage,                                                    \
        &checked<prm::name##_in, prm::name##_out, &commands::name, unsigned{traits}> \
  }

/// The type of the object stands where others have op_mod, and behind the layout the object.
#define PORTCULLIS_GENERAL_OBJECT_ENTRY(opcode, name)                                        \
  Entry {                                                                                    \
    Opcode::opcode, Stage::Initialised,                                                      \
        &checked<prm::general_obj_in_cmd_hdr, prm::general_obj_out_cmd_hdr, &commands::name, \
                 kHasOpMod | kHasList>                                                       \
  }

constexpr std::array kEntries{
    PORTCULLIS_MODEL_ENTRY(ENABLE_HCA, PoweredOn, enable_hca, kPlain),
    PORTCULLIS_MODEL_ENTRY(DISABLE_HCA, Enabled, disable_hca, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_ISSI, Enabled, query_issi, kPlain),
    PORTCULLIS_MODEL_ENTRY(SET_ISSI, Enabled, set_issi, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_PAGES, Enabled, query_pages, kHasOpMod),
    PORTCULLIS_MODEL_ENTRY(MANAGE_PAGES, Enabled, manage_pages, kHasOpMod | kHasList),
    PORTCULLIS_MODEL_ENTRY(ACCESS_REG, BootPages, access_register, kHasOpMod | kHasList),
    PORTCULLIS_MODEL_ENTRY(QUERY_HCA_CAP, BootPages, query_hca_cap, kHasOpMod),
    PORTCULLIS_MODEL_ENTRY(SET_HCA_CAP, BootPages, set_hca_cap, kHasOpMod),
    PORTCULLIS_MODEL_ENTRY(INIT_HCA, BootPages, init_hca, kPlain),
    PORTCULLIS_MODEL_ENTRY(TEARDOWN_HCA, Initialised, teardown_hca, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_ADAPTER, Initialised, query_adapter, kPlain),
    PORTCULLIS_MODEL_ENTRY(SET_DRIVER_VERSION, Initialised, set_driver_version, kPlain),
    PORTCULLIS_MODEL_ENTRY(ALLOC_UAR, Initialised, alloc_uar, kPlain),
    PORTCULLIS_MODEL_ENTRY(DEALLOC_UAR, Initialised, dealloc_uar, kPlain),
    PORTCULLIS_MODEL_ENTRY(ALLOC_PD, Initialised, alloc_pd, kPlain),
    PORTCULLIS_MODEL_ENTRY(DEALLOC_PD, Initialised, dealloc_pd, kPlain),
    PORTCULLIS_MODEL_ENTRY(CREATE_EQ, Initialised, create_eq, kHasList),
    PORTCULLIS_MODEL_ENTRY(DESTROY_EQ, Initialised, destroy_eq, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_EQ, Initialised, query_eq, kPlain),
    PORTCULLIS_MODEL_ENTRY(CONFIG_INT_MODERATION, Initialised, config_int_moderation, kHasOpMod),
    PORTCULLIS_MODEL_ENTRY(CREATE_CQ, Initialised, create_cq, kHasList),
    PORTCULLIS_MODEL_ENTRY(DESTROY_CQ, Initialised, destroy_cq, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_CQ, Initialised, query_cq, kPlain),
    PORTCULLIS_MODEL_ENTRY(MODIFY_CQ, Initialised, modify_cq, kHasOpMod | kHasList),
    PORTCULLIS_MODEL_ENTRY(CREATE_MKEY, Initialised, create_mkey, kHasList),
    PORTCULLIS_MODEL_ENTRY(DESTROY_MKEY, Initialised, destroy_mkey, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_MKEY, Initialised, query_mkey, kPlain),
    PORTCULLIS_MODEL_ENTRY(CREATE_PSV, Initialised, create_psv, kPlain),
    PORTCULLIS_MODEL_ENTRY(DESTROY_PSV, Initialised, destroy_psv, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_SPECIAL_CONTEXTS, Initialised, query_special_contexts, kPlain),
    PORTCULLIS_MODEL_ENTRY(CREATE_UMEM, Initialised, create_umem, kHasList),
    PORTCULLIS_MODEL_ENTRY(DESTROY_UMEM, Initialised, destroy_umem, kPlain),
    PORTCULLIS_MODEL_ENTRY(ALLOC_MEMIC, Initialised, alloc_memic, kPlain),
    PORTCULLIS_MODEL_ENTRY(DEALLOC_MEMIC, Initialised, dealloc_memic, kPlain),
    PORTCULLIS_GENERAL_OBJECT_ENTRY(CREATE_GENERAL_OBJECT, create_general_object),
    PORTCULLIS_GENERAL_OBJECT_ENTRY(QUERY_GENERAL_OBJECT, query_general_object),
    PORTCULLIS_GENERAL_OBJECT_ENTRY(DESTROY_GENERAL_OBJECT, destroy_general_object),
    PORTCULLIS_MODEL_ENTRY(SYNC_STEERING, Initialised, sync_steering, kPlain),
    PORTCULLIS_MODEL_ENTRY(CREATE_UCTX, Initialised, create_uctx, kPlain),
    PORTCULLIS_MODEL_ENTRY(DESTROY_UCTX, Initialised, destroy_uctx, kPlain),
    PORTCULLIS_MODEL_ENTRY(CREATE_QP, Initialised, create_qp, kHasList),
    PORTCULLIS_MODEL_ENTRY(DESTROY_QP, Initialised, destroy_qp, kPlain),
    PORTCULLIS_MODEL_ENTRY(RST2INIT_QP, Initialised, rst2init_qp, kPlain),
    PORTCULLIS_MODEL_ENTRY(INIT2INIT_QP, Initialised, init2init_qp, kPlain),
    PORTCULLIS_MODEL_ENTRY(INIT2RTR_QP, Initialised, init2rtr_qp, kPlain),
    PORTCULLIS_MODEL_ENTRY(RTR2RTS_QP, Initialised, rtr2rts_qp, kPlain),
    PORTCULLIS_MODEL_ENTRY(RTS2RTS_QP, Initialised, rts2rts_qp, kPlain),
    PORTCULLIS_MODEL_ENTRY(SQERR2RTS_QP, Initialised, sqerr2rts_qp, kPlain),
    PORTCULLIS_MODEL_ENTRY(SQD_RTS_QP, Initialised, sqd2rts_qp, kPlain),
    Entry{Opcode::RTS2SQD_QP, Stage::Initialised,
          &checked<prm::sqd2rts_qp_in, prm::sqd2rts_qp_out, &commands::rts2sqd_qp, kPlain>},
    PORTCULLIS_MODEL_ENTRY(QP_2ERR, Initialised, qp_2err, kPlain),
    PORTCULLIS_MODEL_ENTRY(QP_2RST, Initialised, qp_2rst, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_QP, Initialised, query_qp, kPlain),
    PORTCULLIS_MODEL_ENTRY(ALLOC_Q_COUNTER, Initialised, alloc_q_counter, kPlain),
    PORTCULLIS_MODEL_ENTRY(DEALLOC_Q_COUNTER, Initialised, dealloc_q_counter, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_Q_COUNTER, Initialised, query_q_counter, kPlain),
    PORTCULLIS_MODEL_ENTRY(SET_ROCE_ADDRESS, Initialised, set_roce_address, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_ROCE_ADDRESS, Initialised, query_roce_address, kPlain),
    PORTCULLIS_MODEL_ENTRY(MODIFY_NIC_VPORT_CONTEXT, Initialised, modify_nic_vport_context,
                           kHasList),
    PORTCULLIS_MODEL_ENTRY(QUERY_NIC_VPORT_CONTEXT, Initialised, query_nic_vport_context, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_VPORT_STATE, Initialised, query_vport_state, kHasOpMod),
    PORTCULLIS_MODEL_ENTRY(QUERY_HCA_VPORT_CONTEXT, Initialised, query_hca_vport_context, kPlain),
    PORTCULLIS_MODEL_ENTRY(MODIFY_HCA_VPORT_CONTEXT, Initialised, modify_hca_vport_context, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_HCA_VPORT_GID, Initialised, query_hca_vport_gid, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_HCA_VPORT_PKEY, Initialised, query_hca_vport_pkey, kPlain),
    PORTCULLIS_MODEL_ENTRY(MAD_IFC, Initialised, mad_ifc, kHasOpMod),
    PORTCULLIS_MODEL_ENTRY(CREATE_FLOW_TABLE, Initialised, create_flow_table, kPlain),
    PORTCULLIS_MODEL_ENTRY(MODIFY_FLOW_TABLE, Initialised, modify_flow_table, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_FLOW_TABLE, Initialised, query_flow_table, kPlain),
    PORTCULLIS_MODEL_ENTRY(DESTROY_FLOW_TABLE, Initialised, destroy_flow_table, kPlain),
    PORTCULLIS_MODEL_ENTRY(SET_FLOW_TABLE_ROOT, Initialised, set_flow_table_root, kHasOpMod),
    PORTCULLIS_MODEL_ENTRY(CREATE_FLOW_GROUP, Initialised, create_flow_group, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_FLOW_GROUP, Initialised, query_flow_group, kPlain),
    PORTCULLIS_MODEL_ENTRY(DESTROY_FLOW_GROUP, Initialised, destroy_flow_group, kPlain),
    PORTCULLIS_MODEL_ENTRY(SET_FLOW_TABLE_ENTRY, Initialised, set_fte, kHasOpMod | kHasList),
    PORTCULLIS_MODEL_ENTRY(QUERY_FLOW_TABLE_ENTRY, Initialised, query_fte, kPlain),
    PORTCULLIS_MODEL_ENTRY(DELETE_FLOW_TABLE_ENTRY, Initialised, delete_fte, kPlain),
    PORTCULLIS_MODEL_ENTRY(ALLOC_FLOW_COUNTER, Initialised, alloc_flow_counter, kPlain),
    PORTCULLIS_MODEL_ENTRY(DEALLOC_FLOW_COUNTER, Initialised, dealloc_flow_counter, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_FLOW_COUNTER, Initialised, query_flow_counter, kPlain),
    PORTCULLIS_MODEL_ENTRY(ALLOC_MODIFY_HEADER_CONTEXT, Initialised, alloc_modify_header_context,
                           kHasList),
    PORTCULLIS_MODEL_ENTRY(DEALLOC_MODIFY_HEADER_CONTEXT, Initialised,
                           dealloc_modify_header_context, kPlain),
    PORTCULLIS_MODEL_ENTRY(ALLOC_PACKET_REFORMAT_CONTEXT, Initialised,
                           alloc_packet_reformat_context, kHasList),
    PORTCULLIS_MODEL_ENTRY(DEALLOC_PACKET_REFORMAT_CONTEXT, Initialised,
                           dealloc_packet_reformat_context, kPlain),
    PORTCULLIS_MODEL_ENTRY(ALLOC_TRANSPORT_DOMAIN, Initialised, alloc_transport_domain, kPlain),
    PORTCULLIS_MODEL_ENTRY(DEALLOC_TRANSPORT_DOMAIN, Initialised, dealloc_transport_domain, kPlain),
    PORTCULLIS_MODEL_ENTRY(CREATE_RQ, Initialised, create_rq, kHasList),
    PORTCULLIS_MODEL_ENTRY(MODIFY_RQ, Initialised, modify_rq, kPlain),
    PORTCULLIS_MODEL_ENTRY(DESTROY_RQ, Initialised, destroy_rq, kPlain),
    PORTCULLIS_MODEL_ENTRY(CREATE_TIR, Initialised, create_tir, kPlain),
    PORTCULLIS_MODEL_ENTRY(DESTROY_TIR, Initialised, destroy_tir, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_RQ, Initialised, query_rq, kPlain),
    PORTCULLIS_MODEL_ENTRY(MODIFY_TIR, Initialised, modify_tir, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_TIR, Initialised, query_tir, kPlain),
    PORTCULLIS_MODEL_ENTRY(CREATE_TIS, Initialised, create_tis, kPlain),
    PORTCULLIS_MODEL_ENTRY(MODIFY_TIS, Initialised, modify_tis, kPlain),
    PORTCULLIS_MODEL_ENTRY(DESTROY_TIS, Initialised, destroy_tis, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_TIS, Initialised, query_tis, kPlain),
    PORTCULLIS_MODEL_ENTRY(CREATE_SQ, Initialised, create_sq, kHasList),
    PORTCULLIS_MODEL_ENTRY(MODIFY_SQ, Initialised, modify_sq, kPlain),
    PORTCULLIS_MODEL_ENTRY(DESTROY_SQ, Initialised, destroy_sq, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_SQ, Initialised, query_sq, kPlain),
    PORTCULLIS_MODEL_ENTRY(SET_PP_RATE_LIMIT, Initialised, set_pp_rate_limit, kPlain),
    PORTCULLIS_MODEL_ENTRY(CREATE_RQT, Initialised, create_rqt, kHasList),
    PORTCULLIS_MODEL_ENTRY(MODIFY_RQT, Initialised, modify_rqt, kHasList),
    PORTCULLIS_MODEL_ENTRY(DESTROY_RQT, Initialised, destroy_rqt, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_RQT, Initialised, query_rqt, kPlain),
    PORTCULLIS_MODEL_ENTRY(SET_L2_TABLE_ENTRY, Initialised, set_l2_table_entry, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_L2_TABLE_ENTRY, Initialised, query_l2_table_entry, kPlain),
    PORTCULLIS_MODEL_ENTRY(DELETE_L2_TABLE_ENTRY, Initialised, delete_l2_table_entry, kPlain),
    PORTCULLIS_MODEL_ENTRY(MODIFY_VPORT_STATE, Initialised, modify_vport_state, kHasOpMod),
    PORTCULLIS_MODEL_ENTRY(QUERY_VPORT_COUNTER, Initialised, query_vport_counter, kPlain),
    PORTCULLIS_MODEL_ENTRY(ALLOC_XRCD, Initialised, alloc_xrcd, kPlain),
    PORTCULLIS_MODEL_ENTRY(DEALLOC_XRCD, Initialised, dealloc_xrcd, kPlain),
    PORTCULLIS_MODEL_ENTRY(CREATE_XRC_SRQ, Initialised, create_xrc_srq, kHasList),
    PORTCULLIS_MODEL_ENTRY(DESTROY_XRC_SRQ, Initialised, destroy_xrc_srq, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_XRC_SRQ, Initialised, query_xrc_srq, kPlain),
    PORTCULLIS_MODEL_ENTRY(ARM_XRC_SRQ, Initialised, arm_xrc_srq, kHasOpMod),
    PORTCULLIS_MODEL_ENTRY(CREATE_RMP, Initialised, create_rmp, kHasList),
    PORTCULLIS_MODEL_ENTRY(MODIFY_RMP, Initialised, modify_rmp, kPlain),
    PORTCULLIS_MODEL_ENTRY(DESTROY_RMP, Initialised, destroy_rmp, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_RMP, Initialised, query_rmp, kPlain),
    PORTCULLIS_MODEL_ENTRY(CREATE_XRQ, Initialised, create_xrq, kHasList),
    PORTCULLIS_MODEL_ENTRY(DESTROY_XRQ, Initialised, destroy_xrq, kPlain),
    PORTCULLIS_MODEL_ENTRY(QUERY_XRQ, Initialised, query_xrq, kPlain),
    PORTCULLIS_MODEL_ENTRY(ARM_XRQ, Initialised, arm_xrq, kPlain),
    PORTCULLIS_MODEL_ENTRY(ARM_RQ, Initialised, arm_rq, kHasOpMod),
    PORTCULLIS_MODEL_ENTRY(ATTACH_TO_MCG, Initialised, attach_to_mcg, kPlain),
    PORTCULLIS_MODEL_ENTRY(DETACH_FROM_MCG, Initialised, detach_from_mcg, kPlain),
};

#undef PORTCULLIS_MODEL_ENTRY
#undef PORTCULLIS_GENERAL_OBJECT_ENTRY

constexpr std::size_t kOpcodes = 0x1000;
static_assert(kEntries.size() <= std::numeric_limits<std::uint8_t>::max());
/// By opcode: where its entry stands, plus one; 0: nowhere.
constexpr std::array<std::uint8_t, kOpcodes> kPlaceOf = [] {
  std::array<std::uint8_t, kOpcodes> places{};
  for (std::size_t i = 0; i < kEntries.size(); ++i)
    places.at(prm::number(kEntries[i].opcode)) = static_cast<std::uint8_t>(i + 1);
  return places;
}();

const Entry* find_entry(std::uint32_t opcode) noexcept {
  const std::uint8_t place = opcode < kOpcodes ? kPlaceOf[opcode] : 0;
  return place == 0 ? nullptr : &kEntries[place - 1U];
}

/// What the profile's device refused whenever it was asked.
std::optional<Verdict> refused_there(const trace::DeviceProfile* profile,
                                     std::span<const std::byte> in) {
  if (profile == nullptr || profile->refusals.empty()) return std::nullopt;
  const auto* const told = profile->refusal_of(trace::kind_of(in));
  if (told == nullptr) return std::nullopt;
  return refuse(CommandStatus{told->status}, told->syndrome);
}

}  // namespace

bool Core::reached(Stage needed) const noexcept {
  if (stage == Stage::Enabled && needed == Stage::BootPages) return pages.has_boot_pages();
  return stage >= needed;
}

std::optional<Verdict> Core::execute(const Command& command) {
  const auto opcode = prm::ConstView<prm::cmd_in>::at(command.in).get<"opcode">();
  if (breaks_at(prm::Opcode{static_cast<std::uint16_t>(opcode)})) return std::nullopt;
  const Entry* const entry = find_entry(opcode);
  if (entry == nullptr) return refuse(CommandStatus::BAD_OP_ERR, kUnknownOpcode);
  if (!reached(entry->needed)) return refuse(CommandStatus::BAD_SYS_STATE_ERR, kWrongStage);
  if (const auto told = refused_there(profile(), command.in)) return *told;
  switch (wait_for_page(command.slot, static_cast<std::uint16_t>(opcode))) {
    case PageWait::Waiting:
      return std::nullopt;
    case PageWait::Refused:
      return refuse(CommandStatus::NO_RES_ERR, kNoPages);
    case PageWait::None:
    case PageWait::Granted:
      break;
  }
  if (const Verdict verdict = user_contexts.admit(command); !verdict.ok()) return verdict;
  const Verdict verdict = entry->run(*this, command);
  if (verdict.later) {
    later_.push_back(command.slot);
    return std::nullopt;
  }
  if (verdict.ok()) user_contexts.note(command);
  return verdict;
}

}  // namespace portcullis::model
