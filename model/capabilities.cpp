// SPDX-License-Identifier: BSD-3-Clause
#include "model/capabilities.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "model/cqe_session.hpp"
#include "model/device_memory.hpp"
#include "model/device_ticks.hpp"
#include "model/ethernet/queue_tables.hpp"
#include "model/ethernet/rate_limits.hpp"
#include "model/ethernet/send_queues.hpp"
#include "model/mkey.hpp"
#include "model/multicast_groups.hpp"
#include "model/port_settings.hpp"
#include "model/q_counters.hpp"
#include "model/reserved.hpp"
#include "model/shared_receives.hpp"
#include "model/steering/flow_tables.hpp"
#include "model/steering/icm_addresses.hpp"
#include "model/steering/receive_targets.hpp"
#include "model/steering/sw_icm.hpp"
#include "model/tag_matching/tag_list.hpp"
#include "prm/atomic_cap.hpp"
#include "prm/steering_commands.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;

constexpr std::uint32_t kRoceUdpPort = 4791;  // ROCE_V2_UDP_DPORT, include/rdma/ib_verbs.h
constexpr std::uint32_t kDynamicPorts = 49152;

enum Refusal : std::uint32_t {
  kNoSuchType = 0x11001,
  kAboveMaximum = 0x11003,
  kBadChecksum,
};

constexpr std::uint64_t kObjectTypes =
    std::uint64_t{1} << prm::kObjTypeSwIcm | std::uint64_t{1} << prm::kObjTypeSampler;

/// What sends frames, and tables of what receives them.
void offer_frame_queues(prm::Buffer<prm::cmd_hca_cap>& c) {
  c.put<"log_max_sq">(SendQueues::kLogMaxSq).put<"log_max_tis">(SendQueues::kLogMaxTis);
  c.put<"log_min_stride_sz_sq">(SendQueues::kLogStride);
  c.put<"log_max_stride_sz_sq">(SendQueues::kLogStride);
  c.put<"log_max_rqt">(QueueTables::kLogMax).put<"log_max_rqt_size">(QueueTables::kLogMaxSize);
}

/// What a network interface is made of, the rates of its queues, and the priorities of its port.
/// Those are a physical function's to set: mlx5e has them only where vport_group_manager and qos
/// are said (mlx5e_dcbnl_build_netdev of mlx5/core/en_dcbnl.c). Rates virtual functions of cards
/// have too, as a log of 15b3:101a with firmware 16.26.148 on linux-rdma shows.
void offer_interface(bool virtual_function, prm::Buffer<prm::cmd_hca_cap>& c) {
  c.set<"eth_net_offloads", 1>().set<"pcam_reg", 1>().set<"qcam_reg", 1>();
  c.set<"max_tc", kPriorities>();
  c.set<"disable_local_lb_uc", 1>().set<"disable_local_lb_mc", 1>();
  c.set<"qos", 1>();
  if (!virtual_function) c.set<"vport_group_manager", 1>().set<"ets", 1>().set<"beacon_led", 1>();
}

/// Of InfiniBand ports alone: ibv_devinfo -v says "tag matching not supported" of Ethernet ports of
/// the same card (a ConnectX-6), and there the command QP of libmlx5 gets no address vector that
/// Linux takes (create_cmd_qp of rdma-core's mlx5/verbs.c, mlx5_set_path of mlx5_ib/qp.c). Of DC
/// there is nothing to match.
void offer_tag_matching(prm::Buffer<prm::cmd_hca_cap>& c) {
  c.set<"tag_matching", 1>().set<"rndv_offload_rc", 1>();
  c.put<"log_tag_matching_list_sz">(TagList::kLogMaxSize);
  c.put<"log_max_xrq">(SharedReceives::kLogMaxSrq);
}

/// What loads the card's firmware again, by way of a fast teardown: a physical function's.
void offer_firmware_reset(prm::Buffer<prm::cmd_hca_cap>& c) {
  c.set<"mcam_reg", 1>().set<"fast_teardown", 1>();
  c.set<"general_notification_event", 1>().set<"pci_sync_for_fw_update_event", 1>();
}

