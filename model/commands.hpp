// SPDX-License-Identifier: BSD-3-Clause
//
// Every command that the function answers. Which status a device gives for which mistake is
// published only for a few; a handler says where one is known, and elsewhere these rules,
// the model's own, hold: a number of no live object is BAD_RES_ERR (an mkey's is BAD_PARAM_ERR), an
// object that others use is BAD_RES_STATE_ERR, a command out of order is BAD_SYS_STATE_ERR, no
// numbers left is NO_RES_ERR, a table index past the end is IX_ERR, everything else that is wrong
// with a parameter is BAD_PARAM_ERR.
#pragma once

#include "model/request.hpp"
#include "prm/block_signature.hpp"
#include "prm/counter_commands.hpp"
#include "prm/device_memory_commands.hpp"
#include "prm/driver_version_commands.hpp"
#include "prm/ethernet_commands.hpp"
#include "prm/ethernet_port_commands.hpp"
#include "prm/flow_action_commands.hpp"
#include "prm/flow_commands.hpp"
#include "prm/hca_commands.hpp"
#include "prm/interrupt_commands.hpp"
#include "prm/object_commands.hpp"
#include "prm/pacing_commands.hpp"
#include "prm/port_commands.hpp"
#include "prm/qp_commands.hpp"
#include "prm/receive_commands.hpp"
#include "prm/shared_receive_commands.hpp"
#include "prm/steering_commands.hpp"
#include "prm/tag_matching.hpp"
#include "prm/user_context_commands.hpp"
#include "prm/vport_commands.hpp"

