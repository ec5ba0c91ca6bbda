// SPDX-License-Identifier: BSD-3-Clause
#include "tests/pmd/ifc_fields.h"

#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
// Of Linux after 6.1, in a union.
#define DECLARE_FLEX_ARRAY(type, name) \
  struct {                             \
  } name##_start;                      \
  type name[0]
#include <mlx5_ifc.h>

// mlx5_ifc.h gives every bit of a layout one byte of a struct.
#define FIELD(layout, field)                                                        \
  {                                                                                 \
#layout "." #field, (unsigned)offsetof(struct mlx5_ifc_##layout##_bits, field), \
        (unsigned)sizeof(((struct mlx5_ifc_##layout##_bits*)0)->field)              \
  }
#define ID_COMMAND(layout, id) FIELD(layout, opcode), FIELD(layout, id)
#define QPC(layout, field) FIELD(layout, qpc.field)
#define PATH(layout, field) FIELD(layout, qpc.primary_address_path.field)
#define TRANSITION(layout)                                                                   \
  FIELD(layout, opcode), FIELD(layout, qpn), FIELD(layout, opt_param_mask), QPC(layout, st), \
      QPC(layout, pm_state), QPC(layout, pd), QPC(layout, cqn_snd), QPC(layout, cqn_rcv),    \
      QPC(layout, log_ack_req_freq), QPC(layout, rwe), QPC(layout, rre), QPC(layout, rae),   \
      QPC(layout, atomic_mode), QPC(layout, mtu), QPC(layout, log_msg_max),                  \
      QPC(layout, remote_qpn), QPC(layout, next_rcv_psn), QPC(layout, min_rnr_nak),          \
      QPC(layout, log_rra_max), QPC(layout, log_sra_max), QPC(layout, retry_count),          \
      QPC(layout, rnr_retry), QPC(layout, next_send_psn), PATH(layout, ack_timeout),         \
      PATH(layout, vhca_port_num), PATH(layout, rmac_47_32), PATH(layout, rmac_31_0),        \
      PATH(layout, udp_sport), PATH(layout, eth_prio), PATH(layout, dscp),                   \
      PATH(layout, src_addr_index), PATH(layout, hop_limit), PATH(layout, tclass),           \
      PATH(layout, flow_label), PATH(layout, rgid_rip), PATH(layout, rlid)
#define MKC(field) FIELD(create_mkey_in, memory_key_mkey_entry.field)
#define QUERIED_MKC(field) FIELD(query_mkey_out, memory_key_mkey_entry.field)
#define CQC(field) FIELD(create_cq_in, cq_context.field)
#define ROCE(field) FIELD(set_roce_address_in, roce_address.field)

#define RQC(field) FIELD(create_rq_in, ctx.field)

static const struct ifc_field receive_fields[] = {
    FIELD(alloc_transport_domain_in, opcode),
    FIELD(alloc_transport_domain_out, transport_domain),
    ID_COMMAND(dealloc_transport_domain_in, transport_domain),
    FIELD(create_rq_in, opcode),
    RQC(vsd),
    RQC(mem_rq_type),
    RQC(state),
    RQC(flush_in_error_en),
    RQC(cqn),
    RQC(wq.wq_type),
    RQC(wq.pd),
    RQC(wq.dbr_addr),
    RQC(wq.log_wq_stride),
    RQC(wq.log_wq_pg_sz),
    RQC(wq.log_wq_sz),
    FIELD(create_rq_out, rqn),
    ID_COMMAND(modify_rq_in, rqn),
    FIELD(modify_rq_in, rq_state),
    FIELD(modify_rq_in, ctx.state),
    ID_COMMAND(destroy_rq_in, rqn),
    FIELD(create_tir_in, opcode),
    FIELD(create_tir_in, ctx.disp_type),
    FIELD(create_tir_in, ctx.inline_rqn),
    FIELD(create_tir_in, ctx.transport_domain),
    FIELD(create_tir_out, tirn),
    ID_COMMAND(destroy_tir_in, tirn),
    {0, 0, 0},
};

static const struct ifc_field object_fields[] = {
    FIELD(alloc_pd_in, opcode),
    FIELD(alloc_pd_out, pd),
    ID_COMMAND(dealloc_pd_in, pd),
    FIELD(alloc_uar_out, uar),
    ID_COMMAND(destroy_mkey_in, mkey_index),
    ID_COMMAND(destroy_cq_in, cqn),
    FIELD(create_mkey_in, opcode),
    FIELD(create_mkey_in, pg_access),
    FIELD(create_mkey_in, translations_octword_actual_size),
    MKC(lr),
    MKC(lw),
    MKC(rr),
    MKC(rw),
    MKC(a),
    MKC(access_mode_1_0),
    MKC(qpn),
    MKC(mkey_7_0),
    MKC(length64),
    MKC(pd),
    MKC(start_addr),
    MKC(len),
    MKC(umr_en),
    MKC(translations_octword_size),
    MKC(log_page_size),
    FIELD(create_mkey_out, mkey_index),
    ID_COMMAND(query_mkey_in, mkey_index),
    QUERIED_MKC(free),
    QUERIED_MKC(lw),
    QUERIED_MKC(rw),
    QUERIED_MKC(rr),
    QUERIED_MKC(a),
    QUERIED_MKC(qpn),
    QUERIED_MKC(pd),
    QUERIED_MKC(start_addr),
    QUERIED_MKC(len),
    FIELD(alloc_q_counter_in, opcode),
    FIELD(alloc_q_counter_out, counter_set_id),
    ID_COMMAND(dealloc_q_counter_in, counter_set_id),
    ID_COMMAND(query_q_counter_in, counter_set_id),
    FIELD(query_q_counter_in, clear),
    FIELD(query_q_counter_out, rx_write_requests),
    FIELD(query_q_counter_out, out_of_buffer),
    FIELD(query_q_counter_out, req_cqe_flush_error),
    FIELD(create_cq_in, opcode),
    CQC(log_cq_size),
    CQC(uar_page),
    CQC(c_eqn_or_apu_element),
    CQC(log_page_size),
    CQC(dbr_addr),
    FIELD(create_cq_out, cqn),
    FIELD(set_roce_address_in, opcode),
    FIELD(set_roce_address_in, roce_address_index),
    ROCE(source_l3_address),
    ROCE(source_mac_47_32),
    ROCE(source_mac_31_0),
    ROCE(vlan_valid),
    ROCE(vlan_id),
    ROCE(roce_l3_type),
    ROCE(roce_version),
    ID_COMMAND(query_roce_address_in, roce_address_index),
    FIELD(query_roce_address_out, roce_address.source_l3_address),
    FIELD(query_roce_address_out, roce_address.source_mac_47_32),
    FIELD(query_roce_address_out, roce_address.source_mac_31_0),
    FIELD(query_roce_address_out, roce_address.vlan_valid),
    FIELD(query_roce_address_out, roce_address.vlan_id),
    {0, 0, 0},
};

static const struct ifc_field qp_fields[] = {
    ID_COMMAND(destroy_qp_in, qpn),
    ID_COMMAND(qp_2rst_in, qpn),
    ID_COMMAND(qp_2err_in, qpn),
    FIELD(create_qp_in, opcode),
    QPC(create_qp_in, st),
    QPC(create_qp_in, pm_state),
    QPC(create_qp_in, pd),
    QPC(create_qp_in, rq_type),
    QPC(create_qp_in, log_rq_size),
    QPC(create_qp_in, log_rq_stride),
    QPC(create_qp_in, no_sq),
    QPC(create_qp_in, log_sq_size),
    QPC(create_qp_in, ts_format),
    QPC(create_qp_in, uar_page),
    QPC(create_qp_in, log_page_size),
    QPC(create_qp_in, cqn_snd),
    QPC(create_qp_in, cqn_rcv),
    QPC(create_qp_in, dbr_addr),
    QPC(create_qp_in, latency_sensitive),
    QPC(create_qp_in, fre),
    FIELD(create_qp_out, qpn),
    TRANSITION(rst2init_qp_in),
    QPC(rst2init_qp_in, counter_set_id),
    QPC(rst2init_qp_in, dbr_addr),
    TRANSITION(init2init_qp_in),
    TRANSITION(sqd2rts_qp_in),
    TRANSITION(init2rtr_qp_in),
    TRANSITION(rtr2rts_qp_in),
    TRANSITION(rts2rts_qp_in),
    ID_COMMAND(query_qp_in, qpn),
    QPC(query_qp_out, state),
    QPC(query_qp_out, rwe),
    QPC(query_qp_out, rre),
    QPC(query_qp_out, rae),
    QPC(query_qp_out, remote_qpn),
    QPC(query_qp_out, next_send_psn),
    QPC(query_qp_out, next_rcv_psn),
    QPC(query_qp_out, last_acked_psn),
    QPC(query_qp_out, pd),
    QPC(query_qp_out, mtu),
    QPC(query_qp_out, retry_count),
    QPC(query_qp_out, rnr_retry),
    QPC(query_qp_out, cur_retry_count),
    QPC(query_qp_out, cur_rnr_retry),
    QPC(query_qp_out, min_rnr_nak),
    QPC(query_qp_out, log_sra_max),
    QPC(query_qp_out, log_rra_max),
    QPC(query_qp_out, counter_set_id),
    PATH(query_qp_out, ack_timeout),
    {0, 0, 0},
};

// Commands that bring a function up and down.
#define EQC(field) FIELD(create_eq_in, eq_context_entry.field)
#define CAP(layout, field) FIELD(layout, capability.cmd_hca_cap.field)
#define ROCE_CAP(layout, field) FIELD(layout, capability.roce_cap.field)
static const struct ifc_field function_fields[] = {
    FIELD(query_adapter_in, opcode),
    FIELD(query_adapter_out, query_adapter_struct.vsd_contd_psid),
    FIELD(enable_hca_in, opcode),
    FIELD(disable_hca_in, opcode),
    FIELD(query_issi_in, opcode),
    FIELD(query_issi_out, supported_issi_dw0),
    FIELD(set_issi_in, opcode),
    FIELD(set_issi_in, current_issi),
    FIELD(query_pages_in, opcode),
    FIELD(query_pages_in, op_mod),
    FIELD(query_pages_out, function_id),
    FIELD(query_pages_out, num_pages),
    FIELD(manage_pages_in, opcode),
    FIELD(manage_pages_in, op_mod),
    FIELD(manage_pages_in, embedded_cpu_function),
    FIELD(manage_pages_in, function_id),
    FIELD(manage_pages_in, input_num_entries),
    FIELD(manage_pages_out, output_num_entries),
    FIELD(access_register_in, opcode),
    FIELD(access_register_in, op_mod),
    FIELD(access_register_in, register_id),
    FIELD(query_hca_cap_in, opcode),
    FIELD(query_hca_cap_in, op_mod),
    FIELD(set_hca_cap_in, opcode),
    FIELD(set_hca_cap_in, op_mod),
    CAP(set_hca_cap_in, cmdif_checksum),
    CAP(set_hca_cap_in, log_uar_page_sz),
    CAP(set_hca_cap_in, log_max_qp),
    ROCE_CAP(set_hca_cap_in, sw_r_roce_src_udp_port),
    ROCE_CAP(set_hca_cap_in, roce_address_table_size),
    CAP(query_hca_cap_out, cmdif_checksum),
    CAP(query_hca_cap_out, log_uar_page_sz),
    CAP(query_hca_cap_out, log_max_qp),
    CAP(query_hca_cap_out, log_max_cq),
    CAP(query_hca_cap_out, log_max_mkey),
    CAP(query_hca_cap_out, max_indirection),
    CAP(query_hca_cap_out, log_max_klm_list_size),
    CAP(query_hca_cap_out, log_max_msg),
    CAP(query_hca_cap_out, port_type),
    CAP(query_hca_cap_out, num_ports),
    CAP(query_hca_cap_out, roce),
    CAP(query_hca_cap_out, atomic),
    CAP(query_hca_cap_out, log_max_ra_req_qp),
    CAP(query_hca_cap_out, log_max_ra_res_qp),
    CAP(query_hca_cap_out, umr_modify_atomic_disabled),
    CAP(query_hca_cap_out, max_qp_cnt),
    ROCE_CAP(query_hca_cap_out, sw_r_roce_src_udp_port),
    ROCE_CAP(query_hca_cap_out, roce_address_table_size),
    ROCE_CAP(query_hca_cap_out, r_roce_min_src_udp_port),
    ROCE_CAP(query_hca_cap_out, r_roce_max_src_udp_port),
    FIELD(init_hca_in, opcode),
    FIELD(teardown_hca_in, opcode),
    FIELD(teardown_hca_in, profile),
    FIELD(modify_nic_vport_context_in, opcode),
    FIELD(modify_nic_vport_context_in, field_select.roce_en),
    FIELD(modify_nic_vport_context_in, nic_vport_context.roce_en),
    FIELD(modify_nic_vport_context_in, field_select.mtu),
    FIELD(modify_nic_vport_context_in, nic_vport_context.mtu),
    FIELD(modify_nic_vport_context_in, field_select.addresses_list),
    FIELD(modify_nic_vport_context_in, nic_vport_context.allowed_list_type),
    FIELD(modify_nic_vport_context_in, nic_vport_context.allowed_list_size),
    ID_COMMAND(dealloc_uar_in, uar),
    FIELD(create_eq_in, opcode),
    FIELD(create_eq_in, event_bitmask),
    EQC(log_eq_size),
    EQC(uar_page),
    EQC(log_page_size),
    FIELD(create_eq_out, eq_number),
    ID_COMMAND(destroy_eq_in, eq_number),
    {0, 0, 0},
};

// Atomics and the port.
#define ATOMIC_CAP(layout, field) FIELD(layout, capability.atomic_caps.field)
static const struct ifc_field port_fields[] = {
    ATOMIC_CAP(set_hca_cap_in, atomic_req_8B_endianness_mode),
    CAP(query_hca_cap_out, relaxed_ordering_read),
    ATOMIC_CAP(query_hca_cap_out, atomic_req_8B_endianness_mode),
    ATOMIC_CAP(query_hca_cap_out, supported_atomic_req_8B_endianness_mode_1),
    ATOMIC_CAP(query_hca_cap_out, atomic_operations),
    ATOMIC_CAP(query_hca_cap_out, atomic_size_qp),
    FIELD(paos_reg, local_port),
    FIELD(paos_reg, admin_status),
    FIELD(paos_reg, ase),
    FIELD(pmtu_reg, local_port),
    FIELD(query_hca_vport_context_in, opcode),
    FIELD(query_hca_vport_context_out, hca_vport_context.vport_state),
    FIELD(query_hca_vport_context_out, hca_vport_context.lid),
    FIELD(query_vport_state_in, opcode),
    FIELD(query_vport_state_in, op_mod),
    FIELD(query_vport_state_out, admin_state),
    FIELD(query_vport_state_out, state),
    {0, 0, 0},
};

const struct ifc_field* const ifc_tables[] = {object_fields,   receive_fields, qp_fields,
                                              function_fields, port_fields,    0};