prm::Buffer<prm::cmd_hca_cap> offered_general(PortType port_type) {
  prm::Buffer<prm::cmd_hca_cap> c;
  c.put<"log_max_qp">(Capabilities::kLogMaxQp).set<"log_max_qp_sz", 15>();
  c.put<"log_max_cq">(Capabilities::kLogMaxCq).set<"log_max_cq_sz", 22>();
  c.put<"log_max_eq">(Capabilities::kLogMaxEq).set<"log_max_eq_sz", 22>();
  c.put<"log_max_mkey">(Capabilities::kLogMaxMkey).set<"log_max_mrw_sz", 63>();
  c.put<"max_indirection">(MkeyTable::kMaxIndirection);
  c.put<"log_max_klm_list_size">(MkeyTable::kLogMaxKlms);
  // "Basic signature offload features" of get_hca_sig_caps of rdma-core's mlx5/verbs.c; that a
  // ConnectX-5 has sig_crc32c, sig_crc64_xp10 or sig_block_4048 nothing public says.
  c.set<"sho", 1>().set<"sigerr_cqe", 1>().set<"drain_sigerr", 1>();
  c.set<"sigerr_domain_and_sig_type", 1>();
  c.put<"log_max_pd">(Capabilities::kLogMaxPd);
  c.put<"log_max_umem">(Capabilities::kLogMaxUmem).set<"umem_uid_0", 1>();
  c.put<"log_max_uctx">(Capabilities::kLogMaxUctx);
  c.put<"log_max_msg">(Capabilities::kLogMaxMsg);
  c.set<"fixed_buffer_size", 1>().set<"force_teardown", 1>();
  c.set<"atomic", 1>().set<"imaicl", 1>();  // keys by UMR: memory windows, invalidation
  c.set<"log_max_ra_req_qp", 4>().set<"log_max_ra_res_qp", 4>();
  c.set<"local_ca_ack_delay", 16>();
  c.set<"num_ports", 1>().set<"disable_link_up", 1>();
  // Sent by OpenBSD's mcx(4) to every card, which it takes for broken where it is refused.
  c.set<"driver_version", 1>();
  c.set<"cqe_version", 1>().set<"compact_address_vector", 1>();
  c.set<"cq_moderation", 1>().set<"cq_period_start_from_cqe", 1>().set<"cq_resize", 1>();
  // Checksums with a stride index "for ConnectX-5 and above": Linux commit b7cf0806e878.
  c.set<"cqe_compression", 1>().set<"cqe_compression_128", 1>();
  c.set<"mini_cqe_resp_stride_index", 1>();
  c.put<"cqe_compression_timeout">(CqeSession::kTimeoutUs);
  c.put<"cqe_compression_max_num">(CqeSession::kMost);
  c.set<"cqe_128_always", 1>();  // DPDK's rxq_cqe_pad_en named ConnectX-5 as a card that has it
  c.set<"cq_oi", 1>().set<"rc", 1>().set<"uc", 1>().set<"ud", 1>().set<"apm", 0>();
  c.set<"block_lb_mc", 1>().put<"log_max_mcg">(MulticastGroups::kLogMax);
  c.put<"max_qp_mcg">(MulticastGroups::kMostMembers);
  c.set<"fl_rc_qp_when_roce_disabled", 1>();
  c.set<"bf", 1>().set<"log_bf_reg_size", 9>().set<"log_pg_sz", 12>();
  c.put<"max_qp_cnt">(QCounterTable::kSets - 1).set<"out_of_seq_cnt", 1>();
  c.set<"retransmission_q_counters", 1>().set<"enhanced_error_q_counters", 1>();
  c.set<"max_wqe_sz_sq", 1024>().set<"max_wqe_sz_rq", 512>();
  c.put<"device_frequency_khz">(kDeviceFrequencyKhz);
  c.put<"device_frequency_mhz">(kDeviceFrequencyKhz / 1000);
  c.set<"cmdif_checksum", 3>().set<"nic_flow_table", 1>().set<"device_memory", 1>();
  c.put<"log_max_transport_domain">(ReceiveTargets::kLogMaxDomain);
  c.set<"xrc", 1>().put<"log_max_xrcd">(SharedReceives::kLogMaxXrcd);
  c.put<"log_max_srq">(SharedReceives::kLogMaxSrq).put<"log_max_rmp">(SharedReceives::kLogMaxSrq);
  c.put<"log_max_srq_sz">(RingShape::kLogMaxEntries);
  c.put<"log_max_rq">(ReceiveTargets::kLogMaxRq).put<"log_max_tir">(ReceiveTargets::kLogMaxTir);
  c.put<"log_max_wq_sz">(RingShape::kLogMaxEntries).set<"basic_cyclic_rcv_wqe", 1>();
  c.put<"log_min_stride_sz_rq">(ReceiveTargets::kLogMinStride);
  c.put<"log_max_stride_sz_rq">(RingShape::kLogMaxStride);
  if (port_type == PortType::Ethernet) {
    c.put<"port_type">(prm::PortType::ETH).set<"roce", 1>().set<"rts2rts_qp_udp_sport", 1>();
    offer_frame_queues(c);
    c.put<"log_max_current_uc_list">(Capabilities::kLogMaxUcList);
    c.put<"log_max_current_mc_list">(Capabilities::kLogMaxMcList);
    c.put<"log_max_vlan_list">(Capabilities::kLogMaxVlanList);
    c.put<"log_max_l2_table">(Capabilities::kLogMaxL2Table).set<"vport_counters", 1>();
    c.put<"general_obj_types">(kObjectTypes);
    c.put<"steering_format_version">(prm::kSteeringFormatConnectx5);
  } else {
    // The tables' sizes are codes, 0 the smallest: 8 GIDs and 128 P_Keys (model/port_limits.hpp).
    // No vport_counters: process_pma_cmd of Linux's mlx5_ib/mad.c, which they turn on, leaves the
    // header of its answer empty, and whoever asks over the wire gets none.
    c.put<"port_type">(prm::PortType::IB).set<"ib_virt", 1>();
    offer_tag_matching(c);
  }
  return c;
}