namespace portcullis::model::commands {

#define PORTCULLIS_MODEL_COMMAND(name) \
  Verdict name(Core& core, const Request<prm::name##_in, prm::name##_out>& request)

// commands_hca.cpp
PORTCULLIS_MODEL_COMMAND(enable_hca);
PORTCULLIS_MODEL_COMMAND(disable_hca);
PORTCULLIS_MODEL_COMMAND(query_issi);
PORTCULLIS_MODEL_COMMAND(set_issi);
PORTCULLIS_MODEL_COMMAND(query_pages);
PORTCULLIS_MODEL_COMMAND(manage_pages);
PORTCULLIS_MODEL_COMMAND(query_hca_cap);
PORTCULLIS_MODEL_COMMAND(set_hca_cap);
PORTCULLIS_MODEL_COMMAND(init_hca);
PORTCULLIS_MODEL_COMMAND(teardown_hca);
PORTCULLIS_MODEL_COMMAND(query_adapter);
PORTCULLIS_MODEL_COMMAND(set_driver_version);

// commands_steering.cpp
using GeneralObjectRequest = Request<prm::general_obj_in_cmd_hdr, prm::general_obj_out_cmd_hdr>;
Verdict create_general_object(Core& core, const GeneralObjectRequest& request);
Verdict query_general_object(Core& core, const GeneralObjectRequest& request);
Verdict destroy_general_object(Core& core, const GeneralObjectRequest& request);
PORTCULLIS_MODEL_COMMAND(sync_steering);

// commands_objects.cpp
PORTCULLIS_MODEL_COMMAND(alloc_uar);
PORTCULLIS_MODEL_COMMAND(dealloc_uar);
PORTCULLIS_MODEL_COMMAND(alloc_pd);
PORTCULLIS_MODEL_COMMAND(dealloc_pd);
PORTCULLIS_MODEL_COMMAND(create_eq);
PORTCULLIS_MODEL_COMMAND(destroy_eq);
PORTCULLIS_MODEL_COMMAND(query_eq);
PORTCULLIS_MODEL_COMMAND(config_int_moderation);
PORTCULLIS_MODEL_COMMAND(create_cq);
PORTCULLIS_MODEL_COMMAND(destroy_cq);
PORTCULLIS_MODEL_COMMAND(query_cq);
PORTCULLIS_MODEL_COMMAND(modify_cq);
PORTCULLIS_MODEL_COMMAND(create_mkey);
PORTCULLIS_MODEL_COMMAND(destroy_mkey);
PORTCULLIS_MODEL_COMMAND(query_mkey);
PORTCULLIS_MODEL_COMMAND(create_psv);
PORTCULLIS_MODEL_COMMAND(destroy_psv);
PORTCULLIS_MODEL_COMMAND(query_special_contexts);

// commands_umem.cpp
PORTCULLIS_MODEL_COMMAND(create_umem);
PORTCULLIS_MODEL_COMMAND(destroy_umem);

// commands_device_memory.cpp
PORTCULLIS_MODEL_COMMAND(alloc_memic);
PORTCULLIS_MODEL_COMMAND(dealloc_memic);

// commands_user_contexts.cpp
PORTCULLIS_MODEL_COMMAND(create_uctx);
PORTCULLIS_MODEL_COMMAND(destroy_uctx);

// commands_qp.cpp
PORTCULLIS_MODEL_COMMAND(create_qp);
PORTCULLIS_MODEL_COMMAND(destroy_qp);
PORTCULLIS_MODEL_COMMAND(rst2init_qp);
PORTCULLIS_MODEL_COMMAND(init2init_qp);
PORTCULLIS_MODEL_COMMAND(init2rtr_qp);
PORTCULLIS_MODEL_COMMAND(rtr2rts_qp);
PORTCULLIS_MODEL_COMMAND(rts2rts_qp);
PORTCULLIS_MODEL_COMMAND(sqd2rts_qp);
PORTCULLIS_MODEL_COMMAND(sqerr2rts_qp);
Verdict rts2sqd_qp(Core& core, const Request<prm::sqd2rts_qp_in, prm::sqd2rts_qp_out>& request);
PORTCULLIS_MODEL_COMMAND(qp_2err);
PORTCULLIS_MODEL_COMMAND(qp_2rst);
PORTCULLIS_MODEL_COMMAND(query_qp);

// commands_counters.cpp
PORTCULLIS_MODEL_COMMAND(alloc_q_counter);
PORTCULLIS_MODEL_COMMAND(dealloc_q_counter);
PORTCULLIS_MODEL_COMMAND(query_q_counter);

// commands_registers.cpp
PORTCULLIS_MODEL_COMMAND(access_register);

// commands_vport.cpp
PORTCULLIS_MODEL_COMMAND(query_hca_vport_context);
PORTCULLIS_MODEL_COMMAND(modify_hca_vport_context);
PORTCULLIS_MODEL_COMMAND(query_hca_vport_gid);
PORTCULLIS_MODEL_COMMAND(query_hca_vport_pkey);
PORTCULLIS_MODEL_COMMAND(mad_ifc);

// commands_port.cpp
PORTCULLIS_MODEL_COMMAND(set_roce_address);
PORTCULLIS_MODEL_COMMAND(query_roce_address);
PORTCULLIS_MODEL_COMMAND(modify_nic_vport_context);
PORTCULLIS_MODEL_COMMAND(query_nic_vport_context);
PORTCULLIS_MODEL_COMMAND(query_vport_state);

// commands_flow.cpp
PORTCULLIS_MODEL_COMMAND(create_flow_table);
PORTCULLIS_MODEL_COMMAND(modify_flow_table);
PORTCULLIS_MODEL_COMMAND(query_flow_table);
PORTCULLIS_MODEL_COMMAND(query_flow_group);
PORTCULLIS_MODEL_COMMAND(destroy_flow_table);
PORTCULLIS_MODEL_COMMAND(set_flow_table_root);
PORTCULLIS_MODEL_COMMAND(create_flow_group);
PORTCULLIS_MODEL_COMMAND(destroy_flow_group);
PORTCULLIS_MODEL_COMMAND(set_fte);
PORTCULLIS_MODEL_COMMAND(query_fte);
PORTCULLIS_MODEL_COMMAND(delete_fte);
PORTCULLIS_MODEL_COMMAND(alloc_flow_counter);
PORTCULLIS_MODEL_COMMAND(dealloc_flow_counter);
PORTCULLIS_MODEL_COMMAND(query_flow_counter);

// commands_flow_actions.cpp
PORTCULLIS_MODEL_COMMAND(alloc_modify_header_context);
PORTCULLIS_MODEL_COMMAND(dealloc_modify_header_context);
PORTCULLIS_MODEL_COMMAND(alloc_packet_reformat_context);
PORTCULLIS_MODEL_COMMAND(dealloc_packet_reformat_context);

// commands_receive.cpp
PORTCULLIS_MODEL_COMMAND(alloc_transport_domain);
PORTCULLIS_MODEL_COMMAND(dealloc_transport_domain);
PORTCULLIS_MODEL_COMMAND(create_rq);
PORTCULLIS_MODEL_COMMAND(modify_rq);
PORTCULLIS_MODEL_COMMAND(destroy_rq);
PORTCULLIS_MODEL_COMMAND(create_tir);
PORTCULLIS_MODEL_COMMAND(destroy_tir);

// commands_ethernet.cpp
PORTCULLIS_MODEL_COMMAND(create_tis);
PORTCULLIS_MODEL_COMMAND(modify_tis);
PORTCULLIS_MODEL_COMMAND(destroy_tis);
PORTCULLIS_MODEL_COMMAND(query_tis);
PORTCULLIS_MODEL_COMMAND(create_sq);
PORTCULLIS_MODEL_COMMAND(modify_sq);
PORTCULLIS_MODEL_COMMAND(destroy_sq);
PORTCULLIS_MODEL_COMMAND(query_sq);
PORTCULLIS_MODEL_COMMAND(set_pp_rate_limit);
PORTCULLIS_MODEL_COMMAND(create_rqt);
PORTCULLIS_MODEL_COMMAND(modify_rqt);
PORTCULLIS_MODEL_COMMAND(destroy_rqt);
PORTCULLIS_MODEL_COMMAND(query_rqt);
PORTCULLIS_MODEL_COMMAND(query_rq);
PORTCULLIS_MODEL_COMMAND(modify_tir);
PORTCULLIS_MODEL_COMMAND(query_tir);

// commands_ethernet_port.cpp
PORTCULLIS_MODEL_COMMAND(set_l2_table_entry);
PORTCULLIS_MODEL_COMMAND(query_l2_table_entry);
PORTCULLIS_MODEL_COMMAND(delete_l2_table_entry);
PORTCULLIS_MODEL_COMMAND(modify_vport_state);
PORTCULLIS_MODEL_COMMAND(query_vport_counter);

// commands_shared_receive.cpp
PORTCULLIS_MODEL_COMMAND(alloc_xrcd);
PORTCULLIS_MODEL_COMMAND(dealloc_xrcd);
PORTCULLIS_MODEL_COMMAND(create_xrc_srq);
PORTCULLIS_MODEL_COMMAND(destroy_xrc_srq);
PORTCULLIS_MODEL_COMMAND(query_xrc_srq);
PORTCULLIS_MODEL_COMMAND(arm_xrc_srq);
PORTCULLIS_MODEL_COMMAND(create_rmp);
PORTCULLIS_MODEL_COMMAND(modify_rmp);
PORTCULLIS_MODEL_COMMAND(destroy_rmp);
PORTCULLIS_MODEL_COMMAND(query_rmp);
PORTCULLIS_MODEL_COMMAND(create_xrq);
PORTCULLIS_MODEL_COMMAND(destroy_xrq);
PORTCULLIS_MODEL_COMMAND(query_xrq);
PORTCULLIS_MODEL_COMMAND(arm_xrq);
PORTCULLIS_MODEL_COMMAND(arm_rq);
PORTCULLIS_MODEL_COMMAND(attach_to_mcg);
PORTCULLIS_MODEL_COMMAND(detach_from_mcg);

#undef PORTCULLIS_MODEL_COMMAND

}  // namespace portcullis::model::commands
