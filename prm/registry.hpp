// SPDX-License-Identifier: BSD-3-Clause
//
// Every layout of prm/, for those who look at all of them: prm-dump, and through it the judges in
// tests/prm. A layout missing here fails tests/prm.
#pragma once

#include <span>
#include <string_view>

#include "prm/atomic_cap.hpp"
#include "prm/block_signature.hpp"
#include "prm/cmd_interface.hpp"
#include "prm/counter_commands.hpp"
#include "prm/cqe.hpp"
#include "prm/device_memory_commands.hpp"
#include "prm/driver_version_commands.hpp"
#include "prm/eqe.hpp"
#include "prm/ethernet_cap.hpp"
#include "prm/ethernet_commands.hpp"
#include "prm/ethernet_port_commands.hpp"
#include "prm/ethernet_registers.hpp"
#include "prm/ethernet_wqe.hpp"
#include "prm/flow_action_commands.hpp"
#include "prm/flow_cap.hpp"
#include "prm/flow_commands.hpp"
#include "prm/hca_cap.hpp"
#include "prm/hca_commands.hpp"
#include "prm/init_segment.hpp"
#include "prm/interrupt_commands.hpp"
#include "prm/layout.hpp"
#include "prm/mad.hpp"
#include "prm/management_registers.hpp"
#include "prm/mini_cqe.hpp"
#include "prm/module_registers.hpp"
#include "prm/object_commands.hpp"
#include "prm/pacing_commands.hpp"
#include "prm/port_commands.hpp"
#include "prm/port_registers.hpp"
#include "prm/qp_commands.hpp"
#include "prm/receive_commands.hpp"
#include "prm/shared_receive_commands.hpp"
#include "prm/steering_commands.hpp"
#include "prm/steering_entries.hpp"
#include "prm/tag_matching.hpp"
#include "prm/user_context_commands.hpp"
#include "prm/vport_commands.hpp"
#include "prm/wqe.hpp"