/// Of an InfiniBand port all zero. Drivers that ask it without looking at `roce` first ran on
/// cards, so it is answered; what a card says there is a hypothesis.
prm::Buffer<prm::roce_cap> offered_roce(PortType port_type) {
  prm::Buffer<prm::roce_cap> c;
  if (port_type != PortType::Ethernet) return c;
  c.set<"sw_r_roce_src_udp_port", 1>();
  c.set<"fl_rc_qp_when_roce_disabled", 1>().set<"fl_rc_qp_when_roce_enabled", 1>();
  c.set<"l3_type", 6>();       // MLX5_ROCE_L3_TYPE_IPV4_CAP | MLX5_ROCE_L3_TYPE_IPV6_CAP
  c.set<"roce_version", 4>();  // MLX5_ROCE_VERSION_2_CAP
  c.put<"r_roce_dest_udp_port">(kRoceUdpPort);
  c.put<"r_roce_min_src_udp_port">(kDynamicPorts).set<"r_roce_max_src_udp_port", 65535>();
  c.put<"roce_address_table_size">(PortSettings::kRoceAddresses);
  return c;
}

/// CMP_SWAP and FETCH_ADD of 8 bytes, with results in either byte order.
prm::Buffer<prm::atomic_caps> offered_atomics(bool host_endian) {
  constexpr std::uint32_t kOperations = prm::kAtomicOpsCmpSwap | prm::kAtomicOpsFetchAdd;
  prm::Buffer<prm::atomic_caps> c;
  c.put<"atomic_req_8B_endianness_mode">(host_endian ? prm::AtomicReqMode::HOST_ENDIANNESS
                                                     : prm::AtomicReqMode::BE);
  c.set<"supported_atomic_req_8B_endianness_mode_1", 1>();
  c.set<"atomic_operations", kOperations>().set<"atomic_size_qp", 8>();
  return c;
}

