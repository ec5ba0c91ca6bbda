// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/capabilities.hpp"

#include <algorithm>
#include <bit>

#include "prm/atomic_cap.hpp"
#include "prm/enums.hpp"
#include "prm/hca_cap.hpp"
#include "prm/hca_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/view.hpp"

namespace portcullis::pmd {
namespace {

using prm::CapMode;
using prm::CapType;
using prm::Opcode;
using QueryAnswer = prm::Buffer<prm::query_hca_cap_out>;
using SetRequest = prm::Buffer<prm::set_hca_cap_in>;

Result<QueryAnswer> query(CommandChannel& commands, CapType type, CapMode mode) {
  prm::Buffer<prm::query_hca_cap_in> in;
  in.set<"opcode", Opcode::QUERY_HCA_CAP>().put<"op_mod">(prm::cap_op_mod(type, mode));
  return run<prm::query_hca_cap_out>(commands, in);
}

/// The capability page of `answer` as layout L.
template <class L>
prm::ConstView<L> page(const QueryAnswer& answer) noexcept {
  return prm::ConstView<L>::at(answer.bytes<"capability">());
}

/// A SET_HCA_CAP that changes nothing yet.
SetRequest request_like(const QueryAnswer& current, CapType type) {
  SetRequest in;
  in.set<"opcode", Opcode::SET_HCA_CAP>().put<"op_mod">(prm::cap_op_mod(type));
  const auto from = current.bytes<"capability">();
  std::copy(from.begin(), from.end(), in.bytes<"capability">().begin());
  return in;
}

/// get_atomic_mode and atomic_size_to_mode of mlx5_ib: the plain operations, or where extended ones
/// are offered the largest size up to 256 bytes.
std::uint32_t atomic_mode(prm::ConstView<prm::atomic_caps> atomic) noexcept {
  constexpr std::uint32_t kExtended =
      prm::kAtomicOpsExtendedCmpSwap | prm::kAtomicOpsExtendedFetchAdd;
  constexpr std::uint32_t kSizes = 0x1ff;
  constexpr std::uint32_t kLogEightBytes = 3;
  const std::uint32_t sizes = atomic.get<"atomic_size_qp">() & kSizes;
  if ((atomic.get<"atomic_operations">() & kExtended) == 0 || sizes == 0)
    return prm::number(prm::QpcAtomicMode::IB_SPEC);
  const auto log_most = static_cast<std::uint32_t>(std::bit_width(sizes) - 1);
  return log_most > kLogEightBytes ? log_most : prm::number(prm::QpcAtomicMode::UP_TO_8B);
}

Result<void> read_atomic(CommandChannel& commands, Capabilities& caps) {
  if (caps.atomic == 0) return {};
  PORTCULLIS_TRY_ASSIGN(const QueryAnswer answer,
                        query(commands, CapType::ATOMIC, CapMode::GET_CUR));
  const auto atomic = page<prm::atomic_caps>(answer);
  caps.atomic_mode = atomic_mode(atomic);
  caps.atomic_host_order = atomic.get<"atomic_req_8B_endianness_mode">() ==
                           prm::number(prm::AtomicReqMode::HOST_ENDIANNESS);
  return {};
}

Result<void> read_roce(CommandChannel& commands, Capabilities& caps) {
  if (caps.roce == 0) return {};
  PORTCULLIS_TRY_ASSIGN(const QueryAnswer answer, query(commands, CapType::ROCE, CapMode::GET_CUR));
  const auto roce = page<prm::roce_cap>(answer);
  caps.roce_address_table_size = roce.get<"roce_address_table_size">();
  caps.r_roce_min_src_udp_port = roce.get<"r_roce_min_src_udp_port">();
  caps.r_roce_max_src_udp_port = roce.get<"r_roce_max_src_udp_port">();
  caps.qp_ts_format = roce.get<"qp_ts_format">();
  caps.forced_loopback = roce.get<"fl_rc_qp_when_roce_enabled">();
  return {};
}

}  // namespace

Result<std::uint32_t> set_general_capabilities(CommandChannel& commands, bool signs) {
  PORTCULLIS_TRY_ASSIGN(const QueryAnswer most,
                        query(commands, CapType::GENERAL, CapMode::GET_MAX));
  PORTCULLIS_TRY_ASSIGN(const QueryAnswer current,
                        query(commands, CapType::GENERAL, CapMode::GET_CUR));
  // 0 is what Linux sets (handle_hca_cap of mlx5_core/main.c).
  const std::uint32_t checksum =
      signs ? static_cast<std::uint32_t>(page<prm::cmd_hca_cap>(most).get<"cmdif_checksum">()) : 0;
  SetRequest in = request_like(current, CapType::GENERAL);
  const auto wanted = prm::View<prm::cmd_hca_cap>::at(in.bytes<"capability">());
  wanted.set<"log_uar_page_sz", 0u>();
  if (!wanted.try_set<"cmdif_checksum">(checksum))
    return fail(Errc::Malformed, "cmdif_checksum does not fit its own field");
  PORTCULLIS_TRY(run<prm::set_hca_cap_out>(commands, in));
  return checksum;
}

Result<void> set_atomic_capabilities(CommandChannel& commands) {
  PORTCULLIS_TRY_ASSIGN(const QueryAnswer general,
                        query(commands, CapType::GENERAL, CapMode::GET_CUR));
  if (page<prm::cmd_hca_cap>(general).get<"atomic">() == 0) return {};
  PORTCULLIS_TRY_ASSIGN(const QueryAnswer current,
                        query(commands, CapType::ATOMIC, CapMode::GET_CUR));
  if (page<prm::atomic_caps>(current).get<"supported_atomic_req_8B_endianness_mode_1">() == 0)
    return {};
  SetRequest in;
  in.set<"opcode", Opcode::SET_HCA_CAP>().put<"op_mod">(prm::cap_op_mod(CapType::ATOMIC));
  prm::View<prm::atomic_caps>::at(in.bytes<"capability">())
      .set<"atomic_req_8B_endianness_mode", prm::AtomicReqMode::HOST_ENDIANNESS>();
  PORTCULLIS_TRY(run<prm::set_hca_cap_out>(commands, in));
  return {};
}

Result<void> set_roce_capabilities(CommandChannel& commands) {
  PORTCULLIS_TRY_ASSIGN(const QueryAnswer general,
                        query(commands, CapType::GENERAL, CapMode::GET_CUR));
  if (page<prm::cmd_hca_cap>(general).get<"roce">() == 0) return {};
  PORTCULLIS_TRY_ASSIGN(const QueryAnswer most, query(commands, CapType::ROCE, CapMode::GET_MAX));
  PORTCULLIS_TRY_ASSIGN(const QueryAnswer current,
                        query(commands, CapType::ROCE, CapMode::GET_CUR));
  if (page<prm::roce_cap>(most).get<"sw_r_roce_src_udp_port">() == 0 ||
      page<prm::roce_cap>(current).get<"sw_r_roce_src_udp_port">() == 1)
    return {};
  SetRequest in = request_like(current, CapType::ROCE);
  prm::View<prm::roce_cap>::at(in.bytes<"capability">()).set<"sw_r_roce_src_udp_port", 1u>();
  PORTCULLIS_TRY(run<prm::set_hca_cap_out>(commands, in));
  return {};
}

Result<Capabilities> read_capabilities(CommandChannel& commands) {
  PORTCULLIS_TRY_ASSIGN(const QueryAnswer answer,
                        query(commands, CapType::GENERAL, CapMode::GET_CUR));
  const auto general = page<prm::cmd_hca_cap>(answer);
  Capabilities caps;
  caps.log_max_qp = general.get<"log_max_qp">();
  caps.log_max_qp_sz = general.get<"log_max_qp_sz">();
  caps.log_max_cq = general.get<"log_max_cq">();
  caps.log_max_cq_sz = general.get<"log_max_cq_sz">();
  caps.log_max_eq = general.get<"log_max_eq">();
  caps.log_max_mkey = general.get<"log_max_mkey">();
  caps.max_indirection = general.get<"max_indirection">();
  caps.log_max_klm_list_size = general.get<"log_max_klm_list_size">();
  caps.log_max_pd = general.get<"log_max_pd">();
  caps.log_max_msg = general.get<"log_max_msg">();
  caps.port_type = general.get<"port_type">();
  caps.num_ports = general.get<"num_ports">();
  caps.cmdif_checksum = general.get<"cmdif_checksum">();
  caps.roce = general.get<"roce">();
  caps.vport_group_manager = general.get<"vport_group_manager">();
  caps.eth_net_offloads = general.get<"eth_net_offloads">();
  caps.eswitch_manager = general.get<"eswitch_manager">();
  caps.log_max_l2_table = general.get<"log_max_l2_table">();
  caps.log_max_ra_req_qp = general.get<"log_max_ra_req_qp">();
  caps.log_max_ra_res_qp = general.get<"log_max_ra_res_qp">();
  caps.atomic = general.get<"atomic">();
  caps.umr_modify_atomic_disabled = general.get<"umr_modify_atomic_disabled">();
  caps.relaxed_ordering_write = general.get<"relaxed_ordering_write">();
  // mlx5e_mkey_set_relaxed_ordering of mlx5/core/en_common.c (Linux 6.12) takes either for it.
  caps.relaxed_ordering_read =
      general.get<"relaxed_ordering_read">() | general.get<"relaxed_ordering_read_pci_enabled">();
  caps.max_qp_cnt = general.get<"max_qp_cnt">();
  caps.log_max_transport_domain = general.get<"log_max_transport_domain">();
  caps.log_max_rq = general.get<"log_max_rq">();
  caps.log_max_tir = general.get<"log_max_tir">();
  PORTCULLIS_TRY(read_atomic(commands, caps));
  PORTCULLIS_TRY(read_roce(commands, caps));
  return caps;
}

}  // namespace portcullis::pmd