namespace portcullis::prm {

struct LayoutInfo {
  std::string_view name;
  unsigned bits = 0;
  std::span<const Member> members;
};

template <class L>
inline constexpr LayoutInfo layout_info{L::name.view(), L::bits, L::members};

// By file, in the order of each file.
// clang-format off
inline constexpr LayoutInfo kLayouts[] = {
    // cmd_interface.hpp
    layout_info<cmd_queue_entry>, layout_info<cmd_if_box>, layout_info<cmd_in>,
    layout_info<cmd_out>,
    // init_segment.hpp
    layout_info<health_buffer>, layout_info<initial_seg>, layout_info<mlx5_health_buffer>,
    layout_info<mlx5_init_seg>,
    // hca_commands.hpp
    layout_info<enable_hca_in>, layout_info<enable_hca_out>, layout_info<disable_hca_in>,
    layout_info<disable_hca_out>, layout_info<query_issi_in>, layout_info<query_issi_out>,
    layout_info<set_issi_in>, layout_info<set_issi_out>, layout_info<query_pages_in>,
    layout_info<query_pages_out>, layout_info<manage_pages_in>, layout_info<manage_pages_out>,
    layout_info<query_hca_cap_in>, layout_info<query_hca_cap_out>, layout_info<set_hca_cap_in>,
    layout_info<set_hca_cap_out>, layout_info<init_hca_in>, layout_info<init_hca_out>,
    layout_info<teardown_hca_in>, layout_info<teardown_hca_out>, layout_info<query_adapter_in>,
    layout_info<query_adapter_param_block>, layout_info<query_adapter_out>,
    layout_info<access_register_in>, layout_info<access_register_out>,
    layout_info<register_host_endianness>,
    // interrupt_commands.hpp
    layout_info<config_int_moderation_in>, layout_info<config_int_moderation_out>,
    // hca_cap.hpp
    layout_info<cmd_hca_cap>, layout_info<roce_cap>,
    // atomic_cap.hpp
    layout_info<atomic_caps>,
    // object_commands.hpp
    layout_info<alloc_uar_in>, layout_info<alloc_uar_out>, layout_info<dealloc_uar_in>,
    layout_info<dealloc_uar_out>, layout_info<alloc_pd_in>, layout_info<alloc_pd_out>,
    layout_info<dealloc_pd_in>, layout_info<dealloc_pd_out>, layout_info<eqc>,
    layout_info<create_eq_in>, layout_info<create_eq_out>, layout_info<destroy_eq_in>,
    layout_info<destroy_eq_out>, layout_info<query_eq_in>, layout_info<query_eq_out>,
    layout_info<cqc>, layout_info<create_cq_in>,
    layout_info<create_cq_out>, layout_info<destroy_cq_in>, layout_info<destroy_cq_out>,
    layout_info<query_cq_in>, layout_info<query_cq_out>, layout_info<modify_cq_in>,
    layout_info<modify_cq_out>,
    layout_info<mkc>, layout_info<mlx5_klm>, layout_info<mlx5_stride_block_ctrl_seg>,
    layout_info<mlx5_stride_block_entry>, layout_info<create_mkey_in>,
    layout_info<create_mkey_out>,
    layout_info<destroy_mkey_in>, layout_info<destroy_mkey_out>, layout_info<query_mkey_in>,
    layout_info<query_mkey_out>, layout_info<query_special_contexts_in>,
    layout_info<query_special_contexts_out>, layout_info<umem>, layout_info<create_umem_in>,
    layout_info<create_umem_out>, layout_info<destroy_umem_in>, layout_info<destroy_umem_out>,
    // user_context_commands.hpp
    layout_info<general_obj_in_cmd_hdr>, layout_info<uctx>, layout_info<create_uctx_in>,
    layout_info<create_uctx_out>, layout_info<destroy_uctx_in>, layout_info<destroy_uctx_out>,
    // qp_commands.hpp
    layout_info<ads>, layout_info<qpc>, layout_info<create_qp_in>, layout_info<create_qp_out>,
    layout_info<destroy_qp_in>, layout_info<destroy_qp_out>, layout_info<rst2init_qp_in>,
    layout_info<rst2init_qp_out>, layout_info<init2init_qp_in>, layout_info<init2init_qp_out>,
    layout_info<init2rtr_qp_in>, layout_info<init2rtr_qp_out>,
    layout_info<rtr2rts_qp_in>, layout_info<rtr2rts_qp_out>, layout_info<rts2rts_qp_in>,
    layout_info<rts2rts_qp_out>, layout_info<sqd2rts_qp_in>, layout_info<sqd2rts_qp_out>,
    layout_info<sqerr2rts_qp_in>, layout_info<sqerr2rts_qp_out>, layout_info<qp_2err_in>,
    layout_info<qp_2err_out>, layout_info<qp_2rst_in>, layout_info<qp_2rst_out>,
    layout_info<query_qp_in>, layout_info<query_qp_out>,
    // counter_commands.hpp
    layout_info<alloc_q_counter_in>, layout_info<alloc_q_counter_out>,
    layout_info<dealloc_q_counter_in>, layout_info<dealloc_q_counter_out>,
    layout_info<query_q_counter_in>, layout_info<query_q_counter_out>,
    // device_memory_commands.hpp
    layout_info<device_mem_cap>, layout_info<alloc_memic_in>, layout_info<alloc_memic_out>,
    layout_info<dealloc_memic_in>, layout_info<dealloc_memic_out>,
    // block_signature.hpp
    layout_info<mlx5_bsf_inl>, layout_info<mlx5_bsf>, layout_info<mlx5_seg_set_psv>,
    layout_info<mlx5_sig_err_cqe>, layout_info<create_psv_in>, layout_info<create_psv_out>,
    layout_info<destroy_psv_in>, layout_info<destroy_psv_out>,
    // port_commands.hpp
    layout_info<roce_addr_layout>, layout_info<set_roce_address_in>,
    layout_info<set_roce_address_out>, layout_info<query_roce_address_in>,
    layout_info<query_roce_address_out>, layout_info<modify_nic_vport_field_select>,
    layout_info<mac_address_layout>, layout_info<nic_vport_context>,
    layout_info<modify_nic_vport_context_in>, layout_info<modify_nic_vport_context_out>,
    layout_info<query_nic_vport_context_in>, layout_info<query_nic_vport_context_out>,
    layout_info<query_vport_state_in>, layout_info<query_vport_state_out>,
    // port_registers.hpp
    layout_info<paos_reg>, layout_info<ptys_reg>, layout_info<pmtu_reg>, layout_info<pvlc_reg>,
    // vport_commands.hpp
    layout_info<hca_vport_context>, layout_info<query_hca_vport_context_in>,
    layout_info<query_hca_vport_context_out>, layout_info<modify_hca_vport_context_in>,
    layout_info<modify_hca_vport_context_out>, layout_info<query_hca_vport_gid_in>,
    layout_info<query_hca_vport_gid_out>, layout_info<query_hca_vport_pkey_in>,
    layout_info<query_hca_vport_pkey_out>, layout_info<pkey>, layout_info<mad_ifc_in>,
    layout_info<mad_ifc_out>,
    // flow_cap.hpp
    layout_info<flow_table_fields_supported>, layout_info<flow_table_fields_supported_2>,
    layout_info<flow_table_prop_layout>, layout_info<flow_table_nic_cap>,
    // flow_commands.hpp
    layout_info<fte_match_set_lyr_2_4>, layout_info<fte_match_set_misc>,
    layout_info<fte_match_param>, layout_info<flow_table_context>,
    layout_info<create_flow_table_in>, layout_info<create_flow_table_out>,
    layout_info<destroy_flow_table_in>, layout_info<destroy_flow_table_out>,
    layout_info<modify_flow_table_in>, layout_info<modify_flow_table_out>,
    layout_info<query_flow_table_in>, layout_info<query_flow_table_out>,
    layout_info<set_flow_table_root_in>, layout_info<set_flow_table_root_out>,
    layout_info<create_flow_group_in>, layout_info<create_flow_group_out>,
    layout_info<query_flow_group_in>, layout_info<query_flow_group_out>,
    layout_info<destroy_flow_group_in>, layout_info<destroy_flow_group_out>,
    layout_info<flow_context>, layout_info<dest_format_struct>, layout_info<flow_counter_list>,
    layout_info<set_fte_in>, layout_info<set_fte_out>, layout_info<query_fte_in>,
    layout_info<query_fte_out>, layout_info<delete_fte_in>, layout_info<delete_fte_out>,
    layout_info<traffic_counter>, layout_info<alloc_flow_counter_in>,
    layout_info<alloc_flow_counter_out>, layout_info<dealloc_flow_counter_in>,
    layout_info<dealloc_flow_counter_out>, layout_info<query_flow_counter_in>,
    layout_info<query_flow_counter_out>,
    // flow_action_commands.hpp
    layout_info<set_action_in>, layout_info<add_action_in>, layout_info<copy_action_in>,
    layout_info<alloc_modify_header_context_in>, layout_info<alloc_modify_header_context_out>,
    layout_info<dealloc_modify_header_context_in>, layout_info<dealloc_modify_header_context_out>,
    layout_info<packet_reformat_context_in>, layout_info<alloc_packet_reformat_context_in>,
    layout_info<alloc_packet_reformat_context_out>,
    layout_info<dealloc_packet_reformat_context_in>,
    layout_info<dealloc_packet_reformat_context_out>, layout_info<vlan>,
    // receive_commands.hpp
    layout_info<alloc_transport_domain_in>, layout_info<alloc_transport_domain_out>,
    layout_info<dealloc_transport_domain_in>, layout_info<dealloc_transport_domain_out>,
    layout_info<wq>, layout_info<rqc>, layout_info<create_rq_in>, layout_info<create_rq_out>,
    layout_info<modify_rq_in>, layout_info<modify_rq_out>, layout_info<destroy_rq_in>,
    layout_info<destroy_rq_out>, layout_info<rx_hash_field_select>, layout_info<tirc>,
    layout_info<create_tir_in>, layout_info<create_tir_out>, layout_info<destroy_tir_in>,
    layout_info<destroy_tir_out>,
    // shared_receive_commands.hpp
    layout_info<alloc_xrcd_in>, layout_info<alloc_xrcd_out>, layout_info<dealloc_xrcd_in>,
    layout_info<dealloc_xrcd_out>, layout_info<xrc_srqc>, layout_info<create_xrc_srq_in>,
    layout_info<create_xrc_srq_out>, layout_info<destroy_xrc_srq_in>,
    layout_info<destroy_xrc_srq_out>, layout_info<query_xrc_srq_in>,
    layout_info<query_xrc_srq_out>, layout_info<arm_xrc_srq_in>, layout_info<arm_xrc_srq_out>,
    layout_info<rmpc>, layout_info<create_rmp_in>, layout_info<create_rmp_out>,
    layout_info<rmp_bitmask>, layout_info<modify_rmp_in>, layout_info<modify_rmp_out>,
    layout_info<destroy_rmp_in>, layout_info<destroy_rmp_out>, layout_info<query_rmp_in>,
    layout_info<query_rmp_out>, layout_info<attach_to_mcg_in>, layout_info<attach_to_mcg_out>,
    layout_info<detach_from_mcg_in>, layout_info<detach_from_mcg_out>,
    // eqe.hpp
    layout_info<eqe>, layout_info<comp_event>, layout_info<qp_events>, layout_info<cq_error>,
    layout_info<cmd_inter_comp_event>, layout_info<port_state_change_event>,
    layout_info<mlx5_eqe_page_req>, layout_info<mlx5_eqe_sync_fw_update>,
    // wqe.hpp
    layout_info<mlx5_wqe_ctrl_seg>, layout_info<mlx5_wqe_av>, layout_info<mlx5_wqe_xrc_seg>,
    layout_info<mlx5_wqe_raddr_seg>, layout_info<mlx5_wqe_data_seg>,
    layout_info<mlx5_wqe_srq_next_seg>, layout_info<mlx5_wqe_inl_data_seg>,
    layout_info<mlx5_wqe_atomic_seg>, layout_info<mlx5_wqe_umr_ctrl_seg>,
    layout_info<mlx5_wqe_mkey_context_seg>,
    // cqe.hpp
    layout_info<mlx5_cqe64>, layout_info<mlx5_err_cqe>,
    // ethernet_cap.hpp
    layout_info<per_protocol_networking_offload_caps>,
    // ethernet_commands.hpp
    layout_info<tisc>, layout_info<create_tis_in>, layout_info<create_tis_out>,
    layout_info<modify_tis_bitmask>, layout_info<modify_tis_in>, layout_info<modify_tis_out>,
    layout_info<destroy_tis_in>, layout_info<destroy_tis_out>, layout_info<query_tis_in>,
    layout_info<query_tis_out>, layout_info<sqc>, layout_info<create_sq_in>,
    layout_info<create_sq_out>, layout_info<modify_sq_in>, layout_info<modify_sq_out>,
    layout_info<destroy_sq_in>, layout_info<destroy_sq_out>, layout_info<query_sq_in>,
    layout_info<query_sq_out>, layout_info<rq_num>, layout_info<rqtc>, layout_info<create_rqt_in>,
    layout_info<create_rqt_out>, layout_info<rqt_bitmask>, layout_info<modify_rqt_in>,
    layout_info<modify_rqt_out>, layout_info<destroy_rqt_in>, layout_info<destroy_rqt_out>,
    layout_info<query_rqt_in>, layout_info<query_rqt_out>, layout_info<query_rq_in>,
    layout_info<query_rq_out>, layout_info<modify_tir_bitmask>, layout_info<modify_tir_in>,
    layout_info<modify_tir_out>, layout_info<query_tir_in>, layout_info<query_tir_out>,
    // ethernet_port_commands.hpp
    layout_info<set_l2_table_entry_in>, layout_info<set_l2_table_entry_out>,
    layout_info<query_l2_table_entry_in>, layout_info<query_l2_table_entry_out>,
    layout_info<delete_l2_table_entry_in>, layout_info<delete_l2_table_entry_out>,
    layout_info<vlan_layout>, layout_info<modify_vport_state_in>,
    layout_info<modify_vport_state_out>, layout_info<query_vport_counter_in>,
    layout_info<query_vport_counter_out>,
    // ethernet_registers.hpp
    layout_info<bufferx_reg>, layout_info<pbmc_reg>, layout_info<pptb_reg>,
    layout_info<ets_tcn_config_reg>, layout_info<qetc_reg>, layout_info<qtct_reg>,
    layout_info<qpts_reg>, layout_info<qpdpm_reg>,
    layout_info<pplm_reg>, layout_info<pcam_reg>, layout_info<qcam_reg>,
    layout_info<pfcc_reg>, layout_info<pplr_reg>, layout_info<ppcnt_reg>,
    layout_info<eth_802_3_cntrs_grp_data_layout>, layout_info<eth_2863_cntrs_grp_data_layout>,
    layout_info<eth_3635_cntrs_grp_data_layout>, layout_info<eth_2819_cntrs_grp_data_layout>,
    layout_info<eth_extended_cntrs_grp_data_layout>, layout_info<eth_per_prio_grp_data_layout>,
    layout_info<ib_port_cntrs_grp_data_layout>, layout_info<phys_layer_cntrs>,
    // ethernet_wqe.hpp
    layout_info<mlx5_wqe_eth_seg>, layout_info<mlx5_ethernet_cqe>,
    // module_registers.hpp
    layout_info<pmlp_reg>, layout_info<pmaos_reg>, layout_info<mcia_reg>,
    // driver_version_commands.hpp
    layout_info<set_driver_version_in>, layout_info<set_driver_version_out>,
    // pacing_commands.hpp
    layout_info<qos_cap>, layout_info<set_pp_rate_limit_context>,
    layout_info<set_pp_rate_limit_in>, layout_info<set_pp_rate_limit_out>,
    // steering_commands.hpp
    layout_info<general_obj_out_cmd_hdr>, layout_info<sw_icm>, layout_info<sampler_obj>,
    layout_info<sync_steering_in>, layout_info<sync_steering_out>,
    // steering_entries.hpp
    layout_info<ste_sx_transmit>, layout_info<ste_rx_steering_mult>, layout_info<ste_modify_packet>,
    layout_info<ste_eth_l2_src>, layout_info<ste_eth_l2_dst>, layout_info<ste_eth_l2_src_dst>,
    layout_info<ste_eth_l2_tnl>, layout_info<ste_eth_l3_ipv4_5_tuple>,
    layout_info<ste_eth_l3_ipv4_misc>, layout_info<ste_eth_l3_ipv6_src>,
    layout_info<ste_eth_l3_ipv6_dst>, layout_info<ste_eth_l4>, layout_info<ste_eth_l4_misc>,
    layout_info<ste_mpls>, layout_info<ste_gre>, layout_info<ste_register_0>,
    layout_info<ste_register_1>, layout_info<ste_general_purpose>, layout_info<ste_src_gvmi_qp>,
    layout_info<dr_action_hw_set>, layout_info<dr_action_hw_copy>,
    // mini_cqe.hpp
    layout_info<mlx5_mini_cqe8>,
    // management_registers.hpp
    layout_info<mfrl_reg>, layout_info<mcam_reg>, layout_info<mlcr_reg>, layout_info<mtcap_reg>,
    layout_info<mtmp_reg>,
    // mad.hpp
    layout_info<ib_smp>, layout_info<ib_port_info>, layout_info<ib_node_info>,
    layout_info<ib_class_port_info>, layout_info<ib_pma_portcounters>,
    layout_info<ib_pma_portcounters_ext>,
    // tag_matching.hpp
    layout_info<tag_matching_topology_context>, layout_info<xrqc>, layout_info<create_xrq_in>,
    layout_info<create_xrq_out>, layout_info<destroy_xrq_in>, layout_info<destroy_xrq_out>,
    layout_info<query_xrq_in>, layout_info<query_xrq_out>, layout_info<arm_xrq_in>,
    layout_info<arm_xrq_out>, layout_info<arm_rq_in>, layout_info<arm_rq_out>,
    layout_info<mlx5_wqe_tm_seg>, layout_info<mlx5_tm_cqe>, layout_info<ibv_tmh>,
    layout_info<ibv_rvh>,
};
// clang-format on

}  // namespace portcullis::prm