/// What a network interface asks for (mlx5_eth_supported of mlx5/core/dev.c), and no more.
prm::Buffer<prm::per_protocol_networking_offload_caps> offered_frames(bool offers) {
  prm::Buffer<prm::per_protocol_networking_offload_caps> c;
  if (!offers) return c;
  c.set<"csum_cap", 1>().set<"vlan_cap", 1>().set<"wqe_vlan_insert", 1>();
  c.set<"self_lb_en_modifiable", 1>().put<"max_lso_cap">(SendQueues::kLogMaxLso);
  c.put<"wqe_inline_mode">(prm::WqeInlineMode::NOT_REQUIRED);
  c.put<"rss_ind_tbl_cap">(QueueTables::kLogMaxSize).set<"cqe_checksum_full", 1>();
  return c;
}

/// Memory alone: no operations on it, which nothing public says that a ConnectX-5 has. An Ethernet
/// port has memory for steering by a program's own entries, too. That ConnectX-5 has those follows
/// from their format 0 (MLX5_HW_CONNECTX_5 of rdma-core's dr_ste.c), as that it samples follows
/// from DPDK's guide of mlx5 ("Sample flow").
prm::Buffer<prm::device_mem_cap> offered_device_memory(PortType port_type) {
  prm::Buffer<prm::device_mem_cap> c;
  c.set<"memic", 1>();
  c.put<"log_min_memic_alloc_size">(DeviceMemory::kLogUnit);
  c.put<"log_max_memic_addr_alignment">(DeviceMemory::kLogMaxAlignment);
  c.put<"memic_bar_start_addr">(DeviceMemory::kWindowAt);
  c.put<"memic_bar_size">(DeviceMemory::kWindowBytes);
  c.put<"max_memic_size">(DeviceMemory::kBytes);
  if (port_type != PortType::Ethernet) return c;
  c.put<"steering_sw_icm_start_address">(SwIcm::kEntriesAt);
  c.put<"log_steering_sw_icm_size">(SwIcm::kLogEntriesBytes);
  c.put<"header_modify_sw_icm_start_address">(SwIcm::kActionsAt);
  c.put<"log_header_modify_sw_icm_size">(SwIcm::kLogActionsBytes);
  c.put<"log_sw_icm_alloc_granularity">(SwIcm::kLogUnit);
  return c;
}

/// Send queues have rates. That each process may have its own (packet_pacing_uid) and that bursts
/// are bounded are hypotheses. Nothing is scheduled by a tree of elements: Linux offers that for
/// queues (mlx5_qos_is_supported of mlx5/core/qos.c) since ConnectX-6 Dx, by which its commit
/// 214baf22870c was measured, and no source says that a ConnectX-5 has it.
prm::Buffer<prm::qos_cap> offered_qualities(bool offers) {
  prm::Buffer<prm::qos_cap> c;
  if (!offers) return c;
  c.set<"packet_pacing", 1>().set<"packet_pacing_uid", 1>();
  c.set<"packet_pacing_burst_bound", 1>().set<"packet_pacing_typical_size", 1>();
  c.put<"packet_pacing_max_rate">(RateLimits::kMostKbps);
  c.put<"packet_pacing_min_rate">(RateLimits::kLeastKbps);
  c.put<"packet_pacing_rate_table_size">(RateLimits::kEntries);
  return c;
}

/// One domain; a field that flow_key() fills can be compared.
void offer_domain(const prm::View<prm::flow_table_prop_layout>& domain) {
  domain.set<"ft_support", 1>();
  domain.set<"flow_counter", 1>();
  domain.set<"flow_modify_en", 1>();
  domain.set<"modify_root", 1>();
  domain.set<"identified_miss_table_mode", 1>();
  domain.set<"flow_table_modify", 1>();
  domain.set<"log_max_ft_size", FlowTables::kLogMaxTableSize>();
  domain.set<"max_ft_level", FlowTables::kMaxLevel>();
  domain.set<"log_max_ft_num", FlowTables::kLogMaxTables>();
  domain.set<"log_max_flow_counter", 0>();  // one an entry
  domain.set<"log_max_destination", std::countr_zero(FlowTables::kMaxDestinations)>();
  domain.set<"log_max_flow", FlowTables::kLogMaxTableSize>();
  const auto fields =
      prm::View<prm::flow_table_fields_supported>::at(domain.bytes<"ft_field_support">());
  fields.set<"outer_dmac", 1>();
  fields.set<"outer_smac", 1>();
  fields.set<"outer_ether_type", 1>();
  fields.set<"outer_ip_version", 1>();
  fields.set<"outer_first_prio", 1>();
  fields.set<"outer_first_cfi", 1>();
  fields.set<"outer_first_vid", 1>();
  fields.set<"outer_ipv4_ttl", 1>();
  fields.set<"outer_sip", 1>();
  fields.set<"outer_dip", 1>();
  fields.set<"outer_frag", 1>();
  fields.set<"outer_ip_protocol", 1>();
  fields.set<"outer_ip_ecn", 1>();
  fields.set<"outer_ip_dscp", 1>();
  fields.set<"outer_udp_sport", 1>();
  fields.set<"outer_udp_dport", 1>();
  fields.set<"outer_tcp_sport", 1>();
  fields.set<"outer_tcp_dport", 1>();
  fields.set<"bth_dst_qp", 1>();
  std::ranges::copy(fields.all(), domain.bytes<"ft_field_bitmask_support">().begin());
}

/// What entries of an Ethernet port's tables may do to frames: FlowTables::changes_of(). Of the
/// bits for two actions in one entry Linux asks reformat_and_fwd_to_table alone, in its goto.c of
/// mlx5e.
void offer_changes(prm::Buffer<prm::flow_table_nic_cap>& c) {
  using Domain = prm::View<prm::flow_table_prop_layout>;
  c.set<"encap_general_header", 1>();
  c.set<"log_max_packet_reformat_context", HeaderContexts::kLogMax>();
  c.set<"max_encap_header_size", HeaderContexts::kMaxHeaderBytes>();
  const auto received = Domain::at(c.bytes<"flow_table_properties_nic_receive">());
  const auto sent = Domain::at(c.bytes<"flow_table_properties_nic_transmit">());
  for (const Domain& domain : {received, sent}) {
    domain.set<"reformat", 1>();
    domain.set<"reformat_and_vlan_action", 1>();
    domain.set<"reformat_and_modify_action", 1>();
    domain.set<"reformat_and_fwd_to_table", 1>();
    domain.set<"log_max_modify_header_context", HeaderContexts::kLogMax>();
    domain.set<"max_modify_header_actions", HeaderContexts::kMaxActions>();
  }
  received.set<"sw_owner", 1>();
  sent.set<"sw_owner", 1>();
  c.put<"sw_steering_nic_rx_action_drop_icm_address">(icm::kRxDrop);
  c.put<"sw_steering_nic_tx_action_drop_icm_address">(icm::kTxDrop);
  c.put<"sw_steering_nic_tx_action_allow_icm_address">(icm::kTxAllow);
  received.set<"decap", 1>();
  received.set<"reformat_l3_tunnel_to_l2", 1>();
  received.set<"pop_vlan", 1>();
  sent.set<"reformat_l2_to_l3_tunnel", 1>();
  sent.set<"push_vlan", 1>();
}

prm::Buffer<prm::flow_table_nic_cap> offered_flow_tables(PortType port_type, bool no_bth_opcode) {
  using Domain = prm::View<prm::flow_table_prop_layout>;
  prm::Buffer<prm::flow_table_nic_cap> c;
  offer_domain(Domain::at(c.bytes<"flow_table_properties_nic_receive">()));
  const auto rdma = Domain::at(c.bytes<"flow_table_properties_nic_receive_rdma">());
  offer_domain(rdma);
  rdma.set<"table_miss_action_domain", 1>();
  offer_domain(Domain::at(c.bytes<"flow_table_properties_nic_transmit_rdma">()));
  if (port_type == PortType::Ethernet) {
    offer_domain(Domain::at(c.bytes<"flow_table_properties_nic_transmit">()));
    offer_changes(c);
  }
  if (!no_bth_opcode) {
    c.set<"ft_field_support_2_nic_receive_rdma.bth_opcode", 1>();
    c.set<"ft_field_support_2_nic_transmit_rdma.bth_opcode", 1>();
  }
  return c;
}

/// Reads any field of a layout whose place is known only at run time.
std::uint64_t field_at(std::span<const std::byte> bytes, const prm::Member& field) {
  std::uint64_t value = 0;
  for (unsigned bit = field.offset; bit < field.offset + field.width; ++bit)
    value = value << 1 | (std::to_integer<unsigned>(bytes[bit / 8]) >> (7 - bit % 8) & 1);
  return value;
}

void put_at(std::span<std::byte> bytes, const prm::Member& field, std::uint64_t value) {
  for (unsigned i = 0; i < field.width; ++i) {
    const unsigned bit = field.offset + field.width - 1 - i;
    const auto mask = std::byte{1} << (7 - bit % 8);
    bytes[bit / 8] = (value >> i & 1) != 0 ? bytes[bit / 8] | mask : bytes[bit / 8] & ~mask;
  }
}

/// Of what the model is, whatever a device was.
constexpr std::array<std::string_view, 13> kTheModelsOwn{
    "port_type",
    "steering_sw_icm_start_address",
    "header_modify_sw_icm_start_address",
    "log_sw_icm_alloc_granularity",
    "sw_steering_nic_rx_action_drop_icm_address",
    "sw_steering_nic_tx_action_drop_icm_address",
    "sw_steering_nic_tx_action_allow_icm_address",
    "device_frequency_khz",
    "device_frequency_mhz",
    "r_roce_dest_udp_port",
    "r_roce_min_src_udp_port",
    "memic_bar_start_addr",
    "log_min_memic_alloc_size"};
/// A bit for each thing that can be done.
constexpr std::array<std::string_view, 4> kSets{"cmdif_checksum", "general_obj_types", "l3_type",
                                                "roce_version"};

std::uint64_t within(std::string_view name, std::uint64_t ours, std::uint64_t told) {
  if (std::ranges::find(kTheModelsOwn, name) != kTheModelsOwn.end()) return ours;
  if (std::ranges::find(kSets, name) != kSets.end()) return ours & told;
  if (name == "packet_pacing_min_rate") return std::max(ours, told);
  return std::min(ours, told);
}

/// `ours` becomes what both it and `told` can do.
void narrow(std::span<const prm::Member> members, std::span<std::byte> ours,
            std::span<const std::byte> told) {
  for (const prm::Member& member : members) {
    const std::size_t first = member.offset / 8;
    const std::size_t bytes = member.width / 8;
    if (member.kind == prm::MemberKind::Field) {
      put_at(ours, member, within(member.name, field_at(ours, member), field_at(told, member)));
    } else if (member.kind == prm::MemberKind::Bytes) {
      for (std::size_t i = first; i < first + bytes; ++i) ours[i] &= told[i];
    } else if (member.kind == prm::MemberKind::Nested) {
      narrow({member.nested, member.nested_count}, ours.subspan(first, bytes),
             told.subspan(first, bytes));
    }
  }
}

template <class L>
void narrow(const trace::DeviceProfile* profile, prm::CapType type, prm::CapMode mode,
            prm::Buffer<L>& ours) {
  const auto* const told =
      profile == nullptr ? nullptr : profile->page_of(prm::cap_op_mod(type, mode));
  if (told != nullptr) narrow(std::span(L::members), ours.all(), told->page);
}

template <class L>
bool acceptable(const prm::Buffer<L>& max, const prm::Buffer<L>& now,
                std::span<const std::byte> wanted) {
  return std::ranges::all_of(L::members, [&](const prm::Member& field) {
    if (field.kind != prm::MemberKind::Field) return true;
    const std::uint64_t value = field_at(wanted, field);
    return value == field_at(now.all(), field) || value <= field_at(max.all(), field);
  });
}

/// Reserved bits are looked over: iPXE's driver, which ran on cards, writes its log_max_qp in the
/// wrong byte order, into the byte before it (golan_set_hca_cap of golan.c).
template <class L>
Verdict replace(const prm::Buffer<L>& max, prm::Buffer<L>& now, std::span<const std::byte> wanted) {
  if (!acceptable<L>(max, now, wanted.first<L::bytes>()))
    return refuse(CommandStatus::BAD_PARAM_ERR, kAboveMaximum);
  const auto mask = reserved_mask<L>();
  for (std::size_t i = 0; i < L::bytes; ++i) now.all()[i] = wanted[i] & ~std::byte{mask[i]};
  return {};
}

}  // namespace

Capabilities::Capabilities(bool virtual_function, PortType port_type, const Behaviours& behaviours,
                           const trace::DeviceProfile* profile)
    : virtual_function_(virtual_function),
      general_max_(offered_general(port_type)),
      roce_max_(offered_roce(port_type)),
      flow_tables_(offered_flow_tables(port_type, behaviours.no_bth_opcode)),
      ethernet_(offered_frames(behaviours.eth_offloads && port_type == PortType::Ethernet)),
      ipoib_(offered_frames(behaviours.eth_offloads && port_type == PortType::InfiniBand)),
      device_memory_(offered_device_memory(port_type)),
      qualities_(offered_qualities(behaviours.eth_offloads && port_type == PortType::Ethernet)) {
  // No tags on InfiniBand.
  ipoib_.set<"vlan_cap", 0>().set<"wqe_vlan_insert", 0>();
  if (!virtual_function) offer_firmware_reset(general_max_);
  if (behaviours.eth_offloads && port_type == PortType::Ethernet)
    offer_interface(virtual_function, general_max_);
  if (behaviours.eth_offloads && port_type == PortType::InfiniBand) {
    general_max_.set<"ipoib_enhanced_offloads", 1>();
    offer_frame_queues(general_max_);
  }
  if (behaviours.loopback == Loopback::Refused) {
    general_max_.set<"fl_rc_qp_when_roce_disabled", 0>();
    roce_max_.set<"fl_rc_qp_when_roce_disabled", 0>().set<"fl_rc_qp_when_roce_enabled", 0>();
  }
  if (behaviours.relaxed_ordering) {
    general_max_.set<"relaxed_ordering_write", 1>().set<"relaxed_ordering_read", 1>();
    // Only where configuration space lets the function, too (Linux's commit "RDMA/mlx5: Allow
    // relaxed ordering read in VFs and VMs" and the one before it).
    if (behaviours.is_pci_relaxed()) general_max_.set<"relaxed_ordering_read_pci_enabled", 1>();
  }
  narrow(profile, prm::CapType::GENERAL, prm::CapMode::GET_MAX, general_max_);
  narrow(profile, prm::CapType::ROCE, prm::CapMode::GET_MAX, roce_max_);
  narrow(profile, prm::CapType::FLOW_TABLE, prm::CapMode::GET_CUR, flow_tables_);
  narrow(profile, prm::CapType::ETHERNET_OFFLOADS, prm::CapMode::GET_CUR, ethernet_);
  narrow(profile, prm::CapType::IPOIB_ENHANCED_OFFLOADS, prm::CapMode::GET_CUR, ipoib_);
  narrow(profile, prm::CapType::DEV_MEM, prm::CapMode::GET_CUR, device_memory_);
  if (general_max_.get<"device_memory">() == 0 || device_memory_.get<"memic">() == 0)
    device_memory_ = {};
  if (!has_all_of_steering()) withhold_steering();
  narrow(profile, prm::CapType::QOS, prm::CapMode::GET_CUR, qualities_);
  if (general_max_.get<"qos">() == 0) qualities_ = {};
  general_start_ = general_max_;
  general_start_.set<"cmdif_checksum", 0>().set<"disable_link_up", 0>();
  general_start_.set<"pci_sync_for_fw_update_event", 0>();
  narrow(profile, prm::CapType::GENERAL, prm::CapMode::GET_CUR, general_start_);
  roce_start_ = roce_max_;
  // handle_hca_cap_roce of mlx5/core/main.c sets it
  roce_start_.set<"sw_r_roce_src_udp_port", 0>();
  narrow(profile, prm::CapType::ROCE, prm::CapMode::GET_CUR, roce_start_);
  power_on();
}

/// Linux divides by what a page says of memory whose beginning it names (mlx5_dm_create of
/// mlx5/core/lib/dm.c), and rdma-core wants all or nothing.
bool Capabilities::has_all_of_steering() const {
  return (general_max_.get<"general_obj_types">() >> prm::kObjTypeSwIcm & 1) != 0 &&
         flow_tables_.get<"flow_table_properties_nic_receive.sw_owner">() != 0 &&
         flow_tables_.get<"flow_table_properties_nic_transmit.sw_owner">() != 0 &&
         device_memory_.get<"log_steering_sw_icm_size">() >= SwIcm::kLogUnit &&
         device_memory_.get<"log_header_modify_sw_icm_size">() >= SwIcm::kLogUnit;
}

void Capabilities::withhold_steering() {
  general_max_.put<"general_obj_types">(std::uint64_t{0});
  flow_tables_.set<"flow_table_properties_nic_receive.sw_owner", 0>();
  flow_tables_.set<"flow_table_properties_nic_transmit.sw_owner", 0>();
  flow_tables_.set<"sw_steering_nic_rx_action_drop_icm_address", 0>();
  flow_tables_.set<"sw_steering_nic_tx_action_drop_icm_address", 0>();
  flow_tables_.set<"sw_steering_nic_tx_action_allow_icm_address", 0>();
  device_memory_.set<"steering_sw_icm_start_address", 0>();
  device_memory_.set<"log_steering_sw_icm_size", 0>();
  device_memory_.set<"header_modify_sw_icm_start_address", 0>();
  device_memory_.set<"log_header_modify_sw_icm_size", 0>();
  device_memory_.set<"log_sw_icm_alloc_granularity", 0>();
}

void Capabilities::power_on() {
  general_ = general_start_;
  roce_ = roce_start_;
  host_endian_atomics_ = false;
}

Verdict Capabilities::query(prm::CapType type, prm::CapMode mode,
                            std::span<std::byte> capability) const {
  const bool max = mode == prm::CapMode::GET_MAX;
  if (type == prm::CapType::GENERAL) {
    std::ranges::copy((max ? general_max_ : general_).all(), capability.begin());
    return {};
  }
  if (type == prm::CapType::ROCE) {
    std::ranges::copy((max ? roce_max_ : roce_).all(), capability.begin());
    return {};
  }
  if (type == prm::CapType::ATOMIC) {
    std::ranges::copy(offered_atomics(max || host_endian_atomics_).all(), capability.begin());
    return {};
  }
  if (type == prm::CapType::FLOW_TABLE) {
    std::ranges::copy(flow_tables_.all(), capability.begin());
    return {};
  }
  if (type == prm::CapType::ETHERNET_OFFLOADS) {
    std::ranges::copy(ethernet_.all(), capability.begin());
    return {};
  }
  if (type == prm::CapType::IPOIB_ENHANCED_OFFLOADS) {
    std::ranges::copy(ipoib_.all(), capability.begin());
    return {};
  }
  if (type == prm::CapType::QOS && general_.get<"qos">() != 0) {
    std::ranges::copy(qualities_.all(), capability.begin());
    return {};
  }
  // Who asks for it without looking at device_memory first ran on cards
  // (tests/test_mlx5_dm_ops.py of rdma-core).
  if (type == prm::CapType::DEV_MEM) {
    std::ranges::copy(device_memory_.all(), capability.begin());
    return {};
  }
  return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchType);
}

Verdict Capabilities::set(prm::CapType type, std::span<const std::byte> capability) {
  if (type == prm::CapType::ROCE) return replace(roce_max_, roce_, capability);
  if (type == prm::CapType::ATOMIC) {
    const auto mode =
        prm::ConstView<prm::atomic_caps>::at(capability).get<"atomic_req_8B_endianness_mode">();
    if (mode > prm::number(prm::AtomicReqMode::HOST_ENDIANNESS))
      return refuse(CommandStatus::BAD_PARAM_ERR, kAboveMaximum);
    host_endian_atomics_ = mode == prm::number(prm::AtomicReqMode::HOST_ENDIANNESS);
    return {};
  }
  if (type != prm::CapType::GENERAL) return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchType);
  const auto wanted = prm::ConstView<prm::cmd_hca_cap>::at(capability).get<"cmdif_checksum">();
  if (wanted != 0 && wanted != kChecksumBoth)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadChecksum);
  return replace(general_max_, general_, capability);
}

}  // namespace portcullis::model
